"""Records of single seeds become one, or are refused with a reason."""

import copy

import pytest

from iclr26lib import claims, merge, records

CLAIMS = [
    claims.Claim(
        **{
            "id": "X1", "statement": "s", "where": "w", "paper_value": "p", "metric": "m", "unit": "points",
            "against": "a", "rule": "mean_difference > 0, 95 % interval excludes 0, >= 3 seeds",
            "scales": ("book",), "why": "y",
        }
    )
]  # fmt: skip


def part(seed: int, ours: float, against: float | None = 0.0) -> dict:
    made = records.make(
        "bep", "book", claims=CLAIMS, seeds=[seed], parameters={"seeds": 1, "width": 5},
        measurements={"X1": {"ours": [ours], "against": None if against is None else [against]}},
        tables={"curve": [seed]}, cost={"wall_seconds": 10.0 + seed, "peak_memory_mb": 100 + seed},
    )  # fmt: skip
    return made


def test_seeds_are_joined_in_order_and_judged_again() -> None:
    parts = [part(2, 1.1), part(0, 1.0), part(1, 1.2)]
    merged = merge.merge(parts, CLAIMS)
    assert merged["seeds"] == [0, 1, 2]
    assert merged["measurements"]["X1"] == {"ours": [1.0, 1.2, 1.1], "against": [0.0, 0.0, 0.0]}
    assert merged["parameters"] == {"seeds": 3, "width": 5}
    assert merged["cost"] == {"wall_seconds": 33.0, "peak_memory_mb": 102}
    assert merged["claims"][0]["verdict"] == "shown"
    assert part(0, 1.0)["claims"][0]["verdict"] == "not judged at this scale"
    assert merged["tables"]["parts"][1] == {"seeds": [1], "tables": {"curve": [1]}}
    records.check(merged, "merged")


def changed(key: str, value: object) -> dict:
    other = copy.deepcopy(part(1, 1.0))
    other[key] = value
    return other


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (changed("digest", {"code": "0", "claims": "0"}), "the code or the claims differ between seeds"),
        (changed("scale", "full"), "scale differ"),
        (changed("slug", "asen"), "chapter differ"),
        (changed("parameters", {"seeds": 1, "width": 6}), "parameters differ"),
        (changed("environment", {"python": "3.0"}), "versions differ"),
        (part(0, 1.0), r"seeds \[0\] come in more than one record"),
    ],
)
def test_what_does_not_belong_together_is_refused(other: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        merge.merge([part(0, 1.0), other], CLAIMS)


def test_nothing_changed_claims_and_missing_arms_are_refused() -> None:
    with pytest.raises(ValueError, match="no record was given"):
        merge.merge([], CLAIMS)
    with pytest.raises(ValueError, match="claims were changed after these runs"):
        merge.merge([part(0, 1.0)], [])
    lonely = part(1, 1.0)
    lonely["measurements"]["X1"]["against"] = None
    with pytest.raises(ValueError, match="some records compare with another arm"):
        merge.merge([part(0, 1.0), lonely], CLAIMS)


def test_different_machines_are_both_named() -> None:
    other = changed("hardware", {"cpu": "another", "cores": 2, "gpu": None})
    assert "another" in merge.merge([part(0, 1.0), other], CLAIMS)["hardware"]["cpu"]
