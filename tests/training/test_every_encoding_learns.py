"""Every encoding learns: a short run on one small task, in which the loss falls."""

from statistics import fmean

import pytest

from wherewhat.encodings.registry import ENCODINGS
from wherewhat.recipes.registry import recipe
from wherewhat.training.loop import train
from wherewhat.training.settings import changed

STEPS = 60


@pytest.mark.parametrize("name", ENCODINGS)
def test_the_loss_falls(name: str) -> None:
    losses: list[float] = []
    short = [f"steps={STEPS}", "warmup=5", "evaluate_every=1000", "evaluate_samples=10", "learning_rate=0.003"]
    small = ["tasks=letter", "hops=1", "layers=2", "width=32"]
    settings = changed(recipe("tiny"), [f"encoding={name}", *short, *small])
    train(settings, on_step=lambda step, measured: losses.append(measured["loss"]))
    assert len(losses) == STEPS
    assert fmean(losses[-10:]) < 0.8 * losses[0]
