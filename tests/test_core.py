"""The shared core: scales, seeds, intervals, claims and rules, records, resuming, tables."""

import dataclasses
import importlib.metadata
import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as sps

from iclr26lib import claims, records, resume, scale, seeding, stats, style


@dataclasses.dataclass(frozen=True)
class Preset:
    epochs: int = dataclasses.field(default=3, metadata={"help": "passes"})
    rate: float = 0.5
    widths: tuple[int, ...] = (1, 2)
    name: str = "a"


PRESETS = {"smoke": Preset(epochs=1), "book": Preset(), "full": Preset(epochs=9)}


def test_scale_comes_from_argument_then_environment_then_book(monkeypatch):
    monkeypatch.delenv("ICLR26_SCALE", raising=False)
    assert scale.name() == "book"
    monkeypatch.setenv("ICLR26_SCALE", "smoke")
    assert scale.choose(PRESETS).epochs == 1
    assert scale.choose(PRESETS, "full").epochs == 9


def test_overrides_replace_fields_and_keep_types():
    chosen = scale.choose(PRESETS, "book", {"epochs": 7, "rate": 1, "widths": [5, 6]})
    assert (chosen.epochs, chosen.rate, chosen.widths) == (7, 1, (5, 6))
    assert ("epochs", 3, "passes") in scale.describe(Preset())


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("tiny", None), ValueError, "unknown scale 'tiny'; known: smoke, book, full"),
        (("book", {"epoch": 1}), ValueError, "unknown preset field 'epoch'; known: epochs, rate, widths, name"),
        (("book", {"epochs": "3"}), TypeError, "'epochs' takes"),
        (("book", {"epochs": True}), TypeError, "'epochs' takes"),
        (("book", {"widths": [1, 2.5]}), TypeError, "'widths' takes"),
    ],
)
def test_wrong_scales_and_overrides(arguments, error, message):
    with pytest.raises(error, match=message):
        scale.choose(PRESETS, *arguments)


def test_devices_and_streams():
    assert seeding.device("cpu").type == "cpu"
    with pytest.raises(ValueError, match="unknown device 'gpu'; known: auto, cpu, cuda, mps"):
        seeding.device("gpu")
    if not torch.cuda.is_available():
        assert seeding.device("auto").type == "cpu"
        with pytest.raises(ValueError, match="not present on this machine"):
            seeding.device("cuda")
    a, b, c = (torch.rand(3, generator=seeding.generator(s, name)) for s, name in ((0, "x"), (0, "x"), (0, "y")))
    assert torch.equal(a, b)
    assert not torch.equal(a, c)
    with pytest.raises(ValueError, match="0 or more, got -1"):
        seeding.generator(-1)
    with pytest.raises(ValueError, match="threads must be 1 or more"):
        seeding.deterministic(0)


def test_t_interval_equals_the_formula_and_covers():
    values = [0.1, 0.4, 0.2, 0.6]
    t = stats.t_interval(values)
    half = sps.t.ppf(0.975, 3) * np.std(values, ddof=1) / 2
    assert (t.low, t.high) == pytest.approx((np.mean(values) - half, np.mean(values) + half))
    draws = np.random.default_rng(0).normal(1.0, 2.0, size=(2000, 5))
    covered = np.mean([(i := stats.t_interval(d)).low < 1 < i.high for d in draws])
    assert 0.935 < covered < 0.965


def test_with_five_seeds_the_bootstrap_covers_less_than_it_says():
    """Why the t interval judges: nominal 95 %, covered far less."""
    draws = np.random.default_rng(1).normal(1.0, 2.0, size=(60, 5))
    covered = np.mean([(i := stats.bootstrap_interval(d)).low < 1 < i.high for d in draws])
    assert covered < 0.93


