"""The law bank: 28 laws of five spheres, each the family of all items made from it."""

from __future__ import annotations

from .laws_atmosphere import ATMOSPHERE
from .laws_base import KINDS, SPHERES, Law, Slip, Symbol, apart, show, with_unit
from .laws_biosphere import BIOSPHERE
from .laws_cryosphere import CRYOSPHERE
from .laws_hydrosphere import HYDROSPHERE
from .laws_lithosphere import LITHOSPHERE

__all__ = ["KINDS", "LAWS", "SPHERES", "Law", "Slip", "Symbol", "apart", "of_sphere", "show", "with_unit"]

LAWS: dict[str, Law] = {
    law.name: law for laws in (ATMOSPHERE, HYDROSPHERE, LITHOSPHERE, CRYOSPHERE, BIOSPHERE) for law in laws
}


def of_sphere(sphere: str) -> list[Law]:
    """The laws of one sphere (a word of SPHERES), in the order of the bank. Raises ValueError for another word."""
    if sphere not in SPHERES:
        raise ValueError(f"unknown sphere {sphere!r}; known: {', '.join(SPHERES)}")
    return [law for law in LAWS.values() if law.sphere == sphere]
