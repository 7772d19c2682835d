"""An edited model beside the plain one, and what a model can do beside plain forward passes."""

from collections.abc import Callable, Iterator

import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM, LlamaModel

from benchmarks.measurement import Measurement, side_by_side
from wherewhat.capture.editing.survey import Layer, survey
from wherewhat.capture.loading.load import wrap_module
from wherewhat.capture.tokens.encode import EncodedTexts
from wherewhat.editing.abilities import ability_tests, measure_ability
from wherewhat.editing.edit import applied
from wherewhat.editing.plan import Edit

TOKENS, LAYERS, HEADS, WIDTH = 1024, 8, 8, 512
EDITS = (Edit(drop=("high:0.25",)), Edit(unrotate=("high:0.25",)), Edit(unrotate=("high:0.25",), heads=("L3H7",)))
BOUND = 1.15
VOCABULARY, TEXTS, LENGTH = 32_000, 4, 96  # of the language model; the texts are as long as its random sequences
ABILITY_BOUND = 1.25


def measure(repeats: int) -> Iterator[Measurement]:
    """Edits of a quarter of the frequencies in all heads, and in one, then loss and copying, on one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        model = llama()
        layers = survey(model)
        for wanted in EDITS:
            yield _over_plain(model, layers, wanted, repeats)
        yield _ability_over_plain(repeats)
    finally:
        torch.set_num_threads(threads)


def llama() -> LlamaModel:
    """A Llama with random weights."""
    model: LlamaModel = LlamaModel._from_config(_config(512)).eval()
    return model


def _config(vocabulary: int) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=WIDTH,
        intermediate_size=4 * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        max_position_embeddings=TOKENS,
    )


def _over_plain(model: nn.Module, layers: tuple[Layer, ...], wanted: Edit, repeats: int) -> Measurement:
    plain = _forward(model)

    def edited() -> None:
        with applied(model, wanted, layers):
            plain()

    ratios = tuple(ours / theirs for ours, theirs in side_by_side(edited, plain, repeats=repeats))
    return Measurement(f"edit, {wanted.description}, n = {TOKENS:,}: time over the plain forward pass", ratios, BOUND)


def _ability_over_plain(repeats: int) -> Measurement:
    """Loss and copying beside one forward pass over every text and every random sequence, with token logits."""
    model = wrap_module(LlamaForCausalLM._from_config(_config(VOCABULARY)).eval())
    tests = ability_tests(model, EncodedTexts.of(list(torch.arange(5, 5 + TEXTS * LENGTH).view(TEXTS, LENGTH))))
    assert tests.random is not None
    ids_NT = torch.cat([torch.stack(tests.encoded.ids), tests.random])

    def plain() -> None:
        with torch.no_grad():
            for ids_BT in ids_NT.split(2048 // LENGTH):
                model.module(input_ids=ids_BT, use_cache=False)

    pairs = side_by_side(lambda: measure_ability(model, tests), plain, repeats=repeats)
    name = f"edit, loss and copying, {len(ids_NT)} × {LENGTH} tokens: time over the plain forward pass"
    return Measurement(name, tuple(ours / theirs for ours, theirs in pairs), ABILITY_BOUND)


def _forward(model: nn.Module) -> Callable[[], None]:
    ids_BT = torch.arange(TOKENS)[None] % 512

    def run() -> None:
        with torch.no_grad():
            model(input_ids=ids_BT, use_cache=False)

    return run
