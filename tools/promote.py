"""Take a run's record over into ``results/``, if it was made by the code that is here now."""

import contextlib
import importlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from iclr26lib import digest, resources
from iclr26lib.chapters import ROOT
from tools.execute import runs_folder, variables
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


@contextlib.contextmanager
def taking_record(slug: str, scale: str, target: Path, root: Path = ROOT) -> Iterator[None]:
    """Let evidence write its record aside, and put it at `target` only when the block succeeds.

    Raises ValueError when the block left no record, or when the code changed between its beginning and its end.
    """
    code, aside = digest.chapter_digest(slug, root), target.with_name(f".{target.stem}.aside")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        with variables({"ICLR26_RECORDS": str(aside)}):
            yield
        if digest.chapter_digest(slug, root) != code:
            raise ValueError(f"the code of {slug} changed while it ran; run it again, nothing was changed")
        made = of_this_code(aside / scale / f"{slug}.json", slug, scale, root)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(made, target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def of_this_code(path: Path, slug: str, scale: str, root: Path = ROOT) -> Path:
    """Return the path of a record that the present code made.

    Raises ValueError, in one line, when the record is absent, is no valid record, is of another chapter or scale, or
    comes from another version of the code.
    """
    from iclr26lib import records

    if not path.is_file():
        raise ValueError(f"no record at {path}: evidence.py of {slug} must write one, see iclr26lib.records")
    record = records.load(path)
    if (record["slug"], record["scale"]) != (slug, scale):
        raise ValueError(f"{path} is a record of {record['slug']} at {record['scale']} scale, not of {slug} at {scale}")
    if record["digest"].get("code") != digest.chapter_digest(slug, root):
        raise ValueError(f"{path} was made by another version of the code of {slug}; run it again, nothing was changed")
    return path


def checked(slug: str, scale: str, root: Path = ROOT) -> Path:
    """Return the path of the run's record: of this code, and of the preset's settings but for the number of seeds.

    Raises ValueError as `of_this_code`, and for other settings.
    """
    path = of_this_code(runs_folder(root) / scale / f"{slug}.json", slug, scale, root)
    if root == ROOT:
        preset = asdict(importlib.import_module(f"iclr26lib.{slug}.presets").PRESETS[scale])
        ran = json.loads(path.read_text(encoding="utf-8"))["parameters"]
        counting = resources.of(slug, root).one_seed
        plain = json.loads(json.dumps({k: v for k, v in preset.items() if k not in counting}))
        if other := [k for k, v in plain.items() if ran.get(k) != v]:
            raise ValueError(
                f"{path} was run with other settings than the preset's ({', '.join(other)}); run it without"
            )
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
