"""Every rule of the contract finds what it is there to find: a whole chapter is broken in one place at a time."""

import json
import shutil
from pathlib import Path

import pytest

from tools import contract, notebooks
from tools.contract import anatomy, code, pictures, plant, prose

SLUG = "armor"
IDEA, EVIDENCE = f"book/{SLUG}/idea.py", f"book/{SLUG}/evidence.py"
LIBRARY = f"iclr26lib/{SLUG}"


@pytest.fixture
def chapter(template: Path, tmp_path: Path) -> Path:
    """A repository with a chapter that breaks no rule but that of unfinished text."""
    return Path(shutil.copytree(template, tmp_path / "repository"))


def edit(root: Path, file: str, old: str, new: str) -> None:
    text = (root / file).read_text()
    assert old in text, f"{old!r} is not in {file}"
    (root / file).write_text(text.replace(old, new, 1))


def found(root: Path, rule: str) -> str:
    return "\n".join(contract.findings(SLUG, root, {rule: contract.RULES[rule]}))


SOURCES = [
    (
        "contents",
        "_toc.yml",
        f"book/{SLUG}/idea.ipynb",
        "book/other/idea.ipynb",
        "does not list book/armor/idea.ipynb",
    ),
    ("needs", f"{LIBRARY}/resources.py", '{"seeds": 1}', '{"seeds": 1, "runs": 1}', "'runs', which no preset has"),
    ("needs", f"{LIBRARY}/resources.py", "ONE_SEED", "OTHER", "ONE_SEED must hold"),
    ("fresh", IDEA, "What to read next", "What to read then", "out of date: its text differs from the .py"),
    ("fresh", f"{LIBRARY}/method.py", "TRUTH = 1.0", "TRUTH = 2.0", "out of date: its code changed"),
    ("fresh", f"results/book/{SLUG}.json", '"code": "', '"code": "0', "record is missing or of other code"),
    ("tags", IDEA, 'tags=["bootstrap", "remove-cell"]', 'tags=["hide-input"]', "0 cells tagged bootstrap"),
    ("tags", EVIDENCE, 'tags=["parameters"]', "", "0 cells tagged parameters"),
    ("tags", IDEA, '# %% tags=["bootstrap"', '# %%\n1\n# %% tags=["bootstrap"', "first code cell is not the bootstrap"),
    ("bootstrap", IDEA, "--depth=1", "--depth=2", "has another bootstrap cell"),
    ("bootstrap", "pyproject.toml", '\nversion = "', '\nversion = "9', "has another bootstrap cell"),
    ("parameters", IDEA, "seed = 0", "seed = 1", "'seed': 1"),
    ("parameters", IDEA, "seed = 0", "seed = int(0)", "the parameters cell must set"),
    (
        "exercise cells",
        IDEA,
        'tags=["solution", "remove-input", "hide-output"]',
        'tags=["solution"]',
        "a solution is not folded",
    ),
    (
        "exercise cells",
        IDEA,
        'tags=["solution", "remove-input", "hide-output"]',
        "",
        "needs one cell tagged solution after it",
    ),
    ("exercise cells", IDEA, '# %% [markdown] tags=["exercise"]', "# %% [markdown]", "has 1 cells tagged exercise"),
    ("headings", IDEA, "## Move it", "## Play", "has no section '## Move it'"),
    ("headings", EVIDENCE, "# TO WRITE: what is tested", "# # A second title", "has 2 titles"),
    ("headings", EVIDENCE, "## What it cost", "## The claims", "has no section '## What it cost'"),
    ("claims", f"book/{SLUG}/claims.yaml", "    why:", "    way:", "C1 lacks why"),
    ("claims", f"book/{SLUG}/claims.yaml", f"chapter: {SLUG}", "chapter: bep", "says chapter: bep"),
    ("verdicts", f"results/book/{SLUG}.json", '"id": "C1"', '"id": "C2"', "it judges C2; the chapter claims C1"),
    ("verdicts", f"results/book/{SLUG}.json", '"verdict": "', '"verdict": "un', "unknown verdict"),
    ("verdicts", f"book/{SLUG}/claims.yaml", "why: Any", "why: Every", "the claims changed after it was made"),
    ("docstrings", f"{LIBRARY}/method.py", " Raises ValueError unless samples >= 1.", "", "noisy raises, and"),
    (
        "docstrings",
        f"{LIBRARY}/figures.py",
        '"""The values (T,), their running mean and the truth."""',
        "",
        "trace has no doc",
    ),
    (
        "docstrings",
        f"{LIBRARY}/figures.py",
        "The values (T,), their",
        "The data, their",
        "gives neither shapes nor the arg",
    ),
    ("swallowed errors", EVIDENCE, "style.use()", "try:\n    1\nexcept ValueError:\n    pass", "is caught and dropped"),
    ("swallowed errors", EVIDENCE, "style.use()", "try:\n    1\nexcept:\n    raise", "name the errors"),
    (
        "randomness",
        f"benchmarks/{SLUG}.py",
        "values = ",
        "np.random.seed(0)\n    values = ",
        "NumPy's global generator",
    ),
    ("equations", f"tests/test_{SLUG}.py", f'equation("{SLUG}", "2")', f'equation("{SLUG}", "3")', "(2), iclr26lib"),
    ("equations", f"tests/test_{SLUG}.py", f'equation("{SLUG}", "2")', f'equation("{SLUG}", "3")', "'3'), no function"),
    ("unfinished text", IDEA, "## Exercises", "## Exercises TO WRITE: this", "TO WRITE: this"),
]


