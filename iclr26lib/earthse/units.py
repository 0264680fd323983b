"""Numbers with units in text: a small table, products and quotients of units, degrees Celsius against kelvin."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

Dimension = tuple[int, int, int, int, int, int]  # m, kg, s, K, mol, species
NONE: Dimension = (0, 0, 0, 0, 0, 0)
M, KG, S, K, MOL, SPECIES = (tuple(int(i == j) for j in range(6)) for i in range(6))
PA: Dimension = (-1, 1, -2, 0, 0, 0)
WATT: Dimension = (2, 1, -3, 0, 0, 0)
JOULE: Dimension = (2, 1, -2, 0, 0, 0)
YEAR, DAY = 365.25 * 86400.0, 86400.0

TABLE: dict[str, tuple[float, Dimension]] = {
    "m": (1, M), "km": (1e3, M), "cm": (1e-2, M), "mm": (1e-3, M), "nm": (1e-9, M),
    "g": (1e-3, KG), "kg": (1, KG), "mg": (1e-6, KG), "t": (1e3, KG),
    "s": (1, S), "min": (60, S), "h": (3600, S), "d": (DAY, S), "a": (YEAR, S), "yr": (YEAR, S),
    "kyr": (1e3 * YEAR, S), "Myr": (1e6 * YEAR, S), "Gyr": (1e9 * YEAR, S), "Ma": (1e6 * YEAR, S),
    "Ga": (1e9 * YEAR, S),
    "K": (1, K), "°C": (1, K), "mol": (1, MOL), "mmol": (1e-3, MOL), "µmol": (1e-6, MOL), "nmol": (1e-9, MOL),
    "Pa": (1, PA), "hPa": (1e2, PA), "mbar": (1e2, PA), "kPa": (1e3, PA), "MPa": (1e6, PA), "bar": (1e5, PA),
    "W": (1, WATT), "mW": (1e-3, WATT), "kW": (1e3, WATT), "J": (1, JOULE), "kJ": (1e3, JOULE), "MJ": (1e6, JOULE),
    "species": (1, SPECIES),
}  # fmt: skip
ALIASES: dict[str, str] = {
    "metre": "m", "meter": "m", "kilometre": "km", "kilometer": "km", "centimetre": "cm", "centimeter": "cm",
    "millimetre": "mm", "millimeter": "mm", "gram": "g", "kilogram": "kg", "second": "s", "sec": "s", "minute": "min",
    "hour": "h", "hr": "h", "day": "d", "year": "yr", "kelvin": "K", "celsius": "°C", "degc": "°C", "pascal": "Pa",
    "hectopascal": "hPa", "kilopascal": "kPa", "millibar": "mbar", "watt": "W", "joule": "J", "megajoule": "MJ",
    "umol": "µmol", "μmol": "µmol", "micromole": "µmol",
}  # fmt: skip
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
NUMBER = re.compile(
    r"(?<![\w.,])(?<!\w[-^])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][-+]?\d+|\s{0,2}[x*]\s{0,2}10\^?\s{0,1}\{?[-+]?\d{1,3}\}?)?"
)
PIECE = re.compile(r"\s{0,2}(/?)\s{0,2}[({]?([A-Za-z°µμ]+)[)}]?(?:\^?\{?(-?\d)\}?)?")
BRACKET = re.compile(r"/\s{0,2}\(([^()/]{1,40})\)(?!\s?\^)")
PERCENT = re.compile(r"\s{0,2}\\?%")
MINUS = re.compile(r"(?:(\A\s*|[=:(,;<>≈~][^\S\n]*|\b(?:is|of|be|about|equals)\s+)-\s+|\b(?:minus|negative)\s+)(?=\d)")
JOIN = re.compile(r"\s{0,2}(?:to|or|and|,|/|-|~|\.\.|;)\s{0,2}\Z")


@dataclass(frozen=True)
class Quantity:
    """A number found in a text: its value as written, the factor to SI, the dimension, whether it is in °C.

    bare: no unit follows it. start, end: where number and unit stand in the cleaned text.
    """

    number: float
    factor: float = 1.0
    dimension: Dimension = NONE
    celsius: bool = False
    bare: bool = True
    start: int = 0
    end: int = 0

    def into(self, other: Quantity) -> float:
        """The value in the unit of `other`, which must have the same dimension; °C and K are shifted by 273.15.

        Raises ValueError for another dimension.
        """
        if self.dimension != other.dimension:
            raise ValueError(f"cannot turn dimension {self.dimension} into {other.dimension}")
        shift = 273.15 * (self.celsius - other.celsius)
        return self.number * self.factor / other.factor + shift


def clean(text: str) -> str:
    """The text with one form of minus, powers, dots, degree signs, "per", brackets, and without LaTeX's text marks."""
    text = text.translate(SUPERSCRIPTS).replace("−", "-").replace("–", "-").replace("×", "x").replace("**", "^")
    text = re.sub(r"\\(?:text|mathrm|,|times)(?![a-z])|[$~]", lambda m: "x" if m[0] == r"\times" else " ", text)
    text = text.replace("·", " ").replace("⋅", " ").replace("º", "°").replace("℃", "°C")
    text = re.sub(r"\b[Pp]er\s?cent\b", "%", text)
    text = re.sub(r"\b[Pp]er\b", "/", text)
    text = MINUS.sub(lambda m: f"{m[1] or ''}-", text)
    text = BRACKET.sub(_spread, text)
    text = re.sub(r"(?:°\s?|\bdeg(?:rees?)?\s)C(?:elsius)?\b", "°C", text)
    return re.sub(r"(?<=\d)\s{1,2}1\s?/\s?(?=[A-Za-z])", " /", text)


