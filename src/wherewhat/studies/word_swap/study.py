"""The study of swapped words: train a net with every encoding, fine-tune it on questions, test it on swaps."""

from typing import Any

from wherewhat.studies.base import Request, StudyResult
from wherewhat.studies.finished_runs import code_of
from wherewhat.studies.parallel import processors
from wherewhat.studies.run_jobs import run_jobs
from wherewhat.studies.word_swap.answer_measures import ABOUT
from wherewhat.studies.word_swap.claims import answers_of, claims_of
from wherewhat.studies.word_swap.examples import examples_of
from wherewhat.studies.word_swap.job import WordSwapJob
from wherewhat.studies.word_swap.means import with_means
from wherewhat.studies.word_swap.notes import notes_of
from wherewhat.studies.word_swap.results import BAG, WordSwapResults
from wherewhat.studies.word_swap.run import run
from wherewhat.studies.word_swap.settings import SCALES, WordSwapScale
from wherewhat.tables.schema import RESULT, frame

# The code that determines the outcome of a run: finished runs from other code are refused.
OWN = ("answer_measures", "job", "passages", "premises", "questions", "run", "settings", "three_word_sentences")
DECIDES = (
    *("corpora", "encodings", "models", "nets", "probing/swaps", "tasks", "training"),
    *("probing/role_claims.py", "probing/roles.py", "probing/swap_probe", "probing/words.py"),
    *("stats/intervals.py", "studies/bell_curves.py", "studies/conditions.py"),
    *(f"studies/word_swap/{name}.py" for name in OWN),
)


def word_swap(request: Request) -> StudyResult:
    """Run the study at the requested scale."""
    return study(request.of(SCALES), request)


def study(scale: WordSwapScale, request: Request, *, workers: int | None = None) -> StudyResult:
    """Run it at any scale; results do not depend on the number of processes."""
    conditions, seeds = scale.sweep.conditions(), range(request.seed, request.seed + (request.seeds or scale.seeds))
    jobs = [WordSwapJob(scale, condition, seed) for seed in seeds for condition in conditions]
    outcomes = run_jobs(run, jobs, request, code=code_of(*DECIDES), workers=workers)
    rows = frame([row for outcome in outcomes for row in outcome.rows], RESULT)
    results = WordSwapResults(rows, conditions, scale.sweep.groups())
    about = {
        **about_of(scale, results),
        "seconds": sum(outcome.seconds for outcome in outcomes),
        "processes": min(len(jobs), workers or processors()),
        "answers": answers_of(results),
        "examples": examples_of(jobs[0]),
    }
    settings = {**scale.plain(), "seeds": list(seeds)}
    return StudyResult(
        with_means(results, scale.sweep.n), claims_of(results), settings, notes_of(scale, results), about
    )


def about_of(scale: WordSwapScale, results: WordSwapResults) -> dict[str, Any]:
    """What the page needs besides the rows."""
    learnt = {
        training.question: [condition.name for condition in results.learnt(training.question)]
        for training in scale.questions
    }
    return {
        "n": scale.sweep.n,
        "subjects": [{**condition.plain(), "mirrored": condition.mirrored} for condition in results.conditions],
        "groups": [[locality, [condition.name for condition in group]] for locality, group in results.groups],
        "questions": [training.question for training in scale.questions],
        "learnt": learnt,
        "bag": dict(BAG),
        "measures": ABOUT,
        "seeds": len(results.seeds),
        "layers": scale.layers,
        "width": scale.width,
        "heads": scale.heads,
        "test": scale.test,
    }
