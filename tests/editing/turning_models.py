"""Tiny models that turn queries and keys, each with a way to overhear what one of its layers does."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from families import FAMILIES, Family
from test_logits_tap import MORE
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel

from wherewhat.capture.hooks.interface import configs_of

BY_NAME = {family.name: family for family in (*FAMILIES, *MORE)}
HEADS, SCALE = 4, 8**-0.5  # all of them have heads of 8 channels


@dataclass(frozen=True)
class Turning:
    """A family, and what has to be known to turn pairs as it does by explicit cosines and sines."""

    family: str
    attention: str  # the module that attends in layer 0
    pairs: Callable[[int], list[tuple[int, int]]]  # of so many frequencies, the channels of each
    spin: Callable[..., tuple[Tensor, Tensor]]  # cos_TF and sin_TF from what its rotation is called with
    sizes: dict[str, Any] = field(default_factory=dict)
    precision: torch.dtype = torch.float64  # some families round to float32 on their way, whatever the model's type

    def __str__(self) -> str:
        return self.family

    def build(self) -> PreTrainedModel:
        """In double precision, with the family's own eager attention, whose softmax can be overheard."""
        model = BY_NAME[self.family].build(**self.sizes)
        for module in model.modules():
            if hasattr(module, "create_weight"):  # RoFormer's sinusoids are a parameter, but not random
                module.weight.data.copy_(module.create_weight())
        for config in configs_of(model):
            config._attn_implementation_internal = "eager"
        return model.double()


def half(count: int) -> list[tuple[int, int]]:
    return [(pair, pair + count) for pair in range(count)]


def neighbours(count: int) -> list[tuple[int, int]]:
    return [(2 * pair, 2 * pair + 1) for pair in range(count)]


def twice(query: Tensor, key: Tensor, cos: Tensor, sin: Tensor, **more: Any) -> tuple[Tensor, Tensor]:
    """Cosines of all pairs, then the same again."""
    count = cos.shape[-1] // 2
    return cos[0, :, :count], sin[0, :, :count]


def doubled(query: Tensor, key: Tensor, cos: Tensor, sin: Tensor, **more: Any) -> tuple[Tensor, Tensor]:
    """Every cosine two times."""
    return cos[0, :, ::2], sin[0, :, ::2]


def sine_first(tensor: Tensor, sin: Tensor, cos: Tensor) -> tuple[Tensor, Tensor]:
    return cos[0], sin[0]


def sinusoid(query: Tensor, key: Tensor, angles: Tensor) -> tuple[Tensor, Tensor]:
    sin, cos = angles[0, 0].chunk(2, dim=-1)
    return cos, sin


GQA = {"num_key_value_heads": 2}
NEOX = {"rope_parameters": {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.5}}
TURNING = [
    Turning("llama", "layers.0.self_attn", half, twice),
    Turning("gpt_neox", "layers.0.attention", half, twice, NEOX),
    Turning("gemma3", "layers.0.self_attn", half, twice),
    Turning("qwen3", "layers.0.self_attn", half, twice),
    Turning("phi3", "layers.0.self_attn", half, twice),
    Turning("phi", "layers.0.self_attn", half, twice),
    Turning("glm", "layers.0.self_attn", neighbours, twice),
    Turning("cohere", "layers.0.self_attn", neighbours, doubled, precision=torch.float32),
    Turning("modernbert", "layers.0.attn", half, twice, precision=torch.float32),
    Turning("falcon", "h.0.self_attention", half, twice),
    Turning("gptj", "h.0.attn", neighbours, sine_first, precision=torch.float32),
    Turning("codegen", "h.0.attn", neighbours, sine_first, precision=torch.float32),
    Turning("roformer", "encoder.layer.0.attention.self", neighbours, sinusoid),
]  # fmt: skip


@dataclass(frozen=True)
class Overheard:
    """What one layer of a model did with a text."""

    logits_HQK: Tensor  # into the softmax
    q_HTC: Tensor  # the channels that turn, before they do
    k_GTC: Tensor
    cos_TF: Tensor
    sin_TF: Tensor


def overheard(model: nn.Module, turning: Turning, ids_T: Tensor) -> Overheard:
    """Run the model and listen to the rotation and to the softmax of its first layer."""
    attention = model.get_submodule(turning.attention)
    with torch.no_grad(), listening() as logits, _spying(attention) as calls:
        model(ids_T[None])
    heads_first = calls[0][0].shape[1] != len(ids_T)
    spin = turning.spin(*calls[0], **{})
    two = calls[0][1].dim() == 4
    query, key = (calls[0][0], calls[0][1]) if two else (calls[1][0], calls[0][0])  # GPT-J turns its keys first
    q_HTC, k_GTC = ((x if heads_first else x.transpose(1, 2))[0] for x in (query, key))
    return Overheard(logits[0][0], q_HTC, k_GTC, *spin)


def first_logits(model: nn.Module, ids_T: Tensor) -> Tensor:
    """logits_HQK of the first layer, as its softmax is given them."""
    with torch.no_grad(), listening() as logits:
        model(ids_T[None])
    return logits[0][0]


@contextmanager
def listening() -> Iterator[list[Tensor]]:
    """The input of every softmax over keys, in double precision, in the order of the forward pass."""
    heard: list[Tensor] = []

    class Listening(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if getattr(func, "__name__", "") == "softmax":
                logits = args[0] if args else kwargs["input"]
                heard.extend([logits.double()] if logits.dim() == 4 else [])
            return func(*args, **kwargs)

    with Listening():
        yield heard


@contextmanager
def _spying(attention: nn.Module) -> Iterator[list[tuple[Any, ...]]]:
    """What the rotation is called with, angles last."""
    calls: list[tuple[Any, ...]] = []
    method = "apply_rotary_position_embeddings"
    owner: Any = type(attention) if hasattr(attention, method) else sys.modules[type(attention).__module__]
    name = method if hasattr(attention, method) else "apply_rotary_pos_emb"
    own = getattr(owner, name)

    def spy(*args: Any, **kwargs: Any) -> Any:
        calls.append((*args[1:3], args[0]) if name == method else args)
        return own(*args, **kwargs)

    setattr(owner, name, staticmethod(spy) if name == method else spy)
    try:
        yield calls
    finally:
        setattr(owner, name, staticmethod(own) if name == method else own)


def family(name: str) -> Family:
    return BY_NAME[name]
