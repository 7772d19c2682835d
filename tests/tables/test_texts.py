"""Reading texts from files."""

from pathlib import Path

import pytest

from wherewhat.errors import UserError
from wherewhat.tables.texts import Text, read_texts, take_turns


def write(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def test_one_text_a_line(tmp_path: Path):
    path = write(tmp_path / "a.lines", "first\n\n second \n")
    assert list(read_texts(path)) == [Text("first", "a.lines line 1"), Text("second", "a.lines line 3")]


def test_a_txt_without_blank_lines_is_one_text_a_line(tmp_path: Path):
    assert [text.content for text in read_texts(write(tmp_path / "a.txt", "one\ntwo\n"))] == ["one", "two"]


def test_a_txt_with_blank_lines_is_running_prose(tmp_path: Path):
    found = list(read_texts(write(tmp_path / "a.txt", "A paragraph,\nwrapped.\n\nAnother.\n")))
    assert found == [Text("A paragraph,\nwrapped.\n\nAnother.", "a.txt")]


def test_a_column_of_json_lines(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", '{"body": "x", "n": 1}\n\n{"body": "y\\nz"}\n')
    assert [text.content for text in read_texts(path, "body")] == ["x", "y\nz"]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.txt", "", "holds no text; give a file with one text per line"),
        ("a.txt", " \n\n", "holds no text"),
        ("a.jsonl", '{"text": 1', "a.jsonl line 1 is not JSON"),
        ("a.jsonl", "[1]", "a.jsonl line 1 is not a JSON object"),
        ("a.jsonl", '{"body": "x"}', "a.jsonl line 1 has no text in column 'text'; it has: body (--column)"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, content: str, sentence: str):
    with pytest.raises(UserError) as error:
        list(read_texts(write(tmp_path / name, content)))
    assert sentence in str(error.value)


def test_missing_folder_and_binary(tmp_path: Path):
    with pytest.raises(UserError, match="there is no text file .*nowhere.txt; check the path, or name a built-in text"):
        read_texts(tmp_path / "nowhere.txt")  # at once, not when the first text is taken
    with pytest.raises(UserError, match="is a folder, not a text file"):
        list(read_texts(tmp_path))
    (tmp_path / "binary.txt").write_bytes(b"ab\xff\xfe")
    with pytest.raises(UserError, match=r"is not UTF-8 text \(byte 2\)"):
        list(read_texts(tmp_path / "binary.txt"))


def test_only_line_feeds_end_a_line_and_a_byte_order_mark_is_nothing(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", '\ufeff{"text": "one\u2028two"}\n')
    assert [text.content for text in read_texts(path)] == ["one\u2028two"]


def test_files_take_turns():
    one, two = (iter([Text(word, "") for word in words]) for words in (["a", "b", "c"], ["x"]))
    assert [text.content for text in take_turns([one, two])] == ["a", "x", "b", "c"]
