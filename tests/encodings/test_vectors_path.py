"""The worked numbers of path and path_fox: reflections that are given, and reflections made of tokens."""

from dataclasses import replace

import pytest
import torch
from vectors import VECTORS, assert_attention, assert_known, tensor

from wherewhat.encodings.base import Context
from wherewhat.encodings.householder import Reflections, change
from wherewhat.encodings.path import Path
from wherewhat.encodings.path_fox import PathFox
from wherewhat.encodings.reflecting import Reflecting

SIZES = {"width": 3, "heads": 1, "head_dim": 3}


def given(name: str) -> Context:
    notes = {note: tensor(VECTORS[name]["inputs"][note]) for note in ("w", "beta")}
    if "log_forget" in VECTORS[name]["inputs"]:
        notes["log_forget"] = tensor(VECTORS[name]["inputs"]["log_forget"])
    return replace(Context.of(5, causal=True), notes=notes)


@pytest.mark.parametrize("chunk", [1, 2, 3, 64])
def test_attention(chunk: int) -> None:
    encodings: dict[str, Reflecting] = {
        "path/causal": Path(**SIZES, chunk=chunk),
        "path_fox/causal": PathFox(**SIZES, chunk=chunk),
        "path_fox/gate_scaled": PathFox(**SIZES, chunk=chunk, gate_scaled=True),
    }
    for name, encoding in encodings.items():
        assert_attention(name, encoding, given(name))


def test_logits() -> None:
    vector = VECTORS["path/causal"]
    q, k, w, beta = (tensor(vector["inputs"][each]) for each in ("q", "k", "w", "beta"))
    logits_BHQK = q @ k.mT + change(q, k, Reflections(w, beta), torch.arange(5))
    later_QK = torch.ones(5, 5).triu(1).bool()
    assert_known(logits_BHQK.masked_fill(later_QK, -torch.inf), vector["outputs"]["unscaled_logits"])


def test_reflections_made_of_tokens() -> None:
    vector = VECTORS["path/observe"]
    encoding = PathFox(width=3, heads=1, head_dim=2, rank=2, conv=3).double()
    weights = {
        "down.weight": "down",
        "up.weight": "up",
        "taps_HRC": "taps",
        "beta.weight": "beta_weight",
        "beta.bias": "beta_bias",
        "forget.weight": "forget_weight",
        "forget.bias": "forget_bias",
    }
    encoding.load_state_dict({ours: tensor(vector["inputs"][theirs]) for ours, theirs in weights.items()})
    notes = encoding.observe(tensor(vector["inputs"]["x"]))
    for name in ("w", "beta", "log_forget"):
        assert_known(notes[name], vector["outputs"][name])
