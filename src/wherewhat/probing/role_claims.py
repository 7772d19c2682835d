"""The claims about swapped roles with their verdicts, and the main result in one line."""

from wherewhat.probing.swap_probe.claims import NAMES, PAPER, ClaimRule, enough, not_learnt, too_few, written
from wherewhat.probing.swap_probe.datasets import ProbeDataset
from wherewhat.probing.swap_probe.estimates import (
    BEYOND_CONTROL,
    BEYOND_VOICE,
    CHANGE,
    CONTROL,
    ORIGINAL,
    SWAPPED,
    WORDS_ALONE,
    ProbeEstimates,
)
from wherewhat.probing.swap_probe.measures import ACCURACY, CHANGED, DISTANCE, FLIP, KEPT, NATS, OLD
from wherewhat.stats.verdict import ClaimResult

ROLES = "roles"  # the item, beside VOICE
CHANGES = "label changes"  # the side of examples whose right answer changes with the role swap
HALF = 0.5
NEARLY = 0.02  # of answers, of accuracy, of distance, and as a share of the loss: too small to count
MORE_THAN_CONTROL = "The role swap changes more answers than a control swap of equal size."
MORE_THAN_VOICE = "the role swap changes more answers than the same roles in the other voice."

WITH_LABELS = (
    ClaimRule(
        "After the role swap, accuracy on the new labels is lower than it was on the old ones.",
        ACCURACY,
        CHANGE,
        below=0,
        nearly=NEARLY,
        published=f"yes: by 57.8 to 66.8 points ({PAPER})",
    ),
    ClaimRule(
        "The role swap goes unnoticed: more than half of the right answers stay.",
        FLIP,
        SWAPPED,
        below=HALF,
        published=f"most seem to stay, as accuracy falls by 57.8 to 66.8 points ({PAPER})",
    ),
    ClaimRule(MORE_THAN_CONTROL, FLIP, BEYOND_CONTROL, above=0, nearly=NEARLY),
    ClaimRule(f"The model reads roles: {MORE_THAN_VOICE}", FLIP, BEYOND_VOICE, above=0, nearly=NEARLY),
)
WITHOUT_LABELS = (
    ClaimRule("The role swap goes unnoticed: more than half of the answers stay.", KEPT, SWAPPED, above=HALF),
    ClaimRule(MORE_THAN_CONTROL, CHANGED, BEYOND_CONTROL, above=0, nearly=NEARLY),
    ClaimRule(MORE_THAN_VOICE.replace("the", "The", 1), CHANGED, BEYOND_VOICE, above=0, nearly=NEARLY),
)
BY_SURPRISAL = (
    ClaimRule("After the role swap, the sentence is as likely as before.", NATS, CHANGE, nearly=NEARLY),
    ClaimRule(
        "It is more likely than after a control swap of equal size.", NATS, BEYOND_CONTROL, below=0, nearly=NEARLY
    ),
)
BY_STATES = (
    ClaimRule(
        "The role swap moves hidden states less than half as far as another sentence is away.",
        DISTANCE,
        SWAPPED,
        below=HALF,
    ),
    ClaimRule(
        "It moves them less than a control swap of equal size.", DISTANCE, BEYOND_CONTROL, below=0, nearly=NEARLY
    ),
    ClaimRule(
        "It moves them more than saying the same in the other voice.", DISTANCE, BEYOND_VOICE, above=0, nearly=NEARLY
    ),
)
SHARE_OF = {(FLIP, SWAPPED): " change,", (KEPT, SWAPPED): " stay,"}  # what a share is a share of


def claims_of(data: ProbeDataset, estimates: ProbeEstimates) -> list[ClaimResult]:
    """Every claim that the estimates say something about."""
    if FLIP in estimates:
        rules: tuple[ClaimRule, ...] = WITH_LABELS
    elif KEPT in estimates:
        rules = WITHOUT_LABELS
    else:
        rules = (*BY_SURPRISAL, *BY_STATES) if NATS in estimates else BY_STATES
    return [claim for rule in rules if (claim := _claim(data, estimates, rule)) is not None]


def summary_of(data: ProbeDataset, estimates: ProbeEstimates) -> str:
    """The main result in one line."""
    for measure in (ACCURACY, KEPT, NATS, DISTANCE):
        before, after = (estimates.at(ROLES, kind, measure) for kind in (ORIGINAL, SWAPPED))
        if after is not None:
            break
    assert after is not None
    began = "" if before is None else f"{written(before)}, "
    summary = f"{data.name}: {NAMES.get(after.measure, after.measure)} {began}after the role swap {written(after)}"
    if (old := estimates.at(ROLES, SWAPPED, OLD, _side(estimates))) is not None:
        summary += f", {written(old)} keep the old answer"
    if (control := estimates.at(ROLES, CONTROL, after.measure)) is not None:
        summary += f", after a control swap {written(control)}"
    if (alone := estimates.at(ROLES, WORDS_ALONE, after.measure)) is not None:
        summary += f"; a guess from the words in any order {written(alone)}"
    return summary


def _side(estimates: ProbeEstimates) -> str | None:
    """Answers are judged on the examples whose right answer changes."""
    return CHANGES if any(row.side == CHANGES for row in estimates.rows) else None


def _claim(data: ProbeDataset, estimates: ProbeEstimates, rule: ClaimRule) -> ClaimResult | None:
    side = _side(estimates) if rule.measure == FLIP else None
    of_changes = rule.measure == CHANGED
    row = estimates.changed(ROLES, rule.kind) if of_changes else estimates.at(ROLES, rule.kind, rule.measure, side)
    if row is None:
        return None
    share = SHARE_OF.get((rule.measure, rule.kind), "")
    ours = f"{written(row, signed=rule.kind != SWAPPED)}{share} of {row.count:,} examples"
    ours += " whose right answer changes" if side == CHANGES else ""
    sign = rule.sign(row, estimates.at(ROLES, ORIGINAL, rule.measure, side))
    unlearnt = not_learnt(estimates, ROLES, side) if rule.measure in (ACCURACY, FLIP) else ""
    why = ["" if enough(row) else too_few(["the role swap"]), unlearnt]
    return rule.judge([0 if unlearnt else sign], ours, why, {"data": data.name, "item": ROLES})
