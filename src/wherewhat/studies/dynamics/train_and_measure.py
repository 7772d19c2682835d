"""One training run: accuracy by hops and the scores of every head at every evaluation, and longer inputs at the end."""

from collections.abc import Callable, Iterator, Mapping

import polars as pl

from wherewhat.nets.trunk import Trunk
from wherewhat.profiling.profile import profile
from wherewhat.stats.intervals import wilson
from wherewhat.studies.dynamics.job import DynamicsJob, Row
from wherewhat.studies.dynamics.margins import margin_rows
from wherewhat.training.loop import threads, train
from wherewhat.training.task_training import evaluate

SCORES = ("positional", "symbolic", "position_share", "symbol_share", "interaction_share", "entropy", "mean_frequency")
REPORT_EVERY = 10  # steps
OnProgress = Callable[[int], None]  # called with the number of steps done


def train_and_measure(job: DynamicsJob, on_progress: OnProgress) -> list[Row]:
    """Train a net and measure it as it learns. The rows do not depend on the number of threads of the machine."""
    settings, rows = job.scale.training(job.name, job.seed), list[Row]()

    def measure(step: int, net: Trunk) -> None:
        if step == 0:  # later on, the training loop itself measures accuracy at every evaluation
            rows.extend(accuracy_rows(job, "accuracy", 0, answers(job, net, job.task.length, job.scale.answers)))
        rows.extend(head_rows(job, net, step))

    def report(step: int, measured: object) -> None:
        if step % REPORT_EVERY == 0:
            on_progress(step)

    with threads(settings.threads):
        run = train(settings, on_step=report, on_net=measure)
        rows += curve_rows(job, run.curve)
        for length in job.lengths:
            rows.extend(accuracy_rows(job, "length", length, answers(job, run.net, length, job.scale.longer)))
        rows.extend(margin_rows(job, run.net, scores_at(rows, settings.steps)))
    on_progress(settings.steps)
    return rows


def curve_rows(job: DynamicsJob, curve: pl.DataFrame) -> Iterator[Row]:
    """What the training loop measured: the loss, and the share of exact answers at every evaluation."""
    for (step,), rows in sorted(curve.partition_by("step", as_dict=True).items()):
        values = dict(rows.select("measure", "value").iter_rows())
        yield job.row("loss", "", step, "loss", [values.pop("loss")])
        yield from accuracy_rows(job, "accuracy", step, values)


def answers(job: DynamicsJob, net: Trunk, length: int, samples: int) -> dict[str, float]:
    """The share of exact answers to test sequences of this length, by hops and overall."""
    data_seed = job.scale.training(job.name, job.seed).data_seed
    return evaluate(net, job.at_length(length), seed=data_seed, samples=samples)


def accuracy_rows(job: DynamicsJob, part: str, at: int, shares: Mapping[str, float]) -> Iterator[Row]:
    """These shares as rows with intervals, at a step or at an input length."""
    samples = job.scale.longer if part == "length" else job.scale.answers
    for measure, share in shares.items():
        hops = measure.removeprefix("accuracy").removeprefix(f" {job.name} ")
        count = samples // len(job.task.hops) if hops else samples
        yield job.row(part, hops or "all", at, "accuracy", [share, *wilson(share, count)])


def head_rows(job: DynamicsJob, net: Trunk, step: int) -> Iterator[Row]:
    """The scores of each head at the last token, over all swaps of two earlier tokens."""
    texts = job.texts(job.task.length)
    heads = profile(
        net, texts, queries="last", max_swaps=None, first=0, hidden=False, untrained=False, scores=SCORES, seed=job.seed
    ).heads
    for row in heads.iter_rows(named=True):
        name, numbers = f"L{row['layer']}H{row['head']}", [row[key] for key in ("value", "low", "high")]
        yield job.row("heads", name, step, row["score"], numbers)


def scores_at(rows: list[Row], step: int) -> dict[str, dict[str, float]]:
    """Every score of every head at a step, by head and score."""
    table: dict[str, dict[str, float]] = {}
    for part, _, item, at, _, measure, value, _, _ in rows:
        if part == "heads" and at == step and value is not None:
            table.setdefault(item, {})[measure] = value
    return table
