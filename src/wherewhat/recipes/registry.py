"""Every recipe by name."""

from collections.abc import Callable
from dataclasses import dataclass

from wherewhat.names import look_up
from wherewhat.recipes.bert_tiny import bert_tiny
from wherewhat.recipes.conformer_digits import conformer_digits
from wherewhat.recipes.copy_tiny import copy_tiny
from wherewhat.recipes.nli_tiny import nli_tiny
from wherewhat.recipes.tiny import tiny
from wherewhat.training.settings import TrainingSettings


@dataclass(frozen=True)
class Recipe:
    """A training run and what to know before starting it."""

    name: str
    about: str  # one line, for someone new
    settings: Callable[[], TrainingSettings]


RECIPES: dict[str, Recipe] = {
    entry.name: entry
    for entry in [
        Recipe(
            "tiny", "A small rotary decoder learns the number and the letter task together; minutes on a laptop.", tiny
        ),
        Recipe(
            "bert_tiny",
            "A small encoder learns masked words of an English-like grammar, or of --text files; minutes on a laptop.",
            bert_tiny,
        ),
        Recipe(
            "nli_tiny",
            "A small encoder learns to tell who does what to whom, in pairs of sentences; a minute or two on a laptop.",
            nli_tiny,
        ),
        Recipe(
            "copy_tiny",
            "A small decoder learns to copy, and is tested on longer inputs than it has seen; a minute on a laptop.",
            copy_tiny,
        ),
        Recipe(
            "conformer_digits",
            "A small conformer learns to recognise touch tones, or spoken digits from recordings; minutes on a laptop.",
            conformer_digits,
        ),
    ]
}


def recipe(name: str) -> TrainingSettings:
    """The settings of the run called `name`.

    >>> recipe("tiny").net.encoding
    'rope'
    """
    return look_up("recipe", name, RECIPES).settings()
