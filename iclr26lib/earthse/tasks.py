"""The eleven tasks: each turns a law and one draw of its inputs into a fact, before it takes on an answer format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .laws import LAWS, Law, apart, show, with_unit

TASKS = (
    "knowledge_qa", "fact_checking", "analysis", "calculation", "term_explanation", "relationship_extraction",
    "tool_usage", "literature_listing", "dataset", "experiment_design", "code_generation",
)  # fmt: skip
SAFE_TASKS = tuple(task for task in TASKS if task != "code_generation")
ALSO_RIGHT = tuple(
    frozenset(pair)
    for pair in (
        ("seafloor_depth", "freeboard_thickness"), ("seafloor_depth", "long_wave_speed"),
        ("moment_magnitude", "glen_surface_speed"), ("airy_root", "basal_shear_stress"),
        ("residence_time", "freeboard_thickness"), ("long_wave_speed", "freeboard_thickness"),
        ("deep_water_wave_speed", "freeboard_thickness"), ("q10_respiration", "co2_forcing"),
        ("canopy_light", "equilibrium_temperature"), ("light_use_efficiency", "equilibrium_temperature"),
        ("saturation_vapour_pressure", "stefan_ice_growth"), ("airy_root", "layer_thickness"),
    )
)  # fmt: skip


@dataclass(frozen=True)
class Fact:
    """What an item asks, before its format.

    question: ends with a question mark or an order. statement: a sentence with {} where the answer stands. truth: the
    right answer; wrong: three others, each with its kind. steps: the reasoning, the last one holds the answer. blank:
    sentence and answer for the blank, None for statement and truth. kind: of the blank's answer, "quantity", "words" or
    "code". accepted: other right wordings. rubric, free: what a free answer must hold, and a
    free answer that does. code: inputs and outputs of a program.
    """

    question: str
    statement: str
    truth: str
    wrong: tuple[tuple[str, str], ...]
    steps: tuple[str, ...]
    kind: str = "words"
    value: float | None = None
    unit: str = ""
    accepted: tuple[str, ...] = ()
    rubric: dict[str, Any] | None = None
    free: str = ""
    code: dict[str, Any] | None = None
    blank: tuple[str, str] | None = None


def _first(law: Law) -> str:
    return f"The relation is {law.title}: ${law.formula}$."


def _inputs(law: Law, params: dict[str, float]) -> str:
    given = (f"${s.tex}$ = {with_unit(params[s.key], s.unit, 6)}" for s in law.symbols)
    return f"The inputs are {', '.join(given)}."


def _names(law: Law) -> list[str]:
    return [law.title, *law.aliases]


def calculation(law: Law, params: dict[str, float], rng: np.random.Generator) -> Fact:
    """The law's result at the inputs `params`; wrong are its three slips. rng is not used."""
    value = law.function(**params)
    truth, situation = with_unit(value, law.unit), law.describe(params)
    unit = f" Give it in {law.unit}." if law.unit else ""
    return Fact(
        question=f"{situation}. What is the {law.result}?{unit}",
        statement=f"{situation}. The {law.result} is {{}}.",
        truth=truth,
        wrong=tuple((slip.kind, with_unit(slip.value(**params), law.unit)) for slip in law.slips),
        steps=(_first(law), _inputs(law, params), f"So the {law.result} is {truth}."),
        kind="quantity", value=value, unit=law.unit,
        rubric={"gold": truth, "names": _names(law)},
        free=f"This follows from {law.title}, ${law.formula}$. {_inputs(law, params)} So the {law.result} is {truth}.",
    )  # fmt: skip


def fact_checking(law: Law, params: dict[str, float], rng: np.random.Generator) -> Fact:
    """A field note that states a law's result at the inputs `params`, to be checked; a free question states a slip.

    rng: picks the slip.
    """
    fact = calculation(law, params, rng)
    claimed = fact.wrong[int(rng.integers(3))][1]
    situation = law.describe(params)
    return Fact(
        question=f"A field note reads: {situation}; the {law.result} is {claimed}. Check and correct the value.",
        statement=f"A field note reads: {situation}; the {law.result} is {{}}. The value in the note is right.",
        truth=fact.truth, wrong=fact.wrong, steps=fact.steps, kind="quantity", value=fact.value, unit=fact.unit,
        rubric=fact.rubric, free=f"The note is wrong. {fact.free}",
    )  # fmt: skip


