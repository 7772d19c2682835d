"""Which heads of two models attend to the same tokens: every head of one compared with every head of the other.

Nothing but attention is compared, so the models may be of any shape, as long as they read the same tokens.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from wherewhat.capture.capture import watched_by
from wherewhat.capture.hooks.reader import (
    AttentionReader,
    AttentionRows,
    AttentionSite,
    Chunk,
    Decomposition,
    numbered,
)
from wherewhat.capture.loading.load import LoadedModel, LoadSettings, untrained_copy
from wherewhat.capture.tokens.batch import Batch, batches
from wherewhat.capture.tokens.encode import token_names
from wherewhat.capture.tokens.special_tokens import special_tokens
from wherewhat.comparing.head_pairs import Head, SimilarHeads, partners, similarity_table, summaries
from wherewhat.comparing.inputs import CompareInput, OnStep, ProfileRequest, display_names
from wherewhat.comparing.profile_inputs import first_model, model_of
from wherewhat.errors import UserError
from wherewhat.profiling.inputs import encode_texts
from wherewhat.scores.entropy import divergence
from wherewhat.tables.manifest.scores import DistanceSummaries, SimilarModels

OnText = Callable[[int, int], None]  # texts done, of how many
TEXTS, ROWS = 20, 16  # texts that are read, and rows of each
BY_ATTENTION = "attention"
UNTRAINED = "untrained weights"


def similar_by_attention(
    inputs: Sequence[CompareInput], request: ProfileRequest, *, draws: int, on_step: OnStep | None
) -> list[SimilarHeads]:
    """Compare each model with the first, and if draws are asked for also untrained weights of the first one's shape."""
    first, request = first_model(inputs[0], request)
    settings = request.settings
    ids = encode_texts(first, request.texts, settings).ids
    loaded = [first, *(model_of(each, request.loading or LoadSettings()) for each in inputs[1:])]
    names = display_names([model.id for model in loaded], [each.given for each in inputs])
    first, *others = (replace(model, id=name) for model, name in zip(loaded, names, strict=True))
    drawn = [replace(untrained_copy(first, seed=settings.seed), id=UNTRAINED)] if draws else []
    # A later model reads the same texts, in its own tokens if it has a tokenizer and texts are words.
    words = isinstance(request.texts, str) or any(not isinstance(text, Tensor) for text in request.texts or ())
    compared = [*drawn, *others]
    for other in compared:
        _refuse_other_tokens(first, other, ids, encode_texts(other, request.texts if words else ids, settings).ids)

    def on_text(done: int, of: int) -> None:
        if on_step is not None:
            on_step(done, of, f"{', '.join(other.id for other in compared)}: comparing heads by attention")

    return similar_heads(first, compared, ids, seed=settings.seed, on_text=on_text)


@dataclass(frozen=True)
class LayerRows:
    """Some rows of one text, layer by layer."""

    attention: tuple[Tensor, ...]  # attention_HQK of every layer
    allowed: tuple[Tensor, ...]  # allowed_QK of every layer

    @property
    def heads(self) -> tuple[Head, ...]:
        """Every head, in order."""
        return tuple((layer, head) for layer, rows_HQK in enumerate(self.attention) for head in range(len(rows_HQK)))


def similar_heads(
    first: LoadedModel,
    others: Sequence[LoadedModel],
    ids: Sequence[Tensor],
    *,
    seed: int = 0,
    on_text: OnText | None = None,
) -> list[SimilarHeads]:
    """Compare every head of each of `others` with every head of `first`, on the same rows of the same texts.

    For scale, the first model is also compared with itself on the same tokens in another order, which shows how far
    apart attention is when heads share their habits and nothing that they read.
    """
    texts = list(ids[:TEXTS])
    generator = torch.Generator().manual_seed(seed)
    special_S = torch.tensor([id for around in special_tokens(first) for id in around], dtype=torch.long)
    permuted = [_permuted(text, special_S, generator) for text in texts]
    distances: list[list[np.ndarray]] = [[] for _ in others]  # of every text, model by model
    permuted_distances, heads = list[np.ndarray](), list[tuple[tuple[Head, ...], tuple[Head, ...]]]()
    read = (batches(each, queries=ROWS, seed=seed) for each in (texts, permuted))
    for batch, other_order in zip(*read, strict=True):
        here, elsewhere = _read_rows(first, batch), _read_rows(first, other_order)
        permuted_distances += [_distance(elsewhere[number], here[number]) for number in batch.texts]
        heads = []
        for other, so_far in zip(others, distances, strict=True):
            there = _read_rows(other, batch)
            so_far += [_distance(there[number], here[number]) for number in batch.texts]
            heads.append((there[batch.texts[0]].heads, here[batch.texts[0]].heads))
        if on_text is not None:
            on_text(len(permuted_distances), len(texts))
    shuffled = DistanceSummaries(**summaries(np.stack(permuted_distances), seed=seed))
    similar = []
    for other, of_texts, both in zip(others, distances, heads, strict=True):
        distance_HH = np.stack(of_texts).mean(0)
        section = SimilarModels(
            model=other.id,
            against=first.id,
            by=BY_ATTENTION,
            texts=len(texts),
            rows=ROWS,
            **summaries(np.stack(of_texts), seed=seed),
            shuffled=shuffled,
            partners=partners(distance_HH, *both),
        )
        table = similarity_table((other.id, first.id), BY_ATTENTION, distance_HH, *both)
        similar.append(SimilarHeads(table, section))
    return similar


