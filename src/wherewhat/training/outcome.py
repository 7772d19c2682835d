"""A finished run, and the folder it leaves behind: `curve.parquet` and `model/`."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl
from polars.exceptions import PolarsError

from wherewhat.errors import UserError
from wherewhat.models.folder import CONFIG, Model, load_model, save_model, tasks_to_list
from wherewhat.nets.trunk import Trunk
from wherewhat.tables.files import parquet_bytes, write_whole
from wherewhat.training.checkpoint import CHECKPOINT, clear_checkpoint, refuse_other_settings
from wherewhat.training.settings import Plain, Settings

CURVE, MODEL = "curve.parquet", "model"


@dataclass(frozen=True)
class Trained:
    """A finished run."""

    net: Trunk
    curve: pl.DataFrame  # one row a number: step, measure, value
    settings: Settings

    @property
    def accuracy(self) -> float:
        """The share of exact answers to fresh sequences of all kinds, at the end."""
        return self.final("accuracy")

    def final(self, measure: str) -> float:
        """The last value of a measure of the curve."""
        return float(self.curve.filter(pl.col("measure") == measure)["value"][-1])


def write_outcome(out: Path, run: Trained) -> None:
    """Leave the run in its folder. The checkpoint goes only when everything else is there."""
    write_whole(out / CURVE, parquet_bytes(run.curve))
    rest = {name: value for name, value in run.settings.to_dict().items() if name not in ("tasks", "net")}
    save_model(out / MODEL, run.net, tasks=run.settings.tasks, extra={"training": rest})
    clear_checkpoint(out)


def settings_of(model: Model) -> Plain:
    """The settings that a net was trained with, as plain values."""
    own = {"tasks": tasks_to_list(model.tasks), "net": model.net.config.to_dict()}
    return {**own, **model.extra.get("training", {})}


def read_outcome(out: Path, settings: Settings) -> Trained | None:
    """The finished run in this folder, or None if there is none or one is still under way."""
    if (out / CHECKPOINT).exists() or not (out / MODEL / CONFIG).exists():
        return None
    model = load_model(out / MODEL)
    refuse_other_settings(out / MODEL, settings_of(model), settings)
    try:
        return Trained(model.net, pl.read_parquet(out / CURVE), settings)
    except (OSError, PolarsError) as error:
        raise UserError(f"{out / CURVE} cannot be read ({error}); start again with --overwrite") from error
