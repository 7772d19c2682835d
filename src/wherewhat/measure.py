"""The walk from a model and some texts to a profile: load, read, ask, sum up."""

import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import polars as pl
from torch import Tensor, nn

from wherewhat.about import about_model, about_score, about_texts, notes
from wherewhat.capture.batch import batches
from wherewhat.capture.door import capture
from wherewhat.capture.load import Loading, Subject, find, wrap
from wherewhat.capture.reader import Place
from wherewhat.capture.texts import encode, own_texts
from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.profiles import Profile
from wherewhat.scores.base import Score
from wherewhat.scores.registry import SCORES
from wherewhat.tables.manifest import peak_memory, provenance
from wherewhat.tables.schema import HEADS, OFFSETS, frame, without_nan
from wherewhat.tables.texts import Text
from wherewhat.tally import Account, Tally, numbered, summarise

HEAD_NAME = re.compile(r"L(\d+)H(\d+)")

Progress = Callable[[int, int], None]  # texts done, texts in all


@dataclass(frozen=True)
class Measuring:
    """What is to be measured, and on how much."""

    queries: int = 64  # rows looked at in each text; ALL for every row
    seed: int = 0
    max_texts: int = 100
    max_tokens: int | None = None  # None: what the model was made for, but at most 1,024
    batch_tokens: int = 2048  # padded tokens that run through the model together
    scores: tuple[str, ...] = ()  # () for all
    layers: tuple[int, ...] = ()  # () for all
    heads: tuple[str, ...] = ()  # names like L3H7; () for all

    def __post_init__(self) -> None:
        if self.queries < 0 or self.max_texts < 1 or self.batch_tokens < 1:
            raise UserError(
                f"queries is {self.queries}, max_texts {self.max_texts} and batch_tokens {self.batch_tokens}; "
                "each must be at least 1"
            )
        if not 0 <= self.seed < 2**31:
            raise UserError(f"seed is {self.seed}; give a whole number from 0 to {2**31 - 1}")
        if self.max_tokens is not None and self.max_tokens < 2:
            raise UserError(f"max_tokens is {self.max_tokens}; a text needs at least 2 tokens")
        for name in self.scores:
            look_up("score", name, SCORES)
        for name in self.heads:
            if not HEAD_NAME.fullmatch(name):
                raise UserError(f"'{name}' is not the name of a head; heads are named like L3H7, counted from 0")

    @property
    def asked(self) -> dict[str, Score]:
        """The scores to compute, in the registry's order."""
        return {name: score for name, score in SCORES.items() if not self.scores or name in self.scores}


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
    tally, places = listen(subject, ids, settings, on_text)
    layers = numbered(places)
    heads = heads_table(subject.id, tally, layers, settings, texts=len(ids))
    manifest = {
        **provenance(),
        "command": None,
        "settings": _settings(settings, loading if isinstance(model, str) else None),
        "model": about_model(subject, layers=len(layers), heads=heads.select("layer", "head").n_unique()),
        "texts": about_texts(subject, ids, "its own task" if texts is None else source),
        "seed": settings.seed,
        "dtype": str(next(subject.model.parameters()).dtype).removeprefix("torch."),
        "device": str(next(subject.model.parameters()).device),
        "seconds": round(time.perf_counter() - began, 3),
        "peak_memory_bytes": peak_memory(),
        "layers": [{"layer": number, "part": place.part, "module": place.module} for place, number in layers.items()],
        "scores": {name: about_score(score) for name, score in settings.asked.items()},
        "notes": notes(subject, layers, settings.asked),
    }
    return Profile(heads, offsets_table(subject.id, tally, layers, settings), manifest)


def _settings(settings: Measuring, loading: Loading | None) -> dict[str, Any]:
    """As the manifest tells them: how a module that was handed in was loaded is not known."""
    told = {**asdict(settings), "queries": settings.queries or "all"}
    return told if loading is None else {**told, **asdict(loading)}


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
) -> tuple[Tally, tuple[Place, ...]]:
    """Run the model over all texts while the tally listens."""
    tally = Tally(settings.asked, longest=max(map(len, ids)), seed=settings.seed)
    done = 0
    with capture(subject.model, tally.see) as captured:
        for batch in batches(ids, queries=settings.queries, seed=settings.seed, tokens=settings.batch_tokens):
            captured.read(batch)
            tally.close()
            if not done:
                _chosen(tally, numbered(captured.places), settings)  # what was asked for in vain shows after one batch
                _refuse_extra(subject, captured.places)
            done += len(batch.texts)
            if on_text is not None:
                on_text(done, len(ids))
        return tally, captured.places


def heads_table(model: str, tally: Tally, layers: dict[Place, int], settings: Measuring, *, texts: int) -> pl.DataFrame:
    """heads.parquet: one row a head and score."""
    rows = []
    for place, layer, account, heads in _chosen(tally, layers, settings):
        answers = {name: summarise(account, name, texts=texts, seed=settings.seed) for name in account.values}
        for head in heads:
            for name, answer in answers.items():
                spread = (answer.value_H[head], answer.low_H[head], answer.high_H[head], answer.chance)
                rows.append((model, layer, head, name, *map(float, spread), int(answer.texts_H[head]), place.part))
    return frame(rows, HEADS)


def offsets_table(model: str, tally: Tally, layers: dict[Place, int], settings: Measuring) -> pl.DataFrame:
    """offsets.parquet: mean mass at every relative offset that some row could see."""
    tables = [pl.DataFrame(schema=OFFSETS)]
    for _, layer, account, heads in _chosen(tally, layers, settings):
        if account.mass_HO is None or account.texts_O is None or account.rows_O is None:
            continue
        seen = account.texts_O.nonzero()[0]
        mean_HO = account.mass_HO[:, seen] / account.texts_O[seen]
        offsets = seen - account.mass_HO.shape[1] // 2
        for head in heads:
            columns = {"model": model, "layer": layer, "head": head, "offset": offsets}
            columns |= {"mass": mean_HO[head], "rows": account.rows_O[seen]}
            tables.append(pl.DataFrame(columns, schema=OFFSETS))
    return without_nan(pl.concat(tables))


def _chosen(tally: Tally, layers: dict[Place, int], settings: Measuring) -> list[tuple[Place, int, Account, list[int]]]:
    """The layers and heads that were asked for."""
    named = {(int(layer), int(head)) for layer, head in (HEAD_NAME.fullmatch(name).groups() for name in settings.heads)}  # type: ignore[union-attr]
    asked = set(settings.layers) | {layer for layer, _ in named}
    if missing := asked - set(layers.values()):
        raise UserError(f"there is no layer {min(missing)}; the model has layers 0 to {len(layers) - 1}")
    chosen = []
    for place, layer in layers.items():
        account = tally.accounts[place]
        count = len(next(iter(next(iter(account.values.values())).values())))
        if missing := {head for number, head in named if number == layer and head >= count}:
            raise UserError(f"there is no head L{layer}H{min(missing)}; layer {layer} has heads 0 to {count - 1}")
        heads = [head for head in range(count) if not named or (layer, head) in named]
        if heads and (not settings.layers or layer in settings.layers):
            chosen.append((place, layer, account, heads))
    if not chosen:
        raise UserError("no head is left: none of the --heads lies in the --layers; loosen one of them")
    return chosen
