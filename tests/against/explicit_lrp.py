"""The rules of relevance written out for Llama and GPT-2, layer by layer and without gradients.

Every step keeps the ratio of relevance and value, which is finite where both are 0; relevance is value times ratio.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import gelu, silu


@dataclass
class ExplicitRelevance:
    """What the rules give to every part of a model."""

    token_TD: Tensor = field(default_factory=lambda: torch.zeros(0))
    position_T: Tensor = field(default_factory=lambda: torch.zeros(0))
    position_LH: list[Tensor] = field(default_factory=list)  # last layer first
    position_LF: list[Tensor] = field(default_factory=list)
    split_LR: list[Tensor] = field(default_factory=list)  # what rotations add to logits, by distance
    softmax: list[float] = field(default_factory=list)
    biases: float = 0.0

    def through_linear(self, ratio: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """The ratio of what a linear layer x Wᵀ + b was given."""
        if bias is not None:
            self.biases += float((bias * ratio).sum())
        return ratio @ weight


@dataclass(frozen=True)
class Heads:
    """Queries, keys and values of all heads, [H, T, C], and their attention."""

    q: Tensor
    k: Tensor
    v: Tensor
    ratios: list[Tensor] = field(default_factory=list)  # of logits, once relevance has come back

    @property
    def logits(self) -> Tensor:
        return self.q @ self.k.mT * self.q.shape[-1] ** -0.5

    @property
    def attention(self) -> Tensor:
        hidden = torch.ones(self.q.shape[-2], self.q.shape[-2], dtype=torch.bool).triu(1)
        return self.logits.masked_fill(hidden, -torch.inf).softmax(-1)

    @property
    def out(self) -> Tensor:
        return self.attention @ self.v

    def back(self, ratio: Tensor, relevance: ExplicitRelevance) -> tuple[Tensor, Tensor, Tensor]:
        """The ratios of queries, keys and values: half of each product to each factor."""
        attention, scale = self.attention, self.q.shape[-1] ** -0.5
        of_attention, of_values = ratio @ self.v.mT / 2, attention.mT @ ratio / 2
        share = (attention * of_attention).sum(-1, keepdim=True)
        of_logits = attention * (of_attention - share)
        self.ratios.append(of_logits)
        kept = (attention * of_attention).sum() - (self.logits * of_logits).sum()
        relevance.softmax.append(float(kept))
        return of_logits @ self.k * scale / 2, of_logits.mT @ self.q * scale / 2, of_values


def split(x_TD: Tensor, heads: int) -> Tensor:
    return x_TD.unflatten(-1, (heads, -1)).transpose(0, 1)


def join(x_HTC: Tensor) -> Tensor:
    return x_HTC.transpose(0, 1).flatten(1)


def turned(x_HTC: Tensor) -> Tensor:
    """Channels half of them further on, with the sign that a rotation gives them."""
    first, second = x_HTC.chunk(2, -1)
    return torch.cat([-second, first], -1)


def turned_back(x_HTC: Tensor) -> Tensor:
    return -turned(x_HTC)


def explicit_llama(model: Any, ids: list[int], index: int) -> ExplicitRelevance:
    """A Llama with grouped keys: rotations get half of what rotated queries and keys get."""
    config, layers = model.config, model.model.layers
    heads, groups = config.num_attention_heads, config.num_attention_heads // config.num_key_value_heads
    channels = config.hidden_size // heads
    theta = 10_000.0 ** (-torch.arange(0, channels, 2, dtype=torch.float64) / channels)
    angle = torch.arange(len(ids))[:, None] * theta
    cos, sin = angle.cos().repeat(1, 2), angle.sin().repeat(1, 2)
    result = ExplicitRelevance()
    x = embedded = model.model.embed_tokens.weight[ids]
    steps: list[Callable[[Tensor], Tensor]] = []
    position: list[Tensor] = []

    def attend(layer: Any, x: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        scale = layer.input_layernorm.weight * (x.pow(2).mean(-1, keepdim=True) + config.rms_norm_eps).rsqrt()
        normed, own = x * scale, layer.self_attn
        q = split(normed @ own.q_proj.weight.T, heads)
        k, v = (split(normed @ part.weight.T, heads // groups) for part in (own.k_proj, own.v_proj))
        rotated = [part * cos + turned(part) * sin for part in (q, k)]
        met = Heads(rotated[0], rotated[1].repeat_interleave(groups, 0), v.repeat_interleave(groups, 0))

        def back(ratio: Tensor) -> Tensor:
            of_q, of_k, of_v = met.back(split(ratio @ own.o_proj.weight, heads), result)
            plain = Heads(q, k.repeat_interleave(groups, 0), met.v)
            added = ((met.logits - plain.logits) * met.ratios[0]).sum(0)
            result.split_LR.append(torch.stack([added.diagonal(-lag).sum() for lag in range(len(ids))]))
            of_position = (met.q * of_q + met.k * of_k) / 2
            position.append(of_position.sum((0, 2)))
            result.position_LH.append(of_position.sum((1, 2)))
            result.position_LF.append(of_position.sum((0, 1)).unflatten(-1, (2, -1)).sum(0))
            of_k, of_v = (part.unflatten(0, (-1, groups)).sum(1) for part in (of_k, of_v))
            of_q, of_k = ((part * cos + turned_back(part * sin)) / 2 for part in (of_q, of_k))
            of_normed = join(of_q) @ own.q_proj.weight + join(of_k) @ own.k_proj.weight + join(of_v) @ own.v_proj.weight
            return ratio + of_normed * scale

        return x + join(met.out) @ own.o_proj.weight.T, back

    def feed(layer: Any, x: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        scale = layer.post_attention_layernorm.weight * (x.pow(2).mean(-1, keepdim=True) + config.rms_norm_eps).rsqrt()
        normed, own = x * scale, layer.mlp
        gate, up = normed @ own.gate_proj.weight.T, normed @ own.up_proj.weight.T

        def back(ratio: Tensor) -> Tensor:
            of_product = ratio @ own.down_proj.weight
            of_gate, of_up = of_product * up / 2 * (silu(gate) / gate), of_product * silu(gate) / 2
            return ratio + (of_gate @ own.gate_proj.weight + of_up @ own.up_proj.weight) * scale

        return x + (silu(gate) * up) @ own.down_proj.weight.T, back

    for layer in layers:
        for part in (attend, feed):
            x, back = part(layer, x)
            steps.append(back)
    scale = model.model.norm.weight * (x.pow(2).mean(-1, keepdim=True) + config.rms_norm_eps).rsqrt()
    ratio = torch.zeros_like(x)
    ratio[-1] = model.lm_head.weight[index] * scale[-1]
    for back in reversed(steps):
        ratio = back(ratio)
    result.token_TD, result.position_T = embedded * ratio, torch.stack(position).sum(0)
    return result


def explicit_gpt2(model: Any, ids: list[int], index: int) -> ExplicitRelevance:
    """A GPT-2: a table of positions, layer norms and biases everywhere."""
    body, heads, result = model.transformer, model.config.n_head, ExplicitRelevance()
    embedded, table = body.wte.weight[ids], body.wpe.weight[: len(ids)]
    x = embedded + table
    steps: list[Callable[[Tensor], Tensor]] = []

    def norm(module: Any, x: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        scale = (x.var(-1, unbiased=False, keepdim=True) + module.eps).rsqrt()

        def back(ratio: Tensor) -> Tensor:
            result.biases += float((module.bias * ratio).sum())
            inner = ratio * module.weight * scale
            return inner - inner.mean(-1, keepdim=True)

        return (x - x.mean(-1, keepdim=True)) * scale * module.weight + module.bias, back

    def attend(block: Any, x: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        normed, norm_back = norm(block.ln_1, x)
        inner, outer = block.attn.c_attn, block.attn.c_proj
        met = Heads(*(split(part, heads) for part in (normed @ inner.weight + inner.bias).chunk(3, -1)))

        def back(ratio: Tensor) -> Tensor:
            of_out = split(result.through_linear(ratio, outer.weight.T, outer.bias), heads)
            of_qkv = torch.cat([join(part) for part in met.back(of_out, result)], -1)
            return ratio + norm_back(result.through_linear(of_qkv, inner.weight.T, inner.bias))

        return x + join(met.out) @ outer.weight + outer.bias, back

    def feed(block: Any, x: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        normed, norm_back = norm(block.ln_2, x)
        inner, outer = block.mlp.c_fc, block.mlp.c_proj
        hidden = normed @ inner.weight + inner.bias
        active = gelu(hidden, approximate="tanh")

        def back(ratio: Tensor) -> Tensor:
            of_active = result.through_linear(ratio, outer.weight.T, outer.bias)
            return ratio + norm_back(result.through_linear(of_active * active / hidden, inner.weight.T, inner.bias))

        return x + active @ outer.weight + outer.bias, back

    for block in body.h:
        for part in (attend, feed):
            x, back = part(block, x)
            steps.append(back)
    _, norm_back = norm(body.ln_f, x)
    ratio = torch.zeros_like(x)
    ratio[-1] = model.lm_head.weight[index]
    ratio = norm_back(ratio)
    for back in reversed(steps):
        ratio = back(ratio)
    result.token_TD, result.position_T = embedded * ratio, (table * ratio).sum(-1)
    return result
