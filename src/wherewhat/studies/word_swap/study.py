"""The whole experiment: read with every encoding, be fine-tuned on questions, answer about words in other places."""

from typing import Any

from wherewhat.studies.base import Found, Order
from wherewhat.studies.finished import code_of
from wherewhat.studies.outcomes import all_outcomes
from wherewhat.studies.side_by_side import processors
from wherewhat.studies.word_swap.claims import answers_of, claims_of
from wherewhat.studies.word_swap.counting import ABOUT
from wherewhat.studies.word_swap.evidence import BAG, Evidence
from wherewhat.studies.word_swap.examples import examples_of
from wherewhat.studies.word_swap.job import Job
from wherewhat.studies.word_swap.means import with_means
from wherewhat.studies.word_swap.notes import notes_of
from wherewhat.studies.word_swap.one_run import timed_run
from wherewhat.studies.word_swap.settings import SCALES, Scale
from wherewhat.tables.schema import RESULT, frame

# What decides the outcome of a run: rooms of the package, and of this one the files that do not judge it afterwards.
OWN = ("bare", "counting", "job", "one_run", "passages", "premises", "questions", "settings")
DECIDES = (
    *("corpora", "encodings", "models", "nets", "probing/swaps", "tasks", "training"),
    *("probing/role_claims.py", "probing/roles.py", "probing/swapped", "probing/words.py"),
    *("studies/intervals.py", "studies/locality/steepness.py"),
    *(f"studies/word_swap/{name}.py" for name in OWN),
)


def word_swap(order: Order) -> Found:
    """Do the experiment at the scale asked for."""
    return study(order.of(SCALES), order)


def study(scale: Scale, order: Order, *, workers: int | None = None) -> Found:
    """Do it at any scale; how many processes work does not matter to what is found."""
    trials, seeds = scale.sweep.trials(), range(order.seed, order.seed + (order.seeds or scale.seeds))
    jobs = [Job(scale, trial, seed) for seed in seeds for trial in trials]
    outcomes = all_outcomes(timed_run, jobs, order, code=code_of(*DECIDES), workers=workers)
    seen = Evidence(frame([row for one in outcomes for row in one.rows], RESULT), trials, scale.sweep.groups())
    took = {"seconds": sum(one.seconds for one in outcomes), "processes": min(len(jobs), workers or processors())}
    about = {**about_of(scale, seen), **took, "answers": answers_of(seen), "examples": examples_of(jobs[0])}
    told = {**scale.plain(), "seeds": list(seeds)}
    return Found(with_means(seen, scale.sweep.n), claims_of(seen), told, notes_of(scale, seen), about)


def about_of(scale: Scale, seen: Evidence) -> dict[str, Any]:
    """What the page needs beside the rows."""
    learnt = {asking.question: [trial.name for trial in seen.learnt(asking.question)] for asking in scale.askings}
    return {
        "n": scale.sweep.n,
        "subjects": [{**trial.plain(), "mirrored": trial.mirrored} for trial in seen.trials],
        "groups": [[locality, [trial.name for trial in group]] for locality, group in seen.groups],
        "questions": [asking.question for asking in scale.askings],
        "learnt": learnt,
        "bag": dict(BAG),
        "measures": ABOUT,
        "seeds": len(seen.seeds),
        "layers": scale.layers,
        "width": scale.width,
        "heads": scale.heads,
        "test": scale.test,
    }