def analysis(law: Law, params: dict[str, float], rng: np.random.Generator) -> Fact | None:
    """Which factor on x doubles the result of a power law; by which factor any other changes when x goes from a to b.

    params: the inputs. None when no three wrong factors keep apart. rng is not used.
    """
    x, power, situation = law.symbol(law.x), law.power(params), law.describe(params)
    if power is not None:
        value, others = 2 ** (1 / power), (2**power, 2 ** (-1 / power), 2.0, 4.0, 0.5, 2**0.5, 2**-power)
        question = f"{situation}. By which factor must the {x.meaning} be multiplied, all else unchanged, so that the "
        question += f"{law.result} doubles?"
        statement = (
            f"{situation}. All else unchanged, the {law.result} doubles when the {x.meaning} is multiplied by {{}}."
        )
        middle = f"The {law.result} goes as the {x.meaning} to the power {show(power)}."
    else:
        a, b = params[x.key], _moved(law, params)
        value = law.function(**{**params, x.key: b}) / law.function(**params)
        others = (b / a, 1 / value, a / b, (b / a) ** 0.5, value**2, 2.0, 0.5)
        change = f"the {x.meaning} changes from {with_unit(a, x.unit, 6)} to {with_unit(b, x.unit, 6)}"
        question = f"{situation}. Then {change}, all else unchanged. By which factor does the {law.result} change?"
        statement = f"{situation}. If {change}, all else unchanged, the {law.result} is multiplied by {{}}."
        before, after = (with_unit(law.function(**{**params, x.key: v}), law.unit) for v in (a, b))
        middle = f"The {law.result} goes from {before} to {after}."
    wrong = _pick_apart(value, others)
    return wrong and _factor(law, value, wrong, question, statement, middle)


def _moved(law: Law, params: dict[str, float]) -> float:
    """x times the law's step, with 3 significant digits, or whole where it counts something."""
    moved = params[law.x] * law.step
    return float(round(moved)) if law.symbol(law.x).whole else float(f"{moved:.2e}")


def _pick_apart(value: float, others: tuple[float, ...]) -> tuple[float, ...] | None:
    """The first three of `others` that keep apart from the value and from each other; None when there are fewer."""
    kept: list[float] = []
    for other in others:
        if apart([value, *kept, other]):
            kept.append(other)
    return tuple(kept[:3]) if len(kept) >= 3 else None


def _factor(law: Law, value: float, wrong: tuple, question: str, statement: str, middle: str) -> Fact:
    truth = show(value)
    return Fact(
        question=question, statement=statement, truth=truth,
        wrong=tuple(("factor", show(w)) for w in wrong),
        steps=(_first(law), middle, f"So the factor is {truth}."),
        kind="quantity", value=value,
        rubric={"gold": truth, "names": _names(law)},
        free=f"{_first(law)} {middle} So the factor is {truth}.",
    )  # fmt: skip


def relationship_extraction(law: Law, params: dict[str, float], rng: np.random.Generator) -> Fact:
    """How the result of a law depends on x at the inputs `params`: the exponent; rise or fall where it is no power.

    rng is not used.
    """
    x, power = law.symbol(law.x), law.power(params)
    truth, wrong, middle = _direction(law, x.meaning) if power is None else _exponent(power, x.meaning)
    lead = f"{law.describe(params)}. All else unchanged"
    if power is None:
        way = truth.split()[1]
        blank = f"{lead}, the {law.result} {{}} when the {x.meaning} rises. (Fill in: rises or falls.)", way
    else:
        blank = f"{lead}, the {law.result} is proportional to the {x.meaning} to the power {{}}.", show(power)
    return Fact(
        question=f"{lead}, how does the {law.result} depend on the {x.meaning}?",
        statement=f"{lead}, the {law.result} depends on the {x.meaning} as follows: {{}}.", truth=truth, blank=blank,
        wrong=tuple(zip(("inverted", "factor", "sign"), wrong, strict=True)),
        steps=(_first(law), middle, f"So {truth}."),
        kind="words" if power is None else "quantity", value=power,
    )  # fmt: skip


