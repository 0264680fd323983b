# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Posterior estimation with latent basis expansions: the evidence
#
# What of the paper holds when one tries: LBF-NPE against mixtures and flows where the exact posterior is known, its two
# design choices, its rival EigenVI, and calibration. Every claim below was written down, with the rule that judges it,
# before the runs that judge it. Pilot runs on other seeds came first; what was changed after a first run is listed at the
# top of `claims.yaml`.

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
        subprocess.run([*pip, "./iclr26[lbf_npe]"], check=True)
    sys.path.insert(0, "iclr26")
    from iclr26lib import records

    print(records.environment())

# %% tags=["parameters"]
scale = None
seed = 0
device = "auto"
overrides = {}

# %% tags=["hide-input"]
import math
from dataclasses import asdict

import numpy as np
import torch
from IPython.display import Markdown

from iclr26lib import claims, records, resume, seeding, style
from iclr26lib import scale as scales
from iclr26lib.lbf_npe import experiments, metrics, plots, rivals, simulators, tuning
from iclr26lib.lbf_npe import tuned as tuned_log
from iclr26lib.lbf_npe.presets import PRESETS

style.use()
seeding.deterministic()
chosen = scales.name(scale)
preset = scales.choose(PRESETS, scale, overrides)
device = str(seeding.device(device))
seeds = [seed + k for k in range(preset.seeds)]
plane_seeds, flow_seeds = seeds[: preset.plane_seeds], seeds[: preset.flow_seeds]
meter = records.Meter().__enter__()
print(f"scale: {chosen}, device: {device}, seeds: {seeds}")

# %% [markdown]
# Sizes of all runs, one line of meaning each:

# %% tags=["remove-input", "hide-output"]
style.preset_table(preset)

# %% [markdown]
# ## The claims
#
# *Excess* is the mean of $\log p(z\mid x)-\log q(z;x)$ over held-out pairs, with the exact posterior $p$: zero is the best
# that anyone can do. *FKL* is $\mathrm{KL}(p\,\|\,q)$, averaged over observations, on a grid finer than that of training. An
# interval is Student's t over seeds, paired by seed where two arms are compared; the intervals are not corrected for their
# number. [How to read verdicts](../how_to_read).

# %% tags=["hide-input"]
declared = claims.of("lbf_npe")
style.claims_table(declared)

# %% [markdown]
# ## Data and baselines
#
# Everything is simulated, and a training step sees fresh pairs, except for the redshifts, which have a fixed training set.
#
# - **Sinusoid**: $z\sim U[0,2\pi]$, $x\mid z\sim N(\sin 2z,1)$. Two values of $z$ in each half of the circle explain an $x$, so
#   the posterior has up to four humps, and edges at $0$ and $2\pi$.
# - **Ring** and **bands**: $z\sim U[-1,1]^2$, $x\sim N(\lVert z\rVert^2,0.1^2)$ and $x\sim N(\lvert z_1-z_2\rvert,0.1^2)$.
# - **Redshifts**: our surrogate for the paper's DC2 galaxies, which cannot be had offline. Three spectral templates and the
#   true magnitude are nuisances; $x$ is five colours and a magnitude. Many faint objects have two plausible
#   redshifts, which is what makes the problem worth a flexible posterior.
# - At full scale also the **spiral** and the **two stars**.
#
# The baselines, on the same batches:
#
# - **MDN**, a mixture of Gaussians whose parameters a network of the same body gives: 5 on a line, 10 with diagonal
#   covariance in the plane, as in the paper. The paper does not say how its MDN starts, so there are two starts: means
#   spread over the box, and all means at one point. A third version has its components **truncated** to the box, since a
#   plain mixture leaks over the prior's hard edges; that version is ours, and it is what the redshifts are compared with.
# - **Neural spline flow** and **RealNVP** from `zuko`; RealNVP with the paper's ten couplings. Where the latent lives on a
#   box they see it scaled to $\pm3$.
# - **EigenVI**, fitted to one observation at a time from exact scores, with Legendre functions on the box.
#
# Every arm was tuned with the same budget: five learning rates, Adam, a cosine schedule, at this page's sizes, on seeds that
# nothing is judged on (three on the line, two in the plane, one for a flow, which trains alone). The log is
# `iclr26lib/lbf_npe/tuned.py`:

