"""One record of a chapter out of the records of its seeds."""

from typing import Any

from . import claims as claims_
from . import records


def _agreed(parts: list[dict[str, Any]], what: str, value) -> Any:
    """The one value that all parts give. Raises ValueError, naming two that differ."""
    first = value(parts[0])
    for part in parts[1:]:
        if value(part) != first:
            seeds = f"seeds {parts[0]['seeds']} and {part['seeds']}"
            raise ValueError(f"{what} differ between {seeds}: {first!r} and {value(part)!r}; run them again alike")
    return first


def _joined(parts: list[dict[str, Any]], claim: str) -> dict[str, list[float] | None]:
    sides = {}
    for side in ("ours", "against"):
        values = [part["measurements"][claim][side] for part in parts]
        missing = [value is None for value in values]
        if any(missing) and not all(missing):
            raise ValueError(f"claim {claim}: some records compare with another arm and some do not")
        sides[side] = None if any(missing) else [number for value in values for number in value]
    return sides


def _machines(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The hardware of all parts: one value where they agree, else the different ones, joined."""
    found = {}
    for key in parts[0]["hardware"]:
        values = list(dict.fromkeys(part["hardware"].get(key) for part in parts))
        found[key] = values[0] if len(values) == 1 else "; ".join(sorted(map(str, values)))
    return found


def _cost(parts: list[dict[str, Any]]) -> dict[str, float]:
    """Seconds of all parts together, and the largest memory that one of them took."""
    cost = {key: max(part["cost"].get(key, 0) for part in parts) for key in parts[0]["cost"]}
    return {**cost, "wall_seconds": round(sum(part["cost"]["wall_seconds"] for part in parts), 1)}


def _fitting(parts: list[dict[str, Any]], claims: list[claims_.Claim]) -> list[dict[str, Any]]:
    """The parts in the order of their seeds, if they belong together; raises ValueError as `merge` says."""
    if not parts:
        raise ValueError("nothing to merge: no record was given")
    seeds = [seed for part in parts for seed in part["seeds"]]
    if twice := sorted({seed for seed in seeds if seeds.count(seed) > 1}):
        raise ValueError(f"seeds {twice} come in more than one record")
    names = {"slug": "chapter", "scale": "scale", "digest": "the code or the claims", "environment": "versions"}
    for key, name in names.items():
        _agreed(parts, name, lambda part, key=key: part[key])
    measured = _agreed(parts, "claims", lambda part: sorted(part["measurements"]))
    if parts[0]["digest"].get("claims") != claims_.digest(claims) or measured != sorted(c.id for c in claims):
        raise ValueError("the claims were changed after these runs; run them again")
    return sorted(parts, key=lambda part: part["seeds"])


def merge(
    parts: list[dict[str, Any]], claims: list[claims_.Claim], counting: tuple[str, ...] = ("seeds",)
) -> dict[str, Any]:
    """One record from the records of disjoint seeds, every claim judged again on all of them.

    parts: records of one chapter at one scale. claims: the declared claims. counting: the parameters that count seeds;
    they may differ, and become the number of seeds. The tables of each part stand under `tables["parts"]`.
    Raises ValueError when there is no part, when chapter, scale, code, claims, parameters or versions differ, when a
    seed comes twice, or when the claims are not those that were measured.
    """
    parts = _fitting(parts, claims)
    seeds = [seed for part in parts for seed in part["seeds"]]
    fixed = _agreed(parts, "parameters", lambda p: {k: v for k, v in p["parameters"].items() if k not in counting})
    counts = {key: len(seeds) for key in counting if key in parts[0]["parameters"]}
    merged = {
        **parts[0], "date": max(part["date"] for part in parts), "seeds": seeds, "parameters": fixed | counts,
        "measurements": {claim.id: _joined(parts, claim.id) for claim in claims},
        "tables": {"parts": [{"seeds": part["seeds"], "tables": part["tables"]} for part in parts]},
        "hardware": _machines(parts), "cost": _cost(parts),
    }  # fmt: skip
    merged["claims"] = records.rejudge(merged, claims)
    return merged
