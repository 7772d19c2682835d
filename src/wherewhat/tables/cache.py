"""A cache of results between runs, in the user's cache folder. Losing it costs time, never a number."""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = "WHEREWHAT_CACHE"  # the environment variable that names another folder


def cache_folder() -> Path:
    """The folder of the cache."""
    if chosen := os.environ.get(FOLDER):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wherewhat"


def key_of(parts: Mapping[str, Any]) -> str:
    """The key of a result: a hash of everything that determines it, including the code."""
    deciding = json.dumps({**parts, "code": code_hash()}, sort_keys=True, default=str)
    return hashlib.sha256(deciding.encode()).hexdigest()


@cache
def code_hash() -> str:
    """A hash of this package's source, so that no result outlives the code that computed it."""
    digest = hashlib.sha256()
    source = Path(__file__).resolve().parents[1]
    for path in sorted(source.rglob("*.py")):
        digest.update(str(path.relative_to(source)).encode() + path.read_bytes())
    return digest.hexdigest()


def recall(kind: str, key: str) -> Any:
    """A cached result; None if there is none that can be read."""
    try:
        return json.loads((cache_folder() / kind / f"{key}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def keep(kind: str, key: str, result: Any) -> None:
    """Cache a result, atomically; a folder that cannot be written is no error."""
    folder = cache_folder() / kind
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, suffix=".partial")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(result, file)
        Path(name).replace(folder / f"{key}.json")
    except OSError:
        return
