"""Measure the effect of an edit: measure the model, edit it, measure it again, restore it, compare."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Unpack

import polars as pl
from torch import nn

from wherewhat.capture.editing.survey import Layer, survey
from wherewhat.capture.loading.load import LoadedModel, LoadSettings, wrap_module
from wherewhat.capture.outputs.language_model import ANSWER, body, load_language_model
from wherewhat.capture.tokens.encode import OWN
from wherewhat.capture.tokens.special_tokens import plain_tokens
from wherewhat.editing.abilities import Ability, AbilityTests, ability_estimates, ability_tests, measure_ability
from wherewhat.editing.edit import applied
from wherewhat.editing.plan import Edit
from wherewhat.editing.resolve import edited_frequencies
from wherewhat.editing.sweeps import SweepStep, sweep_steps
from wherewhat.errors import UserError
from wherewhat.profiling.accumulate import summarise_change
from wherewhat.profiling.describe import layer_sections, model_section, reading_notes, score_section, texts_section
from wherewhat.profiling.diagnostics import missing_values, refuse_unmeasurable
from wherewhat.profiling.inputs import TextInput, encode_texts
from wherewhat.profiling.reading import AttentionReading, Say, read_attention
from wherewhat.profiling.settings import ProfileSettings, ReadingOptions, settings_from, settings_section, swaps_section
from wherewhat.profiling.tables import heads_table
from wherewhat.progress import shows_progress
from wherewhat.runs.registry import EditEffect
from wherewhat.scores.base import HIDDEN_STATE
from wherewhat.stats.estimate import Estimate
from wherewhat.tables.manifest.provenance import peak_memory, provenance
from wherewhat.tables.manifest.scores import CopySection, EditManifest, EditSection, SweptBand
from wherewhat.tables.schema import EDIT, OF_HEAD, frame

OnStep = Callable[[int, int, str], None]  # done, of how many, and a note
Row = tuple[object, ...]  # of edit.parquet


@dataclass(frozen=True)
class EditExperiment:
    """A model, its edit, and what is measured before and after."""

    model: LoadedModel
    edit: Edit
    tests: AbilityTests
    settings: ProfileSettings
    layers: Sequence[Layer]


@dataclass(frozen=True)
class MeasuredState:
    """What was measured of the model at one time."""

    ability: Ability
    reading: AttentionReading


@shows_progress
def measure_edit(
    model: str | nn.Module | LoadedModel,
    texts: Iterable[TextInput] | None,
    edit: Edit,
    *,
    each: str | None = None,
    random: int = 32,
    tokenizer: Any = None,
    loading: LoadSettings | None = None,
    progress: bool = False,
    on_step: OnStep | None = None,
    say: Say | None = None,
    source: str = "handed in",
    settings: ProfileSettings | None = None,
    **options: Unpack[ReadingOptions],
) -> EditEffect:
    """Measure what an edit does to a model: its loss, its copying and its heads, before and after.

    `model` and `texts` are as for a profile, but the model must predict tokens. `each` also goes through every "head"
    or every "band" by itself. `random` is the number of random sequences that copying is tested on. `options` are
    fields of `ProfileSettings`. `progress` shows how far it has come, or `on_step` is called.
    """
    began = time.perf_counter()
    settings, loading = _without_hidden(settings_from(measure_edit, settings, options)), loading or LoadSettings()
    loaded = _load(model, tokenizer, loading)
    if loaded.hears:
        raise UserError(
            f"{loaded.id} hears speech, and an edit is measured by the loss on text; edit it in Python with `ww.edit`"
        )
    layers = survey(loaded.module)
    edits = edit.rotary or bool(edit.ablate)  # a sweep may be all there is
    steps = _checked_steps(loaded, edit, each, layers)
    encoded = encode_texts(loaded, texts, settings)
    tests = ability_tests(loaded, encoded, random=random, seed=settings.seed)
    experiment = EditExperiment(loaded, edit, tests, settings, layers)
    counter = _Progress(on_step, (len(encoded.ids) + 1) * (2 if edits else 1) + len(steps))
    before, after = _measure(experiment, counter, "before", say), None
    refuse_unmeasurable(before.reading)
    if edits:
        with applied(loaded.module, edit, layers):
            after = _measure(experiment, counter, "after")
    rows = [*_model_rows(experiment, before, after), *_head_rows(experiment, before, after)]
    for step in steps:
        estimates = effect_of(loaded, tests, before.ability, step.edit, layers)
        about = (loaded.id, step.edit.description, step.layer, step.head, step.band)
        rows += _ability_rows(experiment, about, "change", estimates)
        counter.add(step.edit.description)
    heads = [heads_table(loaded.id, before.reading, [before.reading.summaries()])]
    if after is not None:
        heads.append(heads_table(f"{loaded.id} · {edit.description}", after.reading, [after.reading.summaries()]))
    manifest = replace(
        _manifest(experiment, before, steps, each),
        settings={**settings_section(settings, loading if isinstance(model, str) else None), "random": random},
        texts=texts_section(loaded, encoded, OWN if texts is None else source),
        seconds=round(time.perf_counter() - began, 3),
        peak_memory_bytes=peak_memory(),
    )
    return EditEffect(frame(rows, EDIT), pl.concat(heads), manifest)


def effect_of(
    model: LoadedModel, tests: AbilityTests, before: Ability, edit: Edit, layers: Sequence[Layer]
) -> dict[str, Estimate]:
    """By how much an edit changes what a model can do; afterwards the model is as before."""
    with applied(model.module, edit, layers):
        after = measure_ability(model, tests)
    return ability_estimates(before, after, seed=tests.seed)


def _without_hidden(settings: ProfileSettings) -> ProfileSettings:
    if settings.named(HIDDEN_STATE) or settings.hidden:
        raise UserError("an edit is not followed into hidden states; leave hidden and scores of hidden states out")
    return replace(settings, hidden=False)


def _load(model: str | nn.Module | LoadedModel, tokenizer: Any, loading: LoadSettings) -> LoadedModel:
    if isinstance(model, str):
        loaded = load_language_model(model, loading)
        return loaded if tokenizer is None else replace(loaded, tokenizer=tokenizer)
    return model if isinstance(model, LoadedModel) else wrap_module(model, tokenizer)


def _checked_steps(model: LoadedModel, edit: Edit, each: str | None, layers: Sequence[Layer]) -> list[SweepStep]:
    """The edits of the sweep, after checking, before anything is measured, that all of it can be done."""
    if edit.rotary or edit.ablate:
        with applied(model.module, edit, layers):
            pass
    elif each is None:
        raise UserError(
            "nothing is to be changed; say what with --drop, --unrotate, --keep, --scale or --ablate, or go through "
            "every head or band with --each"
        )
    return [] if each is None else sweep_steps(edit, each, layers)


class _Progress:
    """Counts what has been done and reports it."""

    def __init__(self, on_step: OnStep | None, of: int) -> None:
        self._on_step, self._of, self._done = on_step, of, 0

    def add(self, note: str, more: int = 1) -> None:
        self._done += more
        if self._on_step is not None:
            self._on_step(self._done, self._of, note)


def _measure(experiment: EditExperiment, progress: _Progress, note: str, say: Say | None = None) -> MeasuredState:
    """Measure what the model can do and what its heads attend to. Heads are read without computing token logits."""
    ability = measure_ability(experiment.model, experiment.tests)
    progress.add(note)
    read = 0

    def on_text(done: int, of: int) -> None:
        nonlocal read
        progress.add(note, done - read)
        read = done

    model, texts = body(experiment.model), experiment.tests.encoded
    return MeasuredState(ability, read_attention(model, texts, experiment.settings, on_text=on_text, say=say))


def _model_rows(experiment: EditExperiment, before: MeasuredState, after: MeasuredState | None) -> list[Row]:
    """Rows about the whole model: before, after and the change."""
    seed = experiment.settings.seed
    states = {"before": ability_estimates(before.ability, seed=seed)}
    if after is not None:
        states["after"] = ability_estimates(after.ability, seed=seed)
        states["change"] = ability_estimates(before.ability, after.ability, seed=seed)
    about = (experiment.model.id, experiment.edit.description, None, None, None)
    return [row for state, estimates in states.items() for row in _ability_rows(experiment, about, state, estimates)]


def _ability_rows(experiment: EditExperiment, about: Row, state: str, estimates: dict[str, Estimate]) -> list[Row]:
    """One row per measure; for copying, the texts that are counted are random sequences."""
    tests = experiment.tests
    sequences = 0 if tests.random is None else len(tests.random)
    return [
        (*about, name, state, each.value, each.low, each.high, tests.encoded.texts if name == "loss" else sequences)
        for name, each in estimates.items()
    ]


def _head_rows(experiment: EditExperiment, before: MeasuredState, after: MeasuredState | None) -> list[Row]:
    """Rows about every head: by how much each of its scores changed."""
    if after is None:
        return []
    rows: list[Row] = []
    sites_after = {layer: site for site, layer in after.reading.layers.items()}
    for _, layer, scores, heads in before.reading.chosen():
        scores_after = after.reading.accumulator.layers[sites_after[layer]]
        for name in (name for name in scores.values if name in scores_after.values):
            change = summarise_change(scores, scores_after, name, before.reading.resampling)
            for head in heads:
                numbers = map(float, (change.value_H[head], change.low_H[head], change.high_H[head]))
                about = (experiment.model.id, experiment.edit.description, layer, head, None)
                rows.append((*about, f"{OF_HEAD}{name}", "change", *numbers, int(change.texts_H[head])))
    return rows


def _manifest(
    experiment: EditExperiment, before: MeasuredState, steps: Sequence[SweepStep], each: str | None
) -> EditManifest:
    """What there is to say of the edit, the model, what it was tested on, and the sweep."""
    model, edit, reading, tests = experiment.model, experiment.edit, before.reading, experiment.tests
    drawn, parameter, scored = tests.random, next(model.module.parameters()), reading.accumulator.layers.values()
    return EditManifest(
        **provenance(),
        edit=EditSection(
            description=edit.description,
            each=each,
            **{field.name: list(getattr(edit, field.name)) for field in fields(Edit)},
            frequencies=edited_frequencies(edit, experiment.layers),
        ),
        model=model_section(body(model), layers=len(reading.layers), heads=sum(layer.heads for layer in scored)),
        predicts=tests.predicts,
        random=None
        if drawn is None
        else CopySection(sequences=len(drawn), half=drawn.shape[1] // 2, of=len(plain_tokens(model))),
        seed=experiment.settings.seed,
        dtype=str(parameter.dtype).removeprefix("torch."),
        device=str(parameter.device),
        layers=layer_sections(reading),
        bands=[
            SweptBand(layer=step.layer, band=step.band, theta=step.theta)
            for step in steps
            if step.band is not None and step.theta is not None
        ],
        swaps=swaps_section(experiment.settings),
        scores={
            name: score_section(experiment.settings.row_scores[name])
            for name in dict.fromkeys(name for layer in scored for name in layer.values)
        },
        notes=[
            *reading_notes(reading),
            *tests.encoded.notes,
            *_without_copying(tests),
            *missing_values(reading, hidden=True),
        ],
    )


def _without_copying(tests: AbilityTests) -> list[str]:
    """Why copying was not tested, if it was not."""
    if tests.random is not None:
        return []
    if tests.predicts == ANSWER:
        return [
            "The loss is that of the answer at the last token. Copying is not tested: the net was trained to answer "
            "and to predict nothing else."
        ]
    return ["Copying was not tested: no random sequences were asked for, or the model holds too few tokens for them."]
