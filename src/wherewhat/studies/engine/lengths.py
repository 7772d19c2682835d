"""For studies that test nets on longer inputs than they were trained on: accuracy by length, means over seeds."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from wherewhat.stats.intervals import wilson
from wherewhat.studies.engine.results import Row, over_seeds
from wherewhat.tasks.sequence import Length, SequenceTask
from wherewhat.training.run_folder import TrainingResult

# part, item, at, measure, value, low, high: a row before it knows its run
Measured = tuple[str, str, float | None, str, float | None, float | None, float | None]


def size_of(length: Length) -> int:
    """A length as one number: of a sample with several, the largest.

    >>> size_of(7), size_of((3, 5))
    (7, 5)
    """
    return length if isinstance(length, int) else max(length)


def accuracy_rows(trained: TrainingResult, task: SequenceTask) -> Iterator[Measured]:
    """What the last evaluation measured: on training lengths, on all longer ones, and on every length.

    Shares of exact answers have the interval of their samples, other measures none.
    """
    settings, curve = trained.settings, trained.curve
    last = dict(curve.filter(curve["step"] == settings.steps).select("measure", "value").iter_rows())
    measures = [name.removesuffix(" valid") for name in last if name.endswith(" valid")]
    for split, item, whole in (("valid", "train", " valid"), ("test", "test", "")):
        batch = task.batch(settings.data_seed, split, np.arange(settings.evaluate_samples))
        by_size = _groups(task, split, batch.group_N.tolist())
        predicted_N = batch.predicted_NT.sum(1)
        for measure in measures:
            yield "overall", item, None, *_row(measure, last[f"{measure}{whole}"], settings.evaluate_samples)
            for size, counts in by_size.items():
                weights = counts
                if measure == "token accuracy":  # a mean over tokens, not over samples
                    weights = {group: int(predicted_N[batch.group_N == group].sum()) for group in counts}
                total = sum(weights.values())
                value = (
                    sum(last[f"{measure} {task.groups[group]}"] * weight for group, weight in weights.items()) / total
                )
                yield "length", item, float(size), *_row(measure, value, sum(counts.values()))


def _row(measure: str, value: float, samples: int) -> tuple[str, float, float | None, float | None]:
    return measure, value, *(wilson(value, samples) if measure == "exact" else (None, None))


def _groups(task: SequenceTask, split: str, groups: Sequence[int]) -> Mapping[int, dict[int, int]]:
    """By size, how many samples each group of that size has."""
    first = len(task.lengths("train")) if split == "test" else 0
    by_size: dict[int, dict[int, int]] = {}
    for group, length in enumerate(task.lengths(split), start=first):
        if count := groups.count(group):
            by_size.setdefault(size_of(length), {})[group] = count
    return dict(sorted(by_size.items()))


def mean_rows(rows: Sequence[Row], *, within: tuple[float, float] = (0.0, 1.0)) -> Iterator[Row]:
    """Means over seeds, of shares by default: a single run keeps its own interval, several have one of their own."""
    groups: dict[tuple[str, str, str, float | None, str], list[Row]] = {}
    for row in rows:
        part, subject, item, at, _, measure, value, _, _ = row
        if value is not None:
            groups.setdefault((part, subject, item, at, measure), []).append(row)
    for (part, subject, item, at, measure), group in groups.items():
        mean = over_seeds([row[6] for row in group if row[6] is not None], within=within).numbers
        yield part, subject, item, at, None, measure, *(mean if len(group) > 1 else group[0][6:])
