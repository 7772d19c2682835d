"""From a model and some texts to a profile: load, read the attention, measure, describe."""

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Unpack

from torch import nn

from wherewhat.capture.loading.load import LoadedModel, LoadSettings
from wherewhat.capture.tokens.encode import OWN, EncodedTexts
from wherewhat.profiling.describe import layer_sections, model_section, reading_notes, score_section, texts_section
from wherewhat.profiling.diagnostics import learned_positions_note, missing_values, refuse_unmeasurable
from wherewhat.profiling.inputs import TextInput, encode_texts, load_model
from wherewhat.profiling.measurements.base import ProfileContext
from wherewhat.profiling.measurements.positional import within
from wherewhat.profiling.measurements.registry import MEASUREMENTS
from wherewhat.profiling.reading import AttentionReading, Say, read_attention
from wherewhat.profiling.settings import ProfileOptions, ProfileSettings, settings_from, settings_section, swaps_section
from wherewhat.profiling.tables import frequencies_table, frequency_correlations, heads_table, offsets_table
from wherewhat.profiling.untrained import PHASE as UNTRAINED
from wherewhat.profiling.untrained import measure_untrained
from wherewhat.profiling.untrained import work as untrained_work
from wherewhat.progress import LOADING, OnStep, Phases, shows_progress
from wherewhat.runs.registry import Profile
from wherewhat.tables.manifest.provenance import peak_memory, provenance
from wherewhat.tables.manifest.scores import ProfileManifest
from wherewhat.tables.texts import Origin


@shows_progress
def profile(
    model: str | nn.Module | LoadedModel = "tiny",
    texts: Iterable[TextInput] | EncodedTexts | None = None,
    *,
    settings: ProfileSettings | None = None,
    tokenizer: Any = None,
    loading: LoadSettings | None = None,
    progress: bool = False,
    on_step: OnStep | None = None,
    say: Say | None = None,
    source: str | Origin = "handed in",
    **options: Unpack[ProfileOptions],
) -> Profile:
    """Measure where every head of a model looks.

    `model` is a name (built in, a folder, a Hub id) or a module; `texts` are strings, or token ids as
    lists, arrays or tensors; they may be left out for a net that knows the task it was trained on. What is measured
    is set by `settings`, or by single fields of `ProfileSettings` as keywords; `queries` may also be "last" or "all".
    `progress` shows a progress bar, or `on_step` is called; `say` is called with warnings while it runs.
    """
    began = time.perf_counter()
    settings, loading = settings_from(profile, settings, options), loading or LoadSettings()
    phases = Phases(on_step)
    phases.begin(LOADING)
    loaded = load_model(model, tokenizer, loading)
    on_text = phases.begin("reading texts")
    context = ProfileContext(loaded, encode_texts(loaded, texts, settings), settings, phases)
    if say is not None:
        for note in (*loaded.notes, *context.texts.notes):
            say(note)

    def plan(first_batch: AttentionReading) -> None:
        phases.plan(_work(replace(context, attention=first_batch)))

    reading = read_attention(loaded, context.texts, settings, on_text=on_text, on_first=plan, say=say)
    refuse_unmeasurable(reading)
    context = replace(context, attention=reading)
    results = {
        name: measurement.measure(context)
        for name, measurement in MEASUREMENTS.items()
        if measurement.is_wanted(context)
    }
    heads = heads_table(loaded.id, reading, [result.summaries for result in results.values()])
    baseline = measure_untrained(context)
    heads = baseline.fill(heads)
    results = {name: within(result, heads) for name, result in results.items()}
    frequencies = frequencies_table(reading)
    hidden = "hidden" in results and bool(results["hidden"].summaries)
    parameter = next(loaded.module.parameters())
    manifest = ProfileManifest(
        **provenance(),
        settings=settings_section(settings, loading if isinstance(model, str) else None),
        model=model_section(
            loaded,
            layers=len(reading.layers),
            heads=heads.select("layer", "head").n_unique(),
            total_heads=sum(reading.accumulator.layers[site].heads for site in reading.layers),
        ),
        texts=texts_section(loaded, context.texts, OWN if texts is None else source),
        seed=settings.seed,
        dtype=str(parameter.dtype).removeprefix("torch."),
        device=str(parameter.device),
        seconds=round(time.perf_counter() - began, 3),
        peak_memory_bytes=peak_memory(),
        layers=layer_sections(reading),
        swaps=swaps_section(settings),
        untrained=baseline.section,
        scores={name: score_section(score) for result in results.values() for name, score in result.scores.items()},
        correspondence=frequency_correlations(frequencies, heads, seed=settings.seed),
        notes=[
            *reading_notes(reading),
            *context.texts.notes,
            *baseline.notes,
            *missing_values(reading, hidden=hidden),
            *learned_positions_note(reading, hidden=hidden),
            *(note for result in results.values() for note in result.notes),
        ],
        **{name: result.section for name, result in results.items() if result.section is not None},
    )
    run = Profile(heads, offsets_table(reading), frequencies, manifest)
    matrices = [result.matrices for result in results.values() if result.matrices is not None]
    return replace(run, positional=matrices[0]) if matrices else run


def _work(context: ProfileContext) -> dict[str, int]:
    """Estimate how many tokens the model reads in each phase."""
    wanted = [measurement for measurement in MEASUREMENTS.values() if measurement.is_wanted(context)]
    work = {measurement.phase: measurement.work(context) for measurement in wanted}
    return work if context.settings.untrained is False else work | {UNTRAINED: untrained_work(context)}
