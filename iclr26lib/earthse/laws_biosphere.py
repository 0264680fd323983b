"""Laws of the biosphere: respiration, diversity, light, production."""

from __future__ import annotations

import math

from .laws_base import Law, Slip, Symbol, positive, times, within


def q10_respiration(R0: float, Q10: float, dT: float) -> float:
    """Respiration rate in the unit of R0 (µmol m-2 s-1) after warming by dT, K. R0: rate before; Q10: factor per 10 K.

    Equation (q10_respiration): $R = R_0\\, Q_{10}^{\\Delta T/10}$ (van 't Hoff's rule)
    Raises ValueError unless R0 and Q10 are positive and dT is finite.
    """
    positive(R0=R0, Q10=Q10)
    within("dT", dT, -100, 100)
    return R0 * Q10 ** (dT / 10)


def species_area(c: float, A: float, z: float) -> float:
    """Number of species (a count) in an area. c: species on 1 km2; A: area, km2; z: exponent, a pure number.

    Equation (species_area): $S = c A^z$ (Arrhenius 1921)
    Raises ValueError for values that are not positive.
    """
    positive(c=c, A=A, z=z)
    return c * A**z


def canopy_light(I0: float, k: float, lai: float) -> float:
    """Light under a canopy in the unit of I0 (µmol m-2 s-1). I0: above; k: extinction; lai: leaf area index, m2/m2.

    Equation (canopy_light): $I = I_0 e^{-k L}$ (Monsi and Saeki 1953)
    Raises ValueError for values that are not positive.
    """
    positive(I0=I0, k=k, lai=lai)
    return I0 * math.exp(-k * lai)


def shannon_diversity(n1: float, n2: float, n3: float) -> float:
    """Shannon diversity (natural logarithm, a pure number) of three species. n1, n2, n3: counts of individuals.

    Equation (shannon_diversity): $H = -\\sum_i p_i\\ln p_i$, $p_i = n_i/N$ (Shannon 1948)
    Raises ValueError for counts that are not positive.
    """
    positive(n1=n1, n2=n2, n3=n3)
    total = n1 + n2 + n3
    return -sum(n / total * math.log(n / total) for n in (n1, n2, n3))


def light_use_efficiency(eps: float, fapar: float, par: float) -> float:
    """Primary production, g m-2 d-1 of carbon. eps: efficiency, g/MJ; fapar: share absorbed; par: light, MJ m-2 d-1.

    Equation (light_use_efficiency): $P = \\varepsilon\\, f\\, \\mathrm{PAR}$ (Monteith 1972)
    Raises ValueError for values that are not positive and for a share above 1.
    """
    positive(eps=eps, fapar=fapar, par=par)
    within("fapar", fapar, 0, 1)
    return eps * fapar * par


def simpson(n1: float, n2: float, n3: float) -> float:
    """Simpson's diversity 1 - sum p^2 of counts (n1, n2, n3), which is mistaken for Shannon's. A pure number."""
    return 1 - (n1**2 + n2**2 + n3**2) / (n1 + n2 + n3) ** 2


