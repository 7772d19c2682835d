"""Questions from files: label, tab, text. What is read, and the sentence for every file that is no question."""

from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

from wherewhat.corpora.base import file_split_of
from wherewhat.corpora.questions import read_labelled
from wherewhat.errors import UserError
from wherewhat.tasks.base import SPLITS


def question_file(folder: Path, lines: list[str]) -> Path:
    path = folder / "taste.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


def many(count: int = 300) -> list[str]:
    return [f"{'good' if number < count // 2 else 'bad'}\tFilm {number} is\ta film." for number in range(count)]


def test_a_file_is_split_by_its_texts(tmp_path: Path):
    found = read_labelled(question_file(tmp_path, ["label\tsentence", "", *many()]))
    assert found.name == "taste" and found.labels == ("bad", "good")
    everything = list(chain.from_iterable(getattr(found, split) for split in SPLITS))
    assert len(everything) == 300 and Counter(example.label for example in everything) == {"good": 150, "bad": 150}
    assert all(file_split_of(" ".join(one.words)) == split for split in SPLITS for one in getattr(found, split))
    assert everything[0].words == ("film", "0", "is", "a", "film", ".") or everything[0].words[0] == "film"
    assert read_labelled(question_file(tmp_path, ["Label\tsentence", "", *many()])) == found


def test_the_same_text_is_in_one_split_however_it_is_written(tmp_path: Path):
    found = read_labelled(question_file(tmp_path, [*many(), *(line.upper() for line in many())]))
    train = {example.words for example in found.train}
    assert not train & {example.words for example in (*found.valid, *found.test)}
    assert found.labels == ("BAD", "GOOD", "bad", "good")


def test_a_limit_takes_lines_from_all_over_the_file(tmp_path: Path):
    whole, some = (read_labelled(question_file(tmp_path, many()), limit=limit) for limit in (None, 100))
    kept = [*some.train, *some.valid, *some.test]
    assert len(kept) == 100 and set(kept) <= {*whole.train, *whole.valid, *whole.test}
    counts = Counter(example.label for example in kept)
    assert min(counts["good"], counts["bad"]) > 30, "the file is sorted by label, and both are there"
    assert read_labelled(question_file(tmp_path, many()), limit=1000) == whole
    assert [one for one in whole.train if one in set(some.train)] == list(some.train), "in the order of the file"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("good film", "line 17 of .*taste.tsv has no tab; write label<TAB>text"),
        ("\ta film", "line 17 of .*taste.tsv has no label before the tab; write label<TAB>text"),
        ("good\t  ", "line 17 of .*taste.tsv has no text after the tab; write label<TAB>text"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, says: str):
    with pytest.raises(UserError, match=says):
        read_labelled(question_file(tmp_path, [*many()[:16], line, *many()[17:]]))


def test_what_is_no_question_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match="taste.tsv holds no sentences; write label<TAB>text, one per line"):
        read_labelled(question_file(tmp_path, ["", "label\ttext"][:1]))
    with pytest.raises(
        UserError, match="every line of .*taste.tsv has the label 'good'; a question needs at least two"
    ):
        read_labelled(question_file(tmp_path, many()[:150]))
    with pytest.raises(UserError, match="none of the 2 lines of .*taste.tsv is of the .* split; a tenth each goes"):
        read_labelled(question_file(tmp_path, ["good\tone", "bad\ttwo"]))
    rare = next(f"odd\tthing {n}" for n in range(99) if file_split_of(f"thing {n}") == "test")
    with pytest.raises(UserError, match="no training line of .*taste.tsv has the label 'odd'; give more lines with it"):
        read_labelled(question_file(tmp_path, [*many(), rare]))
    with pytest.raises(UserError, match="there is no file .*gone.tsv; check the path"):
        read_labelled(tmp_path / "gone.tsv")
    with pytest.raises(UserError, match="is a folder, not a file"):
        read_labelled(tmp_path)
    (tmp_path / "latin.tsv").write_bytes(b"good\tone\nbad\t\xe9t\xe9\n")
    with pytest.raises(UserError, match="line 2 of .*latin.tsv is not UTF-8 text"):
        read_labelled(tmp_path / "latin.tsv")
    with pytest.raises(UserError, match="0 lines of .*taste.tsv are too few; keep at least 1"):
        read_labelled(question_file(tmp_path, many()), limit=0)