# %% tags=["hide-input"]
style.Table(
    ["case", *(f"learning rate {lr:g}" for lr in tuning.RATES), "chosen"],
    [
        (case, *(f"{score:.4f}" for _, score in tries), f"{tuning.best(case):g}")
        for case, tries in tuned_log.TUNED.items()
    ],
)

# %% [markdown]
# Held-out NLL for the sinusoid and the redshifts, FKL for the ring; nats, lower is better.

# %% [markdown]
# ## The runs
#
# All seeds of an arm train at once, except for the flows, and a seed learns what it would learn alone. Finished arms are
# kept: a run that is killed and started again repeats none of them.

# %%
convexity = resume.resumable("lbf_npe", experiments.convexity)
spline_floor = resume.resumable("lbf_npe", experiments.spline_floor)
family_floor = resume.resumable("lbf_npe", experiments.family_floor)
train_line = resume.resumable("lbf_npe", experiments.train_line)
train_plane = resume.resumable("lbf_npe", experiments.train_plane)
eigenvi = resume.resumable("lbf_npe", rivals.eigenvi)

single = convexity(seeds=seeds, starts=preset.starts)
floor = family_floor(observations=preset.floor_x, starts=preset.starts)
splines = {
    problem: spline_floor(problem=problem, K=K, observations=preset.floor_x)
    for problem, K in (("sinusoid", 14), ("photoz", 30))
}
line = {
    arm: train_line(
        arm=arm,
        problem="sinusoid",
        seeds=seeds,
        lr=tuning.best(f"sinusoid {arm}"),
        device=device,
        **tuning.line_sizes("sinusoid", preset),
    )
    for arm in ("lbf", "mdn spread", "mdn zero", "mdn truncated")
}

# %% [markdown]
# The plane: LBF-NPE as the paper has it, its two ablations, and the rivals.

# %%
WAYS = {"lbf": {}, "joint": {"block": 0}, "plain": {"sphere": False}}
CASES = {"lbf": "ring lbf", "joint": "ring lbf joint", "plain": "ring lbf plain"}


def in_plane(problem, arm, way=None, **changes):
    """One arm on the ring or the bands with its tuned learning rate."""
    some = flow_seeds if arm in tuning.ONE_AT_A_TIME else plane_seeds
    settings = {
        **tuning.plane_sizes(preset, arm),
        **WAYS.get(way or "", {}),
        "seeds": some,
        "lr": tuning.best(CASES.get(way or "", f"ring {arm}")),
        **changes,
    }
    return train_plane(arm=arm, problem=problem, device=device, **settings)


ring = {way: in_plane("ring", "lbf", way) for way in WAYS} | {
    arm: in_plane("ring", arm) for arm in ("mdn", "nsf", "realnvp")
}
bands = {arm: in_plane("bands", arm) for arm in ("lbf", "mdn")} if preset.bands else {}
by_K = {K: in_plane("ring", "lbf", K=K) for K in preset.other_K}

# %% [markdown]
# EigenVI, redshifts, and, at full scale, the spiral and the two stars:

# %%
eigen = {
    K: eigenvi(
        problem="ring", seeds=plane_seeds, K=K, draws=preset.eigenvi_draws, fine=preset.fine
    )
    for K in (6, 10, 16)
}
photo = {
    arm: train_line(
        arm=arm,
        problem="photoz",
        seeds=flow_seeds if arm == "nsf" else plane_seeds,
        lr=tuning.best(f"photoz {arm}"),
        device=device,
        **tuning.line_sizes("photoz", preset),
    )
    for arm in ("lbf", "mdn truncated", "nsf")
}
spiral = stars = None
if preset.spiral_steps:
    sizes = {
        k: v
        for k, v in tuning.plane_sizes(preset).items()
        if k not in ("fine", "test_x", "pairs")
    }
    spiral = resume.resumable("lbf_npe", rivals.spiral)(
        seeds=plane_seeds[:2],
        lr=tuning.best("ring lbf"),
        test_pairs=min(2000, preset.test_pairs),
        device=device,
        **sizes | {"steps": preset.spiral_steps},
    )
