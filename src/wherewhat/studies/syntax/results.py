"""The numbers of the study by name, for its runs, its claims and its page; free of torch, as a page must be."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wherewhat.probing.dependencies.settings import ALL, TO_HEAD
from wherewhat.probing.dependencies.settings import DISTANCES as REACHES
from wherewhat.stats.estimate import Estimate
from wherewhat.studies.engine.results import Cell, ResultTable

TRAINED, UNTRAINED = STATES = ("trained", "untrained")
BIAS, ATTENTION = LOCALITIES = ("bias.locality", "attention.locality")  # of a curve; of attention over identical words
EACH = "each"  # all relations together, each found by its own head; ALL is one head for all relations
DISTANCES = {float(least): name for name, (least, _) in REACHES.items() if name != ALL}  # by the smallest of each group
# Groups of encodings, and what they have in common.
FREE, ONE_SIDED, EVEN, SIDED = "free", "one-sided", "symmetric", "sided"
GROUPS: dict[str, str] = {
    FREE: "encodings whose heads can learn to attend to either side, at any distance",
    ONE_SIDED: "curves of distance that are flatter on one side, the same in all heads",
    EVEN: "encodings that treat both sides alike, and no encoding",
    SIDED: "all encodings that tell the two sides apart",
}


def share(kind: str, item: str = EACH, *, at: float | None = None, side: str = TO_HEAD, part: str = TRAINED) -> Cell:
    """The share of rows that are found, of a relation or at a distance; `kind` is one of `head_selection.KINDS`."""
    return Cell(part, f"{side}: {kind}", item, at)


def grouped(table: ResultTable, groups_of: Mapping[str, Sequence[str]]) -> ResultTable:
    """The table with the encodings of every group as its notes, from the groups of every encoding."""
    groups = {group: [name for name, its in groups_of.items() if group in its] for group in GROUPS}
    return replace(table, notes={group: names for group, names in groups.items() if names})


def members(table: ResultTable, group: str = FREE) -> list[str]:
    """The names of the encodings of a group."""
    return list(table.notes.get(group, ()))


def gap(table: ResultTable, above: Cell, below: Cell, group: str = FREE) -> Estimate:
    """By how much one share exceeds another of the same nets, the mean over the encodings of a group."""
    return table.difference(members(table, group), members(table, group), above, below)


def relations(table: ResultTable) -> list[str]:
    """Every relation with enough rows from some seed, by mean distance."""
    far = table.means("item", part=TRAINED, measure=f"{TO_HEAD}: distance")
    return sorted(far.keys() - {ALL, EACH}, key=lambda name: (far[name], name))
