"""The ring and the blobs: what is drawn, what is rewarded, what is watched. Values by hand, closed form or loops."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from iclr26lib.dgpo import blobs
from iclr26lib.dgpo.blobs import CountBlobs
from iclr26lib.dgpo.ring import PromptedRing, tilted_mass
from iclr26lib.flows import Streams
from iclr26lib.seeding import generator

RING, BLOBS = PromptedRing(), CountBlobs()


def streams(*seeds):
    return Streams(seeds or (0,), "test")


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=generator(seed, "test"))


def near(share, exact, n):
    """Whether a share of n independent draws is within 4.5 standard errors of its exact value."""
    return abs(share - exact) < 4.5 * math.sqrt(exact * (1 - exact) / n)


# what all tasks share


@pytest.mark.parametrize("task", [RING, BLOBS, CountBlobs(32, follow=0.7), PromptedRing(dim=5, modes=3)])
def test_base_data_follow_their_prompt_as_often_as_they_say(task):
    x, c = task.draw(8000, streams())
    assert (x.shape, x.dtype, c.shape, c.dtype) == ((8000, *task.shape), torch.float32, (8000,), torch.int64)
    assert np.bincount(c, minlength=task.prompts) == pytest.approx([8000 / task.prompts] * task.prompts, rel=0.15)
    mass = stats.chi2.cdf(9, 2) if isinstance(task, PromptedRing) else 1.0
    assert near(task.reward(x, c).mean().item(), task.own * mass, 8000)


def test_own_shares_of_the_defaults():
    assert PromptedRing().own == pytest.approx(0.3)
    assert CountBlobs().own == pytest.approx(0.5)
    assert CountBlobs(follow=1.0).own == 1


@pytest.mark.parametrize("task", [RING, BLOBS])
def test_a_seed_draws_what_it_draws_alone(task):
    together, alone = task.draw(20, streams(3, 8)), task.draw(20, streams(8))
    assert (together[0][20:] == alone[0]).all()
    assert (together[1][20:] == alone[1]).all()
    assert not (together[0][:20] == alone[0]).all()


@pytest.mark.parametrize("task", [RING, BLOBS])
@pytest.mark.parametrize(
    ("break_it", "error", "words"),
    [
        (lambda x, c: (x[:, None], c), ValueError, r"must have shape \(B, "),
        (lambda x, c: (x[..., :-1], c), ValueError, r"must have shape \(B, "),
        (lambda x, c: (x[:0], c[:0]), ValueError, "B of 1 or more"),
        (lambda x, c: (x.masked_fill(x == x[2].max(), math.nan), c), ValueError, "not finite"),
        (lambda x, c: (x.masked_fill(x == x[2].max(), math.inf), c), ValueError, "not finite"),
        (lambda x, c: (x.long(), c), TypeError, "int64"),
        (lambda x, c: (x, c.float()), TypeError, "float32"),
        (lambda x, c: (x, c[:-1]), ValueError, r"\(6,\), got \(5,\)"),
        (lambda x, c: (x, c.index_fill(0, torch.tensor(1), -1)), ValueError, "got -1"),
        (lambda x, c: (x, c + 8), ValueError, r"must lie in 0\.\."),
    ],
)
def test_wrong_batches_are_refused(task, break_it, error, words):
    x, c = break_it(task.draw(6, streams())[0], torch.arange(6))
    for call in (task.reward, task.monitors):
        with pytest.raises(error, match=words):
            call(x, c)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: RING.draw(0, streams()), ValueError, "n must be 1 or more, got 0"),
        (lambda: BLOBS.draw(-1, streams()), ValueError, "got -1"),
        (lambda: RING.draw(2.0, streams()), TypeError, r"got 2\.0"),
        (lambda: RING.off_manifold(torch.zeros(0, 2)), ValueError, r"\(B, 2\) with B of 1 or more, got \(0, 2\)"),
        (lambda: BLOBS.count(torch.zeros(1, 15, 15)), ValueError, r"\(B, 1, 15, 15\) with B"),
        (lambda: PromptedRing(dim=1), ValueError, "2 or more, got 1"),
        (lambda: PromptedRing(modes=1), ValueError, "2 or more, got 2 and 1"),
        (lambda: PromptedRing(dim=2.0), TypeError, r"dim must be an integer, got 2\.0"),
        (lambda: PromptedRing(std=0), ValueError, "std must be positive"),
        (lambda: PromptedRing(radius=math.nan), ValueError, "radius must be positive"),
        (lambda: PromptedRing(follow=1.2), ValueError, r"follow must lie in \[0, 1\], got 1\.2"),
        (lambda: PromptedRing(std=0.4), ValueError, "modes are too close"),
        (lambda: PromptedRing(modes=40), ValueError, "modes are too close"),
        (lambda: CountBlobs(size=15, most=10), ValueError, "most=10 discs do not fit in 9 cells"),
        (lambda: CountBlobs(size=4), ValueError, "do not fit in 0 cells"),
        (lambda: CountBlobs(cell=4), ValueError, "cell must be 5 or more"),
        (lambda: CountBlobs(size=15.0), TypeError, "size must be an integer"),
        (lambda: CountBlobs(most=0), ValueError, "most must be 1 or more"),
        (lambda: CountBlobs(follow=-0.1), ValueError, r"got -0\.1"),
        (lambda: BLOBS.scenes(torch.tensor([10]), streams()), ValueError, r"0\.\.9, got 10\.\.10"),
        (lambda: BLOBS.scenes(torch.tensor([1, 2, 3]), streams(0, 1)), ValueError, "2 replicas"),
        (lambda: blobs.components(torch.zeros(2, 3, 5, 5)), ValueError, r"\(B, 1, H, W\), got \(2, 3, 5, 5\)"),
    ],
)
def test_wrong_settings_are_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


# the ring


def test_modes_lie_on_the_circle():
    ring = PromptedRing(dim=3, modes=4, radius=3.0)
    expected = torch.tensor([[3.0, 0, 0], [0, 3, 0], [-3, 0, 0], [0, -3, 0]])
    assert (ring.centres - expected).abs().max() < 1e-6
    assert RING.centres[3].tolist() == pytest.approx([-math.sqrt(2), math.sqrt(2)])
    assert (RING.shape, RING.prompts, ring.shape, ring.prompts) == ((2,), 8, (3,), 4)


def test_radii_hold_the_same_mass_in_the_plane_and_outside():
    assert RING.hit == pytest.approx(0.45, abs=1e-9)  # 1 - exp(-9/2) of the mass in 2-D
    assert math.isinf(RING.reach)
    ring = PromptedRing(dim=6)
    assert ring.hit == pytest.approx(0.45, abs=1e-9)
    q = (ring.reach / 0.15) ** 2
    assert math.exp(-q / 2) * (1 + q / 2) == pytest.approx(math.exp(-4.5), rel=1e-6)  # the tail in 4-D
    wide = PromptedRing(dim=18, std=1.0, radius=9.0, modes=2)
    inside = normal(200_000, 16).norm(dim=1) < wide.reach
    assert near(inside.double().mean().item(), 1 - math.exp(-4.5), 200_000)


@pytest.mark.parametrize("dim", [2, 7])
def test_reward_is_for_the_mode_asked_for_alone(dim):
    ring = PromptedRing(dim=dim)
    x = ring.centres[2].repeat(3, 1)
    x[:, 1] += torch.tensor([0.0, ring.hit - 0.001, -ring.hit - 0.001])
    assert ring.reward(x, torch.tensor([2, 2, 2])).tolist() == [1, 1, 0]
    assert ring.reward(x, torch.tensor([1, 3, 6])).tolist() == [0, 0, 0]


def test_reward_asks_for_plane_and_other_coordinates_apart():
    ring, plane = PromptedRing(dim=7), PromptedRing(dim=7, plane_only=True)
    x, c = ring.centres[[1, 1, 1, 1]].clone(), torch.ones(4, dtype=torch.int64)
    x[1, 4] = ring.reach - 0.001
    x[2, 4] = ring.reach + 0.001
    x[3, 0] += ring.hit + 0.001
    assert ring.reward(x, c).tolist() == [1, 1, 0, 0]
    assert plane.reward(x, c).tolist() == [1, 1, 1, 0]
    assert ring.off_manifold(x) == plane.off_manifold(x) == 0.5
    exact = ring.draw(100_000, streams())[0]
    assert near(ring.off_manifold(exact), 1 - (1 - math.exp(-4.5)) ** 2, 100_000)


@pytest.mark.parametrize("dim", [2, 16])
def test_draws_have_the_spread_of_a_mode_in_every_coordinate(dim):
    ring = PromptedRing(dim=dim, follow=1.0)
    x, c = ring.draw(20_000, streams())
    residual = x - ring.centres[c]
    assert residual.mean(0).abs().max() < 4.5 * 0.15 / 20_000**0.5
    assert residual.std(0).tolist() == pytest.approx([0.15] * dim, rel=4.5 / 40_000**0.5)


def test_monitors_of_exact_data():
    a = 4.5
    cut = math.sqrt((1 - math.exp(-a) * (1 + a)) / (1 - math.exp(-a)))  # std of a 2-D Gaussian cut at 3 std: 0.9744
    for dim in (2, 9):
        ring = PromptedRing(dim=dim)
        found = ring.monitors(*ring.draw(20_000, streams()))
        assert list(found) == ["off_manifold", "spread", "offset", "rest"]
        assert found["spread"] == pytest.approx(cut, rel=4.5 / 80_000**0.5)
        assert found["offset"] < 0.05
        assert math.isnan(found["rest"]) if dim == 2 else abs(found["rest"] - 1) < 4.5 / (2 * 7 * 20_000) ** 0.5
    assert near(RING.off_manifold(RING.draw(20_000, streams())[0]), math.exp(-a), 20_000)


def test_monitors_by_hand():
    x = RING.centres[[0, 0, 4, 4]] + torch.tensor([[0.15, 0], [0.15, 0.3], [0, -0.3], [9.0, 0]])
    c = torch.zeros(4, dtype=torch.int64)
    found = RING.monitors(x, c)
    assert found["off_manifold"] == 0.25
    assert found["spread"] == pytest.approx(math.sqrt((1 + 1) / 2), rel=1e-5)  # about (1, 1) in std; mode 4 has one
    assert found["offset"] == pytest.approx((math.hypot(1, 1) + 2) / 2, rel=1e-5)
    lost = RING.monitors(x + 50, c)
    assert lost["off_manifold"] == 1
    assert math.isnan(lost["spread"])
    assert math.isnan(lost["offset"])
    wide = torch.cat([x, torch.tensor([[0.3], [-0.3], [0.3], [-0.3]])], 1)
    assert PromptedRing(dim=3).rest(wide) == pytest.approx(2, rel=1e-5)


def test_a_pile_beside_its_centre_shows_in_the_offset_and_not_in_the_spread():
    x = (RING.centres + torch.tensor([0.15, -0.15])).repeat(2, 1)
    assert RING.spread(x) == pytest.approx(0, abs=1e-5)
    assert RING.offset(x) == pytest.approx(math.sqrt(2), rel=1e-5)


def test_mode_shares():
    ring = PromptedRing(modes=3)
    x = ring.centres[[0, 1, 2, 2, 1]] * torch.tensor([[3.0], [1], [1], [0.5], [1]])
    shares = ring.mode_shares(x, torch.tensor([0, 0, 1, 1, 2]))
    assert shares.tolist() == [[0.5, 0.5, 0], [0, 0, 1], [0, 1, 0]]
    x, c = RING.draw(20_000, streams())
    assert torch.diagonal(RING.mode_shares(x, c)).mean().item() == pytest.approx(0.3, abs=4.5 * (0.21 / 20_000) ** 0.5)
    with pytest.raises(ValueError, match=r"no sample for prompts \[1, 2\]"):
        ring.mode_shares(x, torch.zeros_like(c))


def test_confusion_is_how_often_a_neighbour_is_rewarded():
    ring = PromptedRing(modes=15, plane_only=True)
    x = ring.centres[3] + ring.std * normal(200_000, 2)
    for neighbour in (2, 4):
        share = ring.reward(x, torch.full((200_000,), neighbour)).mean().item()
        assert near(share, ring.confusion, 200_000)
    assert 1e-4 < ring.confusion < 0.01
    assert RING.confusion < 1e-9


# the tilted optimum


@pytest.mark.equation("dgpo", "tilted")
@pytest.mark.parametrize(("beta", "own"), [(0.25, 0.959015), (0.5, 0.760004), (1.0, 0.538102)])
def test_tilted_mass_of_the_ring(beta, own):
    p = torch.tensor([RING.own] + [(1 - RING.own) / 7] * 7, dtype=torch.float64)
    mass = tilted_mass(p, torch.eye(8)[0], beta)
    assert mass[0].item() == pytest.approx(own, abs=1e-6)
    assert mass[1:].tolist() == pytest.approx([(1 - own) / 7] * 7, abs=1e-6)


@pytest.mark.equation("dgpo", "tilted")
def test_tilted_mass_is_the_best_trade_of_reward_and_divergence():
    p, r, beta = torch.tensor([0.5, 0.2, 0.0, 0.3], dtype=torch.float64), torch.tensor([0.1, 2.0, 9.0, -1.0]), 0.7

    def value(q):
        return float((q * r).sum() - beta * torch.special.xlogy(q, q / p.clamp_min(1e-300)).sum())

    best = tilted_mass(p, r, beta)
    assert best[2] == 0
    assert value(best) == pytest.approx(beta * math.log(sum(float(p[i]) * math.exp(r[i] / beta) for i in range(4))))
    for seed in range(20):
        q = best * torch.exp(0.1 * normal(4, seed=seed).double())
        assert value(q / q.sum()) < value(best)


@pytest.mark.equation("dgpo", "tilted")
def test_tilted_mass_in_its_limits_and_in_batches():
    p, r = torch.tensor([[0.3, 0.7], [0.9, 0.1]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert tilted_mass(p, r, 1e9) == pytest.approx(p.double(), abs=1e-6)
    assert tilted_mass(p, r, 1e-3).tolist() == [[1, 0], [0, 1]]
    assert (tilted_mass(p[1], r[1], 0.4) == tilted_mass(p, r, 0.4)[1]).all()


@pytest.mark.parametrize(
    ("p", "r", "beta", "words"),
    [
        ([0.5, 0.6], [0, 1], 1.0, "sum to 1"),
        ([1.5, -0.5], [0, 1], 1.0, "0 or more"),
        ([math.nan, 1.0], [0, 1], 1.0, "0 or more"),
        ([0.5, 0.5], [0, math.inf], 1.0, "r must be finite"),
        ([0.5, 0.5], [0, 1, 2], 1.0, r"got \(2,\) and \(3,\)"),
        ([0.5, 0.5], [0, 1], 0.0, "beta must be positive"),
        ([0.5, 0.5], [0, 1], math.nan, "beta must be positive"),
    ],
)
def test_tilted_mass_refuses(p, r, beta, words):
    with pytest.raises(ValueError, match=words):
        tilted_mass(torch.tensor(p), torch.tensor(r), beta)


# the blobs


@pytest.mark.parametrize("size", [15, 32])
def test_the_counter_agrees_with_the_label_on_every_scene(size):
    task = CountBlobs(size)
    discs = torch.arange(2000) % (task.side**2 + 1)
    assert int((task.count(task.scenes(discs, streams())) == discs).sum()) == 2000


def flooded(image):
    """Number of 4-connected components of {pixel > 0}, by flood fill."""
    on = {(int(i), int(j)) for i, j in np.argwhere(image > 0)}
    count = 0
    while on:
        count, edge = count + 1, [on.pop()]
        while edge:
            i, j = edge.pop()
            found = {(i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)} & on
            on -= found
            edge += found
    return count


def test_the_counter_is_a_flood_fill_and_images_do_not_join():
    x = normal(60, 1, 15, 15)
    x[:3] = torch.tensor([1.0, 0.0, -1.0])[:, None, None, None]  # all on beside two with nothing on
    assert BLOBS.count(x).tolist() == [flooded(image) for image in x[:, 0].numpy()]
    assert BLOBS.count(x)[:3].tolist() == [1, 0, 0]
    assert BLOBS.count(torch.ones(5, 1, 15, 15)).tolist() == [1] * 5
    assert BLOBS.count(torch.eye(15)[None, None]).tolist() == [15]  # corners do not join


class Scripted:
    """Stands for streams of one replica whose uniform numbers are given in advance."""

    replicas = 1

    def __init__(self, *given):
        self.given = list(given)

    def uniform(self, n):
        return torch.as_tensor(self.given.pop(0), dtype=torch.float32).reshape(n)


@pytest.mark.parametrize(("size", "border"), [(15, 0), (32, 1), (18, 1)])
def test_a_scene_drawn_pixel_by_pixel(size, border):
    task = CountBlobs(size)
    side = size // 5
    rank = torch.rand(side**2, generator=generator(0, "rank"))
    jitter = torch.rand(side**2, 2, generator=generator(0, "jitter"))
    scene = task.scenes(torch.tensor([4]), Scripted(rank, jitter))[0, 0]
    expected = torch.full((size, size), -1.0)
    for cell in rank.argsort()[:4].tolist():
        row, column = divmod(cell, side)
        i0, j0 = (border + 5 * at + 2 + 0.8 * float(u) - 0.4 for at, u in zip((row, column), jitter[cell], strict=True))
        for i in range(size):
            for j in range(size):
                expected[i, j] += 2 * min(max(2 - math.hypot(i - i0, j - j0), 0), 1)
    assert task.border == border
    assert (scene - expected).abs().max() < 1e-5


def test_scenes_are_grey_images_with_a_border_where_cells_leave_one():
    x, _ = CountBlobs(32).draw(200, streams())
    assert (x.min(), x.max()) == (-1, 1)
    assert (x[..., [0, 31]] == -1).all()
    assert (x[..., [0, 31], :] == -1).all()
    assert (x.amax((0, 1)) == 1).sum() > 30 * 30 / 5  # the discs go everywhere else
    assert (CountBlobs(32).shape, CountBlobs(32).side, BLOBS.shape, BLOBS.prompts) == ((1, 32, 32), 6, (1, 15, 15), 6)


def test_reward_is_for_the_right_number():
    x = BLOBS.scenes(torch.arange(8), streams())
    for c in range(6):
        assert BLOBS.reward(x, torch.full((8,), c)).tolist() == [float(k == c + 1) for k in range(8)]


def pictures(*pictures_of_cells):
    """Images of 15 x 15 with 3 x 3 squares in the middles of the given cells."""
    x = torch.full((len(pictures_of_cells), 1, 15, 15), -1.0)
    for image, cells in zip(x, pictures_of_cells, strict=True):
        for row, column in (divmod(cell, 3) for cell in cells):
            image[0, 5 * row + 1 : 5 * row + 4, 5 * column + 1 : 5 * column + 4] = 1
    return x


def test_components_have_their_areas_and_centres():
    found = blobs.components(pictures([0, 5], [], [8], []))
    assert found.image.tolist() == [0, 0, 2]
    assert found.area.tolist() == [9, 9, 9]
    assert found.centre.tolist() == [[2, 2], [7, 12], [12, 12]]
    assert found.count.tolist() == [2, 0, 1, 0]


def test_well_formed_is_the_share_of_usual_areas():
    assert BLOBS.usual_areas == (7, 9)
    x = pictures([0, 4], [8])
    x[1, 0, 0, :2] = 1  # an area of 2
    x[1, 0, 4:8, 0:4] = 1  # an area of 16
    assert BLOBS.well_formed(x) == 3 / 5
    assert BLOBS.well_formed(-torch.ones(3, 1, 15, 15)) == 0
    assert BLOBS.well_formed(BLOBS.draw(1000, streams())[0]) > 0.97


def test_grey_is_the_share_of_undecided_pixels():
    x = pictures([0])
    x[0, 0, 14, :5] = torch.tensor([0.49, -0.49, 0.51, -0.51, 0.0])
    assert BLOBS.grey(x) == pytest.approx(3 / 225)


def test_occupancy_is_the_entropy_of_cells_averaged_over_prompts():
    x = pictures([0], [1], [2], [3], [8], [8, 4])
    c = torch.tensor([0, 0, 0, 0, 2, 2])
    of_second = -(2 / 3) * math.log(2 / 3) - (1 / 3) * math.log(1 / 3)
    assert BLOBS.occupancy(x, c) == pytest.approx((math.log(4) + of_second) / 2)
    assert BLOBS.occupancy(pictures([3], [3]), torch.tensor([0, 1])) == 0
    assert BLOBS.occupancy(pictures([0], [1], []), torch.tensor([0, 0, 4])) == pytest.approx(math.log(2) / 2)
    assert BLOBS.largest_occupancy == pytest.approx(math.log(9))
    assert BLOBS.occupancy(*BLOBS.draw(4000, streams())) == pytest.approx(math.log(9), abs=0.01)


def test_occupancy_puts_the_border_into_the_nearest_cell():
    task = CountBlobs(32)
    x = torch.full((2, 1, 32, 32), -1.0)
    x[0, 0, 0, 0] = x[0, 0, 31, 31] = 1  # border pixels, nearest to the first and the last cell
    x[1, 0, 5, 5] = x[1, 0, 26, 26] = 1  # their other ends
    assert task.occupancy(x, torch.zeros(2, dtype=torch.int64)) == pytest.approx(math.log(2))
    assert blobs.components(x).image.tolist() == [0, 0, 1, 1]
    x[1, 0, 6, 6] = x[1, 0, 5, 5]
    x[1, 0, 5, 5] = -1
    assert task.occupancy(x, torch.zeros(2, dtype=torch.int64)) == pytest.approx(1.5 * math.log(2))  # 1/4, 1/4, 1/2
