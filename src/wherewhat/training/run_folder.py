"""The folder of a training run: a checkpoint while it runs, then `curve.parquet`, `model/` and, if kept, `snapshots/`.

The checkpoint holds weights, optimizer, curve so far and settings, and is written atomically. It is a safetensors file:
reading one never runs code, whoever wrote it.
"""

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
from polars.exceptions import PolarsError
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch.optim import Optimizer

from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.errors import UserError
from wherewhat.models.folder import CONFIG, FILES, StoredNet, load_model, model_files, save_model
from wherewhat.nets.trunk import Trunk
from wherewhat.tables.differences import first_difference
from wherewhat.tables.files import MANIFEST, write_run, write_whole
from wherewhat.tables.parquet import parquet_bytes
from wherewhat.training.settings import Plain, TrainingSettings

CHECKPOINT = "checkpoint.safetensors"
CURVE, MODEL, SNAPSHOTS = "curve.parquet", "model", "snapshots"
NOTES = "wherewhat_checkpoint"  # one text of metadata: several would be written in a random order


@dataclass
class TrainingProgress:
    """How far a run has come: all of its state beside net and optimizer."""

    step: int = 0  # the last finished step
    losses: list[float] = field(default_factory=list)  # of the steps since the curve's last rows
    rows: list[tuple[int, str, float]] = field(default_factory=list)  # the curve so far

    def record(self, accuracies: dict[str, float]) -> None:
        """Add this step to the curve: the mean loss since the last time, and the accuracies."""
        measured = {"loss": fmean(self.losses), **accuracies}
        self.rows += [(self.step, measure, value) for measure, value in measured.items()]
        self.losses = []

    def curve(self) -> pl.DataFrame:
        """The curve as a table, one row per number."""
        return pl.DataFrame(self.rows, {"step": pl.Int64, "measure": pl.String, "value": pl.Float64}, orient="row")


def save_checkpoint(
    out: Path, net: Trunk, optimizer: Optimizer, progress: TrainingProgress, settings: TrainingSettings
) -> None:
    """Replace the last checkpoint with the current state."""
    notes = json.dumps({"settings": settings.to_dict(), "read": settings.read(), "progress": asdict(progress)})
    # Modules that blocks share have several names, each with its own tensor.
    tensors = {f"model.{name}": tensor.clone() for name, tensor in net.state_dict().items()}
    for name, parameter in net.named_parameters():
        state = optimizer.state.get(parameter, {})
        tensors |= {f"optimizer.{name}.{key}": tensor for key, tensor in state.items()}
    write_whole(out / CHECKPOINT, save(tensors, metadata={NOTES: notes}))


def load_checkpoint(out: Path, net: Trunk, optimizer: Optimizer, settings: TrainingSettings) -> TrainingProgress:
    """Restore net and optimizer from the checkpoint; without one the run is at its start."""
    path = out / CHECKPOINT
    if not path.exists():
        return TrainingProgress()
    try:
        with safe_open(path, framework="pt") as file:
            notes = json.loads((file.metadata() or {})[NOTES])
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"{path} is damaged or cut short ({error}); delete it, or start again with --overwrite"
        ) from error
    except KeyError as error:
        raise UserError(f"{path} is no checkpoint of a training run; choose the folder of one") from error
    refuse_other_settings(path, notes["settings"], settings, notes.get("read", {}))
    net.load_state_dict({name: tensors[f"model.{name}"] for name in net.state_dict()})
    for name, parameter in net.named_parameters():
        prefix = f"optimizer.{name}."
        state = {key.removeprefix(prefix): tensor for key, tensor in tensors.items() if key.startswith(prefix)}
        optimizer.state[parameter] = state
    return TrainingProgress(**notes["progress"])


def clear_checkpoint(out: Path) -> None:
    """Delete the checkpoint, and partial files that a kill may have left."""
    for path in [out / CHECKPOINT, *out.rglob(".*.partial")]:
        path.unlink(missing_ok=True)


