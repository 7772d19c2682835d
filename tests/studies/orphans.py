"""Two processes that work for a long time, to see what becomes of them when the one that started them is killed."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from wherewhat.studies.parallel import run_parallel


def linger(folder: str, tell: Callable[[int], None]) -> None:
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(60)


def main(folder: str) -> None:
    run_parallel(linger, [folder] * 2, on_progress=lambda *told: None, workers=2)
