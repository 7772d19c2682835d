"""Log to MLflow, into a database beside the runs unless the user names a server. The only file that knows mlflow."""

import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from wherewhat.tracking.base import PROJECT, Ending, RunLog, TrackedRun, Tracker, target_of

KEYS = {
    "experiment": f"the experiment of its runs (default: {PROJECT})",
    "tracking_uri": "the database or server (default: MLFLOW_TRACKING_URI, else mlflow.db in the folder of the runs)",
}
TAG = "wherewhat.key"
MOST_PARAMETERS = 100  # in one call
STATUS: Mapping[Ending, str] = {"done": "FINISHED", "failed": "FAILED", "stopped": "KILLED"}


@dataclass(frozen=True)
class MlflowTracker(Tracker):
    """Runs in an experiment of MLflow."""

    package: Any
    folder: Path
    experiment: str = PROJECT
    tracking_uri: str | None = None
    name: str = field(default="mlflow", init=False)

    @property
    def target(self) -> str:
        """MLflow, with the experiment or the address if the user named one."""
        experiment = None if self.experiment == PROJECT else self.experiment
        return target_of(self.name, experiment=experiment, tracking_uri=self.tracking_uri)

    def begin(self, run: TrackedRun) -> RunLog:
        """Find the run by its key, or create it."""
        place = self.folder.absolute()
        if self.tracking_uri is None:
            place.mkdir(parents=True, exist_ok=True)
        client = self.package.MlflowClient(tracking_uri=self.tracking_uri or f"sqlite:///{place / 'mlflow.db'}")
        experiment = self._experiment(client, place)
        runs = client.search_runs([experiment], f"tags.`{TAG}` = '{run.key}'", max_results=1)
        if runs:
            number = runs[0].info.run_id
            client.update_run(number, status="RUNNING")
        else:
            tags = {TAG: run.key, "group": run.group}
            number = client.create_run(experiment, tags=tags, run_name=run.name).info.run_id
        opened = MlflowRun(client, number, self.package.entities, run.last)
        opened.configure(run.config)
        return opened

    def _experiment(self, client: Any, place: Path) -> str:
        """The number of the experiment; one in the local database keeps its files beside it."""
        if (experiment := client.get_experiment_by_name(self.experiment)) is not None:
            return str(experiment.experiment_id)
        files = None if self.tracking_uri else (place / "mlartifacts").as_uri()
        return str(client.create_experiment(self.experiment, artifact_location=files))


@dataclass(frozen=True)
class MlflowRun(RunLog):
    """A run of MLflow."""

    client: Any
    number: str
    entities: Any
    noted: int | None

    @property
    def last(self) -> int | None:
        """What was noted: to ask MLflow takes a request per measure."""
        return self.noted

    def configure(self, config: Mapping[str, Any]) -> None:
        """Log the settings; the same ones may be logged again."""
        parameters = [self.entities.Param(_valid(name), str(value)) for name, value in config.items()]
        for start in range(0, len(parameters), MOST_PARAMETERS):
            self.client.log_batch(self.number, params=parameters[start : start + MOST_PARAMETERS], synchronous=True)

    def log(self, step: int, measured: Mapping[str, float]) -> None:
        """Log all numbers of a step in one call."""
        now = round(1000 * time.time())
        metrics = [self.entities.Metric(_valid(name), value, now, step) for name, value in measured.items()]
        self.client.log_batch(self.number, metrics=metrics, synchronous=True)

    def finish(self, ending: Ending) -> None:
        """Set how the run ended."""
        self.client.set_terminated(self.number, STATUS[ending])


def _valid(name: str) -> str:
    """A name without the signs that MLflow refuses.

    >>> _valid("accuracy (held out)")
    'accuracy _held out_'
    """
    return re.sub(r"[^\w\-./: ]", "_", name)


def mlflow_tracker(options: Mapping[str, str], folder: Path) -> Tracker:
    """Load MLflow, which reports its use to its makers and logs to stderr unless it is told not to."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "ERROR")
    uri = options.get("tracking_uri") or os.environ.get("MLFLOW_TRACKING_URI") or None
    return MlflowTracker(import_module("mlflow"), folder, options.get("experiment", PROJECT), uri)
