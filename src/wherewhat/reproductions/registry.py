"""Every reproduction by name."""

from collections.abc import Callable
from dataclasses import dataclass

from wherewhat.reproductions.base import Found, Order
from wherewhat.reproductions.canonical.study import canonical
from wherewhat.reproductions.control.study import control
from wherewhat.reproductions.dynamics.study import dynamics
from wherewhat.reproductions.locality.study import locality


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
            "control",
            "In a real model, what follows when positional or symbolic heads lose fast or slow frequencies?",
            "ours, after arXiv 2511.11579",
            control,
            takes=("--model", "--text", "--dataset"),
        ),
    ]
}
