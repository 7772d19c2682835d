"""The study of locality and symmetry: train a net with every encoding, fine-tune it on questions, compare."""

from typing import Any

from wherewhat.corpora.questions import QUESTIONS, LabelledDataset
from wherewhat.formatting import percent
from wherewhat.studies.base import Request, StudyResult
from wherewhat.studies.bell_curves import curve_measures
from wherewhat.studies.finished_runs import code_of
from wherewhat.studies.locality.bag_of_words import bag_rows
from wherewhat.studies.locality.claims import answers_of, claims_of
from wherewhat.studies.locality.contrasts import CONTRASTS, MATCHED
from wherewhat.studies.locality.job import LocalityJob, QuestionSources
from wherewhat.studies.locality.means import bias_rows, with_means
from wherewhat.studies.locality.notes import LEFT_OUT, notes_of
from wherewhat.studies.locality.predictors import PREDICTORS
from wherewhat.studies.locality.results import ALL, MANY_UNKNOWN, OF_ROLES, SHARP, LocalityResults
from wherewhat.studies.locality.run import run, unknown_words
from wherewhat.studies.locality.settings import SCALES, LocalityScale
from wherewhat.studies.locality.sweep import FAMILIES
from wherewhat.studies.parallel import processors
from wherewhat.studies.run_jobs import run_jobs
from wherewhat.tables.schema import RESULT, frame

# The code that determines the outcome of a run: finished runs from other code are refused.
DECIDES = (
    *("capture", "corpora", "encodings", "logits", "models", "nets", "profiling", "scores", "tasks", "training"),
    *("studies/bell_curves.py", "studies/conditions.py"),
    *(f"studies/locality/{name}.py" for name in ("job", "run", "settings", "sweep")),
)


def locality(request: Request) -> StudyResult:
    """Run the study at the requested scale."""
    return study(request.of(SCALES), request)


def study(scale: LocalityScale, request: Request, *, workers: int | None = None) -> StudyResult:
    """Run it at any scale; results do not depend on the number of processes."""
    sources = QuestionSources.of(request.files, request.tasks)
    conditions, seeds = scale.sweep.conditions(), range(request.seed, request.seed + (request.seeds or scale.seeds))
    jobs = [LocalityJob(scale, condition, seed, sources) for seed in seeds for condition in conditions]
    chances = chances_of(jobs[0])
    warn_of_unknown_words(jobs[0], request)
    outcomes = run_jobs(run, jobs, request, code=code_of(*DECIDES), workers=workers)
    rows = [*bias_rows(conditions, scale.sweep.n), *(row for outcome in outcomes for row in outcome.rows)]
    results = LocalityResults(frame(rows, RESULT), conditions, jobs[0].questions, chances)
    settings = {**scale.plain(), "seeds": list(seeds), "corpus": sources.corpus.plain(), "tasks": list(sources.tasks)}
    cost = {
        "seconds": sum(outcome.seconds for outcome in outcomes),
        "processes": min(len(jobs), workers or processors()),
    }
    about = {**about_of(scale, results), **cost, "answers": answers_of(results)}
    result = with_means(results, bag_rows(results, jobs[:: len(conditions)]))
    return StudyResult(result, claims_of(results), settings, notes_of(scale, results), about)


def chances_of(job: LocalityJob) -> dict[str, float]:
    """The accuracy of guessing on every question. Unusable files are refused here, before any training."""
    own = {question: 1 / len(QUESTIONS[question].labels) for question in job.scale.questions}  # labels are balanced
    from_files = {question: guessing_accuracy(job.dataset(question)) for question in job.sources.files()}
    if job.sources.texts:
        job.training_settings()
        job.held_out()
    return {**own, **from_files}


def warn_of_unknown_words(job: LocalityJob, request: Request) -> None:
    """Warn before training about questions with many unknown words."""
    words = job.words()
    for question in job.questions:
        if (share := unknown_words(words, job.dataset(question))) > MANY_UNKNOWN:
            request.warn(f"{percent(share)} of the words of {question} are not in the training text; {LEFT_OUT}")


def guessing_accuracy(dataset: LabelledDataset) -> float:
    """The share of the most frequent label among test sentences."""
    labels = [example.label for example in dataset.test]
    return max(labels.count(label) for label in dataset.labels) / len(labels)


def about_of(scale: LocalityScale, results: LocalityResults) -> dict[str, Any]:
    """What the page needs besides the rows."""
    return {
        "n": scale.sweep.n,
        "uniform": curve_measures(0.0, 1.0, n=scale.sweep.n)["locality"],
        "families": FAMILIES,
        "subjects": [
            {**condition.plain(), "label": condition.name, "mirrored": condition.mirrored}
            for condition in results.conditions
        ],
        "questions": [
            {
                "name": name,
                "asks": QUESTIONS[name].asks if name in QUESTIONS else f"the labels of {name}",
                "chance": chance,
                "of roles": name in OF_ROLES,
                "sharp": name in SHARP,
                "counted": name in results.items.get(ALL, ()),
            }
            for name, chance in results.chances.items()
        ],
        "axes": {name: predictor.about for name, predictor in PREDICTORS.items()},
        "contrasts": {**{name: contrast.about for name, contrast in CONTRASTS.items()}, **MATCHED},
        "seeds": len(results.seeds),
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