@pytest.mark.parametrize(("rule", "file", "old", "new", "said"), SOURCES)
def test_a_broken_source_is_found(chapter: Path, rule: str, file: str, old: str, new: str, said: str) -> None:
    assert said not in found(chapter, rule)
    edit(chapter, file, old, new)
    assert said in found(chapter, rule)


@pytest.mark.parametrize("file", ["idea.py", "idea.ipynb", "evidence.ipynb", "claims.yaml"])
def test_a_missing_file_is_found(chapter: Path, file: str) -> None:
    assert found(chapter, "files") == ""
    (chapter / "book" / SLUG / file).unlink()
    assert f"book/{SLUG}/{file} is missing" in found(chapter, "files")


def stored(root: Path, change, name: str = "idea") -> None:
    """Change the stored notebook as a dict."""
    path = root / "book" / SLUG / f"{name}.ipynb"
    notebook = json.loads(path.read_text())
    change(notebook)
    path.write_text(json.dumps(notebook))


def first_output(notebook: dict) -> dict:
    return next(
        out for cell in notebook["cells"] for out in cell.get("outputs", []) if "text/plain" in out.get("data", {})
    )


def put(mime: str, text: str):
    return lambda notebook: first_output(notebook)["data"].__setitem__(mime, text)


def no_alt(notebook: dict) -> None:
    for cell in notebook["cells"]:
        cell["metadata"].pop("mystnb", None)


def no_frame_alt(notebook: dict) -> None:
    text = json.dumps(notebook["metadata"]["widgets"])
    assert "<img alt=" in text
    notebook["metadata"]["widgets"] = json.loads(text.replace("<img alt=", "<img title="))


def image_widget(notebook: dict) -> None:
    state = notebook["metadata"]["widgets"][notebooks.WIDGETS]["state"]
    state["0" * 32] = {"model_name": "ImageModel", "state": {}}


def no_card_picture(notebook: dict) -> None:
    next(cell for cell in notebook["cells"] if "card" in cell["metadata"].get("tags", []))["outputs"] = []


def no_card(notebook: dict) -> None:
    for cell in notebook["cells"]:
        cell["metadata"]["tags"] = []


def error(notebook: dict) -> None:
    notebook["cells"][-2].setdefault("outputs", []).append(
        {"output_type": "error", "ename": "E", "evalue": "", "traceback": []}
    )


