"""Closed forms beside what they stand for: a layer run again for every swap, a whole table for every query."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from transformers import LlamaConfig, LlamaModel

from benchmarks.measurement import Measurement, side_by_side
from wherewhat.capture.capture import capture
from wherewhat.capture.hooks.reader import AttentionRows
from wherewhat.capture.tokens.batch import LAST, batches
from wherewhat.logits.rotary import RotaryLogits
from wherewhat.scores.base import Rows

TAU = 1e-4
CALLS = 20  # of ours in one timing of swaps: a single one is too short to time


def layer(n: int) -> LlamaModel:
    """One layer of 8 heads of width 64 with random weights, far from uniform attention."""
    generator = torch.Generator().manual_seed(0)
    sizes = {"vocab_size": 100, "hidden_size": 512, "intermediate_size": 1376, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 8, "num_key_value_heads": 8, "max_position_embeddings": n}
    model = LlamaModel._from_config(LlamaConfig(**sizes, **heads), attn_implementation="eager").double().eval()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, 0, 0.08, generator=generator)
    return model


def swaps(repeats: int, n: int = 64) -> Measurement:
    """All swaps before the last query of n tokens, the first token left alone."""
    model, ids_T = layer(n), torch.randint(0, 100, (n,), generator=torch.Generator().manual_seed(1))
    last = _last_row(model, ids_T)
    assert last.logits is not None
    rows = Rows(last.attention_HQK, last.queries_Q, last.allowed_QK, last.tokens_K, logits=last.logits, taus=(TAU,))
    hidden_1TD, given = _entering(model, ids_T)

    def ours() -> Tensor:
        found = replace(rows).swaps  # a copy, to which nothing of the last call is known
        assert found is not None
        return torch.stack((found.positional_THQ[0, :, 0], found.symbolic_THQ[0, :, 0]))

    def theirs() -> Tensor:
        return _by_running_again(model, hidden_1TD, given, first=1)

    apart = float((ours() - theirs()).abs().max())
    pairs = side_by_side(lambda: [ours() for _ in range(CALLS)], theirs, repeats=repeats)
    ratios = tuple(slow / quick * CALLS for quick, slow in pairs)
    name = f"all swaps of one query, n = {n}, 8 heads: times faster"
    return Measurement(name, ratios, 1000, at_least=True, note=f"answers {apart:.0e} apart")


def shares(repeats: int, heads: int, n: int = 512) -> Measurement:
    """The three variances of every query of n in heads of width 64, in float64."""
    generator = torch.Generator().manual_seed(0)
    theta_F = 10_000 ** (-torch.arange(32, dtype=torch.float64) / 32)
    slots_K = torch.arange(n)
    phase_KF = torch.polar(torch.ones(n, 32, dtype=torch.float64), slots_K[:, None] * theta_F)
    query, key = (torch.randn(heads, n, 32, dtype=torch.complex128, generator=generator) for _ in range(2))
    swappable_QK = (slots_K < slots_K[:, None]) & (slots_K >= 1)

    def ours() -> Tensor:
        moments = RotaryLogits(query, key, phase_KF, theta_F, slots_K, 0.125).moments(swappable_QK)
        return torch.stack((moments.position_HQ, moments.symbol_HQ, moments.interaction_HQ))

    def theirs() -> Tensor:
        logits = RotaryLogits(query, key, phase_KF, theta_F, slots_K, 0.125)
        found = torch.zeros(3, heads, n, dtype=torch.float64)
        for i in range(3, n):
            table_HKS = logits.table(i, slots_K[1:i], slots_K[1:i])
            content_HK1, slot_H1S = table_HKS.mean(2, keepdim=True), table_HKS.mean(1, keepdim=True)
            grand_H11 = table_HKS.mean((1, 2), keepdim=True)
            parts = (slot_H1S - grand_H11, content_HK1 - grand_H11, table_HKS - content_HK1 - slot_H1S + grand_H11)
            found[..., i] = torch.stack([part.square().mean((1, 2)) for part in parts])
        return found

    apart = float((ours() - theirs())[..., 3:].abs().max())
    pairs = side_by_side(ours, theirs, repeats=repeats)
    name = f"shares of every query, n = {n}, width 64, {heads} head{'s' if heads > 1 else ''}: times faster"
    ratios = tuple(slow / quick for quick, slow in pairs)
    return Measurement(name, ratios, 30 if heads > 1 else None, at_least=True, note=f"answers {apart:.0e} apart")


def measure(repeats: int) -> Iterator[Measurement]:
    """Swaps of a layer; shares of a layer, and of a single head, which has the slots' sums for itself alone."""
    yield swaps(repeats)
    yield shares(repeats, 8)
    yield shares(repeats, 1)


def _last_row(model: LlamaModel, ids_T: Tensor) -> AttentionRows:
    pieces: list[AttentionRows] = []
    with capture(model, pieces.append) as captured:
        for batch in batches([ids_T], queries=LAST, seed=0):
            captured.read(batch)
    return pieces[0]


def _entering(model: LlamaModel, ids_T: Tensor) -> tuple[Tensor, dict[str, Any]]:
    """The hidden state that enters the attention, and what else it was called with."""
    kept: list[dict[str, Any]] = []
    hook = model.layers[0].self_attn.register_forward_pre_hook(
        lambda _, args, given: kept.append(given), with_kwargs=True
    )
    with torch.no_grad():
        model(ids_T[None], use_cache=False)
    hook.remove()
    return kept[0].pop("hidden_states"), kept[0]


def _by_running_again(model: LlamaModel, hidden_1TD: Tensor, given: dict[str, Any], *, first: int) -> Tensor:
    """Run the attention once for every swap and compare the last query's weights, as published."""
    attention = model.layers[0].self_attn
    n = hidden_1TD.shape[1]
    with torch.no_grad():
        before_HK = attention(hidden_1TD, **given)[1][0, :, -1].double()
        cosines, gaps = [], []
        for s in range(first, n - 1):
            for t in range(s + 1, n - 1):
                order = torch.arange(n)
                order[[s, t]] = order[[t, s]]
                after_HK = attention(hidden_1TD[:, order], **given)[1][0, :, -1].double()
                old_H2, new_H2 = before_HK[:, [s, t]], after_HK[:, [s, t]]
                length_H = old_H2.norm(dim=-1) * new_H2.norm(dim=-1)
                cosines.append(torch.stack(((old_H2 * new_H2).sum(-1), (old_H2.flip(-1) * new_H2).sum(-1))) / length_H)
                gaps.append((old_H2[:, 0] - old_H2[:, 1]).abs())
    weight_PH = (torch.stack(gaps) / TAU).softmax(0)
    return (torch.stack(cosines) * weight_PH[:, None]).sum(0)
