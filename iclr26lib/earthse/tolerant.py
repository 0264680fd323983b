"""Reading an answer with good will, and without ever taking two answers for one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from .units import Quantity, quantities, quantity

LONGEST = 20_000  # characters; a longer answer is not read
TOLERANCE = 0.01
CUE = re.compile(r"\b(?:option|choice|choose|select|pick)(?:\s+is|\s*[:=])?\s*$", re.I)
ANSWER = re.compile(r"\banswer(?:\s+is|\s+would\s+be|\s*[:=])?\s*$", re.I)
SYMBOL = re.compile(r"\s*=")
ARTICLE = re.compile(r"\s*=|\s+(?!because|since|as\b|with|which)[a-z]")
LETTER = re.compile(r"(?<![\w'’°])(?<!\d )([A-Z])(?![\w'’°])")
AFTER = re.compile(r"\s*(?:[).\]:,;!*\"]|\Z|\n|(?:or|and|is|/|&)\b|/|&)")
CARRIER = re.compile(
    r"^(?:the\s+)?(?:(?:final\s+|correct\s+)?answer\s+is|answer\s*:|it\s+is|this\s+is|it\s+is\s+called)\s*:?\s*", re.I
)
FALSE_WORDS = {"false", "incorrect", "wrong"}
NEGATION = re.compile(r"\b(?:not|never|neither|nor|cannot|isn t|hardly|untrue|nothing)\b")
HEDGE = re.compile(
    r"\b(?:far from|(?:would|could|may|might) be|partly|partially|half|almost|nearly|sometimes|only)(?: \w+)?"
    r" (?:true|false|incorrect|wrong)\b|\b(?:true|false|incorrect|wrong) (?:only|if|unless|provided)\b"
)
WRAPPED = re.compile(
    r"\\boxed\s?\{\s?(?:\\(?:text|mathrm|mathbf|textbf)\s?\{)?\s?\(?([A-Za-z])\)?\s?\}{1,2}"
    r"|<answer>\s{0,3}\(?([A-Za-z])[).]{0,2}\s{0,3}</answer>"
)
SMALL = re.compile(
    r"\b((?:answer|option|choice)(?:\s+is|\s?[:=])?\s{1,3}[(*]{0,3})([a-z])(?=[)*.!]{0,4}\s*(?:\Z|\n))", re.I
)
NOT_IT = re.compile(
    r"(?i:\b(?:not|isn['’]t|neither|nor|never|except|excluding|without|(?:all|any|anything|everything|none)\s+but"
    r"|(?:cannot|can['’]t|couldn['’]t)\s+be)\s+(?:(?:for|be|the|option|choice|answer)\s+){0,3})[(*]{0,3}[A-Z](?![\w'’])"
    r"|(?<![\w'’])[A-Z][)*]{0,3}\s+(?i:(?:is|was|are|seems|looks|would\s+be)\s+(?:\w+ly\s+)?"
    r"(?:not|incorrect|wrong|false|never|excluded|ruled)\b|(?:isn|wasn|can|couldn|doesn)['’]t\b|cannot\b)"
)
WHOLE_TRUE, WHOLE_FALSE = {"t", "yes", "correct", "right"}, {"f", "no", "incorrect", "wrong", "untrue"}


def short_enough(output: object) -> bool:
    """Whether an output is a text of at most 20,000 characters with something in it; all else scores 0."""
    return isinstance(output, str) and len(output) <= LONGEST and bool(output.strip())


def letters(output: str, n: int) -> set[str]:
    """The option letters among the first n that an output names.

    A lone letter counts in either case. In a sentence a capital counts when it comes first, is bracketed, ends a
    clause, follows "answer", "option" or "choice", or is joined by "or", "and", a comma or a slash; but "A giant wave"
    names none, nor does "the answer is A giant wave", nor a symbol as in "C = 3". Boxed and tagged letters count in
    either case. An output that denies an option ("not B", "all but B", "B is wrong") names none at all.
    """
    allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:n]
    alone = re.sub(r"[\s().\[\]:*\"'`]", "", output) if len(output) < 50 else ""
    if len(alone) == 1:
        return {alone.upper()} & set(allowed)
    output = WRAPPED.sub(lambda m: f" ({(m[1] or m[2]).upper()}) ", output)
    output = SMALL.sub(lambda m: m[1] + m[2].upper(), output)
    found = set()
    if denies(output, n):
        return found
    for match in LETTER.finditer(output):
        before = output[max(0, match.start() - 40) : match.start()]
        marked = before.endswith(("(", "[", "*")) or CUE.search(before) or AFTER.match(output, match.end())
        answer = ANSWER.search(before) or not output[: match.start()].strip(" \n*\"'`")
        if not marked and (SYMBOL if match[1] != "A" else ARTICLE).match(output, match.end()):
            continue
        if match[1] in allowed and (marked or answer):
            found.add(match[1])
    return found


def denies(output: str, n: int) -> bool:
    """Whether an output says of one of the first n option letters that it is not the answer."""
    allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:n]
    said = (re.search(r"(?<![\w'’])[A-Z](?![\w'’])", match[0]) for match in NOT_IT.finditer(output))
    return any(letter and letter[0] in allowed for letter in said)


def chosen(output: str, options: Sequence[str]) -> set[str]:
    """The letters of the options that an output names, by letter or by the whole text of an option.

    options: the texts, in order. An option inside of a longer option or a longer number does not count.
    """
    if denies(output, len(options)):
        return set()
    found = letters(output, len(options))
    text = words(output)
    spans = {i: f" {words(option)} " for i, option in enumerate(options) if words(option)}
    padded = f" {text} "
    for i, span in sorted(spans.items(), key=lambda pair: -len(pair[1])):
        if span in padded:
            found.add("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i])
            padded = padded.replace(span, " | ")
    return found


def truth_value(output: str) -> bool | None:
    """True or False where an output says one of them, neither negated nor hedged; None for all else.

    In a sentence true stands for True and false, incorrect, wrong, "not correct" for False; words of both kinds, yes
    and "is correct" among them, cancel. As a whole answer, t, yes, correct, right and f, no, untrue count as well.
    """
    text = words(output)
    if text in WHOLE_TRUE | WHOLE_FALSE:
        return text in WHOLE_TRUE
    text = re.sub(r"\b(?:not|isn t) correct\b", "incorrect", text)
    said = {word not in FALSE_WORDS for word in text.split() if word in FALSE_WORDS | {"true"}}
    if False in said and re.search(r"\byes\b|\b(?:statement|claim|it) is (?:correct|right)\b", text):
        return None
    return said.pop() if len(said) == 1 and not (NEGATION.search(text) or HEDGE.search(text)) else None


def words(text: str) -> str:
    """The text in lower case, with points kept inside of numbers only, other punctuation as blanks, single blanks."""
    text = unicodedata.normalize("NFC", text).lower()
    text = re.sub(r"(?<!\d)\.|\.(?!\d)", " ", text)
    text = re.sub(r"[^\w.+°µ-]|_", " ", text)
    text = re.sub(r"(?<=[^\W\d])-|-(?!\d)", " ", text)
    return " ".join(text.split())


def same_words(output: str, answers: Sequence[str]) -> bool:
    """Whether an output is one of the `answers`, but for case, punctuation, articles and words like "the answer is".

    An answer with commas is a list; the output must list the same, in the same order, and nothing else.
    """
    text = CARRIER.sub("", output.strip())
    return any(_listed(text) == _listed(answer) for answer in answers)


def _listed(text: str) -> list[str]:
    parts = [re.sub(r"^(?:the|a|an) ", "", words(part)) for part in re.split(r"[,;\n]", text)]
    return [part.replace(" s ", " ").removesuffix(" s") for part in parts if part]


def same_quantity(output: str, gold: str) -> bool:
    """Whether all numbers of an output that have the dimension of `gold` lie within 1 % of it, and there is one.

    gold: a number and its unit, as in "198.06 m/s"; without unit, all bare numbers of the output count. Units are
    converted, °C and K shifted; the 1 % is of the gold number in its own unit. Raises ValueError for a gold text that
    is no quantity.
    """
    target = quantity(gold)
    found = like(quantities(output), target)
    return bool(found) and all(close(q, target) for q in found)


def like(found: Sequence[Quantity], target: Quantity) -> list[Quantity]:
    """The quantities of `found` that have the dimension of `target` and, as it has, a unit or none."""
    return [q for q in found if q.dimension == target.dimension and q.bare == target.bare]


def close(q: Quantity, target: Quantity) -> bool:
    """Whether q lies within 1 % of `target`, in its unit. Raises ValueError for another dimension."""
    return abs(q.into(target) - target.number) <= TOLERANCE * abs(target.number) * (1 + 1e-9)
