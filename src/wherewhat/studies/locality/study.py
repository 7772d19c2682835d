"""The whole experiment: read with every encoding, ask, and see what goes with locality and symmetry."""

from typing import Any

from wherewhat.corpora.questions import QUESTIONS, Labelled
from wherewhat.report.numbers import percent
from wherewhat.studies.base import Found, Order
from wherewhat.studies.finished import code_of
from wherewhat.studies.locality.answers import answers_of
from wherewhat.studies.locality.bag import bag_rows
from wherewhat.studies.locality.claims import claims_of
from wherewhat.studies.locality.contrasts import CONTRASTS, MATCHED
from wherewhat.studies.locality.evidence import ALL, OF_ROLES, SHARP, STRANGE, Evidence
from wherewhat.studies.locality.job import Job, Sources
from wherewhat.studies.locality.links import AXES
from wherewhat.studies.locality.means import bias_rows, with_means
from wherewhat.studies.locality.notes import LEFT_OUT, notes_of
from wherewhat.studies.locality.one_run import timed_run, unknown_words
from wherewhat.studies.locality.settings import SCALES, Scale
from wherewhat.studies.locality.steepness import curve_measures
from wherewhat.studies.locality.trials import FAMILIES
from wherewhat.studies.outcomes import all_outcomes
from wherewhat.studies.side_by_side import processors
from wherewhat.tables.schema import RESULT, frame

# What decides the outcome of a run: rooms of the package, and of this one the files that do not judge it afterwards.
OWN = ("job", "one_run", "settings", "steepness", "trials")
DECIDES = (
    *(
        "capture",
        "corpora",
        "encodings",
        "logits",
        "models",
        "nets",
        "profiling",
        "scores",
        "tasks",
        "training",
    ),
    *(f"studies/locality/{name}.py" for name in OWN),
)


def locality(order: Order) -> Found:
    """Do the experiment at the scale asked for."""
    return study(order.of(SCALES), order)


def study(scale: Scale, order: Order, *, workers: int | None = None) -> Found:
    """Do it at any scale; how many processes work does not matter to what is found."""
    sources = Sources.of(order.files, order.tasks)
    trials, seeds = scale.sweep.trials(), range(order.seed, order.seed + (order.seeds or scale.seeds))
    jobs = [Job(scale, trial, seed, sources) for seed in seeds for trial in trials]
    chances = chances_of(jobs[0])
    warn_of_strangers(jobs[0], order)
    outcomes = all_outcomes(timed_run, jobs, order, code=code_of(*DECIDES), workers=workers)
    measured = frame([*bias_rows(trials, scale.sweep.n), *(row for one in outcomes for row in one.rows)], RESULT)
    seen = Evidence(measured, trials, jobs[0].questions, chances)
    told = {**scale.plain(), "seeds": list(seeds), "corpus": sources.corpus.plain(), "tasks": list(sources.tasks)}
    took = {"seconds": sum(one.seconds for one in outcomes), "processes": min(len(jobs), workers or processors())}
    about = {**about_of(scale, seen), **took, "answers": answers_of(seen)}
    result = with_means(seen, bag_rows(seen, jobs[:: len(trials)]))
    return Found(result, claims_of(seen), told, notes_of(scale, seen), about)


def chances_of(job: Job) -> dict[str, float]:
    """What guessing gets right in every question. Files that cannot be used are refused here, before any net learns."""
    own = {question: 1 / len(QUESTIONS[question].labels) for question in job.scale.questions}  # labels are as frequent
    from_files = {question: guessing(job.asked(question)) for question in job.sources.files()}
    if job.sources.texts:
        job.reading()
        job.judged()
    return {**own, **from_files}


def warn_of_strangers(job: Job, order: Order) -> None:
    """Say before any net learns which questions it will hardly be able to read."""
    words = job.words()
    for question in job.questions:
        if (share := unknown_words(words, job.asked(question))) > STRANGE:
            order.warn(f"{percent(share)} of the words of {question} are not in what the nets read; {LEFT_OUT}")


def guessing(asked: Labelled) -> float:
    """The share of the most frequent label among test sentences."""
    labels = [example.label for example in asked.test]
    return max(labels.count(label) for label in asked.labels) / len(labels)


def about_of(scale: Scale, seen: Evidence) -> dict[str, Any]:
    """What the page needs beside the rows."""
    return {
        "n": scale.sweep.n,
        "uniform": curve_measures(0.0, 1.0, n=scale.sweep.n)["locality"],
        "families": FAMILIES,
        "subjects": [{**trial.plain(), "label": trial.name, "mirrored": trial.mirrored} for trial in seen.trials],
        "questions": [
            {
                "name": name,
                "asks": QUESTIONS[name].asks if name in QUESTIONS else f"the labels of {name}",
                "chance": chance,
                "of roles": name in OF_ROLES,
                "sharp": name in SHARP,
                "counted": name in seen.items.get(ALL, ()),
            }
            for name, chance in seen.chances.items()
        ],
        "axes": {name: axis.about for name, axis in AXES.items()},
        "contrasts": {**{name: one.about for name, one in CONTRASTS.items()}, **MATCHED},
        "seeds": len(seen.seeds),
        "layers": scale.layers,
        "width": scale.width,
        "heads": scale.heads,
        "steps": scale.steps,
        "batch": scale.batch,
        "sentences": scale.sentences,
        "asked": {"train": scale.train, "valid": scale.valid, "test": scale.test},
        "tuning": {
            "steps": scale.tuning.steps,
            "batch": scale.tuning.batch,
            "rates": list(scale.tuning.learning_rates),
        },
    }
