"""Every kind of run, by the command that writes it, and how to open one."""

from pathlib import Path

from wherewhat.errors import UserError
from wherewhat.runs.base import Run
from wherewhat.runs.compared import Compared
from wherewhat.runs.edited import Edited
from wherewhat.runs.probed import Probed
from wherewhat.runs.profile import Profile
from wherewhat.runs.reproduced import Reproduced
from wherewhat.tables.manifest import read_manifest

RUNS: dict[str, type[Profile] | type[Compared] | type[Edited] | type[Probed] | type[Reproduced]] = {
    run.kind: run for run in (Profile, Compared, Edited, Probed, Reproduced)
}


def load(folder: str | Path) -> Run:
    """A run that was saved: a profile, a comparison, an edit, a probe or a reproduction."""
    folder = Path(folder)
    manifest = read_manifest(folder)
    kind = manifest.get("kind", Profile.kind)
    if not isinstance(kind, str) or kind not in RUNS:
        raise UserError(f"{folder} holds a run of `wherewhat {kind}`, which has no report; name another folder")
    return RUNS[kind].read(folder, manifest)
