"""A pre-training step of our small encoder against BertForMaskedLM of the same shape: tokens a second."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.optim import AdamW
from transformers import BertConfig, BertForMaskedLM

from benchmarks.measurement import Measurement, side_by_side
from wherewhat.nets.build import build
from wherewhat.nets.trunk import Trunk
from wherewhat.recipes.registry import recipe
from wherewhat.training.language_modelling import LanguageModelSettings, WordObjective, WordTargets
from wherewhat.training.loop import descend, parameter_groups, threads
from wherewhat.training.settings import changed

STEPS = 6  # in each timing, each with sentences of its own
RATE, IGNORED = 1e-4, -100  # the latter is what transformers calls a word that is not to be guessed


def measure(repeats: int) -> Iterator[Measurement]:
    """Both read the same sentences with the same padding and guess the same words, each with its own fused AdamW.

    The clock runs from the sentences' numbers to the step: choosing, padding and hiding words is in it for both.
    """
    settings = changed(recipe("bert_tiny"), ["sentences=2000", "evaluate_samples=100"]).ready()
    assert isinstance(settings, LanguageModelSettings) and settings.texts is not None
    net = build(settings.net)
    with threads(settings.threads):
        pairs = side_by_side(ours(net, settings), theirs(bert(settings), settings), repeats=max(repeats, 7))
    ratios = tuple(slow / quick for quick, slow in pairs)
    yield Measurement("pre-training step of bert_tiny: tokens/s over transformers", ratios, 1.0, at_least=True)


def bert(settings: LanguageModelSettings) -> BertForMaskedLM:
    """The same width, layers, heads and table of positions, without dropout, with the library's fused attention."""
    torch.manual_seed(0)
    sizes = {"vocab_size": settings.net.vocabulary, "hidden_size": settings.net.width}
    depth = {"num_hidden_layers": settings.net.layers, "num_attention_heads": settings.net.heads}
    wide = {"intermediate_size": settings.net.mlp * settings.net.width}
    long = {"max_position_embeddings": settings.net.length}
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config = BertConfig(**sizes, **depth, **wide, **long, **still, attn_implementation="sdpa")
    return BertForMaskedLM(config).train()


def ours(net: Trunk, settings: LanguageModelSettings) -> Callable[[], None]:
    optimizer, objective = AdamW(parameter_groups(net), fused=True), settings.objective()

    def run() -> None:
        for step in range(1, STEPS + 1):
            descend(objective.loss(net, step), optimizer, RATE)

    return run


def theirs(net: BertForMaskedLM, settings: LanguageModelSettings) -> Callable[[], None]:
    optimizer, objective = AdamW(net.parameters(), fused=True), settings.objective()
    assert isinstance(objective, WordObjective)

    def run() -> None:
        for step in range(1, STEPS + 1):
            guess = objective.targets(step, causal=False)
            loss = net(guess.input_BT, attention_mask=guess.real_BT, labels=labels(guess)).loss
            descend(loss, optimizer, RATE)

    return run


def labels(guess: WordTargets) -> Tensor:
    """The words to be guessed where they stand."""
    label_BT = torch.full_like(guess.input_BT, IGNORED)
    label_BT.view(-1)[guess.slots_G] = guess.target_G
    return label_BT
