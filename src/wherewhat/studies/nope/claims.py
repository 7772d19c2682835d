"""What was published about nets without positions, and what theory expects of them, each above the test that decides.

Every run of a task from a seed that was learnt has one vote per net. Intervals over seeds are in the table; votes use
margins, because a floor between two seeds is itself the difference of two nets.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from wherewhat.formatting import listed, percent
from wherewhat.stats.verdict import UNPUBLISHED, if_unpublished
from wherewhat.studies.engine.claims import Claim, Verdict
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.nope.published import MASSES, MEANS, ORDER
from wherewhat.studies.nope.results import (
    AGAIN,
    ALIBI,
    APE,
    FAR,
    INVERSE,
    LABELS,
    LONGER,
    NEAR,
    NOPE,
    PLACE,
    QUARTER,
    RELEASED,
    ROPE,
    T5,
    TRAINED,
    TRUE,
    UNIFORM,
    divergence,
    entropy,
    exact,
    explained,
    looked,
    shared_start,
)

LEARNT = 0.9  # the share of exact outputs at training lengths from which a net counts
AT_FLOOR, ABOVE = 1.25, 1.5  # times the divergence of another seed: at most, and at least
CLEAR = 0.1  # of R²: what is more than nothing, and a clear fall
EVERYWHERE = 0.5  # the share of rows that look neither near nor far, at least
Run = tuple[str, int]  # a task and a seed


@dataclass(frozen=True)
class Votes:
    """What the runs say about a claim, and the numbers that they rest on."""

    ours: str
    votes: Sequence[bool]
    why: str = ""


Test = Callable[[ResultTable, Sequence[Run]], Votes]


def claim_by_runs(
    text: str, published: str, *arms: str, answers: Mapping[str, str] | None = None
) -> Callable[[Test], Claim]:
    """A claim about nets with these encodings, decided by the runs that learnt all; by a single seed only in part."""

    def decided_by(test: Test) -> Claim:
        def by_runs(table: ResultTable) -> Verdict:
            runs = [(task.name, seed) for task in table.conditions for seed in table.seeds]
            kept = [run for run in runs if all(table.value(run[0], exact(arm), run[1]) >= LEARNT for arm in arms)]
            if not kept:
                return Verdict(f"in no run did {listed([LABELS[arm] for arm in arms])} learn the task", "unknown")
            votes = test(table, kept)
            share = fmean(votes.votes)
            grade = "agrees" if share == 1 else "disagrees" if share == 0 else "in part"
            single = "A single seed does not show what other seeds would do." if len(table.seeds) == 1 else ""
            named = if_unpublished(grade) if published.startswith(UNPUBLISHED) else grade
            why = " ".join(filter(None, [votes.why, single, excluded(runs, kept)]))
            if grade == "agrees" and single:
                answer = f"{answers[named]} (a single run per task)" if answers else ""
                return Verdict(votes.ours, "in part", why, short=f"{votes.ours}.", answer=answer)
            return Verdict(votes.ours, named, why, short=f"{votes.ours}.")

        return Claim(text, published, by_runs, answers or {})

    return decided_by


def excluded(runs: Sequence[Run], kept: Sequence[Run]) -> str:
    """Which runs a claim leaves out, as a sentence.

    >>> excluded([("scan", 0), ("scan", 1), ("sum", 0)], [("scan", 0)])
    'Not learnt and excluded: scan from 1 seed, sum from 1 seed.'
    """
    missing = [task for task, seed in runs if (task, seed) not in kept]
    counts = {task: missing.count(task) for task in missing}
    words = [f"{task} from {number} {'seed' if number == 1 else 'seeds'}" for task, number in counts.items()]
    return f"Not learnt and excluded: {', '.join(words)}." if words else ""


def values(table: ResultTable, runs: Sequence[Run], cell: Cell) -> list[float]:
    """A number in each of some runs."""
    return [table.value(task, cell, seed) for task, seed in runs]


def by_task(table: ResultTable, runs: Sequence[Run], write: Callable[[ResultTable, Sequence[Run]], str]) -> str:
    """What to say about the runs of each task, one after the other."""
    tasks = dict.fromkeys(task for task, _ in runs)
    words = {task: write(table, [run for run in runs if run[0] == task]) for task in tasks}
    return "; ".join(f"{task}: {words[task]}" for task in tasks)


def mean_of(table: ResultTable, runs: Sequence[Run], cell: Cell) -> float:
    """The mean of a number over some runs."""
    return fmean(values(table, runs, cell))


def blocks_of(table: ResultTable) -> range:
    """The blocks of the nets, counted from 1."""
    return range(1, table.scale.net.layers + 1)


def best_block(table: ResultTable, run: Run, target: str) -> int:
    """After which block the position is read best, at training lengths."""
    return max(blocks_of(table), key=lambda block: table.value(run[0], explained(target, TRAINED, block), run[1]))


# Does it know positions? ------------------------------------------------------------------------------------------


@claim_by_runs(
    "A trained decoder without an encoding of position knows the position of its tokens.",
    f"{UNPUBLISHED}: Theorem 1 shows weights that do, not that training finds them",
    NOPE,
    answers={
        "seen": "Yes: positions can be read off the residual stream of a decoder that was never told them",
        "in part": "In part: in some runs positions can be read off the residual stream of a decoder never told them",
        "not seen": "No: the tokens alone tell positions just as well",
        "unknown": "No net without positions learnt its task, so nothing can be said",
    },
)
def knows_its_place(table: ResultTable, runs: Sequence[Run]) -> Votes:
    """After its best block, R² of the position is clearly above what the tokens alone tell, and above chance."""

    def numbers(run: Run) -> tuple[float, float, float]:
        block = best_block(table, run, PLACE)
        cells = explained(PLACE, TRAINED, block), explained(PLACE, TRAINED, 0)
        shuffled = explained(PLACE, TRAINED, block, shuffled=True)
        knows, tokens, chance = (table.value(run[0], cell, run[1]) for cell in (*cells, shuffled))
        return knows, tokens, chance

    def write(table: ResultTable, some: Sequence[Run]) -> str:
        knows, tokens, chance = (fmean(column) for column in zip(*map(numbers, some), strict=True))
        others = f"{_number(tokens)} from the tokens alone, {_number(chance)} for shuffled positions"
        return f"R² {_number(knows)} after the best block, {others}"

    votes = [knows >= max(tokens, chance) + CLEAR for knows, tokens, chance in map(numbers, runs)]
    return Votes(by_task(table, runs, write), votes)


@claim_by_runs("It knows 1 / (i + 1) better than the position i.", f"{UNPUBLISHED}: Theorem 1 makes 1 / (i + 1)", NOPE)
def inverse_is_nearer(table: ResultTable, runs: Sequence[Run]) -> Votes:
    """R² of 1 / (i + 1) is above that of i, as the mean over blocks."""

    def mean(run: Run, target: str) -> float:
        return fmean(table.value(run[0], explained(target, TRAINED, block), run[1]) for block in blocks_of(table))

    def write(table: ResultTable, some: Sequence[Run]) -> str:
        inverse, place = (fmean(mean(run, target) for run in some) for target in (INVERSE, PLACE))
        return f"mean R² over blocks {_number(inverse)} and {_number(place)}"

    return Votes(by_task(table, runs, write), [mean(run, INVERSE) > mean(run, PLACE) for run in runs])


@claim_by_runs(
    "On longer inputs it no longer knows the position i.", f"{UNPUBLISHED}: the largest were never seen", NOPE
)
def place_falls_off(table: ResultTable, runs: Sequence[Run]) -> Votes:
    """R² of the position after its best block falls clearly from training lengths to longer ones."""
    ends = {run: _both_lengths(table, run, PLACE) for run in runs}
    return Votes(_trend(table, ends), [longer <= trained - CLEAR for trained, longer in ends.values()])


@claim_by_runs(
    "On longer inputs 1 / (i + 1) can still be read.", f"{UNPUBLISHED}: of larger i it is near 0, as seen before", NOPE
)
def inverse_keeps(table: ResultTable, runs: Sequence[Run]) -> Votes:
    """R² of 1 / (i + 1) after its best block stays above 0."""
    ends = {run: _both_lengths(table, run, INVERSE) for run in runs}
    return Votes(_trend(table, ends), [longer > 0 for _, longer in ends.values()])


def _both_lengths(table: ResultTable, run: Run, target: str) -> tuple[float, float]:
    """R² after the best block, at training lengths and at longer ones."""
    block = best_block(table, run, target)
    trained, longer = (table.value(run[0], explained(target, each, block), run[1]) for each in (TRAINED, LONGER))
    return trained, longer


def _trend(table: ResultTable, ends: Mapping[Run, tuple[float, float]]) -> str:
    def write(_: ResultTable, some: Sequence[Run]) -> str:
        trained, longer = (fmean(ends[run][number] for run in some) for number in (0, 1))
        return f"R² {_number(trained)} → {_number(longer)}"

    return by_task(table, list(ends), write)


# Whose attention does it resemble? --------------------------------------------------------------------------------


def _heights(*arms: str) -> str:
    """The published heights of some encodings."""
    each = [f"{LABELS[arm]} {MEANS[arm][TRAINED]:.3f} and {MEANS[arm][LONGER]:.3f}" for arm in arms]
    return f"{', '.join(each)} at training lengths and beyond (SCAN, released divergence in nats)"


@claim_by_runs(
    "Attention with T5's bias is as near to that of NoPE as NoPE from another seed.",
    _heights(AGAIN, T5),
    *(NOPE, AGAIN, T5),
    answers={
        "agrees": "T5's bias: its attention is as near to that of NoPE as NoPE from another seed",
        "in part": "Only in part that of T5's bias, which was published as nearest: not every run here has it at the "
        "floor between two seeds",
        "disagrees": "Not that of T5's bias, which was published as nearest: here it is above the floor between seeds",
        "unknown": "Nothing can be said: not all the nets that this compares learnt their task",
    },
)
def t5_at_the_floor(table: ResultTable, runs: Sequence[Run]) -> Votes:
    """At most a quarter above the floor."""
    ratios = _ratios(table, runs, T5)
    return Votes(_apart(table, runs, AGAIN, T5), [ratio <= AT_FLOOR for ratio in ratios], _flatness(table, runs, T5))


@claim_by_runs(
    "ALiBi, sinusoidal positions and RoPE are clearly farther from NoPE than another seed.",
    _heights(ALIBI, APE, QUARTER),
    *(NOPE, AGAIN, ALIBI, APE, QUARTER),
    answers={
        "agrees": "ALiBi, sinusoidal positions and RoPE are clearly farther",
        "in part": "Of ALiBi, sinusoidal positions and RoPE, not all are clearly farther in every run",
        "disagrees": "ALiBi, sinusoidal positions and RoPE are not clearly farther",
        "unknown": "Whether ALiBi, sinusoidal positions and RoPE are farther cannot be said",
    },
)
def others_above_the_floor(table: ResultTable, runs: Sequence[Run]) -> Votes:
    """At least half as far again as the floor, each of them."""
    arms = (ALIBI, APE, QUARTER)
    votes = [ratio >= ABOVE for arm in arms for ratio in _ratios(table, runs, arm)]
    return Votes(_apart(table, runs, AGAIN, *arms), votes, _flatness(table, runs, *arms))


@claim_by_runs(
    "From near to far the order is T5, ALiBi, sinusoidal, RoPE.",
    "in this order at all lengths from 10 on (SCAN, released divergence)",
    *(NOPE, *ORDER),
)
def in_published_order(table: ResultTable, runs: Sequence[Run]) -> Votes:
    """At least five of the six pairs of encodings are in this order, by the released divergence."""
    pairs = [(near, far) for number, near in enumerate(ORDER) for far in ORDER[number + 1 :]]
    right = []
    for run in runs:
        apart = {arm: table.value(run[0], divergence(arm, RELEASED), run[1]) for arm in ORDER}
        right.append(sum(apart[near] < apart[far] for near, far in pairs))

    def write(table: ResultTable, some: Sequence[Run]) -> str:
        released, true = (
            {arm: mean_of(table, some, divergence(arm, kind)) for arm in ORDER} for kind in (RELEASED, TRUE)
        )
        first, second = (sorted(ORDER, key=apart.__getitem__) for apart in (released, true))
        words = " < ".join(f"{LABELS[arm]} {released[arm]:.3f}" for arm in first)
        other = "the same" if first == second else " < ".join(LABELS[arm] for arm in second)
        return f"{words} nats as released, in bits {other}"

    why = f"Of {len(pairs)} pairs of encodings, {fmean(right):.1f} are in the published order, the mean over runs."
    return Votes(by_task(table, runs, write), [number >= len(pairs) - 1 for number in right], why)


@claim_by_runs(
    "RoPE that rotates whole heads is farther from NoPE than RoPE that rotates a quarter of each.",
    f"{UNPUBLISHED}: only the quarter was published",
    *(NOPE, QUARTER, ROPE),
)
def whole_rope_is_farther(table: ResultTable, runs: Sequence[Run]) -> Votes:
    """By the true divergence."""
    whole, quarter = (values(table, runs, divergence(arm)) for arm in (ROPE, QUARTER))
    return Votes(_apart(table, runs, QUARTER, ROPE), [a > b for a, b in zip(whole, quarter, strict=True)])


@claim_by_runs(
    "T5's bias is nearer to NoPE from the same initial weights than NoPE is to itself from other ones.",
    f"{UNPUBLISHED}: whether published nets of one seed started from the same weights",
    *(NOPE, AGAIN, T5),
)
def start_counts(table: ResultTable, runs: Sequence[Run]) -> Votes:
    """T5 is nearer to the NoPE that it shares its start with than that NoPE is to the one from another seed."""
    same, floor = (values(table, runs, cell) for cell in (shared_start(T5), divergence(AGAIN)))

    def write(table: ResultTable, some: Sequence[Run]) -> str:
        near, far = (mean_of(table, some, cell) for cell in (shared_start(T5), divergence(AGAIN)))
        return f"T5 bias and NoPE from the same start {near:.3f}, NoPE from two seeds {far:.3f} bits"

    why = "So all encodings are compared with a NoPE that started from other weights."
    return Votes(by_task(table, runs, write), [a < b for a, b in zip(same, floor, strict=True)], why)


def _ratios(table: ResultTable, runs: Sequence[Run], arm: str) -> list[float]:
    """How many times as far as another seed, run by run."""
    both = zip(*(values(table, runs, divergence(each)) for each in (arm, AGAIN)), strict=True)
    return [apart / max(floor, 1e-12) for apart, floor in both]


def _apart(table: ResultTable, runs: Sequence[Run], *arms: str) -> str:
    """The divergence of some encodings from NoPE, task by task."""

    def write(table: ResultTable, some: Sequence[Run]) -> str:
        return ", ".join(f"{LABELS[arm]} {mean_of(table, some, divergence(arm)):.3f}" for arm in arms) + " bits"

    return by_task(table, runs, write)


def _flatness(table: ResultTable, runs: Sequence[Run], *arms: str) -> str:
    """The entropy of nets that are compared: flat heads resemble each other."""
    each = [f"{LABELS[arm]} {mean_of(table, runs, entropy(arm)):.2f}" for arm in (NOPE, AGAIN, *arms)]
    return f"Flat heads resemble each other; mean entropy of 1: {', '.join(each)}."


# How far do heads look? -------------------------------------------------------------------------------------------


def _masses(*arms: str) -> str:
    """The published shares of rows that look near and far."""
    each = [f"{LABELS[arm]} {percent(MASSES[arm][NEAR])} near, {percent(MASSES[arm][FAR])} far" for arm in arms]
    return f"{', '.join(each)} (addition with a scratchpad)"


@claim_by_runs(
    "Heads of NoPE and T5 look near and far.",
    _masses(NOPE, T5),
    *(NOPE, T5),
    answers={
        "agrees": "Near and far: NoPE and T5's bias attend to both ends more than chance would",
        "in part": "Not everywhere to both ends: NoPE and T5's bias attend near and far more than chance in some runs",
        "disagrees": "Not to both ends: NoPE and T5's bias do not attend near and far more than chance would",
        "unknown": "Nothing can be said: NoPE or T5's bias did not learn its task",
    },
)
def near_and_far(table: ResultTable, runs: Sequence[Run]) -> Votes:
    """Both shares are above those of uniform attention, in both nets."""
    votes = []
    for arm in (NOPE, T5):
        both = [_above_chance(table, runs, arm, side) for side in (NEAR, FAR)]
        votes += [near > 1 and far > 1 for near, far in zip(*both, strict=True)]
    return Votes(_sides(table, runs, NOPE, T5), votes)


@claim_by_runs("Heads with ALiBi look near only.", _masses(ALIBI), ALIBI)
def near_only(table: ResultTable, runs: Sequence[Run]) -> Votes:
    """More rows than by chance are near, and less than half as many are far."""
    near, far = (_above_chance(table, runs, ALIBI, side) for side in (NEAR, FAR))
    votes = [above > 1 and below < 0.5 for above, below in zip(near, far, strict=True)]
    return Votes(_sides(table, runs, ALIBI), votes)


@claim_by_runs("Heads with RoPE and sinusoidal positions look everywhere.", _masses(QUARTER, APE), *(QUARTER, APE))
def everywhere(table: ResultTable, runs: Sequence[Run]) -> Votes:
    """At least half of the rows look neither near nor far."""
    votes = []
    for arm in (QUARTER, APE):
        sides = zip(*(values(table, runs, looked(arm, side)) for side in (NEAR, FAR)), strict=True)
        votes += [1 - near - far >= EVERYWHERE for near, far in sides]
    return Votes(_sides(table, runs, QUARTER, APE), votes)


def _above_chance(table: ResultTable, runs: Sequence[Run], arm: str, side: str) -> list[float]:
    """A share over that of uniform attention, run by run."""
    both = zip(*(values(table, runs, looked(each, side)) for each in (arm, UNIFORM)), strict=True)
    return [share / max(chance, 1e-12) for share, chance in both]


def _sides(table: ResultTable, runs: Sequence[Run], *arms: str) -> str:
    """Shares near and far, task by task, with chance."""

    def write(table: ResultTable, some: Sequence[Run]) -> str:
        pairs = {
            arm: [percent(mean_of(table, some, looked(arm, side))) for side in (NEAR, FAR)] for arm in (*arms, UNIFORM)
        }
        words = [f"{LABELS[arm]} {near} near, {far} far" for arm, (near, far) in pairs.items() if arm != UNIFORM]
        return f"{', '.join(words)} (chance {' and '.join(pairs[UNIFORM])})"

    return by_task(table, runs, write)


def _number(value: float) -> str:
    """Two decimals, and never a negative 0.

    >>> _number(-0.001), _number(-0.25)
    ('0.00', '−0.25')
    """
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


CLAIMS: dict[str, Claim] = {
    "knows_its_place": knows_its_place,
    "inverse_is_nearer": inverse_is_nearer,
    "place_falls_off": place_falls_off,
    "inverse_keeps": inverse_keeps,
    "t5_at_the_floor": t5_at_the_floor,
    "others_above_the_floor": others_above_the_floor,
    "in_published_order": in_published_order,
    "whole_rope_is_farther": whole_rope_is_farther,
    "start_counts": start_counts,
    "near_and_far": near_and_far,
    "near_only": near_only,
    "everywhere": everywhere,
}
