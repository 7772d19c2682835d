"""The training loop, from the first weights to a finished net. It reads top to bottom."""

from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from torch.optim import AdamW

from wherewhat.nets.trunk import Trunk
from wherewhat.progress import OnStep as Show
from wherewhat.progress import progress as showing
from wherewhat.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from wherewhat.training.descent import descend, finite, parameter_groups, rate_at
from wherewhat.training.evaluate import reading
from wherewhat.training.outcome import Trained, clear_snapshots, keep_snapshot, read_outcome, write_outcome
from wherewhat.training.settings import Settings
from wherewhat.training.threads import threads

OnStep = Callable[[int, Mapping[str, float]], None]
OnNet = Callable[[int, Trunk], None]
Manifest = Callable[[Trained], bytes]


def train(
    settings: Settings,
    *,
    out: Path | None = None,
    resume: bool = False,
    progress: bool = False,
    on_step: OnStep | None = None,
    on_net: OnNet | None = None,
    manifest: Manifest | None = None,
) -> Trained:
    """Train a net. The same settings give the same weights, however often the run is interrupted and resumed.

    With `out` the run leaves `model/` and `curve.parquet` there, snapshots if it is to keep any and, while it is under
    way, a checkpoint; `resume` goes on from that checkpoint. `progress` shows how far it has come, or `on_step` hears
    of every step: its number and what was measured. `on_net` may look at the net, but not change it: at step 0 and
    wherever it is evaluated, as it reads once it has learnt. A run that is resumed shows it from there on; one that was
    finished does not show it at all. `manifest` says what to write beside the finished net of how it was made.
    """
    if progress:
        with showing("train", quiet=False) as step:
            on_step = shown_by(step, settings)
            return train(settings, out=out, resume=resume, on_step=on_step, on_net=on_net, manifest=manifest)
    if out is not None and resume and (done := read_outcome(out, settings)):
        return done
    with threads(settings.threads):
        run = learn(settings, out=out, resume=resume, on_step=on_step, on_net=on_net)
    if out is not None:
        write_outcome(out, run, None if manifest is None else manifest(run))
    return run


def shown_by(step: Show, settings: Settings) -> OnStep:
    """Tell every step of a run to what shows how far work has come."""
    return lambda number, measured: step(
        number, settings.steps, f"step {number:,} of {settings.steps:,}, loss {measured['loss']:.3f}"
    )


def learn(
    settings: Settings, *, out: Path | None, resume: bool, on_step: OnStep | None, on_net: OnNet | None
) -> Trained:
    """The loop itself: let the objective say how wrong the net is, and step; now and then measure and save."""
    settings = settings.ready()
    objective = settings.objective()
    net = settings.first_net()
    optimizer = AdamW(parameter_groups(net), betas=settings.betas, weight_decay=settings.weight_decay, fused=True)
    progress = load_checkpoint(out, net, optimizer, settings) if out is not None and resume else Progress()
    if out is not None:
        save_checkpoint(out, net, optimizer, progress, settings)  # a full disk shows now, not after an hour
    if progress.step == 0:
        if out is not None:
            clear_snapshots(out)
            keep_snapshot(out, net, settings, step=0)
        show(net, 0, on_net)

    for step in range(progress.step + 1, settings.steps + 1):
        loss = objective.loss(net, step)
        measured = {"loss": finite(loss.item(), step, rate=settings.learning_rate, warmup=settings.warmup)}
        descend(
            loss, optimizer, rate_at(step, peak=settings.learning_rate, warmup=settings.warmup, steps=settings.steps)
        )

        progress.step = step
        progress.losses.append(measured["loss"])
        if step % settings.evaluate_every == 0 or step == settings.steps:
            found = objective.evaluate(net)
            progress.record(found)
            measured |= found
            show(net, step, on_net)
        if out is not None:
            keep_snapshot(out, net, settings, step=step)
        if out is not None and step % settings.checkpoint_every == 0:
            save_checkpoint(out, net, optimizer, progress, settings)
        if on_step is not None:
            on_step(step, measured)

    return Trained(net.eval(), progress.curve(), settings, settings.words)


@torch.no_grad()
def show(net: Trunk, step: int, on_net: OnNet | None) -> None:
    """Let someone look at the net as it stands. Training goes on as if nobody had."""
    if on_net is not None:
        with reading(net):
            on_net(step, net)
