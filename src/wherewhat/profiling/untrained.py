"""What freshly initialised weights of the same architecture get on the same texts: the baseline of learning nothing."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
from torch import nn

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.loading.untrained import fresh
from wherewhat.capture.tokens.batch import generator_of
from wherewhat.capture.tokens.encode import Encoded
from wherewhat.errors import UserError
from wherewhat.profiling.describe import hash_of
from wherewhat.profiling.settings import ProfileSettings, told
from wherewhat.tables.cache import keep, key_of, recall
from wherewhat.tables.manifest import provenance

LARGEST = 500_000_000  # parameters up to which fresh weights are drawn without being asked for
WINDOWS = 4  # that fresh weights read at most: a layer's heads are averaged, so few are enough
PART = 4  # and at most one in so many of those that the model reads

Measure = Callable[[LoadedModel, Encoded, ProfileSettings], pl.DataFrame]  # gives rows of heads.parquet


@dataclass(frozen=True)
class Untrained:
    """The mean over the heads of each layer, by score, and what has to be known to read it."""

    means: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=MEANS))
    windows: int = 0
    notes: tuple[str, ...] = ()

    def beside(self, heads: pl.DataFrame) -> pl.DataFrame:
        """The table of heads with its column `untrained` filled in."""
        joined = heads.drop("untrained").join(self.means, on=["layer", "score"], how="left", maintain_order="left")
        return joined.select(heads.columns)

    @property
    def about(self) -> dict[str, Any] | None:
        """As the manifest tells it; None where it was not measured."""
        return {"windows": self.windows, "seed": SEED} if self.windows else None


MEANS: dict[str, Any] = {"layer": pl.Int32, "score": pl.String, "untrained": pl.Float64}
SEED = 0  # of the fresh weights


def measure_untrained(model: LoadedModel, encoded: Encoded, settings: ProfileSettings, measure: Measure) -> Untrained:
    """Profile fresh weights on some of the windows, or recall what came of it before."""
    parameters = sum(parameter.numel() for parameter in model.module.parameters())
    if settings.untrained is False:
        return Untrained()
    if settings.untrained is None and parameters > LARGEST:
        return Untrained(notes=(f"No untrained baseline was measured: {parameters:,} parameters are many to draw.",))
    some, asked = _some(encoded), _asked(settings)
    key = key_of(_deciding(model, some, asked))
    kept = recall("untrained", key)
    if not isinstance(kept, dict):
        try:
            table = measure(fresh(model, seed=SEED), some, asked)
        except (UserError, ArithmeticError, AttributeError, TypeError, ValueError, RuntimeError) as error:
            reason = str(error).strip().splitlines() or [type(error).__name__]
            return Untrained(notes=(f"No untrained baseline was measured: fresh weights failed ({reason[0]}).",))
        kept = _means(table).to_dict(as_series=False)
        keep("untrained", key, kept)
    return Untrained(pl.DataFrame(kept, schema=MEANS), len(some.ids))


def _means(heads: pl.DataFrame) -> pl.DataFrame:
    # Means over a few texts give every slot a mean of its own, so `mean.*` would be larger than over all texts.
    kept = heads.filter(~pl.col("score").str.starts_with("mean."))
    grouped = kept.group_by("layer", "score", maintain_order=True)
    return grouped.agg(untrained=pl.col("value").mean()).drop_nulls()


def _some(encoded: Encoded) -> Encoded:
    """A few of the windows, drawn by their tokens, so that the order of texts does not matter."""
    drawn = sorted(encoded.ids, key=lambda ids_T: generator_of(ids_T, SEED).initial_seed())
    return Encoded.of(drawn[: min(WINDOWS, -(-len(drawn) // PART))])


def _asked(settings: ProfileSettings) -> ProfileSettings:
    """The same scores of all heads, without what takes inputs of its own."""
    bare = replace(settings, positional=None, random=None, blocks=None, layers=(), heads=(), scores=())
    return replace(bare, scores=tuple(name for name in settings.scores if bare.knows(name)), untrained=False)


def _deciding(model: LoadedModel, some: Encoded, asked: ProfileSettings) -> dict[str, Any]:
    """All that decides the numbers, but for the code."""
    parameter = next(model.module.parameters())
    return {
        "versions": provenance()["versions"],
        "architecture": [type(model.module).__qualname__, _config(model.module)],
        "computed": [str(parameter.dtype), parameter.device.type, SEED],
        "settings": told(asked, None),
        "texts": hash_of(some.ids),
    }


def _config(model: nn.Module) -> dict[str, Any]:
    config: Any = model.config
    return {name: value for name, value in config.to_dict().items() if name != "_name_or_path"}
