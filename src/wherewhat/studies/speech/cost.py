"""What a step of training takes with rotary and with relative positions: both in turn, so that both share conditions.

Time is that of the processor, on one thread. Memory is that of activations, which is largest when the forward pass
ends: all that it keeps for the backward pass. It is counted exactly. Weights, gradients and the optimizer come on top.
"""

import time
from collections.abc import Iterator, Sequence
from statistics import fmean

import torch
from torch import Tensor

from wherewhat.nets.build import build
from wherewhat.nets.trunk import Trunk
from wherewhat.stats.intervals import student
from wherewhat.studies.engine.lengths import Measured
from wherewhat.studies.speech.names import (
    LONGEST,
    MEMORY,
    PARAMETERS,
    RELATIVE,
    ROPE,
    TIME,
    TIME_RATIO,
    TRAINING_BATCH,
)
from wherewhat.studies.speech.settings import SpeechScale
from wherewhat.training.speech_training import SpeechBatch, ctc, utterances

SIDES = (ROPE, RELATIVE)
STEPS = {TRAINING_BATCH: 3, LONGEST: 1}  # per round
MEGABYTE = 2**20


def cost_rows(scale: SpeechScale, seed: int) -> Iterator[tuple[str, Measured]]:
    """By arm: parameters, time per step and memory, for a batch of training and one of the longest test."""
    nets = {arm: build(scale.training(arm, seed).net, seed=seed).train() for arm in SIDES}
    for arm, net in nets.items():
        yield arm, ("cost", TRAINING_BATCH, None, PARAMETERS, float(parameters(net)), None, None)
    for name in (name for name in STEPS if name == TRAINING_BATCH or name in scale.corpus.splits):
        split = "train" if name == TRAINING_BATCH else name
        batch = utterances(scale.corpus, seed + 1, split, range(scale.batch))
        for arm, net in nets.items():
            yield arm, ("cost", name, None, MEMORY, activation_bytes(net, batch) / MEGABYTE, None, None)
        yield from time_rows(name, *interleaved(nets, batch, rounds=scale.rounds, steps=STEPS[name]))


def parameters(net: Trunk) -> int:
    """How many weights are learnt; the embedding of token ids, which a net that hears does not use, is left out."""
    return sum(weight.numel() for name, weight in net.named_parameters() if not name.startswith("tokens."))


def time_rows(name: str, rope: Sequence[float], relative: Sequence[float]) -> Iterator[tuple[str, Measured]]:
    """The mean time of each arm with its interval over rounds, every round, and the ratio round by round."""
    for arm, rounds in zip(SIDES, (rope, relative), strict=True):
        yield arm, ("cost", name, None, TIME, *_mean(rounds))
        for number, milliseconds in enumerate(rounds):
            yield arm, ("cost", name, float(number), TIME, milliseconds, None, None)
    ratios = [ours / theirs for ours, theirs in zip(rope, relative, strict=True)]
    yield ROPE, ("cost", name, None, TIME_RATIO, *_mean(ratios))


def _mean(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    return student(values) if len(values) > 1 else (fmean(values), None, None)


def interleaved(nets: dict[str, Trunk], batch: SpeechBatch, *, rounds: int, steps: int) -> list[list[float]]:
    """Milliseconds per step by net and round; which net comes first changes from round to round."""
    optimizers = {arm: torch.optim.AdamW(net.parameters(), lr=1e-4) for arm, net in nets.items()}
    times: dict[str, list[float]] = {arm: [] for arm in nets}
    for number in range(-1, rounds):  # the first one only warms up
        for arm in list(nets)[:: 1 if number % 2 else -1]:
            began = time.process_time()
            for _ in range(steps):
                one_step(nets[arm], optimizers[arm], batch)
            times[arm].append(1000 * (time.process_time() - began) / steps)
    return [rounds_[1:] for rounds_ in times.values()]


def one_step(net: Trunk, optimizer: torch.optim.Optimizer, batch: SpeechBatch) -> None:
    """Forward, backward, update."""
    optimizer.zero_grad()
    ctc(net(batch.frames_BTG, batch.real_BT), batch).backward()
    optimizer.step()


def activation_bytes(net: Trunk, batch: SpeechBatch) -> int:
    """The bytes that a forward pass keeps for the backward pass, without the weights: the peak of a step."""
    weights = {weight.untyped_storage().data_ptr() for weight in net.parameters()}
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = ctc(net(batch.frames_BTG, batch.real_BT), batch)
    del loss
    return sum(kept.values())
