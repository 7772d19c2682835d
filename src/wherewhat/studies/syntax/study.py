"""The study of syntax: train a net with every encoding, and probe what position and content find of relations."""

from typing import Any

from wherewhat.probing.dependencies.settings import PARTS
from wherewhat.published.relation_heads import ANCHORS
from wherewhat.studies.base import Request, StudyResult
from wherewhat.studies.finished_runs import code_of
from wherewhat.studies.parallel import processors
from wherewhat.studies.run_jobs import run_jobs
from wherewhat.studies.syntax.claims import answers_of, claims_of
from wherewhat.studies.syntax.job import CORPUS, SyntaxJob
from wherewhat.studies.syntax.means import bias_rows, with_means
from wherewhat.studies.syntax.notes import notes_of
from wherewhat.studies.syntax.results import GROUPS, SyntaxResults, groups_of
from wherewhat.studies.syntax.run import run
from wherewhat.studies.syntax.settings import SCALES, SyntaxScale
from wherewhat.studies.syntax.split_half_scores import DISTANCES
from wherewhat.tables.schema import RESULT, frame

# The code that determines the outcome of a run: finished runs from other code are refused.
DECIDES = (
    *("capture", "corpora", "encodings", "models", "nets", "probing/dependencies", "profiling", "scores"),
    *("tasks", "training", "studies/bell_curves.py", "studies/conditions.py"),
    *(f"studies/syntax/{name}.py" for name in ("job", "run", "settings", "split_half_scores")),
)


def syntax(request: Request) -> StudyResult:
    """Run the study at the requested scale."""
    return study(request.of(SCALES), request)


def study(scale: SyntaxScale, request: Request, *, workers: int | None = None) -> StudyResult:
    """Run it at any scale; results do not depend on the number of processes."""
    conditions, seeds = scale.conditions(), range(request.seed, request.seed + (request.seeds or scale.seeds))
    jobs = [SyntaxJob(scale, condition, seed) for seed in seeds for condition in conditions]
    outcomes = run_jobs(run, jobs, request, code=code_of(*DECIDES), workers=workers)
    rows = [*bias_rows(conditions, scale.n), *(row for outcome in outcomes for row in outcome.rows)]
    results = SyntaxResults(frame(rows, RESULT), conditions)
    settings = {**scale.plain(), "seeds": list(seeds), "corpus": CORPUS.plain()}
    about = {
        **about_of(scale, results),
        "seconds": sum(outcome.seconds for outcome in outcomes),
        "processes": min(len(jobs), workers or processors()),
    }
    return StudyResult(with_means(results), claims_of(results), settings, notes_of(scale), about)


def about_of(scale: SyntaxScale, results: SyntaxResults) -> dict[str, Any]:
    """What the page needs besides the rows."""
    return {
        "subjects": [{**condition.plain(), "groups": list(groups_of(condition))} for condition in results.conditions],
        "groups": {name: about for name, about in GROUPS.items() if results.group(name)},
        "parts": PARTS,
        "distances": {str(at): name for at, name in DISTANCES.items()},
        "relations": results.relations,
        "anchors": {
            relation: {"name": name, "head": head, "offset": offset}
            for relation, (name, head, offset) in ANCHORS.items()
        },
        "answers": answers_of(results),
        "seeds": len(results.seeds),
        "sentences": scale.probed,
        "layers": scale.layers,
        "heads": scale.heads,
        "steps": scale.steps,
    }
