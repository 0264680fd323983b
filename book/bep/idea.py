# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Binary Error Propagation
#
# Luca Colombo, Fabrizio Pittorino, Daniele Zambon, Carlo Baldassi, Manuel Roveri, Cesare Alippi.
# *BEP: A Binary Error Propagation Algorithm for Binary Neural Networks Training.* ICLR 2026.
# [arXiv 2512.04189](https://arxiv.org/abs/2512.04189), [OpenReview](https://openreview.net/forum?id=jxtCMoZIu8).
#
# A binary network has weights and activations in {-1, +1}. BEP also trains it with binary errors: the backward pass is
# made of signs, and the memory of training is a table of integers.
#
# After this page you can say what BEP does and what it replaces, compute one update by hand, train a binary network in
# which no floating-point number enters an update, and set it up on data of your own.

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
        subprocess.run([*pip, "./iclr26[bep]"], check=True)
        bare = ["--no-deps", "aeon"]
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
import torch

from iclr26lib import bep, data, interactive, seeding, style
from iclr26lib import scale as scales
from iclr26lib.bep import baselines, bits, experiments, figures, method, models
from iclr26lib.bep.exercises import EXERCISES
from iclr26lib.bep.presets import PRESETS

style.use()
seeding.deterministic()
preset = scales.choose(PRESETS, scale, overrides)
print("scale:", scales.name(scale), " device:", seeding.device(device))

# %% [markdown]
# ## The problem
#
# A binary network is cheap to run: an inner product of two vectors of signs is an XOR and a count of bits. Training it
# usually is not. *Quantisation-aware training* (QAT) keeps a float copy of every weight, takes the sign in the forward
# pass, and in the backward pass pretends that the sign was the identity wherever its input lay in a window, usually
# $|z|\le 1$. That is the *straight-through estimator* (STE). So training holds floats that the trained network never uses.
#
# On the left of the picture, the input of a binary neuron is a sum of signs, whose spread is the square root of the fan-in.
# A window of 1 passes few sums, a window of one spread passes most; the [evidence](evidence) tests both.
#
# The alternative before BEP was a *local rule*: every layer gets a target of its own from a random classifier of its own,
# and no error crosses layers, or time. BEP sends one error through the whole network, in one bit a neuron.

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Left: how the input of a binary neuron is spread when its inputs are random signs, and the share that two windows of the straight-through estimator let pass. Right: bits that training holds for each element, from the paper's cost table.", "name": "bep-problem"}, "image": {"alt": "Left, a bell of bars for the pre-activation of a neuron, with a narrow band for the window of 1 and a wide band for the window of one spread; the narrow band covers a small share of the bell. Right, bars: BEP holds 16 bits a weight, no optimiser state and 1 bit of error signal; quantisation-aware training with Adam holds 32, 64 and 32."}}
figures.problem(75)

# %% [markdown]
# ## The method, step by step
#
# | symbol | what it is | values |
# |---|---|---|
# | $a_0$ | input, one row a sample | $\{-1,+1\}^{K_0}$ |
# | $H_l$ | state of layer $l$, the memory of training | integers of 16 bits, $K_l \times K_{l-1}$ |
# | $W_l=\mathrm{sign}(H_l)$ | weights | $\{-1,+1\}$, same shape |
# | $z_l$, $a_l$ | pre-activation and activation | integers; $\{-1,+1\}^{K_l}$ |
# | $P$, row $\rho_c$ | prototypes, one a class, fixed for ever | $\{-1,+1\}^{C\times K_L}$ |
# | $a^*_l$ | desired activation, the error signal of BEP | $\{-1,+1\}^{K_l}$ |
# | $r,\ \nu,\ \gamma,\ p_r$ | margin, gate, neurons a group, reinforcement | $(0,1]$, $[0,1]$, a divisor of $K_l$, $[0,1]$ |
#
# Everywhere $\mathrm{sign}(0)=+1$. Numbers of equations in the text are the paper's.
#
# ### 0. What the network should say: prototypes
#
# Each class gets a fixed binary vector of the width of the top layer, its *prototype*. The network is right when its top
# activation agrees more with the prototype of the true class than with any other. Random prototypes may lie close to each
# other by chance. BEP spreads them out beforehand: from a random start, single bits are flipped whenever that lowers the
# sum of the pairwise agreements plus their variance (the *binary equiangular frame* of the paper's appendix C; the weight
# 1 of the variance and the number of trials are our choice):
#
# $$J=\sum_{i<j}\langle\rho_i,\rho_j\rangle+\alpha\,\mathrm{Var}_{i<j}\langle\rho_i,\rho_j\rangle$$ (bep-frame)

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Agreement of every prototype with every other, ten classes, 75 bits. Left: random. Right: the equiangular frame, in which all classes are about equally far apart.", "name": "bep-frames"}, "image": {"alt": "Two ten by ten grids of numbers. In the left one, of random prototypes, agreements range widely on both sides of zero. In the right one, of the frame, all are slightly negative and nearly the same."}}
figures.frames(
    bep.random_frame(10, 75, seeding.generator(seed, "gram")),
    bep.binary_frame(10, 75, generator=seeding.generator(seed, "gram")),
)

