"""What the measures of a run rest on: how many test samples there are, and what guessing would give."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from wherewhat.errors import UserError
from wherewhat.training.classification import ClassifierSettings
from wherewhat.training.sequence_training import SequenceObjective
from wherewhat.training.settings import TrainingSettings
from wherewhat.training.task_training import TaskObjective, TaskSettings

ANSWERS = 4096  # samples that show which answers a task has: more than any built-in one has cells
OUTPUTS = 64  # the same per length, where an answer is a sequence
REPEATED = 5  # samples per different output at least; where there are fewer, nobody guesses whole outputs
Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class Evaluation:
    """By measure, the number of test samples that it is a share of, and the share that guessing would get right."""

    samples: Mapping[str, int] = field(default_factory=dict)
    chance: Mapping[str, float] = field(default_factory=dict)


def evaluation_of(settings: Iterable[TrainingSettings]) -> Evaluation:
    """What holds for all of these runs."""
    known: dict[str, Evaluation] = {}
    for each in settings:
        plain = each.to_dict()
        key = json.dumps([plain[each.learns], each.data_seed, each.evaluate_samples])
        if key not in known:
            known[key] = Evaluation()
            with suppress(UserError):  # as the runs have said themselves
                known[key] = _evaluation(each)
    return Evaluation(
        _common([each.samples for each in known.values()]), _common([each.chance for each in known.values()])
    )


def _common(parts: Sequence[Mapping[str, Number]]) -> dict[str, Number]:
    """The entries that all have in common."""
    first, *others = parts
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def _evaluation(settings: TrainingSettings) -> Evaluation:
    if isinstance(settings, ClassifierSettings):
        labels = settings.fitted(None).net.labels
        return Evaluation(chance={f"accuracy {split}": 1 / len(labels) for split in ("valid", "test")})
    if not isinstance(settings, TaskSettings):
        return Evaluation()
    objective = settings.objective()
    if isinstance(objective, SequenceObjective):
        return _of_outputs(objective)
    assert isinstance(objective, TaskObjective)
    return _of_answers(objective)


def _of_answers(objective: TaskObjective) -> Evaluation:
    """Of tasks with one answer each: guess among the answers of the task that a sample belongs to."""
    task, seed = objective.task, objective.settings.data_seed
    batch = task.batch(seed, "test", np.arange(objective.settings.evaluate_samples))
    parts = {"accuracy": np.full(len(batch.target_N), True)}
    parts |= {f"accuracy {group}": batch.group_N == number for number, group in enumerate(task.groups)}
    drawn = task.batch(seed, "test", np.arange(ANSWERS))
    chance_N = np.zeros(len(batch.target_N))
    for which in np.unique(drawn.labels["task"]):
        answers = len(np.unique(drawn.target_N[drawn.labels["task"] == which]))
        chance_N[batch.labels["task"] == which] = 1 / answers
    samples = {name: int(part_N.sum()) for name, part_N in parts.items() if part_N.any()}
    return Evaluation(samples, {name: float(chance_N[parts[name]].mean()) for name in samples})


def _of_outputs(objective: SequenceObjective) -> Evaluation:
    """Of a task whose answer is a sequence: guess among the outputs of this length, where these are few."""
    task, seed, size = objective.task, objective.settings.data_seed, objective.settings.evaluate_samples
    samples, chance = dict[str, int](), dict[str, float]()
    for split, whole in (("valid", "exact valid"), ("test", "exact")):
        group_N = task.batch(seed, split, np.arange(size)).group_N
        counts = dict(zip(*(part.tolist() for part in np.unique(group_N, return_counts=True)), strict=True))
        drawn = task.batch(seed, split, np.arange(OUTPUTS * len(task.lengths(split))))
        ends = zip(drawn.ids_NT, drawn.prompt_N, drawn.tokens_N, strict=True)
        outputs = np.array([ids_T[first:last].tobytes() for ids_T, first, last in ends], dtype=object)
        guessed = dict[int, float]()
        for number, count in counts.items():
            samples[f"exact {task.groups[number]}"] = count
            its = outputs[drawn.group_N == number]
            if not task.scratchpad_parts and len(set(its)) * REPEATED <= len(its):
                chance[f"exact {task.groups[number]}"] = guessed[number] = 1 / len(set(its))
        samples[whole] = size
        if guessed.keys() == counts.keys():
            chance[whole] = sum(guessed[number] * count for number, count in counts.items()) / size
    return Evaluation(samples, chance)
