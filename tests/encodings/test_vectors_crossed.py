"""The worked numbers of the encodings in which contents ask slots: shaw, transformer_xl, deberta and cope."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from vectors import VECTORS, assert_attention, assert_known, tensor

from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.cope import Cope, counted
from wherewhat.encodings.deberta import Deberta, log_buckets
from wherewhat.encodings.shaw import Shaw
from wherewhat.encodings.transformer_xl import TransformerXL


def shaw(options: dict[str, Any], weights: dict[str, Any]) -> Encoding:
    encoding = Shaw(head_dim=4, clip=options["clip"])
    encoding.table_RC.data = tensor(weights["table"])
    return encoding


def transformer_xl(options: dict[str, Any], weights: dict[str, Any]) -> Encoding:
    encoding = TransformerXL(options["dim"], options["heads"], options["head_dim"], layout=options["layout"])
    encoding.project.weight.data = tensor(weights["project_weight"])
    encoding.u_HC.data, encoding.v_HC.data = tensor(weights["u"]), tensor(weights["v_bias"])
    return encoding


def deberta(options: dict[str, Any], weights: dict[str, Any]) -> Encoding:
    named = {name: options[name] for name in ("span", "sign", "buckets") if name in options}
    encoding = Deberta(options["dim"], options["heads"], options["head_dim"], **named)
    encoding.table_RD.data = tensor(weights["table"])
    encoding.key.weight.data = tensor(weights["key_weight"])
    encoding.query.weight.data = tensor(weights["query_weight"])
    encoding.query.bias.data = tensor(weights["query_bias"])
    return encoding


def cope(options: dict[str, Any], weights: dict[str, Any]) -> Encoding:
    encoding = Cope(options["head_dim"], positions=options["positions"])
    encoding.table_RC.data = tensor(weights["table"])
    return encoding


MAKERS: dict[str, Callable[[dict[str, Any], dict[str, Any]], Encoding]] = {
    "shaw/causal": shaw,
    "shaw/bidirectional": shaw,
    "transformer_xl/causal": transformer_xl,
    "transformer_xl/bidirectional": transformer_xl,
    "transformer_xl/interleaved": transformer_xl,
    "deberta/paper": deberta,
    "deberta/checkpoint": deberta,
    "deberta/bucketed": deberta,
    "cope/causal": cope,
}


@pytest.mark.parametrize("name", MAKERS)
def test_logits_attention_and_output(name: str) -> None:
    vector = VECTORS[name]
    encoding = MAKERS[name](vector["options"], vector["inputs"])
    q, k = tensor(vector["inputs"]["q"]), tensor(vector["inputs"]["k"])
    context = Context.of(q.shape[2], causal=vector["options"].get("causal", name == "cope/causal"))
    assert_attention(name, encoding, context)
    bias_BHQK = encoding.bias(q, k, context)
    logits_BHQK = q @ k.mT * (q.shape[-1] ** -0.5 if encoding.scale is None else encoding.scale)
    logits_BHQK = encoding.on_logits(logits_BHQK if bias_BHQK is None else logits_BHQK + bias_BHQK, q, k, context)
    assert_known(logits_BHQK.masked_fill(~context.allowed_BHQK, -torch.inf), vector["outputs"]["logits"])


@pytest.mark.parametrize("name", ["shaw/causal", "shaw/bidirectional"])
def test_the_bias_of_shaw(name: str) -> None:
    vector = VECTORS[name]
    q, k = tensor(vector["inputs"]["q"]), tensor(vector["inputs"]["k"])
    context = Context.of(q.shape[2], causal=vector["options"]["causal"])
    bias_BHQK = shaw(vector["options"], vector["inputs"]).bias(q, k, context)
    assert bias_BHQK is not None
    assert_known(bias_BHQK.masked_fill(~context.allowed_BHQK, -torch.inf), vector["outputs"]["bias"])


def test_what_cope_counts() -> None:
    vector = VECTORS["cope/causal"]
    q, k = tensor(vector["inputs"]["q"]), tensor(vector["inputs"]["k"])
    context = Context.of(q.shape[2], causal=True)
    counted_BHQK = counted(q @ k.mT * q.shape[-1] ** -0.5, context)
    assert_known(counted_BHQK.masked_fill(~context.allowed_BHQK, -torch.inf), vector["outputs"]["contextual_position"])


def test_the_buckets_of_deberta() -> None:
    vector = VECTORS["deberta/log_buckets"]
    options, lags_R = vector["options"], torch.tensor(vector["inputs"]["i_minus_j"])
    buckets_R = log_buckets(lags_R, buckets=options["buckets"], span=options["limit"])
    assert buckets_R.tolist() == vector["outputs"]["bucket"]
