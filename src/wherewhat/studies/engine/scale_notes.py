"""How a scale of a study differs from the published one, in a sentence."""

from collections.abc import Mapping
from typing import Any

LENGTH_SIZES = {  # of studies of longer inputs, by its name in the sentence; 0 is the scale
    "layers": "{0.run.layers}",
    "width": "{0.run.width}",
    "heads": "{0.run.heads}",
    "steps": "{0.run.steps:,}",
    "learning rate": "{0.run.learning_rate:g}",
    "warm-up": "{0.run.warmup:,}",
    "weight decay": "{0.run.weight_decay:g}",
    "seeds": "{0.seeds}",
    "lengths": "{0.lengths}",
    "test samples": "{0.run.samples:,}",
}


def difference_note(sizes: Mapping[str, str], scale: Any, published: Any) -> str:
    """The sizes in which two scales differ; empty if there are none."""
    both = {name: [size.format(each) for each in (scale, published)] for name, size in sizes.items()}
    differ = ", ".join(f"{name} {ours} ({theirs})" for name, (ours, theirs) in both.items() if ours != theirs)
    return f"This scale differs from the publication, whose values are in brackets: {differ}." if differ else ""
