"""The manifest: where every number of a run came from."""

import json
import platform
import resource
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from wherewhat.errors import UserError
from wherewhat.tables.files import MANIFEST, recover
from wherewhat.tables.reading import refuse_unsound

PACKAGES = ("wherewhat", "torch", "transformers", "tokenizers", "safetensors", "numpy", "polars", "altair")


def provenance() -> dict[str, Any]:
    """What the machine and the installed packages say of themselves."""
    return {
        "tool": "wherewhat",
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "platform": platform.platform(),
        "git_commit": git_commit(),
    }


def git_commit() -> str | None:
    """The commit this package was checked out at, if it runs from a checkout."""
    here = Path(__file__).resolve()
    try:
        _git(here.parent, "ls-files", "--error-unmatch", here.name)  # else the checkout is somebody else's
        return _git(here.parent, "rev-parse", "HEAD") or None
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *words: str) -> str:
    answer = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, timeout=5, check=True)
    return answer.stdout.strip()


def peak_memory() -> int:
    """The most memory this process has held so far, in bytes."""
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held if sys.platform == "darwin" else held * 1024


def manifest_bytes(manifest: Mapping[str, Any]) -> bytes:
    """The manifest as it lies on disk."""
    return (json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a finished run."""
    path = folder / MANIFEST
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}; name the folder of a finished run")
    recover(folder)
    if not path.is_file():
        raise UserError(f"{folder} holds no finished run (no {MANIFEST}); run a command with --out {folder} first")
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise UserError(f"{path} is nested too deeply to be read; run the command again with --overwrite") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({error}); run the command again with --overwrite") from None
    refuse_unsound(path, manifest)
    return manifest


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
