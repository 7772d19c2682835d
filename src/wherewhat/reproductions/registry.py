"""Every reproduction by name."""

from collections.abc import Callable
from dataclasses import dataclass

from wherewhat.reproductions.base import Found, Order
from wherewhat.reproductions.canonical.study import canonical
from wherewhat.reproductions.control.study import control
from wherewhat.reproductions.dynamics.study import dynamics


@dataclass(frozen=True)
class Reproduction:
    """An experiment and what to know before running it."""

    name: str
    about: str  # one line, for someone new
    paper: str
    run: Callable[[Order], Found]
    of_model: bool = False  # whether it is about a model that is named, with texts, rather than nets of its own


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
            "control",
            "In a real model, what follows when positional or symbolic heads lose fast or slow frequencies?",
            "ours, after arXiv 2511.11579",
            control,
            of_model=True,
        ),
    ]
}
