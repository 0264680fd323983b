"""Claims as data, the rules that judge them, and the verdicts.

A rule is one line, in one of three forms, fixed before the run that it judges:

    mean_difference > 0, 95 % interval excludes 0, >= 5 seeds      one-sided; also `mean`, also `<`
    mean_difference within 0.02, 95 % interval inside, >= 5 seeds  equivalence; also `mean`
    every value == 0, >= 1 seeds                                   exact

`mean_difference` pairs the two arms by seed. Parsing needs no numpy; judging imports `stats`.
"""

import hashlib
import json
import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from . import scale as scales
from .chapters import ROOT

VERDICTS = ("shown", "not shown", "contradicted", "not judged at this scale")
_NUMBER = r"(-?\d+(?:\.\d+)?)"
_SIZE, _SEEDS = r"(\d+(?:\.\d+)?)", r"([1-9]\d*)"
_FORMS = {
    "sided": re.compile(
        rf"(mean|mean_difference) ([<>]) {_NUMBER}, 95 % interval excludes {_NUMBER}, >= {_SEEDS} seeds"
    ),
    "within": re.compile(rf"(mean|mean_difference) within {_SIZE}, 95 % interval inside, >= {_SEEDS} seeds"),
    "exact": re.compile(rf"every value == {_NUMBER}, >= {_SEEDS} seeds"),
}


@dataclass(frozen=True)
class Rule:
    """A parsed rule. form: "sided", "within" or "exact"; statistic: "mean", "mean_difference" or "every value"."""

    form: str
    statistic: str
    sign: str
    threshold: float
    seeds: int


@dataclass(frozen=True)
class Claim:
    """One claim of a paper, as `claims.yaml` declares it."""

    id: str
    statement: str
    where: str
    paper_value: str
    metric: str
    unit: str
    against: str
    rule: str
    scales: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class Judgement:
    """What a rule said: the verdict, the judged statistic with its 95 % interval, the two means, the seeds."""

    id: str
    verdict: str
    estimate: float | None
    interval: tuple[float, float] | None
    bootstrap: tuple[float, float] | None
    ours: float | None
    against: float | None
    seeds: int
    unit: str


def parse_rule(text: str) -> Rule:
    """The rule that `text` states. Raises ValueError, naming the three forms, when it states none of them."""
    if match := _FORMS["sided"].fullmatch(text):
        statistic, sign, threshold, excluded, seeds = match.groups()
        if float(threshold) != float(excluded):
            raise ValueError(f"rule {text!r}: the interval must exclude the threshold {threshold}, not {excluded}")
        return Rule("sided", statistic, sign, float(threshold), int(seeds))
    if match := _FORMS["within"].fullmatch(text):
        return Rule("within", match[1], "", float(match[2]), int(match[3]))
    if match := _FORMS["exact"].fullmatch(text):
        return Rule("exact", "every value", "", float(match[1]), int(match[2]))
    raise ValueError(
        f"unknown rule {text!r}; known forms: 'mean_difference > 0, 95 % interval excludes 0, >= 5 seeds', "
        "'mean_difference within 0.02, 95 % interval inside, >= 5 seeds', 'every value == 0, >= 1 seeds'"
    )


def _claim(entry: Any, source: str) -> Claim:
    names = [f.name for f in fields(Claim)]
    if not isinstance(entry, dict):
        raise ValueError(f"{source}: a claim must be a mapping with {', '.join(names)}; got {entry!r}")
    label = entry.get("id", "a claim without id")
    if missing := [n for n in names if entry.get(n) in (None, "", [])]:
        raise ValueError(f"{source}: {label} lacks {', '.join(missing)}")
    if unknown := sorted(map(str, set(entry) - set(names))):
        raise ValueError(f"{source}: {label} has unknown fields {', '.join(unknown)}; known: {', '.join(names)}")
    try:
        parse_rule(entry["rule"])
        allowed = tuple(scales.name(s) for s in entry["scales"])
    except (ValueError, TypeError) as error:
        raise ValueError(f"{source}: {label}: {error}") from error
    return Claim(**{**{n: str(entry[n]).strip() for n in names}, "scales": allowed})


