"""What differs from the publication, and what the page needs beside the rows."""

from typing import Any

from wherewhat.formatting import percent
from wherewhat.published.length import GROUPS, READ_FROM_FIGURES
from wherewhat.recipes.length import ARMS
from wherewhat.studies.engine.labels import label
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.engine.scale_notes import LENGTH_SIZES, difference_note
from wherewhat.studies.length.names import EASIER, LEARNT
from wherewhat.studies.length.settings import SCALES, LengthScale
from wherewhat.studies.length.summary import FEWEST, learners

CHANCE = {"parity": 0.5, "lego": 0.5, "sum": 0.1, "poly": 0.1}  # of guessing among the answers that occur
NOTES = (
    "Samples are in the compact form, one token per item of a list; the published runs tokenise the released text with "
    "the vocabulary of T5. New samples are drawn at every step; the published runs have 100,000 for training. The last "
    "checkpoint is tested; theirs is the one with the best validation accuracy. PCFG is trained for 100,000 steps "
    "there, and for as many as every other task here.",
    "Our decoder scales logits by the square root of the head width and has no dropout; theirs is T5-base without "
    "scaling and with dropout 0.1.",
    f"Published accuracies of {', '.join(READ_FROM_FIGURES)} were read from figures: means over lengths 9 to 16.",
    "Partial RoPE (`rope_quarter`) rotates the first quarter of every head, as the published RoPE does; full RoPE "
    "(`rope`) rotates all of it and is in no published comparison.",
    f"A task is ranked only if at least {FEWEST} encodings reach {percent(LEARNT)} at training lengths "
    f"({percent(EASIER['lego'])} in lego and poly): otherwise failures would be ranked. Encodings that did not learn a "
    "ranked task are ranked too. Intervals of ranks come from resampling whole tasks.",
    "Longer inputs also have new absolute positions, new distances and more keys. `--shift N` moves the positions of "
    "every training step by up to N at random, so that positions of longer inputs are not new.",
)


def notes_of(table: ResultTable) -> tuple[str, ...]:
    """How this scale, and every scale, differs from the publication, and what was not learnt."""
    scale: LengthScale = table.scale
    failed = {task: _failures(table, task) for task in scale.tasks}
    missed = "; ".join(f"{task} with {', '.join(map(label, names))}" for task, names in failed.items() if names)
    unlearnt = f"Not learnt at training lengths, from at least one seed: {missed}." if missed else ""
    shifted = f"Positions of training steps were moved by up to {scale.run.shift}." if scale.run.shift else ""
    return tuple(
        note for note in (difference_note(LENGTH_SIZES, scale, SCALES["paper"]), *NOTES, unlearnt, shifted) if note
    )


def _failures(table: ResultTable, task: str) -> list[str]:
    """The encodings with which a task was not learnt from some seed."""
    learnt = [set(learners(table, task, seed)) for seed in table.seeds]
    return [each for each in table.scale.encodings if any(each not in names for names in learnt)]


def describe(table: ResultTable) -> dict[str, Any]:
    """Tasks with a sample each, encodings and sizes."""
    scale: LengthScale = table.scale
    tasks = []
    for name in scale.tasks:
        task = scale.task(name)
        sample = task.sample(1, "train", 1)["tokens"]
        tasks.append(
            {
                "name": name,
                "group": next(group for group, names in GROUPS.items() if name in names),
                "trained": task.train_length,
                "tested": task.test_length,
                "example": " ".join(sample[1:-1]).replace("<sep>", "→"),
                "chance": CHANCE.get(name),
            }
        )
    return {
        "tasks": tasks,
        "encodings": list(scale.encodings),
        "subjects": [{"name": name, "label": ARMS[name].published or None} for name in scale.encodings if name in ARMS],
        "seeds": len(table.seeds),
        "layers": scale.run.layers,
        "heads": scale.run.heads,
        "steps": scale.run.steps,
        "batch": scale.run.batch,
        "shift": scale.run.shift,
    }