STORED = [
    ("sizes", put("text/plain", "x" * 700_001), "at most 700 are allowed"),
    ("outputs", put("text/plain", "see /home/someone/data"), "shows a path of the machine: cell"),
    ("outputs", put("text/html", '<script src="https://cdn.example/x.js">'), "asks another host"),
    ("outputs", put("text/html", "<style>a { background: url(//cdn.example/x) }"), "asks another host"),
    ("outputs", error, "holds an error"),
    ("alt text", no_alt, "shows a picture without alt text"),
    ("alt text", put("text/html", '<img src="data:image/png;base64,xx">'), "shows a picture without alt text"),
    ("alt text", no_frame_alt, "4 widget frames have no alt text"),
    ("alt text", image_widget, "1 widget frames have no alt text"),
    ("card", no_card_picture, "tagged card shows no picture"),
    ("card", no_card, "0 cells of book/armor are tagged card"),
]


@pytest.mark.parametrize(("rule", "change", "said"), STORED)
def test_a_broken_output_is_found(chapter: Path, rule: str, change, said: str) -> None:
    assert found(chapter, rule) == ""
    stored(chapter, change)
    assert said in found(chapter, rule)


def test_links_to_other_hosts_are_fine(chapter: Path) -> None:
    stored(chapter, put("text/html", '<a href="https://arxiv.org/abs/1">paper</a>'))
    assert found(chapter, "outputs") == ""


def test_a_verdict_that_its_values_do_not_give_is_found(chapter: Path) -> None:
    path = chapter / f"results/book/{SLUG}.json"
    record = json.loads(path.read_text())
    record["measurements"]["C1"]["ours"] = [0.0] * len(record["seeds"])
    path.write_text(json.dumps(record))
    assert 'C1 is stored as {"verdict"' in found(chapter, "verdicts")


def test_a_number_of_the_record_in_prose_is_found(chapter: Path) -> None:
    record = json.loads((chapter / f"results/book/{SLUG}.json").read_text())
    typed = f"{record['claims'][0]['estimate']:.3f}"
    edit(chapter, EVIDENCE, "## The runs", f"## The runs\n#\n# We got {typed} here.")
    assert f"types {typed}, a measured value" in found(chapter, "typed numbers")
    edit(chapter, EVIDENCE, f"We got {typed} here.", f"The paper gives {typed} [paper].")
    assert found(chapter, "typed numbers") == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It reached 0.629 here.", [("0.629", False)]),
        ("It reached 62.9 % here, and 62.9% there.", [("62.9", True), ("62.9", True)]),
        ("A 95 % interval, 0.5 of it, in 3 steps of 24.", []),
        ("Set `x = 0.629` and $y = 0.629$, see [it](https://a.b/0.629).", []),
        ("arXiv 2512.04189, version 1.2.3, 7 %", []),
        ("- 0.629 [paper]\n- 0.631 ours", [("0.631", False)]),
        ("| a | 0.629 |\n| b | 0.631 [paper] |", [("0.629", False)]),
        ("0.629\nis theirs [paper]\n\n0.631", [("0.631", False)]),
    ],
)
def test_which_numbers_look_measured(text: str, expected: list) -> None:
    assert prose.candidates(text) == expected


@pytest.mark.parametrize(
    ("written", "percent", "same"),
    [
        ("0.63", False, True),
        ("0.629", False, True),
        ("62.9", True, True),
        ("0.64", False, False),
        ("62.8", True, False),
    ],
)
def test_numbers_are_compared_as_written(written: str, percent: bool, same: bool) -> None:
    assert prose.is_among(written, percent, {0.6291}) is same


