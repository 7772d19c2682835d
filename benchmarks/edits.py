"""A forward pass of an edited model beside the plain one."""

from collections.abc import Callable, Iterator

import torch
from torch import nn
from transformers import LlamaConfig, LlamaModel

from benchmarks.measurement import Measurement, side_by_side
from wherewhat.capture.editing.survey import Layer, survey
from wherewhat.editing.edit import applied
from wherewhat.editing.plan import Edit

TOKENS, LAYERS, HEADS, WIDTH = 1024, 8, 8, 512
EDITS = (Edit(drop=("high:0.25",)), Edit(unrotate=("high:0.25",)), Edit(unrotate=("high:0.25",), heads=("L3H7",)))
BOUND = 1.15


def measure(repeats: int) -> Iterator[Measurement]:
    """Edits of a quarter of the frequencies in all heads, and in one, on one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        model = llama()
        layers = survey(model)
        for wanted in EDITS:
            yield _over_plain(model, layers, wanted, repeats)
    finally:
        torch.set_num_threads(threads)


def llama() -> LlamaModel:
    """A Llama with random weights."""
    config = LlamaConfig(
        vocab_size=512,
        hidden_size=WIDTH,
        intermediate_size=4 * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        max_position_embeddings=TOKENS,
    )
    model: LlamaModel = LlamaModel._from_config(config).eval()
    return model


def _over_plain(model: nn.Module, layers: tuple[Layer, ...], wanted: Edit, repeats: int) -> Measurement:
    plain = _forward(model)

    def edited() -> None:
        with applied(model, wanted, layers):
            plain()

    ratios = tuple(ours / theirs for ours, theirs in side_by_side(edited, plain, repeats=repeats))
    return Measurement(f"edit, {wanted.description}, n = {TOKENS:,}: time over the plain forward pass", ratios, BOUND)


def _forward(model: nn.Module) -> Callable[[], None]:
    ids_BT = torch.arange(TOKENS)[None] % 512

    def run() -> None:
        with torch.no_grad():
            model(input_ids=ids_BT, use_cache=False)

    return run
