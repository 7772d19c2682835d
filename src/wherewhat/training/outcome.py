"""A finished run, and the folder it leaves behind: `curve.parquet`, `model/` and, where asked for, `snapshots/`."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from wherewhat.corpora.words import Words
from wherewhat.errors import UserError
from wherewhat.models.folder import CONFIG, FILES, Model, load_model, model_files, save_model
from wherewhat.nets.trunk import Trunk
from wherewhat.tables.files import MANIFEST, parquet_bytes, write_run
from wherewhat.training.checkpoint import CHECKPOINT, clear_checkpoint, refuse_other_settings
from wherewhat.training.settings import Plain, Settings

CURVE, MODEL, SNAPSHOTS = "curve.parquet", "model", "snapshots"


@dataclass(frozen=True)
class Trained:
    """A finished run."""

    net: Trunk
    curve: pl.DataFrame  # one row a number: step, measure, value
    settings: Settings
    words: Words | None = None  # the vocabulary it learnt, if it reads words

    @property
    def accuracy(self) -> float:
        """The share of exact answers to fresh sequences, or of words that are guessed right, at the end."""
        return self.ends["accuracy"]

    @property
    def ends(self) -> dict[str, float]:
        """The last values that count, by the names that the settings have for them."""
        return {name: self.final(measure) for name, measure in self.settings.ends.items()}

    def final(self, measure: str) -> float:
        """The last value of a measure of the curve."""
        return float(self.curve.filter(pl.col("measure") == measure)["value"][-1])


def write_outcome(out: Path, run: Trained, manifest: bytes | None = None) -> None:
    """Leave the run in its folder, in one step. The checkpoint goes only when everything else is there."""
    model = {f"{MODEL}/{name}": data for name, data in model_files(run.net, **_beside(run.settings)).items()}
    files = {CURVE: parquet_bytes(run.curve), **model, **({} if manifest is None else {MANIFEST: manifest})}
    write_run(out, files, earlier=[MANIFEST, *(f"{MODEL}/{name}" for name in FILES)])
    clear_checkpoint(out)


def keep_snapshot(out: Path, net: Trunk, settings: Settings, *, step: int) -> None:
    """Leave the net as it stands after `step` in a folder of its own, if this step is one of those that stay."""
    if settings.keep_every and step % settings.keep_every == 0:
        _save(out / SNAPSHOTS / f"step-{step:06d}", net, settings, step=step)


def clear_snapshots(out: Path) -> None:
    """Take away what an earlier run in the same folder kept."""
    for folder in (out / SNAPSHOTS).glob("step-*"):
        shutil.rmtree(folder)


def _save(folder: Path, net: Trunk, settings: Settings, **more: int) -> None:
    save_model(folder, net, **_beside(settings, **more))


def _beside(settings: Settings, **more: int) -> dict[str, Any]:
    """What is kept of a run beside its net."""
    rest = {name: value for name, value in settings.to_dict().items() if name not in (settings.learns, "net")}
    read = {"read": settings.read()} if settings.read() else {}
    return {"extra": {"training": rest, **read, **more}, **settings.belongings()}


def settings_of(model: Model, kind: type[Settings]) -> Plain:
    """The settings that a net was trained with, as plain values of that kind."""
    held = getattr(model, kind.learns)
    learnt = None if held is None else kind.learnt_to(held)
    return {kind.learns: learnt, "net": model.net.config.to_dict(), **model.extra.get("training", {})}


def read_outcome(out: Path, settings: Settings) -> Trained | None:
    """The finished run in this folder, or None if there is none or one is still under way."""
    if (out / CHECKPOINT).exists() or not (out / MODEL / CONFIG).exists():
        return None
    model = load_model(out / MODEL)
    settings = settings.fitted(model.words)
    refuse_other_settings(out / MODEL, settings_of(model, type(settings)), settings, model.extra.get("read", {}))
    try:
        return Trained(model.net, pl.read_parquet(out / CURVE), settings, model.words)
    except (OSError, PolarsError) as error:
        raise UserError(f"{out / CURVE} cannot be read ({error}); start again with --overwrite") from error
