"""Every example and every docstring's example runs."""

import doctest
import importlib
import pkgutil
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

import wherewhat
from wherewhat.studies import pages, registry

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))
MODULES = [name for _, name, _ in pkgutil.walk_packages(wherewhat.__path__, "wherewhat.")]


@pytest.fixture
def no_new_studies() -> Iterator[None]:
    """Afterwards, forget the studies that an example added."""
    known = [(names, dict(names)) for names in (registry.STUDIES, pages.PAGES)]
    yield
    for names, before in known:
        names.clear()
        names.update(before)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs(path: Path, capsys, no_new_studies: None):
    runpy.run_path(str(path), run_name="__main__")
    assert "report.html" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["wherewhat", *MODULES])
def test_the_examples_in_docstrings_run(name: str):
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0
