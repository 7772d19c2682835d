"""Whole runs of studies at a size that takes seconds, and their pages drawn from the tables alone."""

import subprocess
import sys
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

from wherewhat.runs.registry import StudyRun
from wherewhat.studies.reproduce import reproduce


def run_micro(name: str, scales: MutableMapping[str, Any], micro: Any, folder: Path, **options: Any) -> StudyRun:
    """A study run in this process with `micro` in place of its tiny scale, which is back afterwards."""
    before, scales["tiny"] = scales["tiny"], micro
    try:
        return reproduce(name, folder=folder / "runs", engine="inline", **options)
    finally:
        scales["tiny"] = before


def page_without_torch(run: StudyRun, folder: Path) -> str:
    """The page of a run that was saved, drawn by a new process that must not need torch."""
    run.save(folder / "out")
    code = (
        "import sys\nimport wherewhat as ww\n"
        f"ww.load({str(folder / 'out')!r}).report({str(folder / 'again.html')!r})\n"
        "assert 'torch' not in sys.modules, 'torch was imported'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    return (folder / "again.html").read_text()
