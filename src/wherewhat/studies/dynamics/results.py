"""The result table, and the numbers that claims need from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import polars as pl

from wherewhat.studies.dynamics.purity import measure_of
from wherewhat.studies.dynamics.settings import DynamicsScale

LEARNT = 0.9  # accuracy from which hops count as learnt
TASKS = ("number", "letter")


@dataclass(frozen=True)
class DynamicsResults:
    """A result table and the scale it was measured at."""

    result: pl.DataFrame
    scale: DynamicsScale

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds of the runs."""
        return sorted(self.result["seed"].drop_nulls().unique().to_list())

    def hops(self, task: str) -> list[str]:
        """The names of the numbers of hops of a task, fewest hops first."""
        return [group.removeprefix(f"{task} ") for group in self.scale.task(task).groups]

    def curve(self, part: str, task: str, item: str, seed: int | None) -> dict[float, float]:
        """Accuracy by step, or by input length."""
        rows = self._where(part, task, seed).filter((pl.col("item") == item) & (pl.col("measure") == "accuracy"))
        return dict(rows.sort("at").select("at", "value").iter_rows())

    def learnt(self, task: str, hops: str, seed: int) -> float | None:
        """The step at which that many hops are first learnt, interpolated linearly; None if they never are."""
        points = list(self.curve("accuracy", task, hops, seed).items())
        if points[0][1] >= LEARNT:
            return points[0][0]
        for (before, low), (after, high) in pairwise(points):
            if high >= LEARNT:
                return before + (after - before) * (LEARNT - low) / (high - low)
        return None

    def learners(self, task: str) -> list[int]:
        """The seeds whose trained nets have learnt every number of hops."""
        return [
            seed
            for seed in self.seeds
            if all(self.curve("accuracy", task, hops, seed)[self.last] >= LEARNT for hops in self.hops(task))
        ]

    def heads(self, task: str, measure: str, *, step: float, seed: int | None) -> dict[str, float]:
        """One score of every head at a step, ordered by layer."""
        rows = self._where("heads", task, seed).filter((pl.col("at") == step) & (pl.col("measure") == measure))
        values = {name: value for name, value in rows.select("item", "value").iter_rows() if value is not None}
        return dict(sorted(values.items(), key=lambda entry: layer_of(entry[0])))

    def score_differences(self, task: str, *, step: float, seed: int | None) -> dict[str, float]:
        """Positional minus symbolic score of each head, from 1 (positional) to -1 (symbolic)."""
        positional, symbolic = (self.heads(task, name, step=step, seed=seed) for name in ("positional", "symbolic"))
        return {head: value - symbolic[head] for head, value in positional.items() if head in symbolic}

    def pure(self, task: str, kind: str, rule: str, gamma: float, seed: int) -> float:
        """How many heads of a trained net are pure."""
        rows = self._where("purity", task, seed).filter(
            (pl.col("item") == "all")
            & (pl.col("at") == self.last)
            & (pl.col("measure") == measure_of(kind, rule, gamma))
        )
        return float(rows["value"][0])

    def margins(self, task: str, seed: int) -> dict[float, float]:
        """The margin of the best key over the second, by input length."""
        rows = self._where("gap", task, seed).filter(pl.col("measure") == "gap")
        return dict(rows.sort("at").select("at", "value").iter_rows())

    def reach(self, task: str, seed: int) -> float:
        """The input length up to which accuracy stays high enough to count as learnt."""
        far = float(self.trained(task))
        for length, value in self.curve("length", task, "all", seed).items():
            if value < LEARNT:
                break
            far = length
        return far

    def trained(self, task: str) -> int:
        """The length of the training inputs."""
        return self.scale.task(task).length

    @property
    def last(self) -> float:
        """The last step."""
        return float(self.scale.steps)

    @property
    def steps(self) -> list[float]:
        """The steps at which the nets were evaluated."""
        return sorted(self._parts["heads"]["at"].unique().to_list())

    @cached_property
    def _parts(self) -> Mapping[str, pl.DataFrame]:
        return {str(key[0]): rows for key, rows in self.result.partition_by("part", as_dict=True).items()}

    def _where(self, part: str, task: str, seed: int | None) -> pl.DataFrame:
        of_seed = pl.col("seed").is_null() if seed is None else pl.col("seed") == seed
        return self._parts[part].filter((pl.col("subject") == task) & of_seed)


def layer_of(head: str) -> int:
    """The layer of a head.

    >>> layer_of("L12H0")
    12
    """
    return int(head.partition("H")[0][1:])