if preset.star_steps:
    train_stars = resume.resumable("lbf_npe", rivals.stars)
    stars = {
        K: train_stars(
            seed=seed,
            K=K,
            lr=1e-3,
            batch=preset.plane_batch // 4,
            steps=preset.star_steps,
            nodes=preset.star_nodes,
            block=min(300, preset.plane_block),
            scenes=min(1000, preset.test_x),
            device=device,
        )
        for K in preset.star_K
    }

# %% [markdown]
# The ablation of the other settings:

# %%
CHANGES = {
    "16 × 16 training grid": {"grid": 16},
    "256 Monte Carlo nodes a step": {"monte_carlo": 256},
    "scale w = 3": {"scale": 3.0},
    "scale w = 30": {"scale": 30.0},
    "4 functions": {"K": 4},
}
short = {"steps": preset.ablation_steps, "seeds": seeds[: preset.ablation_seeds]}
base = in_plane("ring", "lbf", **short)
others = {
    name: in_plane("ring", "lbf", **short, **change)
    for name, change in CHANGES.items()
    if change != {"grid": preset.plane_grid} and change != {"K": preset.plane_K}
}

# %% [markdown]
# ## Figures
#
# ### One observation: convex or not

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Fits to single observations from random starts. With a fixed basis every start ends at the same KL; the mixture ends at several.", "name": "lbf-optima"}, "image": {"alt": "Four rows of dots on a logarithmic axis of KL. In each of the three rows of B-splines all dots coincide, between five hundred-thousandths and two ten-thousandths of a nat. In the row of the mixture the dots scatter over almost a decade above one hundredth."}}
plots.optima(single, experiments.POINTS)

# %% [markdown]
# ### The sinusoid

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Excess NLL on the sinusoid, one line a seed, on logarithmic axes; zero is the exact posterior, values below a ten-thousandth are drawn there. Measured on 4,000 held-out pairs. The grey line is the best that EM found for five plain Gaussians, mean over a few observations.", "name": "lbf-line"}, "image": {"alt": "Curves of excess NLL against the training step. LBF-NPE falls fastest and ends lowest, at about a thousandth of a nat. The truncated mixture follows it. The two plain mixtures flatten out at or above the grey line at two hundredths."}}
plots.line_curves(line, floor)

# %% [markdown]
# ### Ring

# %% tags=["hide-input", "measured-time"] mystnb={"figure": {"caption": "Excess NLL on the ring over the same 500 held-out pairs for all, one line a seed, against steps and against time: that of a batch of seeds divided by their number, for the flows that of one seed alone.", "name": "lbf-ring"}, "image": {"alt": "Two panels with the same curves, against the step and against seconds. The spline flow falls first. LBF-NPE stays flat for its first turns, then falls to the lowest level; one of its seeds with joint updates never leaves the start. The mixture and RealNVP end an order of magnitude higher."}}
plots.plane_curves(ring)

# %% tags=["hide-input"]
style.Table(
    ["ring, nats, each seed", "excess on pairs", "FKL on the grid", "RKL on the grid"],
    [
        (
            plots.NAMES[arm],
            *(
                ", ".join(f"{value:.3g}" for value in run[key])
                for key in ("excess", "fkl", "rkl")
            ),
        )
        for arm, run in ring.items()
    ],
)

# %% [markdown]
# Forward and reverse KL weigh errors differently: the first asks for density where the truth has some, the second for none
# where it has none. RealNVP's FKL on the grid is not to be read where a spike of its density sits on a node; its excess
# needs no grid.

# %% tags=["hide-input"] mystnb={"figure": {"caption": "The ring at x = 0.7: EigenVI with 36, 100 and 256 functions, one square a set of 8,000 draws (the paper takes 50,000 [paper]), and LBF-NPE, one dot a seed.", "name": "lbf-eigenvi"}, "image": {"alt": "KL against the number of basis functions. The squares of EigenVI stay near one nat with 36 and 100 functions and drop far below it with 256. The dots of LBF-NPE with its few learnt functions lie at the left and lowest."}}
plots.functions(eigen, ring["lbf"]["at"], preset.plane_K)

