"""The map: which room may know which. A line in the wrong room shows here first."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "wherewhat"

# A room may import from those named; `errors`, `names`, `progress` and `signals` are for everyone.
MAY_KNOW = {
    "axes": set(),
    "errors": set(),
    "names": set(),
    "progress": set(),
    "signals": set(),
    "hub": set(),
    "encodings": set(),
    "logits": set(),
    "nets": {"encodings"},
    "tasks": set(),
    "scores": {"logits"},
    "tables": {"hub"},
    "formatting": set(),
    "published": set(),
    "stats": {"formatting", "tasks"},  # of tasks only its random streams
    "report": {"formatting", "published", "stats", "tables"},
    "jobs": {"tables"},
    "tracking": {"jobs", "tables"},
    "corpora": {"tables", "tasks"},
    "models": {"corpora", "nets", "tables", "tasks"},
    "capture": {"corpora", "encodings", "hub", "logits", "models", "nets", "tables", "tasks"},
    "training": {"corpora", "models", "nets", "tables", "tasks"},
    "recipes": {"corpora", "encodings", "nets", "published", "tasks", "training"},
    "runs": {"report", "studies", "tables"},  # of studies only their pages
    "profiling": {"capture", "formatting", "jobs", "logits", "runs", "scores", "stats", "tables"},
    "editing": {"capture", "encodings", "profiling", "runs", "scores", "stats", "tables"},
    "probing": {"capture", "corpora", "profiling", "runs", "scores", "stats", "tables", "tasks"},
    "attribution": {
        "capture",
        "corpora",
        "encodings",
        "formatting",
        "jobs",
        "nets",
        "profiling",
        "runs",
        "scores",
        "stats",
        "tables",
        "tasks",
    },
    "comparing": {"capture", "hub", "jobs", "models", "profiling", "runs", "scores", "stats", "tables"},
    "studies": {
        "attribution",
        "capture",
        "corpora",
        "editing",
        "encodings",
        "formatting",
        "jobs",
        "logits",
        "nets",
        "probing",
        "profiling",
        "published",
        "recipes",
        "report",
        "runs",
        "scores",
        "stats",
        "tables",
        "tasks",
        "training",
    },
    "sweeping": {"jobs", "recipes", "runs", "tables", "tracking", "training"},  # of tracking only the name of its notes
    "__main__": {"cli"},
    "cli": {
        "attribution",
        "capture",
        "comparing",
        "corpora",
        "editing",
        "encodings",
        "formatting",
        "hub",
        "jobs",
        "models",
        "probing",
        "profiling",
        "recipes",
        "runs",
        "scores",
        "studies",
        "sweeping",
        "tables",
        "tasks",
        "tracking",
        "training",
    },
}
# Outside packages that only some rooms may know.
BORDERS = {
    "transformers": {"capture"},
    "altair": {"report", "studies"},  # in studies only pages
    "vl_convert": {"report"},
    "typer": {"cli"},
    "click": {"cli"},
    "rich": {"cli", "progress"},
    "datasets": {"tables"},
    "ray": {"jobs"},
    "trackio": {"tracking"},
    "wandb": {"tracking"},
    "mlflow": {"tracking"},
    "tensorboard": {"tracking"},
    "conllu": {"corpora"},
    # elsewhere than in stats only solvers (pairing, roots, sparse matrices) and the resampling of recordings
    "scipy": {"comparing", "corpora", "stats", "studies"},
    "tokenizers": {"corpora"},
    "torch": {
        "attribution",
        "capture",
        "cli",
        "comparing",
        "editing",
        "encodings",
        "logits",
        "models",
        "nets",
        "probing",
        "profiling",
        "scores",
        "studies",
        "training",
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
            assert other in MAY_KNOW[room] | {room, "errors", "names", "axes", "progress", "signals"}, (
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