def test_intervals_at_their_ends():
    assert stats.t_interval([0.5]).high == np.inf
    assert (stats.t_interval([0.5, 0.5]).low, stats.bootstrap_interval([0.5, 0.5]).high) == (0.5, 0.5)
    assert stats.paired_difference([3, 2], [1, 1]).tolist() == [2, 1]
    wilson = stats.proportion_interval(8, 10)
    assert (wilson.low, wilson.high) == pytest.approx((0.4901625, 0.9433178), abs=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda: stats.t_interval([]),
        lambda: stats.t_interval([1.0, float("nan")]),
        lambda: stats.t_interval([1.0, 2.0], confidence=1.0),
        lambda: stats.paired_difference([1, 2], [1]),
        lambda: stats.proportion_interval(3, 2),
        lambda: stats.bootstrap_interval([1.0, 2.0], confidence=1.5),
        lambda: judge(DIFFERENCE, [1, 2, 3], [1, 2]),
        lambda: claims.parse_rule("mean within -0.02, 95 % interval inside, >= 3 seeds"),
        lambda: claims.parse_rule("every value == 0, >= 0 seeds"),
    ],
)
def test_intervals_refuse(call):
    with pytest.raises(ValueError, match=r"\S+ \S+"):
        call()


CLAIM = {
    "id": "C1", "statement": "s", "where": "w", "paper_value": "p", "metric": "m", "unit": "points", "against": "a",
    "rule": "mean_difference > 0, 95 % interval excludes 0, >= 3 seeds", "scales": ["book", "full"], "why": "y",
}  # fmt: skip


def write(tmp_path, *entries):
    path = tmp_path / "claims.yaml"
    path.write_text(json.dumps({"chapter": "x", "claims": list(entries)}))
    return path


def test_claims_load(tmp_path):
    (claim,) = claims.load(write(tmp_path, CLAIM))
    assert claim.scales == ("book", "full")
    assert claims.digest([claim]) != claims.digest([dataclasses.replace(claim, rule="every value == 0, >= 1 seeds")])


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([{k: v for k, v in CLAIM.items() if k != "why"}], "C1 lacks why"),
        ([CLAIM, CLAIM], "duplicate id C1"),
        ([CLAIM | {"rule": "looks good"}], "C1: unknown rule 'looks good'; known forms"),
        ([CLAIM | {"rule": "mean > 1, 95 % interval excludes 0, >= 3 seeds"}], "must exclude the threshold 1, not 0"),
        ([CLAIM | {"scales": ["tiny"]}], "C1: unknown scale 'tiny'"),
        ([CLAIM | {"colour": "red"}], "C1 has unknown fields colour"),
        (["C1"], "must be a mapping"),
        ([], "non-empty list"),
    ],
)
def test_wrong_claims_get_one_line(tmp_path, entries, message):
    with pytest.raises(ValueError, match=message) as caught:
        claims.load(write(tmp_path, *entries))
    assert "\n" not in str(caught.value)


def test_unreadable_claims(tmp_path):
    (tmp_path / "claims.yaml").write_text("claims: [")
    with pytest.raises(ValueError, match="cannot be read") as caught:
        claims.load(tmp_path / "claims.yaml")
    assert "\n" not in str(caught.value)


def judge(rule, ours, against=None, at="book"):
    return claims.judge(claims.Claim(**{**CLAIM, "rule": rule, "scales": ("book", "full")}), ours, against, at)


DIFFERENCE = "mean_difference > 0, 95 % interval excludes 0, >= 3 seeds"
WITHIN = "mean_difference within 0.1, 95 % interval inside, >= 3 seeds"