def _permuted(ids_T: Tensor, special_S: Tensor, generator: torch.Generator) -> Tensor:
    """The tokens of a text in another order; those that the tokenizer puts around it keep their place."""
    own_M = (~torch.isin(ids_T, special_S)).nonzero()[:, 0]
    permuted_T = ids_T.clone()
    permuted_T[own_M] = ids_T[own_M[torch.randperm(len(own_M), generator=generator)]]
    return permuted_T


def _refuse_other_tokens(
    first: LoadedModel, other: LoadedModel, ids: Sequence[Tensor], other_ids: Sequence[Tensor]
) -> None:
    """Refuse models that read other tokens: rows and keys would not be the same."""
    longest = max(len(text) for texts in (ids, other_ids) for text in texts[:TEXTS])
    shorter = min((first, other), key=lambda model: model.context or 2**31)
    if longest > (shorter.context or 2**31) or len(ids) != len(other_ids):
        raise UserError(
            f"{shorter.id} holds {shorter.context} tokens and the texts are cut longer for the other; give "
            f"--max-tokens {shorter.context}"
        )
    named = all(model.tokenizer is not None or model.task is not None for model in (first, other))
    pairs = list(zip(ids[:TEXTS], other_ids[:TEXTS], strict=True))
    if any(not torch.equal(ids_T, other_T) for ids_T, other_T in pairs) or (
        named and any(token_names(first, ids_T) != token_names(other, ids_T) for ids_T, _ in pairs)
    ):
        raise UserError(
            f"{other.id} reads the texts in other tokens than {first.id}, so their attention cannot be compared; leave "
            "--similar out, or compare models that share a tokenizer"
        )


class WeightsReader(AttentionReader):
    """Passes on attention alone; its logits are not decomposed."""

    decomposes = False

    def emit(
        self,
        site: AttentionSite,
        chunk: Chunk,
        attention_BHQK: Tensor,
        allowed_BQK: Tensor,
        decomposition: Decomposition | None = None,
    ) -> None:
        """Pass on what was computed for the rows of a chunk, as far as they are wanted."""
        super().emit(site, chunk, attention_BHQK, allowed_BQK)


def _read_rows(model: LoadedModel, batch: Batch) -> dict[int, LayerRows]:
    """The sampled rows of every text of a batch."""
    pieces: dict[int, dict[AttentionSite, list[AttentionRows]]] = defaultdict(lambda: defaultdict(list))

    def add(rows: AttentionRows) -> None:
        if rows.site.part == "cross":
            return
        if not bool(rows.attention_HQK.isfinite().all()):
            raise UserError(
                f"the attention of {model.id} is not finite on these texts; load it with --dtype float32, or check its "
                "weights"
            )
        pieces[rows.text][rows.site].append(rows)

    reader = WeightsReader(add, next(model.module.parameters()).dtype)
    with watched_by(reader, model.module) as captured:
        captured.read(batch)
    layers = numbered([site for site in captured.sites if site.part != "cross"])
    return {
        number: LayerRows(
            tuple(torch.cat([rows.attention_HQK for rows in by_site[site]], 1).cpu() for site in layers),
            tuple(torch.cat([rows.allowed_QK for rows in by_site[site]]).cpu() for site in layers),
        )
        for number, by_site in pieces.items()
    }


def _distance(here: LayerRows, there: LayerRows) -> np.ndarray:
    """For one text, the divergence of every head here from every head there; of two layers on the keys both may see."""
    table = [
        [
            divergence(here_HQK, there_HQK, allowed_QK & other_QK)
            for there_HQK, other_QK in zip(there.attention, there.allowed, strict=True)
        ]
        for here_HQK, allowed_QK in zip(here.attention, here.allowed, strict=True)
    ]
    distance_HH = torch.cat([torch.cat(line, 1) for line in table])
    return distance_HH.nan_to_num(1.0).numpy()  # a head that attends to nothing has nothing in common