def refuse_other_settings(path: Path, old: dict[str, Any], settings: TrainingSettings, read: dict[str, Any]) -> None:
    """Refuse to resume a run with other settings, or other texts, than it began with."""
    different = first_difference(settings.complete(old), settings.to_dict())
    follows = not different or different.startswith(("net.vocabulary ", "net.labels "))  # as other texts would
    if follows and (texts := settings.changed_texts(read)):
        raise UserError(f"{texts} changed since the run began; restore it, or start again with --overwrite")
    if different:
        raise UserError(
            f"{path} belongs to a run with other settings: {different}; "
            "resume with the settings it began with, or start again with --overwrite"
        )


@dataclass(frozen=True)
class TrainingResult:
    """A finished training run."""

    net: Trunk
    curve: pl.DataFrame  # one row per number: step, measure, value
    settings: TrainingSettings
    words: WordVocabulary | None = None  # of a net that reads words

    @property
    def accuracy(self) -> float:
        """The final accuracy on held-out data."""
        return self.ends["accuracy"]

    @property
    def ends(self) -> dict[str, float]:
        """The final numbers, by the names that the settings define."""
        return {name: self.final(measure) for name, measure in self.settings.ends.items()}

    def final(self, measure: str) -> float:
        """The last value of a measure of the curve."""
        return float(self.curve.filter(pl.col("measure") == measure)["value"][-1])


def write_outcome(out: Path, run: TrainingResult, manifest: bytes | None = None) -> None:
    """Write the run to its folder atomically; the checkpoint is deleted only afterwards."""
    model = {f"{MODEL}/{name}": data for name, data in model_files(run.net, **_saved_with_net(run.settings)).items()}
    files = {CURVE: parquet_bytes(run.curve), **model, **({} if manifest is None else {MANIFEST: manifest})}
    write_run(out, files, earlier=[MANIFEST, *(f"{MODEL}/{name}" for name in FILES)])
    clear_checkpoint(out)


def keep_snapshot(out: Path, net: Trunk, settings: TrainingSettings, *, step: int) -> None:
    """Save the net after `step` in a folder of its own, if a snapshot is due."""
    if settings.keep_every and step % settings.keep_every == 0:
        save_model(out / SNAPSHOTS / f"step-{step:06d}", net, **_saved_with_net(settings, step=step))


def clear_snapshots(out: Path) -> None:
    """Delete the snapshots of an earlier run in the same folder."""
    for folder in (out / SNAPSHOTS).glob("step-*"):
        shutil.rmtree(folder)


def read_snapshots(out: Path) -> Iterator[tuple[int, Trunk]]:
    """The nets that a run kept while it was trained, each with its step, in their order."""
    for folder in sorted((out / SNAPSHOTS).glob("step-*")):
        yield int(folder.name.removeprefix("step-")), load_model(folder).net


def _saved_with_net(settings: TrainingSettings, **more: int) -> dict[str, Any]:
    """What is stored beside the net of a run."""
    rest = {name: value for name, value in settings.to_dict().items() if name not in (settings.learns, "net")}
    read = {"read": settings.read()} if settings.read() else {}
    return {"extra": {"training": rest, **read, **more}, **settings.saved_with_net()}


def settings_of(model: StoredNet, kind: type[TrainingSettings]) -> Plain:
    """The settings that a net was trained with, as plain values of that kind."""
    target = kind.target_of(model)
    plain = None if target is None else kind.target_to_plain(target)
    return {kind.learns: plain, "net": model.net.config.to_dict(), **model.extra.get("training", {})}


def read_outcome(out: Path, settings: TrainingSettings) -> TrainingResult | None:
    """The finished run in this folder; None if there is none or one is still running."""
    if (out / CHECKPOINT).exists() or not (out / MODEL / CONFIG).exists():
        return None
    model = load_model(out / MODEL)
    settings = settings.fitted(model.words)
    refuse_other_settings(out / MODEL, settings_of(model, type(settings)), settings, model.extra.get("read", {}))
    try:
        return TrainingResult(model.net, pl.read_parquet(out / CURVE), settings, model.words)
    except (OSError, PolarsError) as error:
        raise UserError(f"{out / CURVE} cannot be read ({error}); start again with --overwrite") from error
