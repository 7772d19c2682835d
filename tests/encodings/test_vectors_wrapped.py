"""The worked numbers of the encodings that wrap another."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from vectors import VECTORS, assert_attention, assert_known, tensor

from wherewhat.encodings.alibi import Alibi
from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.dape import Dape
from wherewhat.encodings.dape_v2 import DapeV2
from wherewhat.encodings.none import NoPosition
from wherewhat.encodings.rope import Rope
from wherewhat.encodings.t5_bias import T5Bias
from wherewhat.encodings.toeplitz import Toeplitz
from wherewhat.encodings.urpe import Urpe
from wherewhat.nets.attention import attention_rows

WRAPPED: dict[str, Callable[[], Encoding]] = {
    "dape/alibi": lambda: Dape(Alibi(heads=2), heads=2, hidden=3),
    "dape/none": lambda: Dape(NoPosition(), heads=2, hidden=3),
    "dape_v2/alibi": lambda: DapeV2(Alibi(heads=2), heads=2, hidden=3),
    "dape_v2/alibi_published_edge": lambda: DapeV2(Alibi(heads=2), heads=2, hidden=3, edge="published"),
    "dape_v2/rope": lambda: DapeV2(Rope(head_dim=4), heads=2, hidden=3),
    "urpe/alibi": lambda: Urpe(Alibi(heads=2), heads=2, length=5),
    "urpe/t5_bias": lambda: Urpe(T5Bias(width=8, heads=2, buckets=8, max_distance=16), heads=2, length=5),
    "urpe/toeplitz": lambda: Urpe(Toeplitz(heads=2, length=5), heads=2, length=5),
}
PARAMETERS = {  # what the vectors call them, and what we call them
    "w1": "inner.weight",
    "b1": "inner.bias",
    "w2": "outer.weight",
    "b2": "outer.bias",
    "conv1_weight": "inner.weight",
    "conv1_bias": "inner.bias",
    "conv2_weight": "outer.weight",
    "conv2_bias": "outer.bias",
    "c": "table_RH",
}
TABLES = {"urpe/t5_bias": "over.table_RH", "urpe/toeplitz": "over.table_OH"}


def made(name: str) -> Encoding:
    encoding, inputs = WRAPPED[name]().double(), VECTORS[name]["inputs"]
    names = {**PARAMETERS, "table": TABLES.get(name, "")}
    encoding.load_state_dict({names[given]: tensor(values) for given, values in inputs.items() if given not in "qkv"})
    return encoding


def test_every_vector_is_here() -> None:
    assert {name for name in VECTORS if name.split("/")[0] in ("dape", "dape_v2", "urpe")} == set(WRAPPED)


@pytest.mark.parametrize("name", WRAPPED)
def test_attention(name: str) -> None:
    assert_attention(name, made(name))


def logits_of(encoding: Encoding, q: Tensor, k: Tensor) -> Tensor:
    context = Context.of(q.shape[2], causal=True)
    assert encoding.bias(q, k, context) is None
    q, k = encoding.on_query_key(q, k, context)
    logits_BHQK = encoding.on_logits(q @ k.mT * q.shape[-1] ** -0.5, q, k, context)
    return logits_BHQK.masked_fill(~context.allowed_BHQK, -torch.inf)


@pytest.mark.parametrize("name", [name for name in WRAPPED if name.startswith("dape")])
def test_logits(name: str) -> None:
    inputs, known = VECTORS[name]["inputs"], VECTORS[name]["outputs"]["logits"]
    assert_known(logits_of(made(name), tensor(inputs["q"]), tensor(inputs["k"])), known)


@pytest.mark.parametrize("name", [name for name in WRAPPED if name.startswith("urpe")])
def test_attention_before_the_factors_is_that_of_the_wrapped(name: str) -> None:
    inputs, known = VECTORS[name]["inputs"], VECTORS[name]["outputs"]
    urpe, q, k = made(name), tensor(inputs["q"]), tensor(inputs["k"])
    assert isinstance(urpe, Urpe)
    context = Context.of(q.shape[2], causal=False)
    before_BHQK = attention_rows(urpe.over, q, k, context, torch.arange(q.shape[2]))
    assert_known(before_BHQK, known["attention_before"])
    assert_known(urpe.on_attention(before_BHQK, context), known["attention"])
