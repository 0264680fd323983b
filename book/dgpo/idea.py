# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Direct Group Preference Optimization
#
# Yihong Luo, Tianyang Hu, Jing Tang. *Reinforcing Diffusion Models by Direct Group Preference Optimization.* ICLR 2026.
# [OpenReview](https://openreview.net/forum?id=jymuXl8GYi), [arXiv](https://arxiv.org/abs/2510.08425),
# [official code](https://github.com/Luo-Yihong/DGPO).
#
# You have a diffusion or flow model, and a function that scores its samples. DGPO trains the model towards high scores:
# it draws a group of samples for each prompt and asks that the better half be denoised better than before, and the worse
# half worse. There is no policy gradient, and the sampler may be deterministic.
#
# After this page you can write the loss in five lines, say what each of its weights is for, tell what $\beta$ does and
# what it doesn't do, and train a small model on a reward of your own with an eye on what the reward doesn't see.

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
        subprocess.run([*pip, "./iclr26[dgpo]"], check=True)
    sys.path.insert(0, "iclr26")
    from iclr26lib import records

    print(records.environment())
# %% tags=["parameters"]
scale = None
seed = 0
device = "auto"
overrides = {}

# %% tags=["hide-input"]
import copy

import torch
from IPython.display import Markdown

from iclr26lib import flows, interactive, seeding, style
from iclr26lib import scale as scales
from iclr26lib.dgpo import (
    base,
    experiments,
    figures,
    method,
    optimise,
    ring,
    trainer,
    tuning,
)
from iclr26lib.dgpo.config import Config
from iclr26lib.dgpo.exercises import EXERCISES
from iclr26lib.dgpo.presets import PRESETS

style.use()
seeding.deterministic(threads=1)
preset = scales.choose(PRESETS, scale, overrides)
where = seeding.device(device)
print("scale:", scales.name(scale), " device:", where)

# %% [markdown]
# ## The problem
#
# Reinforcement learning in the style of GRPO (*group relative policy optimization*) draws several answers to a prompt,
# compares each with the mean of its group, and makes the better ones more likely. For that it needs the probability of
# each step, so the sampler must be random. Flow and diffusion models are sampled best by a deterministic ODE solver,
# which has no such probabilities. Flow-GRPO, the method to beat, replaces the ODE by a stochastic equation with the same
# marginals and trains on all steps of its trajectory.
#
# The paper says that the comparison inside the group is what matters, and the policy gradient is not. DGPO
#
# - **keeps** the group and its normalised advantages,
# - **drops** the stochastic sampler, the probabilities of steps, and the trajectory: it looks at final samples only.
#
# Our running example is a plane with eight Gaussian modes on a circle. The prompt names a mode, but the data follow it
# only now and then: a base model that listens badly. The reward is 1 inside the circle around the right mode, else 0. As
# in the paper's counting and text-rendering tasks, it is a rule, and no gradient passes through it.


# %% tags=["hide-input"] mystnb={"figure": {"caption": "The base model. Left: samples for one prompt; discs are rewarded, crosses are not. Right: their shares by mode, and those of the data that it was trained on.", "name": "dgpo-problem"}, "image": {"alt": "Left, samples lie in eight clusters on a circle; only those in the cluster that was asked for are blue, all others are red crosses. Right, the bar of the mode asked for is the tallest of eight, at less than a third; the seven others are near a tenth each."}}
def weights_of(name, side, how):
    """Weights of a base: those that come with the library where they were made like this, else trained here."""
    shipped = base.shipped(name, side, [seed], how)
    return (
        shipped
        or experiments.pretrain(name, side, [seed], **how, device=str(where))["weights"]
    )


task = ring.PromptedRing()
size = {"width": preset.width, "depth": preset.depth}
ring_weights = weights_of("ring", 2, tuning.base_sizes(preset))


def base_model():
    """A new copy of the base."""
    return experiments.restored(task, ring_weights, **size, device=str(where))


def look(model, samples=preset.samples):
    """Samples for all prompts by a 20-step ODE solver, always from the same noises."""
    c = (torch.arange(samples) % task.prompts).to(where)
    noise = flows.Streams([seed], "look").normal(samples, 2).to(where)
    return flows.ode_sample(model, c, experiments.LOOK_GRID, None, noise=noise), c


