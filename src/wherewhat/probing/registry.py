"""Every probe by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any, Literal, overload

from torch import nn

from wherewhat.capture.loading.load import LoadedModel, LoadSettings
from wherewhat.names import look_up, no_keyword
from wherewhat.probing.dependencies.probe import probe_dependencies
from wherewhat.probing.roles import probe_roles
from wherewhat.probing.words import probe_words
from wherewhat.progress import OnStep, Say, shows_progress
from wherewhat.runs.registry import ProbeRun


@dataclass(frozen=True)
class ProbeEntry:
    """A probe and what to know before choosing it."""

    name: str
    asks: str  # one line, for someone new
    paper: str
    run: Callable[..., ProbeRun]  # run(model, files, **options)


PROBES: dict[str, ProbeEntry] = {
    entry.name: entry
    for entry in [
        ProbeEntry(
            "words",
            "How do a model's outputs change when words are shuffled within constituents, or in the whole sentence?",
            "arXiv 2310.12864",
            probe_words,
        ),
        ProbeEntry(
            "roles", "Does a model notice that agent and patient were swapped?", "arXiv 2310.12864", probe_roles
        ),
        ProbeEntry(
            "dependencies",
            "Which heads find the head word of a word, by its position, by its content, or by both?",
            "arXiv 1906.04341, arXiv 2310.12864",
            probe_dependencies,
        ),
    ]
}

Model = str | nn.Module | LoadedModel
Paths = Sequence[str | Path]


@overload
def probe(
    name: Literal["words"],
    model: Model,
    files: Paths = (),
    *,
    sizes: Sequence[str | int] = ...,
    which: str = ...,
    max_sentences: int = ...,
    labels: Sequence[str] = ...,
    seed: int = ...,
    tokenizer: Any = ...,
    loading: LoadSettings | None = ...,
    progress: bool = ...,
    on_step: OnStep | None = ...,
    say: Say | None = ...,
) -> ProbeRun: ...


@overload
def probe(
    name: Literal["roles"],
    model: Model,
    files: Paths = (),
    *,
    persons: Sequence[str] = ...,
    symmetric: Sequence[str] = ...,
    max_sentences: int = ...,
    labels: Sequence[str] = ...,
    seed: int = ...,
    tokenizer: Any = ...,
    loading: LoadSettings | None = ...,
    progress: bool = ...,
    on_step: OnStep | None = ...,
    say: Say | None = ...,
) -> ProbeRun: ...


@overload
def probe(
    name: Literal["dependencies"],
    model: Model,
    files: Paths = (),
    *,
    parts: Sequence[str] = ...,
    permutations: int = ...,
    copies: int = ...,
    offsets: tuple[int, int] = ...,
    least: int | None = ...,
    selection: str = ...,
    subtypes: bool = ...,
    max_sentences: int | None = ...,
    seed: int = ...,
    batch_tokens: int = ...,
    tokenizer: Any = ...,
    loading: LoadSettings | None = ...,
    progress: bool = ...,
    on_step: OnStep | None = ...,
    say: Say | None = ...,
) -> ProbeRun: ...


@shows_progress
def probe(name: str, model: Model, files: Paths = (), *, progress: bool = False, **options: Any) -> ProbeRun:
    """Run a probe on a model: "words", "roles" or "dependencies"; `progress` shows how far it is.

    `model` is a name, a module or a loaded model; `files` are treebanks, without any the built-in grammar is used.
    """
    entry = look_up("probe", name, PROBES)
    known = [*signature(probe).parameters, *signature(entry.run).parameters]
    for option in options:
        if option not in known:
            raise no_keyword("probe", option, known)
    return entry.run(model, [Path(file) for file in files], **options)
