"""The findings of a comparison in sentences: how many heads changed, in which layers, their spread and their mean."""

from collections.abc import Mapping, Sequence
from typing import Any

from wherewhat.formatting import count, listed, short
from wherewhat.report.compare_tables import ComparisonData, between, by, of_all
from wherewhat.report.edit_tables import clear, lacks_interval, plain

MOST_SENTENCES = 3
BECAME = {  # by measure, each reported once: what heads became where it rose, and where it fell
    "locality": ("more local", "less local"),
    "symmetry": ("more symmetric", "less symmetric"),
    "balance": ("more balanced between left and right", "less balanced between left and right"),
    "position_share": ("more positional", "less positional"),
    "symbol_share": ("more symbolic", "less symbolic"),
    "entropy": ("broader", "sharper"),
}
SPLIT = 0.25  # heads split if those that go one way are at least this share of those that go the other
WIDER = 1.5  # times as wide: heads spread apart; as many times narrower: they move together
NARROW = 0.02  # of the range: a middle half narrower than this before and after has no spread worth reporting
MOST_LAYERS = 3


def sentences(comparison: ComparisonData) -> list[str]:
    """One sentence per leading measure, from its first source."""
    tell = paired if comparison.paired else unpaired
    return [tell(row, comparison) for row in telling(comparison)]


def telling(comparison: ComparisonData) -> list[dict[str, Any]]:
    """The rows that the findings are made of."""
    chosen: dict[str, dict[str, Any]] = {}
    for row in comparison.leading:
        measure = row["score"].rpartition(".")[2]
        if measure in BECAME:
            chosen.setdefault(measure, row)
    return (list(chosen.values()) or comparison.leading)[:MOST_SENTENCES]


def paired(row: Mapping[str, Any], comparison: ComparisonData) -> str:
    """How the heads changed, each from before to after."""
    layers = _layers(row, comparison)
    moved = ", ".join([_counted(row), *([f"most in {layers}"] if layers else [])])
    return f"{_headline(row)}: {moved}; {_spread(row)}; {_mean(row)}."


def unpaired(row: Mapping[str, Any], comparison: ComparisonData) -> str:
    """How the heads of a model are distributed compared with those of a model of another shape."""
    (low, high), (later_low, later_high) = row["halves"]["before"], row["halves"]["after"]
    sure = f" ({between(row)} over heads)" if between(row) else ""
    return (
        f"{plain(row['what'])}: half of the heads are at {short(later_low)} to {short(later_high)} in "
        f"{comparison.last} and at {short(low)} to {short(high)} in {comparison.first}; the means are "
        f"{short(row['after'])} and "
        f"{short(row['before'])}, a difference of {by(row['change'])}{sure}."
    )


def _headline(row: Mapping[str, Any]) -> str:
    """What became of the heads in a few words; a split is reported even if the mean stays."""
    name, measure = plain(row["what"]), row["score"].rpartition(".")[2]
    fewer, more = sorted((row["up"], row["down"]))
    if lacks_interval(row) and not row["exact"]:
        return f"{name}, without intervals"
    if not more:
        return f"no clear change of {name}"
    if fewer >= SPLIT * more:
        return f"heads split by {name}"
    became = BECAME.get(measure, ("higher", "lower"))[row["down"] > row["up"]]
    return f"{became} ({name})"


def _spread(row: Mapping[str, Any]) -> str:
    """Whether heads are spread more widely than before: their middle half, before and after."""
    before, after = row["halves"]["before"], row["halves"]["after"]
    ends = f"half of them {short(before[0])} to {short(before[1])} → {short(after[0])} to {short(after[1])}"
    widths = [high - low for low, high in (before, after)]
    if max(widths) < NARROW or widths[0] / WIDER < widths[1] < widths[0] * WIDER:
        return f"their spread is about the same ({ends})"
    return f"they {'spread apart' if widths[1] > widths[0] else 'moved together'} ({ends})"


def _counted(row: Mapping[str, Any]) -> str:
    """How many of them clearly changed, and in which direction."""
    if row["exact"]:
        return f"{row['up']} of {count(row['heads'], 'head')} up and {row['down']} down"
    if lacks_interval(row):
        return "no head has an interval"
    if not row["up"] and not row["down"]:
        return f"none of {count(row['heads'], 'head')} clearly up or down"
    return f"{row['up']} of {count(row['heads'], 'head')} clearly up and {row['down']} clearly down"


def _layers(row: Mapping[str, Any], comparison: ComparisonData) -> str:
    """The layers whose means clearly changed, the largest changes first."""
    layers: Sequence[Mapping[str, Any]] = comparison.moved_layers(row["what"])[:MOST_LAYERS]
    return listed([f"layer {layer['layer']} ({by(layer['change'])})" for layer in layers])


def _mean(row: Mapping[str, Any]) -> str:
    """Their mean before and after, with the interval of its change."""
    numbers = f"mean {short(row['before'])} → {short(row['after'])}"
    if row["exact"] or lacks_interval(row):
        return numbers if row["exact"] else f"{numbers}, without an interval"
    if not clear(row):
        return f"{numbers}, no clear change ({between(row)})"
    general = f", not clear for heads in general ({between(of_all(row))} over heads)"
    return f"{numbers} ({between(row)}){general if row['over_heads'] and not clear(of_all(row)) else ''}"
