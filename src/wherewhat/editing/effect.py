"""The walk from a model, some texts and an edit to what the edit does: look, change, look again, put back, compare."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import polars as pl
from torch import nn

from wherewhat.capture.editing.survey import Layer, survey
from wherewhat.capture.hooks.reader import AttentionSite, numbered
from wherewhat.capture.loading.load import LoadedModel, LoadSettings, wrap_module
from wherewhat.capture.outputs.language_model import ANSWER, body, find_speaking, plain_tokens
from wherewhat.capture.tokens.encode import OWN
from wherewhat.editing.abilities import Ability, Trial, ability, trial
from wherewhat.editing.describe import frequencies_of
from wherewhat.editing.edit import applied
from wherewhat.editing.measures import Interval, effect, measures
from wherewhat.editing.plan import Edit
from wherewhat.editing.sweeps import Step, steps_of
from wherewhat.errors import UserError
from wherewhat.profiling.accumulate import Resampling, ScoreAccumulator, paired
from wherewhat.profiling.describe import about_model, about_score, about_texts, notes
from wherewhat.profiling.diagnostics import refuse_in_vain, silences, told_of
from wherewhat.profiling.profile import OneText, Say, listen, read
from wherewhat.profiling.settings import ProfileSettings, about_swaps, check_settings, told
from wherewhat.profiling.tables import chosen, heads_table
from wherewhat.progress import shows_progress
from wherewhat.runs.edited import Edited
from wherewhat.tables.manifest import peak_memory, provenance
from wherewhat.tables.schema import EDIT, OF_HEAD, frame

OnStep = Callable[[int, int, str], None]  # done, of how many, what to say beside it
Row = tuple[object, ...]  # of edit.parquet


@dataclass(frozen=True)
class Study:
    """A model, what it is tried on, and what is asked of its heads: the same before and after."""

    model: LoadedModel
    trial: Trial
    settings: ProfileSettings
    layers: Sequence[Layer]

    @property
    def resampling(self) -> Resampling:
        return Resampling(tuple(self.trial.encoded.origins), self.settings.seed)


@dataclass(frozen=True)
class State:
    """What was found of the model at one time."""

    able: Ability
    tally: ScoreAccumulator
    layers: dict[AttentionSite, int]
    opaque: dict[AttentionSite, str]


@shows_progress
def edited(
    model: str | nn.Module | LoadedModel,
    texts: Iterable[OneText] | None,
    wanted: Edit,
    *,
    each: str | None = None,
    random: int = 32,
    tokenizer: Any = None,
    loading: LoadSettings | None = None,
    progress: bool = False,
    on_step: OnStep | None = None,
    say: Say | None = None,
    source: str = "handed in",
    **measuring: Any,
) -> Edited:
    """Measure what an edit does to a model: its loss, its copying and its heads, before and after.

    `model` and `texts` are as for a profile, but the model must predict tokens. `each` also goes through every "head"
    or every "band" alone. `random` is how many sequences of random tokens copying is tried on. `measuring` are the
    fields of `Measuring`. `progress` shows how far it has come, or `on_step` is told.
    """
    began = time.perf_counter()
    settings, loading = _settings(measuring), loading or LoadSettings()
    loaded_model = _subject(model, tokenizer, loading)
    layers = survey(loaded_model.module)
    steps = _steps(loaded_model, wanted, each, layers)
    encoded = read(loaded_model, texts, settings)
    ids = encoded.ids
    study = Study(loaded_model, trial(loaded_model, encoded, random=random, seed=settings.seed), settings, layers)
    counter = _Progress(on_step, (len(ids) + 1) * (2 if _changes(wanted) else 1) + len(steps))
    before = _look(study, counter, "before", say)
    refuse_in_vain(loaded_model.id, ids, before.tally, before.opaque, settings)
    after = _look_changed(study, counter, wanted) if _changes(wanted) else None
    rows = [*_whole(study, before, after, wanted), *_heads(study, before, after, wanted)]
    rows += _sweep(study, before.able, steps, counter)
    heads = _head_tables(study, before, after, wanted)
    manifest = {
        **provenance(),
        "command": None,
        "edit": _told_edit(wanted, each, layers),
        "settings": {**told(settings, loading if isinstance(model, str) else None), "random": random},
        "texts": about_texts(loaded_model, encoded, OWN if texts is None else source),
        **_about(study, before, steps),
        "seconds": round(time.perf_counter() - began, 3),
        "peak_memory_bytes": peak_memory(),
        "notes": [
            *notes(loaded_model, before.layers, settings.asked),
            *encoded.notes,
            *_uncopied(study),
            *_silent(before),
        ],
    }
    return Edited(frame(rows, EDIT), heads, manifest)


def _told_edit(wanted: Edit, each: str | None, layers: Sequence[Layer]) -> dict[str, Any]:
    """The edit as the manifest tells it."""
    said = {one.name: list(getattr(wanted, one.name)) for one in fields(Edit)}
    return {"told": wanted.told, "each": each, **said, "frequencies": frequencies_of(wanted, layers)}


def _settings(measuring: dict[str, Any]) -> ProfileSettings:
    check_settings(edited, measuring)
    settings = ProfileSettings(**measuring)
    if settings.inside or settings.hidden:
        raise UserError("an edit is not followed into hidden states; leave hidden and scores of hidden states out")
    return replace(settings, hidden=False)


def _subject(model: str | nn.Module | LoadedModel, tokenizer: Any, loading: LoadSettings) -> LoadedModel:
    if isinstance(model, str):
        found = find_speaking(model, loading)
        return found if tokenizer is None else replace(found, tokenizer=tokenizer)
    return model if isinstance(model, LoadedModel) else wrap_module(model, tokenizer)


def _changes(wanted: Edit) -> bool:
    """Whether an edit does anything; a sweep alone has none."""
    return wanted.rotary or bool(wanted.ablate)


def _steps(model: LoadedModel, wanted: Edit, each: str | None, layers: Sequence[Layer]) -> list[Step]:
    """The edits of the sweep, after making sure, before anything is measured, that all of it can be done."""
    if not _changes(wanted) and each is None:
        raise UserError(
            "nothing is to be changed; say what with --drop, --unrotate, --keep, --scale or --ablate, or go through "
            "every head or band with --each"
        )
    if _changes(wanted):
        with applied(model.module, wanted, layers):
            pass
    return [] if each is None else steps_of(wanted, each, layers)


class _Progress:
    """Counts what has been done and tells whoever waits."""

    def __init__(self, on_step: OnStep | None, of: int) -> None:
        self._on_step, self._of, self._done = on_step, of, 0

    def add(self, note: str, more: int = 1) -> None:
        self._done += more
        if self._on_step is not None:
            self._on_step(self._done, self._of, note)


def _look(study: Study, progress: _Progress, note: str, say: Say | None = None) -> State:
    """Measure what the model can do and where its heads look. Heads are read without computing logits of tokens."""
    able = ability(study.model, study.trial)
    progress.add(note)
    known = 0

    def on_text(done: int, of: int) -> None:
        nonlocal known
        progress.add(note, done - known)
        known = done

    tally, captured = listen(body(study.model), study.trial.ids, study.settings, on_text=on_text, say=say)
    return State(able, tally, numbered(captured.sites), captured.opaque)


def _look_changed(study: Study, progress: _Progress, wanted: Edit) -> State:
    with applied(study.model.module, wanted, study.layers):
        return _look(study, progress, "after")


def _whole(study: Study, before: State, after: State | None, wanted: Edit) -> list[Row]:
    """Rows about the whole model: before, after and the change."""
    seed = study.settings.seed
    found = {"before": measures(before.able, seed=seed)}
    if after is not None:
        found |= {"after": measures(after.able, seed=seed), "change": measures(before.able, after.able, seed=seed)}
    about = (study.model.id, wanted.told, None, None, None)
    return [(*about, *_measured(study, state, name, one)) for state, of in found.items() for name, one in of.items()]


def _measured(study: Study, state: str, name: str, one: Interval) -> Row:
    """The last columns of a row; copying counts random sequences for texts."""
    sequences = 0 if study.trial.random is None else len(study.trial.random)
    return name, state, one.value, one.low, one.high, study.trial.encoded.texts if name == "loss" else sequences


def _heads(study: Study, before: State, after: State | None, wanted: Edit) -> list[Row]:
    """Rows about every head: by how much each of its scores changed."""
    if after is None:
        return []
    rows: list[Row] = []
    later = {layer: site for site, layer in after.layers.items()}
    for _, layer, account, heads in chosen(before.tally, before.layers, study.settings):
        other = after.tally.accounts[later[layer]]
        for name in (name for name in account.values if name in other.values):
            change = paired(account, other, name, study.resampling)
            for head in heads:
                spread = map(float, (change.value_H[head], change.low_H[head], change.high_H[head]))
                about = (study.model.id, wanted.told, layer, head, None, f"{OF_HEAD}{name}", "change")
                rows.append((*about, *spread, int(change.texts_H[head])))
    return rows


def _sweep(study: Study, before: Ability, steps: Sequence[Step], progress: _Progress) -> list[Row]:
    """Rows about every edit of the sweep: what it alone changes."""
    rows: list[Row] = []
    for step in steps:
        found = effect(study.model, study.trial, before, step.wanted, study.layers)
        about = (study.model.id, step.wanted.told, step.layer, step.head, step.band)
        rows += [(*about, *_measured(study, "change", name, one)) for name, one in found.items()]
        progress.add(step.wanted.told)
    return rows


def _head_tables(study: Study, before: State, after: State | None, wanted: Edit) -> pl.DataFrame:
    """heads.parquet: all scores before and, under the model's name with the edit behind it, after."""
    tables = []
    for name, state in ((study.model.id, before), (f"{study.model.id} · {wanted.told}", after)):
        if state is not None:
            found = heads_table(name, state.tally, state.layers, study.settings, resampling=study.resampling)
            tables.append(found)
    return pl.concat(tables)


