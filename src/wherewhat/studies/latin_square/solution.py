"""How nets solve Latin squares, in one sentence and what it rests on: two links of attention that answers need.

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
    whole_cell,
)
from wherewhat.tables.manifest.study import LatinSquareSection, LongAnswer

# By its first link, what a net may need next, in a later block. The queried cell can gather only in a block before the
# last, of which the last cell alone is read.
THEN = {GATHERS: (READS, READS_LINES), READS: (READS_LINES,)}
LEADS = {  # what the solution is, by the first link of most nets
    GATHERS: "the queried cell gathers its row and column, and the last cell then reads them",
    READS: "the last cell needs its link to the queried cell, and then reads the row and column of that cell",
}
FIRST = {
    GATHERS: "the queried cell first needs its link to its own row and column, then the last cell its link to",
    READS: "the last cell first needs its link to the queried cell, then its link to",
}
SECOND = {READS: "the queried cell", READS_LINES: "the row and column of the queried cell"}

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


def solution(table: ResultTable, about: LatinSquareSection) -> LongAnswer:
    """How nets that have learnt the task solve it: the links that they cannot do without, and how far they attend."""
    nets = [
        (arm, seed)
        for arm in about.arms
        for seed in table.seeds
        if table.value(name_of(SQUARES, arm), accuracy(), seed) >= LEARNT
    ]
    if not nets:
        return LongAnswer(
            lead=f"No net answers {percent(LEARNT)} of the test puzzles, so there is no solution to describe"
        )
    solutions = {net: its for net in nets if (its := solution_of(table, net, about.layers or 1)) is not None}
    parts = [how_many(len(solutions), len(nets))]
    for link in FIRST:
        alike = {net: its for net, its in solutions.items() if its.first.link == link}
        parts += [solution_words(table, alike)] if alike else []
    if solutions and (rest := [net for net in nets if net not in solutions]):
        parts.append(f"With {names(rest, len(table.seeds))}, no two such links are clear.")
    return LongAnswer(lead=lead(list(solutions.values()), len(nets)), rest=" ".join(parts))


def lead(solutions: Sequence[Solution], nets: int) -> str:
    """What the solution of most nets is, in one sentence without its full stop."""
    if not solutions:
        return "No net that has learnt the task clearly needs two steps to read the row and column of the queried cell"
    link, number = Counter(each.first.link for each in solutions).most_common(1)[0]
    if nets == 1:
        return f"In the net that has learnt the task, {LEADS[link]}"
    if number <= nets / 2:
        return "Nets that have learnt the task do not mostly share one clear solution"
    return f"In {'all' if number == nets else 'most'} nets that have learnt the task, {LEADS[link]}"


def how_many(needing: int, nets: int) -> str:
    """How many nets need two links."""
    two = "two links of attention, the second in a later block"
    answering = f"at least {percent(LEARNT)} of the test puzzles"
    if nets == 1:
        return f"One net answers {answering}, and clearly {'needs' if needing else 'does not need'} {two}."
    which = f"{needing or 'None'} of {nets} nets that answer {answering}"
    return f"{which} clearly {'needs' if needing < 2 else 'need'} {two}."


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
    whole, without = (table.row(name, cell, seed) for cell in (whole_cell(), removed_cell(link, block)))
    if whole is None or without is None or whole["low"] is None or not without["high"] < whole["low"]:
        return None
    return Step(link, table.value(name, attention_cell(link, block), seed), whole["value"], without["value"])


def solution_words(table: ResultTable, solutions: Mapping[Net, Solution]) -> str:
    """The nets that need the same first link, what they need next, and mean accuracies and attention of both links.

    Of what the last cell reads, the numbers are those of the link that costs most nets most.
    """
    each = list(solutions.values())
    first = each[0].first.link
    links = [link for link in SECOND if any(step.link == link for s in each for step in s.then)]
    every = all(len(s.then) == len(links) for s in each)
    reads = f" {'and' if every else 'or'} ".join(SECOND[link] for link in links)
    costly = Counter(s.then[0].link for s in each).most_common(1)[0][0]
    later = [step for s in each for step in s.then if step.link == costly]
    return (
        f"With {names(list(solutions), len(table.seeds))}, {FIRST[first]} {reads}. "
        f"Without the first link, {step_words(table, [s.first for s in each])}. "
        f"Without the link to {SECOND[costly]}, {step_words(table, later)}."
    )


def step_words(table: ResultTable, steps: Sequence[Step]) -> str:
    """What the same link does in several nets: mean accuracies with and without it, and its share of attention."""
    whole, without, attention = (
        percent(fmean(values))
        for values in zip(*((step.whole, step.without, step.attention) for step in steps), strict=True)
    )
    uniform = percent(table.value("", chance(steps[0].link)))
    return f"accuracy falls from {whole} to {without}; it has {attention} of the attention (uniform: {uniform})"


def names(nets: Sequence[Net], seeds: int) -> str:
    """The kinds of some nets, with how many of the seeds where there are several."""
    counts = Counter(arm for arm, _ in nets)
    return listed([label(arm) + (f" in {n} of {seeds} seeds" if seeds > 1 else "") for arm, n in counts.items()])
