"""Rules about claims and records: declared in full, judged once each, and judged the same when judged again."""

import json
import math
from pathlib import Path

import yaml

from iclr26lib import claims as declared
from iclr26lib import records
from tools import promote

SCALES = ("book", "full")


def claims(slug: str, root: Path) -> list[str]:
    """The claims file is complete and belongs to this chapter."""
    path = root / "book" / slug / "claims.yaml"
    declared.load(path)
    named = yaml.safe_load(path.read_text(encoding="utf-8")).get("chapter")
    return [] if named == slug else [f"book/{slug}/claims.yaml says chapter: {named}"]


def verdicts(slug: str, root: Path) -> list[str]:
    """Each record is complete, judges every claim once, and its raw values give its verdicts again."""
    wanted = declared.load(root / "book" / slug / "claims.yaml")
    found = []
    for scale in SCALES:
        path = promote.stored(slug, scale, root)
        if path.is_file():
            found += [f"{path.relative_to(root)}: {line}" for line in wrong_in(path, slug, scale, wanted)]
    return found


def wrong_in(path: Path, slug: str, scale: str, wanted: list[declared.Claim]) -> list[str]:
    """Return what is wrong with one record."""
    record = records.load(path)
    if (record["slug"], record["scale"]) != (slug, scale):
        return [f"it is a record of {record['slug']} at {record['scale']} scale"]
    judged, ids = [entry["id"] for entry in record["claims"]], [claim.id for claim in wanted]
    if sorted(judged) != sorted(ids):
        return [f"it judges {', '.join(judged) or 'nothing'}; the chapter claims {', '.join(ids)}"]
    if scale == "book" and record["digest"].get("claims") != declared.digest(wanted):
        return ["the claims changed after it was made"]
    by_id = {entry["id"]: entry for entry in record["claims"]}
    again = {entry["id"]: entry for entry in records.rejudge(record, wanted)}
    return [f"{name} is stored as {said(by_id[name])}, its values give {said(again[name])}"
            for name in ids if not same(by_id[name], again[name])]  # fmt: skip


def said(entry: dict) -> str:
    """Return a judgement in short."""
    return json.dumps({key: entry.get(key) for key in ("verdict", "estimate", "interval")})


def same(one: object, other: object) -> bool:
    """Whether two judgements agree, numbers up to what another version of a library may change."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) or isinstance(other, float):
        numbers = isinstance(one, int | float) and isinstance(other, int | float)
        return numbers and math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)
    return one == other
