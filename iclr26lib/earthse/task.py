"""Tasks for the command line: `inspect eval iclr26lib/earthse/task.py@earthse_items --model PROVIDER/MODEL`.

`inspect view` opens the logs. EarthSE-style items, made by code; the paper's own data go through `report`.
"""

from inspect_ai import Task, task

from iclr26lib.earthse.dialogues import dialogue_solver
from iclr26lib.earthse.gold import make_gold
from iclr26lib.earthse.graders import grader
from iclr26lib.earthse.items import EVEN_MIX, make_items
from iclr26lib.earthse.prompts import prompt
from iclr26lib.earthse.scripted import Scripted
from iclr26lib.earthse.tasks import SAFE_TASKS
from iclr26lib.evalkit.engine import as_task, register
from iclr26lib.evalkit.solvers import ask

register("scripted", lambda: Scripted(1.0, noise_format=0.5, name="scripted"))


@task
def earthse_items(n: int = 240, seed: int = 0, mode: str = "tolerant", max_tokens: int = 1024) -> Task:
    """`n` items of `seed`, graded.

    mode: "tolerant" or "published", which has no grade for free answers and asks none. max_tokens: of an answer. Raises
    ValueError as `make_items` and `grader`.
    """
    graded = grader(mode)
    mix = {fmt: weight for fmt, weight in EVEN_MIX.items() if mode == "tolerant" or fmt != "fr"}
    items = make_items(n, mix, seed, SAFE_TASKS)
    return as_task(items, graded, ask(prompt, max_tokens=max_tokens), seed=seed, name="earthse_items")


@task
def earthse_gold(n: int = 40, seed: int = 0, samples: int = 3, max_tokens: int = 1024) -> Task:
    """`n` dialogues of `seed`, each led `samples` times through its two turns; both turns stand in the log, ungraded.

    max_tokens: of a turn. Raises ValueError as `make_gold`.
    """
    return as_task(make_gold(n, seed), None, dialogue_solver(max_tokens), samples, seed, "earthse_gold")
