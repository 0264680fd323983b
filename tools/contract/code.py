"""Rules about code, read from syntax trees: seeded randomness, no swallowed error, docstrings that say enough."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TORCH_DRAWS = {"rand", "randn", "randint", "randperm", "normal", "bernoulli", "multinomial", "poisson"}
TORCH_UNSEEDABLE = {"rand_like", "randn_like", "randint_like"}
IN_PLACE_DRAWS = {
    "uniform_",
    "normal_",
    "bernoulli_",
    "random_",
    "exponential_",
    "geometric_",
    "log_normal_",
    "cauchy_",
}
NUMPY_FINE = {"Generator", "SeedSequence", "PCG64", "Philox", "SFC64", "MT19937", "BitGenerator"}
NEED_RANDOM_STATE = {
    "train_test_split", "resample", "shuffle", "MLPClassifier", "MLPRegressor", "RandomForestClassifier", "TSNE",
    "RandomForestRegressor", "KMeans", "MiniBatchKMeans", "SGDClassifier", "SGDRegressor", "Perceptron", "ShuffleSplit",
    "StratifiedShuffleSplit", "GaussianMixture", "TruncatedSVD", "NMF", "FastICA", "make_classification", "make_blobs",
    "make_moons",
}  # fmt: skip
SPLITTERS = {"KFold", "StratifiedKFold", "DataLoader"}
RESAMPLERS = {"bootstrap", "permutation_test", "monte_carlo_test"}
SEED_WORDS = {"generator", "random_state", "rng"}
UNSAID = {"self", "cls", "generator", "device", "seed", "dtype", "args", "kwargs"}


def sources(slug: str, root: Path) -> dict[str, ast.Module]:
    """Return the syntax trees of all code of a chapter: notebooks, package, benchmark."""
    paths = [*(root / "book" / slug).glob("*.py"), *package(slug, root), root / "benchmarks" / f"{slug}.py"]
    return {
        str(path.relative_to(root)): ast.parse(path.read_text(encoding="utf-8")) for path in paths if path.is_file()
    }


def package(slug: str, root: Path) -> list[Path]:
    """Return the modules of the chapter's package."""
    return sorted((root / "iclr26lib" / slug).rglob("*.py"))


def randomness(slug: str, root: Path) -> list[str]:
    """Every random number comes from a generator that was passed or seeded."""
    return [
        f"{name} line {node.lineno}: {complaint}"
        for name, tree in sources(slug, root).items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and (complaint := unseeded(node, _imports_random(tree)))
    ]


def _imports_random(tree: ast.Module) -> set[str]:
    """Return the names under which a file calls Python's own random module."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name for alias in node.names if alias.name == "random"}
        elif isinstance(node, ast.ImportFrom) and node.module == "random":
            names |= {alias.asname or alias.name for alias in node.names}
    return names


def unseeded(call: ast.Call, python_random: set[str]) -> str | None:
    """Return what is wrong with a call that draws without a seed, None when nothing is."""
    path = ast.unparse(call.func).split(".")
    name, given = path[-1], {keyword.arg for keyword in call.keywords}
    nothing = not call.args and not call.keywords
    if path[0] in python_random and not (name == "Random" and not nothing):
        return f"{'.'.join(path)} draws from Python's global generator"
    if name in ("default_rng", "SeedSequence") and nothing:
        return f"{name}() without a seed"
    if path[-2:-1] == ["random"] and path[0] in ("np", "numpy") and name not in NUMPY_FINE | {"default_rng"}:
        return f"{'.'.join(path)} draws from NumPy's global generator"
    if path[0] == "torch" and name in TORCH_UNSEEDABLE:
        return f"torch.{name} takes no generator"
    if (path[0] == "torch" and name in TORCH_DRAWS) or name in IN_PLACE_DRAWS:
        return None if given & SEED_WORDS else f"{name} without generator="
    return _unseeded_elsewhere(name, call, given)


def _unseeded_elsewhere(name: str, call: ast.Call, given: set) -> str | None:
    """The same for scikit-learn, scipy and loaders, which are known by the name of what is called."""
    if given & SEED_WORDS or None in given:
        return None
    shuffles = any(k.arg == "shuffle" and getattr(k.value, "value", True) is not False for k in call.keywords)
    global_shuffle = name == "shuffle" and isinstance(call.func, ast.Attribute)
    if (name in NEED_RANDOM_STATE and not global_shuffle) or (name in SPLITTERS and shuffles):
        return f"{name} without random_state= or generator="
    return f"{name} without rng= or random_state=" if name in RESAMPLERS | {"rvs"} else None


def swallowed(slug: str, root: Path) -> list[str]:
    """No error is caught and dropped."""
    found = []
    for name, tree in sources(slug, root).items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler) and all(map(_does_nothing, node.body)):
                found.append(f"{name} line {node.lineno}: an error is caught and dropped")
            elif isinstance(node, ast.ExceptHandler) and node.type is None:
                found.append(f"{name} line {node.lineno}: `except:` catches everything, name the errors")
    return found


def _does_nothing(statement: ast.stmt) -> bool:
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_text or isinstance(statement, ast.Pass | ast.Continue)


def public(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """Yield (name, node) of the public functions and classes of a module and of the public methods of its classes."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, node
            inner = node.body if isinstance(node, ast.ClassDef) else []
            for method in inner:
                if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                    yield f"{node.name}.{method.name}", method


def docstrings(slug: str, root: Path) -> list[str]:
    """Every public function says what its arguments are, by name or by shape, and what it raises."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in package(slug, root)}
    classes = [node for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef)]
    inherited = {name for node in classes for name in overrides(node, classes)}
    return [
        f"{path.relative_to(root)} line {node.lineno}: {name} {complaint}"
        for path, tree in trees.items()
        for name, node in public(tree)
        if (complaint := unsaid(node)) and not (ast.get_docstring(node) is None and name in inherited)
    ]


def overrides(node: ast.ClassDef, classes: list[ast.ClassDef]) -> set[str]:
    """Return the methods, as "Class.method", that another class of the package documents for this one."""
    bases = {ast.unparse(base).split(".")[-1] for base in node.bases}
    parents = [other for other in classes if other.name in bases]
    documented = {
        method.name
        for parent in parents
        for method in parent.body
        if isinstance(method, ast.FunctionDef) and ast.get_docstring(method)
    }
    above = {name.split(".")[1] for parent in parents for name in overrides(parent, classes)}
    return {f"{node.name}.{name}" for name in documented | above}


def unsaid(node: ast.FunctionDef | ast.ClassDef) -> str | None:
    """Return what the docstring of a function or class lacks, None when it lacks nothing."""
    text = ast.get_docstring(node)
    if not text:
        return "has no docstring"
    if isinstance(node, ast.ClassDef):
        return None
    arguments = {a.arg for a in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]} - UNSAID
    silent = sorted(name for name in arguments if not re.search(rf"\b{re.escape(name)}\b", text))
    if silent and not re.search(r"\([^()]*(?:,|\.\.\.)[^()]*\)", text):
        return f"has a docstring that gives neither shapes nor the arguments {', '.join(silent)}"
    if any(isinstance(inner, ast.Raise) for inner in ast.walk(node)) and not re.search(r"\braises?\b", text, re.I):
        return "raises, and its docstring does not say so"
    return None