own = 1
x, c = look(base_model(), preset.last_samples)
base_reward = task.reward(x, c).mean().item()
base_shares = task.mode_shares(x, c)
figures.problem(x.cpu(), c.cpu(), task, own)

# %% tags=["remove-input"]
Markdown(
    f"Over all prompts the base's reward is {base_reward:.2f}. An exact copy of its data would have {task.own * ring.THREE_STD_MASS:.2f}."
)

# %% [markdown]
# ## The method, step by step
#
# | symbol | what it is | shape |
# |---|---|---|
# | $c$ | prompt | one of 8 |
# | $x^i$ | final samples of a group, $i=1..G$ | $D$ numbers each, here 2 |
# | $r_i,\ A_i$ | reward of a sample, and its advantage | one number |
# | $G^+,\ G^-$ | samples with $A_i>0$, and the others | split of the group |
# | $t,\ \epsilon$ | time in $[0,1]$ (1 is pure noise), noise | number; $D$ |
# | $x_t=(1-t)x+t\epsilon$ | noised sample | $D$ |
# | $v=\epsilon-x,\ v_\theta(x_t,t,c)$ | velocity to predict, and the network's prediction | $D$ |
# | $f_\theta=x_t-t\,v_\theta$ | the data prediction in it | $D$ |
# | $L^\theta_i$ | denoising loss of sample $i$ | one number |
# | $\delta_i=L^\theta_i-L^{\rm ref}_i$ | how much worse than the reference; the reference is the frozen base | one number |
# | $\beta$ | how soon a group counts as told apart | one number |
#
# In the library's code $P$ prompts make tensors $(P,G)$ of rewards and losses, and $(P,G,D)$ of samples.
#
# ### 1. A group, and its advantages
#
# Draw $G$ samples of one prompt, by the ODE, from independent noises. Then
#
# $$A_i=\frac{r_i-\bar r}{\mathrm{std}(r)},\qquad w_i=|A_i|$$ (dgpo-advantages)

# %% tags=["remove-input"]
style.source(method.group_advantages)

# %% [markdown]
# Because the group's own mean is subtracted, the weights of both halves have the same sum. Step 4 lives on that. The
# population std, the $10^{-4}$ and the clip at 5 are the official code's. A group whose rewards are all equal has
# advantages 0 and teaches nothing.
#
# ### 2. One noise for the whole group
#
# Each final sample is noised again, and all samples of a group with the *same* noise, so that they differ by nothing but
# themselves. (The paper doesn't say so; its code does it.)

# %% tags=["remove-input"]
style.source(method.flow_noise)

# %% [markdown]
# ### 3. Denoising losses stand for likelihoods
#
# $$L^\theta_i=\tfrac1D\big\|v_\theta(x^i_t,t,c)-v^i\big\|^2$$ (dgpo-dsm)

# %% tags=["remove-input"]
style.source(method.dsm_loss)

# %% [markdown]
# The paper writes it for $f_\theta$, which is $t^2$ times as large; the code takes the velocity, and the mean over
# dimensions. A smaller loss means that the model finds the sample likelier, so $-\delta_i$ stands for the log-ratio of
# policy to reference, and the *implicit reward* of DPO (*direct preference optimization*) is
#
# $$r_\theta(c,x^i)=\beta\log\frac{p_\theta(x^i|c)}{p_{\rm ref}(x^i|c)}+\beta\log Z(c)\;\approx\;-\beta\,\delta_i+\beta\log Z(c)$$ (dgpo-implicit)
#
# where nobody can compute $Z(c)$, a sum over all possible samples. DPO needs only differences of two such rewards, and
# there $Z$ cancels. Can one compare more than two?
#
# ### 4. Why the weights are $|A_i|$
#
# Let the reward of a half be the weighted sum of its samples' implicit rewards. In the difference of the halves
#
# $$R(G^+)-R(G^-)=\sum_{G^+}w_i\,r_\theta(c,x^i)-\sum_{G^-}w_i\,r_\theta(c,x^i)$$ (dgpo-gap)
#
# the constant comes with $\sum_{G^+}w_i-\sum_{G^-}w_i$. With $w_i=|A_i|$ this is $\sum_iA_i=0$: no pairing is needed, and
# each sample counts by how much better or worse it was. You can add constants by hand below.
#
# ### 5. The loss
#
# The better half should win, in the model of Bradley and Terry. Since $w_i=|A_i|$, the difference is
# $-\beta\sum_iA_i\delta_i$, and
#
# $$\mathcal L=-\log\sigma(-z),\qquad z=\frac{\beta}{G}\sum_iA_i\,\delta_i$$ (dgpo-loss)
#
# $z$ is negative where the policy prefers the good half more than the reference does. (The paper has the expectation over
# $t$ outside of the logarithm, an upper bound by Jensen's inequality, and a factor $\lambda_tT$ for $T$ steps of a sampler; the code sets $\lambda_t$ to 1, folds $T$ into $\beta$, and
# divides by $G$.) What the official code minimises looks different:
#
# $$\mathcal L_{\rm sur}=\mathrm{sg}\big(\sigma(z)\big)\;\frac1G\sum_iA_i\,L^\theta_i$$ (dgpo-surrogate)
#
# with sg for *stop gradient* and $\sigma$ for the logistic function.

