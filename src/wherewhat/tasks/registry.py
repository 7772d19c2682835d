"""Every task by name."""

from dataclasses import dataclass, fields
from typing import Any

from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.tasks.base import Balanced
from wherewhat.tasks.copying import CopyTask
from wherewhat.tasks.letter import LetterTask
from wherewhat.tasks.number import NumberTask
from wherewhat.tasks.queries import IndexTask, PartialInduction, Retrieval
from wherewhat.tasks.sequence import SequenceTask

# The papers that the tasks are from.
QUERIES, HOPS, LENGTHS = "arXiv 2511.11579", "arXiv 2605.31558", "arXiv 2305.19466"
AnyTask = Balanced | SequenceTask  # with one answer per sequence, or with a sequence as its answer


@dataclass(frozen=True)
class TaskEntry:
    """A task and what to know before choosing it."""

    name: str
    asks: str  # one line
    cls: type[AnyTask]
    paper: str


TASKS: dict[str, TaskEntry] = {
    entry.name: entry
    for entry in [
        TaskEntry("index", "Which symbol is in the slot that the query names?", IndexTask, QUERIES),
        TaskEntry("retrieval", "Which integer goes with the symbol that the query names?", Retrieval, QUERIES),
        TaskEntry(
            "partial_induction",
            "Which integer went with this symbol when it last occurred?",
            PartialInduction,
            QUERIES,
        ),
        TaskEntry("number", "Stepping back by the integers, which letter is reached?", NumberTask, HOPS),
        TaskEntry("letter", "Going from letter to matching letter, which pair is reached?", LetterTask, HOPS),
        TaskEntry("copy", "What is the input once more, token by token?", CopyTask, LENGTHS),
    ]
}


def task(name: str, **sizes: Any) -> Balanced:
    """Make a task with one answer per sequence; sizes not given are the published ones.

    >>> task("number", window=4, pre=4, hops=[1, 2]).length
    9
    """
    made = any_task(name, **sizes)
    if isinstance(made, SequenceTask):
        raise UserError(f"the {name} task answers with a sequence where one token is needed; choose another task")
    return made


def any_task(name: str, **sizes: Any) -> AnyTask:
    """Make a task of either kind.

    >>> any_task("copy", train_length=5, test_length=8).length
    18
    """
    cls = look_up("task", name, TASKS).cls
    known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]  # every member is a dataclass
    for size in sizes:
        look_up(f"size of the {name} task", size, known)
    given: dict[str, Any] = {size: tuple(each) if isinstance(each, list) else each for size, each in sizes.items()}
    return cls(**given)
