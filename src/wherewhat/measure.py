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

from wherewhat.about import about_model, about_score, about_texts, notes
from wherewhat.asking import Measuring, about_swaps, check_measuring, told
from wherewhat.capture.batch import ALL, LAST, batches
from wherewhat.capture.blocks import blocks_by
from wherewhat.capture.door import Captured, capture
from wherewhat.capture.load import Loading, Subject, find, wrap
from wherewhat.capture.reader import Place, Seen, numbered
from wherewhat.capture.texts import OWN, Encoded, encode, own_texts
from wherewhat.correspondence import correspondence
from wherewhat.errors import UserError
from wherewhat.hidden.moving import LEAST_SLOTS, MOVED_TEXTS
from wherewhat.hidden.walk import Hidden, measure_hidden
from wherewhat.positional.probing import Probing
from wherewhat.positional.walk import Positional, measure_positional, nothing_measured
from wherewhat.progress import LOADING, OnStep, OnText, Phases, shows_progress
from wherewhat.repeats.repeating import Repeating
from wherewhat.repeats.walk import Repeats, measure_repeats
from wherewhat.runs.profile import Profile
from wherewhat.silence import learned_beside, refuse_in_vain, silences, told_of
from wherewhat.summing import chosen, frequencies_table, heads_table, offsets_table
from wherewhat.tables.manifest import peak_memory, provenance
from wherewhat.tables.origin import Origin
from wherewhat.tables.texts import Text
from wherewhat.tally import TABLES, Resampling, Swapping, Tally
from wherewhat.untrained import PART, WINDOWS, measure_untrained

FRESH = "untrained baseline"
RERUNS = 100  # about how often a text runs when its tokens are moved
OneText = str | Text | Tensor | Sequence[int] | np.ndarray  # a string, or token ids
Say = Callable[[str], None]  # takes a sentence for whoever waits
SLOW = 2 * 10**8  # entries of whole tables beyond which it takes long to build them all


