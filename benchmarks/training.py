"""A training step of our small decoder against the same shape built in transformers."""

from collections.abc import Iterator

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from transformers import LlamaConfig, LlamaForCausalLM

from benchmarks.measurement import Measurement, side_by_side
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig

WIDTH, LAYERS, HEADS, VOCABULARY = 128, 4, 4, 256
STEPS = 4  # in each timing


def measure(repeats: int) -> Iterator[Measurement]:
    """Tokens a second, ours over theirs, for short and long sequences."""
    for length, batch in ((32, 64), (256, 16), (1024, 4)):
        ids_BT = torch.randint(0, VOCABULARY, (batch, length), generator=torch.Generator().manual_seed(0))
        config = NetConfig(vocabulary=VOCABULARY, width=WIDTH, layers=LAYERS, heads=HEADS, length=length)
        ours, theirs = build(config), _llama(length)
        pairs = side_by_side(
            _steps(ours, lambda ours=ours, ids_BT=ids_BT: ours(ids_BT), ids_BT),
            _steps(theirs, lambda theirs=theirs, ids_BT=ids_BT: theirs(ids_BT, use_cache=False).logits, ids_BT),
            repeats=max(repeats, 5),
        )
        ratios = tuple(slow / quick for quick, slow in pairs)
        yield Measurement(f"training step, n = {length:,}: tokens/s over transformers", ratios, 1.0, at_least=True)


def _llama(length: int) -> LlamaForCausalLM:
    """The same width, layers and heads; its gated MLP has three matrices, so two thirds of our width hold as much."""
    torch.manual_seed(0)
    sizes = {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "intermediate_size": WIDTH * 8 // 3}
    depth = {"num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "max_position_embeddings": length}
    return LlamaForCausalLM(LlamaConfig(**sizes, **depth))


def _steps(net: nn.Module, logits, ids_BT: torch.Tensor):
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-4)

    def run() -> None:
        for _ in range(STEPS):
            optimiser.zero_grad()
            loss = cross_entropy(logits()[:, :-1].flatten(0, 1), ids_BT[:, 1:].flatten())
            loss.backward()
            optimiser.step()

    return run