# %% [markdown]
# Keep this step in mind: in the [evidence](evidence) it turns out to matter as much as anything else.
#
# Now we follow one sample through a network small enough to check by hand: three inputs, two layers of three neurons, two
# classes.

# %%
layers = [
    bep.BinaryLayer(3, 3, group=3, generators=seeding.generator(seed, "worked"))
    for _ in range(2)
]
layers[0].H = torch.tensor([[3, -1, 5], [-7, 1, 1], [1, 1, -3]], dtype=torch.int32)
layers[1].H = torch.tensor([[1, -3, 1], [5, 1, -1], [-1, -1, -5]], dtype=torch.int32)
P = torch.tensor([[1, 1, -1], [-1, -1, 1]], dtype=torch.int8)
a0, label = torch.tensor([[1, -1, 1]], dtype=torch.int8), torch.tensor([1])

# %% [markdown]
# ### 1. Forward
#
# $$z_l = W_l\,a_{l-1},\qquad a_l=\mathrm{sign}(z_l),\qquad \hat y = P\,a_L$$ (bep-forward)
#
# The class with the largest score wins. In bits (1 for +1), an inner product of $K$ signs is
# $K-2\,\mathrm{popcount}(a\oplus b)$.

# %% tags=["remove-input"]
style.source(method.forward)

# %% tags=["nbval-check-output"]
acts, zs = bep.forward(layers, a0)
logits = method.matmul(acts[-1], P.mT)
print("z1", zs[0].tolist(), " a1", acts[1].tolist())
print("z2", zs[1].tolist(), " a2", acts[2].tolist(), " scores", logits.tolist())

# %% [markdown]
# The label is 1, and the scores prefer class 0: a mistake.
#
# ### 2. Does this sample ask for an update?
#
# Only when its margin is small (the paper's equation 1):
#
# $$\hat y_c-\max_{c'\ne c}\hat y_{c'} < r\,K_L$$ (bep-1)
#
# The inequality is strict, and a misclassified sample always asks. The threshold is rounded up once, exactly.

# %% tags=["remove-input"]
style.source(method.triggered)

# %% tags=["nbval-check-output"]
print(
    "margin",
    (logits[0, 1] - logits[0, 0]).item(),
    " asks for an update:",
    bep.triggered(logits, label, r=0.5, K=3).item(),
)

# %% [markdown]
# ### 3. The binary chain rule
#
# At the top, the desired activation is the prototype of the true class. Below, every neuron of layer $l$ is told the sign
# that most of the neurons above would like it to have (equations 5 and 7):
#
# $$
# \begin{aligned}
# a^*_L&=\rho_c,\qquad a^*_l=\mathrm{sign}\big(W_{l+1}^\top(g_{l+1}\odot a^*_{l+1})\big),\\
# (g_{l+1})_i&=\mathbf 1\{|z_{l+1,i}|\le\nu K_l\}
# \end{aligned}
# $$ (bep-5)
#
# The gate $g$ silences neurons that lie far from their threshold. Two details are easy to miss:
# the threshold is $\nu$ times the *fan-in* $K_l$ of the layer above, and the gate multiplies the target before the matrix,
# not the result. The paper's first lemma says what the rule achieves: among all vectors in $\{-1,+1\}^{K_l}$, this one
# agrees best with the gated targets above. Our tests check that by trying all of them. In the example all $|z_2|$ are 1 and
# the fan-in is 3: a gate of 0.4 lets them pass, a gate of 0.3 shuts, and $\mathrm{sign}(0)=+1$ is all that is left.

# %% tags=["remove-input"]
style.source(method.desired_activations)

