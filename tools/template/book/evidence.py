# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # __TITLE__: the evidence
#
# TO WRITE: what is tested here, in two lines.

# %% tags=["bootstrap", "remove-cell"]
__BOOTSTRAP__

# %% tags=["parameters"]
scale = None
seed = 0
device = "auto"
overrides = {}

# %% tags=["hide-input"]
from dataclasses import asdict

from iclr26lib import claims, records, seeding, style
from iclr26lib import scale as scales
from iclr26lib.__SLUG__ import figures, method, presets

style.use()
chosen = scales.name(scale)
preset = scales.choose(presets.PRESETS, scale, overrides)
seeding.device(device)
style.preset_table(preset)

# %% [markdown]
# ## The claims

# %% tags=["hide-input"]
declared = claims.of("__SLUG__")
style.claims_table(declared)

# %% [markdown]
# ## Data and baselines
#
# TO WRITE: the data with source and licence; each baseline, and the budget it was tuned with.

# %% [markdown]
# ## The runs

# %%
seeds = [seed + k for k in range(preset.seeds)]
with records.Meter() as meter:
    runs = [method.compare(preset.samples, s) for s in seeds]

# %% [markdown]
# ## Figures

# %% tags=["hide-input"] mystnb={"figure": {"caption": "TO WRITE: the caption of the result.", "name": "__SLUG__-result"}, "image": {"alt": "TO WRITE: what the result shows, in words."}}
figures.errors(runs)
# %% [markdown]
# ## The ledger

# %%
ours = [run["method"] for run in runs]
against = [run["baseline"] for run in runs]
record = records.make(
    "__SLUG__",
    chosen,
    claims=declared,
    seeds=seeds,
    parameters=asdict(preset),
    measurements={"C1": {"ours": against, "against": ours}},
    tables={},
    cost=meter.cost(),
)
records.save(record)
style.ledger_table(declared, record["claims"])

# %% [markdown]
# ## Main ablation
#
# TO WRITE: the part whose removal should hurt most, and what happens without it.

# %% [markdown]
# ## What it cost

# %% tags=["hide-input", "measured-time"]
style.Table(["what", "value"], list(record["cost"].items()))

# %% [markdown]
# ## What we found while rebuilding
#
# TO WRITE: where the paper is silent or disagrees with itself, and what we chose.

# %% [markdown]
# ## What this cannot show
#
# TO WRITE: the limits of these runs.

# %% [markdown]
# ## Run it at full scale
#
# ```
# make run CHAPTER=__SLUG__ SCALE=full
# make outputs CHAPTER=__SLUG__ SCALE=full
# ```
