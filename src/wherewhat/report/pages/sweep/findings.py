"""What a sweep has found, in sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

from wherewhat.formatting import count, interval, short
from wherewhat.report.core.html import Html, prose
from wherewhat.report.pages.sweep.sweep_data import SweepData


def findings_of(data: SweepData) -> list[Html]:
    if not data.measures:
        return [prose("No run is finished yet.")]
    measure = data.measures[0]
    rows = data.ends(measure)
    best = rows[0]
    end = "lowest" if data.is_better_low(measure) else "highest"
    if len(rows) > 1 and best["value"] == rows[-1]["value"]:
        sentences = [f"All {len(rows)} points end with the same {measure}, {_written(best)}."]
    else:
        sentences = [f"The {end} {measure} is {_written(best)}, with {best['point']}."]
        sentences += [_second(data, best, rows[1])] if len(rows) > 1 else []
    if measure in data.manifest.chance:
        sentences.append(_above_chance(rows, data.manifest.chance[measure]))
    return [prose(sentence) for sentence in sentences]


def _second(data: SweepData, best: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """The point after the best, and whether they can be told apart."""
    relation = (
        "their intervals do not overlap" if _apart(best, second) else f"the {data.intervals} do not tell them apart"
    )
    return f"The next is {second['point']} with {_written(second)}: {relation}."


def _above_chance(rows: Sequence[Mapping[str, Any]], chance: float) -> str:
    """How many points are clearly above what guessing gives."""
    if any(row["low"] is None for row in rows):
        return f"Chance is {short(chance)}."
    above = sum(row["low"] > chance for row in rows)
    if above == len(rows):
        return f"Chance is {short(chance)}: {'all points are' if above > 1 else 'it is'} clearly above it."
    some = "no point is" if not above else count(above, "point is", "points are")
    return f"Chance is {short(chance)}: {some} clearly above it."


def _apart(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two intervals do not overlap."""
    if any(row[end] is None for row in (first, second) for end in ("low", "high")):
        return False
    return bool(first["low"] > second["high"] or second["low"] > first["high"])


def _written(row: Mapping[str, Any]) -> str:
    ends = interval(row["low"], row["high"])
    return f"{short(row['value'])} ({ends})" if ends else short(row["value"])