@shows_progress
def profile(
    model: str | nn.Module | Subject = "tiny",
    texts: Iterable[OneText] | Encoded | None = None,
    *,
    tokenizer: Any = None,
    loading: Loading | None = None,
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
    check_measuring(profile, measuring)
    settings = Measuring(**measuring)
    loading = loading or Loading()
    phases = Phases(on_step)
    phases.begin(LOADING)
    subject = _subject(model, tokenizer, loading)
    on_text = phases.begin("reading texts")
    encoded = read(subject, texts, settings)
    ids = encoded.ids
    if say is not None:
        for note in (*subject.notes, *encoded.notes):
            say(note)
    tally, captured = listen(
        subject,
        ids,
        settings,
        on_text=on_text,
        on_first=lambda tally, captured: phases.plan(_work(encoded, settings, _unread(subject, tally, captured))),
        say=say,
    )
    layers = numbered(captured.places)
    refuse_in_vain(subject.id, ids, tally, captured.opaque, settings)
    hidden = look_inside(subject, encoded, _unread(subject, tally, captured), settings, phases)
    positional = look_at_position(subject, encoded, settings, phases)
    repeats = look_at_repeats(subject, settings, phases)
    more = (hidden.answers, positional.answers, repeats.answers)
    heads = heads_table(subject.id, tally, layers, settings, resampling=_resampling(encoded, settings), more=more)
    alone = _heads_alone if settings.untrained is False else partial(_heads_alone, on_text=phases.begin(FRESH))
    untrained = measure_untrained(subject, encoded, settings, alone)
    heads = untrained.beside(heads)
    frequencies = frequencies_table(subject.id, tally, layers, settings)
    silent = silences(tally, captured.opaque, layers, asked_inside=bool(hidden.answers))
    manifest = {
        **provenance(),
        "command": None,
        "settings": told(settings, loading if isinstance(model, str) else None),
        "model": about_model(
            subject,
            layers=len(layers),
            heads=heads.select("layer", "head").n_unique(),
            total_heads=sum(tally.accounts[place].heads for place in layers),
        ),
        "texts": about_texts(subject, encoded, OWN if texts is None else source),
        "seed": settings.seed,
        "dtype": str(next(subject.model.parameters()).dtype).removeprefix("torch."),
        "device": str(next(subject.model.parameters()).device),
        "seconds": round(time.perf_counter() - began, 3),
        "peak_memory_bytes": peak_memory(),
        "layers": [
            {"layer": number, "part": place.part, "module": place.module, **told_of(place, tally, captured.opaque)}
            for place, number in layers.items()
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
            *notes(subject, layers, settings.asked),
            *encoded.notes,
            *untrained.notes,
            *silent,
            *learned_beside(subject.table, tally, asked_inside=bool(hidden.answers)),
            *hidden.notes,
            *positional.notes,
            *repeats.notes,
        ],
    }
    offsets = offsets_table(subject.id, tally, layers, settings)
    return Profile(heads, offsets, frequencies, manifest, positional.within(heads).maps)


def _heads_alone(
    subject: Subject, encoded: Encoded, settings: Measuring, on_text: OnText | None = None
) -> pl.DataFrame:
    """The rows of heads.parquet and nothing else."""
    tally, captured = listen(subject, encoded.ids, settings, on_text=on_text)
    hidden = look_inside(subject, encoded, _unread(subject, tally, captured), settings)
    layers, resampling = numbered(captured.places), _resampling(encoded, settings)
    return heads_table(subject.id, tally, layers, settings, resampling=resampling, more=(hidden.answers,))


def _resampling(encoded: Encoded, settings: Measuring) -> Resampling:
    return Resampling(tuple(encoded.origins), settings.seed)


def _refuse_extra(subject: Subject, places: Sequence[Place]) -> None:
    """A family that mixes several attentions in a layer has no head that one of them describes."""
    if subject.layers is not None and len(places) > subject.layers:
        raise UserError(
            f"{subject.id} ({subject.family}) showed {len(places)} attentions in {subject.layers} layers; "
            "which of them are its heads cannot be told, so it cannot be profiled"
        )


def _subject(model: str | nn.Module | Subject, tokenizer: Any, loading: Loading) -> Subject:
    if isinstance(model, str):
        found = find(model, loading)
        return found if tokenizer is None else replace(found, tokenizer=tokenizer)
    return model if isinstance(model, Subject) else wrap(model, tokenizer)


def read(subject: Subject, texts: Iterable[OneText] | Encoded | None, settings: Measuring) -> Encoded:
    """The token ids to run, and what was cut: of the texts given, or of the task that a net was trained on."""
    if texts is None and settings.add_bos:
        raise UserError(f"{subject.id} is to read texts of its own, which begin as they are; leave out --add-bos")
    if isinstance(texts, Encoded):
        return texts
    if texts is None:
        return own_texts(subject, settings.max_texts, settings.seed, settings.max_tokens)
    if isinstance(texts, str):
        texts = [texts]
    if isinstance(texts, Tensor) and texts.dim() < 2:
        raise UserError(
            f"the texts are one tensor of {texts.numel()} token ids, which would be as many texts of one token; "
            "put it into a list, [ids]"
        )
    return encode(
        subject,
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
    subject: Subject,
    ids: Sequence[Tensor],
    settings: Measuring,
    *,
    on_text: OnText | None = None,
    on_first: Callable[[Tally, Captured], None] | None = None,
    say: Say | None = None,
) -> tuple[Tally, Captured]:
    """Run the model over all texts while the tally listens; `on_first` may look at what came of the first batch."""
    blocks = _blocks(subject, ids, settings)
    swapping = Swapping(settings.tau, settings.first, settings.logit_rows, settings.max_swaps, blocks)
    tally = Tally(settings.asked, swapping=swapping, longest=max(map(len, ids)), seed=settings.seed)
    done, waiting = 0, [] if say is None else [say]

    def see(seen: Seen) -> None:
        if waiting and seen.logits is not None and (slow := _slow(subject, ids, settings, seen)):
            waiting.pop()(slow)
        tally.see(seen)

    with capture(subject.model, see) as captured:
        for batch in batches(ids, queries=settings.queries, seed=settings.seed, tokens=settings.batch_tokens):
            captured.read(batch)
            tally.close()
            if not done:
                chosen(tally, numbered(captured.places), settings)  # what was asked for in vain shows after one batch
                _refuse_extra(subject, captured.places)
                if on_first is not None:
                    on_first(tally, captured)
            done += len(batch.texts)
            if on_text is not None:
                on_text(done, len(ids))
        return tally, captured


def _slow(subject: Subject, ids: Sequence[Tensor], settings: Measuring, seen: Seen) -> str | None:
    """What to say before many whole tables are built; nothing if there are none, or few."""
    if seen.logits is None or not seen.logits.by_table:
        return None
    read = [1 if settings.queries == LAST else min(settings.queries or len(text), len(text)) for text in ids]
    most = max(1, settings.logit_rows // TABLES)
    rows = read if settings.logit_rows == ALL else [min(count, most) for count in read]
    entries = sum(count * len(text) ** 2 for count, text in zip(rows, ids, strict=True))
    if entries * len(seen.attention_HQK) * (subject.layers or 1) < SLOW:
        return None
    return (
        f"the logits of {subject.id} are read off whole tables, {sum(rows):,} rows of up to {max(map(len, ids)):,} × "
        f"{max(map(len, ids)):,} in every layer, which takes long; --logit-rows 1 looks at one row of each text"
    )


def _blocks(subject: Subject, ids: Sequence[Tensor], settings: Measuring) -> tuple[Tensor, ...] | None:
    blocks = settings.blocks
    if blocks is None:
        return None
    if isinstance(blocks, str):
        return tuple(blocks_by(subject, text, blocks, settings.first) for text in ids)
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


def _unread(subject: Subject, tally: Tally, captured: Captured) -> bool:
    """Whether no layer's logits tell what slots do: they know nothing of them, or could not be taken apart.

    A model of others whose logits could not be taken apart may be large, so it is run again only if that is asked for.
    """
    told = [told_of(place, tally, captured.opaque) for place in captured.places if place.part != "cross"]
    ours = subject.net is not None
    known = [one["logits"] for one in told if one and (ours or one["logits"] != "opaque")]
    return bool(known) and "exact" not in known


def _work(encoded: Encoded, settings: Measuring, unread: bool) -> dict[str, int]:
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


def _looks_inside(encoded: Encoded, unread: bool, settings: Measuring) -> bool:
    """Whether position is looked for inside hidden states: asked for, or logits do not tell what slots do."""
    if settings.hidden is not None:
        return settings.hidden
    long_enough = max(map(len, encoded.ids)) >= settings.first + LEAST_SLOTS
    return bool(settings.inside) or (unread and long_enough and not settings.scores)


def look_inside(
    subject: Subject, encoded: Encoded, unread: bool, settings: Measuring, phases: Phases | None = None
) -> Hidden:
    """Look for position inside hidden states, where that was asked for or where logits do not tell what slots do."""
    if not _looks_inside(encoded, unread, settings):
        return Hidden({}, {}, [], [])
    found = measure_hidden(
        subject,
        encoded.ids,
        taus=settings.tau,
        first=settings.first,
        seed=settings.seed,
        batch_tokens=settings.batch_tokens,
        resampling=_resampling(encoded, settings),
        on_text=None if phases is None else phases.begin("moving tokens"),
    )
    return found.only(settings.inside) if settings.inside else found


def look_at_position(subject: Subject, encoded: Encoded, settings: Measuring, phases: Phases) -> Positional:
    """The positional part of attention, where that was asked for."""
    if not isinstance(settings.positional, Probing):
        return nothing_measured()
    resampling = _resampling(encoded, settings)
    on_text = phases.begin("positional part")
    found = measure_positional(subject, encoded.ids, settings.positional, resampling, on_text)
    return found.only(settings.by_position) if settings.by_position else found


def look_at_repeats(subject: Subject, settings: Measuring, phases: Phases) -> Repeats:
    """What heads do with random tokens that were said before, where that was asked for."""
    if not isinstance(settings.random, Repeating):
        return Repeats()
    found = measure_repeats(subject, settings.random, phases.begin("repeated tokens"))
    return found.only(settings.on_repeats) if settings.scores else found


def _answered(tally: Tally) -> list[str]:
    """The scores that were asked of some place, in their order."""
    return list(dict.fromkeys(name for account in tally.accounts.values() for name in account.values))
