"""Every probe by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wherewhat.names import check_keywords, look_up
from wherewhat.probing.dependencies.probe import probe_dependencies
from wherewhat.probing.dependencies.settings import Asking
from wherewhat.probing.roles import Exchanges, probe_roles
from wherewhat.probing.words import Shuffles, probe_words
from wherewhat.progress import shows_progress
from wherewhat.runs.probed import Probed


@dataclass(frozen=True)
class Probe:
    """Something to put to a model. `put(model, files, **settings)` does it."""

    name: str
    asks: str  # one line, for someone new
    paper: str
    put: Callable[..., Probed]
    settings: type  # the record whose fields are the settings


PROBES: dict[str, Probe] = {
    one.name: one
    for one in [
        Probe(
            "words",
            "What does a model make of a sentence whose words were shuffled inside phrases, or altogether?",
            "arXiv 2310.12864",
            probe_words,
            Shuffles,
        ),
        Probe(
            "roles",
            "Does it notice that the one who acts and the one who is acted on have changed places?",
            "arXiv 2310.12864",
            probe_roles,
            Exchanges,
        ),
        Probe(
            "dependencies",
            "Which heads find the word that a word depends on, by where it stands, by what it says, or by both?",
            "arXiv 1906.04341, arXiv 2310.12864",
            probe_dependencies,
            Asking,
        ),
    ]
}


@shows_progress
def probe(
    what: str, model: Any, files: Sequence[str | Path] = (), *, progress: bool = False, **settings: Any
) -> Probed:
    """Put a probe to a model: "words", "roles" or "dependencies"; `progress` shows how far it has come.

    `model` is a name, a module or a loaded model; `files` are treebanks, without any the built-in grammar is used.
    """
    chosen = look_up("probe", what, PROBES)
    check_keywords(probe, settings, fills=chosen.settings, hands_on=chosen.put)
    return chosen.put(model, [Path(file) for file in files], **settings)
