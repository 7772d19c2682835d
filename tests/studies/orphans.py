"""Two processes that work for a long time, to see what becomes of them when the one that started them is killed."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from wherewhat.studies.side_by_side import side_by_side


def linger(folder: str, tell: Callable[[int], None]) -> None:
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(60)


def main(folder: str) -> None:
    side_by_side(linger, [folder] * 2, on_progress=lambda *told: None, workers=2)
