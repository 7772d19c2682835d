"""A run under way as one file, written whole or not at all: weights, optimiser, curve so far and settings.

It is a safetensors file: reading one never runs code, whoever wrote it.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor
from torch.optim import Optimizer

from wherewhat.errors import UserError
from wherewhat.nets.trunk import Trunk
from wherewhat.tables.files import write_whole
from wherewhat.training.settings import Settings

CHECKPOINT = "checkpoint.safetensors"
NOTES = "wherewhat_checkpoint"  # one text of metadata: several would be written in a random order


@dataclass
class Progress:
    """How far a run has come. The one thing of a run, beside net and optimiser, that changes."""

    step: int = 0  # the last one done
    losses: list[float] = field(default_factory=list)  # of the steps since the curve's last rows
    rows: list[tuple[int, str, float]] = field(default_factory=list)  # the curve so far

    def record(self, accuracies: dict[str, float]) -> None:
        """Add to the curve what is known at this step: the mean loss since the last time, and the accuracies."""
        measured = {"loss": fmean(self.losses), **accuracies}
        self.rows += [(self.step, measure, value) for measure, value in measured.items()]
        self.losses = []

    def curve(self) -> pl.DataFrame:
        """The curve as a table, one row a number."""
        return pl.DataFrame(self.rows, {"step": pl.Int64, "measure": pl.String, "value": pl.Float64}, orient="row")


def save_checkpoint(out: Path, net: Trunk, optimizer: Optimizer, progress: Progress, settings: Settings) -> None:
    """Put the run as it stands in the place of its last checkpoint."""
    notes = json.dumps({"settings": settings.to_dict(), "read": settings.read(), "progress": asdict(progress)})
    write_whole(out / CHECKPOINT, save(dict(_tensors(net, optimizer)), metadata={NOTES: notes}))


def load_checkpoint(out: Path, net: Trunk, optimizer: Optimizer, settings: Settings) -> Progress:
    """Bring net and optimiser to where the checkpoint left them; without a checkpoint the run is at its start."""
    path = out / CHECKPOINT
    if not path.exists():
        return Progress()
    notes, tensors = _read(path)
    refuse_other_settings(path, notes["settings"], settings, notes.get("read", {}))
    net.load_state_dict({name: tensors[f"model.{name}"] for name in net.state_dict()})
    for name, parameter in net.named_parameters():
        prefix = f"optimizer.{name}."
        state = {key.removeprefix(prefix): tensor for key, tensor in tensors.items() if key.startswith(prefix)}
        optimizer.state[parameter] = state
    return Progress(**notes["progress"])


def clear_checkpoint(out: Path) -> None:
    """Take the checkpoint away, and the halves of files that a kill may have left beside whole ones."""
    for path in [out / CHECKPOINT, *out.rglob(".*.partial")]:
        path.unlink(missing_ok=True)


def refuse_other_settings(path: Path, old: dict[str, Any], settings: Settings, read: dict[str, Any]) -> None:
    """Stop if a run began with other settings, or with other texts, than it is to go on with."""
    different = first_difference(settings.complete(old), settings.to_dict())
    follows = not different or different.startswith(("net.vocabulary ", "net.labels "))  # of other texts
    if follows and (texts := settings.changed_texts(read)):
        raise UserError(f"{texts} changed since the run began; put it back as it was, or start again with --overwrite")
    if different:
        raise UserError(
            f"{path} belongs to a run with other settings: {different}; "
            "resume with the settings it began with, or start again with --overwrite"
        )


def first_difference(old: dict[str, Any], new: dict[str, Any]) -> str | None:
    """The first setting that is not the same, as words; nothing if all are.

    >>> first_difference({"steps": 5, "net": {"width": 8}}, {"steps": 5, "net": {"width": 16}})
    'net.width was 8 and is 16'
    """
    was, now = dict(_leaves("", old)), dict(_leaves("", new))
    for name in [*now, *was]:
        if was.get(name) != now.get(name):
            return f"{name} was {was.get(name)} and is {now.get(name)}"
    return None


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every value with the path that leads to it."""
    if name == "tasks":
        yield name, ", ".join(task["name"] for task in value)
        for task in value:
            yield from _leaves(task["name"], task)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(f"{name}.{key}" if name else key, inner)
    else:
        yield name, value


def _tensors(net: Trunk, optimizer: Optimizer) -> Iterator[tuple[str, Tensor]]:
    for name, tensor in net.state_dict().items():
        yield f"model.{name}", tensor.clone()  # parts that blocks share have several names, each with its numbers
    for name, parameter in net.named_parameters():
        for key, tensor in optimizer.state.get(parameter, {}).items():
            yield f"optimizer.{name}.{key}", tensor


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    try:
        with safe_open(path, framework="pt") as file:
            notes = json.loads((file.metadata() or {})[NOTES])
            return notes, {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"{path} is damaged or cut short ({error}); delete it, or start again with --overwrite"
        ) from error
    except KeyError as error:
        raise UserError(f"{path} is no checkpoint of a training run; choose the folder of one") from error
