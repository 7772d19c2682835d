"""The whole `heads` profile against the same model's plain fused forward over the same texts."""

import os
import tempfile
from collections.abc import Iterator
from unittest import mock

import torch
from transformers import LlamaConfig, LlamaModel

from benchmarks.measurement import Measurement, side_by_side
from wherewhat.profiling.profile import profile
from wherewhat.tables.cache import FOLDER

TOKENS = 8192  # read in each round
BATCH = 2048  # tokens that run together, as in the profile's own default
BASELINE = 1024  # the length at which the untrained baseline is measured too
BOUNDS = {256: None, 512: None, 1024: 2.0, 2048: None, 4096: None}


def llama(length: int) -> LlamaModel:
    """8 layers × 8 heads, width 512, random weights."""
    torch.manual_seed(0)
    sizes = {"vocab_size": 1000, "hidden_size": 512, "intermediate_size": 1376, "num_hidden_layers": 8}
    heads = {"num_attention_heads": 8, "num_key_value_heads": 8, "max_position_embeddings": length}
    return LlamaModel(LlamaConfig(**sizes, **heads)).eval()


def texts(length: int) -> list[torch.Tensor]:
    """Random token ids, as many texts as make up the tokens of a round."""
    generator = torch.Generator().manual_seed(1)
    return list(torch.randint(0, 1000, (max(2, TOKENS // length), length), generator=generator))


def forward(model: LlamaModel, ids: list[torch.Tensor]) -> None:
    """The model alone: fused attention, the same batches that the profile runs."""
    batch = max(1, BATCH // len(ids[0]))
    with torch.no_grad():
        for start in range(0, len(ids), batch):
            model(torch.stack(ids[start : start + batch]), use_cache=False)


def measure(repeats: int) -> Iterator[Measurement]:
    """The bound at n = 1,024, how the ratio grows with the length of texts, and what the untrained baseline adds."""
    for length, bound in BOUNDS.items():
        model, ids = llama(length), texts(length)
        pairs = side_by_side(
            lambda model=model, ids=ids: profile(model, ids, max_tokens=len(ids[0]), untrained=False),
            lambda model=model, ids=ids: forward(model, ids),
            repeats=repeats,
        )
        yield Measurement(f"heads, n = {length:,}: time over plain fused forward", _ratios(pairs), bound)
    model, ids = llama(BASELINE), texts(BASELINE)
    pairs = side_by_side(lambda: first_time(model, ids), lambda: forward(model, ids), repeats=repeats)
    yield Measurement(f"heads with the untrained baseline, n = {BASELINE:,}: time over plain forward", _ratios(pairs))


def first_time(model: LlamaModel, ids: list[torch.Tensor]) -> None:
    """The profile with its untrained baseline, as where none is cached."""
    with tempfile.TemporaryDirectory() as empty, mock.patch.dict(os.environ, {FOLDER: empty}):
        profile(model, ids, max_tokens=len(ids[0]), untrained=True)


def _ratios(pairs: tuple[tuple[float, float], ...]) -> tuple[float, ...]:
    return tuple(ours / theirs for ours, theirs in pairs)