# %% tags=["remove-input"]
style.source(method.dgpo_loss)

# %% [markdown]
# Differentiate both: $\nabla\mathcal L=\beta\,\nabla\mathcal L_{\rm sur}$. So it is the same loss without the factor
# $\beta$, and that makes $\beta$ **a trust region, not a step size**. It decides how far $z$ has to fall until
# $\sigma(z)$ is near 0 and the group has no more say. One cell says all of this in numbers:

# %% tags=["nbval-check-output"]
A = method.group_advantages(
    torch.tensor([[1.0, 0.0, 0.2, 0.2]], dtype=torch.float64), eps=0
)
new = torch.tensor([[0.30, 0.50, 0.40, 0.60]], dtype=torch.float64, requires_grad=True)
ref = torch.tensor([[0.35, 0.45, 0.40, 0.50]], dtype=torch.float64)
print("advantages", [round(a, 4) for a in A[0].tolist()])
for beta in (1.0, 10.0, 100.0):
    loss, parts = method.dgpo_loss(new, ref, A, beta)
    surrogate, _ = method.dgpo_loss(new, ref, A, beta, "surrogate")
    slopes = [torch.autograd.grad(value, new)[0] for value in (loss, surrogate)]
    ratio = (slopes[0] / slopes[1])[0, 0].item()
    print(
        f"beta {beta:g}: loss {loss.item():.4f}, weight {parts['weight'].item():.4f}, ratio of gradients {ratio:g}"
    )

# %% [markdown]
# The gradient of one sample's term, seen from its data prediction, is a pull towards $x^i$ if $A_i>0$ and a push away from
# it if $A_i<0$, with strength $\sigma(z)|A_i|$. Here is one group of the base, noised with one noise. All its noised
# copies lie close together, so their predictions do too, and the arrows add up:

# %% tags=["card", "hide-input"] mystnb={"figure": {"caption": "Left: a group of the base; discs are above the group's mean, crosses below, size is |A|. Right: its data predictions at one shared noise, and what the loss asks of each: go towards a good sample, away from a bad one.", "name": "dgpo-push"}, "image": {"alt": "Left, a group of samples over eight modes: large blue discs in the mode asked for, smaller red crosses in other modes. Right, black dots between the middle and the ring with arrows: long blue ones point to the mode asked for, short red ones point away from the other modes."}}
G, grid = preset.group, flows.shifted_grid(10, 3.0)


def a_group(model, name="group"):
    """A group for prompt `own`, its advantages, and one noised copy: x (G, 2), A (G,), x_t (G, 2), t."""
    prompt = torch.full((G,), own, device=where)
    noise = flows.Streams([seed], name).normal(G, 2).to(where)
    x = flows.ode_sample(model, prompt, grid, None, noise=noise)
    A = method.group_advantages(task.reward(x, prompt)[None])[0]
    t = float(grid[5])
    x_t, _, _ = method.flow_noise(x[None], t, seeding.generator(seed, "shared"))
    return x, A, x_t[0], t


@torch.no_grad()
def predicted(model, x_t, t):
    """Data predictions (G, 2) for prompt `own`."""
    rows = (
        x_t,
        torch.full((len(x_t),), t, device=where),
        torch.full((len(x_t),), own, device=where),
    )
    return flows.data_prediction(x_t, model(*rows), rows[1])


