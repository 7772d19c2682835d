"""What is to be said of exchanged roles: claims with their verdicts, and one line for the screen."""

from collections.abc import Callable
from dataclasses import dataclass

from wherewhat.probing.swapped.data import Data
from wherewhat.probing.swapped.describe import (
    CHANGED,
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
    too_few,
    unlearnt,
    verdict,
)
from wherewhat.probing.swapped.describe import number as shown
from wherewhat.probing.swapped.numbers import (
    ALONE,
    BEYOND_CONTROL,
    BEYOND_VOICE,
    CHANGE,
    CONTROL,
    ORIGINAL,
    SWAPPED,
    Measured,
)
from wherewhat.probing.swapped.outcome import ACCURACY, DISTANCE, FLIP, KEPT, NATS, OLD

ROLES, VOICE = "roles", "voice"  # the items
CHANGES = "label changes"  # the side of cases whose right answer is another after the exchange
PAPER = "four encoders fine-tuned on SNLI, arXiv 2310.12864"
FALL = f"yes: by 57.8 to 66.8 points ({PAPER})"
STAY = f"most seem to stay, as accuracy falls by 57.8 to 66.8 points ({PAPER})"
HALF = 0.5
NEARLY = 0.02  # of answers, of accuracy, of distance, and as a part of the loss: too small to speak of

Rule = Callable[[Measured, Measured | None], str]  # a number, and the original that it belongs to


@dataclass(frozen=True)
class Line:
    """A claim about the exchange: which number it is about, and what makes it true."""

    claim: str
    measure: str
    kind: str
    rule: Rule
    published: str = NOBODY


def _as_likely(row: Measured, original: Measured | None) -> str:
    """Whether a loss stays as it was, up to a small part of it."""
    if original is None or not enough(row):
        return OPEN
    nearly = NEARLY * original.value
    if -nearly < row.low and row.high < nearly:
        return YES
    return NO if row.low > nearly or row.high < -nearly else OPEN


FALLS = Line(
    "Accuracy against the new labels is lower than it was against the old ones.",
    ACCURACY,
    CHANGE,
    lambda row, _: below(row, 0, nearly=NEARLY),
    FALL,
)
UNNOTICED = Line(
    "The exchange goes unnoticed: more than half of the answers that were right stay.",
    FLIP,
    SWAPPED,
    lambda row, _: below(row, HALF),
    STAY,
)
BY_ANSWER = (
    UNNOTICED,
    Line(
        "The exchange changes more answers than a control exchange of equal size.",
        FLIP,
        BEYOND_CONTROL,
        lambda row, _: above(row, 0, nearly=NEARLY),
    ),
    Line(
        "The model reads roles: the exchange changes more answers than the same roles in the other voice.",
        FLIP,
        BEYOND_VOICE,
        lambda row, _: above(row, 0, nearly=NEARLY),
    ),
)
WITHOUT_LABELS = (
    Line(
        "The exchange goes unnoticed: more than half of the answers stay.",
        KEPT,
        SWAPPED,
        lambda row, _: above(row, HALF),
    ),
    Line(
        "The exchange changes more answers than a control exchange of equal size.",
        CHANGED,
        BEYOND_CONTROL,
        lambda row, _: above(row, 0, nearly=NEARLY),
    ),
    Line(
        "The exchange changes more answers than the same roles in the other voice.",
        CHANGED,
        BEYOND_VOICE,
        lambda row, _: above(row, 0, nearly=NEARLY),
    ),
)
BY_WORDS = (
    Line("The exchanged sentence is as likely as the original.", NATS, CHANGE, _as_likely),
    Line(
        "It is more likely than after a control exchange of equal size.",
        NATS,
        BEYOND_CONTROL,
        lambda row, original: below(row, 0, nearly=NEARLY * (original.value if original else 0.0)),
    ),
)
BY_STATES = (
    Line(
        "The exchange moves a sentence less than half as far as another sentence lies.",
        DISTANCE,
        SWAPPED,
        lambda row, _: below(row, HALF),
    ),
    Line(
        "It moves a sentence less than a control exchange of equal size.",
        DISTANCE,
        BEYOND_CONTROL,
        lambda row, _: below(row, 0, nearly=NEARLY),
    ),
    Line(
        "It moves a sentence more than saying the same in the other voice.",
        DISTANCE,
        BEYOND_VOICE,
        lambda row, _: above(row, 0, nearly=NEARLY),
    ),
)


def claims_of(data: Data, found: Found) -> list[Claim]:
    """Every claim that the numbers can say something about."""
    claims = [_claim(data, found, line) for line in _lines(found)]
    return [claim for claim in claims if claim is not None]


def said_of(data: Data, found: Found) -> str:
    """The main result in one line."""
    for measure in (ACCURACY, KEPT, NATS, DISTANCE):
        before, after = (found.at(ROLES, kind, measure) for kind in (ORIGINAL, SWAPPED))
        if after is not None:
            break
    assert after is not None
    began = "" if before is None else f"{shown(before)}, "
    told = f"{data.name}: {NAMES.get(after.measure, after.measure)} {began}after the exchange {shown(after)}"
    if (old := found.at(ROLES, SWAPPED, OLD, _side(found))) is not None:
        told += f", {shown(old)} keep the old answer"
    if (control := found.at(ROLES, CONTROL, after.measure)) is not None:
        told += f", after a control {shown(control)}"
    if (alone := found.at(ROLES, ALONE, after.measure)) is not None:
        told += f"; the words alone tell {shown(alone)}"
    return told


def _lines(found: Found) -> tuple[Line, ...]:
    if FLIP in found:
        return (FALLS, *BY_ANSWER)
    if KEPT in found:
        return WITHOUT_LABELS
    return (*BY_WORDS, *BY_STATES) if NATS in found else BY_STATES


def _side(found: Found) -> str | None:
    """Answers are told of the cases where another one would be right."""
    return CHANGES if any(row.side == CHANGES for row in found.rows) else None


def _claim(data: Data, found: Found, line: Line) -> Claim | None:
    side = _side(found) if line.measure == FLIP else None
    row = found.changed(ROLES, line.kind) if line.measure == CHANGED else found.at(ROLES, line.kind, line.measure, side)
    if row is None:
        return None
    original = found.at(ROLES, ORIGINAL, line.measure, side)
    ours = f"{shown(row, signed=line.kind != SWAPPED)}{DID.get((line.measure, line.kind), '')} of {row.count:,} cases"
    ours += " whose right answer changes" if side == CHANGES else ""
    why = "" if enough(row) else too_few(["the exchange"])
    answer = line.rule(row, original)
    if line.measure in (ACCURACY, FLIP) and (unread := unlearnt(found, ROLES, side)):
        why, answer = " ".join(filter(None, (why, unread))), OPEN
    return Claim(line.claim, line.published, ours, verdict([answer], line.published), why, data.name, ROLES)


DID = {(FLIP, SWAPPED): " change,", (KEPT, SWAPPED): " stay,"}  # what a share is a share of
