# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # __TITLE__
#
# __PAPER__. __AUTHORS__. ICLR 2026. [Paper](__LINK__).
#
# __SENTENCE__
#
# TO WRITE: what you will be able to do after this page, in two or three lines.

# %% tags=["bootstrap", "remove-cell"]
__BOOTSTRAP__

# %% tags=["parameters"]
scale = None
seed = 0
device = "auto"
overrides = {}

# %% tags=["hide-input"]
from iclr26lib import style
from iclr26lib.__SLUG__ import exercises, figures, method, presets
from iclr26lib.scale import choose

style.use()
preset = choose(presets.PRESETS, scale, overrides)
style.preset_table(preset)

# %% [markdown]
# ## The problem
#
# TO WRITE: the problem on one picture, and what others do about it.

# %% tags=["card", "hide-input"] mystnb={"figure": {"caption": "TO WRITE: the caption of the first picture.", "name": "__SLUG__-problem"}, "image": {"alt": "TO WRITE: what the first picture shows, in words."}}
values = method.noisy(preset.samples, seed)
figures.trace(values)
# %% [markdown]
# ## The method, step by step
#
# TO WRITE: each equation beside the lines that compute it; every symbol with its shape before its use.
#
# $$m_t = m_{t-1} + \frac{x_t - m_{t-1}}{t}$$ (eq-__SLUG__-1)

# %% tags=["remove-input"]
style.source(method.running_mean)

# %%
method.running_mean(values)[-1]

# %% [markdown]
# ## Move it
#
# TO WRITE: what to try with the sliders, and what you see then.

# %% tags=["hide-input"]
figures.interactive(seed)

# %% [markdown]
# ## Exercises

# %% [markdown] tags=["exercise"]
# **Exercise 1.** TO WRITE: task, hint and target value of the exercise `step`.


# %%
def step(mean, value, count):
    """Your turn: the mean after one more value."""
    return mean + (value - mean) / count


exercises.EXERCISES["step"].check(step)

# %% tags=["solution", "remove-input", "hide-output"]
style.source(exercises.step)

# %% [markdown] tags=["exercise"]
# **Exercise 2.** TO WRITE: task, hint and target value of the exercise `error`.


# %%
def error(estimate, truth):
    """Your turn: how far the estimate is from the truth."""
    return abs(estimate - truth)


exercises.EXERCISES["error"].check(error)

# %% tags=["solution", "remove-input", "hide-output"]
style.source(exercises.error)

# %% [markdown]
# ## What to read next
#
# TO WRITE: two or three places, and why.