def _direction(law: Law, x: str) -> tuple[str, tuple[str, ...], str]:
    """Truth, three wrong answers and the middle step for a law that is no power of x."""
    way, other = ("rises", "falls") if law.sign > 0 else ("falls", "rises")
    wrong = (
        f"it {other} with it, but as no power of it",
        "it rises with it, in direct proportion",
        "it falls with it, in inverse proportion",
    )
    middle = f"There the {x} enters other than by a power, and the result {way} when it rises."
    return f"it {way} with it, but as no power of it", wrong, middle


def _exponent(power: float, x: str) -> tuple[str, tuple[str, ...], str]:
    """Truth, three wrong answers and the middle step for a law that is a power of x."""
    others = [p for p in (1 / power, 2 * power, power / 2) if apart([power, p])][:2]
    wrong = tuple(f"it is proportional to its power {show(p)}" for p in (*others, -power))
    truth = show(power)
    return f"it is proportional to its power {truth}", wrong, f"There the {x} stands with the exponent {truth}."


def _others(law: Law, rng: np.random.Generator, text: Callable[[Law], str], far: bool) -> list[str]:
    """The `text` of three other laws, all different from each other and from this law's.

    far: take only laws of other spheres that are not `ALSO_RIGHT`.
    """
    pool = [
        other for other in LAWS.values()
        if other.name != law.name
        and not (far and (other.sphere == law.sphere or frozenset((other.name, law.name)) in ALSO_RIGHT))
    ]  # fmt: skip
    found: list[str] = []
    for i in rng.permutation(len(pool)):
        if text(pool[i]) not in (text(law), *found):
            found.append(text(pool[i]))
    return found[:3]


def _named(law: Law, question: str, statement: str, kind: str, texts: list[str], first: str, **more: Any) -> Fact:
    """A fact whose answer is a name, texts[0], with three names of other laws."""
    truth, *wrong = texts
    return Fact(
        question=question, statement=statement, truth=truth,
        wrong=tuple((kind, w) for w in wrong),
        steps=(first, f"The relation between them is ${law.formula}$.", f"So the answer is {truth}."),
        **more,
    )  # fmt: skip


def knowledge_qa(law: Law, params: dict[str, float], rng: np.random.Generator) -> Fact:
    """Which law gives the result in the situation with inputs `params`. rng: picks the other laws."""
    wrong = _others(law, rng, lambda other: other.title, far=False)
    lead = f"{law.describe(params)}."
    return _named(
        law, f"{lead} Which law or relation gives the {law.result}?",
        f"{lead} The {law.result} follows from this law or relation: {{}}.", "other law", [law.title, *wrong],
        f"Wanted is the {law.result}, given the {' and the '.join(s.meaning for s in law.symbols)}.",
        accepted=law.aliases,
    )  # fmt: skip


def term_explanation(law: Law, params: dict[str, float], rng: np.random.Generator) -> Fact:
    """The law's term by its definition. params is not used; rng: picks other terms."""
    wrong = _others(law, rng, lambda other: other.term, far=False)
    return _named(
        law, f"Which term of {law.subject} means: {law.definition}?",
        f"In {law.subject}, {law.definition} is called: {{}}.", "other term", [law.term, *wrong],
        f"The term belongs to {law.sub_discipline}.",
    )  # fmt: skip


def tool_usage(law: Law, params: dict[str, float], rng: np.random.Generator) -> Fact:
    """The instrument that suits a law's situation with inputs `params`. rng: picks instruments of other spheres."""
    wrong = _others(law, rng, lambda other: other.instrument, far=True)
    lead = f"{law.describe(params)}. You want to observe this in the field, to test the {law.result}."
    return _named(
        law, f"{lead} Which instrument or method is the usual one?",
        f"{lead} A usual instrument or method is this: {{}}.",
        "other instrument", [law.instrument, *wrong], f"The field is {law.sub_discipline}.",
    )  # fmt: skip


