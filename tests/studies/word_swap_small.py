"""The experiment with swapped words as small as it goes."""

from dataclasses import replace

from wherewhat.studies.word_swap.settings import SCALES, Asking, Curves, Sweep

SMALLEST = replace(
    SCALES["tiny"],
    sweep=Sweep(n=8, curves=(Curves(0.5, (1.0, 0.5)),), references=("none",)),
    askings=(Asking("content", 4, 2), Asking("names", 4, 2), Asking("roles", 4, 2)),
    seeds=1,
    width=8,
    heads=2,
    passages=20,
    steps=4,
    batch=8,
    warmup=1,
    tuning_batch=4,
    tuning_warmup=1,
    valid=1,
    test=12,
    judged=5,
)
