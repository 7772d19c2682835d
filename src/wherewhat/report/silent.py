"""Why a score has no value on a page: a mask that hides what it asks about, too few rows, or the texts."""

from collections.abc import Sequence

from wherewhat.report.measured import Manifest, Measured

CAUSAL = "a causal mask hides everything to the right of a query"


def why_silent(run: Measured, name: str) -> str:
    """Why no head of a run has a value of this score, as half a sentence."""
    if _of_the_right(run.manifest, name) and "encoder" not in run.parts:
        return CAUSAL
    if name == "offset_peak":
        return "too few rows of each text were read to ask whether they agree"
    return "nothing in these texts could be asked for it"


def silences(run: Measured) -> list[str]:
    """One sentence for every reason, naming the scores that have no value because of it."""
    by_reason: dict[tuple[str, bool], list[str]] = {}
    for score in run.scores:
        if not score.answered:
            sided = bool(((run.manifest.get("scores") or {}).get(score.name) or {}).get("sides"))
            by_reason.setdefault((why_silent(run, score.name), sided), []).append(f"`{score.name}`")
    return [
        f"{_listed(names)} {_are(names) + ' left out here' if sided else _have(names) + ' no value'}: {reason}."
        for (reason, sided), names in by_reason.items()
    ]


def _of_the_right(manifest: Manifest, name: str) -> bool:
    """Whether a score asks about keys to the right of its query."""
    told = (manifest.get("scores") or {}).get(name) or {}
    return bool(told.get("sides")) or name.rpartition(".")[2] in ("next", "symmetry", "balance")


def _have(names: Sequence[str]) -> str:
    return "has" if len(names) == 1 else "have"


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _listed(names: Sequence[str]) -> str:
    """
    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