def _spread(match: re.Match) -> str:
    """What BRACKET has found, with a slash before each of its units; as it is, where not all of it are units."""
    pieces = [PIECE.fullmatch(part) for part in match[1].replace("*", " ").split()]
    known = all(piece and _known(piece[2], True, []) for piece in pieces)
    return " ".join(f"/{piece[0]}" for piece in pieces) if known and pieces else match[0]


def _unit(text: str, start: int) -> tuple[float, Dimension, bool, int]:
    """Factor, dimension, whether it is plain °C, and end of the unit that begins at `start`; end == start for none."""
    factor, dimension, names, end = 1.0, NONE, [], start
    while piece := PIECE.match(text, end):
        slash, word, power = piece.groups()
        known = _known(word, bool(slash or power), names)
        if known is None:
            break
        exponent = int(power or 1) * (-1 if slash else 1)
        size, axes = TABLE[known]
        factor *= size**exponent
        dimension = tuple(a + exponent * b for a, b in zip(dimension, axes, strict=True))
        names.append(known if exponent == 1 else "")
        end = piece.end()
    return factor, dimension, names == ["°C"], end


def _known(word: str, marked: bool, before: list[str]) -> str | None:
    """The table's name of a word, None for another; "a" is a unit only with a slash or an exponent (marked)."""
    if len(before) > 6 or (word == "a" and not marked):
        return None
    if word in TABLE:
        return word
    lower = word.lower()
    return ALIASES.get(lower) or ALIASES.get(lower.removesuffix("s"))


def _fractions(text: str) -> str:
    """The text with 2/3, where it stands for a number, as a decimal."""
    pattern = r"(?<![\w./])(-?\d{1,4})\s?/\s?([1-9]\d{0,3})(?![\w./])"
    return re.sub(pattern, lambda m: repr(int(m[1]) / int(m[2])), text)


def quantities(text: str) -> list[Quantity]:
    """All numbers of a text, each with the unit that follows it.

    A bare number that only "to", "or", "and", a comma or a dash parts from the next takes over the next one's unit, so
    that "190 to 200 m/s" holds two speeds. A percentage is a bare number, a hundredth of what is written. Numbers
    inside words (CO2, log10) do not count, nor do those too large.
    """
    text = _fractions(clean(text))
    found = []
    for match in NUMBER.finditer(text):
        if found and match.start() < found[-1].end:
            continue
        number = _float(match[0])
        factor, dimension, celsius, end = _unit(text, match.end())
        bare = end == match.end()
        if percent := PERCENT.match(text, end) if bare else None:
            number, end = number / 100, percent.end()
        if math.isfinite(number):
            found.append(Quantity(number, factor, dimension, celsius, bare, match.start(), end))
    for i in range(len(found) - 2, -1, -1):
        here, after = found[i], found[i + 1]
        plain = here.bare and text[here.end - 1] != "%"
        if plain and not after.bare and JOIN.match(text[here.end : after.start]):
            found[i] = Quantity(here.number, after.factor, after.dimension, after.celsius, False, here.start, here.end)
    return found


def _float(text: str) -> float:
    """The number that NUMBER has found in this text."""
    text = text.replace(",", "")
    power = re.fullmatch(r"(.+?)\s*[x*]\s*10\^?\s?\{?([-+]?\d+)\}?", text)
    return float(f"{power[1]}e{power[2]}") if power else float(text)


def quantity(text: str) -> Quantity:
    """The one quantity that a gold text states. Raises ValueError unless the text is a number and a known unit."""
    found = quantities(text)
    if len(found) != 1 or found[0].end != len(clean(text).rstrip()):
        raise ValueError(f"need one number with a unit of the table, got {text!r}")
    return found[0]
