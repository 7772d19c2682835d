"""One model at one time: every score of every head, and where it came from."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath
from typing import Any

import numpy as np
import polars as pl

from wherewhat.comparing.change import one_more
from wherewhat.tables.schema import HEADS, frame

STEP = re.compile(r"step-(\d+)$")
SNAPSHOTS = "snapshots"  # the folder of a training run that holds its earlier states
OWN = ("layer", "head", "score")  # what a row of heads.parquet is about


@dataclass(frozen=True)
class State:
    """One side of a comparison. `heads` has the columns of heads.parquet; `draws` is how many models it stands for."""

    name: str
    heads: pl.DataFrame
    manifest: Mapping[str, Any]
    draws: int = 0  # of fresh weights; 0: a model that somebody has
    drawn: "tuple[State, ...]" = ()  # each draw alone, where there are several

    @property
    def model(self) -> Mapping[str, Any]:
        """What its manifest says of the model."""
        return self.manifest.get("model") or {}

    @property
    def step(self) -> int | None:
        """After how many steps of training, if its folder's name says so."""
        found = STEP.search(str(self.model.get("path") or self.model.get("id") or ""))
        return None if found is None or self.draws else int(found[1])

    @property
    def run(self) -> str | None:
        """The training run that it belongs to, if it lies in one's folder on this machine."""
        if self.draws or not self.model.get("path"):
            return None
        path = PurePath(self.model["path"])
        path = path.parent if path.name == "model" else path
        return str(path.parent.parent if path.parent.name == SNAPSHOTS else path)

    @cached_property
    def scores(self) -> list[str]:
        """The scores that some head has a value of, in the order of the table."""
        known = self.heads.filter(pl.col("value").is_not_null())
        return known["score"].unique(maintain_order=True).to_list()

    @property
    def copies(self) -> int | None:
        """How many copies of a word the positional probe reads, if there was one."""
        told = self.manifest.get("positional") or {}
        return told.get("n")

    @property
    def lengths(self) -> dict[str, list[int]]:
        """By source of the positional part, how many tokens its matrices are about."""
        found: dict[str, set[int]] = {}
        for one in (self.manifest.get("positional") or {}).get("layers") or ():
            found.setdefault(one["source"], set()).add(one["n"])
        return {source: sorted(lengths) for source, lengths in found.items()}

    def without(self, scores: Collection[str]) -> "State":
        """The same with some scores left out."""
        kept = ~pl.col("score").is_in(list(scores))
        drawn = tuple(draw.without(scores) for draw in self.drawn)
        return replace(self, heads=self.heads.filter(kept), drawn=drawn) if scores else self


def same_weights(one: State, other: State) -> bool:
    """Whether it is one model read twice; fresh weights may be those a model began with, but stand for others too."""
    known = one.model.get("weights_hash")
    return not (one.draws or other.draws) and known is not None and known == other.model.get("weights_hash")


def related(states: Sequence[State]) -> bool:
    """Whether they are one training run at several times, or one model, so that a head is the same head in all."""
    runs = {state.run for state in states}
    return (len(runs) == 1 and None not in runs) or all(same_weights(states[0], other) for other in states[1:])


def mean_of(draws: Sequence[State], name: str) -> State:
    """What fresh weights give on average: every value is a mean over draws, with the ends that one more draw keeps to.

    One draw keeps its own intervals, which say nothing of how draws differ.
    """
    if len(draws) == 1:
        return State(name, draws[0].heads, draws[0].manifest, draws=1)
    rows = []
    for key, group in pl.concat([draw.heads for draw in draws]).group_by(OWN, maintain_order=True):
        values = group["value"].drop_nulls().to_numpy()
        spread = one_more(values) if len(values) == len(draws) else (np.nan, np.nan, np.nan)
        rests = (len(draws), len(draws), group["rows"].sum() or None)  # an interval over draws, not over texts
        rows.append((name, *key, *spread, group["chance"].mean(), None, *rests, group["part"][0]))
    return State(name, frame(rows, HEADS), draws[0].manifest, draws=len(draws), drawn=tuple(draws))
