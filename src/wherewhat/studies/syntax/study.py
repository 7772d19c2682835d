"""The whole experiment: read with every encoding, look for relations, and see what position and content find."""

from typing import Any

from wherewhat.probing.dependencies.settings import PARTS
from wherewhat.report.published_heads import ANCHORS
from wherewhat.studies.base import Found, Order
from wherewhat.studies.finished import code_of
from wherewhat.studies.outcomes import all_outcomes
from wherewhat.studies.side_by_side import processors
from wherewhat.studies.syntax.answers import answers_of
from wherewhat.studies.syntax.claims import claims_of
from wherewhat.studies.syntax.evidence import GROUPS, Evidence, groups_of
from wherewhat.studies.syntax.halves import DISTANCES
from wherewhat.studies.syntax.job import CORPUS, Job
from wherewhat.studies.syntax.means import bias_rows, with_means
from wherewhat.studies.syntax.notes import notes_of
from wherewhat.studies.syntax.one_run import timed_run
from wherewhat.studies.syntax.settings import SCALES, Scale
from wherewhat.tables.schema import RESULT, frame

# What decides the outcome of a run: rooms of the package, and of this one the files that do not judge it afterwards.
OWN = ("halves", "job", "one_run", "settings")
DECIDES = (
    *("capture", "corpora", "encodings", "models", "nets", "probing/dependencies", "profiling", "scores"),
    *("tasks", "training", "studies/locality/steepness.py", "studies/locality/trials.py"),
    *(f"studies/syntax/{name}.py" for name in OWN),
)


def syntax(order: Order) -> Found:
    """Do the experiment at the scale asked for."""
    return study(order.of(SCALES), order)


def study(scale: Scale, order: Order, *, workers: int | None = None) -> Found:
    """Do it at any scale; how many processes work does not matter to what is found."""
    trials, seeds = scale.trials(), range(order.seed, order.seed + (order.seeds or scale.seeds))
    jobs = [Job(scale, trial, seed) for seed in seeds for trial in trials]
    outcomes = all_outcomes(timed_run, jobs, order, code=code_of(*DECIDES), workers=workers)
    rows = [*bias_rows(trials, scale.n), *(row for one in outcomes for row in one.rows)]
    seen = Evidence(frame(rows, RESULT), trials)
    told = {**scale.plain(), "seeds": list(seeds), "corpus": CORPUS.plain()}
    took = {"seconds": sum(one.seconds for one in outcomes), "processes": min(len(jobs), workers or processors())}
    return Found(with_means(seen), claims_of(seen), told, notes_of(scale), {**about_of(scale, seen), **took})


def about_of(scale: Scale, seen: Evidence) -> dict[str, Any]:
    """What the page needs beside the rows."""
    return {
        "subjects": [{**trial.plain(), "groups": list(groups_of(trial))} for trial in seen.trials],
        "groups": {name: about for name, about in GROUPS.items() if seen.group(name)},
        "parts": PARTS,
        "distances": {str(at): name for at, name in DISTANCES.items()},
        "relations": seen.relations,
        "anchors": {ours: {"name": one[0], "head": one[1], "offset": one[2]} for ours, one in ANCHORS.items()},
        "answers": answers_of(seen),
        "seeds": len(seen.seeds),
        "sentences": scale.probed,
        "layers": scale.layers,
        "heads": scale.heads,
        "steps": scale.steps,
    }
