"""Every task by name."""

from dataclasses import dataclass, fields
from typing import Any

from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.tasks.arithmetic import Addition, Parity, Polynomial, Sum
from wherewhat.tasks.base import Balanced
from wherewhat.tasks.copying import (
    CopyRandom,
    CopyRandomTwice,
    CopyRepeat,
    CopyRepeatTwice,
    CopyReplace,
    Reverse,
    ReverseCopy,
    ReverseTwice,
)
from wherewhat.tasks.counting import CountingTask
from wherewhat.tasks.latin import LatinSquare
from wherewhat.tasks.lego import Lego
from wherewhat.tasks.letter import LetterTask
from wherewhat.tasks.number import NumberTask
from wherewhat.tasks.pcfg import Pcfg
from wherewhat.tasks.queries import IndexTask, PartialInduction, Retrieval
from wherewhat.tasks.scan import Scan
from wherewhat.tasks.sequence import SequenceTask
from wherewhat.tasks.slots import EvenTask, PositionTask, SlotTask
from wherewhat.tasks.sorting import SortMulti, SortSingle

# The papers that the tasks are from.
QUERIES, HOPS, LENGTHS = "arXiv 2511.11579", "arXiv 2605.31558", "arXiv 2305.19466"
LAYOUT, ROWS, COUNTS = "arXiv 2406.08272", "arXiv 2205.13401", "arXiv 2406.02585"
# With one answer per sequence; or learnt alone: with a sequence as its answer, an answer in every slot, one per region.
AloneTask = SequenceTask | SlotTask | CountingTask
AnyTask = Balanced | AloneTask


@dataclass(frozen=True)
class TaskEntry:
    """A task and what to know before choosing it."""

    name: str
    asks: str  # one line
    cls: type[AnyTask]
    paper: str
    example: str  # a short input in compact form, and what belongs to it


TASKS: dict[str, TaskEntry] = {
    entry.name: entry
    for entry in [
        TaskEntry(
            "index", "Which symbol is in the slot that the query names?", IndexTask, QUERIES, "d a b c a @0 -> d"
        ),
        TaskEntry(
            "retrieval",
            "Which integer goes with the symbol that the query names?",
            Retrieval,
            QUERIES,
            "c0 d3 a3 c2 a? -> 3",
        ),
        TaskEntry(
            "partial_induction",
            "Which integer went with this symbol when it last occurred?",
            PartialInduction,
            QUERIES,
            "c1 b1 c2 d3 c? -> 2",
        ),
        TaskEntry(
            "number",
            "Stepping back by the integers, which letter is reached?",
            NumberTask,
            HOPS,
            "a d e f 3 5 3 2 2 -> f",
        ),
        TaskEntry(
            "letter",
            "Going from letter to matching letter, which pair is reached?",
            LetterTask,
            HOPS,
            "c1 b1 d3 d1 dc cd dd ab ca -> b1",
        ),
        TaskEntry(
            "counting",
            "How many ones are there in each bracketed region?",
            CountingTask,
            COUNTS,
            "[ 1 ] 0 [ 0 1 1 ] [ ] 1 [ 1 0 ] -> 1 2 0 1",
        ),
        TaskEntry("position", "Which slot is it?", PositionTask, ROWS, "a b a c -> 0 1 2 3"),
        TaskEntry("even", "Which tokens stand at even places?", EvenTask, ROWS, "e b a c -> b c . ."),
        TaskEntry(
            "latin",
            "Which symbol belongs into the queried cell of a Latin square?",
            LatinSquare,
            LAYOUT,
            "4 . . 1 2 . 3 4 ? 4 1 2 1 . . . -> 3",
        ),
        TaskEntry("copy_repeat", "One character several times: the same again?", CopyRepeat, LENGTHS, "k k k -> k k k"),
        TaskEntry(
            "copy_repeat2x", "One character several times: twice as often?", CopyRepeatTwice, LENGTHS, "k k -> k k k k"
        ),
        TaskEntry(
            "copy_replace", "One character several times: another as often?", CopyReplace, LENGTHS, "k 7 k k k -> 7 7 7"
        ),
        TaskEntry("copy_random", "What is the input once more?", CopyRandom, LENGTHS, "4 x B -> 4 x B"),
        TaskEntry(
            "copy_random2x", "What is the input twice more?", CopyRandomTwice, LENGTHS, "4 x B -> 4 x B [NEXT] 4 x B"
        ),
        TaskEntry("reverse", "What is the input from its end to its beginning?", Reverse, LENGTHS, "4 x B -> B x 4"),
        TaskEntry(
            "reverse2x", "What is the reversed input, twice?", ReverseTwice, LENGTHS, "4 x B -> B x 4 [NEXT] B x 4"
        ),
        TaskEntry(
            "reverse_copy",
            "What is the reversed input, and then the input?",
            ReverseCopy,
            LENGTHS,
            "4 x B -> B x 4 [NEXT] 4 x B",
        ),
        TaskEntry("addition", "What is the sum of two numbers?", Addition, LENGTHS, "5 7 + 8 -> 6 5"),
        TaskEntry(
            "poly", "What is the value of a polynomial modulo 10?", Polynomial, LENGTHS, "- 1 : 3 x2 + - 2 x3 -> 5"
        ),
        TaskEntry("sort_single", "What is the list of characters in order?", SortSingle, LENGTHS, "c 3 7 -> 3 7 c"),
        TaskEntry(
            "sort_multi",
            "What is the list of numbers in order?",
            SortMulti,
            LENGTHS,
            "2 4 6 8 , 8 8 , 4 1 2 -> 8 8 , 4 1 2 , 2 4 6 8",
        ),
        TaskEntry("sum", "What is the sum of digits modulo 10?", Sum, LENGTHS, "9 5 6 -> 0"),
        TaskEntry("parity", "Is the number of ones even?", Parity, LENGTHS, "1 0 1 -> Yes"),
        TaskEntry(
            "lego",
            "What is the value of a variable in a chain of them?",
            Lego,
            LENGTHS,
            "x - 1 , b - x , m + b ? b -> +1",
        ),
        TaskEntry(
            "scan",
            "Which actions does a command ask for?",
            Scan,
            LENGTHS,
            "jump left twice and walk -> Left Jump Left Jump Walk",
        ),
        TaskEntry(
            "pcfg",
            "Which list do nested functions evaluate to?",
            Pcfg,
            LENGTHS,
            "append reverse A1 B2 , echo C3 -> B2 A1 C3 C3",
        ),
    ]
}


def task(name: str, **sizes: Any) -> Balanced:
    """Make a task with one answer per sequence; sizes not given are the published ones.

    >>> task("number", window=4, pre=4, hops=[1, 2]).length
    9
    """
    made = any_task(name, **sizes)
    if not isinstance(made, Balanced):
        raise UserError(f"the {name} task answers {made.manner} where one answer is needed; choose another task")
    return made


def any_task(name: str, **sizes: Any) -> AnyTask:
    """Make a task of either kind.

    >>> any_task("copy_random", train_length=5, test_length=8).length
    18
    """
    cls = look_up("task", name, TASKS).cls
    known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]  # every member is a dataclass
    for size in sizes:
        look_up(f"size of the {name} task", size, known)
    given: dict[str, Any] = {size: tuple(each) if isinstance(each, list) else each for size, each in sizes.items()}
    return cls(**given)
