"""Short answers of the study of row sums, and how numbers of several encodings stand in a sentence. Torch-free."""

from collections.abc import Callable, Mapping, Sequence

from wherewhat.formatting import listed, percent
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.row_sums.names import SOLVED, TASKS

IN_WORDS = {"position": "the position task", "even": "the first half of the even task"}  # what is scored of each


def solved_answer(shares: Mapping[str, float], task: str) -> str:
    """The short answer where every net with URPE solves a task: how far the best relative bias comes."""
    best = max(shares, key=lambda name: shares[name])
    if shares[best] > SOLVED:
        return f"URPE solves {IN_WORDS[task]} better than relative biases, but {best} solves it too"
    if len(shares) == 1:
        right = percent(shares[best])
        return f"{best}, the only relative bias here, does not solve {IN_WORDS[task]} ({right} right), but URPE does"
    return (
        f"No relative bias solves {IN_WORDS[task]} (the best, {best}, has {percent(shares[best])} right), but URPE does"
    )


def failed_answer(task: str, names: Sequence[str], above: Sequence[str], solved: Sequence[str]) -> str:
    """The short answer where a net with URPE fails: which of them solve a task or are above the relative biases.

    >>> failed_answer("position", ["a", "b"], above=["a"], solved=["a"])
    'Of nets with URPE, only a solves the position task; b is not clearly above relative biases'
    >>> failed_answer("position", ["a", "b"], above=["a", "b"], solved=[])
    'a and b are above relative biases without solving the position task'
    """
    partly, below = [name for name in above if name not in solved], [name for name in names if name not in above]
    it, plural = "it" if solved else IN_WORDS[task], len(solved) > 1
    clauses = [
        f"Of nets with URPE, only {listed(solved)} {'solve' if plural else 'solves'} {IN_WORDS[task]}"
        if solved
        else "",
        f"{listed(partly)} {be(partly)} above relative biases without solving {it}" if partly else "",
        f"{listed(below)} {be(below)} not clearly above relative biases" if below else "",
    ]
    return "; ".join(filter(None, clauses))


def be(names: Sequence[str]) -> str:
    """The verb for one or several."""
    return "is" if len(names) == 1 else "are"


def overlap(table: ResultTable) -> str:
    """The short answer where URPE is above relative biases but intervals overlap, which are over seeds or sequences."""
    over = "test sequences" if len(table.seeds) == 1 else "seeds"
    return f"URPE does better than relative biases, but their intervals over {over} overlap"


def unequal_answer(cases: Mapping[str, Sequence[str]]) -> str:
    """The short answer: which encodings solve which tasks.

    >>> unequal_answer({"position": ["rope"], "even": ["rope"]})
    'Where tokens differ, rope solves both tasks although it acts only on attention whose rows sum to one'
    >>> unequal_answer({"position": ["rope", "alibi"], "even": ["rope", "alibi"]})
    'Where tokens differ, rope and alibi solve both tasks although they act only on attention whose rows sum to one'
    """
    solved: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for names in cases.values() for name in names):
        tasks = [task for task, names in cases.items() if name in names]
        solved.setdefault("both tasks" if len(tasks) == len(TASKS) else f"the {tasks[0]} task", []).append(name)
    clauses = [f"{listed(names)} {'solves' if len(names) == 1 else 'solve'} {tasks}" for tasks, names in solved.items()]
    every = [name for names in solved.values() for name in names]
    return f"Where tokens differ, {listed(clauses)} although {acting(every)}"


def above_answer(names: Sequence[str]) -> str:
    """The short answer where encodings solve no task, but are better than the best guess without positions.

    >>> above_answer(["alibi"])
    'Where tokens differ, alibi does better than the best guess without solving a task although it acts only on \
attention whose rows sum to one'
    """
    does = "does" if len(names) == 1 else "do"
    better = f"{does} better than the best guess without solving a task"
    return f"Where tokens differ, {listed(names)} {better} although {acting(names)}"


def acting(names: Sequence[str]) -> str:
    """The clause on what encodings act on that the theorem is about."""
    return f"{'it acts' if len(names) == 1 else 'they act'} only on attention whose rows sum to one"


def in_order(numbers: Mapping[str, float], write: Callable[[float], str]) -> str:
    """The numbers of encodings without their names, once if all are written the same.

    >>> in_order({"a": 0.9, "b": 0.03}, percent), in_order({"a": 0.031, "b": 0.03}, percent)
    ('90\\xa0% and 3\\xa0%', '3\\xa0%')
    """
    written = [write(number) for number in numbers.values()]
    return written[0] if len(set(written)) == 1 else listed(written)


def together(numbers: Mapping[str, float], write: Callable[[float], str], *, named: bool = False) -> str:
    """The numbers of encodings with their names. What is written the same stands once, and unnamed if all is.

    >>> together({"a": 0.031, "b": 0.03}, percent), together({"a": 0.9, "b": 0.03}, percent)
    ('3\\xa0%', '90\\xa0% (a) and 3\\xa0% (b)')
    >>> together({"a": 0.031, "b": 0.03}, percent, named=True)
    '3\\xa0% (a and b)'
    """
    groups: dict[str, list[str]] = {}
    for name, number in numbers.items():
        groups.setdefault(write(number), []).append(name)
    if len(groups) == 1 and not named:
        return next(iter(groups))
    return listed([f"{written} ({listed(names)})" for written, names in groups.items()])
