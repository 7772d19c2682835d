"""The untrained baseline: what random initialisations of the same architecture get on the same texts."""

from dataclasses import dataclass, field, replace
from typing import Any, cast

import polars as pl

from wherewhat.capture.loading.load import untrained_copy
from wherewhat.capture.tokens.batch import generator_of
from wherewhat.capture.tokens.encode import EncodedTexts
from wherewhat.errors import UserError
from wherewhat.profiling.describe import text_hash
from wherewhat.profiling.measurements.attention import ATTENTION_ON_TEXTS
from wherewhat.profiling.measurements.base import ProfileContext
from wherewhat.profiling.measurements.hidden import HIDDEN_STATES
from wherewhat.profiling.reading import read_attention
from wherewhat.profiling.settings import ProfileSettings, settings_section
from wherewhat.profiling.tables import heads_table
from wherewhat.progress import OnText, Phases
from wherewhat.tables.cache import keep, key_of, recall
from wherewhat.tables.manifest.provenance import provenance
from wherewhat.tables.manifest.scores import UntrainedSection

PHASE = "untrained baseline"
LARGEST = 500_000_000  # parameters; larger models have a baseline only on request
WINDOWS = 4  # that untrained weights read at most: a layer's heads are averaged, so few are enough
PART = 4  # and at most one in so many of those that the model reads
MEASUREMENTS = (ATTENTION_ON_TEXTS, HIDDEN_STATES)  # those that read the texts
MEANS: dict[str, Any] = {"layer": pl.Int32, "score": pl.String, "untrained": pl.Float64}
SEED = 0  # of the untrained weights


@dataclass(frozen=True)
class UntrainedBaseline:
    """The mean over the heads of each layer, by score, and what has to be known to read it."""

    means: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=MEANS))
    windows: int = 0
    notes: tuple[str, ...] = ()

    def fill(self, heads: pl.DataFrame) -> pl.DataFrame:
        """The table of heads with its column `untrained` filled in."""
        joined = heads.drop("untrained").join(self.means, on=["layer", "score"], how="left", maintain_order="left")
        return joined.select(heads.columns)

    @property
    def section(self) -> UntrainedSection | None:
        """For the manifest; None where it was not measured."""
        return UntrainedSection(windows=self.windows, seed=SEED) if self.windows else None


def work(context: ProfileContext) -> int:
    """About how many tokens the untrained model reads."""
    windows = len(context.ids)
    again = sum(measurement.work(context) for measurement in MEASUREMENTS if measurement.is_wanted(context))
    return again * min(WINDOWS, -(-windows // PART)) // windows


def measure_untrained(context: ProfileContext) -> UntrainedBaseline:
    """Profile untrained weights on some of the windows, or recall an earlier result."""
    model, settings = context.model, context.settings
    if settings.untrained is False:
        return UntrainedBaseline()
    on_text = context.phases.begin(PHASE)
    parameters = sum(parameter.numel() for parameter in model.module.parameters())
    if settings.untrained is None and parameters > LARGEST:
        note = f"No untrained baseline was measured: {parameters:,} parameters take long to draw."
        return UntrainedBaseline(notes=(note,))
    # Windows are drawn by their tokens, so that the order of texts does not matter.
    drawn = sorted(context.ids, key=lambda ids_T: generator_of(ids_T, SEED).initial_seed())
    some = EncodedTexts.of(drawn[: min(WINDOWS, -(-len(drawn) // PART))])
    bare = _without_own_inputs(settings)
    key = key_of(_key_parts(replace(context, texts=some, settings=bare)))
    kept = recall("untrained", key)
    if not isinstance(kept, dict):
        try:
            untrained = ProfileContext(untrained_copy(model, seed=SEED), some, bare, Phases())
            kept = _layer_means(untrained, on_text).to_dict(as_series=False)
        except (UserError, ArithmeticError, AttributeError, TypeError, ValueError, RuntimeError) as error:
            reason = str(error).strip().splitlines() or [type(error).__name__]
            note = f"No untrained baseline was measured: untrained weights failed ({reason[0]})."
            return UntrainedBaseline(notes=(note,))
        keep("untrained", key, kept)
    return UntrainedBaseline(pl.DataFrame(kept, schema=MEANS), len(some.ids))


def _layer_means(context: ProfileContext, on_text: OnText) -> pl.DataFrame:
    """The mean of every score over the heads of a layer."""
    reading = read_attention(context.model, context.texts, context.settings, on_text=on_text)
    context = replace(context, attention=reading)
    results = [measurement.measure(context) for measurement in MEASUREMENTS if measurement.is_wanted(context)]
    heads = heads_table(context.model.id, reading, [result.summaries for result in results])
    # Means over a few texts give every slot a mean of its own, so `mean.*` would be larger than over all texts.
    kept = heads.filter(~pl.col("score").str.starts_with("mean."))
    grouped = kept.group_by("layer", "score", maintain_order=True)
    return grouped.agg(untrained=pl.col("value").mean()).drop_nulls()


def _without_own_inputs(settings: ProfileSettings) -> ProfileSettings:
    """The same scores of all heads, without those measured on other inputs than the texts."""
    bare = replace(settings, positional=None, random=None, blocks=None, layers=(), heads=(), scores=())
    bare_names = {name.partition("@")[0] for name in bare.known} | bare.known.keys()
    return replace(bare, scores=tuple(name for name in settings.scores if name in bare_names), untrained=False)


def _key_parts(context: ProfileContext) -> dict[str, Any]:
    """All that decides the numbers, but for the code."""
    parameter, config = next(context.model.module.parameters()), cast(Any, context.model.module).config.to_dict()
    config.pop("_name_or_path", None)
    return {
        "versions": provenance()["versions"],
        "architecture": [type(context.model.module).__qualname__, config],
        "computed": [str(parameter.dtype), parameter.device.type, SEED],
        "settings": settings_section(context.settings, None),
        "texts": text_hash(context.ids),
    }
