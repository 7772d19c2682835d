"""The map: which room may know which. A line in the wrong room shows here first."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "wherewhat"

# A room may import from those named; `errors`, `names` and `progress` are for everyone.
MAY_KNOW = {
    "axes": set(),
    "errors": set(),
    "names": set(),
    "progress": set(),
    "hub": set(),
    "encodings": set(),
    "logits": set(),
    "nets": {"encodings"},
    "tasks": set(),
    "scores": {"logits"},
    "tables": {"hub"},
    "report": set(),
    "corpora": {"tables", "tasks"},
    "models": {"corpora", "nets", "tables", "tasks"},
    "capture": {"corpora", "encodings", "hub", "logits", "models", "nets", "tables", "tasks"},
    "training": {"corpora", "models", "nets", "tables", "tasks"},
    "recipes": {"corpora", "nets", "tasks", "training"},
    "runs": {"report", "tables"},
    "edits": {"capture", "encodings"},
    "effects": {
        "about",
        "asking",
        "capture",
        "edits",
        "encodings",
        "measure",
        "runs",
        "silence",
        "summing",
        "tables",
        "tally",
    },
    "reproductions": {
        "about",
        "asking",
        "capture",
        "corpora",
        "correspondence",
        "edits",
        "effects",
        "encodings",
        "logits",
        "measure",
        "nets",
        "positional",
        "probes",
        "recipes",
        "report",
        "runs",
        "scores",
        "swaps",
        "tables",
        "tally",
        "tasks",
        "training",
    },
    "tally": {"capture", "scores"},
    "hidden": {"capture", "scores", "tally"},
    "positional": {"capture", "hidden", "logits", "scores", "tables", "tally"},
    "repeats": {"capture", "hidden", "scores", "tally"},
    "about": {"capture", "scores", "tables"},
    "correspondence": set(),
    "asking": {"capture", "positional", "repeats", "scores", "tally"},
    "silence": {"asking", "capture", "scores", "tally"},
    "summing": {"asking", "capture", "tables", "tally"},
    "measure": {
        "about",
        "asking",
        "capture",
        "correspondence",
        "hidden",
        "positional",
        "repeats",
        "runs",
        "silence",
        "summing",
        "tables",
        "tally",
        "untrained",
    },
    "untrained": {"about", "asking", "capture", "tables", "tally"},
    "swaps": {"corpora", "tasks"},
    "probes": {
        "about",
        "capture",
        "corpora",
        "positional",
        "runs",
        "scores",
        "swaps",
        "tables",
        "tally",
        "tasks",
    },
    "comparing": {
        "about",
        "asking",
        "capture",
        "measure",
        "positional",
        "repeats",
        "runs",
        "scores",
        "tables",
        "tally",
    },
    "__main__": {"cli"},
    "cli": {
        "asking",
        "capture",
        "comparing",
        "corpora",
        "edits",
        "effects",
        "encodings",
        "hub",
        "measure",
        "models",
        "positional",
        "probes",
        "repeats",
        "runs",
        "recipes",
        "reproductions",
        "scores",
        "swaps",
        "tables",
        "tasks",
        "training",
    },
}
# Outside packages that only some rooms may know.
BORDERS = {
    "transformers": {"capture"},
    "altair": {"report"},
    "vl_convert": {"report"},
    "typer": {"cli"},
    "click": {"cli"},
    "rich": {"cli", "progress"},
    "datasets": {"tables"},
    "conllu": {"corpora"},
    "tokenizers": {"corpora"},
    "torch": {
        "encodings",
        "logits",
        "nets",
        "scores",
        "models",
        "capture",
        "training",
        "tally",
        "hidden",
        "positional",
        "probes",
        "repeats",
        "about",
        "silence",
        "measure",
        "untrained",
        "comparing",
        "effects",
        "edits",
        "reproductions",
        "cli",
    },
}
FILES = sorted(SOURCE.rglob("*.py"))


def room_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def imports(path: Path) -> list[str]:
    """Every module that a file imports, wherever in it."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: say where it comes from, not how far up"
            found.append(node.module or "")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_knows_only_what_its_room_may(path: Path):
    room = room_of(path)
    if room == "__init__":
        return  # the front door names everything, and loads nothing until asked
    for module in imports(path):
        outside = module.split(".")[0]
        if outside == "wherewhat":
            other = module.split(".")[1]
            assert other in MAY_KNOW[room] | {room, "errors", "names", "axes", "progress"}, (
                f"{room} may not know {other}"
            )
        elif outside in BORDERS:
            assert room in BORDERS[outside], f"{room} may not know {outside}"


def test_the_map_has_every_room():
    rooms = {room_of(path) for path in FILES} - {"__init__"}
    assert rooms == set(MAY_KNOW)


def test_every_file_says_its_idea_first():
    for path in FILES:
        text = ast.get_docstring(ast.parse(path.read_text()))
        assert text, f"{path} has no first line that says what it is for"


def test_there_is_no_file_of_leftovers():
    assert not [path for path in FILES if path.stem in ("utils", "helpers", "misc", "common")]
