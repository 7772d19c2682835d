"""How nets solve Latin squares, in one sentence and what it rests on: routes to the answer along rows and columns.

A route is two links of attention, the second in a later block. What a net needs is decided net by net, by removing a
link: kinds of nets may find another solution from each seed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import isnan, nan
from statistics import fmean
from typing import NamedTuple

from wherewhat.formatting import count, listed, percent
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.latin_square.names import (
    GATHERS,
    GROUPS,
    LEARNT,
    MARKS,
    OUTSIDE,
    READS,
    READS_LINES,
    RULED_OUT,
    SQUARES,
    TOGETHER,
    accuracy,
    attention_cell,
    chance,
    guess_cell,
    label,
    name_of,
    removed_cell,
    removed_in,
    together_cell,
    whole_cell,
)
from wherewhat.tables.manifest.study import LatinSquareSection, LongAnswer

# By its first link, the link in a later block that a route ends with: what a cell has read in the first one reaches the
# answer only where the last cell, of which alone the answer is read, attends to that cell later.
THEN = {MARKS: READS_LINES, GATHERS: READS, READS: READS_LINES}
ROUTES = {
    MARKS: "the cells in the row and column of the queried cell attend to it, and the last cell then attends to them",
    GATHERS: "the queried cell attends to its row and column, and the last cell then attends to the queried cell",
    READS: "the last cell attends to the queried cell, and then to the row and column of that cell",
}
AT_LEAST = f"at least {percent(LEARNT)} of the test puzzles"
ANSWERING = f"that answer {AT_LEAST}"
ALONG = "along rows and columns"

ROUNDED = 0.05  # points that are written as 0.0

Net = tuple[str, int]  # an arm and a seed


class Step(NamedTuple):
    """A link that a block of a net needs: its share of attention, and accuracy with it and without it."""

    link: str
    block: int
    attention: float
    whole: float
    without: float

    @property
    def drop(self) -> float:
        """The accuracy that is lost without it."""
        return self.whole - self.without


class Route(NamedTuple):
    """Two links of a net, both of which it needs, the second in a later block."""

    first: Step
    then: Step

    @property
    def drop(self) -> float:
        """The accuracy that depends on the route: no more than is lost without either of its links.

        Without a first link alone, more may be lost: what is left of its row of attention is another mixture than any
        that later blocks have learnt to read.
        """
        return min(self.first.drop, self.then.drop)


Routes = Sequence[Route]  # of a net, one per first link, from the one that matters most


def solution(table: ResultTable, about: LatinSquareSection) -> LongAnswer:
    """How nets that have learnt the task solve it: the routes that they need, and that other cells do not matter."""
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
    blocks = about.layers or 1
    routes = {net: its for net in nets if (its := routes_of(table, net, blocks))}
    parts = [how_many(len(routes), len(nets)), outside_words(table, nets, blocks)]
    for link in ROUTES:
        alike = {net: its for net, its in routes.items() if its[0].first.link == link}
        parts += [route_words(table, link, alike)] if alike else []
    parts += [together_words(table, routes), quaternary_words(table, nets)]
    if routes and (rest := [net for net in nets if net not in routes]):
        parts.append(f"{cases(rest, table)}, no route is clear.")
    return LongAnswer(lead=lead(list(routes.values()), len(nets)), rest=" ".join(part for part in parts if part))


def lead(routes: Sequence[Routes], nets: int) -> str:
    """What the solution of most nets is, in one sentence without its full stop: the route that costs them most."""
    if not routes and nets == 1:
        return f"The net that answers {AT_LEAST} does not clearly need both links of a route {ALONG}"
    if not routes:
        return f"None of the nets {ANSWERING} clearly needs both links of a route {ALONG}"
    link, number = Counter(its[0].first.link for its in routes).most_common(1)[0]
    if nets == 1:
        return f"The net that answers {AT_LEAST} solves them {ALONG}: {ROUTES[link]}"
    if number > nets / 2:
        return f"{'All' if number == nets else 'Most'} nets {ANSWERING} solve them {ALONG}: {ROUTES[link]}"
    if len(routes) > nets / 2:
        most = "All" if len(routes) == nets else "Most"
        return f"{most} nets {ANSWERING} solve them {ALONG}, but not mostly by the same route"
    return f"Nets {ANSWERING} do not mostly share one clear solution"


def how_many(needing: int, nets: int) -> str:
    """How many nets need both links of a route; empty of a single one, of which the lead says it."""
    if nets == 1:
        return ""
    return (
        f"{needing or 'None'} of these {nets} nets clearly {'needs' if needing < 2 else 'need'} both links of a route."
    )


def routes_of(table: ResultTable, net: Net, blocks: int) -> Routes:
    """The routes that a net clearly needs, each between the blocks where it matters most."""
    routes: list[Route] = []
    for link, then in THEN.items():
        pairs = (
            (needed(table, net, link, before), needed(table, net, then, after))
            for before, after in combinations(range(blocks), 2)
        )
        known = [Route(first, second) for first, second in pairs if first and second]
        routes += [max(known, key=lambda route: route.drop)] if known else []
    return sorted(routes, key=lambda route: -route.drop)


def needed(table: ResultTable, net: Net, link: str, block: int, group: str = "") -> Step | None:
    """A link of a block without which accuracy is clearly lower: its interval is below that of the whole net.

    On all puzzles or on a class of them.
    """
    name, seed = name_of(SQUARES, net[0]), net[1]
    cells = [whole_cell(), removed_cell(link, block)]
    whole, without = (table.row(name, removed_in(group, cell) if group else cell, seed) for cell in cells)
    if whole is None or without is None or whole["low"] is None or not without["high"] < whole["low"]:
        return None
    return Step(link, block, table.value(name, attention_cell(link, block), seed), whole["value"], without["value"])


def outside_words(table: ResultTable, nets: Sequence[Net], blocks: int) -> str:
    """Whether nets also need what the queried cell reads outside its row and column; empty where not measured."""
    for group, where in (("", ""), (GROUPS[-1], f" in {GROUPS[-1]} puzzles")):
        needing = [net for net in nets if any(needed(table, net, OUTSIDE, block, group) for block in range(blocks))]
        if needing:
            return f"{cases(needing, table)}, the queried cell also needs cells outside its row and column{where}."
    most, of_hard = most_lost(table, nets, blocks), most_lost(table, nets, blocks, GROUPS[-1])
    if isnan(most):
        return ""
    lost, of_hard_lost = ("accuracy" if each < ROUNDED else f"more than {each:.1f} points" for each in (most, of_hard))
    return (
        "None needs the attention of the queried cell to cells outside its row and column: without it in any one "
        f"block, no net loses {lost}."
        + ("" if isnan(of_hard) else f" Of {GROUPS[-1]} puzzles alone, none loses {of_hard_lost}.")
    )


def most_lost(table: ResultTable, nets: Sequence[Net], blocks: int, group: str = "") -> float:
    """The most that a net loses, in points, where the queried cell does not see cells outside its row and column.

    In all puzzles or in a class of them; NaN where not measured.
    """
    cells = [whole_cell(), *(removed_cell(OUTSIDE, block) for block in range(blocks))]
    shown = [removed_in(group, cell) if group else cell for cell in cells]
    drops = []
    for arm, seed in nets:
        whole, *without = (table.value(name_of(SQUARES, arm), cell, seed) for cell in shown)
        drops += [whole - each for each in without]
    return nan if any(map(isnan, drops)) else 100 * max(0.0, *drops)


def route_words(table: ResultTable, link: str, routes: Mapping[Net, Routes]) -> str:
    """The nets whose main route begins with a link, what each half of it costs them, and the other routes they need."""
    sentences = [
        f"{cases(routes, table)}, the route that costs most to cut is this: {ROUTES[link]}.",
        cost_words([its[0] for its in routes.values()]),
        attention_words(table, [its[0] for its in routes.values()]),
    ]
    for other in ROUTES:
        also = {net: route for net, its in routes.items() for route in its[1:] if route.first.link == other}
        if also:
            sentences.append(f"{cases(also, table)}, a second route costs less: {ROUTES[other]}.")
            sentences.append(cost_words(list(also.values())))
    return " ".join(sentences)


def cost_words(routes: Sequence[Route]) -> str:
    """Mean accuracies without either link of a route."""
    whole, first, then = (
        percent(fmean(values))
        for values in zip(*((each.first.whole, each.first.without, each.then.without) for each in routes), strict=True)
    )
    return f"Accuracy falls from {whole} to {first} without the first of these links, to {then} without the second."


def attention_words(table: ResultTable, routes: Sequence[Route]) -> str:
    """The mean share of attention of both links of a route, with that of uniform attention."""
    shares = [percent(fmean(step.attention for step in steps)) for steps in zip(*routes, strict=True)]
    first, then = (percent(table.value("", chance(step.link))) for step in routes[0])
    return f"They have {shares[0]} and {shares[1]} of the attention (uniform: {first} and {then})."


def together_words(table: ResultTable, routes: Mapping[Net, Routes]) -> str:
    """What becomes of nets with two routes that end at different cells when one link of each is removed."""
    both: dict[Net, tuple[float, float]] = {}
    begins, ends = TOGETHER
    for net, its in routes.items():
        before = [route.first for route in its if route.first.link == begins]
        after = [route.then for route in its if route.then.link == ends]
        if before and after:
            cell = together_cell(before[0].block, after[0].block)
            both[net] = (before[0].whole, table.value(name_of(SQUARES, net[0]), cell, net[1]))
    both = {net: values for net, values in both.items() if not isnan(values[1])}
    if not both:
        return ""
    whole, without = (percent(fmean(values)) for values in zip(*both.values(), strict=True))
    needs = count(len(both), "net needs", "nets need")
    return (
        f"{needs} both the route over the row and column and the one over the queried cell: with one link of each "
        f"removed, accuracy falls from {whole} to {without}."
    )


def quaternary_words(table: ResultTable, nets: Sequence[Net]) -> str:
    """Whether the best nets at quaternary puzzles do more there than rule out symbols and count; empty if unknown.

    Of the kinds of nets that have learnt the task from every seed, as numbers are means over all of them.
    """
    arms = [arm for arm, seeds in Counter(arm for arm, _ in nets).items() if seeds == len(table.seeds)]
    rows = {arm: row for arm in arms if (row := table.row(name_of(SQUARES, arm), accuracy(GROUPS[-1])))}
    guess = table.row(RULED_OUT, guess_cell(GROUPS[-1]))
    if not rows or guess is None:
        return ""
    best = max(rows, key=lambda arm: rows[arm]["value"])
    value, level = rows[best]["value"], guess["value"]
    low, high = (nan if end is None else end for end in (rows[best]["low"], rows[best]["high"]))
    clear = low > (level if guess["high"] is None else guess["high"])
    better = "clearly better than" if clear else "no better than" if high <= level else "not clearly better than"
    return (
        f"On quaternary puzzles, nets are {better} a guess that rules out the symbols of the row and column and counts "
        f"the others over the grid: it is right in {percent(level)} of them, and the best kind of nets there, "
        f"{label(best)}, in {percent(value)}."
    )


def cases(nets: Iterable[Net], table: ResultTable) -> str:
    """In which kinds of nets, with how many of the seeds where there are several."""
    counts, seeds = Counter(arm for arm, _ in nets), len(table.seeds)
    return "With " + listed(
        [label(arm) + (f" in {n} of {seeds} seeds" if seeds > 1 else "") for arm, n in counts.items()]
    )
