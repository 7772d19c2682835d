"""Compare heads across runs, checkpoints and models: take what was named, profile what has no profile yet, compare."""

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from wherewhat.comparing.change_rows import Row, paired_rows, unpaired_rows
from wherewhat.comparing.compatibility import excluded_scores, refuse_incompatible, same_shape
from wherewhat.comparing.head_pairs import SimilarHeads, similar_by_scores
from wherewhat.comparing.inputs import (
    CompareInput,
    InputProfiles,
    OnStep,
    ProfileRequest,
    display_names,
    input_of,
    refuse_too_few,
)
from wherewhat.comparing.manifest import comparison_manifest
from wherewhat.comparing.model_state import ModelState, mean_of_draws
from wherewhat.progress import shows_progress
from wherewhat.runs.registry import Comparison, Profile
from wherewhat.tables.schema import COMPARE, SIMILARITY, frame

if TYPE_CHECKING:  # a comparison of finished runs needs no torch
    from typing import Unpack

    from torch import nn

    from wherewhat.capture.loading.load import LoadedModel, LoadSettings
    from wherewhat.comparing.profile_inputs import CompareProfileOptions
    from wherewhat.profiling.inputs import TextInput
    from wherewhat.tables.texts import Origin

UNTRAINED = ("untrained", "untrained weights")  # their name; the second if a model has the first
MOST_SIMILAR = 8  # models of another shape whose heads are paired with those of the first: a map of heads for each


@shows_progress
def compare(
    models: "Sequence[str | Path | Profile | nn.Module | LoadedModel]",
    texts: "Iterable[TextInput] | None" = None,
    *,
    untrained: int = 0,
    similar: bool = False,
    loading: "LoadSettings | None" = None,
    progress: bool = False,
    on_step: OnStep | None = None,
    say: Callable[[str], None] | None = None,
    source: "str | Origin" = "handed in",
    **options: "Unpack[CompareProfileOptions]",
) -> Comparison:
    """Measure by how much heads changed, comparing every model of the list with the first.

    Each is a finished profile (or its folder), whose tables are enough, or a model, which is profiled here as by
    `profile`: on `texts`, or on those of the first. `untrained` is the number of draws of untrained weights, of the
    first model's architecture, that are put before the list. Models of another shape than the first are compared by
    the distributions of their scores, and each of their heads with the head of the first whose scores are nearest;
    with `similar`, heads of models that share their tokens are also compared by what they attend to. `options` are
    fields of `ProfileSettings`; the others are as in the first, if that is a profile, and a profile that was made with
    other settings is made again. `progress` shows how far it has come, or `on_step` is called.
    """
    began = time.perf_counter()
    if options:
        from wherewhat.profiling.settings import check_options

        check_options(compare, options)
    refuse_too_few(models, untrained)
    inputs = [input_of(model) for model in models]
    if similar:
        texts = _listed(texts, inputs, options.get("max_texts"))  # they are read twice
    request = ProfileRequest(texts, source, loading, options)
    similar_pairs: list[SimilarHeads] = []
    if similar:
        from wherewhat.comparing.attention_similarity import similar_by_attention

        similar_pairs += similar_by_attention(inputs, request, draws=untrained, on_step=on_step)
    profiles = InputProfiles([each.profile for each in inputs if each.profile is not None])
    missing = len(profiles.given) < len(inputs)
    if untrained or missing or options or loading is not None or texts is not None:
        from wherewhat.comparing.profile_inputs import profile_inputs

        profiles = profile_inputs(inputs, request, draws=untrained, on_step=on_step, say=say)
    states, draws = _states(inputs, profiles)
    return compare_states(states, draws, notes=profiles.notes, similar=similar_pairs, began=began)


def compare_states(
    states: Sequence[ModelState],
    draws: Sequence[ModelState] = (),
    *,
    notes: Sequence[str] = (),
    similar: Sequence[SimilarHeads] = (),
    began: float,
) -> Comparison:
    """Compare every later state with the first, and one of another shape by the distributions of its scores."""
    refuse_incompatible(states)
    table = _table(states, draws)
    of_other_shape = [other for other in states[1:] if not same_shape(states[0], other)]
    by_scores = [similar_by_scores(states[0], other) for other in of_other_shape[:MOST_SIMILAR]]
    pairs = [*similar, *(each for each in by_scores if each is not None)]
    manifest = comparison_manifest(
        table,
        states,
        draws,
        notes=notes,
        similar=[each.section for each in pairs],
        seconds=time.perf_counter() - began,
    )
    similarity = pl.concat([pl.DataFrame(schema=SIMILARITY), *(each.table for each in pairs)])
    return Comparison(table, manifest, similarity)


def _listed(
    texts: "Iterable[TextInput] | None", inputs: Sequence[CompareInput], max_texts: int | None
) -> "Iterable[TextInput] | None":
    """Texts that can be read again, no more of them than are needed."""
    from wherewhat.profiling.settings import ProfileSettings

    if texts is None or isinstance(texts, str):
        return texts
    most = [each.manifest.settings.get("max_texts", 0) for each in inputs] + [ProfileSettings.max_texts]
    return list(islice(texts, int(max_texts or max(most))))


def _states(inputs: Sequence[CompareInput], profiles: InputProfiles) -> tuple[list[ModelState], list[ModelState]]:
    """What is compared, first what all others are compared with; and every draw of untrained weights by itself."""
    names = display_names([run.manifest.model.id for run in profiles.given], [each.given for each in inputs])
    states = [ModelState(name, run.heads, run.manifest) for name, run in zip(names, profiles.given, strict=True)]
    if not profiles.untrained:
        return states, []
    name = next(name for name in UNTRAINED if name not in names)
    draws = [
        ModelState(f"{name} {number}", run.heads, run.manifest, draws=1)
        for number, run in enumerate(profiles.untrained, start=1)
    ]
    return [mean_of_draws(draws, name), *states], draws


def _table(states: Sequence[ModelState], draws: Sequence[ModelState]) -> pl.DataFrame:
    """Every later state compared with the first, and the first model with every draw of untrained weights by itself."""
    pairs = [(states[0], later) for later in states[1:]]
    pairs += [(draw, states[1]) for draw in draws] if len(draws) > 1 else []
    rows: list[Row] = []
    for before, after in pairs:
        excluded = excluded_scores(before, after)
        both = before.without(excluded), after.without(excluded)
        rows += paired_rows(*both) if same_shape(before, after) else unpaired_rows(*both)
    return frame(rows, COMPARE)
