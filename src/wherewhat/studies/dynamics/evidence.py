"""What the claims are judged by: a few plain questions to the result."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import polars as pl

from wherewhat.studies.dynamics.purity import measure_of
from wherewhat.studies.dynamics.settings import Scale

LEARNT = 0.9  # accuracy from which hops count as learnt
TASKS = ("number", "letter")


@dataclass(frozen=True)
class Evidence:
    """A result and the scale it was made at."""

    result: pl.DataFrame
    scale: Scale

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds of the runs."""
        return sorted(self.result["seed"].drop_nulls().unique().to_list())

    def hops(self, task: str) -> list[str]:
        """What the kinds of sample of a task are called, the fewest hops first."""
        return [group.removeprefix(f"{task} ") for group in self.scale.task(task).groups]

    def curve(self, part: str, task: str, item: str, seed: int | None) -> dict[float, float]:
        """Accuracy over steps, or over lengths."""
        rows = self._where(part, task, seed).filter((pl.col("item") == item) & (pl.col("measure") == "accuracy"))
        return dict(rows.sort("at").select("at", "value").iter_rows())

    def learnt(self, task: str, hops: str, seed: int) -> float | None:
        """The step at which that many hops are first learnt, in a line between two looks; None if they never are."""
        points = list(self.curve("accuracy", task, hops, seed).items())
        if points[0][1] >= LEARNT:
            return points[0][0]
        for (before, low), (after, high) in pairwise(points):
            if high >= LEARNT:
                return before + (after - before) * (LEARNT - low) / (high - low)
        return None

    def learners(self, task: str) -> list[int]:
        """The seeds whose nets end with every number of hops learnt."""
        return [
            seed
            for seed in self.seeds
            if all(self.curve("accuracy", task, hops, seed)[self.last] >= LEARNT for hops in self.hops(task))
        ]

    def heads(self, task: str, measure: str, *, step: float, seed: int | None) -> dict[str, float]:
        """One score of every head at a step, the first layer first."""
        rows = self._where("heads", task, seed).filter((pl.col("at") == step) & (pl.col("measure") == measure))
        found = {name: value for name, value in rows.select("item", "value").iter_rows() if value is not None}
        return dict(sorted(found.items(), key=lambda each: layer_of(each[0])))

    def leaning(self, task: str, *, step: float, seed: int | None) -> dict[str, float]:
        """How positional each head is rather than symbolic, from 1 to -1, as its two published scores differ."""
        where, what = (self.heads(task, one, step=step, seed=seed) for one in ("positional", "symbolic"))
        return {head: value - what[head] for head, value in where.items() if head in what}

    def pure(self, task: str, kind: str, rule: str, gamma: float, seed: int) -> float:
        """How many heads of a net are pure at the end."""
        rows = self._where("purity", task, seed).filter(
            (pl.col("item") == "all")
            & (pl.col("at") == self.last)
            & (pl.col("measure") == measure_of(kind, rule, gamma))
        )
        return float(rows["value"][0])

    def gap(self, task: str, seed: int) -> dict[float, float]:
        """The lead of the best key by length."""
        rows = self._where("gap", task, seed).filter(pl.col("measure") == "gap")
        return dict(rows.sort("at").select("at", "value").iter_rows())

    def reach(self, task: str, seed: int) -> float:
        """The longest inputs up to which a net that learnt its task still counts as having learnt it."""
        far = float(self.trained(task))
        for length, value in self.curve("length", task, "all", seed).items():
            if value < LEARNT:
                break
            far = length
        return far

    def trained(self, task: str) -> int:
        """The length of the inputs that were learnt from."""
        return self.scale.task(task).length

    @property
    def last(self) -> float:
        """The last step."""
        return float(self.scale.steps)

    @property
    def steps(self) -> list[float]:
        """The steps at which the nets were looked at."""
        return sorted(self._of("heads")["at"].unique().to_list())

    def _of(self, part: str) -> pl.DataFrame:
        return self._parts[part]

    @cached_property
    def _parts(self) -> Mapping[str, pl.DataFrame]:
        return {str(key[0]): rows for key, rows in self.result.partition_by("part", as_dict=True).items()}

    def _where(self, part: str, task: str, seed: int | None) -> pl.DataFrame:
        of_seed = pl.col("seed").is_null() if seed is None else pl.col("seed") == seed
        return self._of(part).filter((pl.col("subject") == task) & of_seed)


def layer_of(head: str) -> int:
    """The layer of a head.

    >>> layer_of("L12H0")
    12
    """
    return int(head.partition("H")[0][1:])
