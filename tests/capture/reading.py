"""Capture a model and put the pieces together again, beside what the family itself says of its attention."""

from collections import defaultdict

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from wherewhat.capture.capture import capture
from wherewhat.capture.hooks.reader import AttentionRows
from wherewhat.capture.tokens.batch import Batch

LENGTHS = (12, 9)
Attention = dict[tuple[str, int, int], Tensor]  # part, ordinal, text -> attention_HQK


def padded_batch(model: nn.Module, *, side: str = "right", rows: tuple[Tensor, ...] | None = None) -> Batch:
    """Two random texts of different lengths."""
    generator = torch.Generator().manual_seed(1)
    longest = max(LENGTHS)
    pad = getattr(model.config, "pad_token_id", None) or 0
    ids_BT = torch.full((len(LENGTHS), longest), pad)
    real_BT = torch.zeros(len(LENGTHS), longest, dtype=torch.bool)
    for b, length in enumerate(LENGTHS):
        here = slice(0, length) if side == "right" else slice(longest - length, longest)
        ids_BT[b, here] = torch.randint(3, 90, (length,), generator=generator)
        real_BT[b, here] = True
    return Batch(tuple(range(len(LENGTHS))), ids_BT, real_BT, rows or tuple(torch.arange(n) for n in LENGTHS))


def ours(model: nn.Module, batch: Batch) -> Attention:
    """Every row that was asked for, through our door."""
    pieces: dict[tuple[str, int, int], list[AttentionRows]] = defaultdict(list)
    with capture(model, lambda rows: pieces[(rows.site.part, rows.site.ordinal, rows.text)].append(rows)) as captured:
        captured.read(batch)
    for (_, _, text), rows in pieces.items():
        queries = torch.cat([piece.queries_Q for piece in rows])
        assert torch.equal(queries, batch.rows[text]), "every wanted row once, in order"
    return {key: torch.cat([piece.attention_HQK for piece in rows], 1) for key, rows in pieces.items()}


def theirs(model: PreTrainedModel, batch: Batch) -> Attention:
    """The family's own eager attention, all rows."""
    inputs = {"input_ids": batch.ids_BT, "attention_mask": batch.real_BT.long(), "output_attentions": True}
    two_stacks = bool(getattr(model.config, "is_encoder_decoder", False))
    if two_stacks:
        shifted = torch.cat(
            [torch.full_like(batch.ids_BT[:, :1], model.config.decoder_start_token_id), batch.ids_BT], 1
        )
        inputs |= {"decoder_input_ids": shifted[:, :-1], "decoder_attention_mask": batch.real_BT.long()}
    with torch.no_grad():
        output = model(**inputs)
    found = {}
    for part, layers in _by_part(output, two_stacks):
        for ordinal, attention_BHQK in enumerate(layers):
            for b in range(len(batch.texts)):
                first, stop = batch.span(b)
                found[(part, ordinal, b)] = attention_BHQK[b, :, first:stop, first:stop]
    return found


def _by_part(output: object, two_stacks: bool) -> list[tuple[str, tuple[Tensor, ...]]]:
    if two_stacks:
        names = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
        return [(part, getattr(output, name)) for part, name in names.items()]
    layers = output.attentions  # type: ignore[attr-defined]
    ahead = float(layers[0][0, 0, 0, 1]) > 0  # the first text is not padded
    return [("encoder" if ahead else "decoder", layers)]
