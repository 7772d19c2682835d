"""The study: Latin squares learnt with tables that start small or large, and with other positions."""

from collections.abc import Callable, Iterator, Mapping

import torch

from wherewhat.jobs.job import JobContext
from wherewhat.nets.build import build
from wherewhat.nets.trunk import Trunk
from wherewhat.profiling.profile import profile
from wherewhat.profiling.settings import ProfileSettings
from wherewhat.studies.engine.lengths import Measured
from wherewhat.studies.engine.results import Row
from wherewhat.studies.engine.study import Study
from wherewhat.studies.engine.train_job import snapshots_in_job, train_in_job
from wherewhat.studies.latin_square.claims import CLAIMS
from wherewhat.studies.latin_square.interventions import removed_rows
from wherewhat.studies.latin_square.measures import (
    accuracy_rows,
    attention_rows,
    change_rows,
    growth_rows,
    module_rows,
    moved_rows,
    noise_rows,
    puzzles,
    table_rows,
)
from wherewhat.studies.latin_square.names import ERROR, NETWORK, SQUARES, TEST
from wherewhat.studies.latin_square.network import learn_network
from wherewhat.studies.latin_square.notes import describe, notes_of
from wherewhat.studies.latin_square.settings import SCALES, LatinCondition, LatinScale, conditions
from wherewhat.studies.latin_square.summary import chance_rows, mean_rows
from wherewhat.tasks.stream import Ints
from wherewhat.training.loop import threads

SCORES = ("entropy", "input.position_share", "input.symbol_share")
HEADS = ProfileSettings(untrained=False, scores=SCORES)
LearntTask = Callable[[LatinCondition, LatinScale, int, JobContext], Iterator[Measured]]


def run(condition: LatinCondition, scale: LatinScale, seed: int, context: JobContext) -> list[Row]:
    """Train an encoder on puzzles or on the simulated network, and measure it."""
    with threads(1):
        rows = list(LEARNT_BY[condition.task](condition, scale, seed, context))
    name = condition.name
    return [(part, name, item, at, seed, what, value, low, high) for part, item, at, what, value, low, high in rows]


def square_rows(condition: LatinCondition, scale: LatinScale, seed: int, context: JobContext) -> Iterator[Measured]:
    """Learn puzzles; then answers, tables and attention."""
    settings = scale.training(condition, seed)
    trained = train_in_job(settings, context)
    net, test = trained.net, puzzles(settings.data_seed, "test", scale.samples)
    train = puzzles(settings.data_seed, "train", min(scale.samples, scale.puzzles))
    yield from accuracy_rows(net, train, test)
    for step, value in trained.curve.filter(measure="accuracy").select("step", "value").iter_rows():
        yield "accuracy", TEST, float(step), "accuracy", value, None, None
    yield from noise_rows(net, test, scale.noise, seed)
    yield from growth_rows(snapshots_in_job(context))
    yield from table_rows(net)
    start = settings.initial_net()
    yield from moved_rows(start, net)
    yield from change_rows(start, net)
    yield from attention_rows(net, test.input_NT[: scale.attended])
    yield from removed_rows(net, test)
    yield from head_rows(net, test.input_NT[: scale.texts], settings.data_seed)


def head_rows(net: Trunk, input_NC: Ints, seed: int) -> Iterator[Measured]:
    """Scores of every head on test puzzles."""
    heads = profile(net, list(torch.from_numpy(input_NC)), settings=HEADS, seed=seed).heads
    for row in heads.drop_nulls("value").iter_rows(named=True):
        yield "heads", f"L{row['layer']}H{row['head']}", None, row["score"], row["value"], row["low"], row["high"]


def network_rows(condition: LatinCondition, scale: LatinScale, seed: int, context: JobContext) -> Iterator[Measured]:
    """Learn to predict hidden nodes; then the error, and whether tables show the modules."""
    training = scale.network
    net, error = learn_network(training, scale.network_net(condition), seed, context.step)
    yield "network", "", None, ERROR, error, None, None
    start = build(net.config, seed=seed)
    yield from module_rows(start, net, training.network.module_of(seed))


LEARNT_BY: Mapping[str, LearntTask] = {SQUARES: square_rows, NETWORK: network_rows}

STUDY = Study(
    name="latin-square",
    about="Do learned tables of positions find the true layout of their tokens? Latin squares.",
    paper="arXiv 2406.08272",
    scales=SCALES,
    conditions=conditions,
    run=run,
    condition_class=LatinCondition,
    scale_class=LatinScale,
    claims=CLAIMS,
    decides=(
        *("capture", "encodings", "logits", "nets", "profiling", "scores", "stats", "studies/engine/lengths.py"),
        *("studies/latin_square/attention.py", "studies/latin_square/interventions.py"),
        *("studies/latin_square/measures.py", "studies/latin_square/names.py", "studies/latin_square/network.py"),
        *("studies/latin_square/position_tables.py", "tables/schema.py", "tasks", "training"),
    ),
    before=chance_rows,
    summarise=mean_rows,
    notes=lambda table: notes_of(table.scale, len(table.seeds)),
    describe=lambda table: describe(table),
    fewest=1,  # the claims count seeds themselves
)
