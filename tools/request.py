"""What a call of the engine wants, as a file: the command line writes it, the workflow and its jobs read it."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from iclr26lib import digest, records, resources
from iclr26lib.chapters import NOTEBOOKS, ROOT

ACTIONS = ("run", "outputs", "sweep")


@dataclass(frozen=True)
class Request:
    """One call of the engine.

    action: "run" (notebooks into runs/), "outputs" (into the repository) or "sweep" (evidence, one run a seed).
    parameters: what papermill injects. wanted: slug -> names of notebooks, or seeds for a sweep. limit: minutes that
    one cell may take, 0 for six times what the chapter expects. needs_gpu: whether jobs that want a GPU get one. keys:
    slug -> `key` of its sweep, fixed when the call begins.
    """

    action: str
    scale: str
    wanted: dict[str, list]
    runs: str
    folder: str
    parameters: dict = field(default_factory=dict)
    limit: float = 0
    needs_gpu: bool = False
    keys: dict[str, str] = field(default_factory=dict)
    root: str = str(ROOT)

    def __post_init__(self) -> None:
        """Raise ValueError for an unknown action."""
        if self.action not in ACTIONS:
            raise ValueError(f"unknown action {self.action!r}; known: {', '.join(ACTIONS)}")

    @property
    def marks(self) -> str:
        """Where finished jobs of this call leave their marks."""
        return f"{self.folder}/done"

    @property
    def said(self) -> Path:
        """Where failed jobs of this call leave their one line, for machines whose output nobody sees."""
        return Path(self.folder) / "errors"

    @property
    def sweeps(self) -> str:
        """Where the records of single seeds are kept, whatever call made them."""
        return f"{self.runs}/sweeps"

    def resources(self, slug: str) -> resources.Resources:
        """The declared needs of a chapter at this call's scale."""
        return resources.of(slug, Path(self.root)).scales[self.scale]

    def cell_minutes(self, slug: str) -> float:
        """Minutes after which a cell counts as stuck."""
        return self.limit or max(10.0, 6 * self.resources(slug).minutes)

    def sweep(self, slug: str) -> Path:
        """The folder of one sweep: its name carries the code, the versions and the settings."""
        return Path(self.sweeps) / slug / self.keys[slug]

    def of_seed(self, slug: str, seed: int) -> dict:
        """What papermill injects for one seed of a sweep. Raises ValueError when the overrides count seeds too."""
        one = resources.of(slug, Path(self.root)).one_seed
        overrides = self.parameters.get("overrides", {})
        if both := sorted(set(one) & set(overrides)):
            raise ValueError(f"SEEDS and SET both set {', '.join(both)}; leave it out of SET")
        return {**self.parameters, "seed": seed, "overrides": {**overrides, **one}}


def key(slug: str, scale: str, parameters: dict, root: Path = ROOT) -> str:
    """A name for the code, the versions and the settings of a sweep: another one when any of them changes."""
    settings = {name: value for name, value in parameters.items() if name != "seed"}
    content = json.dumps([digest.chapter_digest(slug, root), records.environment(), scale, settings], sort_keys=True)
    return f"{scale}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def write(request: Request) -> Path:
    """Write a request into its folder and return the file's path."""
    path = Path(request.folder) / "request.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(request), indent=1), encoding="utf-8")
    return path


def read(path: Path) -> Request:
    """Read a request."""
    return Request(**json.loads(Path(path).read_text(encoding="utf-8")))


def in_order(names: list[str]) -> list[str]:
    """Names of notebooks in the order in which a chapter runs them. Raises ValueError for another name."""
    if unknown := [name for name in names if name not in NOTEBOOKS]:
        raise ValueError(f"unknown notebook {unknown[0]!r}; known: {', '.join(NOTEBOOKS)}")
    return [name for name in NOTEBOOKS if name in names]
