"""The walk from a model and some texts to a profile: load, read, ask, sum up."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from wherewhat.about import about_model, about_score, about_texts, notes
from wherewhat.asking import QUERIES, Measuring, about_swaps, told
from wherewhat.capture.batch import LAST, batches
from wherewhat.capture.blocks import blocks_by
from wherewhat.capture.door import Captured, capture
from wherewhat.capture.load import Loading, Subject, find, wrap
from wherewhat.capture.reader import Place
from wherewhat.capture.texts import encode, own_texts
from wherewhat.correspondence import correspondence
from wherewhat.errors import UserError
from wherewhat.hidden.walk import Hidden, measure_hidden
from wherewhat.profiles import Profile
from wherewhat.summing import chosen, frequencies_table, heads_table, offsets_table
from wherewhat.tables.manifest import peak_memory, provenance
from wherewhat.tables.texts import Text
from wherewhat.tally import Swapping, Tally, numbered

Progress = Callable[[int, int], None]  # texts done, texts in all


def profile(
    model: str | nn.Module | Subject = "tiny",
    texts: Iterable[str | Tensor | Text] | None = None,
    *,
    tokenizer: Any = None,
    loading: Loading | None = None,
    on_text: Progress | None = None,
    source: str = "handed in",
    **measuring: Any,
) -> Profile:
    """Measure where every head of a model looks.

    `model` is a name (built in, a folder, a Hub id) or a module; `texts` are strings or tensors of token ids, and may
    be left out for a net that knows the task it was trained on. `measuring` are the fields of `Measuring`.
    """
    began = time.perf_counter()
    settings = Measuring(**measuring)
    loading = loading or Loading()
    subject = _subject(model, tokenizer, loading)
    ids = read(subject, texts, settings)
    tally, captured = listen(subject, ids, settings, on_text)
    layers = numbered(captured.places)
    refuse_in_vain(subject, ids, tally, captured, settings)
    hidden = look_inside(subject, ids, tally, settings)
    heads = heads_table(subject.id, tally, layers, settings, texts=len(ids), hidden=hidden)
    frequencies = frequencies_table(subject.id, tally, layers, settings)
    manifest = {
        **provenance(),
        "command": None,
        "settings": told(settings, loading if isinstance(model, str) else None),
        "model": about_model(subject, layers=len(layers), heads=heads.select("layer", "head").n_unique()),
        "texts": about_texts(subject, ids, "its own task" if texts is None else source),
        "seed": settings.seed,
        "dtype": str(next(subject.model.parameters()).dtype).removeprefix("torch."),
        "device": str(next(subject.model.parameters()).device),
        "seconds": round(time.perf_counter() - began, 3),
        "peak_memory_bytes": peak_memory(),
        "layers": [{"layer": number, "part": place.part, "module": place.module} for place, number in layers.items()],
        "swaps": about_swaps(settings),
        "scores": {**{name: about_score(settings.asked[name]) for name in _answered(tally)}, **hidden.scores},
        "hidden": hidden.layers,
        "correspondence": correspondence(frequencies, heads, seed=settings.seed),
        "notes": [*notes(subject, layers, settings.asked), *_silences(tally, captured, layers), *hidden.notes],
    }
    return Profile(heads, offsets_table(subject.id, tally, layers, settings), frequencies, manifest)


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


def read(subject: Subject, texts: Iterable[str | Tensor | Text] | None, settings: Measuring) -> list[Tensor]:
    """The token ids to run: the texts given, or sequences of the task a net was trained on."""
    if texts is None:
        return own_texts(subject, settings.max_texts, settings.seed, settings.max_tokens)
    if isinstance(texts, str):
        texts = [texts]
    return encode(subject, texts, max_tokens=settings.max_tokens, max_texts=settings.max_texts)


def listen(
    subject: Subject, ids: Sequence[Tensor], settings: Measuring, on_text: Progress | None = None
) -> tuple[Tally, Captured]:
    """Run the model over all texts while the tally listens."""
    swapping = Swapping(settings.tau, settings.first, settings.quick, _blocks(subject, ids, settings.blocks))
    tally = Tally(settings.asked, swapping=swapping, longest=max(map(len, ids)), seed=settings.seed)
    queries = QUERIES if settings.queries is None else settings.queries
    done = 0
    with capture(subject.model, tally.see) as captured:
        for batch in batches(ids, queries=queries, seed=settings.seed, tokens=settings.batch_tokens):
            captured.read(batch)
            tally.close()
            if not done:
                chosen(tally, numbered(captured.places), settings)  # what was asked for in vain shows after one batch
                _refuse_extra(subject, captured.places)
            done += len(batch.texts)
            if on_text is not None:
                on_text(done, len(ids))
        return tally, captured


def _blocks(
    subject: Subject, ids: Sequence[Tensor], blocks: tuple[Tensor, ...] | str | None
) -> tuple[Tensor, ...] | None:
    if isinstance(blocks, str):
        return tuple(blocks_by(subject, text, blocks) for text in ids)
    if blocks is not None and len(blocks) != len(ids):
        raise UserError(f"there are blocks for {len(blocks)} texts, but {len(ids)} texts; give one line for each text")
    return blocks


def refuse_in_vain(
    subject: Subject, ids: Sequence[Tensor], tally: Tally, captured: Captured, settings: Measuring
) -> None:
    """Say so where a score that was asked for by name, or the last query, has nothing to be measured on."""
    named = [name for name in settings.scores if settings.known[name].logits]
    if named and not (tally.absorbed and not all(tally.absorbed.values())):
        raise UserError(_why_silent(subject, named[0], tally, captured))
    if "mean_frequency" in named and not any(account.frequencies for account in tally.accounts.values()):
        raise UserError(f"{subject.id} does not turn its queries and keys, so it has no frequencies; leave them out")
    longest = max(len(text) for text in ids)
    swappable = longest - 1 - settings.first
    if (named or settings.queries == LAST) and swappable < 2 and not all(tally.absorbed.values()):
        raise UserError(
            f"the longest text has {longest} tokens, so {max(0, swappable)} key(s) before its last query can change "
            f"places (from slot {settings.first} on), and two are needed; give longer texts or a smaller --first"
        )


def _why_silent(subject: Subject, name: str, tally: Tally, captured: Captured) -> str:
    if not tally.absorbed:
        reason = next(iter(captured.opaque.values()), "its logits could not be taken apart")
        return f"{name} cannot be asked of {subject.id}: {reason}"
    return (
        f"{name} cannot be asked of {subject.id}, whose logits know nothing of slots or frequencies: its position sits "
        "in the hidden states, and every head would count as symbolic; ask for input.position_share and the like "
        "with --hidden"
    )


def _silences(tally: Tally, captured: Captured, layers: dict[Place, int]) -> list[str]:
    """Plain sentences about layers whose logits were not asked, so that nobody takes silence for an answer."""
    found = []
    absorbed = [f"{layers[place]}" for place in layers if tally.absorbed.get(place) and place.part != "cross"]
    if absorbed:
        found.append(
            f"No slot has a say in the logits of layer {', '.join(absorbed)}: position, if any, came in with the "
            "hidden state. By construction every head there would count as symbolic, so scores of logits are not given."
        )
    for place, reason in captured.opaque.items():
        found.append(f"The logits of layer {layers[place]} were not taken apart: {reason}.")
    return found


def look_inside(subject: Subject, ids: Sequence[Tensor], tally: Tally, settings: Measuring) -> Hidden:
    """Look for position inside hidden states, where that was asked for or where logits know nothing of slots."""
    own = [absorbed for place, absorbed in tally.absorbed.items() if place.part != "cross"]
    wanted = bool(own) and all(own) and not settings.scores if settings.hidden is None else settings.hidden
    if not wanted:
        return Hidden({}, {}, [], [])
    return measure_hidden(
        subject,
        ids,
        taus=settings.tau,
        first=settings.first,
        seed=settings.seed,
        batch_tokens=settings.batch_tokens,
    )


def _answered(tally: Tally) -> list[str]:
    """The scores that were asked of some place, in their order."""
    return list(dict.fromkeys(name for account in tally.accounts.values() for name in account.values))
