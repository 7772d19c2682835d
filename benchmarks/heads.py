"""The whole `heads` profile against the same model's plain fused forward over the same texts."""

import os
import tempfile
from collections.abc import Callable, Iterator
from unittest import mock

import torch
from transformers import LlamaConfig, LlamaModel

from benchmarks.measurement import Measurement, side_by_side
from wherewhat.capture.capture import inputs_for
from wherewhat.capture.tokens.batch import LAST, batches
from wherewhat.profiling.profile import profile
from wherewhat.tables.cache import FOLDER

TOKENS = 8192  # read in each round
BATCH = 2048  # tokens that run together, as in the profile's own default
BASELINE = 1024  # the length at which the untrained baseline is measured too
BOUNDS = {128: 1.8, 256: 1.6, 512: 1.5, 1024: 1.4, 2048: None, 4096: 1.2}
MANY = 512  # the length at which more rows than the default are read
SHORT = 100  # texts of about 200 tokens


def llama(length: int) -> LlamaModel:
    """8 layers × 8 heads, width 512, random weights."""
    heads = {"num_attention_heads": 8, "num_key_value_heads": 8, "max_position_embeddings": length}
    return _model(hidden_size=512, intermediate_size=1376, num_hidden_layers=8, **heads)


def smollm() -> LlamaModel:
    """30 layers × 9 heads with grouped keys, width 576: the shape of SmolLM2-135M but for its vocabulary."""
    heads = {"num_attention_heads": 9, "num_key_value_heads": 3, "max_position_embeddings": 512}
    return _model(hidden_size=576, intermediate_size=1536, num_hidden_layers=30, **heads)


def _model(**sizes: int) -> LlamaModel:
    torch.manual_seed(0)
    return LlamaModel(LlamaConfig(vocab_size=1000, **sizes)).eval()


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


def short_texts() -> list[torch.Tensor]:
    """Random token ids, from 150 to 250 per text."""
    generator = torch.Generator().manual_seed(1)
    lengths = torch.randint(150, 251, (SHORT,), generator=generator).tolist()
    return [torch.randint(0, 1000, (length,), generator=generator) for length in lengths]


def padded_forward(model: LlamaModel, ids: list[torch.Tensor]) -> None:
    """The model alone on texts of different length, in the batches that the profile runs."""
    with torch.no_grad():
        for batch in batches(ids, queries=LAST, seed=0, tokens=BATCH):
            model(**inputs_for(model, batch))


def measure(repeats: int) -> Iterator[Measurement]:
    """How the ratio grows with the length of texts, with many short texts and with more rows; and the baseline."""
    for length, bound in BOUNDS.items():
        model, ids = llama(length), texts(length)
        pairs = side_by_side(_profile(model, ids), lambda model=model, ids=ids: forward(model, ids), repeats=repeats)
        yield Measurement(f"heads, n = {length:,}: time over plain fused forward", _ratios(pairs), bound)
    model, ids = smollm(), short_texts()
    pairs = side_by_side(_profile(model, ids), lambda: padded_forward(model, ids), repeats=min(repeats, 3))
    name = f"heads, {SHORT} texts of about 200 tokens, 30 × 9 heads: time over plain forward"
    yield Measurement(name, _ratios(pairs), 1.6)
    model, ids = llama(MANY), texts(MANY)
    pairs = side_by_side(_profile(model, ids, logit_rows="all"), _profile(model, ids), repeats=repeats)
    yield Measurement(f"heads, n = {MANY}, logits of all 64 rows: time over the default", _ratios(pairs), 2.0)
    pairs = side_by_side(_profile(model, ids, queries="all"), lambda: forward(model, ids), repeats=repeats)
    yield Measurement(f"heads, n = {MANY}, --queries all: time over plain forward", _ratios(pairs), 4.0)
    model, ids = llama(BASELINE), texts(BASELINE)
    pairs = side_by_side(lambda: first_time(model, ids), lambda: forward(model, ids), repeats=repeats)
    yield Measurement(f"heads with the untrained baseline, n = {BASELINE:,}: time over plain forward", _ratios(pairs))


def _profile(model: LlamaModel, ids: list[torch.Tensor], **settings: str) -> Callable[[], object]:
    """A profile without the untrained baseline, which is measured apart."""
    return lambda: profile(model, ids, max_tokens=max(map(len, ids)), untrained=False, **settings)


def first_time(model: LlamaModel, ids: list[torch.Tensor]) -> None:
    """The profile with its untrained baseline, as where none is cached."""
    with tempfile.TemporaryDirectory() as empty, mock.patch.dict(os.environ, {FOLDER: empty}):
        profile(model, ids, max_tokens=len(ids[0]), untrained=True)


def _ratios(pairs: tuple[tuple[float, float], ...]) -> tuple[float, ...]:
    return tuple(ours / theirs for ours, theirs in pairs)
