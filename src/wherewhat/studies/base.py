"""What every reproduction takes and gives back: an order in, a table and claims out."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from torch import Tensor, nn

from wherewhat.capture.loading.load import LoadedModel, LoadSettings
from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.tables.texts import Text

# Of what was published: agrees, in part, disagrees; of what never was: seen, in part, not seen; or it cannot be told.
VERDICTS = ("agrees", "in part", "disagrees", "seen", "not seen", "unknown")
UNPUBLISHED = "unknown"

OnStep = Callable[[int, int, str], None]  # done, of how many, what to say beside it
Settings = TypeVar("Settings")


@dataclass(frozen=True)
class Order:
    """What was asked for: how large, from which seed, and of a real model where the experiment has one."""

    scale: str = "tiny"
    seed: int = 0
    seeds: int | None = None  # how many runs of each kind; None: as many as the scale has
    model: str | nn.Module | LoadedModel = "tiny"
    texts: Iterable[str | Tensor | Text] | None = None
    source: str = "handed in"
    loading: LoadSettings = field(default_factory=LoadSettings)
    files: tuple[Path, ...] = ()  # texts that nets learn to read from, where an experiment takes some of one's own
    tasks: tuple[Path, ...] = ()  # files of more questions to ask, where it takes them
    folder: Path | None = None  # where finished runs are kept as they come, where it can resume; None: nowhere
    overwrite: bool = False  # take away what was finished before, once the order is known to be sound
    resume: bool = False  # go on with the finished runs that lie there
    on_step: OnStep | None = None
    on_warning: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        if self.seeds is not None and self.seeds < 1:
            raise UserError(f"seeds is {self.seeds}; a run needs at least 1")
        if not 0 <= self.seed < 2**31:
            raise UserError(f"seed is {self.seed}; give a whole number from 0 to {2**31 - 1}")

    def of(self, scales: Mapping[str, Settings]) -> Settings:
        """The settings of the scale that was asked for."""
        return look_up("scale", self.scale, scales)

    def step(self, done: int, of: int, note: str = "") -> None:
        """Tell whoever waits how far it has come."""
        if self.on_step is not None:
            self.on_step(done, of, note)

    def warn(self, sentence: str) -> None:
        """Tell whoever waits that something is not as it should be."""
        if self.on_warning is not None:
            self.on_warning(sentence)


@dataclass(frozen=True)
class Claim:
    """One line of published | ours | verdict."""

    claim: str  # a whole sentence about the world
    published: str  # what the paper says of it
    ours: str  # what was measured here
    verdict: str  # one of VERDICTS
    why: str = ""  # a sentence, if there is something to explain

    def __post_init__(self) -> None:
        assert self.verdict in VERDICTS, self.verdict


@dataclass(frozen=True)
class Found:
    """What a reproduction gives back."""

    result: pl.DataFrame  # with the columns of `tables.schema.RESULT`
    claims: tuple[Claim, ...]
    settings: Mapping[str, Any]  # plain values: everything that decided the result
    notes: tuple[str, ...] = ()  # what differs from the publication, and what was left out
    about: Mapping[str, Any] = field(default_factory=dict)  # what else the page needs and is not a row