x, A, x_t, t = a_group(base_model())
f = predicted(base_model(), x_t, t)
figures.push(x.cpu(), A.cpu(), f.cpu(), (0.5 * A[:, None] * (x - f)).cpu(), task, own, t)

# %% [markdown]
# A push has no end: away from a bad sample the loss can fall forever. Three things hold it: the sigmoid, and two that the
# official code adds.
#
# ### 6. The ratio clip
#
# $$\rho_i=\exp\big(L^{\rm old}_i-L^\theta_i\big)$$ (dgpo-clip)
#
# with $L^{\rm old}_i$ the loss of a fast average of the policy's own parameters. A good sample with
# $\rho_i>1+\varepsilon$ and a bad one with $\rho_i<1-\varepsilon$ have moved far enough and get no gradient; the code
# has $\varepsilon=0.01$.

# %% tags=["remove-input"]
style.source(method.ppo_mask)

# %% [markdown]
# ### 7. All together
#
# The code trains each rollout at $M=4$ distinct times of the sampler's own grid, none below $t_{\min}$ (*timestep clip*:
# few-step samples have errors in their details, the paper says, which low noise would teach); here $t_{\min}=0.3$. It adds $0.02$ times the squared distance of
# the velocities of policy and reference. These are the two functions of the library's trainer that matter:

# %% tags=["remove-input"]
style.source(trainer.DGPOTrainer.learn)

# %% tags=["remove-input"]
style.source(trainer.DGPOTrainer.loss)

# %% [markdown]
# Around them stand the rollout, AdamW, a limit for the gradient's norm, and an average of the weights that draws the
# rollouts after some hundreds of updates. Without all of that, DGPO is this:

# %%
policy, reference = base_model(), flows.frozen(base_model())
adam = torch.optim.Adam(policy.parameters(), lr=3e-4)
gen = seeding.generator(seed, "page")
prompts = torch.arange(task.prompts, device=where).repeat_interleave(G)
for _ in range(min(100, preset.updates)):
    x = flows.ode_sample(policy, prompts, grid, gen)
    A = method.group_advantages(task.reward(x, prompts).view(-1, G))
    for t in grid[torch.randperm(9, generator=gen)[:4]].tolist():  # times of 0.3 or more
        x_t, _, target = method.flow_noise(x.view(-1, G, 2), t, gen)
        rows = x_t.flatten(0, 1), torch.full((len(x),), t, device=where), prompts
        new = method.dsm_loss(policy(*rows).view_as(target), target)
        with torch.no_grad():
            ref = method.dsm_loss(reference(*rows).view_as(target), target)
        method.dgpo_loss(new, ref, A, 1.0, "surrogate")[0].div(4).backward()
    adam.step()
    adam.zero_grad()

# %% tags=["remove-input"]
after = task.reward(*look(policy, preset.last_samples)).mean().item()
Markdown(
    f"After {min(100, preset.updates)} updates of this loop the reward is {after:.2f}, from {base_reward:.2f}."
)

# %% [markdown]
# ## Move it
#
# Now the library's trainer, once for each of several $\beta$, all from the same base and with the same randomness.

# %%
settings = {"group": G, "t_min": preset.t_min}


def run(beta):
    """Weights of the policy at the stops of the slider, and (update, reward) of looks in between."""
    policy, kept, curve = base_model(), {}, {}
    learner = trainer.DGPOTrainer(
        policy, task.reward, Config(beta=beta, **settings), flows.Streams([seed], "train")
    )
    for update in range(preset.live_updates[-1] + 1):
        if update % preset.every == 0 or update in preset.live_updates:
            curve[update] = task.reward(*look(policy)).mean().item()
        if update in preset.live_updates:
            kept[update] = copy.deepcopy(policy)
        if update < preset.live_updates[-1]:
            learner.step(torch.arange(task.prompts))
    return kept, curve


runs = {beta: run(beta) for beta in preset.live_betas}

# %% tags=["hide-input"]
reference = flows.frozen(base_model())