# %% [markdown]
# ### Redshifts, and calibration

# %% tags=["hide-input"]
style.Table(
    [
        "redshifts (surrogate)",
        "mean NLL, nats",
        "NLL, first seed",
        "CRPS, first seed",
        "seeds",
    ],
    [
        (
            plots.NAMES[arm],
            f"{np.mean(run['nll']):.4f}",
            f"{run['nll'][0]:.4f}",
            f"{run['crps'][0]:.4f}",
            len(run["nll"]),
        )
        for arm, run in photo.items()
    ]
    + [
        (
            "exact posterior (quadrature, standard error 0.006)",
            f"{simulators.simulator('photoz').best_nll:.3f}",
            "-",
            "-",
            "-",
        )
    ],
)

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Calibration of LBF-NPE: levels of the true latent in its posterior, uniform if the posterior is as sure as it should be. The band holds 95 % of fair bars.", "name": "lbf-calibration"}, "image": {"alt": "Three histograms of twenty bars, for the sinusoid, the ring and the redshifts, the first two near one; that of the redshifts is a dome, higher in the middle than the band allows, so the posteriors are too wide."}}
plots.calibration(
    {
        "sinusoid: PIT": line["lbf"]["pit"],
        "ring: highest density": ring["lbf"]["levels"],
        "redshifts: PIT": photo["lbf"]["pit"],
    }
)

# %% tags=["hide-input"]
style.Table(
    ["Kolmogorov-Smirnov p, each seed (a check, not a claim)", "p"],
    [
        (name, ", ".join(f"{p:.2g}" for p in run["ks"]))
        for name, run in (
            ("sinusoid, LBF-NPE", line["lbf"]),
            ("sinusoid, MDN truncated", line["mdn truncated"]),
            ("ring, LBF-NPE", ring["lbf"]),
            ("ring, MDN", ring["mdn"]),
            ("ring, neural spline flow", ring["nsf"]),
            ("redshifts, LBF-NPE", photo["lbf"]),
            ("redshifts, MDN truncated", photo["mdn truncated"]),
            ("redshifts, neural spline flow", photo["nsf"]),
        )
    ],
)

# %% [markdown]
# ## The ledger

# %% tags=["hide-input"]
best_of_mdns = [
    min(steps)
    for steps in zip(
        *(
            experiments.first_below(line[arm], 0.05)
            for arm in ("mdn spread", "mdn zero", "mdn truncated")
        ),
        strict=True,
    )
]


def over_seeds(values):
    """Values of the first seeds, None for the seeds on which an arm was not run."""
    return list(values) + [None] * (len(seeds) - len(values))


def pair(ours, against=None):
    return {
        "ours": over_seeds(ours),
        "against": None if against is None else over_seeds(against),
    }


def spread(values):
    return float(np.max(values) - np.min(values))


def octaves(steps):
    return [math.log2(s) for s in steps]


never = [None] * len(seeds)
excess = {arm: run["excess"] for arm, run in line.items()}
fkl = {arm: run["fkl"] for arm, run in ring.items()}
gaps = {arm: run["excess"] for arm, run in ring.items()}
measurements = {
    "C1a": pair([max(spread(row) for row in rows) for rows in single["lbf"]]),
    "C1b": pair(
        [spread(rows[-1]) for rows in single["lbf"]],
        [spread(row) for row in single["mixture"]],
    ),
    "C1c": pair(
        [max(rows[-1]) for rows in single["lbf"]], [min(row) for row in single["mixture"]]
    ),
    "C2a": pair(excess["lbf"]),
    "C2b": pair(excess["lbf"], excess["mdn spread"]),
    "C2c": pair(excess["lbf"], excess["mdn zero"]),
    "C2d": pair(excess["lbf"], excess["mdn truncated"]),
    "C2e": pair([float(e < 0.01) for e in excess["lbf"]]),
    "C2f": pair(octaves(experiments.first_below(line["lbf"], 0.05)), octaves(best_of_mdns)),
    "C3a": pair(gaps["lbf"][: len(gaps["nsf"])], gaps["nsf"]),
    "C3b": pair(gaps["lbf"][: len(gaps["realnvp"])], gaps["realnvp"]),
    "C3c": pair(fkl["lbf"], fkl["mdn"]),
    "C3d": pair(bands["lbf"]["fkl"], bands["mdn"]["fkl"]) if bands else pair(never, never),
    "C4a": pair(by_K[4]["fkl"], by_K[2]["fkl"])
    if {2, 4} <= set(by_K)
    else pair(never, never),
    "C4b": pair(fkl["lbf"], by_K[4]["fkl"]) if 4 in by_K else pair(never, never),
    "C5a": pair(fkl["lbf"], fkl["plain"]),
    "C5b": pair(fkl["lbf"], fkl["joint"]),
    "C6a": pair(ring["lbf"]["at"], eigen[10]),
    "C6b": pair(ring["lbf"]["at"], eigen[16]),
    "C7a": pair(photo["lbf"]["nll"], photo["mdn truncated"]["nll"]),
    "C7b": pair(photo["lbf"]["nll"], photo["nsf"]["nll"]),
}

