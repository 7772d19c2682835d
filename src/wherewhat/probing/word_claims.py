"""The claims about shuffled words with their verdicts, and the main result in one line."""

from collections.abc import Sequence
from dataclasses import replace

from wherewhat.probing.swap_probe.claims import (
    NAMES,
    NOT_PUBLISHED,
    PAPER,
    ClaimRule,
    enough,
    not_learnt,
    too_few,
    written,
)
from wherewhat.probing.swap_probe.datasets import ProbeDataset
from wherewhat.probing.swap_probe.estimates import (
    AGAINST_WHOLE,
    BEYOND_CONTROL,
    CHANGE,
    ORIGINAL,
    SWAPPED,
    WHOLE,
    ProbeEstimates,
)
from wherewhat.probing.swap_probe.measures import ACCURACY, DISTANCE, KEPT, NATS
from wherewhat.stats.verdict import ClaimResult

LITTLE = 0.02  # of accuracy: what the published models lose at most within constituents, in whole points
NEARLY = 0.01  # of accuracy or of answers, and as a share of the loss: too small a difference to count
ORDER_DECIDES = "Here word order decides the label; in the data of the published models it hardly does."
ACROSS = "as many words across constituent boundaries"  # the control
IN_WORDS = {1: "it holds for", -1: "it does not hold for", 0: "it is open for"}  # by sign


def _smaller_effect(measure: str, claim: str, *, published: str = NOT_PUBLISHED) -> tuple[ClaimRule, ClaimRule]:
    """That the effect is smaller than that of shuffling the whole sentence, and than that of the control."""
    above, below = (0, None) if measure in (ACCURACY, KEPT) else (None, 0)
    whole, control = (claim.format(other) for other in ("the whole sentence", ACROSS))
    return (
        ClaimRule(whole, measure, AGAINST_WHOLE, above, below, NEARLY, published),
        ClaimRule(control, measure, BEYOND_CONTROL, above, below, NEARLY),
    )


# By measure, the one that tells most first.
RULES: dict[str, tuple[ClaimRule, ...]] = {
    ACCURACY: (
        ClaimRule(
            "Accuracy falls by less than 2 points when words are shuffled within constituents.",
            ACCURACY,
            CHANGE,
            above=-LITTLE,
            published=f"yes: by 0.2 to 1.7 points for constituents of 3 to 6 words ({PAPER})",
        ),
        *_smaller_effect(
            ACCURACY,
            "Shuffling within constituents costs less accuracy than shuffling {}.",
            published=f"yes: whole sentences cost 2.7 to 6.0 points ({PAPER})",
        ),
    ),
    KEPT: (
        ClaimRule(
            "More than nine in ten answers stay when words are shuffled within constituents.", KEPT, SWAPPED, above=0.9
        ),
        *_smaller_effect(KEPT, "More answers stay than after shuffling {}."),
    ),
    NATS: (
        ClaimRule("Shuffling words within constituents raises surprisal.", NATS, CHANGE, above=0, nearly=NEARLY),
        *_smaller_effect(NATS, "It raises surprisal less than shuffling {}."),
    ),
    DISTANCE: (
        ClaimRule(
            "Shuffling within constituents moves hidden states less than half as far as another sentence is away.",
            DISTANCE,
            SWAPPED,
            below=0.5,
        ),
        *_smaller_effect(DISTANCE, "It moves them less than shuffling {}."),
    ),
}


def claims_of(data: ProbeDataset, estimates: ProbeEstimates, sizes: Sequence[str]) -> list[ClaimResult]:
    """Every claim that the estimates say something about, by the measure that tells most."""
    rules = RULES[_main_measure(estimates)]
    return [claim for rule in rules if (claim := _claim(data, estimates, rule, sizes)) is not None]


def summary_of(data: ProbeDataset, estimates: ProbeEstimates, sizes: Sequence[str]) -> str:
    """The main result in one line; a change with where its own sentences began, as every size has different ones."""
    measure = _main_measure(estimates)
    parts = []
    for size in sizes:
        row, began = (estimates.at(size, kind, measure) for kind in (RULES[measure][0].kind, ORIGINAL))
        if row is not None:
            start = "" if began is None else f" from {written(replace(began, low=float('nan')))}"
            parts.append(f"{_name(size)} {written(row, signed=began is not None)}{start}")
    return f"{data.name}: {NAMES.get(measure, measure)} {', '.join(parts)}"


def _main_measure(estimates: ProbeEstimates) -> str:
    return next(measure for measure in RULES if measure in estimates)


def _claim(data: ProbeDataset, estimates: ProbeEstimates, rule: ClaimRule, sizes: Sequence[str]) -> ClaimResult | None:
    rows = [estimates.at(size, rule.kind, rule.measure) for size in sizes if size != WHOLE]
    known = [row for row in rows if row is not None]
    if not known:
        return None
    ours = "; ".join(f"{_name(row.item)} {written(row, signed=rule.kind != SWAPPED)}" for row in known)
    signs = {
        _name(row.item): rule.sign(row, estimates.at(row.item, ORIGINAL, rule.measure)) for row in known if enough(row)
    }
    why, unlearnt = [too_few([_name(row.item) for row in known if not enough(row)])], ""
    if rule.measure == ACCURACY:  # judged by the size that most sentences have
        originals = [row for size in sizes if (row := estimates.at(size, ORIGINAL, ACCURACY)) is not None]
        unlearnt = not_learnt(estimates, max(originals, key=lambda row: row.count).item) if originals else ""
    if unlearnt:
        why.append(unlearnt)
    elif len(set(signs.values())) > 1:  # sizes do not all say the same
        by_sign = {words: [name for name, sign in signs.items() if sign == which] for which, words in IN_WORDS.items()}
        parts = [f"{words}: {', '.join(names)}" for words, names in by_sign.items() if names]
        why.append("; ".join(parts).capitalize() + ".")
    if -1 in signs.values() and rule.published != NOT_PUBLISHED and data.question == "roles" and not unlearnt:
        why.append(ORDER_DECIDES)
    return rule.judge([0] if unlearnt else list(signs.values()), ours, why, {"data": data.name, "item": ""})


def _name(size: str) -> str:
    return "whole sentence" if size == WHOLE else f"{size}-word constituents"
