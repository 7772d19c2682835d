"""One model at one time: every score of every head, and where it came from."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath

import polars as pl

from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import prediction
from wherewhat.tables.manifest.scores import ProfileManifest
from wherewhat.tables.manifest.sections import ModelSection
from wherewhat.tables.schema import HEADS, frame

STEP = re.compile(r"(?<![a-zA-Z])(?:step|checkpoint)[-_]?(\d+)(?!\w|.*/)")  # in the last part of a path
SNAPSHOTS = "snapshots"  # the folder of a training run that holds its earlier states
OWN = ("layer", "head", "score")  # what a row of heads.parquet is about


@dataclass(frozen=True)
class ModelState:
    """One side of a comparison. `heads` has the columns of heads.parquet."""

    name: str
    heads: pl.DataFrame
    manifest: ProfileManifest
    draws: int = 0  # of untrained weights that it is the mean of; 0: a model that was given
    drawn: "tuple[ModelState, ...]" = ()  # each draw by itself, if there are several

    @property
    def model(self) -> ModelSection:
        """Which model it is."""
        return self.manifest.model

    @property
    def step(self) -> int | None:
        """After how many steps of training, if the name of its folder or of its revision on the Hub says so."""
        if self.draws:
            return None
        names = [self.model.path] if self.model.path else [self._revision, self.model.id]
        return next((step for name in names if (step := step_in(name)) is not None), None)

    @property
    def run(self) -> str | None:
        """The training run that it belongs to, if its folder or its revision on the Hub is a state of one."""
        if self.draws:
            return None
        if not self.model.path:
            return None if step_in(self._revision) is None else self.model.id
        path = PurePath(self.model.path)
        path = path.parent if path.name == "model" else path
        if path.parent.name == SNAPSHOTS:
            return str(path.parent.parent)
        return str(path if step_in(path.name) is None else path.parent)

    @property
    def _revision(self) -> str:
        """The branch or tag on the Hub that was asked for."""
        return str(self.manifest.settings.get("revision") or "")

    @cached_property
    def scores(self) -> list[str]:
        """The scores that some head has a value of, in the order of the table."""
        known = self.heads.filter(pl.col("value").is_not_null())
        return known["score"].unique(maintain_order=True).to_list()

    @property
    def copies(self) -> int | None:
        """How many copies of a word the positional part was measured on, if it was."""
        return None if self.manifest.positional is None else self.manifest.positional.n

    @property
    def lengths(self) -> dict[str, list[int]]:
        """By source of the positional part, the number of tokens that its matrices are about."""
        lengths: dict[str, set[int]] = {}
        for layer in () if self.manifest.positional is None else self.manifest.positional.layers:
            lengths.setdefault(layer.source, set()).add(layer.n)
        return {source: sorted(of_source) for source, of_source in lengths.items()}

    def without(self, scores: Collection[str]) -> "ModelState":
        """The same state without some scores."""
        kept = ~pl.col("score").is_in(list(scores))
        drawn = tuple(draw.without(scores) for draw in self.drawn)
        return replace(self, heads=self.heads.filter(kept), drawn=drawn) if scores else self


def step_in(name: str) -> int | None:
    """The step of training that a path or the name of a revision ends in, if it names one.

    >>> step_in("runs/a/snapshots/step-000500"), step_in("out/checkpoint-1000"), step_in("step3000-tokens12B")
    (500, 1000, 3000)
    >>> step_in("out/checkpoint-1000/final"), step_in("main")
    (None, None)
    """
    step = STEP.search(name)
    return None if step is None else int(step[1])


def same_weights(first: ModelState, other: ModelState) -> bool:
    """Whether it is one model read twice; a draw may be what a model began with, but it also stands for others."""
    known = first.model.weights_hash
    return not (first.draws or other.draws) and known is not None and known == other.model.weights_hash


def same_training(states: Sequence[ModelState]) -> bool:
    """Whether they are one training run at several times, or one model, so that a head is the same head in all."""
    runs = {state.run for state in states}
    return (len(runs) == 1 and None not in runs) or all(same_weights(states[0], other) for other in states[1:])


def mean_of_draws(draws: Sequence[ModelState], name: str) -> ModelState:
    """The mean over draws of untrained weights, each value with the interval in which one more draw falls.

    A single draw keeps its own intervals, which say nothing of how draws differ.
    """
    if len(draws) == 1:
        return ModelState(name, draws[0].heads, draws[0].manifest, draws=1)
    rows = []
    for key, group in pl.concat([draw.heads for draw in draws]).group_by(OWN, maintain_order=True):
        values = group["value"].drop_nulls().to_numpy()
        mean = prediction(values) if len(values) == len(draws) else Estimate()
        rests = (len(draws), len(draws), group["rows"].sum() or None)  # an interval over draws, not over texts
        rows.append((name, *key, *mean.numbers, group["chance"].mean(), None, *rests, group["part"][0]))
    return ModelState(name, frame(rows, HEADS), draws[0].manifest, draws=len(draws), drawn=tuple(draws))