def load(path: str | Path) -> list[Claim]:
    """The claims of a chapter, in file order.

    path: its `claims.yaml`. Raises ValueError, in one line, for a file that is no list of claims, a missing or unknown
    field, an unknown rule or scale, or a duplicate id.
    """
    source = f"{Path(path).parent.name}/{Path(path).name}"
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ValueError(f"{source} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict) or not content.get("chapter") or not isinstance(content.get("claims"), list):
        raise ValueError(f"{source}: expected 'chapter: SLUG' and a non-empty list 'claims:'")
    if not content["claims"]:
        raise ValueError(f"{source}: expected 'chapter: SLUG' and a non-empty list 'claims:'")
    claims = [_claim(entry, source) for entry in content["claims"]]
    ids = [c.id for c in claims]
    if doubles := sorted({i for i in ids if ids.count(i) > 1}):
        raise ValueError(f"{source}: duplicate id {', '.join(doubles)}")
    return claims


def of(slug: str) -> list[Claim]:
    """The claims of a chapter of this repository, `book/SLUG/claims.yaml`. Raises ValueError as `load`."""
    return load(ROOT / "book" / slug / "claims.yaml")


def digest(claims: list[Claim]) -> str:
    """SHA-256 of what the claims say, so that a record can tell whether they changed after it."""
    return hashlib.sha256(json.dumps([asdict(c) for c in claims], sort_keys=True).encode()).hexdigest()


def _verdict(rule: Rule, values, low: float, high: float) -> str:
    t = rule.threshold
    if rule.form == "exact":
        return "shown" if all(v == t for v in values) else "contradicted"
    if rule.form == "within":
        if -t < low and high < t:
            return "shown"
        return "contradicted" if low > t or high < -t else "not shown"
    if rule.sign == "<":
        low, high, t = -high, -low, -t
    if low > t:
        return "shown"
    return "contradicted" if high < t else "not shown"


def judge(claim: Claim, ours, against, scale: str) -> Judgement:
    """Apply a claim's rule to per-seed values.

    ours: one number a seed, None for a seed on which the arm was not run. against: the same seeds of the other arm, or
    None where the rule needs none (then it is ignored by the rule). A seed counts where both arms have a number. scale:
    the scale of the run; a scale outside `claim.scales`, or fewer seeds than the rule asks for, gives "not judged at
    this scale". Raises ValueError for values that are not finite or not paired.
    """
    from . import stats

    rule = parse_rule(claim.rule)
    if against is not None and len(against) != len(ours):
        raise ValueError(f"{claim.id}: {len(ours)} seeds of one arm, {len(against)} of the other")
    if rule.statistic == "mean_difference" and against is None:
        raise ValueError(f"{claim.id}: the rule compares two arms, and the second is missing")
    ours, against = _where_both_ran(ours, against)
    if not ours:
        return Judgement(claim.id, VERDICTS[3], None, None, None, None, None, 0, claim.unit)
    values = stats.paired_difference(ours, against) if rule.statistic == "mean_difference" else list(ours)
    t, boot = stats.t_interval(values), stats.bootstrap_interval(values)
    if scales.name(scale) not in claim.scales or t.n < rule.seeds:
        verdict = VERDICTS[3]
    else:
        verdict = _verdict(rule, values, t.low, t.high)
    finite = t.n > 1
    return Judgement(
        id=claim.id,
        verdict=verdict,
        estimate=t.estimate,
        interval=(t.low, t.high) if finite else None,
        bootstrap=(boot.low, boot.high) if finite else None,
        ours=float(sum(ours) / len(ours)),
        against=None if against is None else float(sum(against) / len(against)),
        seeds=t.n,
        unit=claim.unit,
    )


def _where_both_ran(ours, against) -> tuple[list, list | None]:
    """The values of the seeds on which all arms ran."""
    other = ours if against is None else against
    ran = [seed for seed, pair in enumerate(zip(ours, other, strict=True)) if None not in pair]
    return [ours[seed] for seed in ran], None if against is None else [against[seed] for seed in ran]
