"""What differs from the publication and from a plain reading of it, and what the page needs beside the rows."""

from typing import Any

from wherewhat.formatting import listed
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.nope.settings import PAPER, NopeScale

SIZES = {  # by its name in a sentence; 0 is the scale
    "layers": "{0.net.layers}",
    "width": "{0.net.width}",
    "heads": "{0.net.heads}",
    "steps": "{0.net.steps:,}",
    "batch": "{0.net.batch}",
    "learning rate": "{0.net.learning_rate:g}",
    "weight decay": "{0.net.weight_decay:g}",
}
NOTES = (
    "All nets of a run are measured on the same samples, of training lengths and longer; equal ones count once. All "
    "but the first NoPE start from the same weights, but for those of their encoding, and are trained on the same "
    "samples in the same order; the first NoPE has others. So every encoding differs from it in its start as well, as "
    "the floor does. Most are nearer to the second NoPE, with which they share their start.",
    "Positions are read by ridge regression with an intercept and a penalty of 0.001 × trace / width, fitted on every "
    "other sample of training lengths. `<bos>` is left out: it is always first, so the token alone tells its position. "
    "Chance is the same regression on positions shuffled within each sample.",
    "The divergence of two nets is averaged over rows, then over samples of a length; the closest pair of heads stands "
    "for a layer, and the mean over layers for the nets. In bits it is the Jensen-Shannon divergence of all pairs of "
    "heads. As released, it has its arguments exchanged, is in nats without a bound, and compares only pairs in which "
    "the head of NoPE has the larger number. Published heights can be compared with the released form only, and there "
    "only in their order, because tasks and nets differ.",
    "Rows of the output are those from which an output token is predicted. Near are bins centred at 0 to 0.10 of the "
    "relative distance, far those at 0.85 to 1. Keys that are attended equally share a row; the publication counts the "
    "first of them. Chance is uniform attention over all visible keys.",
    "A net counts for a claim if it answers at least 90 % of samples of training lengths exactly. Intervals are over "
    "seeds, with a single seed over samples.",
    "Published nets have no scaling of logits, dropout of 0.1 and RMS norms; ours have scaled logits, no dropout and "
    "layer norms.",
)


def notes_of(scale: NopeScale) -> tuple[str, ...]:
    """How this scale, and every scale, differs from the publication."""
    sizes = {name: [size.format(each) for each in (scale, PAPER)] for name, size in SIZES.items()}
    differ = [f"{name} {ours} ({theirs})" for name, (ours, theirs) in sizes.items() if ours != theirs]
    lengths = "shorter inputs than published" if scale.lengths != PAPER.lengths else "published lengths"
    about = (
        f"The tasks are {listed(scale.tasks)} with {lengths}, in compact form; published are SCAN for the divergence "
    )
    about += "and addition with a full scratchpad for distances, both as text."
    sized = f"The nets differ from the published ones, whose sizes are in brackets: {', '.join(differ)}."
    return (about, *([sized] if differ else []), *NOTES)


def describe(table: ResultTable) -> dict[str, Any]:
    """What the page needs beside the rows."""
    scale: NopeScale = table.scale
    tasks = {name: scale.task(name) for name in scale.tasks}
    lengths = {name: max(task.lengths("train")) for name, task in tasks.items()}
    places = {name: 1 + max(map(task.most_tokens, task.lengths("train"))) for name, task in tasks.items()}
    net = {"layers": scale.net.layers, "heads": scale.net.heads, "steps": scale.net.steps}
    return {**net, "seeds": len(table.seeds), "lengths": lengths, "places": places}
