"""One run under observation: at every look accuracy by hops and where each head stands; at the end longer inputs."""

from collections.abc import Callable, Iterator

import polars as pl

from wherewhat.measure import profile
from wherewhat.nets.trunk import Trunk
from wherewhat.reproductions.dynamics.gaps import gap_rows
from wherewhat.reproductions.dynamics.intervals import of_share
from wherewhat.reproductions.dynamics.job import Job, Row
from wherewhat.training.evaluate import evaluate
from wherewhat.training.loop import train
from wherewhat.training.threads import threads

SCORES = ("positional", "symbolic", "position_share", "symbol_share", "interaction_share", "entropy", "mean_frequency")
OFTEN = 10  # steps from one word about progress to the next
Tell = Callable[[int], None]  # takes how many steps are done


def watch(job: Job, tell: Tell) -> list[Row]:
    """Train a net and look at it as it learns. What is seen does not depend on the machine's threads."""
    settings, rows = job.scale.training(job.name, job.seed), list[Row]()

    def look(step: int, net: Trunk) -> None:
        rows.extend(accuracy_rows(job, net, "accuracy", step))
        rows.extend(head_rows(job, net, step))

    with threads(settings.threads):
        run = train(settings, on_step=lambda step, measured: None if step % OFTEN else tell(step), on_net=look)
        losses = run.curve.filter(pl.col("measure") == "loss")
        rows += [job.row("loss", "", step, "loss", [value]) for step, _, value in losses.iter_rows()]
        for length in job.lengths:
            rows.extend(accuracy_rows(job, run.net, "length", length))
        rows.extend(gap_rows(job, run.net, scores_at(rows, settings.steps)))
    tell(settings.steps)
    return rows


def accuracy_rows(job: Job, net: Trunk, part: str, at: int) -> Iterator[Row]:
    """The share of exact answers by hops and of all: at a step, or for inputs of some length."""
    long = part == "length"
    samples = job.scale.longer if long else job.scale.answers
    data_seed = job.scale.training(job.name, job.seed).data_seed
    measured = evaluate(net, job.at_length(at) if long else job.task, seed=data_seed, samples=samples)
    for measure, share in measured.items():
        hops = measure.removeprefix("accuracy").removeprefix(f" {job.name} ")
        count = samples // len(job.task.hops) if hops else samples
        yield job.row(part, hops or "all", at, "accuracy", [share, *of_share(share, count)])


def head_rows(job: Job, net: Trunk, step: int) -> Iterator[Row]:
    """What each head goes by at the last token, over all swaps of two of the tokens before it."""
    texts = job.texts(job.task.length)
    heads = profile(net, texts, queries="last", first=0, hidden=False, scores=SCORES, seed=job.seed).heads
    for one in heads.iter_rows(named=True):
        name, numbers = f"L{one['layer']}H{one['head']}", [one[key] for key in ("value", "low", "high")]
        yield job.row("heads", name, step, one["score"], numbers)


def scores_at(rows: list[Row], step: int) -> dict[str, dict[str, float]]:
    """Every score of every head at a step, out of all rows."""
    table: dict[str, dict[str, float]] = {}
    for part, _, item, at, _, measure, value, _, _ in rows:
        if part == "heads" and at == step and value is not None:
            table.setdefault(item, {})[measure] = value
    return table
