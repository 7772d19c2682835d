"""The syntax experiment as small as it goes; run as a script, it can be killed."""

import sys
from dataclasses import replace
from pathlib import Path

from wherewhat.studies.engine.study import Request
from wherewhat.studies.syntax.run import STUDY
from wherewhat.studies.syntax.settings import SCALES

SMALLEST = replace(
    SCALES["tiny"],
    n=8,
    localities=(0.6,),
    references=("rope",),
    seeds=1,
    width=8,
    heads=2,
    sentences=60,
    steps=4,
    batch=16,
    warmup=1,
    held_out=10,
    probed=20,
    fewest=8,
    copies=3,
    permutations=2,
)

if __name__ == "__main__":
    STUDY.reproduce(Request(scale=SMALLEST, folder=Path(sys.argv[1]), seeds=2, workers=1))
