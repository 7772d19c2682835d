"""Sweeps: two workers beside one, Ray beside local, the engine's own cost, and a thousand finished points."""

import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from benchmarks.measurement import Measurement, seconds, side_by_side
from wherewhat.jobs.folder import JOB
from wherewhat.jobs.registry import engine
from wherewhat.recipes.registry import recipe
from wherewhat.sweeping.grid import Grid
from wherewhat.sweeping.sweep import SweepRequest, run_sweep
from wherewhat.training.loop import train
from wherewhat.training.settings import changed

STEPS, RUNS, POINTS = 200, 6, 1000


def grid(seeds: int, steps: int = STEPS) -> Grid:
    """The recipe `tiny`, so many steps from so many seeds."""
    return Grid.of("tiny", changed(recipe("tiny"), [f"steps={steps}"]), {}, range(seeds))


def run(seeds: int, name: str, workers: int) -> float:
    """Seconds that the runs of a sweep take, from the first that began to the last that ended."""
    events: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        request = SweepRequest(grid(seeds), Path(folder) / "sweep")
        run_sweep(request, engine=engine(name, workers), on_event=lambda event: events.append(time.perf_counter()))
    return events[-1] - events[0]


def finished_points(folder: Path, points: int) -> SweepRequest:
    """A sweep of which every point is finished, made from copies of one run."""
    first = SweepRequest(grid(1, steps=2), folder / "one")
    run_sweep(first, engine=engine("inline"))
    request = SweepRequest(grid(points, steps=2), folder / "many", resume=True)
    (source,) = (folder / "one" / "runs").glob("seed-*")
    for job in request.jobs:
        place = shutil.copytree(source, request.runs / job.folder_name)
        entry = json.loads((place / JOB).read_bytes())
        (place / JOB).write_text(json.dumps({**entry, "name": job.name, "settings": job.settings, "key": job.key}))
    return request


def measure(repeats: int) -> Iterator[Measurement]:
    """Every bound of a sweep."""
    rounds = min(repeats, 3)
    pairs = [(run(RUNS, "local", 2), run(RUNS, "local", 1)) for _ in range(rounds)]
    name = f"sweep, {RUNS} runs of {STEPS} steps on two workers, not one: times faster"
    yield Measurement(name, tuple(one / two for two, one in pairs), 1.7, at_least=True)
    if find_spec("ray") is not None:
        pairs = [(run(RUNS, "ray", 2), run(RUNS, "local", 2)) for _ in range(rounds)]
        yield Measurement(f"sweep, {RUNS} runs by Ray: time over local", tuple(ray / own for ray, own in pairs), 1.2)
    settings = grid(1).points[0].settings
    with tempfile.TemporaryDirectory() as name:
        folder, number = Path(name), iter(range(10**6))
        timed = side_by_side(
            lambda: run_sweep(SweepRequest(grid(1), folder / f"engine-{next(number)}"), engine=engine("inline")),
            lambda: train(settings, out=folder / f"alone-{next(number)}"),
            repeats=repeats,
        )
        ratios = tuple(ours / theirs for ours, theirs in timed)
        yield Measurement(f"sweep, one run of {STEPS} steps: time over training alone", ratios)
        request = finished_points(folder, POINTS)
        took = tuple(seconds(lambda: run_sweep(request, engine=engine("inline")).run.page) for _ in range(rounds))
        note = f"at most {max(took):.1f} s"
        yield Measurement(
            f"{POINTS:,} finished points resumed and tabled: over 10 s", tuple(t / 10 for t in took), 1.0, note=note
        )
