"""What follows from the numbers, in sentences. Nearly all of it was never published."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from wherewhat.editing.measures import Interval
from wherewhat.studies.base import UNPUBLISHED, Claim
from wherewhat.studies.control.contrast import WORSE
from wherewhat.studies.control.correlate import MEAN_SPEED, Correlations, Line
from wherewhat.studies.control.settings import CONTROLS, EQUAL, FEWEST, LARGER, MIXED, SMALLER

AttentionSite = tuple[str, str]  # kind of heads, side of their frequencies
Measures = Mapping[str, Interval]

FAST_POSITIONAL, SLOW_SYMBOLIC = ("positional", "high"), ("symbolic", "low")
MATCHING = (FAST_POSITIONAL, SLOW_SYMBOLIC)
CROSSED = (("positional", "low"), ("symbolic", "high"))
DOING = {"drop": "Dropping", "unrotate": "Unrotating"}
SPEED = {"high": "fast", "low": "slow"}
SIZE = {0.25: "quarter", 0.5: "half"}
NOTHING = 5e-5  # a change smaller than this is told as 0
UNITS = {"loss": "nats a token", "copy": "of tokens copied", "induction": "nats a token"}
NAMES = {"loss": "the loss", "copy": "copying", "induction": "induction"}
PUBLISHED = (
    "Slow planes are symbolic and faster ones positional; the fastest may be both (arXiv 2511.11579; in gemma-2-2b-it, "
    "head 12:0 has plane 127, the slowest, at s_POS 0 and s_SYM 1, plane 83 at 1 and 0, and plane 0, the fastest, "
    "mostly about 0.97 and 0.97)"
)
UNFAIR = "Controls of smaller norm can speak only against this, those of larger norm only for it."
TOO_FEW = f"Fewer than {FEWEST} draws decide nothing."
NO_HARM = "There is no clear harm in the first place."
WAYS = {1: "is clear", 0: "cannot be told", -1: "is the other way"}
# What a gap between a cell and its controls may say of the claim that the cell does more harm: 1 for it, -1 against it.
MAY_SAY = {EQUAL: (1, 0, -1), SMALLER: (-1,), LARGER: (1,), MIXED: ()}


@dataclass(frozen=True)
class Outcome:
    """What one operation on bands of one size did. Every interval is of harm: above 0 is worse."""

    operation: str
    share: float
    harm: Mapping[AttentionSite, Measures]
    above: Mapping[tuple[AttentionSite, str], Measures]  # by cell and kind of control: harm beyond that of its controls
    beaten: Mapping[tuple[AttentionSite, str], Mapping[str, tuple[int, int]]]  # draws that did less harm, of how many
    standing: Mapping[
        tuple[AttentionSite, str], str
    ]  # by the same: whether these controls are of equal norm, or smaller ...
    against: Mapping[tuple[AttentionSite, AttentionSite], Measures]  # harm of one cell beyond that of another
    per_norm: Mapping[tuple[AttentionSite, AttentionSite], Measures]  # the same for each percent of the model's norm


Judge = Callable[[Outcome], Claim]
Both = tuple[Correlations, Correlations]  # of the model, and of the same with weights drawn anew


def claims(both: Both, outcomes: Sequence[Outcome], copying: str | None) -> tuple[Claim, ...]:
    """Every claim with its verdict. `copying` is the measure of copying to go by, None where there is none to lose."""
    judges: tuple[Judge, ...] = (
        lambda outcome: beyond_controls(outcome, FAST_POSITIONAL, "loss"),
        lambda outcome: beyond_controls(outcome, SLOW_SYMBOLIC, "loss"),
        lambda outcome: beyond_controls(outcome, SLOW_SYMBOLIC, copying),
        lambda outcome: slow_or_fast(outcome, "symbolic", copying),
        dissociation,
    )
    found = [by_pair(*both), by_heads(*both)]
    for operation in dict.fromkeys(outcome.operation for outcome in outcomes):
        of_it = [outcome for outcome in outcomes if outcome.operation == operation]
        found += [_judged(judge, of_it) for judge in judges]
    return tuple(found)


def comparisons(copying: str | None) -> int:
    """How many intervals the verdicts on one outcome ask whether they are clear."""
    of_copying = 0 if copying is None else len(CONTROLS) + 2
    return 2 * len(CONTROLS) + of_copying + 2 * len(MATCHING) * len(CROSSED)


def _judged(judge: Judge, outcomes: Sequence[Outcome]) -> Claim:
    """Bands of the first size are judged; what the others would say is added."""
    first, *others = (judge(outcome) for outcome in outcomes)
    also = [f"With bands of a {_size(one)}: {claim.verdict}." for one, claim in zip(outcomes[1:], others, strict=True)]
    return replace(first, why=" ".join(filter(None, [first.why, *also])))


def by_pair(learnt: Correlations, unlearnt: Correlations) -> Claim:
    """The one line that was published."""
    own, without = (
        [_find(of.pairs, "theta", name) for name in ("positional", "symbolic")] for of in (learnt, unlearnt)
    )
    fastest = "" if learnt.fastest is None else " The fastest frequency of a head is at {:.2f} and {:.2f} (medians)."
    return Claim(
        claim="Fast frequencies tell places apart, slow ones contents.",
        published=PUBLISHED,
        ours=f"Over all frequencies of all heads, speed goes with s_POS by {_rho(own[0])} and with s_SYM by "
        f"{_rho(own[1])}; with weights drawn anew, by {_rho(without[0])} and {_rho(without[1])}."
        + fastest.format(*learnt.fastest or ()),
        verdict=_published(list(zip(own, without, (1, -1), strict=True))),
        why="A pair that hardly turns within a text cannot tell slots apart whatever its weights, so only what goes "
        "beyond weights drawn anew counts.",
    )


def by_heads(learnt: Correlations, unlearnt: Correlations) -> Claim:
    """The same of whole heads: by their mean frequency, and by where their norm lies."""
    own, without = (
        [
            _find(of.heads, MEAN_SPEED, "position_share"),
            _find(of.heads, MEAN_SPEED, "symbol_share"),
            _starting(of.heads, "high", "position_share"),
            _starting(of.heads, "low", "position_share"),
        ]
        for of in (learnt, unlearnt)
    )
    clear = [_learnt(*both) for both in zip(own, without, (1, -1, 1, -1), strict=True)]
    told = [f"{_rho(one)}, drawn anew {_rho(other)}" for one, other in zip(own, without, strict=True)]
    return Claim(
        claim="Positional heads use faster frequencies than symbolic heads.",
        published=UNPUBLISHED,
        ours=f"Over heads, how fast the mean frequency is goes with the position share by {told[0]}; with the "
        f"symbol share by {told[1]}. By norm, the position share goes with the part in fast frequencies by {told[2]}; "
        f"in slow ones by {told[3]}.",
        verdict=_seen((all(clear[:2]), all(clear[2:]))),
        why="Only what goes beyond weights drawn anew counts. It is a correlation; the lines below are about causes.",
    )


def beyond_controls(outcome: Outcome, site: AttentionSite, measure: str | None) -> Claim:
    """Does one cell do more harm than random bands and random heads of equal norm?"""
    kind, side = site
    claim = (
        f"{DOING[outcome.operation]} the {_band(outcome, side)} in {kind} heads hurts {NAMES[measure or 'copy']} more "
        "than random bands and random heads of equal norm do."
    )
    if measure is None:
        return _nothing_to_copy(claim)
    sides = [_speaks(outcome, (site, control), measure) for control in CONTROLS]
    told = [_beside(outcome, (site, control), measure) for control in CONTROLS]
    effect, hurts = _effect(outcome, site, measure), _hurts(outcome, site, measure)
    return Claim(
        claim,
        UNPUBLISHED,
        " ".join([f"{effect[0].upper()}{effect[1:]}.", *told]),
        _held(sides) if hurts else "not seen",
        _reserve(outcome, site, measure) if hurts else NO_HARM,
    )


def _hurts(outcome: Outcome, site: AttentionSite, measure: str) -> bool:
    """Whether a cell does any clear harm; without that it does not do more than another."""
    return _side(outcome.harm[site][measure]) == 1


def _held(sides: Sequence[int | None]) -> str:
    """The verdict on what each kind of control says; one that clearly did more harm settles it."""
    if -1 in sides:
        return "not seen"
    return "unknown" if set(sides) == {None} else _seen([side == 1 for side in sides])


def _reserve(outcome: Outcome, site: AttentionSite, measure: str) -> str:
    """What keeps controls from saying all that they might."""
    unequal = any(outcome.standing[site, control] != EQUAL for control in CONTROLS)
    few = any(outcome.beaten[site, control][measure][1] < FEWEST for control in CONTROLS)
    return " ".join([UNFAIR] * unequal + [TOO_FEW] * few)


def _speaks(outcome: Outcome, key: tuple[AttentionSite, str], measure: str) -> int | None:
    """What one kind of control says of the claim: 1 for it, -1 against it, 0 neither; None where it cannot say."""
    side = _side(outcome.above[key][measure])
    enough = outcome.beaten[key][measure][1] >= FEWEST
    return side if enough and side in MAY_SAY[outcome.standing[key]] else None


def _beside(outcome: Outcome, key: tuple[AttentionSite, str], measure: str) -> str:
    """How a cell compares with one kind of control."""
    (less, of), control, standing = outcome.beaten[key][measure], key[1], outcome.standing[key]
    draws = "draw" if of == 1 else "draws"
    above = outcome.above[key][measure]
    gap = _told(above) if _side(above) in MAY_SAY[standing] else _between(above)
    gap = f"{gap}; {less} of {of} {draws} did less harm"
    if standing != EQUAL:
        those = "" if standing == MIXED else f", which are {standing}"
        return f"There are no {control} of equal norm; harm beyond the nearest{those}: {gap}."
    return f"Harm beyond {control}: {gap}."


def slow_or_fast(outcome: Outcome, kind: str, measure: str | None) -> Claim:
    """Does the slow band of some heads matter more than the fast one?"""
    slow, fast, doing = (kind, "low"), (kind, "high"), DOING[outcome.operation].lower()
    claim = (
        f"In {kind} heads, {doing} the {_band(outcome, 'low')} hurts {NAMES[measure or 'copy']} more than {doing} the "
        f"{_band(outcome, 'high')} does."
    )
    if measure is None:
        return _nothing_to_copy(claim)
    whole, each = outcome.against[slow, fast][measure], outcome.per_norm[slow, fast][measure]
    harms = "; ".join(f"{SPEED[site[1]]}: {_effect(outcome, site, measure)}" for site in (slow, fast))
    return Claim(
        claim,
        UNPUBLISHED,
        f"{harms[0].upper()}{harms[1:]}. Harm of the slow band beyond the fast: {_told(whole)}; for each percent of "
        f"the model's norm {_told(each)}.",
        _seen([_hurts(outcome, slow, measure) and _side(gap) == 1 for gap in (whole, each)]),
        _by_norm(whole, each) if _hurts(outcome, slow, measure) else NO_HARM,
    )


def _by_norm(whole: Interval, each: Interval) -> str:
    """What it changes to count for each percent of norm, if it changes anything."""
    if _side(whole) == _side(each):
        return ""
    return f"As a whole it {WAYS[_side(whole)]}; for each percent of norm it {WAYS[_side(each)]}."


def dissociation(outcome: Outcome) -> Claim:
    """Are fast bands of positional heads and slow bands of symbolic ones both worth more than the crossed cells?"""
    pairs, doing = [(one, other) for one in MATCHING for other in CROSSED], DOING[outcome.operation].lower()
    whole, each = ([_side(table[pair]["loss"]) for pair in pairs] for table in (outcome.against, outcome.per_norm))
    harms = ", ".join(
        f"{SPEED[side]} in {kind} {_plus(outcome.harm[kind, side]['loss'].value)}"
        for kind, side in (*MATCHING, *CROSSED)
    )
    complete = [set(sides) == {1} for sides in (whole, each)]
    return Claim(
        f"A double dissociation: {doing} fast frequencies of positional heads, or slow ones of symbolic heads, hurts "
        f"the loss more than {doing} slow ones of positional or fast ones of symbolic heads does.",
        UNPUBLISHED,
        f"Change of the loss: {harms} {UNITS['loss']}. Of 4 comparisons {_tally(whole)}; for each percent of the "
        f"model's norm {_tally(each)}.",
        _seen(complete),
        "" if all(complete) else "It would take all four comparisons, both whole and for each percent of norm.",
    )


def _tally(sides: Sequence[int]) -> str:
    """How many comparisons are clear.

    >>> _tally([1, 0, 0, 1]), _tally([1, -1, 0, -1])
    ('2 are clear', '1 is clear and 2 the other way')
    """
    for_it, against = sides.count(1), sides.count(-1)
    return f"{for_it} {'is' if for_it == 1 else 'are'} clear" + (f" and {against} the other way" if against else "")


def _nothing_to_copy(claim: str) -> Claim:
    return Claim(claim, UNPUBLISHED, "There is no copying of random tokens to lose.", "unknown")


def _published(lines: Sequence[tuple[Line, Line, int]]) -> str:
    """The verdict on correlations: each with what there is without learning, and the side on which it was published."""
    learnt = [_learnt(*line) for line in lines]
    if any(learnt):
        return "agrees" if all(learnt) else "in part"
    return "disagrees" if any(own.side == -way for own, _, way in lines) else "unknown"


def _learnt(own: Line, without: Line, way: int) -> bool:
    """Whether a correlation is clear on one side, and beyond what there is without learning."""
    return own.side == way == own.beyond(without)


def _side(harm: Interval) -> int:
    """1 if it is surely above what would be told as 0, -1 if surely below, else 0."""
    return 1 if harm.low > NOTHING else -1 if harm.high < -NOTHING else 0


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
    rho, *ends = (f"{round(end, 2) + 0.0:.2f}" for end in (line.rho, line.low, line.high) if end is not None)  # no -0
    return (f"{rho} ({' to '.join(ends)})" if len(ends) == 2 else rho).replace("-", "−")


def _effect(outcome: Outcome, site: AttentionSite, measure: str) -> str:
    """What happened to a measure, as a change of it."""
    harm, sign = outcome.harm[site][measure], WORSE[measure]
    low, high = sorted((sign * harm.low, sign * harm.high))
    return f"{NAMES[measure]} {_between(Interval(sign * harm.value, low, high))} {UNITS[measure]}"


def _told(gap: Interval) -> str:
    """A comparison, and whether it is clearly the other way."""
    return _between(gap) + (", the other way" if _side(gap) < 0 else "")


def _between(interval: Interval) -> str:
    if math.isinf(interval.high):
        return f"{_plus(interval.value)} (no interval)"
    return f"{_plus(interval.value)} ({_plus(interval.low)} to {_plus(interval.high)})"


def _plus(value: float) -> str:
    """A change with its sign, to two digits that tell something.

    >>> _plus(0.0226), _plus(-0.00071), _plus(1e-6), _plus(-1.234), _plus(0.00998)
    ('+0.023', '−0.00071', '0', '−1.23', '+0.010')
    """
    if abs(value) < NOTHING:
        return "0"
    value = value if abs(value) >= 0.1 else float(f"{value:.1e}")  # rounded first, since that may win a digit
    digits = 2 if abs(value) >= 0.1 else 1 - math.floor(math.log10(abs(value)))
    written = f"{value:+.{min(digits, 5)}f}"
    return written.replace("-", "−")


def _band(outcome: Outcome, side: str) -> str:
    return f"{SPEED[side]} {_size(outcome)}"


def _size(outcome: Outcome) -> str:
    return SIZE.get(outcome.share, f"{outcome.share:.0%}")