BAD_DRAWS = [
    "torch.rand(3)", "torch.randn(3, device='cpu')", "torch.randperm(4)", "x.normal_()", "torch.rand_like(x)",
    "np.random.rand(3)", "np.random.seed(0)", "numpy.random.shuffle(x)", "np.random.default_rng()", "random.random()",
    "random.shuffle(x)", "train_test_split(x)", "MLPClassifier()", "KFold(shuffle=True)", "DataLoader(d, shuffle=True)",
    "stats.norm.rvs(3)", "stats.bootstrap(x, f)", "default_rng()",
]  # fmt: skip
GOOD_DRAWS = [
    "torch.rand(3, generator=g)", "x.normal_(generator=g)", "np.random.default_rng(0)", "rng.shuffle(x)",
    "rng.random()", "train_test_split(x, random_state=0)", "KFold()", "KFold(shuffle=True, random_state=0)",
    "random.Random(0)", "stats.bootstrap(x, f, rng=rng)", "MLPClassifier(**settings)", "DataLoader(d, shuffle=False)",
]  # fmt: skip


@pytest.mark.parametrize(("call", "bad"), [(c, True) for c in BAD_DRAWS] + [(c, False) for c in GOOD_DRAWS])
def test_draws_without_a_seed_are_found(call: str, bad: bool) -> None:
    import ast

    assert (code.unseeded(ast.parse(call, mode="eval").body, {"random"}) is not None) is bad


MISTAKES = [
    ('(lambda estimate, truth: estimate - truth', '(lambda estimate, truth: abs(estimate - truth)',
     "accepts the planted mistake 'signed'"),
    ('"relative": Mistake(', '"relative": (lambda *a: a)(', "could not be checked"),
    ('library="iclr26lib.armor.method:error"', "library=None", "library=None names no function"),
    ("def error(estimate: float, truth: float)", "def error(estimate: float, true: float)",
     "arguments are not those of"),
    ('probes=lambda: [(1.0, 3.0), (5.0, 2.0)]', "probes=lambda: [(5.0, 4.0)]", "accepts the planted mistake 'signed'"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), MISTAKES)
def test_exercises_without_teeth_are_found(chapter: Path, old: str, new: str, said: str) -> None:
    edit(chapter, f"{LIBRARY}/exercises.py", old, new)
    if "true: float" in new:
        edit(chapter, f"{LIBRARY}/exercises.py", "abs(estimate - truth)\n", "abs(estimate - true)\n")
    assert said in found(chapter, "exercises")


def test_tests_without_teeth_are_found(chapter: Path) -> None:
    assert found(chapter, "exercises") == ""
    edit(chapter, f"tests/test_{SLUG}.py", "[(1.0, 4.0, 3.0), (4.0, 2.0, 2.0)]", "[(4.0, 2.0, 2.0)]")
    lines = found(chapter, "exercises")
    assert "do not notice the mistake 'signed' in iclr26lib.armor.method:error (exit 0)" in lines
    assert "'squared'" not in lines


def test_too_few_mistakes_are_found() -> None:
    from iclr26lib.exercises import Exercise, Mistake

    mistakes = {"one": Mistake(lambda x: x + 1, "message of another")}
    exercise = Exercise("e", "", "", "", lambda x: x, mistakes, lambda: [(1,)])
    assert plant.checker_findings(exercise) == ["exercise e plants 1 mistakes, 3 are wanted"]


def test_a_solution_that_fails_its_checker_is_found() -> None:
    import itertools

    from iclr26lib.exercises import Exercise

    count = itertools.count()
    exercise = Exercise("e", "", "", "", lambda x: x + next(count), {}, lambda: [(1,)])
    assert "exercise e rejects its own solution" in plant.checker_findings(exercise)[1]


def test_short_alt_text_says_nothing() -> None:
    assert pictures.says_nothing(None)
    assert pictures.says_nothing("a figure")
    assert not pictures.says_nothing("Accuracy grows with width.")
    assert pictures.alts_in_html('<p><img alt="x"><img src="y"></p>') == ["x", None]


def test_every_rule_has_a_test() -> None:
    tried = {row[0] for row in SOURCES} | {row[0] for row in STORED} | {"files", "typed numbers", "exercises"}
    assert tried == set(contract.RULES)
    assert set(anatomy.HEADINGS) == {"idea", "evidence"}
