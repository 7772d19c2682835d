"""What every study takes and returns: a request in, a result table and claims out."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from torch import Tensor, nn

from wherewhat.capture.loading.load import LoadedModel, LoadSettings
from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.progress import OnStep
from wherewhat.stats.verdict import Claim
from wherewhat.tables.texts import Text

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class Request:
    """What to run: at which scale, from which seed, and on which model if the study is about a given model."""

    scale: str = "tiny"
    seed: int = 0
    seeds: int | None = None  # how many runs per condition; None: as many as the scale has
    model: str | nn.Module | LoadedModel = "tiny"
    texts: Iterable[str | Tensor | Text] | None = None
    source: str = "handed in"
    loading: LoadSettings = field(default_factory=LoadSettings)
    files: tuple[Path, ...] = ()  # texts to train on, for studies that take them
    tasks: tuple[Path, ...] = ()  # files of further questions, for studies that take them
    folder: Path | None = None  # where finished runs are kept, for studies that can resume; None: nowhere
    overwrite: bool = False  # delete runs finished before, once the request is known to be valid
    resume: bool = False  # continue with the finished runs in the folder
    on_step: OnStep | None = None
    on_warning: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        if self.seeds is not None and self.seeds < 1:
            raise UserError(f"seeds is {self.seeds}; a run needs at least 1")
        if not 0 <= self.seed < 2**31:
            raise UserError(f"seed is {self.seed}; give a whole number from 0 to {2**31 - 1}")

    def of(self, scales: Mapping[str, Settings]) -> Settings:
        """The settings of the requested scale."""
        return look_up("scale", self.scale, scales)

    def step(self, done: int, of: int, note: str = "") -> None:
        """Report progress."""
        if self.on_step is not None:
            self.on_step(done, of, note)

    def warn(self, sentence: str) -> None:
        """Report a warning."""
        if self.on_warning is not None:
            self.on_warning(sentence)


@dataclass(frozen=True)
class StudyResult:
    """What a study returns."""

    result: pl.DataFrame  # with the columns of `tables.schema.RESULT`
    claims: tuple[Claim, ...]
    settings: Mapping[str, Any]  # plain values: everything that determined the result
    notes: tuple[str, ...] = ()  # differences from the publication, and what was left out
    about: Mapping[str, Any] = field(default_factory=dict)  # what the page needs besides the rows
