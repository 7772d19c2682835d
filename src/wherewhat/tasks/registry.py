"""Every task by name."""

from dataclasses import dataclass, fields
from typing import Any

from wherewhat.names import look_up
from wherewhat.tasks.base import Balanced
from wherewhat.tasks.letter import LetterTask
from wherewhat.tasks.number import NumberTask
from wherewhat.tasks.queries import IndexTask, PartialInduction, Retrieval

QUERIES, HOPS = "arXiv 2511.11579", "arXiv 2605.31558"  # the papers that the tasks are from


@dataclass(frozen=True)
class TaskEntry:
    """A task and what to know before choosing it."""

    name: str
    asks: str  # one line
    cls: type[Balanced]
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
    ]
}


def task(name: str, **sizes: Any) -> Balanced:
    """Make a task; sizes not given are the published ones.

    >>> task("number", window=4, pre=4, hops=[1, 2]).length
    9
    """
    cls = look_up("task", name, TASKS).cls
    known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]  # every member is a dataclass
    for size in sizes:
        look_up(f"size of the {name} task", size, known)
    return cls(**{size: tuple(value) if isinstance(value, list) else value for size, value in sizes.items()})
