"""The worked numbers of every encoding, and how to compare with them."""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from wherewhat.encodings.base import Context, Encoding
from wherewhat.nets.attention import attend, attention_rows

FILE = Path(__file__).parents[1] / "vectors" / "encodings.json"
VECTORS: dict[str, dict[str, Any]] = {vector["id"]: vector for vector in json.loads(FILE.read_text())["vectors"]}


def tensor(values: Any) -> Tensor:
    """Nested lists as float64; null means minus infinity."""
    if isinstance(values, list):
        return torch.stack([tensor(value) for value in values])
    return torch.tensor(-torch.inf if values is None else values, dtype=torch.float64)


def assert_known(ours: Tensor, known: Any) -> None:
    """Equal to the worked numbers, to 1e-9."""
    torch.testing.assert_close(ours.detach(), tensor(known), rtol=1e-9, atol=1e-9)


def assert_attention(name: str, encoding: Encoding, context: Context | None = None) -> None:
    """Attention, logits and output of one vector, by the explicit and by the fastest path."""
    vector = VECTORS[name]
    q, k, v = (tensor(vector["inputs"][each]) for each in "qkv")
    length = q.shape[2]
    context = context or Context.of(length, causal=vector["options"].get("causal", True))
    attention_BHQK = attention_rows(encoding, q, k, context, torch.arange(length))
    known = vector["outputs"]
    if "attention" in known:
        assert_known(attention_BHQK, known["attention"])
    if "logits" in known and "attention_before" not in known:
        assert_known(attention_BHQK, tensor(known["logits"]).softmax(-1).tolist())
    if "out" in known:
        assert_known(attention_BHQK @ v, known["out"])
        assert_known(attend(encoding, q, k, v, context), known["out"])
