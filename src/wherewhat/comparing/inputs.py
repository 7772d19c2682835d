"""What somebody named: the folder of a finished profile, whose tables are enough, or a model that has to be read."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wherewhat.errors import UserError
from wherewhat.runs.profile import Profile
from wherewhat.tables.files import MANIFEST, recover
from wherewhat.tables.manifest import read_manifest

TRAINED = "train"  # runs of this kind hold a model


@dataclass(frozen=True)
class Named:
    """One thing to compare: a profile that is there, or a model, by name or in memory."""

    given: str  # as it was named
    model: Any
    profile: Profile | None = None


def taken(one: Any) -> Named:
    """Find out what it is, without loading any model."""
    if isinstance(one, Profile):
        return Named(str((one.manifest.get("model") or {}).get("id")), None, one)
    if not isinstance(one, str | Path):
        return Named(str(getattr(one, "id", type(one).__name__)), one)
    folder = Path(one)
    if is_run(folder):
        return Named(str(one), None, Profile.read(folder, read_manifest(folder)))
    if folder.is_dir() and not any((folder / sub / "config.json").is_file() for sub in (".", "model")):
        raise UserError(f"{folder} holds neither a run of `wherewhat heads` nor a model; name a folder that does")
    return Named(str(one), str(one))


def is_run(folder: Path) -> bool:
    """Whether a folder holds a finished profile; a run of another command that holds no model either is refused."""
    if folder.is_dir():
        recover(folder)
    if not (folder / MANIFEST).is_file():
        return False
    kind = read_manifest(folder).get("kind", Profile.kind)
    if kind not in (Profile.kind, TRAINED):
        raise UserError(
            f"{folder} holds a run of `wherewhat {kind}`; name runs of `wherewhat heads`, or models, to compare"
        )
    return bool(kind == Profile.kind)


def refuse_few(models: Sequence[Any], draws: int) -> None:
    """A comparison has two sides, and they are not the same."""
    if draws < 0:
        raise UserError(f"untrained is {draws}; give the number of draws of fresh weights, 0 for none")
    if not models:
        raise UserError("there is nothing to compare; name runs of `wherewhat heads`, or models")
    given = [str(one) for one in models if isinstance(one, str | Path)]
    if len(models) == 1 and not draws:
        raise UserError(
            f"{given[0] if given else 'one model'} is alone; name something to compare it with, or add --untrained to "
            "hold it against the same architecture with fresh weights"
        )
    if twice := next((one for one in given if given.count(one) > 1), None):
        raise UserError(f"{twice} is named twice; name each run or model once")


def names_of(ids: Sequence[str], given: Sequence[str]) -> list[str]:
    """What to call each: by its model where models differ, else by the folder that was named, else by all of its path.

    >>> names_of(["tiny", "tiny"], ["runs/early", "runs/late"])
    ['early', 'late']
    """
    for names in (list(ids), [Path(one).name for one in given], list(given)):
        if len(set(names)) == len(names):
            return names
    return [f"{name} ({number})" for number, name in enumerate(given, start=1)]
