"""The worked numbers of the encodings that turn queries and keys."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from vectors import VECTORS, assert_attention, assert_known, tensor

from wherewhat.encodings.band_rope import BandRope
from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.carope import CaRope, first_bias
from wherewhat.encodings.p_rope import PRope
from wherewhat.encodings.rollpe import RollPE
from wherewhat.encodings.rope import Rope
from wherewhat.encodings.rotary import ByPosition, frequencies
from wherewhat.encodings.scalings import scaling_of
from wherewhat.encodings.untwist import Untwist
from wherewhat.encodings.xpos import XPos

SOME_KEYS = [key for key, changed in enumerate(VECTORS["untwist/some_keys"]["inputs"]["which"]) if changed]
ATTENTIONS: dict[str, Encoding] = {
    "rope/half": Rope(8, layout="half"),
    "rope/interleaved": Rope(8, layout="interleaved"),
    "rope/partial": Rope(8, layout="half", rotary_dim=4),
    "rope/yarn_logits": Rope(8, scaling={"kind": "yarn", "factor": 4, "original_length": 64}),
    "p_rope/p_0.0": PRope(16, p=0.0),
    "p_rope/p_0.25": PRope(16, p=0.25),
    "p_rope/p_0.75": PRope(16),
    "p_rope/p_1.0": PRope(16, p=1.0),
    "p_rope/reversed_0.75": PRope(16, p=0.75, end="low"),
    "p_rope/keep": BandRope(16, keep="index:0,3"),
    "p_rope/drop": BandRope(16, drop="index:0,3"),
    "p_rope/band": BandRope(16, keep="angle:0.01..1"),
    "p_rope/single": BandRope(16, angle=0.5),
    "p_rope/single_pair": BandRope(16, keep="index:2", angle=0.5),
    "xpos/span_8": XPos(8, span=8, layout="interleaved"),
    "xpos/default": XPos(8),
    "untwist/all_keys": Untwist(8, high=0.25, low=1.4),
    "untwist/some_keys": Untwist(8, high=0.25, low=1.4, which=SOME_KEYS),
    "rollpe/integer": RollPE(),
    "rollpe/half_step": RollPE(step=0.5),
}
SCALED: dict[str, dict[str, Any]] = {
    "rope/scaling_linear": {"kind": "linear", "factor": 4},
    "rope/scaling_ntk": {"kind": "ntk", "factor": 4},
    "rope/scaling_dynamic": {"kind": "dynamic", "factor": 2, "original_length": 64},
    "rope/scaling_yarn": {"kind": "yarn", "factor": 16, "original_length": 4096},
    "rope/scaling_yarn_no_truncate": {"kind": "yarn", "factor": 16, "original_length": 4096, "truncate": False},
    "rope/scaling_llama3": {"kind": "llama3"},
    "rope/scaling_longrope_short": {
        "kind": "longrope",
        "short_factor": [1.0, 1.1, 1.25, 1.5],
        "long_factor": [1.0, 2.0, 6.0, 12.0],
        "original_length": 4096,
        "factor": 32,
    },
}
SCALED["rope/scaling_longrope_long"] = SCALED["rope/scaling_longrope_short"]


def inputs(name: str) -> tuple[Tensor, Tensor, Context]:
    vector = VECTORS[name]
    q, k = (tensor(vector["inputs"][each]) for each in "qk")
    return q, k, Context.of(q.shape[2], causal=vector["options"].get("causal", True))


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention(name: str) -> None:
    assert_attention(name, ATTENTIONS[name])


@pytest.mark.parametrize("name", ATTENTIONS)
def test_logits(name: str) -> None:
    q, k, context = inputs(name)
    q_turned, k_turned = ATTENTIONS[name].on_query_key(q, k, context)
    logits_BHQK = q_turned @ k_turned.mT * q.shape[-1] ** -0.5
    assert_known(logits_BHQK.masked_fill(~context.allowed_BHQK, -torch.inf), VECTORS[name]["outputs"]["logits"])


@pytest.mark.parametrize("name", ["rope/half", "rope/interleaved", "rope/partial"])
def test_rotation(name: str) -> None:
    q, k, context = inputs(name)
    q_turned, k_turned = ATTENTIONS[name].on_query_key(q, k, context)
    assert_known(q_turned, VECTORS[name]["outputs"]["q_rotated"])
    assert_known(k_turned, VECTORS[name]["outputs"]["k_rotated"])


def test_rolling() -> None:
    q, k, context = inputs("rollpe/integer")
    assert_known(RollPE().on_query_key(q, k, context)[0], VECTORS["rollpe/integer"]["outputs"]["q_rolled"])


@pytest.mark.parametrize("name", [name for name in ATTENTIONS if "theta" in VECTORS[name]["outputs"]])
def test_frequencies(name: str) -> None:
    encoding = ATTENTIONS[name]
    assert isinstance(encoding, ByPosition)
    ladder_F = frequencies(width=encoding.rotary_dim, base=encoding.base, dtype=torch.float64)
    assert_known(encoding.theta(ladder_F, Context.of(5, causal=True)), VECTORS[name]["outputs"]["theta"])


@pytest.mark.parametrize("name", SCALED)
def test_scalings(name: str) -> None:
    vector = VECTORS[name]
    width, base = vector["options"]["head_dim"], vector["options"]["base"]
    scaling = scaling_of(SCALED[name], width=width, base=base)
    ladder_F = frequencies(width=width, base=base, dtype=torch.float64)
    theta_F = scaling.theta(ladder_F, base=base, length=vector["options"].get("length", 1))
    torch.testing.assert_close(theta_F, tensor(vector["outputs"]["theta"]), rtol=1e-9, atol=0)
    assert scaling.gain == pytest.approx(vector["outputs"]["attention_factor"], abs=1e-9)


@pytest.mark.parametrize("name", ["xpos/span_8", "xpos/default"])
def test_fading(name: str) -> None:
    encoding = ATTENTIONS[name]
    assert isinstance(encoding, XPos)
    assert_known(encoding.zeta(torch.float64), VECTORS[name]["outputs"]["zeta"])


@pytest.mark.parametrize("name", ["untwist/all_keys", "untwist/some_keys"])
def test_gains(name: str) -> None:
    encoding = ATTENTIONS[name]
    assert isinstance(encoding, Untwist)
    assert_known(encoding.gain(torch.float64), VECTORS[name]["outputs"]["gain"])


def test_a_clock_at_the_pace_of_the_text() -> None:
    vector = VECTORS["carope/causal"]
    encoding = CaRope(3, 2, 4).double()
    encoding.pace.weight.data, encoding.pace.bias.data = (tensor(vector["inputs"][each]) for each in ("weight", "bias"))
    notes = encoding.observe(tensor(vector["inputs"]["x"]))
    assert_known(notes["phase"], vector["outputs"]["phase"])
    q, k, context = inputs("carope/causal")
    assert_attention("carope/causal", encoding, replace(context, notes=notes))
    q_turned, k_turned = encoding.on_query_key(q, k, replace(context, notes=notes))
    logits_BHQK = (q_turned @ k_turned.mT / 2).masked_fill(~context.allowed_BHQK, -torch.inf)
    assert_known(logits_BHQK, vector["outputs"]["logits"])


def test_the_bias_that_such_a_clock_starts_with() -> None:
    vector = VECTORS["carope/bias_init"]
    for head_dim, known in vector["outputs"]["bias"].items():
        assert first_bias(int(head_dim), vector["options"]["base"]) == pytest.approx(known, abs=1e-9)


def test_no_vector_is_left_out() -> None:
    ours = {"rope", "p_rope", "xpos", "untwist", "rollpe", "carope"}
    known = {name for name, vector in VECTORS.items() if vector["encoding"] in ours}
    assert known == {*ATTENTIONS, *SCALED, "carope/causal", "carope/bias_init"}
