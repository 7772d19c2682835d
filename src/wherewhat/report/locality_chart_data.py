"""The tables behind the charts of locality and symmetry, each row with its tooltip."""

import math
from collections.abc import Sequence
from itertools import product
from statistics import fmean
from typing import Any

from wherewhat.formatting import short
from wherewhat.report.locality_data import (
    ALL,
    DECODER,
    HOW,
    PROPERTIES,
    LocalityEncoding,
    LocalityPageData,
    LocalityQuestion,
    leaning_curves,
    side,
)
from wherewhat.report.page import Columns
from wherewhat.report.panels import columns
from wherewhat.report.result_text import Row, nats, plain, points, share

# Contrasts on the first screen, by their label there.
GAPS = {
    "locality": {"over flattest": "middle over flat", "over steepest": "middle over steep"},
    "symmetry": {
        "over flatter ahead": "symmetric over flatter ahead, same locality",
        "over steeper ahead": "symmetric over steeper ahead, same locality",
        "same w (confounded)": "symmetric over one-sided",
    },
}
OURS = ("leaning over ", "not learned over ")  # how the names of contrasts of leaning heads start
CORRELATIONS = ("pearson", "spearman", "partial")
WIDE, SMALL = 400, 230  # heights of charts with the names of references at their side
LINE = 14.5  # pixels per name


def tables_of(data: LocalityPageData) -> dict[str, Columns]:
    """The tables of all charts."""
    return {
        "points": _points(data),
        "names": _names(data),
        "lines": _lines(data),
        "stability": _stability(data),
        "causal": _causal(data),
        "roles": _roles(data),
    }


def span(data: LocalityPageData, question: LocalityQuestion, measure: str = "accuracy") -> tuple[float, float]:
    """The range of the accuracy axis of a question: all points with their intervals, chance and bag of words."""
    rows = [row for encoding in data.encodings if (row := data.mean(encoding.name, question.name, measure))]
    bag = data.bag_of_words(question.name)
    ends = [
        question.chance,
        *([] if bag is None else [bag]),
        *(end for row in rows for end in _clipped(row).values()),
    ]
    return max(0.0, math.floor(20 * min(ends) - 0.4) / 20), min(1.0, math.ceil(20 * max(ends) + 0.2) / 20)


def apart(values: Sequence[float], gap: float, ends: tuple[float, float]) -> list[float]:
    """Where to write names so that no two are nearer than a gap, as near to their values as possible, within ends.

    >>> [round(value, 2) for value in apart([0.5, 0.9, 0.52], 0.1, (0.0, 1.0))]
    [0.46, 0.9, 0.56]
    """
    order = sorted(range(len(values)), key=lambda i: values[i])
    blocks: list[list[float]] = []  # of adjacent names: where the block would start by each of them
    for place, i in enumerate(order):
        blocks.append([values[i] - gap * place])
        while len(blocks) > 1 and fmean(blocks[-2]) >= fmean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    highest = ends[1] - gap * (len(values) - 1)
    starts = [min(max(fmean(block), ends[0]), highest) for block in blocks for _ in block]
    placed = {i: start + gap * place for place, (i, start) in enumerate(zip(order, starts, strict=True))}
    return [placed[i] for i in range(len(values))]


def shown(data: LocalityPageData) -> list[tuple[LocalityQuestion, str]]:
    """What charts of accuracy show: every question for fine-tuned nets, and the mean for frozen ones."""
    frozen = [(data.overall, name) for name in HOW if name != "accuracy"]
    return [(question, "accuracy") for question in (data.overall, *data.questions)] + frozen


def _points(data: LocalityPageData) -> Columns:
    """Every encoder on every question, by locality and balance."""
    rows = []
    for question, measure in shown(data):
        for encoding in data.encodings:
            row = data.mean(encoding.name, question.name, measure)
            if row is not None and encoding.family != DECODER:
                tooltip = f"{encoding.label}: {share(row)}, {_properties(data, encoding)}"
                shows = {"question": question.key, "how": HOW[measure], "said": tooltip}
                rows.append({**_mark(data, encoding), **_clipped(row), **shows})
    names = (
        "question",
        "how",
        "subject",
        "family",
        "w",
        "s",
        "sided",
        "swept",
        *PROPERTIES,
        "value",
        "low",
        "high",
        "said",
    )
    return columns(rows, names)


def _mark(data: LocalityPageData, encoding: LocalityEncoding) -> dict[str, Any]:
    return {
        "subject": encoding.name,
        "family": encoding.family,
        "w": encoding.w,
        "s": encoding.s,
        "sided": encoding.one_sided,
        "swept": encoding.w if encoding.family == "log" and encoding.w in data.swept else None,
        **{by: data.property_of(encoding.name, by) for by in PROPERTIES},
    }


def _clipped(row: Row) -> dict[str, Any]:
    """A share and its interval, within 0 to 1."""
    return {end: max(0.0, min(1.0, value)) for end, value in _ends(row).items()}


def _ends(row: Row, scale: float = 1.0) -> dict[str, float]:
    """A number and the ends of its interval; without an interval both ends are the number."""
    return {end: scale * (row["value"] if row[end] is None else row[end]) for end in ("value", "low", "high")}