# %% tags=["nbval-check-output"]
targets = bep.desired_activations(layers, zs, P[label], nu=0.4)
print("a*1", targets[0].tolist(), " a*2", targets[1].tolist())
print(
    "a*1 with every gate shut",
    bep.desired_activations(layers, zs, P[label], nu=0.3)[0].tolist(),
)

# %% [markdown]
# ### 4. Who moves: one neuron a group
#
# Cut the $K_l$ neurons into consecutive groups of $\gamma$. The stability $s_j=a^*_{l,j}\,z_{l,j}$ is negative where neuron
# $j$ is wrong. In every group the wrong neuron with the smallest $|s_j|$, the easiest to correct, is chosen; a group
# without a wrong neuron rests. The paper writes the stability in two ways; the [evidence](evidence) says why we read it
# as this one.

# %% tags=["remove-input"]
style.source(method.winner_mask)

# %% tags=["nbval-check-output"]
masks = [bep.winner_mask(target, z, group=3) for target, z in zip(targets, zs, strict=True)]
for l, (target, z, mask) in enumerate(zip(targets, zs, masks, strict=True), 1):
    print(f"layer {l}: stability", (target * z).tolist(), " moves", mask.tolist())

# %% [markdown]
# ### 5. The update
#
# The whole incoming row of a chosen neuron takes a step of 2 towards making it right (equation 9), for all samples of a
# batch at once, from the masks and targets of before the batch; then the state is clipped to its 16 bits:
#
# $$H_l\leftarrow \mathrm{clip}\Big(H_l+2\sum_{\mu}\big(M_l^\mu\odot a^{*\mu}_l\big)\,(a^{\mu}_{l-1})^\top\Big)$$ (bep-9)

# %% tags=["remove-input"]
style.source(method.update_)

# %% tags=["nbval-check-output"]
for layer, target, a_prev, mask in zip(layers, targets, acts, masks, strict=False):
    bep.update_(layer, target, a_prev, mask)
print("H1", layers[0].H.tolist())
print("H2", layers[1].H.tolist())

# %% [markdown]
# One row of each layer moved, by 2 in every entry. Was it worth it? The same sample again:

# %% tags=["nbval-check-output"]
acts, zs = bep.forward(layers, a0)
logits = method.matmul(acts[-1], P.mT)
assert logits.argmax(-1) == label
print(
    "a2",
    acts[2].tolist(),
    " scores",
    logits.tolist(),
    " predicted class",
    logits.argmax(-1).item(),
)

# %% [markdown]
# The mistake is mended. These are the same five steps for a batch, as the library runs them; a sample that does not ask
# for an update moves nothing:

# %% tags=["remove-input"]
style.source(models.BinaryMLP.fit_batch)

# %% tags=["remove-input"]
style.source(bep.BEPMLP.targets)

# %% [markdown]
# ### 6. Reinforcement
#
# After each batch every entry of $H$ is, with a small probability, pushed away from zero by 2. The probability falls with
# the training error $E_e$ and with the width $K$:
#
# $$p = p_r\sqrt{\tfrac{2}{\pi K}}\sqrt{E_e}$$ (bep-reinforcement)
#
# The paper prints the width $K_l$ of the layer and leaves $E_e$ undefined. We follow the predecessor's code: the fan-in
# $K_{l-1}$, and the error rate of the last epoch (`reinforce_on="fan_out"` gives the printed form). The draw compares random
# 16-bit integers with an integer limit, which is computed from $p$ once an epoch.

# %% tags=["remove-input"]
style.source(method.push_)

# %% [markdown]
# ### All of it, without one float
#
# Now a network with two hidden layers learns in this cell. The block `integer_only()` intercepts *every* torch operation
# and raises an error if a tensor in it is floating-point. Outside the block, once an epoch, the error rate becomes an
# integer limit for the reinforcement; inside there are integers only.

# %%
gen = seeding.generator(seed, "no floats")
X, y, patterns = bep.random_prototypes(600, 63, 3, 0.3, gen)
net = bep.BEPMLP([63, 15, 15], bep.binary_frame(3, 15, generator=gen), group=5, seed=seed)
mistakes = []
for _epoch in range(8):
    wrong, limits = 0, net.reinforcement_limits(0.5)
    with bep.integer_only():
        for x, labels in net.batches(X, y, 50):
            wrong += int(net.fit_batch(x, labels, r=0.5, nu=0.4))
            net.reinforce(limits)
    net.error = wrong / len(y)
    mistakes.append(wrong)

