"""Take a run's record over into ``results/``, if it was made by the code that is here now."""

import json
import shutil
from pathlib import Path

from iclr26lib import digest
from iclr26lib.chapters import ROOT
from tools.execute import runs_folder
from tools.notebooks import replacing

TIMES = ("cost", "date")


def stored(slug: str, scale: str, root: Path = ROOT) -> Path:
    """Return where the repository keeps the record of a chapter at a scale."""
    return root / "results" / scale / f"{slug}.json"


def fresh(path: Path, slug: str, root: Path = ROOT) -> bool:
    """Whether the record at `path` exists and was made by the present code of the chapter.

    Raises ValueError when the file is no record.
    """
    if not path.is_file():
        return False
    try:
        return json.loads(path.read_text(encoding="utf-8"))["digest"]["code"] == digest.chapter_digest(slug, root)
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a record: {type(error).__name__}: {error}; remove it and run again") from error


def checked(slug: str, scale: str, root: Path = ROOT) -> Path:
    """Return the path of the run's record after all checks.

    Raises ValueError, in one line, when the record is absent, is no valid record, is of another chapter or scale, or
    comes from another version of the code.
    """
    from iclr26lib import records

    path = runs_folder(root) / scale / f"{slug}.json"
    if not path.is_file():
        raise ValueError(f"no record at {path}: evidence.py of {slug} must write one, see iclr26lib.records")
    record = records.load(path)
    if (record["slug"], record["scale"]) != (slug, scale):
        raise ValueError(f"{path} is a record of {record['slug']} at {record['scale']} scale, not of {slug} at {scale}")
    if record["digest"].get("code") != digest.chapter_digest(slug, root):
        raise ValueError(f"{path} was made by another version of the code of {slug}; run it again, nothing was changed")
    return path


def promote(slug: str, scale: str, root: Path = ROOT) -> Path:
    """Copy the run's record into ``results/SCALE/``, at once or not at all. Raises ValueError as `checked` does."""
    source = checked(slug, scale, root)
    with replacing(stored(slug, scale, root)) as place:
        shutil.copyfile(source, place)
    return stored(slug, scale, root)


def same_but_times(slug: str, scale: str, root: Path = ROOT) -> bool:
    """Whether the run's record says what the stored one says, cost and date aside. Raises ValueError as `checked`."""
    place = stored(slug, scale, root)
    if not place.is_file():
        return False
    old, new = (json.loads(path.read_text(encoding="utf-8")) for path in (place, checked(slug, scale, root)))
    return {k: v for k, v in old.items() if k not in TIMES} == {k: v for k, v in new.items() if k not in TIMES}
