"""The whole experiment: train on numbers and on letters apart, watch every head, and judge what was published."""

from wherewhat.scores.swaps import PUBLISHED
from wherewhat.studies.base import Found, Order
from wherewhat.studies.dynamics.claims import claims_of
from wherewhat.studies.dynamics.evidence import TASKS, Evidence
from wherewhat.studies.dynamics.job import Job
from wherewhat.studies.dynamics.purity import GAMMAS, purity_rows
from wherewhat.studies.dynamics.seeds import with_means
from wherewhat.studies.dynamics.settings import BASE, SCALES, Scale
from wherewhat.studies.dynamics.theory import index_lead, retrieval_lead
from wherewhat.studies.dynamics.watch import watch
from wherewhat.studies.side_by_side import side_by_side

PAPER = SCALES["paper"]
# Published mean frequencies from the first of 12 layers to the last: from, to. The paper counts the fastest of 64 as 1;
# here, as in every table, it is 0, and `first` says so to a page that may also draw older results.
FREQUENCIES = {
    "of": 64,
    "first": 0,
    "number": [[0, 0], *[[1, 1]] * 3, [9, 9], *[[36, 38]] * 7],
    "letter": [[17, 17], [31, 31], [41, 41], *[[36, 40]] * 9],
}
NOTES = (
    "All seeds of a task learn from the same sequences in the same order and answer the same test sequences, so an "
    "interval over seeds is about first weights alone.",
    "At every scale our decoder attends and then thinks, where theirs (GPT-J) does both at once; it has no dropout.",
    "Every step learns from fresh sequences; theirs were 432,000, seen about once. Our learning rate falls in a line "
    "from the first step, theirs from the end of the warm-up.",
    "Heads are measured at the last token over all swaps of two earlier tokens, on test sequences; at step 0 before "
    "anything was learnt.",
    "The lead of the best key is the largest minus the second largest cosine of the turned query with a turned key "
    "before it: the logit divided by scale, |query| and |key|.",
)


def dynamics(order: Order) -> Found:
    """Do the experiment at the scale asked for."""
    return study(order.of(SCALES), order)


def study(scale: Scale, order: Order, *, workers: int | None = None) -> Found:
    """Do it at any scale; how many processes work does not matter to what is found."""
    seeds = range(order.seed, order.seed + (order.seeds or scale.seeds))
    jobs = [Job(scale, name, seed) for seed in seeds for name in TASKS]
    far = [0] * len(jobs)

    def on_progress(number: int, step: int) -> None:
        far[number] = step
        under_way = [f"{job.name} {step:,}" for job, step in zip(jobs, far, strict=True) if 0 < step < scale.steps]
        order.step(sum(far), scale.steps * len(jobs), ", ".join(under_way))

    rows = [row for found in side_by_side(watch, jobs, on_progress=on_progress, workers=workers) for row in found]
    result = with_means([*rows, *purity_rows(rows)])
    told = {**scale.plain(), "seeds": list(seeds), "base": BASE, "tau": PUBLISHED, "gamma": list(GAMMAS)}
    return Found(result, claims_of(Evidence(result, scale)), told, notes_of(scale), about_of(scale, len(seeds)))


def notes_of(scale: Scale) -> tuple[str, ...]:
    """What differs from the publication: at this scale, and at every one."""
    theirs = _sized(PAPER)
    differ = [f"{name} {ours} ({theirs[name]})" for name, ours in _sized(scale).items() if ours != theirs[name]]
    if not differ:
        return ("Tasks, depth, width and optimiser are as published.", *NOTES)
    return (f"What this scale has, and in brackets what was published: {', '.join(differ)}.", *NOTES)


def _sized(scale: Scale) -> dict[str, str]:
    """All that scales may differ in, in words."""
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


def about_of(scale: Scale, seeds: int) -> dict[str, object]:
    """What the page needs beside the rows."""
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


def published_bounds(scale: Scale) -> dict[str, list[tuple[int, float]]]:
    """The bounds at the angles and with the letters of the publication, for the lengths that were tried here."""
    lengths = (scale.number.length, *scale.lengths)
    return {
        "number": [(length, index_lead(0.8, length)) for length in lengths],
        "letter": [(length, retrieval_lead(0.0027, length, 8)) for length in lengths],
    }