def _properties(data: LocalityPageData, encoding: LocalityEncoding) -> str:
    return ", ".join(f"{by} {short(data.property_of(encoding.name, by))}" for by in ("locality", "balance"))


def _names(data: LocalityPageData) -> Columns:
    """The names at the side of every chart, moved apart if values are nearly equal.

    These are references, and two levels without a net: chance, and words alone (a bag of words).
    """
    rows: list[Row] = []
    for question, measure in shown(data):
        means = {encoding: data.mean(encoding.name, question.name, measure) for encoding in data.of("reference")}
        levels = {"chance": question.chance, "words alone": data.bag_of_words(question.name)}
        named = [_named(data, encoding, row["value"]) for encoding, row in means.items() if row]
        named += [{"name": name, "value": value, "level": True} for name, value in levels.items() if value is not None]
        low, high = span(data, question, measure)
        values = [entry["value"] for entry in named]
        wide, small = (apart(values, LINE * (high - low) / height, (low, high)) for height in (WIDE, SMALL))
        for entry, at_wide, at_small in zip(named, wide, small, strict=True):
            rows.append({**entry, "question": question.key, "how": HOW[measure], "wide": at_wide, "small": at_small})
    return columns(rows, ("question", "how", "name", "level", *PROPERTIES, "value", "wide", "small"))


def _named(data: LocalityPageData, encoding: LocalityEncoding, value: float) -> dict[str, Any]:
    properties = {by: data.property_of(encoding.name, by) for by in PROPERTIES}
    return {"name": encoding.label, "value": value, "level": False, **properties}


def _lines(data: LocalityPageData) -> Columns:
    """Every contrast and every correlation with its interval, one row per question; `line` says which it is."""
    rows = []
    gaps = [*(name for labels in GAPS.values() for name in labels.values()), *leaning_contrasts(data)]
    for question in (data.overall, *data.questions):
        label = "all questions" if question.key == ALL else question.name
        for name in gaps:
            if row := data.gap(name, question.name):
                shows = {"line": name, "label": label, "said": f"{label}: {points(row)}", **_ends(row, 100.0)}
                rows.append({**shows, "side": side(row) if data.enough else "unclear"})
        for predictor, measure in product(GAPS, CORRELATIONS):
            if row := data.link(predictor, question.name, measure):
                shows = {"line": f"{predictor} {measure}", "label": label, "said": f"{label}: {plain(row)}"}
                rows.append({**shows, **_ends(row), "side": side(row)})
    return columns(rows, ("line", "label", "value", "low", "high", "side", "said"))


def leaning_contrasts(data: LocalityPageData) -> list[str]:
    """The contrasts of leaning heads, in the order of the study."""
    return [name for start in OURS for name in data.gaps(start)]


def _stability(data: LocalityPageData) -> Columns:
    """Spread over seeds in points and forgetting in nats of every encoder, over all questions."""
    rows = []
    for measure, scale in (("spread", 100.0), ("forgetting", 1.0)):
        for encoding in data.encodings:
            row = data.mean(encoding.name, ALL, measure)
            if row is not None and encoding.family != DECODER:
                size = f"{short(100 * row['value'])} points" if measure == "spread" else f"{plain(row)} nats"
                tooltip = f"{encoding.label}: {size}, {_properties(data, encoding)}"
                rows.append({**_mark(data, encoding), **_ends(row, scale), "measure": measure, "said": tooltip})
    return columns(rows, ("measure", "subject", "family", "sided", *PROPERTIES, "value", "low", "high", "said"))


def _causal(data: LocalityPageData) -> Columns:
    """Decoders, and encoders with the same symmetric curve, over all questions."""
    rows = []
    for kind, families in (("encoder", ("log",)), (DECODER, (DECODER,))):
        for encoding in data.of(*families):
            for measure, write in (("accuracy", share), ("word loss", nats)):
                row = data.mean(encoding.name, ALL, measure)
                if row is not None and not encoding.one_sided:
                    tooltip = (
                        f"{encoding.name}: {write(row)}, locality {short(data.property_of(encoding.name, 'locality'))}"
                    )
                    shows = {"kind": kind, "short": encoding.name.removeprefix("decoder "), "said": tooltip}
                    rows.append({**_mark(data, encoding), **_ends(row), **shows, "measure": measure})
    return columns(rows, ("kind", "measure", "subject", "short", "w", *PROPERTIES, "value", "low", "high", "said"))


def _roles(data: LocalityPageData) -> Columns:
    """Leaning curves and the symmetric one with the same w, on every question."""
    rows = []
    for w, kinds in leaning_curves(data).items():
        for question in data.questions:
            for kind, encoding in kinds.items():
                if row := data.mean(encoding.name, question.name):
                    shows = {"kind": kind, "w": f"{w:g}", "question": question.name, **_clipped(row)}
                    tooltip = f"{encoding.name}, {question.name}: {share(row)}"
                    rows.append({**shows, "chance": question.chance, "said": tooltip})
    return columns(rows, ("kind", "w", "question", "chance", "value", "low", "high", "said"))
