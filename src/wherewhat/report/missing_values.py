"""Why a score has no value on a page: a mask that hides what it measures, too few rows, or the texts."""

from wherewhat.formatting import listed
from wherewhat.report.head_table import HeadTable

CAUSAL = "a causal mask hides the keys to the right of a query"


def missing_value_notes(run: HeadTable) -> list[str]:
    """One sentence per reason, naming the scores that have no value because of it."""
    by_reason: dict[tuple[str, bool], list[str]] = {}
    for score in run.scores:
        if not score.answered:
            two_sided = score.name in run.manifest.scores and run.manifest.scores[score.name].sides
            by_reason.setdefault((_reason(run, score.name, two_sided), two_sided), []).append(f"`{score.name}`")
    return [
        f"{listed(names)} {_without_value(len(names) > 1, two_sided)}: {reason}."
        for (reason, two_sided), names in by_reason.items()
    ]


def _reason(run: HeadTable, name: str, two_sided: bool) -> str:
    """Why no head of a run has a value of this score, as half a sentence."""
    right = two_sided or name.rpartition(".")[2] in ("next", "symmetry", "balance")
    if right and "encoder" not in run.parts:
        return CAUSAL
    if name == "offset_peak":
        return "too few rows per text were sampled to compare them"
    return "these texts contain nothing to measure it on"


def _without_value(several: bool, two_sided: bool) -> str:
    if two_sided:
        return "are left out here" if several else "is left out here"
    return "have no value" if several else "has no value"
