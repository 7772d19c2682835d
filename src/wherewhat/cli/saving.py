"""How a command writes what it found: drawn first, then written in one go, then the figures."""

from pathlib import Path
from typing import TYPE_CHECKING

from wherewhat.cli.interrupts import kept, uninterrupted

if TYPE_CHECKING:
    from wherewhat.runs.base import Run


def save(found: "Run", out: Path, *, overwrite: bool, png: Path | None) -> None:
    """Write a run and, if asked for, its figures. An interruption leaves the run as it was before, or whole."""
    _ = found.page  # takes longest
    with kept(lambda: f"the run in {out} is written and whole" + ("" if png is None else f", {png} may lack figures")):
        with uninterrupted():
            found.save(out, overwrite=overwrite)
        if png is not None:
            found.figures(png)