# %% tags=["hide-input"]
meter.__exit__(None, None, None)
KEPT = ("nll", "excess", "crps", "ks", "fkl", "rkl", "at", "hidden")


def raw(runs):
    return {
        str(k): {key: run[key] for key in KEPT if key in run} for k, run in runs.items()
    }


record = records.make(
    "lbf_npe",
    chosen,
    claims=declared,
    seeds=seeds,
    parameters=asdict(preset),
    measurements=measurements,
    tables={
        "convexity": single,
        "family_floor": floor,
        "sinusoid": raw(line),
        "ring": raw(ring),
        "bands": raw(bands),
        "by_K": raw(by_K),
        "eigenvi": {str(K): v for K, v in eigen.items()},
        "redshifts": raw(photo),
        "spiral": spiral or {},
        "stars": {str(K): run for K, run in (stars or {}).items()},
        "ablation": raw({"base": base, **others}),
    },
    cost=meter.cost(),
)
records.save(record)
style.ledger_table(declared, record["claims"], records.at_full_scale("lbf_npe"))

# %% [markdown]
# The paper's networks are wider and train for fifty times as many steps [paper]; sizes of this page stand in the table of
# settings above. Values in nats are comparable where the problem is the paper's own (sinusoid, ring, bands), not for the
# redshifts.

# %% [markdown]
# ## Main ablation
#
# The main ablation is that of the two design choices, claims C5a and C5b. Here are the other settings of LBF-NPE on the
# ring, one at a time, with fewer steps.

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Change of the forward KL on the ring when one setting of LBF-NPE changes, paired by seed, same steps. Zero: the settings of this page.", "name": "lbf-ablation"}, "image": {"alt": "One row a variant, with a dot a seed and a tick at the mean of the change of KL; the scale of 3 is clearly worse in both seeds; the coarse grid, the Monte Carlo nodes, the scale of 30 and four functions scatter around zero."}}
plots.differences(
    {name: run["fkl"] for name, run in others.items()},
    base["fkl"],
    "nats",
    "the page's settings",
)

# %% tags=["hide-input"]
style.Table(
    [
        "training grid, ring",
        "largest error of log J over 50 observations, nats",
        "FKL, each seed, nats",
    ],
    [
        (name, f"{max(run['hidden']):.3f}", ", ".join(f"{kl:.3f}" for kl in run["fkl"]))
        for name, run in {"this page's grid": base, **others}.items()
        if "grid" in name
    ],
)

# %% [markdown]
# Two seeds, no interval: nothing but the small scale stands out.

# %% [markdown]
# ## What it cost

# %% tags=["hide-input", "measured-time"]
style.Table(
    ["this page", "value"],
    [
        ("wall time of all runs above", f"{record['cost']['wall_seconds']:.0f} s"),
        ("peak memory of the process", f"{record['cost']['peak_memory_mb']:.0f} MB"),
        (
            "processor",
            f"{record['hardware']['cpu']}, {record['hardware']['cores']} cores, GPU: {record['hardware']['gpu']}",
        ),
    ],
)

