"""What a law of the bank is: its formula, the ranges its inputs are drawn from, its typed slips, its facts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

SPHERES = ("atmosphere", "hydrosphere", "lithosphere", "cryosphere", "biosphere")
KINDS = ("unit", "inverted", "scale", "factor", "angle", "linear")
GRAVITY = 9.80665  # m/s2, standard value
ICE = 917.0  # kg/m3
JULIAN_YEAR = 365.25 * 86400  # s
APART = 0.05  # relative distance that two options of an item keep at least


def positive(**values: float) -> None:
    """Refuse `values` (name=number, ...) that are not finite and above 0. Raises ValueError that names the first."""
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be finite and above 0, got {value!r}")


def within(name: str, value: float, low: float, high: float) -> None:
    """Refuse a value outside of [low, high]. name: what the message calls it. Raises ValueError."""
    if not low <= value <= high:
        raise ValueError(f"{name} must lie in [{low}, {high}], got {value!r}")


def show(value: float, digits: int = 4) -> str:
    """The value with `digits` significant digits, plain from 0.001 to 10 million, else like 1.031e-4.

    Trailing zeros are dropped. Raises ValueError for a value that is not finite or for digits below 1.
    """
    if not math.isfinite(value) or digits < 1:
        raise ValueError(f"need a finite value and 1 digit or more, got {value!r} and {digits}")
    rounded = float(f"{value:.{digits - 1}e}")
    if rounded == 0 or 1e-3 <= abs(rounded) < 1e7:
        return np.format_float_positional(rounded, trim="-")
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}e{int(exponent)}"


def with_unit(value: float, unit: str, digits: int = 4) -> str:
    """The value as text, followed by its unit; unit "" stands for a pure number. digits: see `show`."""
    return f"{show(value, digits)} {unit}".strip()


def apart(values: list[float], least: float = APART) -> bool:
    """Whether all values (n,) are finite and each pair differs by more than `least`, relative to the larger.

    Our rejection rule: the distance is taken against the larger of the two, so that the order does not matter.
    """
    if not all(map(math.isfinite, values)):
        return False
    pairs = [(a, b) for i, a in enumerate(values) for b in values[i + 1 :]]
    return all(abs(a - b) > least * max(abs(a), abs(b)) for a, b in pairs)


@dataclass(frozen=True)
class Symbol:
    """One input of a law: argument name, LaTeX, meaning, unit, range of draws, uniform (log: in the logarithm)."""

    key: str
    tex: str
    meaning: str
    unit: str
    low: float
    high: float
    log: bool = False
    whole: bool = False

    def draw(self, rng: np.random.Generator) -> float:
        """One value from the range, rounded to 3 significant digits (or to a whole number). rng: NumPy generator."""
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        value = float(rng.uniform(low, high))
        value = math.exp(value) if self.log else value
        return float(round(value)) if self.whole else float(f"{value:.2e}")


@dataclass(frozen=True)
class Slip:
    """One typed mistake: its kind (see KINDS), what goes wrong in words, the wrong value as function of the inputs."""

    kind: str
    text: str
    value: Callable[..., float]


@dataclass(frozen=True)
class Law:
    """A law with all that items are made from.

    name: key in LAWS. title, aliases: what it is called. function: takes the symbols as keywords, returns the result
    in `unit`. expression: the same as one line of Python with `math`. situation: a sentence with {key} for each symbol;
    it names neither law nor result. x: the symbol that relations are asked about; sign: of the change of the result
    with x; exponent: of the result as a power of x, or the symbol that holds it, None when it is no power; step: factor
    on x in questions of the kind "x goes from a to b". source, year: a classical source of the law or of the rule
    behind it. nuisance: what an experiment on x must hold fixed.
    """

    name: str
    title: str
    aliases: tuple[str, ...]
    sphere: str
    subject: str
    sub_discipline: str
    formula: str
    result: str
    unit: str
    symbols: tuple[Symbol, ...]
    function: Callable[..., float]
    expression: str
    situation: str
    slips: tuple[Slip, Slip, Slip]
    x: str
    sign: int
    exponent: float | str | None
    term: str
    definition: str
    instrument: str
    dataset: str
    nuisance: str
    source: str
    year: int
    step: float = field(default=1.5)

    def symbol(self, key: str) -> Symbol:
        """The symbol with this key. Raises ValueError for another key, naming the known ones."""
        for symbol in self.symbols:
            if symbol.key == key:
                return symbol
        raise ValueError(f"{self.name} has no symbol {key!r}; known: {', '.join(s.key for s in self.symbols)}")

    def power(self, params: dict[str, float]) -> float | None:
        """The exponent of the result as a power of x at inputs `params`; None when it is no power."""
        return params[self.exponent] if isinstance(self.exponent, str) else self.exponent

    def wrong(self, params: dict[str, float]) -> list[float]:
        """The three slips' values at inputs `params`, in the law's unit."""
        return [slip.value(**params) for slip in self.slips]

    def describe(self, params: dict[str, float]) -> str:
        """The situation with the inputs `params` and their units put in."""
        return self.situation.format(**{s.key: with_unit(params[s.key], s.unit, 6) for s in self.symbols})

    def draw(self, rng: np.random.Generator, tries: int = 200) -> dict[str, float]:
        """Inputs whose result and slips keep apart, and whose result is no copy of an input of the same unit.

        rng: NumPy generator. Raises ValueError when `tries` draws gave none (ranges and slips do not fit).
        """
        for _ in range(tries):
            params = {symbol.key: symbol.draw(rng) for symbol in self.symbols}
            truth = self.function(**params)
            copies = [params[s.key] for s in self.symbols if s.unit == self.unit]
            if apart([truth, *self.wrong(params)]) and all(apart([truth, copy]) for copy in copies):
                return params
        raise ValueError(f"{self.name}: {tries} draws gave no result that differs from its slips by {APART:.0%}")


def times(function: Callable[..., float], factor: float) -> Callable[..., float]:
    """A function with the arguments of `function` that returns its value times `factor`."""
    return lambda **params: factor * function(**params)
