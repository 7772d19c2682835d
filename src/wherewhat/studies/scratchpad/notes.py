"""What differs from the publication, and what the page needs beside the rows."""

from typing import Any

from wherewhat.formatting import percent
from wherewhat.recipes.length import ARMS
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.engine.scale_notes import LENGTH_SIZES, difference_note
from wherewhat.studies.scratchpad.names import LEARNT
from wherewhat.studies.scratchpad.settings import SCALES, ScratchpadCondition, ScratchpadScale, formats_of

NOTES = (
    "The answer after the scratchpad is compared, not the scratchpad itself. Up to a quarter more tokens than the "
    "correct output has may be decoded; the published limit is 1,500 tokens.",
    f"Claims leave out runs that answer fewer than {percent(LEARNT)} correctly at training lengths.",
    "A part of a step is right if all its tokens are. If the number of steps is wrong, or one of them cannot be read, "
    "no part of any step counts as right.",
    "A scratchpad makes a sample several times longer, so longer inputs lie further beyond training in tokens than "
    "without one. The page gives both lengths.",
    "The computation of sorting is a constant sentence and the first one of LEGO is empty: leaving it out tests "
    "nothing there, and was not published.",
    "Running sums of polynomials are kept modulo 10, as those of sums are. Samples are in the compact form.",
)


def notes_of(table: ResultTable) -> tuple[str, ...]:
    """How this scale, and every scale, differs from the publication."""
    return tuple(note for note in (difference_note(LENGTH_SIZES, table.scale, SCALES["paper"]), *NOTES) if note)


def describe(table: ResultTable) -> dict[str, Any]:
    """Tasks, each with its formats and a sample of each, encodings and sizes."""
    scale: ScratchpadScale = table.scale
    tasks = []
    for name in scale.tasks:
        samples = {}
        for format_name in formats_of(scale, name):
            task = scale.task(ScratchpadCondition(name, format_name, scale.encodings[0]))
            samples[format_name] = " ".join(task.sample(1, "train", 1)["tokens"][1:-1]).replace("<sep>", "→")
        sized = scale.task(ScratchpadCondition(name, "none", scale.encodings[0]))
        tasks.append({"name": name, "trained": sized.train_length, "tested": sized.test_length, "samples": samples})
    return {
        "tasks": tasks,
        "encodings": list(scale.encodings),
        "subjects": [{"name": name, "label": ARMS[name].published or None} for name in scale.encodings if name in ARMS],
        "seeds": len(table.seeds),
        "layers": scale.run.layers,
        "heads": scale.run.heads,
        "steps": scale.run.steps,
    }