BIOSPHERE = (
    Law(
        "q10_respiration", "Q10 rule", ("q10", "van 't hoff", "van t hoff", "vant hoff"),
        "biosphere", "ecosystem ecology", "soil respiration",
        r"R = R_0 Q_{10}^{\Delta T/10}", "respiration rate after the warming", "µmol m-2 s-1",
        (
            Symbol("R0", "R_0", "respiration rate before the warming", "µmol m-2 s-1", 0.5, 6),
            Symbol("Q10", "Q_{10}", "factor for a warming by 10 K", "", 1.4, 3),
            Symbol("dT", r"\Delta T", "warming", "K", 3, 18),
        ),
        q10_respiration, "R0 * Q10 ** (dT / 10)",
        "Soil respires {R0}; a warming by 10 K would multiply this by {Q10}; the soil warms by {dT}",
        (
            Slip("inverted", "the exponent is turned over", lambda R0, Q10, dT: R0 * Q10 ** (10 / dT)),
            Slip("linear", "the factor is multiplied by the share of 10 K", lambda R0, Q10, dT: R0 * Q10 * dT / 10),
            Slip("unit", "the value in nmol is given as µmol", times(q10_respiration, 1000)),
        ),
        "dT", 1, None, "heterotrophic respiration",
        "the release of carbon dioxide by organisms that break down dead matter",
        "soil flux chamber with gas analyser", "half-hourly record of an eddy-covariance tower",
        "the moisture of the soil",
        "Jacobus van 't Hoff", 1884,
    ),
    Law(
        "species_area", "species-area relation", ("species area", "species area relationship", "arrhenius"),
        "biosphere", "biogeography", "island biogeography",
        r"S = c A^z", "expected number of species", "species",
        (
            Symbol("c", "c", "number of species on 1 km2", "species", 5, 60),
            Symbol("A", "A", "area of the island in km2", "km2", 2, 10000, log=True),
            Symbol("z", "z", "exponent of the area", "", 0.15, 0.35),
        ),
        species_area, "c * A ** z",
        "In an archipelago 1 km2 carries {c}, richness is a power of area with exponent {z}, and one island has {A}",
        (
            Slip("inverted", "the exponent has the wrong sign", lambda c, A, z: c * A**-z),
            Slip("unit", "the area is put in as hectares", lambda c, A, z: species_area(c, 100 * A, z)),
            Slip("linear", "the exponent is used as a factor", lambda c, A, z: c * z * A),
        ),
        "A", 1, "z", "endemism", "the occurrence of a species in one area and nowhere else",
        "quadrat survey", "checklists of species by island", "the distance to the mainland",
        "Olof Arrhenius", 1921,
    ),
    Law(
        "canopy_light", "Beer-Lambert law", ("beer lambert", "beer's law", "beers law", "lambert beer", "monsi saeki"),
        "biosphere", "plant ecology", "canopy radiation",
        r"I = I_0 e^{-k L}", "light that reaches the ground", "µmol m-2 s-1",
        (
            Symbol("I0", "I_0", "light above the canopy", "µmol m-2 s-1", 200, 2000),
            Symbol("k", "k", "extinction coefficient", "", 0.35, 0.75),
            Symbol("lai", "L", "leaf area index", "", 0.5, 6),
        ),
        canopy_light, "I0 * math.exp(-k * lai)",
        "Sunlight of {I0} falls on a canopy with a leaf area index of {lai} and an extinction coefficient of {k}",
        (
            Slip("inverted", "the absorbed light stands for the transmitted",
                 lambda I0, k, lai: I0 - canopy_light(I0, k, lai)),
            Slip("scale", "10 stands for e as the base", lambda I0, k, lai: I0 * 10 ** (-k * lai)),
            Slip("unit", "the value in nmol is given as µmol", times(canopy_light, 1000)),
        ),
        "lai", -1, None, "leaf area index", "the one-sided area of leaves above a unit area of ground",
        "ceptometer", "satellite product of leaf area", "the angle of the sun",
        "Masami Monsi and Toshiro Saeki", 1953,
    ),
    Law(
        "shannon_diversity", "Shannon index", ("shannon", "shannon's index", "shannon entropy"),
        "biosphere", "community ecology", "biodiversity measures",
        r"H = -\sum_i p_i\ln p_i", "diversity with the natural logarithm", "",
        (
            Symbol("n1", "n_1", "number of individuals of the commonest species", "individuals", 45, 90, whole=True),
            Symbol("n2", "n_2", "number of individuals of the second species", "individuals", 8, 35, whole=True),
            Symbol("n3", "n_3", "number of individuals of the third species", "individuals", 3, 30, whole=True),
        ),
        shannon_diversity,
        "-sum(n / (n1 + n2 + n3) * math.log(n / (n1 + n2 + n3)) for n in (n1, n2, n3))",
        "A sample holds three species: {n1} of the commonest, {n2} of a second, {n3} of a third",
        (
            Slip("scale", "the decimal logarithm stands for the natural one",
                 times(shannon_diversity, 1 / math.log(10))),
            Slip("inverted", "the effective number of species, e^H, is given",
                 lambda n1, n2, n3: math.exp(shannon_diversity(n1, n2, n3))),
            Slip("linear", "one minus the sum of squared shares is given", simpson),
        ),
        "n1", -1, None, "evenness", "the degree to which the species of a community are equally abundant",
        "pitfall traps", "species-by-site abundance table", "the sampling effort",
        "Claude Shannon", 1948,
    ),
    Law(
        "light_use_efficiency", "light-use efficiency model", ("light use efficiency", "monteith"),
        "biosphere", "ecosystem ecology", "primary production",
        r"P = \varepsilon f\,\mathrm{PAR}", "gross primary production in mass of carbon", "g m-2 d-1",
        (
            Symbol("eps", r"\varepsilon", "carbon fixed per energy absorbed", "g/MJ", 0.5, 2.5),
            Symbol("fapar", "f", "share of the light that is absorbed", "", 0.2, 0.95),
            Symbol("par", r"\mathrm{PAR}", "photosynthetically active radiation", "MJ m-2 d-1", 3, 15),
        ),
        light_use_efficiency, "eps * fapar * par",
        "A crop absorbs a share of {fapar} of {par} of photosynthetically active light and fixes {eps} of carbon",
        (
            Slip("unit", "the value in mg is given as g", times(light_use_efficiency, 1000)),
            Slip("inverted", "the transmitted share stands for the absorbed",
                 lambda eps, fapar, par: light_use_efficiency(eps, 1 - fapar, par)),
            Slip("factor", "the light is halved although it is photosynthetically active already",
                 times(light_use_efficiency, 0.5)),
        ),
        "par", 1, 1.0, "net primary production", "the carbon that plants fix less the carbon that they respire",
        "quantum sensor above and below the crop", "satellite product of vegetation greenness", "the supply of water",
        "John Monteith", 1972,
    ),
)  # fmt: skip
