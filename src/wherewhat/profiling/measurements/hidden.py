"""Scores for models whose position is in the hidden states: moved tokens, then means over texts."""

from wherewhat.profiling.accumulate import summarise_all
from wherewhat.profiling.hidden_states.moved_tokens import LEAST_SLOTS, MOVED_TEXTS, move_tokens
from wherewhat.profiling.hidden_states.slot_means import slot_means
from wherewhat.profiling.measurements.base import Measurement, MeasurementResult, ProfileContext
from wherewhat.scores.base import HIDDEN_STATE
from wherewhat.scores.registry import scores_at

PHASE = "moving tokens"
RERUNS = 100  # about how often a text runs when its tokens are moved


def is_wanted(context: ProfileContext) -> bool:
    """Whether it was asked for, or no layer's logits show what slots do."""
    settings = context.settings
    if settings.hidden is not None:
        return settings.hidden
    long_enough = max(map(len, context.ids)) >= settings.first + LEAST_SLOTS
    is_hidden = context.attention is not None and context.attention.position_is_hidden
    is_hidden = is_hidden and not context.model.hears  # stretches of speech cannot be moved one by one
    return bool(settings.named(HIDDEN_STATE)) or (is_hidden and long_enough and not settings.scores)


def measure(context: ProfileContext) -> MeasurementResult:
    """Measure how much of every head's attention comes from position, also where logits do not depend on slots."""
    moved = move_tokens(context, context.phases.begin(PHASE))
    means = slot_means(context, moved.sites)
    summaries = {}
    for site in moved.sites:
        layers = [by_site[site] for by_site in (moved.layers, means.layers) if site in by_site]
        by_name = {
            name: summary for layer in layers for name, summary in summarise_all(layer, context.resampling).items()
        }
        if by_name:
            summaries[site] = by_name
    result = MeasurementResult(
        summaries=summaries,
        scores={
            name: score
            for name, score in scores_at(context.settings.tau).items()
            if any(name in by_name for by_name in summaries.values())
        },
        notes=[*moved.notes(context), *means.notes(context, moved.sites)],
        section=means.hidden_layers(moved.sites),
    )
    named = context.settings.named(HIDDEN_STATE)
    return result.only(named) if named else result


HIDDEN_STATES = Measurement(
    name="hidden",
    phase=PHASE,
    kinds=(HIDDEN_STATE,),
    is_wanted=is_wanted,
    work=lambda context: RERUNS * sum(map(len, context.ids[:MOVED_TEXTS])) + context.tokens,
    measure=measure,
)