def _about(study: Study, before: State, steps: Sequence[Step]) -> dict[str, Any]:
    """What the manifest says of the model, of what it was tried on, and of the sweep."""
    drawn, parameter = study.trial.random, next(study.model.module.parameters())
    heads = sum(account.heads for account in before.tally.accounts.values())
    scores = dict.fromkeys(name for account in before.tally.accounts.values() for name in account.values)
    plain = len(plain_tokens(study.model)) if drawn is not None else 0
    return {
        "model": about_model(body(study.model), layers=len(before.layers), heads=heads),
        "predicts": study.trial.speaks,
        "random": None if drawn is None else {"sequences": len(drawn), "half": drawn.shape[1] // 2, "of": plain},
        "seed": study.settings.seed,
        "dtype": str(parameter.dtype).removeprefix("torch."),
        "device": str(parameter.device),
        "layers": [
            {"layer": layer, "part": site.part, "module": site.module, **told_of(site, before.tally, before.opaque)}
            for site, layer in before.layers.items()
        ],
        "bands": [
            {"layer": step.layer, "band": step.band, "theta": step.theta} for step in steps if step.band is not None
        ],
        "swaps": about_swaps(study.settings),
        "scores": {name: about_score(study.settings.asked[name]) for name in scores},
    }


def _uncopied(study: Study) -> list[str]:
    """Why there is no word about copying, where there is none."""
    if study.trial.random is not None:
        return []
    if study.trial.speaks == ANSWER:
        return [
            "The loss is that of the answer at the last token. Copying is not asked of a net that was trained to "
            "answer and to say nothing else."
        ]
    return ["Copying was not tried: no random sequences were asked for, or the model holds too few tokens for them."]


def _silent(before: State) -> list[str]:
    """What could not be measured of the heads."""
    return silences(before.tally, before.opaque, before.layers, asked_inside=True)
