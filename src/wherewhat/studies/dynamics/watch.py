"""One run under observation: at every look accuracy by hops and where each head stands; at the end longer inputs."""

from collections.abc import Callable, Iterator, Mapping

import polars as pl

from wherewhat.nets.trunk import Trunk
from wherewhat.profiling.profile import profile
from wherewhat.studies.dynamics.gaps import gap_rows
from wherewhat.studies.dynamics.job import Job, Row
from wherewhat.studies.intervals import of_share
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
        if step == 0:  # from then on the run itself asks for answers at every look
            rows.extend(accuracy_rows(job, "accuracy", 0, answers(job, net, job.task.length, job.scale.answers)))
        rows.extend(head_rows(job, net, step))

    with threads(settings.threads):
        run = train(settings, on_step=lambda step, measured: None if step % OFTEN else tell(step), on_net=look)
        rows += curve_rows(job, run.curve)
        for length in job.lengths:
            rows.extend(accuracy_rows(job, "length", length, answers(job, run.net, length, job.scale.longer)))
        rows.extend(gap_rows(job, run.net, scores_at(rows, settings.steps)))
    tell(settings.steps)
    return rows


def curve_rows(job: Job, curve: pl.DataFrame) -> Iterator[Row]:
    """What the run measured as it went: the loss, and at every look the share of exact answers."""
    for (step,), measured in sorted(curve.partition_by("step", as_dict=True).items()):
        found = dict(measured.select("measure", "value").iter_rows())
        yield job.row("loss", "", step, "loss", [found.pop("loss")])
        yield from accuracy_rows(job, "accuracy", step, found)


def answers(job: Job, net: Trunk, length: int, samples: int) -> dict[str, float]:
    """The share of exact answers to test sequences of some length, by hops and of all."""
    data_seed = job.scale.training(job.name, job.seed).data_seed
    return evaluate(net, job.at_length(length), seed=data_seed, samples=samples)


def accuracy_rows(job: Job, part: str, at: int, measured: Mapping[str, float]) -> Iterator[Row]:
    """The rows of such shares, at a step or for inputs of some length, each with its interval."""
    samples = job.scale.longer if part == "length" else job.scale.answers
    for measure, share in measured.items():
        hops = measure.removeprefix("accuracy").removeprefix(f" {job.name} ")
        count = samples // len(job.task.hops) if hops else samples
        yield job.row(part, hops or "all", at, "accuracy", [share, *of_share(share, count)])


def head_rows(job: Job, net: Trunk, step: int) -> Iterator[Row]:
    """What each head goes by at the last token, over all swaps of two of the tokens before it."""
    texts = job.texts(job.task.length)
    heads = profile(
        net, texts, queries="last", max_swaps=None, first=0, hidden=False, untrained=False, scores=SCORES, seed=job.seed
    ).heads
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
