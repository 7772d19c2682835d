"""The claims of the control experiment and their verdicts. Only the first is about something published."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

from wherewhat.formatting import count
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.verdict import UNPUBLISHED, Claim, seen_verdict, sign_of
from wherewhat.studies.control.compare import BandEffects, CellKey, ControlKey, as_harm
from wherewhat.studies.control.correlate import MEAN_SPEED, Correlations, RankCorrelation
from wherewhat.studies.control.settings import CONTROLS, EQUAL, FEWEST, LARGER, MIXED, SMALLER

FAST_POSITIONAL, SLOW_SYMBOLIC = ("positional", "high"), ("symbolic", "low")
MATCHING = (FAST_POSITIONAL, SLOW_SYMBOLIC)
CROSSED = (("positional", "low"), ("symbolic", "high"))
DOING = {"drop": "Dropping", "unrotate": "Unrotating"}
SPEED = {"high": "fast", "low": "slow"}
SIZE = {0.25: "quarter", 0.5: "half"}
NEGLIGIBLE = 5e-5  # a smaller change is written as 0
UNITS = {"loss": "nats per token", "copy": "of the tokens", "induction": "nats per token"}
NAMES = {"loss": "the loss", "copy": "copying", "induction": "induction"}
PUBLISHED = (
    "Slow planes are symbolic, faster ones positional, and the fastest may be both (arXiv 2511.11579; in "
    "gemma-2-2b-it, head 12:0 has plane 127, the slowest, at s_POS 0 and s_SYM 1, plane 83 at 1 and 0, and "
    "plane 0, the fastest, mostly about 0.97 and 0.97)"
)
UNEQUAL = "Controls of smaller norm can only refute this claim, those of larger norm can only support it."
TOO_FEW = f"Fewer than {FEWEST} draws do not allow a verdict."
NO_HARM = "There is no clear harm in the first place."
CLARITY = {1: "clear", 0: "not clear", -1: "reversed"}
# What the excess over controls may show about the claim that the cell does more harm: 1 supports it, -1 refutes it.
MAY_SHOW = {EQUAL: (1, 0, -1), SMALLER: (-1,), LARGER: (1,), MIXED: ()}


Judge = Callable[[BandEffects], Claim]
Both = tuple[Correlations, Correlations]  # of the model, and of the same model with redrawn weights


def claims(both: Both, effects: Sequence[BandEffects], copying: str | None) -> tuple[Claim, ...]:
    """Every claim with its verdict. `copying` is the measure to judge copying by, None if the model does not copy."""
    judges: tuple[Judge, ...] = (
        lambda effect: beyond_controls(effect, FAST_POSITIONAL, "loss"),
        lambda effect: beyond_controls(effect, SLOW_SYMBOLIC, "loss"),
        lambda effect: beyond_controls(effect, SLOW_SYMBOLIC, copying),
        lambda effect: slow_or_fast(effect, "symbolic", copying),
        dissociation,
    )
    every = [by_pair(*both), by_heads(*both)]
    for operation in dict.fromkeys(effect.operation for effect in effects):
        by_size = [effect for effect in effects if effect.operation == operation]
        every += [_by_first_size(judge, by_size) for judge in judges]
    return tuple(every)


def comparisons(copying: str | None) -> int:
    """How many intervals the verdicts on one operation and band size depend on."""
    of_copying = 0 if copying is None else len(CONTROLS) + 2
    return 2 * len(CONTROLS) + of_copying + 2 * len(MATCHING) * len(CROSSED)


def _by_first_size(judge: Judge, effects: Sequence[BandEffects]) -> Claim:
    """The verdict on bands of the first size; the verdicts on other sizes are added as an explanation."""
    first, *others = (judge(effect) for effect in effects)
    also = [
        f"With bands of a {_size(effect)}: {claim.verdict}." for effect, claim in zip(effects[1:], others, strict=True)
    ]
    return replace(first, why=" ".join(filter(None, [first.why, *also])))


def by_pair(trained: Correlations, redrawn: Correlations) -> Claim:
    """The published claim: fast frequencies are positional, slow ones symbolic."""
    own, baseline = (
        [_find(model.pairs, "theta", name) for name in ("positional", "symbolic")] for model in (trained, redrawn)
    )
    fastest = "" if trained.fastest is None else " The fastest frequency of a head is at {:.2f} and {:.2f} (medians)."
    return Claim(
        claim="Fast frequencies are positional, slow frequencies are symbolic.",
        published=PUBLISHED,
        ours=f"Across all frequencies of all heads, the rank correlation of speed is {_rho(own[0])} with s_POS and "
        f"{_rho(own[1])} with s_SYM; with redrawn weights, {_rho(baseline[0])} and {_rho(baseline[1])}."
        + fastest.format(*trained.fastest or ()),
        verdict=_published(list(zip(own, baseline, (1, -1), strict=True))),
        why="A pair that hardly rotates within a text cannot tell slots apart, whatever its weights. So a correlation "
        "counts only if it exceeds that with redrawn weights.",
    )


def by_heads(trained: Correlations, redrawn: Correlations) -> Claim:
    """The same for whole heads: by their mean frequency, and by the share of their norm in each band."""
    own, baseline = (
        [
            _find(model.heads, MEAN_SPEED, "position_share"),
            _find(model.heads, MEAN_SPEED, "symbol_share"),
            _starting(model.heads, "high", "position_share"),
            _starting(model.heads, "low", "position_share"),
        ]
        for model in (trained, redrawn)
    )
    clear = [_exceeds(*lines) for lines in zip(own, baseline, (1, -1, 1, -1), strict=True)]
    rho = [f"{_rho(line)}, redrawn {_rho(other)}" for line, other in zip(own, baseline, strict=True)]
    return Claim(
        claim="Positional heads use faster frequencies than symbolic heads.",
        published=UNPUBLISHED,
        ours="Rank correlations across heads, for the model and for redrawn weights. Speed of the mean frequency with "
        f"position share: {rho[0]}; with symbol share: {rho[1]}. Position share with the share of norm in fast "
        f"frequencies: {rho[2]}; in slow frequencies: {rho[3]}.",
        verdict=seen_verdict((all(clear[:2]), all(clear[2:]))),
        why="A correlation counts only if it exceeds that with redrawn weights. It says nothing about causes; the "
        "claims below do.",
    )


def beyond_controls(effect: BandEffects, cell: CellKey, measure: str | None) -> Claim:
    """Does one cell do more harm than random bands and random heads of equal norm?"""
    kind, side = cell
    claim = (
        f"{DOING[effect.operation]} the {_band(effect, side)} in {kind} heads hurts {NAMES[measure or 'copy']} more "
        "than random bands and random heads of equal norm do."
    )
    if measure is None:
        return _nothing_to_copy(claim)
    signs = [_evidence(effect, (cell, control), measure) for control in CONTROLS]
    excess = [_excess(effect, (cell, control), measure) for control in CONTROLS]
    change, hurts = _change(effect, cell, measure), _hurts(effect, cell, measure)
    return Claim(
        claim,
        UNPUBLISHED,
        " ".join([f"{change[0].upper()}{change[1:]}.", *excess]),
        _verdict(signs) if hurts else "not seen",
        _caveats(effect, cell, measure) if hurts else NO_HARM,
    )


def _hurts(effect: BandEffects, cell: CellKey, measure: str) -> bool:
    """Whether a cell does any clear harm; otherwise it cannot do more harm than something else."""
    return _sign(effect.harm[cell][measure]) == 1


def _verdict(signs: Sequence[int | None]) -> str:
    """The verdict from the evidence of each kind of control; one that clearly did more harm refutes the claim."""
    if -1 in signs:
        return "not seen"
    return "unknown" if set(signs) == {None} else seen_verdict([sign == 1 for sign in signs])


def _caveats(effect: BandEffects, cell: CellKey, measure: str) -> str:
    """What limits the evidence of the controls."""
    unequal = any(effect.norm_match[cell, control] != EQUAL for control in CONTROLS)
    few = any(effect.less_harmful[cell, control][measure][1] < FEWEST for control in CONTROLS)
    return " ".join([UNEQUAL] * unequal + [TOO_FEW] * few)


def _evidence(effect: BandEffects, key: ControlKey, measure: str) -> int | None:
    """What one kind of control shows: 1 supports the claim, -1 refutes it, 0 neither; None if it can show nothing."""
    sign = _sign(effect.excess[key][measure])
    enough = effect.less_harmful[key][measure][1] >= FEWEST
    return sign if enough and sign in MAY_SHOW[effect.norm_match[key]] else None


def _excess(effect: BandEffects, key: ControlKey, measure: str) -> str:
    """How a cell compares with one kind of control, as a sentence."""
    (less, draws), control, match = effect.less_harmful[key][measure], key[1], effect.norm_match[key]
    excess = effect.excess[key][measure]
    estimate = _directed(excess) if _sign(excess) in MAY_SHOW[match] else _between(excess)
    estimate = f"{estimate}; {less} of {count(draws, 'draw')} did less harm"
    if match == EQUAL:
        return f"Excess harm over {control}: {estimate}."
    nearest = "the nearest" if match == MIXED else f"the nearest, which are {match}"
    return f"No {control} have an equal norm; excess harm over {nearest}: {estimate}."


def slow_or_fast(effect: BandEffects, kind: str, measure: str | None) -> Claim:
    """Does the slow band of one kind of heads matter more than the fast band?"""
    slow, fast, doing = (kind, "low"), (kind, "high"), DOING[effect.operation].lower()
    claim = (
        f"In {kind} heads, {doing} the {_band(effect, 'low')} hurts {NAMES[measure or 'copy']} more than {doing} the "
        f"{_band(effect, 'high')} does."
    )
    if measure is None:
        return _nothing_to_copy(claim)
    overall, per_norm = effect.difference[slow, fast][measure], effect.per_norm[slow, fast][measure]
    changes = "; ".join(f"{SPEED[cell[1]]}: {_change(effect, cell, measure)}" for cell in (slow, fast))
    return Claim(
        claim,
        UNPUBLISHED,
        f"{changes[0].upper()}{changes[1:]}. Excess harm of the slow band over the fast: {_directed(overall)}; per "
        f"percent of the model's norm: {_directed(per_norm)}.",
        seen_verdict([_hurts(effect, slow, measure) and _sign(excess) == 1 for excess in (overall, per_norm)]),
        _norm_caveat(overall, per_norm) if _hurts(effect, slow, measure) else NO_HARM,
    )


def _norm_caveat(overall: Estimate, per_norm: Estimate) -> str:
    """What dividing by the norm changes, if anything."""
    if _sign(overall) == _sign(per_norm):
        return ""
    return f"Overall the difference is {CLARITY[_sign(overall)]}; per percent of norm it is {CLARITY[_sign(per_norm)]}."


def dissociation(effect: BandEffects) -> Claim:
    """Do fast bands of positional heads and slow bands of symbolic heads both matter more than the crossed cells?"""
    pairs, doing = list(product(MATCHING, CROSSED)), DOING[effect.operation].lower()
    overall, per_norm = (
        [_sign(table[pair]["loss"]) for pair in pairs] for table in (effect.difference, effect.per_norm)
    )
    harms = ", ".join(
        f"{SPEED[side]} in {kind} {_plus(effect.harm[kind, side]['loss'].value)}"
        for kind, side in (*MATCHING, *CROSSED)
    )
    complete = [set(signs) == {1} for signs in (overall, per_norm)]
    return Claim(
        f"There is a double dissociation: {doing} fast frequencies of positional heads or slow frequencies of symbolic "
        f"heads hurts the loss more than {doing} slow frequencies of positional heads or fast frequencies of symbolic "
        "heads.",
        UNPUBLISHED,
        f"Change of the loss: {harms} {UNITS['loss']}. Of 4 comparisons, {_count_clear(overall)}; per percent of the "
        f"model's norm, {_count_clear(per_norm)}.",
        seen_verdict(complete),
        "" if all(complete) else "It needs all four comparisons to be clear, both overall and per percent of norm.",
    )


def _count_clear(signs: Sequence[int]) -> str:
    """How many comparisons are clear, and how many are reversed.

    >>> _count_clear([1, 0, 0, 1]), _count_clear([1, -1, 0, -1])
    ('2 are clear', '1 is clear and 2 are reversed')
    """
    clear, opposite = (f"{signs.count(sign)} {'is' if signs.count(sign) == 1 else 'are'}" for sign in (1, -1))
    return f"{clear} clear" + (f" and {opposite} reversed" if -1 in signs else "")


def _nothing_to_copy(claim: str) -> Claim:
    return Claim(claim, UNPUBLISHED, "The model does not copy random tokens, so it has no copying to lose.", "unknown")


def _published(lines: Sequence[tuple[RankCorrelation, RankCorrelation, int]]) -> str:
    """The verdict on correlations: each with that for redrawn weights, and the published sign."""
    exceeding = [_exceeds(*line) for line in lines]
    if any(exceeding):
        return "agrees" if all(exceeding) else "in part"
    return "disagrees" if any(own.rho.side == -sign for own, _, sign in lines) else "unknown"


def _exceeds(own: RankCorrelation, baseline: RankCorrelation, sign: int) -> bool:
    """Whether a correlation clearly has this sign, and clearly exceeds that for redrawn weights."""
    return own.rho.side == sign == own.compare(baseline)


def _sign(harm: Estimate) -> int:
    """1 if the interval is above what is negligible, -1 if it is below, else 0."""
    return sign_of(harm.low, harm.high, negligible=NEGLIGIBLE)


def _find(lines: Sequence[RankCorrelation], x: str, y: str) -> RankCorrelation:
    return next((line for line in lines if (line.x, line.y) == (x, y)), RankCorrelation(x, y))


def _starting(lines: Sequence[RankCorrelation], side: str, y: str) -> RankCorrelation:
    return next(
        (line for line in lines if line.x.startswith(f"{side}:") and line.y == y),
        RankCorrelation(side, y),
    )


def _rho(line: RankCorrelation) -> str:
    """A correlation with its interval, if it has one.

    >>> _rho(RankCorrelation("x", "y", Estimate(-0.5, -0.62, -0.4))), _rho(RankCorrelation("x", "y"))
    ('−0.50 (−0.62 to −0.40)', 'unknown')
    """
    if not line.rho.known:
        return "unknown"
    rho, *ends = (f"{round(end, 2) + 0.0:.2f}" for end in line.rho.numbers if end is not None)  # no -0
    return (f"{rho} ({' to '.join(ends)})" if len(ends) == 2 else rho).replace("-", "−")


def _change(effect: BandEffects, cell: CellKey, measure: str) -> str:
    """How a measure changes, with its unit."""
    change = as_harm(effect.harm[cell][measure], measure)
    return f"{NAMES[measure]} changes by {_between(change)} {UNITS[measure]}"


def _directed(excess: Estimate) -> str:
    """An excess, and whether it is clearly in the opposite direction."""
    return _between(excess) + (", reversed" if _sign(excess) < 0 else "")


def _between(estimate: Estimate) -> str:
    if math.isinf(estimate.high):
        return f"{_plus(estimate.value)} (no interval)"
    return f"{_plus(estimate.value)} ({_plus(estimate.low)} to {_plus(estimate.high)})"


def _plus(value: float) -> str:
    """A change with its sign, to two significant digits.

    >>> _plus(0.0226), _plus(-0.00071), _plus(1e-6), _plus(-1.234), _plus(0.00998)
    ('+0.023', '−0.00071', '0', '−1.23', '+0.010')
    """
    if abs(value) < NEGLIGIBLE:
        return "0"
    value = value if abs(value) >= 0.1 else float(f"{value:.1e}")  # rounded first, because that may add a digit
    digits = 2 if abs(value) >= 0.1 else 1 - math.floor(math.log10(abs(value)))
    written = f"{value:+.{min(digits, 5)}f}"
    return written.replace("-", "−")


def _band(effect: BandEffects, side: str) -> str:
    return f"{SPEED[side]} {_size(effect)}"


def _size(effect: BandEffects) -> str:
    return SIZE.get(effect.share, f"{effect.share:.0%}")
