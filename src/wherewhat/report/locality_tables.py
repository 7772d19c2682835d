"""The numbers of the study of locality and symmetry as its charts read them, each row with what it says."""

import math
from collections.abc import Sequence
from itertools import product
from statistics import fmean
from typing import Any

from wherewhat.report.drawn import columns
from wherewhat.report.locality_said import nats, plain, points, right
from wherewhat.report.locality_study import (
    ALL,
    DECODER,
    HOW,
    PLACES,
    Locality,
    Question,
    Row,
    Subject,
    beside,
    side,
)
from wherewhat.report.numbers import short
from wherewhat.report.page import Columns

# Contrasts on the first screen, by what they are called there.
GAPS = {
    "locality": {"over flattest": "middle over flat", "over steepest": "middle over steep"},
    "symmetry": {
        "over flatter ahead": "symmetric over flatter ahead, same locality",
        "over steeper ahead": "symmetric over steeper ahead, same locality",
        "same w (confounded)": "symmetric over one-sided",
    },
}
OURS = ("leaning over ", "not learned over ")  # how the names of contrasts of leaning start
CORRELATIONS = ("pearson", "spearman", "partial")
WIDE, SMALL = 400, 230  # heights of charts whose references have names at their side
LINE = 14.5  # pixels that a name takes


def tables_of(found: Locality) -> dict[str, Columns]:
    """The numbers of all charts."""
    return {
        "points": _points(found),
        "names": _names(found),
        "lines": _lines(found),
        "stability": _stability(found),
        "causal": _causal(found),
        "roles": _roles(found),
    }


def span(found: Locality, question: Question, measure: str = "accuracy") -> tuple[float, float]:
    """From which to which accuracy a chart of a question reaches: all points with their intervals, and levels."""
    rows = [row for one in found.subjects if (row := found.mean(one.name, question.name, measure))]
    alone = found.words_alone(question.name)
    ends = [
        question.chance,
        *([] if alone is None else [alone]),
        *(end for row in rows for end in _clipped(row).values()),
    ]
    return max(0.0, math.floor(20 * min(ends) - 0.4) / 20), min(1.0, math.ceil(20 * max(ends) + 0.2) / 20)


def apart(values: Sequence[float], gap: float, ends: tuple[float, float]) -> list[float]:
    """Where names go so that no two are nearer than a gap: as near to their values as that allows, and within ends.

    >>> [round(value, 2) for value in apart([0.5, 0.9, 0.52], 0.1, (0.0, 1.0))]
    [0.46, 0.9, 0.56]
    """
    order = sorted(range(len(values)), key=lambda i: values[i])
    blocks: list[list[float]] = []  # of names that touch each other: where each would begin, were it the lowest
    for place, i in enumerate(order):
        blocks.append([values[i] - gap * place])
        while len(blocks) > 1 and fmean(blocks[-2]) >= fmean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    highest = ends[1] - gap * (len(values) - 1)
    starts = [min(max(fmean(block), ends[0]), highest) for block in blocks for _ in block]
    placed = {i: start + gap * place for place, (i, start) in enumerate(zip(order, starts, strict=True))}
    return [placed[i] for i in range(len(values))]


def asked(found: Locality) -> list[tuple[Question, str]]:
    """What charts of accuracy show: every question of tuned nets, and of frozen ones all together."""
    frozen = [(found.overall, name) for name in HOW if name != "accuracy"]
    return [(question, "accuracy") for question in (found.overall, *found.questions)] + frozen


def _points(found: Locality) -> Columns:
    """Every encoder on every question, placed by how local and how balanced it is."""
    rows = []
    for question, measure in asked(found):
        for subject in found.subjects:
            row = found.mean(subject.name, question.name, measure)
            if row is not None and subject.family != DECODER:
                said = f"{subject.label}: {right(row)}, {_placed(found, subject)}"
                told = {"question": question.key, "how": HOW[measure], "said": said}
                rows.append({**_marked(found, subject), **_clipped(row), **told})
    names = (
        "question",
        "how",
        "subject",
        "family",
        "w",
        "s",
        "sided",
        "swept",
        *PLACES,
        "value",
        "low",
        "high",
        "said",
    )
    return columns(rows, names)


def _marked(found: Locality, subject: Subject) -> dict[str, Any]:
    return {
        "subject": subject.name,
        "family": subject.family,
        "w": subject.w,
        "s": subject.s,
        "sided": subject.one_sided,
        "swept": subject.w if subject.family == "log" and subject.w in found.swept else None,
        **{by: found.place(subject.name, by) for by in PLACES},
    }


def _clipped(row: Row) -> dict[str, Any]:
    """A share and its interval, no further than shares go."""
    return {end: max(0.0, min(1.0, value)) for end, value in _ends(row).items()}