assert all(
    layer.H.dtype == torch.int32 and layer.W.dtype == torch.int8 for layer in net.layers
)
assert mistakes[-1] < mistakes[0] / 2
print("mistakes of", len(y), "in each epoch:", mistakes)

# %% [markdown]
# A single float inside the block is an error:

# %% tags=["nbval-check-output"]
try:
    with bep.integer_only():
        X.float()
except TypeError as error:
    print(error)

# %% [markdown]
# The same update on packed bits, with XOR and popcount in NumPy, leaves the same state:

# %% tags=["remove-input"]
style.source(bits.xnor_dot)

# %% tags=["nbval-check-output"]
states = [layer.H.numpy().copy() for layer in net.layers]
limits = [bep.gate_threshold(0.4, layer.fan_in) for layer in net.layers]
fired = bits.train_step(
    states,
    bep.pack(X[:50].numpy()),
    y[:50].numpy(),
    net.P.numpy(),
    margin=8,
    limits=limits,
    group=5,
    clip=net.layers[0].limits,
)
net.fit_batch(X[:50], y[:50], r=0.5, nu=0.4)
print(
    "same state:",
    all((s == layer.H.numpy()).all() for s, layer in zip(states, net.layers, strict=True)),
)

# %% [markdown]
# ### Through time
#
# A recurrent network $s_t=\mathrm{sign}(W_{xs}a_t+W_{ss}s_{t-1})$, unrolled, is a deep network with shared weights. BEP
# through time (BEP-TT) pulls the target back from the output to the last state, and then from state to state:
#
# $$s^*_t=\mathrm{sign}\big(W_{ss}^\top(g_{t+1}\odot s^*_{t+1})\big)$$ (bep-tt)
#
# One mask serves all steps (how is not said in the paper; we sum the stabilities over time), and the updates of all steps
# add up.

# %% tags=["remove-input"]
style.source(bep.BEPRNN.desired_states)

# %% [markdown]
# ### Use it on your data
#
# Turn the data into signs, take a hidden width that is odd and has many divisors, and set aside a validation set. In our
# runs margins of a half to three quarters and groups of 15 to 35 neurons did well; the gate you scan, because it does not carry over
# from one network to another. Networks with different gates train side by side in one call. Here are images, binarised at
# their own median; for a table or a series, `bep.thermometer` makes the signs.

# %%
images, clothes = data.fashion_mnist_small("train")
X, y = bep.median_binarize(images), torch.tensor(clothes)
n, gates = min(preset.fashion_train, 3500), [0.02, 0.2, 1.0]
X_val, y_val = X[n : n + preset.fashion_val], y[n : n + preset.fashion_val]

P = bep.binary_frame(10, 75, generator=seeding.generator(seed, "frame"))
net = bep.BEPMLP([784, 75, 75], P, group=25, seed=[seed] * len(gates))  # one run a gate
for _epoch in range(preset.epochs):
    errors = net.fit_epoch(X[:n], y[:n], r=0.5, nu=gates, p_r=0.5, batch=100)
validation = net.accuracy(X_val, y_val)
best = max(range(len(gates)), key=validation.__getitem__)

X_test, y_test = (torch.as_tensor(part) for part in data.fashion_mnist_small("test"))
accuracy = net.accuracy(bep.median_binarize(X_test), y_test)[best]
for gate, error, held_out in zip(gates, errors, validation, strict=True):
    print(f"gate {gate:4}: training error {error:.1%}, validation accuracy {held_out:.1%}")
print(
    f"gate {gates[best]} is chosen: test accuracy {accuracy:.1%} after {preset.epochs} epochs on {n} images"
)

# %% [markdown]
# Always put a linear model beside it; on these few images it is hard to beat:

# %%
linear = baselines.logistic_regression(X[:n], y[:n], bep.median_binarize(X_test), y_test)
print(f"logistic regression on the same bits: test accuracy {linear:.1%}")

# %% [markdown]
# ## Move it
#
# Every frame is a network with two hidden layers of $K$ neurons, trained with the gate $\nu$ on Random Prototypes. On the
# left are the pre-activations of its top layer, in units of $\sqrt K$, the spread they would have at random; blue is what
# the gate lets through. On the right are the targets of one test sample: the prototype $a^*_2$, the same after the gate, and
# what the layer below is then asked for, $a^*_1$.
#
# Start at the smallest gate and the smallest width. Each neuron of the top layer has an odd fan-in, so $|z|$ is at least 1,
# above $\nu K$: every gate is shut, the layer below is asked for +1 everywhere ($\mathrm{sign}(0)=+1$) whatever the sample,
# and the network stays at chance. Now widen the network without touching the gate: the same $\nu$ lets targets through, and
# the network learns. Then open the gate: watch how much of the accuracy arrives long before it is fully open.

