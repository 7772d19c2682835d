"""What the probe commands share: the names of labels, and how a run is written and summarised."""

import json
from typing import TYPE_CHECKING, Annotated, Any

from wherewhat.cli.clock import seconds
from wherewhat.cli.groups import MEASURE, option
from wherewhat.cli.options import OutputOptions

if TYPE_CHECKING:
    from wherewhat.runs.registry import ProbeRun

Labels = Annotated[
    str | None, option(MEASURE, "NAMES", "Other names for a classifier's labels, in its order, such as no,maybe,yes.")
]


def write_probe(run: "ProbeRun", output: OutputOptions) -> None:
    """Write the run, and print the main result in one line or as JSON."""
    output.write(run)
    manifest = run.manifest
    if output.as_json:
        summary: dict[str, Any] = {"out": str(output.out), "report": str(output.report), "model": manifest.model.id}
        summary |= {name: manifest.to_dict()[name] for name in ("probe", "way", "said", "data", "claims", "notes")}
        print(json.dumps({**summary, "seconds": seconds()}, ensure_ascii=False))
    elif not output.quiet:
        print(f"{manifest.summary}: {output.report}")
