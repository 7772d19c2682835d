"""What follows from the numbers, in sentences. Nearly all of it was never published."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from wherewhat.effects import Interval
from wherewhat.reproductions.base import UNPUBLISHED, Claim
from wherewhat.reproductions.control.contrast import WORSE
from wherewhat.reproductions.control.correlate import MEAN, Line
from wherewhat.reproductions.control.settings import CONTROLS

Place = tuple[str, str]  # kind of heads, side of their frequencies
Measures = Mapping[str, Interval]

FAST_POSITIONAL, SLOW_SYMBOLIC = ("positional", "high"), ("symbolic", "low")
MATCHING = (FAST_POSITIONAL, SLOW_SYMBOLIC)
CROSSED = (("positional", "low"), ("symbolic", "high"))
DOING = {"drop": "Dropping", "unrotate": "Un-rotating"}
SPEED = {"high": "fast", "low": "slow"}
SIZE = {0.25: "quarter", 0.5: "half"}
NOTHING = 5e-5  # a change smaller than this is told as 0
UNITS = {"loss": "nats a token", "copy": "of tokens copied", "induction": "nats a token"}
NAMES = {"loss": "the loss", "copy": "copying", "induction": "induction"}
PUBLISHED = (
    "Slow planes are symbolic, faster ones positional (arXiv 2511.11579; in gemma-2-2b-it, head 12:0 has plane 127 at "
    "(0, 1) and plane 83 at (1, 0))"
)


@dataclass(frozen=True)
class Outcome:
    """What one operation on bands of one size did. Every interval is of harm: above 0 is worse."""

    operation: str
    share: float
    harm: Mapping[Place, Measures]
    above: Mapping[tuple[Place, str], Measures]  # by cell and kind of control: harm beyond that of its controls
    beaten: Mapping[tuple[Place, str], Mapping[str, tuple[int, int]]]  # draws that did less harm, of how many
    equal: Mapping[tuple[Place, str], bool]  # by the same: whether these controls are of equal norm
    against: Mapping[tuple[Place, Place], Measures]  # harm of one cell beyond that of another
    per_norm: Mapping[tuple[Place, Place], Measures]  # the same for each percent of the model's norm


Judge = Callable[[Outcome], Claim]


def claims(
    pairs: Sequence[Line], heads: Sequence[Line], outcomes: Sequence[Outcome], copying: str | None
) -> tuple[Claim, ...]:
    """Every claim with its verdict. `copying` is the measure of copying to go by, None where there is none to lose."""
    judges: tuple[Judge, ...] = (
        lambda outcome: beyond_controls(outcome, FAST_POSITIONAL, "loss"),
        lambda outcome: beyond_controls(outcome, SLOW_SYMBOLIC, "loss"),
        lambda outcome: beyond_controls(outcome, SLOW_SYMBOLIC, copying),
        lambda outcome: slow_or_fast(outcome, "symbolic", copying),
        dissociation,
    )
    found = [by_pair(pairs), by_heads(heads)]
    for operation in dict.fromkeys(outcome.operation for outcome in outcomes):
        of_it = [outcome for outcome in outcomes if outcome.operation == operation]
        found += [_judged(judge, of_it) for judge in judges]
    return tuple(found)


def _judged(judge: Judge, outcomes: Sequence[Outcome]) -> Claim:
    """Bands of the first size are judged; what the others would say is added."""
    first, *others = (judge(outcome) for outcome in outcomes)
    also = [f"With bands of a {_size(one)}: {claim.verdict}." for one, claim in zip(outcomes[1:], others, strict=True)]
    return replace(first, why=" ".join(filter(None, [first.why, *also])))


def by_pair(lines: Sequence[Line]) -> Claim:
    """The one line that was published."""
    positional, symbolic = (_find(lines, "theta", name) for name in ("positional", "symbolic"))
    return Claim(
        claim="Fast frequencies tell places apart, slow ones contents.",
        published=PUBLISHED,
        ours=f"Over all frequencies of all heads, speed goes with `positional` by {_rho(positional)} and with "
        f"`symbolic` by {_rho(symbolic)}.",
        verdict=_published((positional.side, -symbolic.side)),
        why="A pair that hardly turns within a text cannot tell slots apart whatever its weights, so a part of this is "
        "arithmetic and not something that the model has learnt.",
    )


def by_heads(lines: Sequence[Line]) -> Claim:
    """The same of whole heads: by their mean frequency, and by where their norm lies."""
    position, symbol = (_find(lines, MEAN, name) for name in ("position_share", "symbol_share"))
    fast, slow = (_starting(lines, side, "position_share") for side in ("high", "low"))
    return Claim(
        claim="Positional heads use faster frequencies than symbolic heads.",
        published=UNPUBLISHED,
        ours=f"Over heads, the mean frequency (1 is the fastest) goes with the position share by {_rho(position)} and "
        f"with the symbol share by {_rho(symbol)}. By norm, the position share goes with the part in fast frequencies "
        f"by {_rho(fast)}, in slow ones by {_rho(slow)}.",
        verdict=_seen((position.side < 0, symbol.side > 0, fast.side > 0, slow.side < 0)),
        why="This is a correlation; the lines below are about causes.",
    )


def beyond_controls(outcome: Outcome, place: Place, measure: str | None) -> Claim:
    """Does one cell do more harm than random bands and random heads of equal norm?"""
    kind, side = place
    claim = (
        f"{DOING[outcome.operation]} the {_band(outcome, side)} in {kind} heads hurts {NAMES[measure or 'copy']} more "
        "than random bands and random heads of equal norm do."
    )
    if measure is None:
        return _nothing_to_copy(claim)
    equal = [control for control in CONTROLS if outcome.equal[place, control]]
    clear = [control in equal and _clear(outcome.above[place, control][measure]) for control in CONTROLS]
    told = [_effect(outcome, place, measure), *(_beside(outcome, place, control, measure) for control in CONTROLS)]
    return Claim(
        claim,
        UNPUBLISHED,
        " ".join(told),
        _seen(clear) if equal else "unknown",
        "" if len(equal) == len(CONTROLS) else "A control that is not of equal norm does not count.",
    )


def _beside(outcome: Outcome, place: Place, control: str, measure: str) -> str:
    """How a cell compares with one kind of control."""
    less, of = outcome.beaten[place, control][measure]
    if not outcome.equal[place, control]:
        return f"There are no {control} of equal norm; of the nearest, {less} of {of} did less harm."
    gap = _told(outcome.above[place, control][measure])
    return f"Harm beyond {control}: {gap}, more than {less} of {of} draws."


def slow_or_fast(outcome: Outcome, kind: str, measure: str | None) -> Claim:
    """Does the slow band of some heads matter more than the fast one?"""
    slow, fast = (kind, "low"), (kind, "high")
    claim = (
        f"In {kind} heads, {DOING[outcome.operation].lower()} the {_band(outcome, 'low')} hurts "
        f"{NAMES[measure or 'copy']} more than the {_band(outcome, 'high')} does."
    )
    if measure is None:
        return _nothing_to_copy(claim)
    whole, each = outcome.against[slow, fast][measure], outcome.per_norm[slow, fast][measure]
    harms = [f"{SPEED[side].capitalize()}: {_effect(outcome, (kind, side), measure)}" for _, side in (slow, fast)]
    return Claim(
        claim,
        UNPUBLISHED,
        f"{' '.join(harms)} Harm of the slow band beyond the fast: {_told(whole)}; for each percent of the model's "
        f"norm {_told(each)}.",
        _seen((_clear(whole), _clear(each))),
        "" if _clear(whole) == _clear(each) else "The two bands differ in norm, and that decides it.",
    )


def dissociation(outcome: Outcome) -> Claim:
    """Are fast bands of positional heads and slow bands of symbolic ones both worth more than the crossed cells?"""
    pairs = [(one, other) for one in MATCHING for other in CROSSED]
    whole = sum(_clear(outcome.against[pair]["loss"]) for pair in pairs)
    each = sum(_clear(outcome.per_norm[pair]["loss"]) for pair in pairs)
    cells = (*MATCHING, *CROSSED)
    harms = ", ".join(
        f"{SPEED[side]} in {kind} {_plus(outcome.harm[kind, side]['loss'].value)}" for kind, side in cells
    )
    complete = [count == len(pairs) for count in (whole, each)]
    return Claim(
        f"A double dissociation: {DOING[outcome.operation].lower()} fast frequencies hurts positional heads and slow "
        "ones symbolic heads, both more than the other way round.",
        UNPUBLISHED,
        f"Change of the loss: {harms} {UNITS['loss']}. Clear in {whole} of 4 comparisons, and in {each} of 4 for each "
        "percent of the model's norm.",
        _seen(complete),
        "" if all(complete) else "It would take all four comparisons, both whole and for each percent of norm.",
    )


def _nothing_to_copy(claim: str) -> Claim:
    return Claim(claim, UNPUBLISHED, "There is no copying of random tokens to lose.", "unknown")


def _published(sides: Sequence[int]) -> str:
    """The verdict on signs, each 1 where it is as published, -1 where it is clearly the other way, 0 unclear."""
    if all(side > 0 for side in sides):
        return "agrees"
    if any(side > 0 for side in sides):
        return "in part"
    return "disagrees" if any(side < 0 for side in sides) else "not seen"


def _clear(harm: Interval) -> bool:
    """Whether it is surely above what would be told as 0."""
    return harm.low > NOTHING


def _seen(clear: Sequence[bool]) -> str:
    return "seen" if all(clear) else "in part" if any(clear) else "not seen"


def _find(lines: Sequence[Line], x: str, y: str) -> Line:
    return next((line for line in lines if (line.x, line.y) == (x, y)), Line(x, y, None, None, None))


def _starting(lines: Sequence[Line], side: str, y: str) -> Line:
    return next(
        (line for line in lines if line.x.startswith(f"{side}:") and line.y == y), Line(side, y, None, None, None)
    )


def _rho(line: Line) -> str:
    """A correlation with its interval, as far as there is one.

    >>> _rho(Line("x", "y", -0.5, -0.62, -0.4)), _rho(Line("x", "y", None, None, None))
    ('−0.50 (−0.62 to −0.40)', 'an unknown amount')
    """
    if line.rho is None:
        return "an unknown amount"
    between = "" if line.low is None or line.high is None else f" ({line.low:.2f} to {line.high:.2f})"
    return f"{line.rho:.2f}{between}".replace("-", "−")


def _effect(outcome: Outcome, place: Place, measure: str) -> str:
    """What happened to a measure, as a change of it."""
    harm, sign = outcome.harm[place][measure], WORSE[measure]
    low, high = sorted((sign * harm.low, sign * harm.high))
    return f"{NAMES[measure].capitalize()} {_told(Interval(sign * harm.value, low, high))} {UNITS[measure]}."


def _told(interval: Interval) -> str:
    return f"{_plus(interval.value)} ({_plus(interval.low)} to {_plus(interval.high)})"


def _plus(value: float) -> str:
    """A change with its sign, to two digits that tell something.

    >>> _plus(0.0226), _plus(-0.00071), _plus(1e-6), _plus(-1.234)
    ('+0.023', '−0.00071', '0', '−1.23')
    """
    if abs(value) < NOTHING:
        return "0"
    digits = 2 if abs(value) >= 0.1 else 1 - math.floor(math.log10(abs(value)))
    written = f"{value:+.{min(digits, 5)}f}"
    return written.replace("-", "−")


def _band(outcome: Outcome, side: str) -> str:
    return f"{SPEED[side]} {_size(outcome)}"


def _size(outcome: Outcome) -> str:
    return SIZE.get(outcome.share, f"{outcome.share:.0%}")
