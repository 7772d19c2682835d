"""The two tables of the page of counting: how each learnt region is counted, and all numbers of every net."""

from wherewhat.formatting import MISSING, percent, short
from wherewhat.published.counting import TOP_1 as PUBLISHED
from wherewhat.report.blocks.numbers import per_cent
from wherewhat.report.blocks.table import table as table_of
from wherewhat.report.core.html import Html
from wherewhat.studies.counting.biases import INERT, LearntRegion, relative_slopes, slope_cell
from wherewhat.studies.counting.names import (
    MEAN_FREQUENCY,
    OWN,
    SCORES,
    SIZES,
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
    """What each learnt region is compared with, answers with other states, slopes, and attention."""
    several = (about.seeds or 1) > 1
    rows = []
    for bias in next(iter(about.expected.values()), {}):
        slopes = [short(slope[bias]) for slope in about.expected.values()]
        rows.append(
            [f"expected: {bias}", bias, INERT, *[MISSING] * 3, "1", *slopes, *[MISSING] * (len(TOKEN_TYPES) + 1)]
        )
    for each in learnt:
        masses = [mass(table, each, kind) for kind in TOKEN_TYPES]
        inside = sum(mass(table, each, f"{kind}{OWN}") for kind in TOKEN_TYPES)
        trained = short((table.row(each.net, slope_cell(TRAINED, each.region), each.seed) or {}).get("value"))
        relative = relative_slopes(table, each.net, each.seed, each.region, list(about.expected))
        slopes = [trained, *(short(relative.get(size)) for size in about.expected)]
        swapped, attention = [percent(each.kept), percent(each.moved)], map(percent, (*masses, inside))
        name = f"{each.net}, region {each.region}{f', seed {each.seed}' if several else ''}"
        fitting = ", ".join(each.by_slopes) or "none of them"
        rows.append([name, each.by_mass or MISSING, each.states, fitting, *swapped, *slopes, *attention])
    headings = ["region", "ones and", "their states", "slopes fit", "stay right", "other's count", *SIZES]
    headings += [*TOKEN_TYPES, "inside its region"]
    groups = [("", 4), ("with other states", 2), ("slope", len(SIZES))]
    groups.append(("attention of its query", len(TOKEN_TYPES) + 1))
    return table_of(headings, rows, label="how regions are counted", groups=groups)


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
        encoder = [short(value_of(table, net, Cell("encoder", "mass", kind))) for kind in TOKEN_TYPES]
        scores = [short(value_of(table, net, Cell("heads", score))) for score in (*SCORES, MEAN_FREQUENCY)]
        rows.append(
            [shown(net), *(median_and_best(*pair) for pair in (*ours, *published)), five, decoded, *encoder, *scores]
        )
    groups = [("", 1), ("median (best), top-1", len(SIZES)), ("published", len(SIZES)), ("top-5", 1), ("", 1)]
    groups += [("ones attend to", len(TOKEN_TYPES)), ("head", len(SCORES) + 1)]
    headings = ["net", *SIZES, *SIZES, TRAINED, "region decoded", *TOKEN_TYPES]
    headings += ["entropy", "locality", "position share", "symbol share", "mean frequency"]
    return table_of(headings, rows, label="all nets", groups=groups)


def median_and_best(median: float | None, best: float | None) -> str:
    """Two shares of the regions and seeds of a net, in per cent.

    >>> median_and_best(0.309, 0.954), median_and_best(None, None)
    ('30.9 (95.4)', '–')
    """
    return MISSING if median is None else f"{per_cent(median)} ({per_cent(best)})"