# %% tags=["hide-input", "measured-time"]
style.Table(
    ["milliseconds a step and seed, batch of the table of settings", "sinusoid", "ring"],
    [
        (
            name,
            *(
                f"{1000 * run['seconds'] / run['steps'][-1] / len(run['ks']):.1f}"
                if run
                else "-"
                for run in (line.get(on_line), ring.get(on_ring))
            ),
        )
        for name, on_line, on_ring in (
            ("LBF-NPE, alternating", "", "lbf"),
            ("LBF-NPE, fixed basis or joint", "lbf", "joint"),
            ("MDN", "mdn spread", "mdn"),
            ("neural spline flow (one seed at a time)", "", "nsf"),
            ("RealNVP (one seed at a time)", "", "realnvp"),
        )
    ],
)

# %% [markdown]
# LBF-NPE's pass over the normaliser's grid holds a batch times the number of nodes, so its memory grows with the square of
# the nodes an axis.

# %% tags=["hide-input"]
nodes = preset.plane_grid**2
Markdown(
    f"Here: {preset.plane_batch} observations times {nodes} nodes in float32 are "
    f"{4 * preset.plane_batch * nodes / 2**20:.1f} MB a seed for each array of the pass."
)

# %% [markdown]
# ## What we found while rebuilding
#
# Where the paper is silent or says two things, what we chose, and the test or calculation that holds us to it (in
# `tests/test_lbf_npe.py` and its neighbours). *Read* means: in the paper's text; *ours*: our choice or calculation.
#
# | point | what we do | from | test or calculation |
# |---|---|---|---|
# | "K = 14" with the stated knots gives 15 functions | 13 breakpoints, so that there are 14 | ours | knots and the number of functions |
# | The printed recursion of the B-splines has slips in its indices | the standard one of Cox and de Boor | ours | worked values at z = 1, integrals |
# | The listing of the gradient leaves out the proposal's density | the text has it; autograd of one expression gives the same gradient | read, ours | gradient against Algorithm 1 by hand |
# | The posterior of the spiral is printed without a Jacobian | with it, and evaluated along the arms | ours | Jacobian by autograd; the floor below |
# | The scale w of the stereographic form is not given | 10; at w = 3 the least possible KL is already of the size of the paper's | ours | the floor below |
# | The figure of the projection shows the other half of the sphere than the formula | the formula; it makes no difference | ours | worked points |
# | One learning rate and 50,000 steps, but convergence after 8,000 of them in the table of costs | we could not reconcile them; we tune the rate for every method | read | log of tries |
# | How the MDN starts is not said | two starts, and a truncated version | ours | claims C2b to C2d |
# | NLL in the paper's table rests on 1,000 pairs | it prints a ± of up to a quarter of a nat [paper], more than most differences, so it ranks nothing; we use FKL | read | best NLL of ring and bands |
# | AdaBelief for the sinusoid | Adam for all | ours | - |
# | Two stars share one log J | it counts once a star; counted once in all, a constant added to k would lower the loss | ours | the set loss |
#
# Three more things a user should know:
#
# - The fit is convex in $f$ as a function, not in the weights of a network, and the stereographic form gives up even that;
#   the paper says so. Claim C1 is about one observation and a fixed basis.
# - The training loss uses the model's own grid. Between its nodes a learnt basis can hide spikes, and the loss then looks
#   better than the density is. `finer_grid_check` compares the normaliser with that of a finer grid and refuses a model
#   that hides more than a tolerance. In the ablation above the coarse grid's log J was off by more than that, though in FKL
#   nothing was lost in two seeds; coarser grids can do worse.
# - A Monte Carlo normaliser is biased low, by Jensen's inequality, the more the fewer nodes it has.

# %% tags=["hide-input"]
world = simulators.simulator("spiral")
nodes, log_w = world.quadrature()
x = torch.tensor([0.35], dtype=torch.float64)
exact, printed = (
    getattr(world, name)(nodes, x, nodes, log_w)
    for name in ("log_posterior", "printed_log_posterior")
)
forward, reverse = metrics.grid_kl(printed, exact, log_w)
rows = [
    (
        "spiral, x = 0.35: a perfect posterior held against the printed one, FKL and RKL",
        f"{forward:.3f} and {reverse:.3f}",
    )
]
for name in ("ring", "bands"):
    problem = simulators.simulator(name)
    grid, weights = problem.quadrature(100)
    log_p = problem.log_posterior(
        grid, torch.tensor([0.7], dtype=torch.float64), grid, weights
    )
    reach = ", ".join(
        f"{metrics.scale_floor(log_p, weights, w):.2g} (w = {w:g})"
        for w in (1.0, 2.0, 3.0, 5.0)
    )
    rows.append((f"{name}, x = 0.7: least FKL of any density with |k| at most w", reach))