@pytest.mark.parametrize(
    ("rule", "ours", "against", "at", "verdict"),
    [
        (DIFFERENCE, [3, 4, 5], [1, 2, 2.9], "book", "shown"),
        (DIFFERENCE, [1, 2, 2.9], [3, 4, 5], "book", "contradicted"),
        (DIFFERENCE, [1, 2, 3], [2, 1, 3], "book", "not shown"),
        (DIFFERENCE, [3, 4], [1, 2], "book", "not judged at this scale"),
        (DIFFERENCE, [3, 4, 5], [1, 2, 2.9], "smoke", "not judged at this scale"),
        (DIFFERENCE.replace(">", "<", 1), [1, 2, 2.9], [3, 4, 5], "book", "shown"),
        (DIFFERENCE.replace(">", "<", 1), [3, 4, 5], [1, 2, 2.9], "book", "contradicted"),
        ("mean > 0.1, 95 % interval excludes 0.1, >= 3 seeds", [0.5, 0.6, 0.55], None, "full", "shown"),
        ("mean > 0.1, 95 % interval excludes 0.1, >= 3 seeds", [0.1, 0.1, 0.1], None, "full", "not shown"),
        (WITHIN, [1, 2, 3], [1.01, 2, 3], "book", "shown"),
        (WITHIN, [2, 3, 4], [1, 2.01, 3], "book", "contradicted"),
        (WITHIN, [1.2, 2, 3], [1, 2, 3], "book", "not shown"),
        ("every value == 0, >= 1 seeds", [0, 0], None, "book", "shown"),
        ("every value == 0, >= 1 seeds", [0, 1], None, "book", "contradicted"),
    ],
)
def test_rules_judge(rule, ours, against, at, verdict):
    assert judge(rule, ours, against, at).verdict == verdict


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=8))
def test_turning_the_arms_turns_the_verdict(values):
    zeros = [0.0] * len(values)
    turned = {"shown": "contradicted", "contradicted": "shown", "not shown": "not shown"}
    assert judge(DIFFERENCE, zeros, values).verdict == turned[judge(DIFFERENCE, values, zeros).verdict]


def test_a_difference_needs_two_arms():
    with pytest.raises(ValueError, match="second is missing"):
        judge(DIFFERENCE, [1, 2, 3])


def made(tmp_path, monkeypatch, **changes):
    monkeypatch.setenv("ICLR26_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(records, "code_digest", lambda slug: "d1")
    (claim,) = claims.load(write(tmp_path, CLAIM))
    arguments = {
        "claims": [claim], "seeds": [0, 1, 2], "parameters": {"epochs": 3}, "tables": {}, "cost": {"wall_seconds": 1.0},
        "measurements": {"C1": {"ours": [3, 4, 5], "against": [1, 2, 2.9]}}, **changes,
    }  # fmt: skip
    return claim, records.make("bep", "book", **arguments)


@pytest.mark.parametrize("seeds", [[0, 1], [0, 0, 0]])
def test_record_refuses_seeds_that_are_not_the_values(tmp_path, monkeypatch, seeds):
    with pytest.raises(ValueError, match="every measurement hold one number for each"):
        made(tmp_path, monkeypatch, seeds=seeds)


def test_record_goes_round(tmp_path, monkeypatch):
    claim, record = made(tmp_path, monkeypatch)
    path = records.save(record)
    assert path == tmp_path / "runs" / "book" / "bep.json"
    assert records.load(path) == record
    assert records.rejudge(record, [claim]) == record["claims"]
    assert record["claims"][0]["verdict"] == "shown"
    assert record["environment"]["torch"] == importlib.metadata.version("torch")
    assert records.current(path) == record
    monkeypatch.setattr(records, "code_digest", lambda slug: "d2")
    with pytest.raises(ValueError, match="another code version"):
        records.current(path)


def test_ledger_shows_full_scale_and_its_age(tmp_path, monkeypatch):
    claim, record = made(tmp_path, monkeypatch)
    assert "not run" in repr(style.ledger_table([claim], record["claims"]))
    shown = style.ledger_table([claim], record["claims"], record)
    assert repr(shown).endswith("shown | shown")
    assert 'class="verdict verdict-shown"' in shown._repr_html_()
    monkeypatch.setattr(records, "code_digest", lambda slug: "d2")
    assert repr(style.ledger_table([claim], record["claims"], record)).endswith("shown; by older code")


def test_record_refuses_unmatched_claims(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="do not match"):
        made(tmp_path, monkeypatch, measurements={"C2": {"ours": [1, 2, 3], "against": None}})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": None}, "missing or malformed seeds"),
        ({"slug": "../escaped"}, "is no slug"),
        ({"schema": 9}, "schema 9, this library reads 1"),
        ({"scale": "tiny"}, "unknown scale"),
        ({"claims": [{"verdict": "great"}]}, "unknown verdict 'great'"),
    ],
)
def test_malformed_records(tmp_path, monkeypatch, change, message):
    _, record = made(tmp_path, monkeypatch)
    path = tmp_path / "r.json"
    path.write_text(json.dumps(record | change))
    with pytest.raises(ValueError, match=message):
        records.load(path)
    path.write_text(json.dumps(record | {"cost": {"wall_seconds": float("nan")}}))
    with pytest.raises(ValueError, match="NaN is no JSON number"):
        records.load(path)
    path.write_text("{")
    with pytest.raises(ValueError, match="cannot be read"):
        records.load(path)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = records.write_atomically(tmp_path / "a.json", "old")
    with pytest.raises(TypeError):
        records.write_atomically(path, 7)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


