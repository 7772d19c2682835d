"""Light work for jobs: worker processes import this file, and nothing heavy with it."""

import json
import os
import resource
import signal
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any

from wherewhat.errors import UserError
from wherewhat.jobs.engines import Engine
from wherewhat.jobs.job import Job, JobContext
from wherewhat.jobs.registry import engine
from wherewhat.jobs.run import run_jobs

Settings = dict[str, Any]


def job(name: str, work: str = "square", *, steps: int = 1, code: str = "", **settings: Any) -> Job:
    return Job(name, f"job_works:{work}", settings, code=code, steps=steps)


def local(workers: int = 2) -> Engine:
    return engine("local", workers)


def starts(folder: Path) -> int:
    """How often the work of a job was begun."""
    path = folder / "starts.txt"
    return len(path.read_text().splitlines()) if path.exists() else 0


def note_start(context: JobContext) -> int:
    with (context.folder / "starts.txt").open("a") as file:
        file.write(f"{os.getpid()}\n")
    return starts(context.folder)


def square(settings: Settings, context: JobContext) -> Settings:
    note_start(context)
    for step in range(1, 5):
        time.sleep(settings.get("pause", 0.0) / 4)
        context.step(step)
    return {"square": settings["x"] ** 2, "pair": (settings["x"], None)}


def echo(settings: Settings, context: JobContext) -> Settings:
    """The settings, changed in passing, and where this runs."""
    settings["nested"]["list"].append(4)
    return {"settings": settings, "folder": str(context.folder)}


def strange(settings: Settings, context: JobContext) -> Any:
    return {"nan": float("nan"), "surrogate": "\ud800", "deep": {1: (2,)}}


def not_plain(settings: Settings, context: JobContext) -> Any:
    return {"path": Path("x")}


@cache
def process_of(_: str) -> tuple[int, float]:
    return os.getpid(), time.perf_counter()


def remember(settings: Settings, context: JobContext) -> Any:
    return process_of("the first call in this process")


def stumble(settings: Settings, context: JobContext) -> str:
    note_start(context)
    if not (Path(settings["until"])).exists():
        raise ValueError("job stumbled")
    return "well"


def refuse(settings: Settings, context: JobContext) -> None:
    raise UserError("--width is 3; give an even number")


def fill(settings: Settings, context: JobContext) -> str:
    """A result for which there is no room, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
    return "x" * 100_000


def swell(settings: Settings, context: JobContext) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (2**31, resource.RLIM_INFINITY))
    return len(bytearray(2**33))


def vanish(settings: Settings, context: JobContext) -> Any:
    """Die until it was begun `lives` times, by a signal or with an exit code; go on from what is in the folder."""
    number = note_start(context)
    path = context.folder / "checkpoint.json"
    chain = json.loads(path.read_text()) if path.exists() else []
    path.write_text(json.dumps([*chain, number]))
    time.sleep(settings.get("pause", 0.0))
    if number < settings["lives"]:
        os.kill(os.getpid(), signal.SIGKILL) if "exit" not in settings else os._exit(settings["exit"])
    return [*chain, number]


def die_when_finished(settings: Settings, context: JobContext) -> int:
    def kill() -> None:
        while not (context.folder / "result.json").exists():
            pass
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()
    return note_start(context)


def linger(settings: Settings, context: JobContext) -> None:
    """Say which process this is, and stay."""
    (Path(settings["told"]) / str(os.getpid())).touch()
    if settings.get("selfish"):
        sum(range(10**10))  # one call that lets no other thread run
    time.sleep(60)


def leave_half(settings: Settings, context: JobContext) -> bool:
    """Leave a half file, as a kill does, and die; say in the next life whether it is still there."""
    half = context.folder / "model" / ".weights.xyz.partial"
    if note_start(context) == 1:
        half.parent.mkdir()
        half.write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)
    return half.exists()


def main(folder: str, told: str, count: str, selfish: str = "") -> None:
    """A parent, for tests that kill or interrupt it: one quick job, then long ones."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background process does not have
    long = [job(f"long {number}", "linger", told=told, selfish=bool(selfish)) for number in range(int(count))]
    run_jobs([job("quick", x=3), *long], Path(folder), engine=local(2))