def dataset(law: Law, params: dict[str, float], rng: np.random.Generator) -> Fact:
    """The kind of record for a law's situation with inputs `params`. rng: picks records of other spheres."""
    wrong = _others(law, rng, lambda other: other.dataset, far=True)
    lead = f"{law.describe(params)}. You want to study the {law.result} at many places."
    return _named(
        law, f"{lead} Which kind of record do you open first?", f"{lead} A kind of record made for this is: {{}}.",
        "other record", [law.dataset, *wrong], f"The field is {law.sub_discipline}.",
    )  # fmt: skip


def literature_listing(law: Law, params: dict[str, float], rng: np.random.Generator) -> Fact:
    """The classical source of the law or of the rule behind it. params is not used; rng: picks other sources."""
    wrong = _others(law, rng, lambda other: f"{other.source}, {other.year}", far=False)
    lead = f"The relation ${law.formula}$ gives the {law.result}."
    return _named(
        law, f"{lead} Which source does it, or the rule behind it, go back to?",
        f"{lead} It, or the rule behind it, goes back to {{}}.", "other source", [f"{law.source}, {law.year}", *wrong],
        f"The relation belongs to {law.subject}.",
        blank=(f"{lead} It, or the rule behind it, goes back to work of {law.source} of the year {{}}.", str(law.year)),
    )  # fmt: skip


def experiment_design(law: Law, params: dict[str, float], rng: np.random.Generator) -> Fact:
    """The design that isolates the effect of a law's x near the inputs `params`: hold the nuisance. rng is unused."""
    x, held = law.symbol(law.x).meaning, law.nuisance
    truth = f"change the {x} in steps and hold {held} fixed"
    wrong = (
        ("confounded", f"change the {x} and {held} together in steps"),
        ("other variable", f"change {held} in steps and hold the {x} fixed"),
        ("no contrast", f"hold the {x} and {held} fixed and repeat"),
    )
    goal = f"isolates the effect of the {x} on the {law.result}"
    return Fact(
        question=f"{law.describe(params)}. Which design {goal}?",
        statement=f"{law.describe(params)}. A design that {goal} is to {{}}.",
        truth=truth, wrong=wrong,
        steps=(_first(law), f"Besides the {x}, {held} may matter.", f"So {truth}."),
        rubric={"names": _names(law), "mentions": [held.removeprefix("the ")]},
        free=f"To see this effect alone, {truth}, and compare with {law.title}.",
    )  # fmt: skip


def code_generation(law: Law, params: dict[str, float], rng: np.random.Generator) -> Fact:
    """A Python function `solve` for the law, with the inputs `params` as an example; rng: draws 5 other inputs."""
    inputs = [law.draw(rng) for _ in range(5)]
    arguments = ", ".join(s.key for s in law.symbols)
    meanings = "; ".join(f"{s.key}: {s.meaning}{f', {s.unit}' if s.unit else ''}" for s in law.symbols)
    example = ", ".join(f"{key}={show(value, 6)}" for key, value in params.items())
    value = law.function(**params)
    program = f"import math\n\n\ndef solve({arguments}):\n    return {law.expression}\n"
    return Fact(
        question=(
            f"Write a Python function solve({arguments}) that returns the {law.result}"
            f"{f' in {law.unit}' if law.unit else ' as a pure number'} by ${law.formula}$. Arguments: {meanings}. For "
            f"example, solve({example}) returns {show(value)}. Use the standard library only, and reply with "
            "the code alone."
        ),
        statement="{}", truth=program, wrong=(), steps=(_first(law), f"The arguments are {meanings}.", program),
        kind="code", value=value, unit=law.unit, free=program,
        code={"inputs": inputs, "outputs": [law.function(**x) for x in inputs]},
    )  # fmt: skip


MAKERS: dict[str, Callable[[Law, dict[str, float], np.random.Generator], Fact | None]] = {
    maker.__name__: maker
    for maker in (
        knowledge_qa, fact_checking, analysis, calculation, term_explanation, relationship_extraction, tool_usage,
        literature_listing, dataset, experiment_design, code_generation,
    )
}  # fmt: skip
