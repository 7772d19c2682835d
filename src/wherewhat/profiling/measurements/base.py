"""What a kind of measurement is: which scores it knows, when it is wanted, and how it measures them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
from torch import Tensor

from wherewhat.capture.hooks.reader import AttentionSite
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.encode import EncodedTexts
from wherewhat.profiling.accumulate import Summary
from wherewhat.profiling.reading import AttentionReading
from wherewhat.profiling.settings import ProfileSettings
from wherewhat.progress import Phases
from wherewhat.scores.base import Score
from wherewhat.stats.bootstrap import Resampling


@dataclass(frozen=True)
class ProfileContext:
    """What a measurement works on."""

    model: LoadedModel
    texts: EncodedTexts
    settings: ProfileSettings
    phases: Phases = field(default_factory=Phases)
    attention: AttentionReading | None = None  # what reading the attention on the texts has shown

    @property
    def ids(self) -> list[Tensor]:
        """The token ids of every window."""
        return self.texts.ids

    @property
    def tokens(self) -> int:
        """How many tokens all windows have together."""
        return sum(map(len, self.ids))

    @property
    def resampling(self) -> Resampling:
        """How intervals resample the texts."""
        return Resampling(tuple(self.texts.origins), self.settings.seed)


@dataclass(frozen=True)
class MeasurementResult:
    """The result of a measurement, ready for the tables and the manifest."""

    summaries: Mapping[AttentionSite, Mapping[str, Summary]] = field(default_factory=dict)  # by site and score
    scores: Mapping[str, Score] = field(default_factory=dict)  # those that have values
    notes: Sequence[str] = ()
    section: Any = None  # of the manifest, under the measurement's name
    matrices: pl.DataFrame | None = None  # rows of positional.parquet

    def only(self, names: Collection[str]) -> "MeasurementResult":
        """Some of the scores."""
        summaries = {
            site: {name: summary for name, summary in by_name.items() if name in names}
            for site, by_name in self.summaries.items()
        }
        scores = {name: score for name, score in self.scores.items() if name in names}
        return replace(self, summaries=summaries, scores=scores)


@dataclass(frozen=True)
class Measurement:
    """One kind of input, and the scores measured on it."""

    name: str  # of its section in the manifest
    phase: str  # what progress calls it
    kinds: tuple[str, ...]  # of the scores it knows
    is_wanted: Callable[[ProfileContext], bool]
    work: Callable[[ProfileContext], int]  # about how many tokens the model reads
    measure: Callable[[ProfileContext], MeasurementResult]
