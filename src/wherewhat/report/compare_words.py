"""What a comparison found, in sentences: how heads spread, which way they moved, in which layers, and their mean."""

from collections.abc import Mapping, Sequence
from typing import Any

from wherewhat.report.compare_tables import Found, between, by, of_all
from wherewhat.report.edit_tables import clear, plain, unsaid
from wherewhat.report.numbers import count, short

MOST_SENTENCES = 3
BECAME = {  # by measure, each told once: what heads became where it rose, and where it fell
    "locality": ("more local", "less local"),
    "symmetry": ("more symmetric", "less symmetric"),
    "balance": ("more balanced between left and right", "less balanced between left and right"),
    "position_share": ("more positional", "less positional"),
    "symbol_share": ("more symbolic", "less symbolic"),
    "entropy": ("broader", "sharper"),
}
SPLIT = 0.25  # as many heads go one way, as a share of those that go the other, where heads split
WIDER = 1.5  # times as wide, from which heads spread apart; as many times narrower, they draw together
NARROW = 0.02  # of the range: a middle half that is narrower before and after has no spread to speak of
MOST_LAYERS = 3


def sentences(found: Found) -> list[str]:
    """One sentence per measure that comes first, from the source that comes first."""
    tell = paired if found.paired else unpaired
    return [tell(row, found) for row in telling(found)]


def telling(found: Found) -> list[dict[str, Any]]:
    """The rows that the headline is made of."""
    chosen: dict[str, dict[str, Any]] = {}
    for row in found.leading:
        measure = row["score"].rpartition(".")[2]
        if measure in BECAME:
            chosen.setdefault(measure, row)
    return (list(chosen.values()) or found.leading)[:MOST_SENTENCES]


def paired(row: Mapping[str, Any], found: Found) -> str:
    """How the heads moved, each from before to after."""
    layers = _layers(row, found)
    moved = ", ".join([_counted(row), *([f"most in {layers}"] if layers else [])])
    return f"{_headline(row)}: {moved}; {_spread(row)}; {_mean(row)}."


def unpaired(row: Mapping[str, Any], found: Found) -> str:
    """How the heads of one model lie beside those of another that has none in common with it."""
    (low, high), (later_low, later_high) = row["halves"]["before"], row["halves"]["after"]
    sure = f" ({between(row)} over heads)" if between(row) else ""
    return (
        f"{plain(row['what'])}: half of the heads lie at {short(later_low)} to {short(later_high)} in {found.last} and "
        f"at {short(low)} to {short(high)} in {found.first}; the means are {short(row['after'])} and "
        f"{short(row['before'])}, a difference of {by(row['change'])}{sure}."
    )


def _headline(row: Mapping[str, Any]) -> str:
    """What became of the heads in a few words: that they split is not hidden behind a mean that stays."""
    name, measure = plain(row["what"]), row["score"].rpartition(".")[2]
    fewer, more = sorted((row["up"], row["down"]))
    if unsaid(row) and not row["exact"]:
        return f"{name}, without intervals"
    if not more:
        return f"no clear change of {name}"
    if fewer >= SPLIT * more:
        return f"heads split by {name}"
    became = BECAME.get(measure, ("higher", "lower"))[row["down"] > row["up"]]
    return f"{became} ({name})"


def _spread(row: Mapping[str, Any]) -> str:
    """Whether heads lie farther apart than before: the half of them in the middle, before and after."""
    before, after = row["halves"]["before"], row["halves"]["after"]
    ends = f"half of them {short(before[0])} to {short(before[1])} → {short(after[0])} to {short(after[1])}"
    widths = [high - low for low, high in (before, after)]
    if max(widths) < NARROW or widths[0] / WIDER < widths[1] < widths[0] * WIDER:
        return f"they lie as far apart as before ({ends})"
    return f"they {'spread apart' if widths[1] > widths[0] else 'drew together'} ({ends})"


def _counted(row: Mapping[str, Any]) -> str:
    """How many of them surely moved, and which way."""
    if row["exact"]:
        return f"{row['up']} of {count(row['heads'], 'head')} up and {row['down']} down"
    if unsaid(row):
        return "no head has an interval"
    if not row["up"] and not row["down"]:
        return f"none of {count(row['heads'], 'head')} clearly up or down"
    return f"{row['up']} of {count(row['heads'], 'head')} clearly up and {row['down']} clearly down"


def _layers(row: Mapping[str, Any], found: Found) -> str:
    """The layers whose means surely moved, those that moved most first."""
    layers: Sequence[Mapping[str, Any]] = found.moved_layers(row["what"])[:MOST_LAYERS]
    told = [f"layer {one['layer']} ({by(one['change'])})" for one in layers]
    return " and ".join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)


def _mean(row: Mapping[str, Any]) -> str:
    """Where their mean went, and how sure that is."""
    numbers = f"mean {short(row['before'])} → {short(row['after'])}"
    if row["exact"] or unsaid(row):
        return numbers if row["exact"] else f"{numbers}, without an interval"
    if not clear(row):
        return f"{numbers}, not told from no change ({between(row)})"
    told = f"{numbers} ({between(row)})"
    if row["over_heads"] and not clear(of_all(row)):
        told += f", which these heads do not show for heads in general ({between(of_all(row))} over heads)"
    return told
