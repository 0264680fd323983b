"""A small chapter whose evidence trains seed after seed, for tests that kill, fill disks and merge."""

import shutil
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]

HEADER = """# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% tags=["bootstrap"]
print("only in Colab")

# %% tags=["parameters"]
scale = None
seed = 0
device = "auto"
overrides = {}
"""

EVIDENCE = """
# %%
from dataclasses import asdict
from iclr26lib import claims, records, resume
from iclr26lib import scale as scales
from iclr26lib.toy import work
preset = scales.choose(work.PRESETS, scale, overrides)
train = resume.resumable("toy", work.train)
seeds = [seed + k for k in range(preset.seeds)]
meter = records.Meter().__enter__()

# %%
values = [train(seed=s, seconds=preset.seconds) for s in seeds]

# %%
record = records.make(
    "toy", scales.name(scale), claims=claims.of("toy"), seeds=seeds, parameters=asdict(preset),
    measurements={"T1": {"ours": values, "against": None}}, tables={"values": values}, cost=meter.cost(),
)
_ = records.save(record)
print(values)

# %% tags=["measured-time"]
print(record["cost"])
"""

WORK = '''"""Work that takes a while."""
import os, time
from dataclasses import dataclass
from pathlib import Path

@dataclass(frozen=True)
class Preset:
    seeds: int
    seconds: float
    nothing: int = 2

PRESETS = {"smoke": Preset(6, 0.3), "book": Preset(2, 0.0), "full": Preset(2, 0.0)}

def train(seed, seconds):
    with Path(os.environ["TOY_LOG"]).open("a") as log:
        log.write(f"{seed}\\n")
    time.sleep(seconds)
    if seed == int(os.environ.get("TOY_FAILS_AT", -1)):
        raise eval(os.environ["TOY_ERROR"])
    return ((seed + 1) * 7919 % 104729) / 104729
'''

CLAIMS = """chapter: toy
claims:
  - id: T1
    statement: The values are positive.
    where: nowhere
    paper_value: none
    metric: value
    unit: points
    against: 0
    rule: "mean > 0, 95 % interval excludes 0, >= 2 seeds"
    scales: [smoke, book, full]
    why: They are.
"""


def lay_down(root: Path) -> Path:
    """Write the chapter `toy` and the shared core into an empty folder; return it."""
    library, chapter = root / "iclr26lib", root / "book" / "toy"
    (library / "toy").mkdir(parents=True)
    chapter.mkdir(parents=True)
    for path in (HERE / "iclr26lib").glob("*.py"):
        shutil.copy(path, library)
    shutil.copy(HERE / "tools/template/library/resources.py", library / "toy")
    (library / "toy" / "__init__.py").write_text("")
    (library / "toy" / "work.py").write_text(WORK)
    (root / "_toc.yml").write_text("")
    (root / "book" / "chapters.yaml").write_text("- {slug: toy}\n")
    (chapter / "claims.yaml").write_text(CLAIMS)
    (chapter / "idea.py").write_text(HEADER + "\n# %%\nprint(1)\n")
    (chapter / "evidence.py").write_text(HEADER + EVIDENCE)
    return root
