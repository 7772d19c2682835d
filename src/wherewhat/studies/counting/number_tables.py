"""The tables of the page of counting: how each learnt region is counted, and all numbers of every net."""

import math

from wherewhat.formatting import MISSING, percent, short
from wherewhat.published.counting import TOP_1 as PUBLISHED
from wherewhat.report.blocks.numbers import per_cent
from wherewhat.report.blocks.table import table as table_of
from wherewhat.report.core.html import Html
from wherewhat.studies.counting.biases import INERT, LearntRegion, relative_slopes, slope_cell
from wherewhat.studies.counting.names import (
    CLOSING,
    ENCODER_QUERIES,
    KEPT,
    MEAN_FREQUENCY,
    MOVED,
    OPENING,
    OWN,
    SCORES,
    SIZES,
    SUBTRACTED,
    TOKEN_TYPES,
    TOP_1,
    TOP_5,
    TRAINED,
    shown,
)
from wherewhat.studies.counting.solution import mass
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.tables.manifest.study import CountingSection


def bias_table(table: ResultTable, about: CountingSection, learnt: list[LearntRegion]) -> Html:
    """What each learnt region is compared with, answers with the states of others, slopes, and attention."""
    several = (about.seeds or 1) > 1
    rows = []
    for bias in next(iter(about.expected.values()), {}):
        slopes = [short(slope[bias]) for slope in about.expected.values()]
        rows.append(
            [f"expected: {bias}", bias, INERT, *[MISSING] * 5, "1", *slopes, *[MISSING] * (len(TOKEN_TYPES) + 1)]
        )
    for each in learnt:
        masses = [mass(table, each, kind) for kind in TOKEN_TYPES]
        inside = sum(mass(table, each, f"{kind}{OWN}") for kind in TOKEN_TYPES)
        trained = short((table.row(each.net, slope_cell(TRAINED, each.region), each.seed) or {}).get("value"))
        relative = relative_slopes(table, each.net, each.seed, each.region, list(about.expected))
        slopes = [trained, *(short(relative.get(size)) for size in about.expected)]
        shares = (each.share(KEPT), each.share(MOVED), *(each.share(SUBTRACTED, kind) for kind in (OPENING, CLOSING)))
        swapped, attention = map(share_or_dash, shares), map(percent, (*masses, inside))
        name = f"{each.net}, region {each.region}{f', seed {each.seed}' if several else ''}"
        fitting = ", ".join(each.by_slopes) or "none of them"
        rows.append([name, each.by_mass or MISSING, each.states, fitting, *swapped, *slopes, *attention])
    headings = ["region", "compared with", "states of these", "slopes fit", "stay right", "become the other's count"]
    headings += ["[ alone: difference", "] alone: difference", *SIZES, *TOKEN_TYPES, "inside its region"]
    groups = [("", 4), ("right answers with states of another sequence", 4), ("slope", len(SIZES))]
    groups.append(("attention of its query", len(TOKEN_TYPES) + 1))
    return table_of(headings, rows, label="how regions are counted", groups=groups)


def share_or_dash(value: float) -> str:
    """A share in per cent, or a dash where it was not measured."""
    return MISSING if math.isnan(value) else percent(value)


def attention_table(table: ResultTable, about: CountingSection) -> Html:
    """What the query of every region attends to in the read-out of every net, by kind of token."""
    rows = [
        [f"{shown(net)}, region {region}", *map(per_cent, masses)]
        for net in about.nets
        for region in range(about.regions)
        if any(masses := [value_of(table, net, Cell("attention", "mass", kind, float(region))) for kind in TOKEN_TYPES])
    ]
    return table_of(["% of attention", *TOKEN_TYPES], rows, label="attention of the read-out")


def value_of(table: ResultTable, net: str, cell: Cell) -> float | None:
    """The mean over seeds of one number of a net."""
    return (table.row(net, cell) or {}).get("value")


def number_table(table: ResultTable, about: CountingSection) -> Html:
    """Medians, the linear decoder of regions, what ones attend to in the encoder, and its head's scores."""
    rows = []
    for net in about.nets:
        ours = [[value_of(table, net, Cell(part, TOP_1, size)) for part in ("median", "maximum")] for size in SIZES]
        published: list[list[float | None]] = [[value / 100 for value in pair] for pair in PUBLISHED.get(net, ())]
        published += [[None, None]] * (len(SIZES) - len(published))
        five = per_cent(value_of(table, net, Cell("median", TOP_5, TRAINED)))
        decoded = per_cent(value_of(table, net, Cell("decode", "accuracy")))
        cells = [Cell("encoder", query, kind) for query in ENCODER_QUERIES for kind in TOKEN_TYPES]
        encoder = [short(value_of(table, net, cell)) for cell in cells]
        scores = [short(value_of(table, net, Cell("heads", score))) for score in (*SCORES, MEAN_FREQUENCY)]
        rows.append(
            [shown(net), *(median_and_best(*pair) for pair in (*ours, *published)), five, decoded, *encoder, *scores]
        )
    groups = [("", 1), ("median (best), top-1", len(SIZES)), ("published", len(SIZES)), ("top-5", 1), ("", 1)]
    groups += [("ones attend to", len(TOKEN_TYPES)), ("brackets attend to", len(TOKEN_TYPES))]
    groups.append(("head", len(SCORES) + 1))
    headings = ["net", *SIZES, *SIZES, TRAINED, "region decoded", *TOKEN_TYPES, *TOKEN_TYPES]
    headings += ["entropy", "locality", "position share", "symbol share", "mean frequency"]
    return table_of(headings, rows, label="all nets", groups=groups)


def median_and_best(median: float | None, best: float | None) -> str:
    """Two shares of the regions and seeds of a net, in per cent.

    >>> median_and_best(0.309, 0.954), median_and_best(None, None)
    ('30.9 (95.4)', '–')
    """
    return MISSING if median is None else f"{per_cent(median)} ({per_cent(best)})"
