"""The whole experiment: train on numbers and on letters separately, measure every head, judge the published claims."""

from wherewhat.scores.swaps import PUBLISHED
from wherewhat.studies.base import Request, StudyResult
from wherewhat.studies.dynamics.claims import claims_of
from wherewhat.studies.dynamics.job import DynamicsJob
from wherewhat.studies.dynamics.means import with_means
from wherewhat.studies.dynamics.purity import GAMMAS, purity_rows
from wherewhat.studies.dynamics.results import TASKS, DynamicsResults
from wherewhat.studies.dynamics.settings import BASE, SCALES, DynamicsScale
from wherewhat.studies.dynamics.theory import index_margin_bound, retrieval_margin_bound
from wherewhat.studies.dynamics.train_and_measure import train_and_measure
from wherewhat.studies.parallel import run_parallel

PAPER = SCALES["paper"]
# Published mean frequencies of the 12 layers, each as a range. The paper numbers the fastest of 64 frequencies 1; here,
# as in every table, it is 0, and `first` says so to a page that may also show older results.
FREQUENCIES = {
    "of": 64,
    "first": 0,
    "number": [[0, 0], *[[1, 1]] * 3, [9, 9], *[[36, 38]] * 7],
    "letter": [[17, 17], [31, 31], [41, 41], *[[36, 40]] * 9],
}
NOTES = (
    "All seeds of a task use the same training sequences in the same order and the same test sequences, so an interval "
    "over seeds reflects initial weights alone.",
    "At every scale our decoder applies attention and then the MLP, while theirs (GPT-J) applies both in parallel. "
    "Ours has no dropout.",
    "Every step uses new sequences; the paper used 432,000, each about once. Our learning rate falls linearly from the "
    "first step, theirs from the end of the warm-up.",
    "Heads are measured on test sequences, at the last token, over all swaps of two earlier tokens; step 0 is before "
    "training.",
    "The margin of the best key is the largest minus the second largest cosine between the rotated query and a rotated "
    "earlier key: the logit divided by scale, |query| and |key|.",
)


def dynamics(request: Request) -> StudyResult:
    """Run the experiment at the requested scale."""
    return study(request.of(SCALES), request)


def study(scale: DynamicsScale, request: Request, *, workers: int | None = None) -> StudyResult:
    """Run it at any scale; the result does not depend on the number of worker processes."""
    seeds = range(request.seed, request.seed + (request.seeds or scale.seeds))
    jobs = [DynamicsJob(scale, name, seed) for seed in seeds for name in TASKS]
    steps_done = [0] * len(jobs)

    def on_progress(number: int, step: int) -> None:
        steps_done[number] = step
        running = [f"{job.name} {step:,}" for job, step in zip(jobs, steps_done, strict=True) if 0 < step < scale.steps]
        request.step(sum(steps_done), scale.steps * len(jobs), ", ".join(running))

    runs = run_parallel(train_and_measure, jobs, on_progress=on_progress, workers=workers)
    rows = [row for run in runs for row in run]
    result = with_means([*rows, *purity_rows(rows)])
    return StudyResult(
        result=result,
        claims=claims_of(DynamicsResults(result, scale)),
        settings={**scale.plain(), "seeds": list(seeds), "base": BASE, "tau": PUBLISHED, "gamma": list(GAMMAS)},
        notes=notes_of(scale),
        about=about_of(scale, len(seeds)),
    )


def notes_of(scale: DynamicsScale) -> tuple[str, ...]:
    """How this scale, and every scale, differs from the publication."""
    theirs = _sizes(PAPER)
    differ = [f"{name} {ours} ({theirs[name]})" for name, ours in _sizes(scale).items() if ours != theirs[name]]
    if not differ:
        return ("Tasks, depth, width and optimiser are as published.", *NOTES)
    return (f"This scale differs from the publication, whose values are in brackets: {', '.join(differ)}.", *NOTES)


def _sizes(scale: DynamicsScale) -> dict[str, str]:
    """Everything in which scales may differ, by its name in a sentence."""
    hops, letter = scale.number.hops, scale.letter.sizes()
    return {
        "window and tokens after it": f"{scale.number.window} + {scale.number.pre}",
        "hops": f"{min(hops)} to {max(hops)}",
        "letters in the number task": f"{scale.number.sizes()['n_letters']}",
        "letters and integers in the letter task": f"{letter['n_letters']} and {letter['n_int']}",
        "layers": f"{scale.layers}",
        "width": f"{scale.width}",
        "steps": f"{scale.steps:,}",
        "batch": f"{scale.batch}",
        "learning rate": f"{scale.learning_rate:g}",
        "warm-up": f"{scale.warmup}",
        "weight decay": f"{scale.weight_decay:g}",
        "betas": " and ".join(f"{beta:g}" for beta in scale.betas),
    }


def about_of(scale: DynamicsScale, seeds: int) -> dict[str, object]:
    """What the page needs in addition to the result table."""
    return {
        "layers": scale.layers,
        "width": scale.width,
        "frequencies": scale.width // 2,
        "steps": scale.steps,
        "batch": scale.batch,
        "seeds": seeds,
        "hops": list(scale.number.hops),
        "length": scale.number.length,
        "letters": scale.letter.sizes()["n_letters"],
        "texts": scale.texts,
        "gamma": list(GAMMAS),
        "published": {"frequencies": FREQUENCIES, "bounds": published_bounds(scale)},
    }


def published_bounds(scale: DynamicsScale) -> dict[str, list[tuple[int, float]]]:
    """The bounds at the published angles and number of letters, for the input lengths used here."""
    lengths = (scale.number.length, *scale.lengths)
    return {
        "number": [(length, index_margin_bound(0.8, length)) for length in lengths],
        "letter": [(length, retrieval_margin_bound(0.0027, length, 8)) for length in lengths],
    }
