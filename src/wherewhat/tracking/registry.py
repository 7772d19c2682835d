"""Every tracker by name, and how it is chosen: `trackio`, or `tensorboard:log_dir=runs/tb`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from wherewhat.errors import UserError
from wherewhat.names import look_up, suggestion
from wherewhat.tracking import mlflow_tracker, tensorboard_tracker, trackio_tracker, wandb_tracker
from wherewhat.tracking.base import Tracker


@dataclass(frozen=True)
class TrackerKind:
    """A tracker that can be chosen by name."""

    name: str
    description: str
    extra: str  # of this package, that installs it
    keys: Mapping[str, str]  # what can be set, with what it means
    make: Callable[[Mapping[str, str], Path], Tracker]  # loads the tool; takes what was set, and the runs' folder


TRACKERS = {
    kind.name: kind
    for kind in (
        TrackerKind(
            "trackio",
            "trackio, in its database on this machine",
            "trackio",
            trackio_tracker.KEYS,
            trackio_tracker.trackio_tracker,
        ),
        TrackerKind(
            "wandb",
            "Weights & Biases, into offline files unless WANDB_MODE is set",
            "wandb",
            wandb_tracker.KEYS,
            wandb_tracker.wandb_tracker,
        ),
        TrackerKind(
            "mlflow",
            "MLflow, into a database beside the runs unless MLFLOW_TRACKING_URI is set",
            "mlflow",
            mlflow_tracker.KEYS,
            mlflow_tracker.mlflow_tracker,
        ),
        TrackerKind(
            "tensorboard",
            "TensorBoard, into event files beside the runs",
            "tensorboard",
            tensorboard_tracker.KEYS,
            tensorboard_tracker.tensorboard_tracker,
        ),
    )
}


def tracker(text: str, folder: Path) -> Tracker:
    """The tracker of an option such as `trackio` or `tensorboard:log_dir=runs/tb`, loaded and ready."""
    name, _, rest = (part.strip() for part in text.partition(":"))
    kind = look_up("tracker", name, TRACKERS)
    options = _options(kind, rest)
    install = f"pip install 'wherewhat[{kind.extra}]'"
    try:
        return kind.make(options, folder)
    except UserError:
        raise
    except ImportError as error:
        raise UserError(f"--track {name} needs a package that cannot be imported ({error}); {install}") from error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise UserError(f"--track {name} cannot be loaded ({reason}); install it again with {install}") from error


def _options(kind: TrackerKind, text: str) -> dict[str, str]:
    """What `key=value,...` sets; a comma that no `key=` follows belongs to the value."""
    options: dict[str, str] = {}
    for part in re.split(r",(?=\s*\w+\s*=)", text) if text else []:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not key or not value:
            raise UserError(f"--track {kind.name} cannot read '{part}'; write it as {kind.name}:key=value,key=value")
        if key not in kind.keys:
            known = ", ".join(sorted(kind.keys))
            raise UserError(f"--track {kind.name} has no key '{key}'; {suggestion(key, kind.keys)}known: {known}")
        if key in options:
            raise UserError(f"--track {kind.name} has the key '{key}' twice; give it once")
        options[key] = value
    return options
