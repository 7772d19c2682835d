"""A model folder and a text to run commands on."""

from pathlib import Path

import pytest
from folders import save_model


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model as it would be downloaded."""
    return save_model(tmp_path_factory.mktemp("models") / "llama")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A file with two texts."""
    path = tmp_path / "texts.txt"
    path.write_text("a b c d e f\nf e d c b a a\n")
    return path
