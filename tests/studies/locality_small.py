"""The locality experiment as small as it goes; run as a script, it can be killed."""

import sys
from dataclasses import replace
from pathlib import Path

from wherewhat.studies.engine.study import Request
from wherewhat.studies.locality.run import STUDY
from wherewhat.studies.locality.settings import SCALES, LocalitySweep
from wherewhat.training.finetune import FinetuneSettings

SWEEP = LocalitySweep(localities=(0.6,), sided=(0.6,), sides=(0.0,), references=("none",), decoder=(0.6,))
SMALLEST = replace(
    SCALES["tiny"],
    n=8,
    sweep=SWEEP,
    questions=("number", "names"),
    seeds=1,
    width=8,
    heads=2,
    sentences=60,
    steps=4,
    batch=16,
    warmup=1,
    train=20,
    valid=10,
    test=20,
    tuning=FinetuneSettings(steps=2, batch=8, learning_rates=(1e-3,), warmup=1),
    held_out=10,
    copied=4,
)

if __name__ == "__main__":
    STUDY.reproduce(Request(scale=SMALLEST, folder=Path(sys.argv[1]), seeds=2, engine="inline"))
