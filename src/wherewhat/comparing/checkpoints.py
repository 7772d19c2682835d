"""Which models a list names: folders, training runs and their snapshots, built-in models, Hub ids and their revisions.

Everything is found out without loading a model: what it is called, where it is, and what identifies its files.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import HfApi, constants
from huggingface_hub.file_download import repo_folder_name

from wherewhat.comparing.model_state import SNAPSHOTS, step_in
from wherewhat.errors import UserError
from wherewhat.hub import HUB_ID, forbidden, must_be_cached, unreachable
from wherewhat.jobs.keys import file_name
from wherewhat.models.folder import net_folder
from wherewhat.models.registry import MODELS

ALL = "all"  # in place of revisions
UNNAMED = ("/", "model", SNAPSHOTS)  # parts of a folder's path that tell nobody which model it is
WEIGHTS = ("*.safetensors", "*.bin")
DETERMINING = (*WEIGHTS, "*.json", "*.txt", "*.model", "*.tiktoken", "*.py")  # files that decide what a model does
BLOCK, SAMPLED = 4096, 1024  # bytes of a block, and evenly spaced blocks of a large file that its hash is over
COMMIT = re.compile(r"[0-9a-f]{7,40}")
SHOWN = 8  # names that a sentence lists


@dataclass(frozen=True)
class Checkpoint:
    """One model of a list, at one time of its training."""

    name: str  # unique in the list; its folder is named after it
    model: str  # what is loaded: an absolute path, the name of a built-in model, or a Hub id
    revision: str | None = None  # on the Hub
    label: str = ""  # what it is called beside the others
    identity: str = ""  # a hash of its files, or its commit on the Hub; empty where there is nothing to be found
    weights: int | None = None  # bytes of its weights, if they are on this machine


def checkpoints_of(
    models: Sequence[str], revisions: Sequence[str] = (), *, revision: str | None = None, offline: bool = False
) -> list[Checkpoint]:
    """The models of a list, or several revisions of one; refuses what is named twice or not there at all."""
    if revisions:
        return _refuse_twins(_revisions_of(models, revisions, revision=revision, offline=offline))
    places = [_place(model) for model in models]
    online = any(map(_on_hub, models)) and _online(offline)
    checkpoints: list[Checkpoint] = []
    for model, place, name in zip(models, places, _names(places), strict=True):
        if _on_hub(model):
            commit = (_remote(model) if online else _cached(model)).get(revision or "main", "")
            checkpoints.append(_checkpoint(place, name, revision, commit=commit))
        else:
            checkpoints.append(_checkpoint(place, name, revision))  # which loading it refuses
    return _refuse_twins(checkpoints)


def _revisions_of(
    models: Sequence[str], revisions: Sequence[str], *, revision: str | None, offline: bool
) -> list[Checkpoint]:
    """Several states of one model: snapshots of a training run, or revisions on the Hub."""
    if revision is not None:
        raise UserError("both --revision and --revisions were given; choose one of them")
    if len(models) > 1:
        raise UserError(
            f"--revisions are states of one model, and {len(models)} were named; name one model, or the folders of all"
        )
    model = models[0]
    if model in MODELS:
        raise UserError(f"{model} comes with the package and has no revisions; leave --revisions out")
    known = _hub_revisions(model, offline=offline) if _on_hub(model) else _snapshots(Path(model))
    chosen = _chosen(model, revisions, list(known))
    if len(chosen) < 2:
        raise UserError(
            f"--revisions names {chosen[0]} alone; name at least two, or profile that one by "
            + (f"--revision {chosen[0]}" if _on_hub(model) else f"its folder, {known[chosen[0]]}")
        )
    base = _names([_place(model)])[0]
    if _on_hub(model):
        return [_checkpoint(model, f"{base}-{name}", name, name, known.get(name, name)) for name in chosen]
    return [_checkpoint(known[name], f"{base}-{name}", label=name) for name in chosen]


def _chosen(model: str, revisions: Sequence[str], known: Sequence[str]) -> list[str]:
    """The revisions that were asked for; those that are not there are refused all at once."""
    if list(revisions) == [ALL]:
        stepped = sorted((step, name) for name in known if (step := step_in(name)) is not None)
        if not stepped:
            raise UserError(f"no revision of {model} names a step of training (known: {_some(known)}); list them")
        return [name for _, name in stepped]
    missing = [name for name in revisions if name not in known and not (_on_hub(model) and COMMIT.fullmatch(name))]
    if missing:
        word = "revision" if len(missing) == 1 else "revisions"
        raise UserError(f"{model} has no {word} {', '.join(missing)}; known: {_some(known)}")
    return list(revisions)


def _snapshots(run: Path) -> dict[str, str]:
    """By name, the folders of the snapshots of a training run, from the first to the last."""
    if not run.is_dir():
        raise UserError(f"there is no folder {run}; name the folder of a training run, or a Hub id")
    folders = [path for path in (run / SNAPSHOTS).glob("*") if step_in(path.name) is not None]
    if not folders:
        raise UserError(
            f"{run} has no {SNAPSHOTS}, which are its revisions; train with --set keep_every=N, or name folders of "
            "models"
        )
    return {path.name: str(path.absolute()) for path in sorted(folders, key=lambda path: step_in(path.name) or 0)}


def _hub_revisions(model: str, *, offline: bool) -> dict[str, str]:
    """By name, the commits of all branches and tags of a model on the Hub, or of those that are on this machine."""
    if not _online(offline):
        known = _cached(model)
        if not known:
            must_be_cached(model, offline=offline, built_in=MODELS)  # says why it cannot be had
        return known
    if known := _remote(model):
        return known
    raise UserError(f"the Hub lists no revisions of '{model}'; check the name, or name folders of models")


def _online(offline: bool) -> bool:
    return not (offline or forbidden() or unreachable())


def _remote(model: str) -> dict[str, str]:
    """The same, as the Hub lists them; empty where it does not."""
    try:
        refs = HfApi().list_repo_refs(model)
    except Exception:  # no such model, no permission, no network: loading it says which
        return {}
    return {ref.name: ref.target_commit for ref in (*refs.branches, *refs.tags)}


def _cached(model: str) -> dict[str, str]:
    """The same, as they are in this machine's cache; also single commits."""
    folder = _cache_folder(model)
    refs = {path.relative_to(folder / "refs").as_posix(): path for path in (folder / "refs").rglob("*")}
    known = {name: path.read_text().strip() for name, path in refs.items() if path.is_file()}
    return {**known, **{path.name: path.name for path in (folder / "snapshots").glob("*")}}


