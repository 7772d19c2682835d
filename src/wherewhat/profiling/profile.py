"""The walk from a model and some texts to a profile: load, read, ask, sum up."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import torch
from torch import Tensor, nn

from wherewhat.capture.capture import Captured, capture
from wherewhat.capture.hooks.reader import AttentionSite, Seen, numbered
from wherewhat.capture.loading.load import LoadedModel, LoadSettings, load_by_name, wrap_module
from wherewhat.capture.tokens.batch import ALL, LAST, batches
from wherewhat.capture.tokens.blocks import blocks_by
from wherewhat.capture.tokens.encode import OWN, Encoded, encode, own_texts
from wherewhat.errors import UserError
from wherewhat.profiling.accumulate import TABLES, Resampling, ScoreAccumulator, Swapping
from wherewhat.profiling.correspondence import correspondence
from wherewhat.profiling.describe import about_model, about_score, about_texts, notes
from wherewhat.profiling.diagnostics import learned_beside, refuse_in_vain, silences, told_of
from wherewhat.profiling.hidden_states.moving import LEAST_SLOTS, MOVED_TEXTS
from wherewhat.profiling.measurements.hidden import Hidden, measure_hidden
from wherewhat.profiling.measurements.positional import Positional, measure_positional, nothing_measured
from wherewhat.profiling.measurements.repeated import Repeats, measure_repeats
from wherewhat.profiling.positional_part.probing import Probing
from wherewhat.profiling.repeated_tokens.repeating import Repeating
from wherewhat.profiling.settings import ProfileSettings, about_swaps, check_settings, told
from wherewhat.profiling.tables import chosen, frequencies_table, heads_table, offsets_table
from wherewhat.profiling.untrained import PART, WINDOWS, measure_untrained
from wherewhat.progress import LOADING, OnStep, OnText, Phases, shows_progress
from wherewhat.runs.profile import Profile
from wherewhat.tables.manifest import peak_memory, provenance
from wherewhat.tables.origin import Origin
from wherewhat.tables.texts import Text

FRESH = "untrained baseline"
RERUNS = 100  # about how often a text runs when its tokens are moved
OneText = str | Text | Tensor | Sequence[int] | np.ndarray  # a string, or token ids
Say = Callable[[str], None]  # takes a sentence for whoever waits
SLOW = 2 * 10**8  # entries of whole tables beyond which it takes long to build them all


@shows_progress
def profile(
    model: str | nn.Module | LoadedModel = "tiny",
    texts: Iterable[OneText] | Encoded | None = None,
    *,
    tokenizer: Any = None,
    loading: LoadSettings | None = None,
    progress: bool = False,
    on_step: OnStep | None = None,
    say: Say | None = None,
    source: str | Origin = "handed in",
    **measuring: Any,
) -> Profile:
    """Measure where every head of a model looks.

    `model` is a name (built in, a folder, a Hub id) or a module; `texts` are strings, or token ids as
    lists, arrays or tensors; they may be left out for a net that knows the task it was trained on. `progress`
    shows how far it has come, or `on_step` is told; `say` is told what has to be known while it runs. `measuring` are
    the fields of `Measuring`; `queries` may also be "last" or "all".
    """
    began = time.perf_counter()
    check_settings(profile, measuring)
    settings = ProfileSettings(**measuring)
    loading = loading or LoadSettings()
    phases = Phases(on_step)
    phases.begin(LOADING)
    loaded_model = _subject(model, tokenizer, loading)
    on_text = phases.begin("reading texts")
    encoded = read(loaded_model, texts, settings)
    ids = encoded.ids
    if say is not None:
        for note in (*loaded_model.notes, *encoded.notes):
            say(note)
    tally, captured = listen(
        loaded_model,
        ids,
        settings,
        on_text=on_text,
        on_first=lambda tally, captured: phases.plan(_work(encoded, settings, _unread(loaded_model, tally, captured))),
        say=say,
    )
    layers = numbered(captured.sites)
    refuse_in_vain(loaded_model.id, ids, tally, captured.opaque, settings)
    hidden = look_inside(loaded_model, encoded, _unread(loaded_model, tally, captured), settings, phases)
    positional = look_at_position(loaded_model, encoded, settings, phases)
    repeats = look_at_repeats(loaded_model, settings, phases)
    more = (hidden.answers, positional.answers, repeats.answers)
    heads = heads_table(loaded_model.id, tally, layers, settings, resampling=_resampling(encoded, settings), more=more)
    alone = _heads_alone if settings.untrained is False else partial(_heads_alone, on_text=phases.begin(FRESH))
    untrained = measure_untrained(loaded_model, encoded, settings, alone)
    heads = untrained.beside(heads)
    frequencies = frequencies_table(loaded_model.id, tally, layers, settings)
    silent = silences(tally, captured.opaque, layers, asked_inside=bool(hidden.answers))
    manifest = {
        **provenance(),
        "command": None,
        "settings": told(settings, loading if isinstance(model, str) else None),
        "model": about_model(
            loaded_model,
            layers=len(layers),
            heads=heads.select("layer", "head").n_unique(),
            total_heads=sum(tally.accounts[site].heads for site in layers),
        ),
        "texts": about_texts(loaded_model, encoded, OWN if texts is None else source),
        "seed": settings.seed,
        "dtype": str(next(loaded_model.module.parameters()).dtype).removeprefix("torch."),
        "device": str(next(loaded_model.module.parameters()).device),
        "seconds": round(time.perf_counter() - began, 3),
        "peak_memory_bytes": peak_memory(),
        "layers": [
            {"layer": number, "part": site.part, "module": site.module, **told_of(site, tally, captured.opaque)}
            for site, number in layers.items()
        ],
        "swaps": about_swaps(settings),
        "untrained": untrained.about,
        "scores": {
            **{name: about_score(settings.asked[name]) for name in _answered(tally)},
            **hidden.scores,
            **positional.scores,
            **repeats.scores,
        },
        "hidden": hidden.layers,
        **({"positional": positional.within(heads).told} if settings.positional else {}),
        **({"random": repeats.told} if settings.random else {}),
        "correspondence": correspondence(frequencies, heads, seed=settings.seed),
        "notes": [
            *notes(loaded_model, layers, settings.asked),
            *encoded.notes,
            *untrained.notes,
            *silent,
            *learned_beside(loaded_model.table, tally, asked_inside=bool(hidden.answers)),
            *hidden.notes,
            *positional.notes,
            *repeats.notes,
        ],
    }
    offsets = offsets_table(loaded_model.id, tally, layers, settings)
    return Profile(heads, offsets, frequencies, manifest, positional.within(heads).maps)


def _heads_alone(
    model: LoadedModel, encoded: Encoded, settings: ProfileSettings, on_text: OnText | None = None
) -> pl.DataFrame:
    """The rows of heads.parquet and nothing else."""
    tally, captured = listen(model, encoded.ids, settings, on_text=on_text)
    hidden = look_inside(model, encoded, _unread(model, tally, captured), settings)
    layers, resampling = numbered(captured.sites), _resampling(encoded, settings)
    return heads_table(model.id, tally, layers, settings, resampling=resampling, more=(hidden.answers,))


def _resampling(encoded: Encoded, settings: ProfileSettings) -> Resampling:
    return Resampling(tuple(encoded.origins), settings.seed)


def _refuse_extra(model: LoadedModel, sites: Sequence[AttentionSite]) -> None:
    """A family that mixes several attentions in a layer has no head that one of them describes."""
    if model.layers is not None and len(sites) > model.layers:
        raise UserError(
            f"{model.id} ({model.family}) showed {len(sites)} attentions in {model.layers} layers; "
            "which of them are its heads cannot be told, so it cannot be profiled"
        )


def _subject(model: str | nn.Module | LoadedModel, tokenizer: Any, loading: LoadSettings) -> LoadedModel:
    if isinstance(model, str):
        found = load_by_name(model, loading)
        return found if tokenizer is None else replace(found, tokenizer=tokenizer)
    return model if isinstance(model, LoadedModel) else wrap_module(model, tokenizer)


def read(model: LoadedModel, texts: Iterable[OneText] | Encoded | None, settings: ProfileSettings) -> Encoded:
    """The token ids to run, and what was cut: of the texts given, or of the task that a net was trained on."""
    if texts is None and settings.add_bos:
        raise UserError(f"{model.id} is to read texts of its own, which begin as they are; leave out --add-bos")
    if isinstance(texts, Encoded):
        return texts
    if texts is None:
        return own_texts(model, settings.max_texts, settings.seed, settings.max_tokens)
    if isinstance(texts, str):
        texts = [texts]
    if isinstance(texts, Tensor) and texts.dim() < 2:
        raise UserError(
            f"the texts are one tensor of {texts.numel()} token ids, which would be as many texts of one token; "
            "put it into a list, [ids]"
        )
    return encode(
        model,
        (_text_or_ids(text, number) for number, text in enumerate(texts)),
        max_tokens=settings.max_tokens,
        max_texts=settings.max_texts,
        add_bos=settings.add_bos,
    )


def _text_or_ids(text: OneText, number: int) -> str | Text | Tensor:
    """A string as it is, or token ids as a tensor, however they are written."""
    if isinstance(text, str | Text):
        return text
    try:
        ids_T = torch.as_tensor(text)
    except (TypeError, ValueError, RuntimeError):
        ids_T = torch.empty(1)  # which holds no ids
    if ids_T.is_floating_point() or ids_T.is_complex() or ids_T.dtype == torch.bool:
        raise UserError(
            f"text {number} is a {type(text).__name__} that does not hold whole numbers; "
            "give a string, or token ids as a list, an array or a tensor"
        )
    if ids_T.dim() == 0:
        raise UserError(
            f"text {number} is the number {text}; put the token ids of a text into a list of their own, [ids]"
        )
    return ids_T


def listen(
    model: LoadedModel,
    ids: Sequence[Tensor],
    settings: ProfileSettings,
    *,
    on_text: OnText | None = None,
    on_first: Callable[[ScoreAccumulator, Captured], None] | None = None,
    say: Say | None = None,
) -> tuple[ScoreAccumulator, Captured]:
    """Run the model over all texts while the tally listens; `on_first` may look at what came of the first batch."""
    blocks = _blocks(model, ids, settings)
    swapping = Swapping(settings.tau, settings.first, settings.logit_rows, settings.max_swaps, blocks)
    tally = ScoreAccumulator(settings.asked, swapping=swapping, longest=max(map(len, ids)), seed=settings.seed)
    done, waiting = 0, [] if say is None else [say]

    def see(seen: Seen) -> None:
        if waiting and seen.logits is not None and (slow := _slow(model, ids, settings, seen)):
            waiting.pop()(slow)
        tally.see(seen)

    with capture(model.module, see) as captured:
        for batch in batches(ids, queries=settings.queries, seed=settings.seed, tokens=settings.batch_tokens):
            captured.read(batch)
            tally.close()
            if not done:
                chosen(tally, numbered(captured.sites), settings)  # what was asked for in vain shows after one batch
                _refuse_extra(model, captured.sites)
                if on_first is not None:
                    on_first(tally, captured)
            done += len(batch.texts)
            if on_text is not None:
                on_text(done, len(ids))
        return tally, captured


def _slow(model: LoadedModel, ids: Sequence[Tensor], settings: ProfileSettings, seen: Seen) -> str | None:
    """What to say before many whole tables are built; nothing if there are none, or few."""
    if seen.logits is None or not seen.logits.by_table:
        return None
    read = [1 if settings.queries == LAST else min(settings.queries or len(text), len(text)) for text in ids]
    most = max(1, settings.logit_rows // TABLES)
    rows = read if settings.logit_rows == ALL else [min(count, most) for count in read]
    entries = sum(count * len(text) ** 2 for count, text in zip(rows, ids, strict=True))
    if entries * len(seen.attention_HQK) * (model.layers or 1) < SLOW:
        return None
    return (
        f"the logits of {model.id} are read off whole tables, {sum(rows):,} rows of up to {max(map(len, ids)):,} × "
        f"{max(map(len, ids)):,} in every layer, which takes long; --logit-rows 1 looks at one row of each text"
    )


def _blocks(model: LoadedModel, ids: Sequence[Tensor], settings: ProfileSettings) -> tuple[Tensor, ...] | None:
    blocks = settings.blocks
    if blocks is None:
        return None
    if isinstance(blocks, str):
        return tuple(blocks_by(model, text, blocks, settings.first) for text in ids)
    if len(blocks) != len(ids):
        raise UserError(f"there are blocks for {len(blocks)} texts, but {len(ids)} texts; give one line for each text")
    found = tuple(torch.as_tensor(here, dtype=torch.long).view(-1, 2) for here in blocks)
    for number, (text, here) in enumerate(zip(ids, found, strict=True)):
        if len(here) and int(here.max()) > len(text):
            raise UserError(
                f"a block of text {number} ends before slot {int(here.max())}, but the text has {len(text)} tokens; "
                "slots are counted in tokens, from 0"
            )
    return found


def _unread(model: LoadedModel, tally: ScoreAccumulator, captured: Captured) -> bool:
    """Whether no layer's logits tell what slots do: they know nothing of them, or could not be taken apart.

    A model of others whose logits could not be taken apart may be large, so it is run again only if that is asked for.
    """
    told = [told_of(site, tally, captured.opaque) for site in captured.sites if site.part != "cross"]
    ours = model.net is not None
    known = [one["logits"] for one in told if one and (ours or one["logits"] != "opaque")]
    return bool(known) and "exact" not in known


def _work(encoded: Encoded, settings: ProfileSettings, unread: bool) -> dict[str, int]:
    """About how many tokens the model reads in every phase, of those that there will be."""
    tokens, windows = sum(map(len, encoded.ids)), len(encoded.ids)
    work = {"reading texts": tokens}
    if _looks_inside(encoded, unread, settings):
        work["moving tokens"] = RERUNS * sum(map(len, encoded.ids[:MOVED_TEXTS])) + tokens
    if isinstance(settings.positional, Probing):
        work["positional part"] = settings.positional.words * settings.positional.length + 2 * tokens
    if isinstance(settings.random, Repeating):
        work["repeated tokens"] = settings.random.sequences * 2 * settings.random.length
    if settings.untrained is not False:
        again = work["reading texts"] + work.get("moving tokens", 0)
        work[FRESH] = again * min(WINDOWS, -(-windows // PART)) // windows
    return work


def _looks_inside(encoded: Encoded, unread: bool, settings: ProfileSettings) -> bool:
    """Whether position is looked for inside hidden states: asked for, or logits do not tell what slots do."""
    if settings.hidden is not None:
        return settings.hidden
    long_enough = max(map(len, encoded.ids)) >= settings.first + LEAST_SLOTS
    return bool(settings.inside) or (unread and long_enough and not settings.scores)


def look_inside(
    model: LoadedModel, encoded: Encoded, unread: bool, settings: ProfileSettings, phases: Phases | None = None
) -> Hidden:
    """Look for position inside hidden states, where that was asked for or where logits do not tell what slots do."""
    if not _looks_inside(encoded, unread, settings):
        return Hidden({}, {}, [], [])
    found = measure_hidden(
        model,
        encoded.ids,
        taus=settings.tau,
        first=settings.first,
        seed=settings.seed,
        batch_tokens=settings.batch_tokens,
        resampling=_resampling(encoded, settings),
        on_text=None if phases is None else phases.begin("moving tokens"),
    )
    return found.only(settings.inside) if settings.inside else found


def look_at_position(model: LoadedModel, encoded: Encoded, settings: ProfileSettings, phases: Phases) -> Positional:
    """The positional part of attention, where that was asked for."""
    if not isinstance(settings.positional, Probing):
        return nothing_measured()
    resampling = _resampling(encoded, settings)
    on_text = phases.begin("positional part")
    found = measure_positional(model, encoded.ids, settings.positional, resampling, on_text)
    return found.only(settings.by_position) if settings.by_position else found


def look_at_repeats(model: LoadedModel, settings: ProfileSettings, phases: Phases) -> Repeats:
    """What heads do with random tokens that were said before, where that was asked for."""
    if not isinstance(settings.random, Repeating):
        return Repeats()
    found = measure_repeats(model, settings.random, phases.begin("repeated tokens"))
    return found.only(settings.on_repeats) if settings.scores else found


def _answered(tally: ScoreAccumulator) -> list[str]:
    """The scores that were asked of some place, in their order."""
    return list(dict.fromkeys(name for account in tally.accounts.values() for name in account.values))
