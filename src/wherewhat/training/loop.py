"""The training loop, from the first weights to a finished net. It reads top to bottom."""

from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from torch.optim import AdamW

from wherewhat.errors import UserError
from wherewhat.nets.build import build
from wherewhat.nets.trunk import Trunk
from wherewhat.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from wherewhat.training.evaluate import answer_logits, evaluate, reading
from wherewhat.training.outcome import Trained, read_outcome, write_outcome
from wherewhat.training.settings import Settings
from wherewhat.training.threads import threads

OnStep = Callable[[int, Mapping[str, float]], None]
OnNet = Callable[[int, Trunk], None]


def train(
    settings: Settings,
    *,
    out: Path | None = None,
    resume: bool = False,
    on_step: OnStep | None = None,
    on_net: OnNet | None = None,
) -> Trained:
    """Train a net. The same settings give the same weights, however often the run is interrupted and resumed.

    With `out` the run leaves `model/` and `curve.parquet` there and, while it is under way, a checkpoint; `resume` goes
    on from that checkpoint. `on_step` hears of every step: its number and what was measured. `on_net` may look at the
    net, but not change it: at step 0 and wherever it is evaluated, as it reads once it has learnt. A run that is
    resumed shows it from there on; one that was finished does not show it at all.
    """
    if out is not None and resume and (done := read_outcome(out, settings)):
        return done
    with threads(settings.threads):
        run = learn(settings, out=out, resume=resume, on_step=on_step, on_net=on_net)
    if out is not None:
        write_outcome(out, run)
    return run


def learn(
    settings: Settings, *, out: Path | None, resume: bool, on_step: OnStep | None, on_net: OnNet | None
) -> Trained:
    """The loop itself: make sequences, answer, compare, step; now and then measure and save."""
    task = settings.task
    net = build(settings.net, seed=settings.seed)
    optimizer = AdamW(parameter_groups(net), betas=settings.betas, weight_decay=settings.weight_decay, fused=True)
    progress = load_checkpoint(out, net, optimizer, settings) if out is not None and resume else Progress()
    if out is not None:
        save_checkpoint(out, net, optimizer, progress, settings)  # a full disk shows now, not after an hour
    if progress.step == 0:
        show(net, 0, on_net)

    for step in range(progress.step + 1, settings.steps + 1):
        # Fresh sequences at every step: each sample of the training split is seen once.
        batch = task.batch(settings.data_seed, "train", np.arange((step - 1) * settings.batch, step * settings.batch))
        logits_NV = answer_logits(net, torch.from_numpy(batch.input_NT))
        loss = cross_entropy(logits_NV, torch.from_numpy(batch.target_N))
        measured = {"loss": finite(loss.item(), step, settings)}

        for group in optimizer.param_groups:
            group["lr"] = learning_rate(settings, step)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        progress.step = step
        progress.losses.append(measured["loss"])
        if step % settings.evaluate_every == 0 or step == settings.steps:
            accuracies = evaluate(net, task, seed=settings.data_seed, samples=settings.evaluate_samples)
            progress.record(accuracies)
            measured |= accuracies
            show(net, step, on_net)
        if out is not None and step % settings.checkpoint_every == 0:
            save_checkpoint(out, net, optimizer, progress, settings)
        if on_step is not None:
            on_step(step, measured)

    return Trained(net.eval(), progress.curve(), settings)


@torch.no_grad()
def show(net: Trunk, step: int, on_net: OnNet | None) -> None:
    """Let someone look at the net as it stands. Training goes on as if nobody had."""
    if on_net is not None:
        with reading(net):
            on_net(step, net)


def parameter_groups(net: Trunk) -> list[dict[str, Any]]:
    """Weights, which decay, and what an encoding learns, which does not: 0 is nowhere near nothing for a factor."""
    positional = {id(each) for each in net.encodings.parameters()}
    weights = [each for each in net.parameters() if id(each) not in positional]
    groups: list[dict[str, Any]] = [{"params": weights}]
    groups += [{"params": list(net.encodings.parameters()), "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]


def learning_rate(settings: Settings, step: int) -> float:
    """Up in a line over the warm-up, and down in a line to 0 at the last step."""
    return settings.learning_rate * min(1.0, step / max(1, settings.warmup)) * (1 - step / settings.steps)


def finite(loss: float, step: int, settings: Settings) -> float:
    """The loss, if it is still a number."""
    if not isfinite(loss):
        raise UserError(
            f"training stopped at step {step}: the loss became {loss}; "
            f"lower learning_rate (now {settings.learning_rate}) or raise warmup (now {settings.warmup})"
        )
    return loss
