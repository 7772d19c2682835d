"""What is to be said of shuffled words: claims with their verdicts, and one line for the screen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from wherewhat.probing.swapped.data import Data
from wherewhat.probing.swapped.describe import (
    NAMES,
    NO,
    NOBODY,
    OPEN,
    YES,
    Claim,
    Found,
    above,
    below,
    enough,
    number,
    too_few,
    unlearnt,
    verdict,
)
from wherewhat.probing.swapped.numbers import AGAINST_WHOLE, BEYOND_CONTROL, CHANGE, ORIGINAL, SWAPPED, Measured
from wherewhat.probing.swapped.outcome import ACCURACY, DISTANCE, KEPT, NATS

PAPER = "four encoders fine-tuned on SNLI, arXiv 2310.12864"
LITTLE = 0.02  # of accuracy: what the published models lose at most inside phrases, in whole points
NEARLY = 0.01  # of accuracy or of answers, and as a part of the loss: too small a difference to speak of
MOST_STAY, HALF = 0.9, 0.5
ORDER_DECIDES = "Here word order decides the label; in what the published models learnt it hardly does."

EACH = {YES: "it holds for", NO: "it does not hold for", OPEN: "it cannot be told for"}

Rule = Callable[[Measured | None, Measured | None], str]  # a number, and the original that it belongs to


@dataclass(frozen=True)
class Line:
    """A claim about every size of phrases: which number it is about, and what makes it true."""

    claim: str
    kind: str
    rule: Rule
    published: str = NOBODY


@dataclass(frozen=True)
class Reading:
    """How to speak of one measure."""

    measure: str
    shown: str  # the kind of row that says what a shuffle does
    lines: tuple[Line, ...]


READINGS: dict[str, Reading] = {
    reading.measure: reading
    for reading in [
        Reading(
            ACCURACY,
            CHANGE,
            (
                Line(
                    "Accuracy falls by less than 2 points when words are shuffled inside phrases.",
                    CHANGE,
                    lambda row, _: above(row, -LITTLE),
                    f"yes: by 0.2 to 1.7 points for phrases of 3 to 6 words ({PAPER})",
                ),
                Line(
                    "Shuffling inside phrases costs less accuracy than shuffling the whole sentence.",
                    AGAINST_WHOLE,
                    lambda row, _: above(row, 0, nearly=NEARLY),
                    f"yes: whole sentences cost 2.7 to 6.0 points ({PAPER})",
                ),
                Line(
                    "It costs less accuracy than shuffling as many words across the borders of phrases.",
                    BEYOND_CONTROL,
                    lambda row, _: above(row, 0, nearly=NEARLY),
                ),
            ),
        ),
        Reading(
            KEPT,
            SWAPPED,
            (
                Line(
                    "More than nine answers in ten stay when words are shuffled inside phrases.",
                    SWAPPED,
                    lambda row, _: above(row, MOST_STAY),
                ),
                Line(
                    "More answers stay than when the whole sentence is shuffled.",
                    AGAINST_WHOLE,
                    lambda row, _: above(row, 0, nearly=NEARLY),
                ),
                Line(
                    "More answers stay than when as many words are shuffled across the borders of phrases.",
                    BEYOND_CONTROL,
                    lambda row, _: above(row, 0, nearly=NEARLY),
                ),
            ),
        ),
        Reading(
            NATS,
            CHANGE,
            (
                Line(
                    "Words that are shuffled inside phrases surprise the model.",
                    CHANGE,
                    lambda row, original: above(row, 0, nearly=_part(original)),
                ),
                Line(
                    "They surprise it less than a whole sentence that is shuffled.",
                    AGAINST_WHOLE,
                    lambda row, original: below(row, 0, nearly=_part(original)),
                ),
                Line(
                    "They surprise it less than as many words shuffled across the borders of phrases.",
                    BEYOND_CONTROL,
                    lambda row, original: below(row, 0, nearly=_part(original)),
                ),
            ),
        ),
        Reading(
            DISTANCE,
            SWAPPED,
            (
                Line(
                    "Shuffling inside phrases moves a sentence less than half as far as another sentence lies.",
                    SWAPPED,
                    lambda row, _: below(row, HALF),
                ),
                Line(
                    "It moves a sentence less than shuffling all of it.",
                    AGAINST_WHOLE,
                    lambda row, _: below(row, 0, nearly=NEARLY),
                ),
                Line(
                    "It moves a sentence less than shuffling as many words across the borders of phrases.",
                    BEYOND_CONTROL,
                    lambda row, _: below(row, 0, nearly=NEARLY),
                ),
            ),
        ),
    ]
}


def claims_of(data: Data, found: Found, sizes: Sequence[str]) -> list[Claim]:
    """Every claim that the numbers can say something about, by the measure that says most."""
    reading = _reading(found)
    claims = [_claim(data, found, line, reading, sizes) for line in reading.lines]
    return [claim for claim in claims if claim is not None]


def said_of(data: Data, found: Found, sizes: Sequence[str]) -> str:
    """The main result in one line."""
    reading = _reading(found)
    rows = [found.at(size, reading.shown, reading.measure) for size in sizes]
    told = [_changed(found, reading, row) for row in rows if row is not None]
    return f"{data.name}: {NAMES.get(reading.measure, reading.measure)} {', '.join(told)}"


def _changed(found: Found, reading: Reading, row: Measured) -> str:
    """What one size does; a change with where its own sentences began, as every size has other ones."""
    began = found.at(row.item, ORIGINAL, reading.measure)
    if began is None:
        return f"{_name(row.item)} {number(row)}"
    return f"{_name(row.item)} {number(row, signed=True)} from {number(replace(began, low=float('nan')))}"


def _reading(found: Found) -> Reading:
    return next(reading for measure, reading in READINGS.items() if measure in found)


def _claim(data: Data, found: Found, line: Line, reading: Reading, sizes: Sequence[str]) -> Claim | None:
    local = [size for size in sizes if size != "whole"]
    pairs = [(found.at(size, line.kind, reading.measure), found.at(size, ORIGINAL, reading.measure)) for size in local]
    known = [(row, original) for row, original in pairs if row is not None]
    if not known:
        return None
    signed = line.kind != SWAPPED
    ours = "; ".join(f"{_name(row.item)} {number(row, signed=signed)}" for row, _ in known)
    judged = {_name(row.item): line.rule(row, original) for row, original in known if enough(row)}
    why = [too_few([_name(row.item) for row, _ in known if not enough(row)])]
    unread = _unread(found, sizes) if reading.measure == ACCURACY else ""
    why += [unread] if unread else [_each(judged)]
    if NO in judged.values() and line.published != NOBODY and data.question == "roles" and not unread:
        why.append(ORDER_DECIDES)
    told = verdict([OPEN] if unread else list(judged.values()), line.published)
    return Claim(line.claim, line.published, ours, told, " ".join(filter(None, why)), data.name)


def _each(judged: Mapping[str, str]) -> str:
    """Which sizes say what, where they do not all say the same."""
    if len(set(judged.values())) < 2:
        return ""
    sizes = {words: [name for name, answer in judged.items() if answer == one] for one, words in EACH.items()}
    return "; ".join(f"{words}: {', '.join(names)}" for words, names in sizes.items() if names).capitalize() + "."


def _unread(found: Found, sizes: Sequence[str]) -> str:
    """Whether the model has learnt what its right answers need: told of the size that most sentences have."""
    originals = [row for size in sizes if (row := found.at(size, ORIGINAL, ACCURACY)) is not None]
    return unlearnt(found, max(originals, key=lambda row: row.count).item) if originals else ""


def _name(size: str) -> str:
    return "whole sentence" if size == "whole" else f"phrases of {size}"


def _part(original: Measured | None) -> float:
    """A change in nats too small to speak of."""
    return 0.0 if original is None else NEARLY * original.value
