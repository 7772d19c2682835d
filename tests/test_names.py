"""What things are called: values are nouns, a class name occurs once, and a module is named after what it holds."""

import ast
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "wherewhat"
FILES = sorted(SOURCE.rglob("*.py"))
# Participles and fillers that tell a reader nothing about the value behind them.
VAGUE = {"asked", "found", "gave", "heard", "judged", "one", "said", "seen", "told", "took"}
VAGUE_MODULES = VAGUE | {"door", "instead", "judging", "peculiar", "silence", "telling", "walk"}


def names_in(tree: ast.Module) -> list[tuple[int, str]]:
    """Every name that a file gives to something, with its line."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append((node.lineno, node.id))
        elif isinstance(node, ast.arg):
            names.append((node.lineno, node.arg))
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.append((node.lineno, node.name))
        elif isinstance(node, ast.alias) and node.asname:
            names.append((node.lineno, node.asname))
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_names_are_nouns(path: Path):
    vague = [(line, name) for line, name in names_in(ast.parse(path.read_text())) if name.strip("_").lower() in VAGUE]
    assert not vague, f"say what it is: {vague}"


def test_a_class_name_occurs_once():
    trees = [ast.parse(path.read_text()) for path in FILES]
    classes = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert not [name for name, count in classes.items() if count > 1]


def test_modules_are_named_after_what_they_hold():
    assert not [path for path in FILES if path.stem in VAGUE_MODULES]
