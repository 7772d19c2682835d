"""Several tasks learnt as one: samples take turns, and each task keeps a range of token ids to itself."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from wherewhat.errors import UserError
from wherewhat.tasks.base import Balanced, Record, Task, TaskBatch, check_indices, check_input
from wherewhat.tasks.registry import AloneTask, AnyTask
from wherewhat.tasks.stream import Ints


@dataclass(frozen=True)
class Mixture(Task):
    """Sample k is sample k // m of task k mod m; ids and answers are moved by the vocabularies before that task's.

    Books that a task keeps beside them (`tokens`, `path`, `target_pair`, ...) stay as the task wrote them.
    """

    tasks: tuple[Balanced, ...]

    def __post_init__(self) -> None:
        if not self.tasks:
            raise UserError("there is no task to learn; name at least one")
        if len({task.name for task in self.tasks}) < len(self.tasks):
            raise UserError(f"the tasks {self.name} are not all different; name each task once")
        if len({task.length for task in self.tasks}) > 1:
            lengths = ", ".join(f"{task.name} {task.length}" for task in self.tasks)
            raise UserError(
                f"tasks learnt together must be equally long and these are not: {lengths} tokens; change sizes"
            )

    @property
    def name(self) -> str:
        return "+".join(task.name for task in self.tasks)

    @property
    def vocabulary(self) -> int:
        return sum(task.vocabulary for task in self.tasks)

    @property
    def length(self) -> int:
        return self.tasks[0].length

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(group for task in self.tasks for group in task.groups)

    @property
    def first_ids(self) -> list[int]:
        """Where each task's ids begin."""
        return [0, *accumulate(task.vocabulary for task in self.tasks[:-1])]

    def sample(self, seed: int, split: str, index: int) -> Record:
        turn, which = divmod(index, len(self.tasks))
        task, first = self.tasks[which], self.first_ids[which]
        record = task.sample(seed, split, turn)
        moved = {"input": [first + id for id in record["input"]], "target": first + record["target"]}
        return {**record, **moved, "task": task.name}

    def batch(self, seed: int, split: str, indices: Sequence[int] | Ints) -> TaskBatch:
        indices_N = check_indices(np.asarray(indices, dtype=np.int64))
        turn_N, which_N = np.divmod(indices_N, len(self.tasks))
        batches = [task.batch(seed, split, turn_N[which_N == m]) for m, task in enumerate(self.tasks)]
        back_N = np.argsort(np.argsort(which_N, kind="stable"), kind="stable")

        def in_turn(parts: Iterable[Ints]) -> Ints:
            """From one task after the other to tasks that take turns."""
            return np.concatenate(list(parts))[back_N]

        first_groups = [0, *accumulate(len(task.groups) for task in self.tasks[:-1])]
        shared = set.intersection(*(set(batch.labels) for batch in batches))
        return TaskBatch(
            in_turn(batch.input_NT + first for batch, first in zip(batches, self.first_ids, strict=True)),
            in_turn(batch.target_N + first for batch, first in zip(batches, self.first_ids, strict=True)),
            in_turn(batch.group_N + first for batch, first in zip(batches, first_groups, strict=True)),
            {label: in_turn(batch.labels[label] for batch in batches) for label in sorted(shared)} | {"task": which_N},
        )

    def solve(self, ids: Sequence[int]) -> int:
        check_input(self, ids)
        which = self._which(ids[0])
        first = self.first_ids[which]
        return first + self.tasks[which].solve([id - first for id in ids])

    def token(self, id: int) -> str:
        which = self._which(id)
        return self.tasks[which].token(id - self.first_ids[which])

    def _which(self, id: int) -> int:
        """The task whose id it is."""
        return sum(first <= id for first in self.first_ids) - 1


def combined(tasks: Sequence[AnyTask]) -> Mixture | AloneTask:
    """All tasks of a run as one: a mixture, or the one task that is learnt alone."""
    alone = [task for task in tasks if not isinstance(task, Balanced)]
    if not alone:
        return Mixture(tuple(task for task in tasks if isinstance(task, Balanced)))
    if len(tasks) > 1:
        raise UserError(f"the {alone[0].name} task answers {alone[0].manner} and is learnt alone; name no other task")
    return alone[0]
