"""What was named to be compared: finished profiles, whose tables are enough, and models that have to be profiled."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wherewhat.errors import UserError
from wherewhat.runs.registry import Profile
from wherewhat.tables.files import MANIFEST, recover, run_kind
from wherewhat.tables.manifest.io import read_manifest
from wherewhat.tables.manifest.scores import ProfileManifest
from wherewhat.tables.manifest.sections import TrainingManifest

if TYPE_CHECKING:  # a comparison of finished runs needs no torch
    from wherewhat.capture.loading.load import LoadSettings
    from wherewhat.profiling.inputs import TextInput
    from wherewhat.profiling.settings import ProfileSettings
    from wherewhat.tables.texts import Origin

OnStep = Callable[[int, int, str], None]  # done, of how many, and a note


@dataclass(frozen=True)
class CompareInput:
    """One thing to compare: a finished profile, or a model by name or in memory."""

    given: str  # as it was named
    model: Any
    profile: Profile | None = None

    @property
    def manifest(self) -> ProfileManifest:
        """That of the profile; the defaults for a model, which has none yet."""
        return ProfileManifest() if self.profile is None else self.profile.manifest


@dataclass(frozen=True)
class ProfileRequest:
    """How models are to be profiled, as far as the caller decided; the rest is as in the first of them."""

    texts: "Iterable[TextInput] | None" = None
    source: "str | Origin" = "handed in"
    loading: "LoadSettings | None" = None
    options: Mapping[str, Any] = field(default_factory=dict)  # fields of `ProfileSettings`

    @property
    def settings(self) -> "ProfileSettings":
        """What is measured on texts."""
        from wherewhat.profiling.settings import ProfileSettings

        return ProfileSettings(**self.options)


@dataclass(frozen=True)
class InputProfiles:
    """The profile of every input, those of untrained weights of the first one's architecture, and what was repeated."""

    given: list[Profile]
    untrained: list[Profile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def input_of(model: Any) -> CompareInput:
    """A finished profile or a model, without loading any model."""
    if isinstance(model, Profile):
        return CompareInput(model.manifest.model.id, None, model)
    if not isinstance(model, str | Path):
        return CompareInput(str(getattr(model, "id", type(model).__name__)), model)
    folder = Path(model)
    if is_profile(folder):
        return CompareInput(str(model), None, Profile.read(folder, read_manifest(folder)))
    if folder.is_dir() and not any((folder / sub / "config.json").is_file() for sub in (".", "model")):
        raise UserError(f"{folder} holds neither a run of `wherewhat heads` nor a model; name a folder that does")
    return CompareInput(str(model), str(model))


def is_profile(folder: Path) -> bool:
    """Whether a folder holds a finished profile; a run of another command that holds no model either is refused."""
    if folder.is_dir():
        recover(folder)
    if not (folder / MANIFEST).is_file():
        return False
    kind = run_kind(folder) or ProfileManifest.kind  # a folder of a model needs no manifest that can be read here
    if kind not in (ProfileManifest.kind, TrainingManifest.kind):
        raise UserError(
            f"{folder} holds a run of `wherewhat {kind}`; name runs of `wherewhat heads`, or models, to compare"
        )
    return kind == ProfileManifest.kind


def refuse_too_few(models: Sequence[Any], draws: int) -> None:
    """A comparison has two sides, and they are not the same."""
    if draws < 0:
        raise UserError(f"untrained is {draws}; give the number of draws of untrained weights, 0 for none")
    if not models:
        raise UserError("there is nothing to compare; name runs of `wherewhat heads`, or models")
    given = [str(model) for model in models if isinstance(model, str | Path)]
    if len(models) == 1 and not draws:
        raise UserError(
            f"{given[0] if given else 'one model'} is alone; name something to compare it with, or add --untrained to "
            "compare it with untrained weights of the same architecture"
        )
    if twice := next((name for name in given if given.count(name) > 1), None):
        raise UserError(f"{twice} is named twice; name each run or model once")


def display_names(ids: Sequence[str], given: Sequence[str]) -> list[str]:
    """A name for each: its model if models differ, else the folder that was named, else its whole path.

    >>> display_names(["tiny", "tiny"], ["runs/early", "runs/late"])
    ['early', 'late']
    """
    for names in (list(ids), [Path(path).name for path in given], list(given)):
        if len(set(names)) == len(names):
            return names
    return [f"{name} ({number})" for number, name in enumerate(given, start=1)]
