"""Which heads of two models look at the same things: every head of one against every head of the other.

Nothing but attention is compared, so the models may be of any shape, as long as they read the same tokens.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import torch
from torch import Tensor

from wherewhat.capture.capture import capture
from wherewhat.capture.hooks.reader import AttentionSite, Seen, numbered
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.outputs.language_model import special_tokens
from wherewhat.capture.tokens.batch import Batch, batches
from wherewhat.capture.tokens.encode import token_names
from wherewhat.comparing.matching import partners, summarised
from wherewhat.errors import UserError
from wherewhat.scores.divergence import divergence
from wherewhat.tables.schema import SIMILARITY, frame

Head = tuple[int, int]  # layer and number
Heads = tuple[Head, ...]
OnText = Callable[[int, int], None]  # texts done, of how many
TEXTS, ROWS = 20, 16  # texts that are looked at, and rows of each
NAMED = 20  # pairs of heads that the manifest names
BY_ATTENTION = "attention"


@dataclass(frozen=True)
class Similarity:
    """The whole table of one model against another, and what it amounts to."""

    table: pl.DataFrame  # rows of similarity.parquet
    told: dict[str, Any]


@dataclass(frozen=True)
class Looks:
    """Some rows of one text, layer by layer."""

    attention: tuple[Tensor, ...]  # attention_HQK of every layer
    allowed: tuple[Tensor, ...]  # allowed_QK of every layer

    @property
    def heads(self) -> Heads:
        """Every head, in order."""
        return tuple((layer, head) for layer, rows_HQK in enumerate(self.attention) for head in range(len(rows_HQK)))


def similar_heads(
    first: LoadedModel, other: LoadedModel, ids: Sequence[Tensor], *, seed: int = 0, on_text: OnText | None = None
) -> Similarity:
    """Hold every head of `other` against every head of `first`, on the same rows of the same texts.

    Beside it, for scale: the first against itself with the tokens of each text in another order, which is how far
    attention lies apart when heads share their habits and nothing that they read.
    """
    texts = list(ids[:TEXTS])
    generator = torch.Generator().manual_seed(seed)
    mixed = [_mixed(text, _special(first), generator) for text in texts]
    apart, mixed_up_apart, heads = list[np.ndarray](), list[np.ndarray](), list[tuple[Heads, Heads]]()
    for batch, mixed_up in zip(_batches(texts, seed), _batches(mixed, seed), strict=True):
        here, there, elsewhere = read_rows(first, batch), read_rows(other, batch), read_rows(first, mixed_up)
        apart += [_apart(there[number], here[number]) for number in batch.texts]
        mixed_up_apart += [_apart(elsewhere[number], here[number]) for number in batch.texts]
        heads = [(there[number].heads, here[number].heads) for number in batch.texts]
        if on_text is not None:
            on_text(len(apart), len(texts))
    apart_HH = np.stack(apart).mean(0)
    told = {
        "by": BY_ATTENTION,
        "texts": len(texts),
        "rows": ROWS,
        **summarised(np.stack(apart), seed=seed),
        "shuffled": summarised(np.stack(mixed_up_apart), seed=seed),
        "partners": _partners(apart_HH, *heads[-1]),
    }
    return Similarity(_table((other.id, first.id), apart_HH, *heads[-1]), told)


def _special(model: LoadedModel) -> Tensor:
    """Ids of the tokens that a tokenizer puts around a text: they stay where they are."""
    return torch.tensor([id for around in special_tokens(model) for id in around], dtype=torch.long)


def _mixed(ids_T: Tensor, special_S: Tensor, generator: torch.Generator) -> Tensor:
    """The tokens of a text in another order."""
    own_M = (~torch.isin(ids_T, special_S)).nonzero()[:, 0]
    mixed_T = ids_T.clone()
    mixed_T[own_M] = ids_T[own_M[torch.randperm(len(own_M), generator=generator)]]
    return mixed_T


def same_tokens(first: LoadedModel, other: LoadedModel, ids: Sequence[Tensor], again: Sequence[Tensor]) -> None:
    """Refuse models that read other tokens: rows and keys would not be the same."""
    lengths = [[len(text) for text in texts[:TEXTS]] for texts in (ids, again)]
    if max(map(max, lengths)) > min(one.context or 2**31 for one in (first, other)) or len(ids) != len(again):
        shorter = min((first, other), key=lambda one: one.context or 2**31)
        raise UserError(
            f"{shorter.id} holds {shorter.context} tokens and the texts are cut longer for the other; give "
            f"--max-tokens {shorter.context}"
        )
    named = all(one.tokenizer is not None or one.task is not None for one in (first, other))
    pairs = list(zip(ids[:TEXTS], again[:TEXTS], strict=True))
    if any(not torch.equal(one, two) for one, two in pairs) or (
        named and any(token_names(first, one) != token_names(other, one) for one, _ in pairs)
    ):
        raise UserError(
            f"{other.id} reads the texts in other tokens than {first.id}, so their attention cannot be held side by "
            "side; leave --similar out, or compare models that share a tokenizer"
        )


def read_rows(model: LoadedModel, batch: Batch) -> dict[int, Looks]:
    """The wanted rows of every text of a batch."""
    pieces: dict[int, dict[AttentionSite, list[Seen]]] = defaultdict(lambda: defaultdict(list))

    def see(seen: Seen) -> None:
        if seen.site.part != "cross":
            pieces[seen.text][seen.site].append(seen)

    with capture(model.module, see) as captured:
        captured.read(batch)
    refuse_endless(model, pieces)
    layers = numbered([site for site in captured.sites if site.part != "cross"])
    return {number: _looks([by_place[site] for site in layers]) for number, by_place in pieces.items()}


def refuse_endless(model: LoadedModel, pieces: Mapping[int, Mapping[AttentionSite, Sequence[Seen]]]) -> None:
    """Attention that is not a number has nothing in common with any other."""
    every = (one for by_place in pieces.values() for seen in by_place.values() for one in seen)
    if not all(bool(one.attention_HQK.isfinite().all()) for one in every):
        raise UserError(
            f"the attention of {model.id} is not finite on these texts; load it with --dtype float32, or check its "
            "weights"
        )


def _looks(by_layer: Sequence[Sequence[Seen]]) -> Looks:
    return Looks(
        tuple(torch.cat([one.attention_HQK for one in seen], 1).cpu() for seen in by_layer),
        tuple(torch.cat([one.allowed_QK for one in seen]).cpu() for seen in by_layer),
    )


def _batches(texts: Sequence[Tensor], seed: int) -> list[Batch]:
    return list(batches(texts, queries=ROWS, seed=seed))


def _apart(these: Looks, those: Looks) -> np.ndarray:
    """Of one text, every head of these against every head of those; two layers by the keys that both may see."""
    table = [
        [
            divergence(rows_HQK, its_HQK, allowed_QK & open_QK)
            for its_HQK, open_QK in zip(those.attention, those.allowed, strict=True)
        ]
        for rows_HQK, allowed_QK in zip(these.attention, these.allowed, strict=True)
    ]
    return torch.cat([torch.cat(line, 1) for line in table]).nan_to_num(1.0).numpy()  # a head that never looks: apart


def _table(names: tuple[str, str], apart_HH: np.ndarray, rows: Heads, columns: Heads) -> pl.DataFrame:
    return frame(
        (
            (*names, *row, *column, BY_ATTENTION, float(apart_HH[i, j]))
            for i, row in enumerate(rows)
            for j, column in enumerate(columns)
        ),
        SIMILARITY,
    )


def _partners(apart_HH: np.ndarray, rows: Heads, columns: Heads) -> list[Mapping[str, Any]]:
    """The nearest pairs of the best pairing, by the names of their heads."""
    return [
        {"head": _name(rows[i]), "against": _name(columns[j]), "divergence": float(apart_HH[i, j])}
        for i, j in partners(apart_HH)[:NAMED]
    ]


def _name(head: Head) -> str:
    return f"L{head[0]}H{head[1]}"
