"""One job of the engine, in a process of its own: `python -m tools.job REQUEST notebook|seed|merge SLUG [NAME|SEED]`.

Whatever goes wrong is said in one line, the exit code is 1, and what was there before is still there.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path

from tools import locks, notebooks, outputs, promote
from tools import request as requests
from tools.execute import NotebookFailed, execute, explain, shown, variables
from tools.request import Request
from tools.suite import ONE_THREAD


@contextmanager
def machine(request: Request, slug: str) -> Iterator[None]:
    """Give the kernels of this process the chapter's threads, one GPU where it needs one, and the folder of runs."""
    needs = request.resources(slug)
    ours = dict.fromkeys(ONE_THREAD, str(needs.threads)) | {"ICLR26_RUNS": request.runs}
    with ExitStack() as held:
        if request.needs_gpu and needs.gpu:
            number = held.enter_context(locks.card(locks.cards()))
            if number is None:
                raise ValueError(f"{slug} needs a GPU at {request.scale} scale and this machine has none")
            ours["CUDA_VISIBLE_DEVICES"] = number
        held.enter_context(variables(ours))
        yield


def notebook(request: Request, slug: str, name: str) -> None:
    """Run one notebook of a chapter, into ``runs/SCALE/SLUG`` or, for the action "outputs", into the repository."""
    root, limit = Path(request.root), request.cell_minutes(slug)
    folder = Path(request.runs) / request.scale
    target, record = folder / slug / f"{name}.ipynb", folder / f"{slug}.json"
    with locks.alone(target.parent / ".lock", f"{slug}: another run at {request.scale} scale is at work; waiting"):
        if request.action == "outputs":
            outputs.execute_and_store(slug, name, root, limit)
            return
        began = time.perf_counter()
        print(f"{slug}/{name}: running at {request.scale} scale", flush=True)
        source = notebooks.read_source(root / "book" / slug / f"{name}.py")
        with promote.taking_record(slug, request.scale, record, root) if name == "evidence" else nullcontext():
            execute(source, f"{slug}/{name}", target, request.scale, request.parameters, root, limit)
        print(f"{slug}/{name}: done in {time.perf_counter() - began:.0f} s, {shown(target, root)}", flush=True)


def seed(request: Request, slug: str, number: int) -> None:
    """Run a chapter's evidence for one seed of a sweep; its record appears when all is done."""
    root, folder = Path(request.root), request.sweep(slug)
    own = folder / f"seed-{number}"
    with locks.alone(own / ".lock", f"{slug}: another run of seed {number} is at work; waiting"):
        record = folder / f"seed-{number}.json"
        if record.is_file():
            return
        began = time.perf_counter()
        source = notebooks.read_source(root / "book" / slug / "evidence.py")
        parameters, limit = request.of_seed(slug, number), request.cell_minutes(slug)
        with variables({"ICLR26_RUNS": str(own)}), promote.taking_record(slug, request.scale, record, root):
            execute(source, f"{slug}/evidence", own / "evidence.ipynb", request.scale, parameters, root, limit)
        print(f"{slug}: seed {number} done in {time.perf_counter() - began:.0f} s", flush=True)


def merge(request: Request, slug: str) -> None:
    """Make the chapter's record from those of its seeds, which must be of one code."""
    from iclr26lib import claims, merge, records, resources

    root, folder = Path(request.root), request.sweep(slug)
    parts = [records.load(folder / f"seed-{number}.json") for number in request.wanted[slug]]
    counting = tuple(resources.of(slug, root).one_seed)
    merged = merge.merge(parts, claims.load(root / "book" / slug / "claims.yaml"), counting)
    lock = Path(request.runs) / request.scale / slug / ".lock"
    with locks.alone(lock, f"{slug}: another run at {request.scale} scale is at work; waiting"):
        path = records.save(merged)
    print(f"{slug}: {len(parts)} seeds merged into {shown(path, root)}", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Do one job; return 0, or 1 after one line on standard error, which is also kept in the request's folder."""
    path, kind, slug, *rest = sys.argv[1:] if arguments is None else arguments
    what = {"notebook": notebook, "seed": lambda *a: seed(*a[:2], int(a[2])), "merge": merge}[kind]
    request = requests.read(Path(path))
    try:
        with machine(request, slug):
            what(request, slug, *rest)
    except KeyboardInterrupt:
        return 130
    except (NotebookFailed, ValueError, KeyError, OSError, MemoryError) as error:
        line = f"error: {explain(error)}"
        print(line, file=sys.stderr, flush=True)
        with suppress(OSError):  # a full disk: the line stands on standard error
            request.said.mkdir(parents=True, exist_ok=True)
            (request.said / "-".join([kind, slug, *rest])).write_text(line + "\n", encoding="utf-8")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