def _ends(row: Row, scale: float = 1.0) -> dict[str, float]:
    """A number and its interval as they are drawn: without one, its ends are the number itself."""
    return {end: scale * (row["value"] if row[end] is None else row[end]) for end in ("value", "low", "high")}


def _placed(found: Locality, subject: Subject) -> str:
    return ", ".join(f"{by} {short(found.place(subject.name, by))}" for by in ("locality", "balance"))


def _names(found: Locality) -> Columns:
    """What has a name at the side of every chart, moved apart where values are nearly the same.

    These are references, and the two levels that take no net: chance, and words alone.
    """
    rows: list[Row] = []
    for question, measure in asked(found):
        means = {one: found.mean(one.name, question.name, measure) for one in found.of("reference")}
        levels = {"chance": question.chance, "words alone": found.words_alone(question.name)}
        named = [_named(found, one, row["value"]) for one, row in means.items() if row]
        named += [{"name": name, "value": value, "level": True} for name, value in levels.items() if value is not None]
        low, high = span(found, question, measure)
        values = [one["value"] for one in named]
        wide, small = (apart(values, LINE * (high - low) / height, (low, high)) for height in (WIDE, SMALL))
        for one, at_wide, at_small in zip(named, wide, small, strict=True):
            rows.append({**one, "question": question.key, "how": HOW[measure], "wide": at_wide, "small": at_small})
    return columns(rows, ("question", "how", "name", "level", *PLACES, "value", "wide", "small"))


def _named(found: Locality, subject: Subject, value: float) -> dict[str, Any]:
    places = {by: found.place(subject.name, by) for by in PLACES}
    return {"name": subject.label, "value": value, "level": False, **places}


def _lines(found: Locality) -> Columns:
    """Every gap in points and every correlation with its interval, a row a question; `line` says which it is."""
    rows = []
    gaps = [*(name for its in GAPS.values() for name in its.values()), *ours(found)]
    for question in (found.overall, *found.questions):
        label = "all together" if question.key == ALL else question.name
        for name in gaps:
            if row := found.gap(name, question.name):
                told = {"line": name, "label": label, "said": f"{label}: {points(row)}", **_ends(row, 100.0)}
                rows.append({**told, "side": side(row) if found.enough else "unclear"})
        for axis, measure in product(GAPS, CORRELATIONS):
            if row := found.link(axis, question.name, measure):
                told = {"line": f"{axis} {measure}", "label": label, "said": f"{label}: {plain(row)}", **_ends(row)}
                rows.append({**told, "side": side(row)})
    return columns(rows, ("line", "label", "value", "low", "high", "side", "said"))


def ours(found: Locality) -> list[str]:
    """The contrasts of leaning, in the order of the study."""
    return [name for start in OURS for name in found.gaps(start)]


def _stability(found: Locality) -> Columns:
    """Spread over seeds in points and forgetting in nats of every encoder, over all questions."""
    rows = []
    for measure, scale in (("spread", 100.0), ("forgetting", 1.0)):
        for subject in found.subjects:
            row = found.mean(subject.name, ALL, measure)
            if row is not None and subject.family != DECODER:
                size = f"{short(100 * row['value'])} points" if measure == "spread" else f"{plain(row)} nats"
                said = f"{subject.label}: {size}, {_placed(found, subject)}"
                rows.append({**_marked(found, subject), **_ends(row, scale), "measure": measure, "said": said})
    return columns(rows, ("measure", "subject", "family", "sided", *PLACES, "value", "low", "high", "said"))


def _causal(found: Locality) -> Columns:
    """Decoders, and encoders with the same symmetric curve, over all questions."""
    rows = []
    for kind, families in (("encoder", ("log",)), (DECODER, (DECODER,))):
        for subject in found.of(*families):
            for measure, write in (("accuracy", right), ("word loss", nats)):
                row = found.mean(subject.name, ALL, measure)
                if row is not None and not subject.one_sided:
                    said = f"{subject.name}: {write(row)}, locality {short(found.place(subject.name, 'locality'))}"
                    told = {"kind": kind, "short": subject.name.removeprefix("decoder "), "said": said}
                    rows.append({**_marked(found, subject), **_ends(row), **told, "measure": measure})
    return columns(rows, ("kind", "measure", "subject", "short", "w", *PLACES, "value", "low", "high", "said"))


def _roles(found: Locality) -> Columns:
    """Curves that lean beside the symmetric one with the same w, on every question."""
    rows = []
    for w, kinds in beside(found).items():
        for question in found.questions:
            for kind, subject in kinds.items():
                if row := found.mean(subject.name, question.name):
                    told = {"kind": kind, "w": f"{w:g}", "question": question.name, **_clipped(row)}
                    said = f"{subject.name}, {question.name}: {right(row)}"
                    rows.append({**told, "chance": question.chance, "said": said})
    return columns(rows, ("kind", "w", "question", "chance", "value", "low", "high", "said"))