CALLS: list[int] = []


def counted(x):
    CALLS.append(x)
    return {"twice": 2 * x}


def test_resumable_computes_once_a_code_version(tmp_path, monkeypatch):
    monkeypatch.setenv("ICLR26_RUNS", str(tmp_path))
    CALLS.clear()
    for digest, calls in (("a", 1), ("a", 1), ("b", 2)):
        monkeypatch.setattr(records, "code_digest", lambda slug, d=digest: d)
        assert resume.resumable("bep", counted)(x=4) == {"twice": 8}
        assert len(CALLS) == calls
    monkeypatch.setattr(records, "code_digest", lambda slug: None)
    resume.resumable("bep", counted)(x=4)
    assert len(CALLS) == 3
    with pytest.raises(ValueError, match="must be a function of a module"):
        resume.resumable("bep", lambda x: x)


def test_meter_measures():
    with records.Meter() as meter:
        np.zeros(10)
    assert 0 <= meter.cost()["wall_seconds"] < 5
    assert meter.cost()["peak_memory_mb"] > 50


def test_tables_and_numbers():
    table = style.Table(["a", "b"], [("<x>", 1)])
    assert "&lt;x&gt;" in table._repr_html_()
    with pytest.raises(ValueError, match="has 1 cells, the header 2"):
        style.Table(["a", "b"], [("x",)])
    assert style.number(0.6134, "accuracy") == "61.3 %"
    assert style.number(-0.0123, "points") == "-1.2 points"
    assert style.interval((0.01, 0.02), "points") == "+1.0 to +2.0"
    assert style.number(None) == "-"


def test_source_shows_code_without_docstring():
    shown = style.source(stats.paired_difference).data
    assert "return a - b" in shown
    assert "one number a seed" not in shown


def test_reading_needs_neither_numpy_nor_torch():
    """The book is built where neither is installed."""
    code = (
        "import sys; sys.modules['numpy'] = sys.modules['torch'] = None\n"
        "from iclr26lib import chapters, claims, digest, records, scale\n"
        "print(len(claims.of('bep')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 5


def test_a_seed_on_which_an_arm_was_not_run_does_not_count():
    claim = claims.Claim(
        "X",
        "s",
        "w",
        "p",
        "m",
        "points",
        "a",
        "mean_difference > 0, 95 % interval excludes 0, >= 3 seeds",
        ("book",),
        "y",
    )
    whole = claims.judge(claim, [1.0, 1.1, 1.2], [0.0, 0.0, 0.1], "book")
    assert claims.judge(claim, [1.0, None, 1.1, 1.2, 3.0], [0.0, 5.0, 0.0, 0.1, None], "book") == whole
    assert claims.judge(claim, [1.0, None, 1.2], [0.0, 0.0, 0.1], "book").verdict == "not judged at this scale"
    never = claims.judge(claim, [None, None], [None, 1.0], "book")
    assert (never.verdict, never.estimate, never.seeds) == ("not judged at this scale", None, 0)
    assert "not run" in style.ledger_table([claim], [vars(never)])._repr_html_()