@torch.no_grad()
def sigmoid_weights(policy, beta):
    """Weights of 8 groups a prompt at four times each, as the trainer would compute them at this policy."""
    c, gen = (
        torch.arange(task.prompts, device=where).repeat(8).repeat_interleave(G),
        seeding.generator(seed, "weights"),
    )
    x = flows.ode_sample(policy, c, grid, gen)
    A = method.group_advantages(task.reward(x, c).view(-1, G))
    found = []
    for t in grid[[1, 3, 5, 7]].tolist():
        x_t, _, target = method.flow_noise(x.view(-1, G, 2), t, gen)
        rows = x_t.flatten(0, 1), torch.full((len(c),), t, device=where), c
        new, ref = (
            method.dsm_loss(m(*rows).view_as(target), target) for m in (policy, reference)
        )
        found.append(method.dgpo_loss(new, ref, A, beta)[1]["weight"][(A != 0).any(-1)])
    return torch.cat(found).cpu()


def state(beta, update):
    """What a frame shows."""
    policy = runs[beta][0][update]
    x, A, x_t, t = a_group(policy)
    shown = x, A, predicted(reference, x_t, t), predicted(policy, x_t, t)
    return *(q.cpu() for q in shown), sigmoid_weights(policy, beta)


states = {
    (beta, update): state(beta, update) for beta in runs for update in preset.live_updates
}
curves = {beta: (list(curve), list(curve.values())) for beta, (_, curve) in runs.items()}


def alt(beta, update):
    x, *_, weights = states[beta, update]
    right = int(task.reward(x, torch.full((G,), own)).sum())
    return figures.training_alt(
        runs[beta][1][update], weights.mean().item(), right, G, beta, update
    )


interactive.figure(
    lambda beta, update: figures.training(
        *states[beta, update], curves, beta, update, task, own
    ),
    [
        interactive.Slider("beta", "β", preset.live_betas),
        interactive.Slider("update", "updates", preset.live_updates),
    ],
    alt=alt,
    start={"beta": 1.0, "update": 0},
    caption="One seed. Left: a group, always from the same starting noises; arrows: data predictions at one shared noise, from the base's to the policy's. Right: the sigmoid weights of many groups, and the reward.",
    quality=40,
)

# %% [markdown]
# Move the updates first. Samples leave the wrong modes; the crosses get fewer and *larger*, because what is rare in a group
# has a large advantage. A group that is right as a whole has advantages 0 (grey) and falls silent.
#
# Now follow the arrows. The predictions are carried not into the mode but *through* it: bad samples push them on when good
# ones no longer pull. The samples end in a tight cluster off the centre, and on the way some lie outside every circle. A
# reward of 0 or 1 doesn't see where in the circle they are; the last columns of the table below do.
#
# Then move $\beta$ at the last stop. With a large one the sigmoid factors pile up at 0 early and the reward stays low, although
# the learning rate is the same: the groups count as told apart from the frozen reference. The paper's $\beta=100$ [paper]
# belongs to a mean over the tens of thousands of dimensions of a latent image, where $\delta$ is small.

# %% tags=["remove-input"]
last = preset.live_updates[-1]


def seen_beside(model):
    """Monitors of a model, as the table shows them."""
    found = task.monitors(*look(model))
    return [f"{found[name]:.2f}" for name in ("off_manifold", "offset", "spread")]


style.Table(
    [
        "β",
        f"reward after {last} updates",
        "mean factor σ(z)",
        "outside every mode",
        "offset, std",
        "width / std",
    ],
    [["base", f"{runs[min(runs)][1][0]:.2f}", "-", *seen_beside(reference)]]
    + [
        [
            f"{beta:g}",
            f"{runs[beta][1][last]:.2f}",
            f"{states[beta, last][-1].mean():.3f}",
            *seen_beside(runs[beta][0][last]),
        ]
        for beta in runs
    ],
)

# %% [markdown]
# *Offset* is how far the middle of a mode's samples lies from the mode's centre, *width* their standard deviation about their
# own middle, both over the data's $0.15$.

# %% [markdown]
# ### Add a constant to every implicit reward
#
# Suppose that $\beta\log Z(c)$ were known to be $2$, or $-2$. Below is a group of the base as a policy in mid-training
# sees it. Move the constant with weights $|A_i|$: nothing happens to loss and gradient. With weights 1 both change, since the bad
# half is larger than the good one.

