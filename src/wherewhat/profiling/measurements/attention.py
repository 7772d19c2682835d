"""Scores of attention and logits on the texts as they are. The attention itself has been read before."""

from wherewhat.profiling.measurements.base import Measurement, MeasurementResult, ProfileContext
from wherewhat.scores.base import ROW_KINDS


def measure(context: ProfileContext) -> MeasurementResult:
    """Summarise the scores that were computed while the attention was read."""
    assert context.attention is not None
    layers = context.attention.accumulator.layers
    names = dict.fromkeys(name for layer in layers.values() for name in layer.values)
    return MeasurementResult(
        summaries=context.attention.summaries(),
        scores={name: context.settings.row_scores[name] for name in names},
    )


ATTENTION_ON_TEXTS = Measurement(
    name="attention",
    phase="reading texts",
    kinds=ROW_KINDS,
    is_wanted=lambda context: True,
    work=lambda context: context.tokens,
    measure=measure,
)
