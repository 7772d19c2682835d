"""The texts that come with the package."""

from pathlib import Path

import pytest

from wherewhat.errors import UserError
from wherewhat.tables.texts import TEXTS, Origin, read_texts, text_file


@pytest.mark.parametrize("name", TEXTS)
def test_a_built_in_text_is_plain_prose_of_some_length(name: str):
    texts = [text.content for text in read_texts(name)]
    words = sum(len(text.split()) for text in texts)
    assert words > 1000
    assert all(text.isascii() and text == text.strip() and "  " not in text for text in texts)


def test_letters_are_twenty_texts_and_the_story_is_one():
    counts = {name: len(list(read_texts(name))) for name in TEXTS}
    assert counts == {"letters": 20, "harbour": 1}
    assert next(read_texts("harbour")).content.count("\n\n") >= 20  # paragraphs


def test_a_file_comes_before_a_built_in_text_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "harbour").mkdir()
    assert text_file("harbour") == TEXTS["harbour"].path  # a folder is no text
    (tmp_path / "letters").write_text("my own\n")
    assert [text.content for text in read_texts("letters")] == ["my own"]


@pytest.mark.parametrize("name", ["leters", "x" * 5000, "a\0b"])
def test_a_name_that_is_neither_is_refused(name: str):
    with pytest.raises(UserError, match="there is no text file .* or name a built-in text: letters, harbour"):
        text_file(name)


def test_a_manifest_calls_a_built_in_text_by_its_name():
    origin = Origin.of([TEXTS["letters"].path, Path("book.txt")], column="text", dataset=None, split="test")
    assert origin.source == "letters, book.txt"
    assert origin.files[0] == str(TEXTS["letters"].path)
