"""Every reproduction by name."""

from collections.abc import Callable
from dataclasses import dataclass

from wherewhat.studies.base import Found, Order
from wherewhat.studies.canonical.study import canonical
from wherewhat.studies.control.study import control
from wherewhat.studies.dynamics.study import dynamics
from wherewhat.studies.locality.study import locality
from wherewhat.studies.syntax.study import syntax
from wherewhat.studies.word_swap.study import word_swap


@dataclass(frozen=True)
class Reproduction:
    """An experiment and what to know before running it."""

    name: str
    about: str  # one line, for someone new
    paper: str
    run: Callable[[Order], Found]
    takes: tuple[str, ...] = ()  # options that not every experiment takes, in the words of the command line


REPRODUCTIONS: dict[str, Reproduction] = {
    one.name: one
    for one in [
        Reproduction(
            "canonical",
            "One head with one rotary frequency: which tasks can it learn at which angle?",
            "arXiv 2511.11579",
            canonical,
        ),
        Reproduction(
            "dynamics",
            "Following numbers or letters in several hops: when do heads become positional or symbolic?",
            "arXiv 2605.31558",
            dynamics,
        ),
        Reproduction(
            "locality",
            "Encodings as local and as symmetric as one likes: what is a small language model then good at?",
            "arXiv 2310.12864",
            locality,
            takes=("--text", "--task", "--resume"),
        ),
        Reproduction(
            "syntax",
            "Which words belong together: do heads find near ones by position, and far ones by content?",
            "arXiv 2310.12864, 1906.04341",
            syntax,
            takes=("--resume",),
        ),
        Reproduction(
            "word-swap",
            "Words shuffled inside phrases, agent and patient exchanged: what do small encoders overlook, and why?",
            "arXiv 2310.12864",
            word_swap,
            takes=("--resume",),
        ),
        Reproduction(
            "control",
            "In a real model, what follows when positional or symbolic heads lose fast or slow frequencies?",
            "ours, after arXiv 2511.11579",
            control,
            takes=("--model", "--text", "--dataset"),
        ),
    ]
}
