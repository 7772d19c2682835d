"""Whatever a sentence tells someone to type is an option of some command."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

import wherewhat
from wherewhat.cli.main import app, main

SOURCE = Path(wherewhat.__file__).parent
NAMED = re.compile(r"(?<![\w(-])--[a-z][a-z-]*[a-z]")  # in CSS they follow a parenthesis
OF_GIT = {"--error-unmatch"}


def options(command: typer.core.TyperCommand | TyperGroup) -> Iterator[str]:
    """Every option of a command and of those under it."""
    for parameter in command.params:
        yield from (*parameter.opts, *parameter.secondary_opts)
    yield "--help"
    if isinstance(command, TyperGroup):
        for under in command.commands.values():
            yield from options(under)


def named() -> dict[str, str]:
    """Every option that some text of the source names, with a file that does."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= dict.fromkeys(NAMED.findall(node.value), str(path.relative_to(SOURCE)))
    return found


def test_every_option_that_is_named_can_be_typed():
    known, said = {*options(typer.main.get_command(app)), *OF_GIT}, named()
    assert len(said) > 40 and "--add-bos" in said
    assert {name: path for name, path in said.items() if name not in known} == {}


@pytest.mark.parametrize(
    "command",
    [["heads", "tiny"], ["edit", "tiny", "--drop", "all"], ["compare", "tiny", "--untrained"], ["attribute", "tiny"]],
)
def test_a_beginning_can_be_asked_for(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main([*command, "--add-bos", "--max-texts", "2", "--out", str(tmp_path / "run"), "--quiet"]) == 2
    refusal = "tiny is to read texts of its own, which begin as they are; leave out --add-bos"
    assert refusal in capsys.readouterr().err
