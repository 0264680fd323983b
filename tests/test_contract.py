"""What every chapter owes its reader, asked of every chapter that is there (the rules are in tools/contract)."""

import pytest

from iclr26lib.chapters import ROOT, catalogue, present
from tools import contract, equations


def test_there_is_a_chapter() -> None:
    assert present()


@pytest.mark.parametrize("rule", contract.RULES)
@pytest.mark.parametrize("slug", present())
def test_chapter_keeps(slug: str, rule: str) -> None:
    found = contract.findings(slug, rules={rule: contract.RULES[rule]})
    assert not found, "\n".join(found)


@pytest.mark.parametrize("rule", ["docstrings", "equations", "randomness", "swallowed errors"])
@pytest.mark.parametrize("package", equations.shared(catalogue(), ROOT))
def test_shared_package_keeps(package: str, rule: str) -> None:
    assert not contract.RULES[rule](package, ROOT)