def _cache_folder(model: str) -> Path:
    return Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=model, repo_type="model")


def _on_hub(model: str) -> bool:
    """Whether a name can only be that of a model on the Hub."""
    return model not in MODELS and not Path(model).exists() and HUB_ID.fullmatch(model) is not None


def _place(model: str) -> str:
    """What to load, from wherever the command was given."""
    return model if model in MODELS or _on_hub(model) else str(Path(model).absolute())


def _checkpoint(place: str, name: str, revision: str | None = None, label: str = "", commit: str = "") -> Checkpoint:
    """A checkpoint with what identifies its files."""
    identity, folder = commit, Path(place)
    if place in MODELS:
        folder = MODELS[place].folder
    elif commit:
        folder = _cache_folder(place) / "snapshots" / commit
    else:
        folder = net_folder(folder) or folder
    if not commit:
        identity = folder_hash(folder)
    sizes = [path.stat().st_size for pattern in WEIGHTS for path in folder.glob(pattern)]
    return Checkpoint(name, place, revision, label or name, identity, sum(sizes) if sizes else None)


def folder_hash(folder: Path) -> str:
    """A hash of the files of a model, of large ones over evenly spaced blocks; empty where there is no such folder.

    Like the fingerprint of loaded weights it differs after any training, and takes no time for many gigabytes.
    """
    files = sorted({path for pattern in DETERMINING for path in folder.glob(pattern) if path.is_file()})
    digest = hashlib.sha256()
    for path in files:
        size = path.stat().st_size
        digest.update(f"{path.name} {size}\n".encode())
        with path.open("rb") as file:
            for start in range(0, size, max(BLOCK, size // SAMPLED)):
                file.seek(start)
                digest.update(file.read(BLOCK))
    return digest.hexdigest() if files else ""


def _names(places: Sequence[str]) -> list[str]:
    """The last part of each path, with as many parts before it as it takes to tell it from the others.

    >>> _names(["/runs/a/model", "/runs/b/model", "org/gpt2", "tiny"])
    ['a', 'b', 'gpt2', 'tiny']
    >>> _names(["/a/snapshots/step-10", "/b/snapshots/step-10"])
    ['a-step-10', 'b-step-10']
    """
    parts = [list(Path(place).parts) for place in places]
    parts = [[part for part in own if part not in UNNAMED or own[0] != "/"] or ["model"] for own in parts]
    names = []
    for number, own in enumerate(parts):
        others = parts[:number] + parts[number + 1 :]
        depth = next((n for n in range(1, len(own)) if all(own[-n:] != other[-n:] for other in others)), len(own))
        names.append(file_name("-".join(own[-depth:])))
    return names


def _refuse_twins(checkpoints: list[Checkpoint]) -> list[Checkpoint]:
    """Stop if a model is in the list twice, under whatever name."""
    known: dict[tuple[str, str | None], Checkpoint] = {}
    for each in checkpoints:
        folder = net_folder(each.model) or Path(each.model)
        place = str(folder.resolve()) if folder.exists() and each.model not in MODELS else each.model
        if (place, each.revision) in known:
            raise UserError(f"{each.label if each.revision else each.model} is named twice; name each model once")
        known[place, each.revision] = each
    return checkpoints


def _some(names: Sequence[str]) -> str:
    """A few of many names, the first and the last among them.

    >>> _some([str(number) for number in range(20)])
    '0, 1, 2, 3, 4, 5, 6, ..., 19'
    """
    return ", ".join(names if len(names) <= SHOWN else [*names[: SHOWN - 1], "...", names[-1]])
