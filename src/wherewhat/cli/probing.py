"""What every `wherewhat probe` begins and ends with: where its result goes, and what is said of it."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from wherewhat.cli.clock import seconds
from wherewhat.cli.options import ASKED, command_line, option
from wherewhat.cli.saving import save

if TYPE_CHECKING:
    from wherewhat.runs.probed import Probed

Labels = Annotated[
    str | None, option(ASKED, "NAMES", "What a classifier's labels are called, in their order, such as no,maybe,yes.")
]


@dataclass(frozen=True)
class Result:
    """Where the result of a probe goes. Made first: it refuses a folder before any work is done."""

    out: Path
    png: Path | None
    overwrite: bool
    as_json: bool
    quiet: bool

    def __post_init__(self) -> None:
        from wherewhat.runs.probed import Probed
        from wherewhat.tables.files import refuse_to_overwrite

        refuse_to_overwrite(self.out, kind=Probed.kind, overwrite=self.overwrite)

    def take(self, found: "Probed") -> None:
        """Write everything and say the main result: in one line, or as JSON."""
        found = replace(found, manifest={**found.manifest, "command": command_line()})
        save(found, self.out, overwrite=self.overwrite, png=self.png)
        report, about = self.out / "report.html", found.manifest
        if self.as_json:
            told: dict[str, Any] = {"out": str(self.out), "report": str(report), "model": about["model"]["id"]}
            told |= {name: about[name] for name in ("probe", "way", "said", "data", "claims", "notes")}
            told["seconds"] = seconds()
            print(json.dumps(told, ensure_ascii=False))
        elif not self.quiet:
            print(f"{about['said']}: {report}")
