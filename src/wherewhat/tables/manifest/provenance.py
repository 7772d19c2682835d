"""What the machine and the installed packages contribute to a manifest."""

import platform
import resource
import subprocess
import sys
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

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
    git = partial(subprocess.run, cwd=here.parent, capture_output=True, text=True, timeout=5, check=True)
    try:
        git(["git", "ls-files", "--error-unmatch", here.name])  # else the checkout is somebody else's
        return git(["git", "rev-parse", "HEAD"]).stdout.strip() or None
    except (OSError, subprocess.SubprocessError):
        return None


def peak_memory() -> int:
    """The most memory this process has held so far, in bytes."""
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held if sys.platform == "darwin" else held * 1024


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
