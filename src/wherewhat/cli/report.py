"""`wherewhat report`: draw a run's report again from its tables."""

import json
from pathlib import Path
from typing import Annotated

import typer

from wherewhat.cli.options import Json, Png, Quiet


def report(
    folder: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    *,
    png: Png = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw the report again from the tables alone: no model is needed."""
    from wherewhat.runs.base import REPORT
    from wherewhat.runs.registry import load
    from wherewhat.tables.parquet import blaming_changes

    run = load(folder)
    with blaming_changes(folder):
        path = run.report(folder / REPORT)
        pictures = [] if png is None else run.figures(png)
    if as_json:
        print(json.dumps({"report": str(path), "figures": list(map(str, pictures))}))
    elif not quiet:
        print(path)
