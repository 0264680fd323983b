"""What a request comes to: its jobs, what each needs and which files stand for it, as the Snakefile asks."""

import math

from tools import request as requests
from tools.request import Request, read

__all__ = ["before", "jobs", "need", "read", "seed_records", "targets"]


def need(request: Request, slug: str, field: str) -> int:
    """What Snakemake reserves for a job: "threads", "memory_mb", "runtime" in minutes, or "gpu" as 0 or 1."""
    needs = request.resources(slug)
    if field == "gpu":
        return int(needs.gpu and request.needs_gpu)
    return math.ceil(max(3 * needs.minutes, request.limit)) + 5 if field == "runtime" else getattr(needs, field)


def before(request: Request, slug: str, name: str) -> list[str]:
    """Marks of the notebooks of a chapter that run before this one: the cheap one fails first."""
    names = requests.in_order(request.wanted[slug])
    return [f"{request.marks}/{slug}/{earlier}.done" for earlier in names[: names.index(name)]]


def seed_records(request: Request, slug: str) -> list[str]:
    """The records of all seeds that a chapter's sweep asks for."""
    return [f"{request.sweep(slug)}/seed-{number}.json" for number in request.wanted[slug]]


def targets(request: Request) -> list[str]:
    """The files that stand for everything that is wanted."""
    if request.action == "sweep":
        return [f"{request.marks}/{slug}/merged.done" for slug in request.wanted]
    return [f"{request.marks}/{slug}/{name}.done" for slug, names in request.wanted.items() for name in names]


def jobs(request: Request) -> list[list[str]]:
    """All jobs in an order that is right when they run one after another; finished seeds are left out."""
    if request.action != "sweep":
        return [["notebook", slug, name] for slug, names in request.wanted.items() for name in requests.in_order(names)]
    found = []
    for slug, seeds in request.wanted.items():
        left = [n for n in seeds if not (request.sweep(slug) / f"seed-{n}.json").is_file()]
        found += [["seed", slug, str(number)] for number in left] + [["merge", slug]]
    return found
