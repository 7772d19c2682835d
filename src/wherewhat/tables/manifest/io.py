"""Write a manifest and read it back: the only place that knows both its JSON and its classes."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wherewhat.errors import UserError
from wherewhat.tables.files import AGAIN, MANIFEST, recover
from wherewhat.tables.manifest.attribution import AttributionManifest
from wherewhat.tables.manifest.decode import MisfitError, decode, inside, quoted
from wherewhat.tables.manifest.probe import ProbeManifest
from wherewhat.tables.manifest.scores import CompareManifest, EditManifest, ProfileManifest
from wherewhat.tables.manifest.sections import SCHEMA, Manifest, TrainingManifest
from wherewhat.tables.manifest.study import StudyManifest, study_section
from wherewhat.tables.manifest.sweep import SweepManifest

DEEPEST = 40  # levels of a manifest
LARGEST = 2**63  # of an integer
MANIFESTS: dict[str, type[Manifest]] = {
    manifest.kind: manifest
    for manifest in (
        *(ProfileManifest, CompareManifest, EditManifest, ProbeManifest, AttributionManifest),
        *(StudyManifest, SweepManifest, TrainingManifest),
    )
}


def manifest_bytes(manifest: Manifest) -> bytes:
    """The manifest as it is on disk."""
    return (json.dumps(manifest.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a finished run, as the class of its kind; refused in one sentence where it does not fit."""
    path = folder / MANIFEST
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}; name the folder of a finished run")
    recover(folder)
    if not path.is_file():
        raise UserError(f"{folder} holds no finished run (no {MANIFEST}); run a command with --out {folder} first")
    raw = read_json(path)
    kind = raw.get("kind", ProfileManifest.kind)
    if not isinstance(kind, str) or kind not in MANIFESTS:
        raise no_report(folder, kind)
    if (version := raw.get("schema")) != SCHEMA or isinstance(version, bool):
        has = "no schema version" if version is None else f"schema version {json.dumps(version)[:20]}"
        raise UserError(f"{path} has {has}, and this version of wherewhat reads version {SCHEMA}; {AGAIN}")
    try:
        return manifest_of(kind, raw)
    except MisfitError as misfit:
        raise UserError(f"{path} cannot be used: {misfit}; {AGAIN}") from None


def manifest_of(kind: str, raw: Mapping[str, Any]) -> Manifest:
    """The manifest of a kind of run with these values; `MisfitError` says what is not as it must be."""
    if kind == StudyManifest.kind:
        raw = {**raw, "about": study_section(raw.get("reproduction"), raw.get("about"))}
    return decode(MANIFESTS[kind], raw)


def no_report(folder: Path, kind: object) -> UserError:
    """What to raise for a run that has no page."""
    return UserError(f"{folder} holds a run of `wherewhat {kind}`, which has no report; name another folder")


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object of a manifest, whatever its kind, without values that no manifest can hold."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise UserError(f"{path} is nested too deeply to be read; {AGAIN}") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({error}); {AGAIN}") from None
    if not isinstance(raw, dict):
        raise UserError(f"{path} is not a manifest; {AGAIN}")
    if (flaw := _flaw(raw, "", 0)) is not None:
        raise UserError(f"{path} cannot be used: {flaw}; {AGAIN}")
    return raw


def _flaw(value: Any, path: str, depth: int) -> str | None:
    """What no manifest holds: numbers that are not finite, text that cannot be written, endless depth."""
    if depth > DEEPEST:
        return f"{quoted(path)} is nested too deeply"
    if (isinstance(value, int) and abs(value) >= LARGEST) or (isinstance(value, float) and not math.isfinite(value)):
        return f"{quoted(path)} is not a finite number of usual size"
    if isinstance(value, str) and not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value):
        return f"{quoted(path)} is text that is broken"
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in members:
        if flaw := (_flaw(name, path, depth) or _flaw(inner, inside(path, name), depth + 1)):
            return flaw
    return None
