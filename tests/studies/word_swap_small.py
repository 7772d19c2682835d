"""The experiment with swapped words as small as it goes."""

from dataclasses import replace

from wherewhat.studies.word_swap.settings import SCALES, CurveGroup, QuestionTraining

SMALLEST = replace(
    SCALES["tiny"],
    n=8,
    curves=(CurveGroup(0.5, (1.0, 0.5)),),
    references=("none",),
    questions=(QuestionTraining("content", 4, 2), QuestionTraining("names", 4, 2), QuestionTraining("roles", 4, 2)),
    seeds=1,
    width=8,
    heads=2,
    sentences=20,
    steps=4,
    batch=8,
    warmup=1,
    tuning_batch=4,
    tuning_warmup=1,
    valid=1,
    test=12,
    held_out=5,
)
