"""Length generalisation: a batch beside the training step that it is for, and decoding with a cache beside without."""

import statistics
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from benchmarks.measurement import Measurement, side_by_side
from wherewhat.nets.build import build
from wherewhat.nets.trunk import Trunk
from wherewhat.recipes.length import LENGTH_TASKS, LengthRun, arm, sized_task
from wherewhat.tasks.sequence import EOS, PAD, SequenceTask
from wherewhat.training.sequence_training import decode

RUN = LengthRun()
STEPS = 12  # in each timing: samples of several lengths
SAMPLES, LENGTH = 512, 40  # decoded


def measure(repeats: int) -> Iterator[Measurement]:
    """Both bounds, on one thread as in a run."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield _batches(repeats)
        yield _decoding(repeats)
    finally:
        torch.set_num_threads(threads)


def _batches(repeats: int) -> Measurement:
    """Of all tasks the one whose batches take longest, compared with their training steps."""
    ratios = {name: _batch_over_step(sized_task(name, "short"), repeats) for name in LENGTH_TASKS}
    worst = max(ratios, key=lambda name: statistics.median(ratios[name]))
    medians = {name: statistics.median(each) for name, each in ratios.items()}
    others = statistics.median(medians.values())
    return Measurement(
        f"a batch of {RUN.batch}, slowest of {len(ratios)} tasks: time over its training step",
        ratios[worst],
        0.1,
        note=f"{worst}; median of all tasks {others:.3f}",
        figures=medians,
    )


def _batch_over_step(task: SequenceTask, repeats: int) -> tuple[float, ...]:
    settings = RUN.settings(task, arm("rope"), 0)
    net, objective = build(settings.net, seed=0), settings.objective()
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-4)
    # Spread over the training lengths, which take turns.
    steps = np.linspace(1, max(STEPS, len(task.lengths("train"))), STEPS).astype(int).tolist()

    def make() -> None:
        for step in steps:
            task.batch(settings.data_seed, "train", task.step_indices(step, settings.batch))

    def train() -> None:
        for step in steps:
            optimiser.zero_grad()
            objective.loss(net, step).backward()
            clip_grad_norm_(net.parameters(), settings.clip)
            optimiser.step()

    return tuple(batch / step for batch, step in side_by_side(make, train, repeats=repeats))


def _decoding(repeats: int) -> Measurement:
    """`copy_random` at its longest: the net never ends an output, so that all tokens are decoded."""
    task = sized_task("copy_random", "published")
    number = task.lengths("test").index(LENGTH)
    batch = task.batch(1, "test", number + len(task.lengths("test")) * np.arange(SAMPLES))
    prompt_BT = torch.from_numpy(batch.ids_NT[:, : batch.prompt_N[0]])
    net = build(RUN.settings(task, arm("rope"), 0).net, seed=0).eval()
    with torch.no_grad():
        net.head.bias[EOS] = -100.0
    outputs = [way(net, prompt_BT, most=LENGTH + 1) for way in (decode, uncached)]
    agree = (outputs[0] == outputs[1]).all(1).float().mean().item()

    def timed(way: Callable[..., Tensor]) -> Callable[[], Tensor]:
        return lambda: way(net, prompt_BT, most=LENGTH + 1)

    pairs = side_by_side(timed(decode), timed(uncached), repeats=min(repeats, 3))
    return Measurement(
        f"greedy decoding, {SAMPLES} samples of length {LENGTH}, with the cache: times faster",
        tuple(slow / quick for quick, slow in pairs),
        5.0,
        at_least=True,
        note=f"{agree:.1%} of outputs the same",
    )


@torch.no_grad()
def uncached(net: Trunk, prompt_BT: Tensor, *, most: int) -> Tensor:
    """Greedy decoding that reads everything again for every token."""
    ids_BT = prompt_BT
    ended_B = torch.zeros(len(ids_BT), dtype=torch.bool)
    for _ in range(most):
        next_B = net.head(net.hidden(ids_BT)[:, -1]).argmax(-1).masked_fill(ended_B, PAD)
        ids_BT = torch.cat([ids_BT, next_B[:, None]], dim=1)
        ended_B |= next_B == EOS
        if ended_B.all():
            break
    return ids_BT[:, prompt_BT.shape[1] :]
