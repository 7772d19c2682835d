"""The training loop, from the initial weights to a trained net, and the optimization steps that it takes."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_
from torch.optim import AdamW, Optimizer

from wherewhat.errors import UserError
from wherewhat.nets.trunk import Trunk, evaluating
from wherewhat.progress import OnStep as Show
from wherewhat.progress import progress as showing
from wherewhat.signals import StopRequested
from wherewhat.training.run_folder import (
    TrainingProgress,
    TrainingResult,
    clear_snapshots,
    keep_snapshot,
    load_checkpoint,
    read_outcome,
    save_checkpoint,
    write_outcome,
)
from wherewhat.training.settings import TrainingSettings

OnStep = Callable[[int, Mapping[str, float]], None]
OnNet = Callable[[int, Trunk], None]
Manifest = Callable[[TrainingResult], bytes]


def train(
    settings: TrainingSettings,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    progress: bool = False,
    on_step: OnStep | None = None,
    on_net: OnNet | None = None,
    manifest: Manifest | None = None,
) -> TrainingResult:
    """Train a net. The same settings give the same weights, however often the run is interrupted and resumed.

    With `out` the run writes `model/` and `curve.parquet` there, snapshots if requested and, while it is running, a
    checkpoint; `resume` continues from that checkpoint. `progress` shows a progress bar; otherwise `on_step` is called
    after every step with its number and measurements; if it raises `StopRequested`, a checkpoint is written first.
    `on_net` may inspect the net, but not change it, in evaluation mode: at step 0 and at every evaluation. A resumed
    run calls it from there on, a finished one not at all. `manifest` gives the manifest to write beside the trained
    net.
    """
    if progress:
        with showing("train", quiet=False) as step:
            on_step = shown_by(step, settings)
            return train(settings, out=out, resume=resume, on_step=on_step, on_net=on_net, manifest=manifest)
    out = None if out is None else Path(out)
    if out is not None and resume and (done := read_outcome(out, settings)):
        return done
    with threads(settings.threads):
        run = learn(settings, out=out, resume=resume, on_step=on_step, on_net=on_net)
    if out is not None:
        write_outcome(out, run, None if manifest is None else manifest(run))
    return run


def shown_by(step: Show, settings: TrainingSettings) -> OnStep:
    """Report every step of a run to a progress bar."""
    return lambda number, measured: step(
        number, settings.steps, f"step {number:,} of {settings.steps:,}, loss {measured['loss']:.3f}"
    )


def learn(
    settings: TrainingSettings, *, out: Path | None, resume: bool, on_step: OnStep | None, on_net: OnNet | None
) -> TrainingResult:
    """The loop itself: compute the loss and take a step; evaluate and save at intervals."""
    settings = settings.ready()
    objective = settings.objective()
    net = settings.initial_net()
    optimizer = AdamW(parameter_groups(net), betas=settings.betas, weight_decay=settings.weight_decay, fused=True)
    progress = load_checkpoint(out, net, optimizer, settings) if out is not None and resume else TrainingProgress()
    if out is not None:
        save_checkpoint(out, net, optimizer, progress, settings)  # a full disk is noticed now, not after an hour
    if progress.step == 0:
        if out is not None:
            clear_snapshots(out)
            keep_snapshot(out, net, settings, step=0)
        show(net, 0, on_net)

    for step in range(progress.step + 1, settings.steps + 1):
        loss = objective.loss(net, step)
        peak, warmup = settings.learning_rate, settings.warmup
        measured = {"loss": finite(loss.item(), step, rate=peak, warmup=warmup)}
        rate = rate_at(step, peak=peak, warmup=warmup, steps=settings.steps)
        descend(loss, optimizer, rate, clip=settings.clip)

        progress.step = step
        progress.losses.append(measured["loss"])
        if step % settings.evaluate_every == 0 or step == settings.steps:
            evaluation = objective.evaluate(net)
            progress.record(evaluation)
            measured |= evaluation
            show(net, step, on_net)
        if out is not None:
            keep_snapshot(out, net, settings, step=step)
        if out is not None and step % settings.checkpoint_every == 0:
            save_checkpoint(out, net, optimizer, progress, settings)
        if on_step is not None:
            try:
                on_step(step, measured)
            except StopRequested:
                if out is not None:
                    save_checkpoint(out, net, optimizer, progress, settings)
                raise

    return TrainingResult(net.eval(), progress.curve(), settings, settings.words)


@torch.no_grad()
def show(net: Trunk, step: int, on_net: OnNet | None) -> None:
    """Call `on_net` in evaluation mode; training is not affected."""
    if on_net is not None:
        with evaluating(net):
            on_net(step, net)


def parameter_groups(net: Trunk) -> list[dict[str, Any]]:
    """Weights, which decay, and the parameters of encodings, which do not: 0 is not a neutral value for a factor."""
    positional = {id(each) for each in net.encodings.parameters()}
    weights = [each for each in net.parameters() if id(each) not in positional]
    groups: list[dict[str, Any]] = [{"params": weights}]
    groups += [{"params": list(net.encodings.parameters()), "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]


def rate_at(step: int, *, peak: float, warmup: int, steps: int) -> float:
    """The learning rate: linear warm-up to its peak, then linear decay to 0 at the last step."""
    return peak * min(1.0, step / max(1, warmup)) * (1 - step / steps)


def descend(loss: Tensor, optimizer: Optimizer, rate: float, *, clip: float = 0.0) -> None:
    """Take one gradient step; with `clip`, along a gradient whose norm is at most that."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.zero_grad()
    loss.backward()
    if clip:
        clip_grad_norm_([each for group in optimizer.param_groups for each in group["params"]], clip)
    optimizer.step()


def finite(loss: float, step: int, *, rate: float, warmup: int) -> float:
    """The loss, if it is finite."""
    if not isfinite(loss):
        raise UserError(
            f"training stopped at step {step}: the loss became {loss}; "
            f"lower learning_rate (now {rate}) or raise warmup (now {warmup})"
        )
    return loss


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let PyTorch use exactly `count` threads inside the block, on any machine, and restore the settings afterwards.

    The number of threads that share a sum affects its rounding. Denormal numbers count as 0 inside the block: under
    some biases distant attention consists of them, and arithmetic with them is many times slower.
    """
    before, flushed = torch.get_num_threads(), flushes()
    torch.set_num_threads(count)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_num_threads(before)
        torch.set_flush_denormal(flushed)


def flushes() -> bool:
    """Whether denormal numbers currently count as 0: PyTorch can set this, but not report it."""
    smallest = torch.tensor([torch.finfo(torch.float32).tiny])
    return not bool((smallest / 2).any())
