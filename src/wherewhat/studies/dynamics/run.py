"""The study: nets that learn a task, measured at every evaluation, and after training on longer inputs."""

from collections.abc import Iterator, Mapping, Sequence

from wherewhat.jobs.job import JobContext
from wherewhat.nets.trunk import Trunk
from wherewhat.profiling.profile import profile
from wherewhat.profiling.settings import ProfileSettings
from wherewhat.stats.intervals import student, wilson
from wherewhat.studies.dynamics.claims import CLAIMS
from wherewhat.studies.dynamics.margins import index_margin_bound, margins, retrieval_margin_bound, theta_of
from wherewhat.studies.dynamics.notes import describe, notes_of
from wherewhat.studies.dynamics.settings import SCALES, TASKS, DynamicsScale, TaskCondition
from wherewhat.studies.dynamics.summary import layer_of, summary_rows
from wherewhat.studies.engine.results import Row
from wherewhat.studies.engine.study import Study
from wherewhat.tasks.hops import Hops
from wherewhat.training.loop import threads, train
from wherewhat.training.task_training import TaskSettings, evaluate

SCORES = ("positional", "symbolic", "position_share", "symbol_share", "interaction_share", "entropy", "mean_frequency")
SWAPS = ProfileSettings(max_swaps=None, first=0, hidden=False, untrained=False, scores=SCORES)  # of any two tokens
# part, item, at, measure, value, low, high: a row before it knows its task and its seed
Measured = tuple[str, str, float | None, str, float | None, float | None, float | None]


def run(condition: TaskCondition, scale: DynamicsScale, seed: int, context: JobContext) -> list[Row]:
    """Train a net and measure it as it learns. The rows do not depend on the number of threads of the machine."""
    name, rows = condition.name, list[Measured]()
    settings, task, data = scale.training(name, seed), scale.task(name), TaskSettings.data_seed

    def measure(step: int, net: Trunk) -> None:
        if step == 0:  # later on, the training loop itself measures accuracy at every evaluation
            first = evaluate(net, task, seed=data, samples=scale.answers)
            rows.extend(accuracy_rows(task, "accuracy", 0, first, scale.answers))
        texts = scale.sequences(name, task.length)
        heads = profile(net, texts, settings=SWAPS, queries="last", tau=(scale.tau,), seed=seed).heads
        for row in heads.iter_rows(named=True):
            head, score = f"L{row['layer']}H{row['head']}", row["score"]
            rows.append(("heads", head, step, score, row["value"], row["low"], row["high"]))

    with threads(settings.threads):
        trained = train(settings, on_step=lambda step, _: context.step(step), on_net=measure)
        for (step,), measured in sorted(trained.curve.partition_by("step", as_dict=True).items()):
            values = dict(measured.select("measure", "value").iter_rows())
            rows.append(("loss", "", step, "loss", values.pop("loss"), None, None))
            rows += accuracy_rows(task, "accuracy", step, values, scale.answers)
        for length in scale.lengths_of(name):
            longer = evaluate(trained.net, scale.task(name, length), seed=data, samples=scale.longer)
            rows += accuracy_rows(task, "length", length, longer, scale.longer)
        rows += list(margin_rows(scale, name, trained.net, rows))
    return [(part, name, item, at, seed, what, value, low, high) for part, item, at, what, value, low, high in rows]


def accuracy_rows(task: Hops, part: str, at: int, shares: Mapping[str, float], samples: int) -> Iterator[Measured]:
    """Shares of exact answers, by hops and overall, with intervals, at a step or at an input length."""
    for measure, share in shares.items():
        hops = measure.removeprefix("accuracy").removeprefix(f" {task.name} ")
        count = samples // len(task.hops) if hops else samples
        yield part, hops or "all", at, "accuracy", share, *wilson(share, count)


def margin_rows(scale: DynamicsScale, name: str, net: Trunk, rows: Sequence[Measured]) -> Iterator[Measured]:
    """The margin at every input length for the head that the task depends on most, and the bound of the theory.

    That is the most symbolic head in the letter task and the most positional one in the number task, by the difference
    of the published scores, which is near 0 for flat attention, where both are high.
    """
    scores: dict[str, dict[str, float]] = {}
    for part, item, at, score, value, _, _ in rows:
        if part == "heads" and at == scale.steps and value is not None:
            scores.setdefault(item, {})[score] = value
    sign = -1 if name == "letter" else 1
    head = max(scores, key=lambda head: sign * (scores[head]["positional"] - scores[head]["symbolic"]))
    theta = theta_of(scores[head]["mean_frequency"], width=scale.width, base=scale.base)
    yield "gap", head, None, "theta", theta, None, None
    for length in scale.lengths_of(name):
        by_text = margins(net, scale.sequences(name, length), layer=layer_of(head))
        of_letters = retrieval_margin_bound(theta, length, scale.letter.n_letters)
        bound = of_letters if name == "letter" else index_margin_bound(theta, length)
        yield "gap", head, length, "gap", *student(by_text)
        yield "gap", head, length, "bound", bound, None, None


STUDY = Study(
    name="dynamics",
    about="Following numbers or letters in several hops: when do heads become positional or symbolic?",
    paper="arXiv 2605.31558",
    scales=SCALES,
    conditions=lambda scale: [TaskCondition(name) for name in TASKS],
    run=run,
    condition_class=TaskCondition,
    scale_class=DynamicsScale,
    claims=CLAIMS,
    decides=(
        *("capture", "encodings", "logits", "nets", "profiling", "scores", "stats", "tables/schema.py", "tasks"),
        *("training", "studies/dynamics/margins.py", "studies/dynamics/summary.py"),
    ),
    summarise=summary_rows,
    notes=lambda table: notes_of(table.scale),
    describe=lambda table: describe(table.scale, table),
    fewest=1,  # the claims count seeds themselves
)