best_found = f"best of {preset.starts} EM starts, mean over {preset.floor_x} observations"
rows.append(
    (
        f"sinusoid: lowest FKL found for 5 untruncated Gaussians, {best_found}",
        f"{floor:.4f}",
    )
)
rows += [
    (
        f"{name}: least FKL of {K} B-splines, mean over {preset.floor_x} observations",
        f"{value:.2g}",
    )
    for name, K, value in (
        ("sinusoid", 14, splines["sinusoid"]),
        ("redshifts", 30, splines["photoz"]),
    )
]
rows.append(
    ("sinusoid: best attainable NLL", f"{simulators.simulator('sinusoid').best_nll:.6f}")
)
style.Table(["calculation, nats", "value"], rows)

# %% tags=["hide-input"]
ledger = {j["id"]: j for j in record["claims"]}


def said(claim):
    """A claim's estimate with interval and verdict, in words."""
    j = ledger[claim]
    if j["estimate"] is None:
        return "not run at this scale"
    span = "" if j["interval"] is None else f"; {style.interval(j['interval'], j['unit'])}"
    return f"{style.number(j['estimate'], j['unit'])} ({j['verdict']}{span})"


plain_gap, cut_gap = (
    np.mean(excess[arm]) - np.mean(excess["lbf"]) for arm in ("mdn spread", "mdn truncated")
)
near = metrics.share_near_best(excess["lbf"])
rkl_gap = np.array(ring["lbf"]["rkl"]) - np.array(ring["plain"]["rkl"])
failed = [s for s, value in zip(plane_seeds, fkl["joint"], strict=True) if value > 1]
level = [a - b for a, b in zip(fkl["lbf"], fkl["joint"], strict=True) if b <= 1]
edge = [
    c
    for c, tries in tuned_log.TUNED.items()
    if tuning.best(c) in (tuning.RATES[0], tuning.RATES[-1])
]


def gap(arm):
    """First seed of a flow and of LBF-NPE on the ring's pairs, in words."""
    return f"{gaps[arm][0]:.3f} for the flow and {gaps['lbf'][0]:.3f} for LBF-NPE on the first seed"


Markdown(
    f"""
### What the numbers say about the paper's reading

- **Convexity.** One observation: the KL of LBF-NPE's starts differs by {said("C1a")}, a rounding error; the mixture's starts
  differ more, {said("C1b")}. Even the best start found for the mixture is worse: {said("C1c")}.
- **Is it convexity that beats the MDN?** Mostly not. The plain MDN ends {plain_gap:.4f} nats above LBF-NPE, of which the best
  that EM found for its family is {floor:.4f}: mass that leaks out of the box. With the leak cut off the gap is {cut_gap:.4f}
  (C2d: {said("C2d")}). That is all that is left for the truncated family's own error, training, and local optima, with means
  spread at the start. A bad start costs more: {said("C2c")}.
- **Consistency.** {near.estimate:.0%} of the seeds end within a hundredth of a nat of the best (95 % Wilson interval
  {near.low:.0%} to {near.high:.0%}).
- **Speed.** In steps to 0.05 nats: {said("C2f")}, in octaves, so -1 is half the steps. The first steps decide; checkpoints lie
  half an octave apart.
- **The plane.** Against the mixture on the ring: {said("C3c")}. Against the spline flow: {gap("nsf")}. Against RealNVP:
  {gap("realnvp")}. One seed judges nothing; the spline flow gets near in fewer steps.
- **Stereographic outputs.** In forward KL against plain ones: {said("C5a")}; in reverse KL the mean difference is
  {np.mean(rkl_gap):+.3f}, not in their favour. The sphere comes with a fixed scale, so this compares both at once.
- **Alternating updates.** Against joint ones: {said("C5b")}. {len(failed)} of {len(fkl["joint"])} joint seeds never left the
  start; on the others the mean difference is {np.mean(level):+.4f}. If taking turns pays here, it is as insurance, which
  these few seeds cannot establish.
- **EigenVI.** Against 100 functions: {said("C6a")}; against 256: {said("C6b")}. EigenVI sees exact scores of this one
  observation at {preset.eigenvi_draws} draws; LBF-NPE has learnt all observations from pairs. Learnt against fixed functions,
  and a logarithm against a square root, are not told apart. Seeds pair nothing here: the draws share nothing with the
  training.
- **Redshifts.** Against the truncated MDN: {said("C7a")}. On the first seed the spline flow has
  {photo["nsf"]["nll"][0] - photo["lbf"]["nll"][0]:+.4f} against LBF-NPE. All arms end far above the exact posterior: a few passes
  over the training set against the paper's thirty epochs [paper], and one training set for all seeds, which the intervals leave
  out. The histograms say that LBF-NPE's posteriors are too wide.
- **Learning rates at the edge of the grid:** {", ".join(edge) or "none"}.
- **Once more?** On one machine, alone or beside other seeds, a seed gives the same numbers; other seeds may turn the verdicts
  whose interval ends nearest to zero, C2d and C6b first. Run this page with another `seed`.
"""
)

