"""Every study by name."""

from collections.abc import Callable
from dataclasses import dataclass

from wherewhat.studies.base import Request, StudyResult
from wherewhat.studies.canonical.study import canonical
from wherewhat.studies.control.study import control
from wherewhat.studies.dynamics.study import dynamics
from wherewhat.studies.locality.study import locality
from wherewhat.studies.syntax.study import syntax
from wherewhat.studies.word_swap.study import word_swap


@dataclass(frozen=True)
class Study:
    """A published experiment, and how to run it again."""

    name: str
    about: str  # one line, for someone new
    paper: str
    run: Callable[[Request], StudyResult]
    takes: tuple[str, ...] = ()  # command-line options that not every study takes


STUDIES: dict[str, Study] = {
    study.name: study
    for study in [
        Study(
            "canonical",
            "One head with one rotary frequency: which tasks can it learn at which angle?",
            "arXiv 2511.11579",
            canonical,
        ),
        Study(
            "dynamics",
            "Following numbers or letters in several hops: when do heads become positional or symbolic?",
            "arXiv 2605.31558",
            dynamics,
        ),
        Study(
            "locality",
            "Locality and symmetry of the encoding set by hand: what does a small language model then do well?",
            "arXiv 2310.12864",
            locality,
            takes=("--text", "--task", "--resume"),
        ),
        Study(
            "syntax",
            "Dependency relations: do heads find near words by position and far ones by content?",
            "arXiv 2310.12864, 1906.04341",
            syntax,
            takes=("--resume",),
        ),
        Study(
            "word-swap",
            "Words shuffled inside constituents, agent and patient swapped: what do small encoders miss, and why?",
            "arXiv 2310.12864",
            word_swap,
            takes=("--resume",),
        ),
        Study(
            "control",
            "In a real model: what changes when positional or symbolic heads lose fast or slow frequencies?",
            "ours, after arXiv 2511.11579",
            control,
            takes=("--model", "--text", "--dataset"),
        ),
    ]
}
