"""How nets solve Latin squares, in a few sentences: two links of attention in successive blocks that answers need.

What a net needs is decided net by net, by removing a link: kinds of nets may find another solution from each seed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

from wherewhat.formatting import listed, percent
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.latin_square.names import (
    GATHERS,
    LEARNT,
    READS,
    READS_LINES,
    SQUARES,
    accuracy,
    attention_cell,
    chance,
    label,
    name_of,
    removed_cell,
)
from wherewhat.tables.manifest.study import LatinSquareSection

# By its first link, what a net may need next, in a later block. The queried cell can gather only in a block before the
# last, of which the last cell alone is read.
THEN = {GATHERS: (READS, READS_LINES), READS: (READS_LINES,)}
FIRST = {
    GATHERS: "the queried cell gathers its row and column, and the last cell then reads",
    READS: "the last cell reads the queried cell and then",
}
SECOND = {READS: "the queried cell", READS_LINES: "its row and column"}

Net = tuple[str, int]  # an arm and a seed


class Step(NamedTuple):
    """A link that a block of a net needs: its share of attention, and accuracy with it and without it."""

    link: str
    attention: float
    whole: float
    without: float

    @property
    def drop(self) -> float:
        """The accuracy that is lost without it."""
        return self.whole - self.without


class Solution(NamedTuple):
    """What a net needs first, and what of it later, with the largest drop first."""

    first: Step
    then: Sequence[Step]


def solution(table: ResultTable, about: LatinSquareSection) -> str:
    """How nets that have learnt the task solve it: the links that they cannot do without, and how far they attend."""
    nets = [
        (arm, seed)
        for arm in about.arms
        for seed in table.seeds
        if table.value(name_of(SQUARES, arm), accuracy(), seed) >= LEARNT
    ]
    if not nets:
        return f"No net answers {percent(LEARNT)} of the test puzzles, so there is no solution to describe."
    solutions = {net: its for net in nets if (its := solution_of(table, net, about.layers or 1)) is not None}
    share = percent(LEARNT)
    lead = f"{len(solutions) or 'None'} of {len(nets)} nets that answer at least {share} of the test puzzles clearly"
    parts = [
        f"{lead} {'needs' if len(solutions) < 2 else 'need'} two steps to read the row and column of the queried cell."
    ]
    for link in FIRST:
        alike = {net: its for net, its in solutions.items() if its.first.link == link}
        parts += [solution_words(table, alike)] if alike else []
    if solutions and (rest := [net for net in nets if net not in solutions]):
        parts.append(f"With {names(rest, len(table.seeds))}, no two such steps are clear.")
    return " ".join(parts)


def solution_of(table: ResultTable, net: Net, layers: int) -> Solution | None:
    """The two steps whose removal costs a net most; None where it does not clearly need two."""
    solutions = [
        Solution(first, sorted(then, key=lambda step: -step.drop))
        for before, after in combinations(range(layers), 2)
        for link, others in THEN.items()
        if (first := needed(table, net, link, before))
        and (then := [step for other in others if (step := needed(table, net, other, after))])
    ]
    return max(solutions, key=lambda each: each.first.drop + each.then[0].drop, default=None)


def needed(table: ResultTable, net: Net, link: str, block: int) -> Step | None:
    """A link of a block without which accuracy is clearly lower: its interval is below that of the whole net."""
    name, seed = name_of(SQUARES, net[0]), net[1]
    whole, without = (table.row(name, removed_cell(link, each), seed) for each in (None, block))
    if whole is None or without is None or whole["low"] is None or not without["high"] < whole["low"]:
        return None
    return Step(link, table.value(name, attention_cell(link, block), seed), whole["value"], without["value"])


def solution_words(table: ResultTable, solutions: Mapping[Net, Solution]) -> str:
    """The nets that need the same first step, what they need next, and mean accuracies and attention of both steps.

    Of what the last cell reads, the numbers are those of the link that costs most nets most.
    """
    each = list(solutions.values())
    first, links = (
        each[0].first.link,
        [link for link in SECOND if any(step.link == link for s in each for step in s.then)],
    )
    every = all(len(s.then) == len(links) for s in each)
    reads = f" {'and' if every else 'or'} ".join(SECOND[link] for link in links)
    link = Counter(s.then[0].link for s in each).most_common(1)[0][0]
    steps = [s.first for s in each], [step for s in each for step in s.then if step.link == link]
    (whole, without), (whole_, without_) = (
        [percent(fmean(values)) for values in zip(*((step.whole, step.without) for step in its), strict=True)]
        for its in steps
    )
    shares = " and ".join(percent(fmean(step.attention for step in its)) for its in steps)
    uniform = " and ".join(percent(table.value("", chance(link_))) for link_ in (first, link))
    return (
        f"With {names(list(solutions), len(table.seeds))}, {FIRST[first]} {reads}: without the first step accuracy "
        f"falls from {whole} to {without}, without reading {SECOND[link]} from {whole_} to {without_}; these links "
        f"have {shares} of the attention (uniform: {uniform})."
    )


def names(nets: Sequence[Net], seeds: int) -> str:
    """The kinds of some nets, with how many of the seeds where there are several."""
    counts = Counter(arm for arm, _ in nets)
    return listed([label(arm) + (f" in {n} of {seeds} seeds" if seeds > 1 else "") for arm, n in counts.items()])
