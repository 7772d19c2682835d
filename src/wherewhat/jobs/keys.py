"""What identifies a job: its name as a file name, its settings as JSON, a hash of its code, and the key over both."""

import ast
import hashlib
import json
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

LONGEST = 150  # bytes of a file name; temporary names beside it are longer
PACKAGE = Path(__file__).parents[1]


def key_of(settings: Mapping[str, Any], code: str) -> str:
    """SHA-256 over the canonical JSON of settings and code.

    >>> key_of({"a": 1, "b": (2, 3)}, "") == key_of({"b": [2, 3], "a": 1}, "") != key_of({"a": 1}, "")
    True
    """
    canonical = json.dumps({"settings": as_json(settings), "code": code}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def as_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they come back from JSON, where there are no tuples."""
    plain: dict[str, Any] = json.loads(json.dumps(settings))
    return plain


def file_name(name: str) -> str:
    """A name that is valid in every file system; a very long one is cut, and a hash tells it from others.

    >>> file_name("log w 0.5 s 1, seed 3")
    'log-w-0.5-s-1-seed-3'
    """
    valid = re.sub(r"[^\w.]+", "-", name).strip("-.")
    if len(os.fsencode(valid)) <= LONGEST:
        return valid
    return (
        f"{os.fsencode(valid)[: LONGEST - 10].decode(errors='ignore')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    )


@cache
def code_of(*parts: str) -> str:
    """A hash of some files and folders of this package, or of files elsewhere, without comments and docstrings.

    >>> code_of("names.py") == code_of("names.py") != code_of("errors.py")
    True
    """
    paths = [PACKAGE / part for part in parts]
    assert all(path.exists() for path in paths), f"one of {parts} was moved"
    files = [file for path in paths for file in ([path] if path.suffix else sorted(path.rglob("*.py")))]
    return hashlib.sha256("".join(map(_without_comments, files)).encode()).hexdigest()


def _without_comments(path: Path) -> str:
    """A file without comments and docstrings, so that rewording one does not invalidate hours of runs."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    name = path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else path.name
    return f"{name} {ast.dump(tree)}\n"