# %% tags=["card", "hide-input"] mystnb={"figure": {"caption": "The gate of every width, from shut to open: share of targets let through and test accuracy. The interactive figure below shows what happens inside.", "name": "bep-gate-overview"}, "image": {"alt": "Against the gate, for four hidden widths: on the left the share of targets that pass rises from almost none to all; on the right test accuracy rises with it and flattens. The narrowest network starts at chance, where its gate is fully shut; wider ones start much higher."}}
live = {
    "name": "prototypes",
    "n": preset.live_train,
    "n_test": preset.n_test,
    "D": preset.input_bits,
    "C": 10,
    "p": preset.flip,
}
shots = {}
for K in preset.live_widths:
    found = experiments.gate_snapshots(
        task=live, seed=seed, width=K, nus=preset.live_nus, epochs=preset.live_epochs
    )
    shots |= {(K, nu): shot for nu, shot in zip(preset.live_nus, found, strict=True)}
figures.gate_overview(shots)

# %% tags=["hide-input"]
interactive.figure(
    lambda width, nu: figures.gate_frame(width, nu, shots[width, nu]),
    [
        interactive.Slider("width", "width K", preset.live_widths),
        interactive.Slider("nu", "gate ν", preset.live_nus),
    ],
    alt=lambda width, nu: figures.gate_alt(width, nu, shots[width, nu]),
    caption="One run a frame; the evidence notebook repeats the question over seeds.",
)

# %% [markdown]
# ## Exercises
#
# Each cell holds a plausible attempt that is wrong. Run it, read what the checker says, and mend it.

# %% [markdown] tags=["exercise"]
# **Exercise 1, the mask.** Mend `winner_mask(target, z, group)`: of every `group` consecutive neurons, mark the one to
# update. Both inputs have shape (samples, neurons); return a bool tensor of that shape.
# *Hint:* the stability is `target * z`; only wrong neurons have a negative one, and the easiest is nearest to zero.
# *Target:* at most neurons / group entries of a row are true.


# %%
def my_winner_mask(target, z, group):
    return target * z < 0


print(EXERCISES["mask"].reply(my_winner_mask))

# %% tags=["solution", "remove-input", "hide-output"]
style.source(EXERCISES["mask"].solution)

# %% [markdown] tags=["exercise"]
# **Exercise 2, the chain rule.** Mend `desired_activations(layers, zs, target, nu)`, which returns the list
# $[a^*_1,\dots,a^*_L]$. Every layer has `W` (int8) and `fan_in`; `method.matmul` multiplies exactly.
# *Hint:* gate the target of the layer above with its own $|z|$ and its own fan-in, multiply, take the sign, go down.
# *Target:* with $\nu=0$ and odd fan-in, all layers below the top ask for +1.


# %%
def my_desired_activations(layers, zs, target, nu):
    targets = [target]
    for layer in layers[:0:-1]:
        targets.insert(0, method.sign(method.matmul(targets[0], layer.W)))
    return targets


print(EXERCISES["chain"].reply(my_desired_activations))

# %% tags=["solution", "remove-input", "hide-output"]
style.source(EXERCISES["chain"].solution)

# %% [markdown] tags=["exercise"]
# **Exercise 3, the update.** Mend `update_(layer, target, a_prev, mask)`: move `layer.H` in place by a batch and clip it to
# `layer.limits`.
# *Hint:* one matrix product sums all outer products of a batch.
# *Target:* rows whose mask is empty keep their state, bit for bit.


# %%
def my_update_(layer, target, a_prev, mask):
    layer.H += 2 * method.matmul(target.mT, a_prev)
    layer.H.clamp_(*layer.limits)


print(EXERCISES["update"].reply(my_update_))

# %% tags=["solution", "remove-input", "hide-output"]
style.source(EXERCISES["update"].solution)

# %% [markdown]
# ## What to read next
#
# - [The evidence](evidence): which of the paper's claims hold when one tries, with controls that could refute them.
# - The predecessor with local targets: Colombo, Pittorino and Roveri, [arXiv 2412.00119](https://arxiv.org/abs/2412.00119).
# - The paper's appendices: the proofs of its three lemmas, and the search for the prototypes.
