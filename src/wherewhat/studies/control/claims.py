"""The claims of the control experiment and their verdicts. Only the first is about something published."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, product

from wherewhat.formatting import count
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import mover
from wherewhat.stats.verdict import UNPUBLISHED, ClaimResult, published_verdict, seen_verdict, sign_of
from wherewhat.studies.control.heads import Fastest, HeadFindings, Rhos
from wherewhat.studies.control.interventions import EQUAL, LARGER, MIXED, SMALLER, CellResult
from wherewhat.studies.control.settings import CONTROLS, FEWEST, MEAN_SPEED, MEASURES, SIDES, band_size

DOING = {"drop": "dropping", "unrotate": "unrotating"}
NEGLIGIBLE = 5e-5  # a smaller change is written as 0
UNITS = {"loss": "nats per token", "copy": "of the tokens", "induction": "nats per token"}
NO_COPYING = "The model does not copy random tokens, so it has no copying to lose."
CLARITY = {1: "clear", 0: "not clear", -1: "reversed"}
NO_HARM = "There is no clear harm in the first place."
# What the excess over controls may show about the claim that the cell does more harm: 1 supports it, -1 refutes it.
MAY_SHOW = {EQUAL: (1, 0, -1), SMALLER: (-1,), LARGER: (1,), MIXED: ()}


def claims(heads: HeadFindings, cells: Sequence[CellResult], copying: str | None) -> list[ClaimResult]:
    """Every claim with its verdict. `copying` is the measure to judge copying by, None if the model does not copy.

    Verdicts are about bands of the first size; those on other sizes are added as an explanation.
    """
    results = [by_pair(heads.trained, heads.redrawn, heads.fastest), by_heads(heads.trained, heads.redrawn)]
    for _, of_operation in groupby(cells, key=lambda cell: cell.operation):
        by_size = {}
        for share, four in groupby(of_operation, key=lambda cell: cell.share):
            fast_positional, slow_positional, fast_symbolic, slow_symbolic = four
            by_size[band_size(share)] = [
                beyond_controls(fast_positional, "loss"),
                beyond_controls(slow_symbolic, "loss"),
                beyond_controls(slow_symbolic, copying),
                slow_or_fast(slow_symbolic, fast_symbolic, copying),
                dissociation([fast_positional, slow_symbolic], [slow_positional, fast_symbolic]),
            ]
        for first, *others in zip(*by_size.values(), strict=True):
            also = zip(list(by_size)[1:], others, strict=True)
            why = [first.why, *(f"With bands of a {size}: {other.verdict}." for size, other in also)]
            results.append(replace(first, why=" ".join(filter(None, why))))
    return results


def comparisons(copying: str | None) -> int:
    """How many intervals the verdicts on one operation and band size depend on: over controls, and between cells."""
    over_controls, between_cells = (2, 4) if copying is None else (3, 5)
    return over_controls * len(CONTROLS) + 2 * between_cells


def by_pair(trained: Rhos, redrawn: Rhos, fastest: Fastest = None) -> ClaimResult:
    """The published claim: fast frequencies are positional, slow ones symbolic."""
    own, baseline = ([_rho(rhos, "theta", name) for name in ("positional", "symbolic")] for rhos in (trained, redrawn))
    medians = "" if fastest is None else " The fastest frequency of a head is at {:.2f} and {:.2f} (medians)."
    return ClaimResult(
        "Fast frequencies are positional, slow frequencies are symbolic.",
        "Slow planes are symbolic, faster ones positional, and the fastest may be both (arXiv 2511.11579; in "
        "gemma-2-2b-it, head 12:0 has plane 127, the slowest, at s_POS 0 and s_SYM 1, plane 83 at 1 and 0, and "
        "plane 0, the fastest, mostly about 0.97 and 0.97)",
        f"Across all frequencies of all heads, the rank correlation of speed is {_written(own[0])} with s_POS and "
        f"{_written(own[1])} with s_SYM; with redrawn weights, {_written(baseline[0])} and {_written(baseline[1])}."
        + medians.format(*fastest or ()),
        published_verdict([learnt(*each) for each in zip(own, baseline, (1, -1), strict=True)]),
        "A pair that hardly rotates within a text cannot tell slots apart, whatever its weights. So a correlation "
        "counts only if it exceeds that with redrawn weights.",
    )


def by_heads(trained: Rhos, redrawn: Rhos) -> ClaimResult:
    """The same for whole heads: by their mean frequency, and by the share of their norm in each band."""
    speed = [(MEAN_SPEED, "position_share", 1), (MEAN_SPEED, "symbol_share", -1)]
    norm = [("high", "position_share", 1), ("low", "position_share", -1)]
    both = [(_rho(trained, x, y), _rho(redrawn, x, y), sign) for x, y, sign in (*speed, *norm)]
    clear = [learnt(*each) == 1 for each in both]
    rho = [f"{_written(own)}, redrawn {_written(baseline)}" for own, baseline, _ in both]
    return ClaimResult(
        "Positional heads use faster frequencies than symbolic heads.",
        UNPUBLISHED,
        "Rank correlations across heads, for the model and for redrawn weights. Speed of the mean frequency with "
        f"position share: {rho[0]}; with symbol share: {rho[1]}. Position share with the share of norm in fast "
        f"frequencies: {rho[2]}; in slow frequencies: {rho[3]}.",
        seen_verdict((all(clear[:2]), all(clear[2:]))),
        "A correlation counts only if it exceeds that with redrawn weights. It says nothing about causes; the "
        "claims below do.",
    )


def _rho(rhos: Rhos, x: str, y: str) -> Estimate:
    """The correlation of x and y; a band is named by its side."""
    return next((rho for (_, of, other), rho in rhos.items() if (of.partition(":")[0], other) == (x, y)), Estimate())


def learnt(own: Estimate, baseline: Estimate, sign: int) -> int:
    """1 if a correlation clearly has this sign and exceeds that for redrawn weights, -1 if it is clearly opposite."""
    return 1 if own.side == sign == sign_of(*mover(baseline, own)) else -1 if own.side == -sign else 0


def _written(rho: Estimate) -> str:
    """A correlation with its interval, if it has one.

    >>> _written(Estimate(-0.5, -0.62, -0.4)), _written(Estimate())
    ('−0.50 (−0.62 to −0.40)', 'unknown')
    """
    if not rho.known:
        return "unknown"
    value, *ends = (f"{round(end, 2) + 0.0:.2f}" for end in rho.numbers if end is not None)  # no -0
    return (f"{value} ({' to '.join(ends)})" if len(ends) == 2 else value).replace("-", "−")


def beyond_controls(cell: CellResult, measure: str | None) -> ClaimResult:
    """Does a cell do more harm than random bands and random heads of equal norm?"""
    claim = (
        f"{DOING[cell.operation].capitalize()} the {SIDES[cell.side]} {band_size(cell.share)} in {cell.kind} heads "
        f"hurts {MEASURES[measure or 'copy']} more than random bands and random heads of equal norm do."
    )
    if measure is None:
        return ClaimResult(claim, UNPUBLISHED, NO_COPYING, "unknown")
    sentences, signs = zip(*(_against(cell, control, measure) for control in CONTROLS), strict=True)
    ours = " ".join([f"{_change(cell, measure).capitalize()}.", *sentences])
    if _sign(cell.harm(measure)) != 1:
        return ClaimResult(claim, UNPUBLISHED, ours, "not seen", NO_HARM)
    verdict = "unknown" if set(signs) == {None} else seen_verdict([sign == 1 for sign in signs])
    why = []
    if any(cell.norm_match(control) != EQUAL for control in CONTROLS):
        why.append("Controls of smaller norm can only refute this claim, those of larger norm can only support it.")
    if any(cell.less_harmful(control, measure)[1] < FEWEST for control in CONTROLS):
        why.append(f"Fewer than {FEWEST} draws do not allow a verdict.")
    return ClaimResult(claim, UNPUBLISHED, ours, "not seen" if -1 in signs else verdict, " ".join(why))


def _against(cell: CellResult, control: str, measure: str) -> tuple[str, int | None]:
    """A cell against one kind of control: a sentence, and 1 if it supports the claim, -1 or 0; None shows nothing."""
    excess, match = cell.excess(control, measure), cell.norm_match(control)
    less, draws = cell.less_harmful(control, measure)
    sign, telling = _sign(excess), _sign(excess) in MAY_SHOW[match]
    begins, over = "Excess", control
    if match != EQUAL:
        begins = f"No {control} have an equal norm; excess"
        over = "the nearest" if match == MIXED else f"the nearest, which are {match}"
    estimate = _between(excess) + ", reversed" * (telling and sign < 0)
    sentence = f"{begins} harm over {over}: {estimate}; {less} of {count(draws, 'draw')} did less harm."
    return sentence, sign if telling and draws >= FEWEST else None


def slow_or_fast(slow: CellResult, fast: CellResult, measure: str | None) -> ClaimResult:
    """Does the slow band of one kind of heads matter more than the fast band?"""
    doing, size, what = DOING[slow.operation], band_size(slow.share), MEASURES[measure or "copy"]
    claim = f"In {slow.kind} heads, {doing} the slow {size} hurts {what} more than {doing} the fast {size} does."
    if measure is None:
        return ClaimResult(claim, UNPUBLISHED, NO_COPYING, "unknown")
    excess = [slow.difference(fast, measure), slow.per_norm(fast, measure)]
    signs, hurts = [_sign(each) for each in excess], _sign(slow.harm(measure)) == 1
    overall, per_norm = (_between(each) + ", reversed" * (_sign(each) < 0) for each in excess)
    unlike = "Overall the difference is {}; per percent of norm it is {}.".format(*(CLARITY[sign] for sign in signs))
    return ClaimResult(
        claim,
        UNPUBLISHED,
        f"Slow: {_change(slow, measure)}; fast: {_change(fast, measure)}. Excess harm of the slow band over the fast: "
        f"{overall}; per percent of the model's norm: {per_norm}.",
        seen_verdict([hurts and sign == 1 for sign in signs]),
        NO_HARM if not hurts else "" if signs[0] == signs[1] else unlike,
    )


def dissociation(matching: Sequence[CellResult], crossed: Sequence[CellResult]) -> ClaimResult:
    """Do fast bands of positional heads and slow bands of symbolic heads both matter more than the crossed cells?"""
    pairs, doing = list(product(matching, crossed)), DOING[matching[0].operation]
    overall = [_sign(cell.difference(other, "loss")) for cell, other in pairs]
    per_norm = [_sign(cell.per_norm(other, "loss")) for cell, other in pairs]
    four = (*matching, *crossed)
    harms = ", ".join(f"{SIDES[cell.side]} in {cell.kind} {_plus(cell.harm('loss').value)}" for cell in four)
    complete = [set(signs) == {1} for signs in (overall, per_norm)]
    return ClaimResult(
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


def _sign(harm: Estimate) -> int:
    """1 if the interval is above what is negligible, -1 if it is below, else 0."""
    return sign_of(harm.low, harm.high, negligible=NEGLIGIBLE)


def _change(cell: CellResult, measure: str) -> str:
    """How a measure changes, with its unit."""
    return f"{MEASURES[measure]} changes by {_between(cell.change(measure))} {UNITS[measure]}"


def _between(estimate: Estimate) -> str:
    ends = "no interval" if math.isinf(estimate.high) else f"{_plus(estimate.low)} to {_plus(estimate.high)}"
    return f"{_plus(estimate.value)} ({ends})"


def _plus(value: float) -> str:
    """A change with its sign, to two significant digits.

    >>> _plus(0.0226), _plus(-0.00071), _plus(1e-6), _plus(-1.234), _plus(0.00998)
    ('+0.023', '−0.00071', '0', '−1.23', '+0.010')
    """
    if abs(value) < NEGLIGIBLE:
        return "0"
    value = value if abs(value) >= 0.1 else float(f"{value:.1e}")  # rounded first, because that may add a digit
    digits = 2 if abs(value) >= 0.1 else 1 - math.floor(math.log10(abs(value)))
    return f"{value:+.{min(digits, 5)}f}".replace("-", "−")
