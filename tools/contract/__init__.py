"""What every chapter owes its reader, as rules that a program can check.

Each rule is a function (slug, root) -> list of one-line findings, empty when the chapter keeps it. `findings` runs
them; the contract tests assert that nothing is found, and `make new` prints what is.
"""

from collections.abc import Callable
from pathlib import Path

from iclr26lib.chapters import ROOT
from tools.contract import anatomy, code, judged, layout, pictures, prose, teeth

Rule = Callable[[str, Path], list[str]]
RULES: dict[str, Rule] = {
    "files": layout.files,
    "needs": layout.needs,
    "contents": layout.contents,
    "fresh": layout.fresh,
    "sizes": layout.sizes,
    "outputs": layout.outputs,
    "tags": anatomy.tags,
    "bootstrap": anatomy.bootstraps,
    "parameters": anatomy.parameters,
    "exercise cells": anatomy.exercises,
    "headings": anatomy.headings,
    "alt text": pictures.alt_texts,
    "card": pictures.card,
    "claims": judged.claims,
    "verdicts": judged.verdicts,
    "typed numbers": prose.typed_numbers,
    "unfinished text": prose.unfinished,
    "randomness": code.randomness,
    "swallowed errors": code.swallowed,
    "docstrings": code.docstrings,
    "equations": teeth.equations,
    "exercises": teeth.exercises,
}


def findings(slug: str, root: Path = ROOT, rules: dict[str, Rule] | None = None) -> list[str]:
    """Return one line, "rule: finding", for everything that a chapter still owes. A broken file is a finding too."""
    found = []
    for name, rule in (RULES if rules is None else rules).items():
        try:
            found.extend(f"{name}: {line}" for line in rule(slug, root))
        except (ValueError, FileNotFoundError, SyntaxError) as error:
            found.append(f"{name}: {error}")
    return list(dict.fromkeys(found))