# %% tags=["hide-input"]
star_rows = [
    (f"two stars, K = {K}", f"{run['excess']:.2f} (standard error {run['error']:.2f})")
    for K, run in (stars or {}).items()
]
spiral_rows = (
    [("spiral, excess NLL, each seed", ", ".join(f"{e:.3f}" for e in spiral["excess"]))]
    if spiral
    else []
)
K_rows = [(f"ring, K = {K}, FKL", f"{np.mean(run['fkl']):.4f}") for K, run in by_K.items()]
band_rows = [
    (f"bands, {plots.NAMES[arm]}, FKL", f"{np.mean(run['fkl']):.4f}")
    for arm, run in bands.items()
]
more = [*band_rows, *K_rows, *spiral_rows, *star_rows]
style.Table(
    ["further runs (full scale only)", "nats"], more or [("not run at this scale", "-")]
)

# %% [markdown]
# ## What this cannot show
#
# - **Scale.** Networks, batches and steps are smaller than the paper's, and differences between LBF-NPE and the flows in
#   the plane shrink or turn with training. At this scale one seed of each flow is drawn for orientation; it judges nothing.
# - **The paper's learning rates.** We tune every method over five rates at the same number of steps; some choices sit
#   at the edge of the grid.
# - **Galaxies.** The redshifts are a surrogate of ours with three templates. It has the two-redshift ambiguity of the real
#   problem, not its images, its selection or its errors.
# - **C2f, the number of steps.** A first run looked at the models from step 10 on and did not show this claim: most seeds
#   were below the threshold at the first look. The earlier checkpoints were added because of that, on the same seeds, so the
#   verdict describes and does not test.
# - **High dimensions.** The method integrates over the latent. Beyond two dimensions a grid is out of reach, and nothing
#   here says how a Monte Carlo normaliser would fare.
# - **One family of priors.** All latents live in a box with hard edges, which suits a density on a grid and does not suit an
#   untruncated mixture or flow.
# - **Rates at full scale.** They are those tuned at book scale, on other batches and numbers of steps.
#
# ## Run it at full scale
#
# With a GPU, from the repository; the record then appears on the [scoreboard](../scoreboard). A run that is stopped and
# started again goes on where it was:
#
# ```
# make run CHAPTER=lbf_npe SCALE=full DEVICE=cuda
# make outputs CHAPTER=lbf_npe SCALE=full
# ```
#
# Or by hand, with any field of the preset; this one trains the sinusoid for as long as the paper did and nothing else
# longer:
#
# ```
# papermill --cwd book/lbf_npe book/lbf_npe/evidence.ipynb out.ipynb \
#   -y "{overrides: {sin_steps: 50000, sin_batch: 1024, sin_width: 128, sin_depth: 4}}"
# ```