# %% tags=["hide-input"]
middle_beta = min(runs, key=lambda beta: abs(beta - 1))
halfway = runs[middle_beta][0][preset.live_updates[len(preset.live_updates) // 2]]
x, A, x_t, t = a_group(reference)
target = (x_t - x) / t
prompt, when = torch.full((G,), own, device=where), torch.full((G,), t, device=where)
with torch.no_grad():
    seen, known = (
        method.dsm_loss(m(x_t, when, prompt)[None], target[None])[0]
        for m in (halfway, reference)
    )


def outcome(rule, added):
    """Halves' rewards over G, loss, and norm of its gradient with respect to the denoising losses."""
    dsm = seen.clone().requires_grad_()
    rewards = method.implicit_rewards(dsm, known, 1.0, added)
    w = A.abs() if rule == "|A|" else torch.ones_like(A)
    loss = -torch.nn.functional.logsigmoid(method.group_gap(rewards, A, w) / G)
    (slope,) = torch.autograd.grad(loss, dsm)
    plus, minus = ((w * rewards)[half].sum().item() / G for half in (A > 0, A <= 0))
    return {
        "plus": plus,
        "minus": minus,
        "loss": loss.item(),
        "gradient": slope.norm().item() * G**0.5,
    }


def both(rule, added):
    return {"now": outcome(rule, added), "zero": outcome(rule, 0.0)}


interactive.figure(
    lambda rule, added: figures.constant(
        method.implicit_rewards(seen, known, 1.0, added).cpu(),
        A.cpu(),
        both(rule, added),
        rule,
        added,
    ),
    [
        interactive.Slider("rule", "weights", ["|A|", "1"]),
        interactive.Slider("added", "constant", [-2.0, 0.0, 2.0]),
    ],
    alt=lambda rule, added: figures.constant_alt(both(rule, added), rule, added),
    start={"rule": "|A|", "added": 0.0},
    caption="Left: implicit rewards of a group. Middle: weighted sums of its halves, over G. Right: loss, and root mean square gradient with respect to the denoising losses times G; hatched without the constant.",
    quality=45,
)

# %% [markdown]
# ### It is not the RLHF optimum
#
# The derivation starts from "maximise the reward, minus $\beta$ times the KL divergence from the reference". Over discrete
# modes that has an exact solution,
#
# $$p^*\propto p_{\rm ref}\,e^{r/\beta}$$ (dgpo-tilted)

# %% tags=["remove-input"]
style.source(ring.tilted_mass)

# %% [markdown]
# Does DGPO end there? It can't in general. Multiply all rewards by 4: the optimum changes, but advantages are divided by
# the std, so DGPO does what it did before (but for the $10^{-4}$). Besides, the rewards are standardised anew in each group, so the pull
# doesn't weaken as they rise. The two $\beta$ share a letter, not a meaning:

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Share of samples in the right mode. Lines: the exact optimum of reward minus beta times KL, for two scales of the reward. Symbols: DGPO, one seed, at three stops of the slider.", "name": "dgpo-gap"}, "image": {"alt": "Two falling curves of the exact optimum against beta, that of the fourfold reward to the right of the other. The symbols of DGPO follow neither: they move up with the updates, one or two happen to touch a line, and at the largest beta they stay lowest."}}
axis = torch.logspace(-0.8, 1.3, 60)
p_ref = base_shares.diagonal().mean().item()


def optimum(factor):
    """Share in the own mode of the tilted base, for each beta of the axis and rewards times `factor`."""
    two = torch.tensor([p_ref, 1 - p_ref])
    return torch.stack(
        [ring.tilted_mass(two, torch.tensor([factor, 0.0]), b)[0] for b in axis.tolist()]
    )


stops = list(
    dict.fromkeys(preset.live_updates[i] for i in (1, len(preset.live_updates) // 2, -1))
)
ours = {
    f"DGPO, {stop} updates": (
        list(runs),
        [
            task.mode_shares(*look(kept[stop])).diagonal().mean().item()
            for kept, _ in runs.values()
        ],
    )
    for stop in stops
}
figures.gap(
    axis,
    {"exact optimum": optimum(1.0), "the same, rewards × 4": optimum(4.0)},
    ours,
    p_ref,
)

# %% tags=["remove-input"]
exact = {
    b: ring.tilted_mass(torch.tensor([p_ref, 1 - p_ref]), torch.tensor([1.0, 0.0]), b)[
        0
    ].item()
    for b in runs
}
style.Table(
    ["β", "right mode, exact optimum", f"DGPO, {last} updates", "gap"],
    [
        [f"{b:g}", f"{exact[b]:.2f}", f"{share:.2f}", f"{share - exact[b]:+.2f}"]
        for b, share in zip(*ours[f"DGPO, {last} updates"], strict=True)
    ],
)

# %% [markdown]
# ## Bring your own reward
#
# You need a module whose `forward(x, t, c)` gives velocities, with attributes `shape` (of a sample) and `prompts` (their
# number), and a function that scores samples. Ours here is a small
# transformer that paints 1 to 6 discs on 15 × 15 pixels; the prompt is meant to be their number. Forget the number and
# reward something that it was never asked for: light in the left half, dark in the right.

# %% tags=["hide-input"]
blobs = experiments.task_of("blobs", 15)
shape = {"width": preset.blobs_width, "depth": preset.blobs_depth}
how = shape | {
    "steps": preset.blobs_steps,
    "batch": preset.blobs_batch,
    "lr": 1e-3,
}
painter = experiments.restored(
    blobs, weights_of("blobs", 15, how), **shape, device=str(where)
)
before = flows.frozen(painter)


# %%
def lopsided(x, c):
    light = x[:, 0].clamp(-1, 1)
    return light[:, :, :7].mean((1, 2)) - light[:, :, 8:].mean((1, 2))


history = optimise.optimise(
    painter, lopsided, updates=min(20, preset.blobs_updates), every=5, samples=60, seed=seed,
    groups=preset.blobs_groups, cfg=Config(group=preset.blobs_group, lr=1e-3, beta=30.0),
)  # fmt: skip
print("\n".join(history.warnings()) or "no monitor has moved")

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Reward, and the two monitors that need to know nothing about the task; grey bands: the range of fresh draws from the base, widened.", "name": "dgpo-own"}, "image": {"alt": "Three small curves against updates: the reward rises; beside it the diversity of the samples falls and the base's surprise rises, each leaving a grey band at the base's value."}}
history.plot()

# %% [markdown]
# These two monitors need nothing but the base, so they work for any task. *Diversity* is the mean distance between two
# samples of a prompt, relative to the base's. *Surprise* is the base's own denoising loss on the samples at low noise,
# relative to its loss on samples of its own. The reward sees neither. Look at the pictures before you call it a success:

# %% tags=["hide-input"] mystnb={"figure": {"caption": "The same prompts and starting noises, before and after.", "name": "dgpo-images"}, "image": {"alt": "Two rows of small dark images with light discs. Above, before training, discs lie in all parts of the images; below, after training, light lies mostly in the left half, and many discs have lost their shape."}}
c = torch.arange(blobs.prompts, device=where).repeat_interleave(2)
noise = flows.Streams([seed], "pictures").normal(len(c), *blobs.shape).to(where)
pictures = {
    name: flows.ode_sample(m, c, experiments.LOOK_GRID, None, noise=noise).cpu()
    for name, m in {"before": before, "after": painter}.items()
}
figures.images(pictures)

# %% tags=["remove-input"]
style.Table(
    ["", "reward", "components of usual size"],
    [
        [
            name,
            f"{lopsided(shown, c.cpu()).mean():.2f}",
            f"{blobs.well_formed(shown):.2f}",
        ]
        for name, shown in pictures.items()
    ],
)

# %% [markdown]
# `optimise` trains in place. With `checkpoint="run.pt"` it can be killed at any time and goes on where it was; with
# `monitors=` it takes functions of your own. Where ten updates in a row have no group whose rewards differ, it stops and
# says so.
#
# ## Where you would surely go wrong
#
# - **The learning rate.** Three times the one that learns fastest, and rewards collapse (`iclr26lib/dgpo/tuned.py`); late in
#   a run a reward may fall again. Keep the best checkpoint, not the last.
# - **The sign inside the surrogate.** It is $\sigma(z)$. With $\sigma(-z)$ nothing saturates and training still looks
#   fine for a while (exercise 2).
# - **Copying $\beta$.** It multiplies a mean over dimensions of *your* data and model. Watch the mean sigmoid factor: near 0.5 for
#   long, and $\beta$ may be larger; near 0 early, and it must be smaller.
# - **`torch.std`** divides by $G-1$ unless you say `unbiased=False`.
# - **A prompt that is never, or always, right** teaches nothing. Count the groups whose rewards differ (`informative` in
#   the trainer's report).
# - **Two time grids.** `diffusers` shifts its smallest time too, so its 10 steps with shift 3 are not the 10 above. Train on
#   the times of the sampler that you use.
# - **Trusting the reward.** Bad samples are pushed away without an end. Keep a monitor that the reward doesn't see.
#
# ## Exercises
#
# Each cell holds a plausible attempt that is wrong. Run it, read what the checker says, and mend it.

# %% [markdown] tags=["exercise"]
# **Exercise 1, the advantages.** Mend `group_advantages(rewards, std, eps, clip)` for rewards $(\dots,P,G)$. `std` is
# `"group"` or `"global"`: over each group, or over all $P$ groups.
# *Hint:* two choices of axes, one for the mean and one for the std. Which of them does `std` change, and what would become of $Z$?
# *Target:* rewards 1, 0, 0, 1 give 1, -1, -1, 1, and every group sums to zero.


# %%
def my_advantages(rewards, std, eps, clip):
    axes = (-1,) if std == "group" else (-2, -1)
    centred = rewards - rewards.mean(axes, keepdim=True)
    A = centred / (rewards.std(axes, unbiased=False, keepdim=True) + eps)
    return A if clip is None else A.clamp(-clip, clip)


print(EXERCISES["advantages"].reply(my_advantages))

# %% tags=["solution", "remove-input", "hide-output"]
style.source(EXERCISES["advantages"].solution)

# %% [markdown] tags=["exercise"]
# **Exercise 2, the loss.** Mend `dgpo_loss(dsm_theta, dsm_ref, advantages, beta, form)` for losses $(\dots,P,G)$; `form` is
# `"bt"` or `"surrogate"`. Return the mean over groups and a dict of `z` and `weight`, detached. The checker looks at
# the gradient too.
# *Hint:* differentiate $\log(1+e^z)$. What stands before $dz$?
# *Target:* $\beta$ times the gradient of the surrogate is the gradient of the other form.


# %%
def my_loss(dsm_theta, dsm_ref, advantages, beta, form):
    z = beta * (advantages * (dsm_theta - dsm_ref)).mean(-1)
    weight = torch.sigmoid(-z).detach()
    if form == "bt":
        each = torch.nn.functional.softplus(z)
    else:
        each = weight * (advantages * dsm_theta).mean(-1)
    return each.mean(), {"z": z.detach(), "weight": weight}


print(EXERCISES["loss"].reply(my_loss))

# %% tags=["solution", "remove-input", "hide-output"]
style.source(EXERCISES["loss"].solution)

# %% [markdown] tags=["exercise"]
# **Exercise 3, the clip.** Mend `ppo_mask(dsm_theta, dsm_old, advantages, eps)` for losses $(\dots,G)$: True for each
# sample that is to get no gradient.
# *Hint:* a good sample that became *less* likely is outside the interval too. Should it be held?
# *Target:* with `dsm_theta` equal to `dsm_old` nothing is held.


# %%
def my_mask(dsm_theta, dsm_old, advantages, eps):
    ratio = torch.exp(dsm_old - dsm_theta)
    return (ratio > 1 + eps) | (ratio < 1 - eps)


print(EXERCISES["clip"].reply(my_mask))

# %% tags=["solution", "remove-input", "hide-output"]
style.source(EXERCISES["clip"].solution)

# %% [markdown]
# ## What to read next
#
# - [The evidence](evidence): is it faster than Flow-GRPO, what do the timestep clip and the ODE rollouts do, and in how many
#   dimensions?
# - Flow-GRPO, which DGPO replaces: Liu and others 2025, [arXiv 2505.05470](https://arxiv.org/abs/2505.05470); DanceGRPO, the same
#   idea at the same time: Xue and others 2025, [arXiv 2505.07818](https://arxiv.org/abs/2505.07818).
# - DPO for diffusion models, with pairs: Wallace and others 2024, [arXiv 2311.12908](https://arxiv.org/abs/2311.12908).
# - Where the group's advantages come from: Shao and others 2024, [arXiv 2402.03300](https://arxiv.org/abs/2402.03300).
# - The flow models that all of this trains: Liu, Gong and Liu 2022, [arXiv 2209.03003](https://arxiv.org/abs/2209.03003).
