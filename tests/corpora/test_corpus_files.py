"""Text files and treebanks as corpora: what is read, how it is split, and what is said of files that cannot be."""

import sys
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

from wherewhat.corpora.base import file_split_of, split_of
from wherewhat.corpora.plain_text import PlainText
from wherewhat.corpora.registry import CORPORA, corpus, corpus_from
from wherewhat.corpora.treebank import Treebank
from wherewhat.errors import UserError
from wherewhat.tasks.base import SPLITS

TREEBANK = """\
# sent_id = one
# text = Maria's dogs don't sleep.
1\tMaria\tMaria\tPROPN\tNNP\tNumber=Sing\t3\tnmod:poss\t_\tSpaceAfter=No
2\t's\t's\tPART\tPOS\t_\t1\tcase\t_\t_
3\tdogs\tdog\tNOUN\tNNS\tNumber=Plur\t6\tnsubj\t_\t_
4-5\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
4\tdo\tdo\tAUX\tVBP\t_\t6\taux\t_\t_
5\tn't\tnot\tPART\tRB\t_\t6\tadvmod\t_\t_
6\tsleep\tsleep\tVERB\tVB\t_\t0\troot\t_\tSpaceAfter=No
6.1\tsleep\tsleep\tVERB\tVB\t_\t_\t_\t0:conj\t_
7\t.\t.\tPUNCT\t.\t_\t6\tpunct\t_\t_

# sent_id = two
1\t10 000\t10000\tNUM\t_\t_\t2\tnummod\t_\t_
2\tyes\tyes\tINTJ\tUH\t_\t0\troot\t_\tSpaceAfter=No
"""


def everything(files: PlainText | Treebank) -> list:
    return list(chain.from_iterable(files.read(Path(file)) for file in files.files))


def lines_file(folder: Path, lines: int = 200) -> Path:
    path = folder / "some.txt"
    path.write_text("".join(f"Maria counts to {number}.\n\n" for number in range(lines)))
    return path


def test_a_line_is_a_sentence(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffMaria sees Peter's dog.\r\n\r\n   \nÉté, oui!".encode())
    found = everything(PlainText((str(path),)))
    assert [one.words for one in found] == [
        ("maria", "sees", "peter", "'", "s", "dog", "."),
        ("été", ",", "oui", "!"),
    ]
    assert [one.where for one in found] == ["a.txt line 1", "a.txt line 4"]
    assert found[0].head == () and found[0].preds == () and found[0].tree == ""


def test_every_line_is_in_one_split(tmp_path: Path):
    path = lines_file(tmp_path)
    one = PlainText((str(path),))
    texts = {split: [sentence.text for sentence in one.sentences(split)] for split in SPLITS}
    assert sorted(chain.from_iterable(texts.values())) == sorted(sentence.text for sentence in everything(one))
    assert all(file_split_of(text) == split for split in SPLITS for text in texts[split])
    assert len(texts["train"]) > 5 * len(texts["valid"]) and len(texts["test"]) > 5
    assert [sentence.text for sentence in one.sentences("test")] == texts["test"], "the same ones in the same order"
    assert file_split_of("Maria Counts") == file_split_of("maria counts")


def test_texts_that_end_alike_fall_into_all_splits():
    """The plain hash of a text is odd or even as its letters are; of lines with one parity none would be in a split."""
    alike = [f"{number:03b} {number:03b}" for number in range(4000)]
    splits = Counter(map(file_split_of, alike))
    assert splits["train"] > 3000 and min(splits["test"], splits["valid"]) > 300


def test_some_sentences_are_chosen_by_the_seed(tmp_path: Path):
    for one in (PlainText((str(lines_file(tmp_path)),)), corpus("grammar")):
        some, same, other = (one.some("test", 5, seed=seed) for seed in (0, 0, 1))
        texts = [[sentence.text for sentence in each] for each in (some, same, other)]
        assert texts[0] == texts[1] != texts[2] and len(set(texts[0])) == 5
        split = split_of if one.endless else file_split_of
        assert {split(text) for text in texts[0] + texts[2]} == {"test"}


def test_a_file_without_lines_is_refused_at_the_door(tmp_path: Path):
    path = tmp_path / "long.txt"
    path.write_text("short\n" + "word " * 300_000)
    with pytest.raises(
        UserError, match=r"line 2 of .*long.txt has more than 1,000,000 bytes; write one sentence per l"
    ):
        everything(PlainText((str(path),)))


@pytest.mark.parametrize("seed", [-1, 2**31])
def test_seeds_that_the_grammar_cannot_have(seed: int):
    with pytest.raises(UserError, match=f"the grammar's seed cannot be {seed}; give a whole number from 0 to"):
        corpus("grammar", seed=seed)


def test_a_file_is_not_read_before_it_is_asked_for(tmp_path: Path):
    path = tmp_path / "a.txt"
    good = next(f"word {n}" for n in range(99) if file_split_of(f"word {n}") == "train")
    path.write_bytes(good.encode() + b"\n\xff\xfe\n")
    sentences = PlainText((str(path),)).sentences("train")
    assert next(sentences).text == good
    with pytest.raises(UserError, match="line 2 of .*a.txt is not UTF-8 text; convert the file first"):
        next(sentences)


def test_a_treebank_gives_words_heads_and_places(tmp_path: Path):
    path = tmp_path / "a.conllu"
    path.write_text(TREEBANK)
    one, two = everything(Treebank((str(path),)))
    assert one.words == ("Maria", "'s", "dogs", "do", "n't", "sleep", ".")
    assert one.head == (3, 1, 6, 6, 6, 0, 6) and one.deprel[2] == "nsubj" and one.upos[0] == "PROPN"
    assert one.number == ("sg", None, "pl", None, None, None, None) and one.lemma[4] == "not" and one.xpos[2] == "NNS"
    assert one.annotation.id == "one" and one.annotation.raw == "Maria's dogs don't sleep."
    assert [one.annotation.raw[start:end] for start, end in one.annotation.places] == [
        "Maria",
        "'s",
        "dogs",
        "don't",
        "don't",
        "sleep",
        ".",
    ]
    assert (one.where, two.where) == ("a.conllu line 3", "a.conllu line 14")
    assert two.words == ("10_000", "yes") and two.xpos == (None, "UH") and two.annotation.raw == "10 000 yes"
    assert one.tree == "" and one.spans == () and one.preds == ()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("4\tdo\tdo", "line 7 of .*b.conllu has 3 columns and CoNLL-U has 10; mend the line"),
        ("four\tdo\tdo\tAUX\tVBP\t_\t6\taux\t_\t_", "line 7 of .*b.conllu is not CoNLL-U .*'four' is not a valid ID"),
        ("4\tdo\tdo\tAUX\tVBP\t_\t99\taux\t_\t_", "line 7 of .*b.conllu has no head among the 7 words of its sentence"),
        ("4\tdo\tdo\tAUX\tVBP\t_\t_\taux\t_\t_", "line 7 of .*b.conllu has no head among the 7 words of its sentence"),
        ("9\tdo\tdo\tAUX\tVBP\t_\t6\taux\t_\t_", "line 7 of .*b.conllu should be word 4 and is word 9; mend the line"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str, says: str):
    path = tmp_path / "b.conllu"
    lines = TREEBANK.split("\n")
    path.write_text("\n".join([*lines[:6], line, *lines[7:]]))
    with pytest.raises(UserError, match=says):
        everything(Treebank((str(path),)))


def test_a_sentence_without_words_is_named(tmp_path: Path):
    path = tmp_path / "b.conllu"
    path.write_text(TREEBANK + "\n1.1\tsleep\tsleep\tVERB\tVB\t_\t_\t_\t0:conj\t_\n")
    with pytest.raises(UserError, match="line 17 of .*b.conllu begins a sentence without words; mend the lines"):
        everything(Treebank((str(path),)))


def test_a_missing_library_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.conllu"
    path.write_text(TREEBANK)
    monkeypatch.setitem(sys.modules, "conllu.parser", None)
    with pytest.raises(UserError, match=r"needs the conllu library; run: pip install 'wherewhat\[data\]'"):
        everything(Treebank((str(path),)))


@pytest.mark.parametrize("kind", ["text", "treebank"])
def test_what_holds_nothing_is_refused(tmp_path: Path, kind: str):
    empty, other = tmp_path / "empty.txt", tmp_path / "other.txt"
    empty.write_text("\n \n")
    other.write_text("")
    with pytest.raises(UserError, match=r"there are no sentences in .*empty.txt and .*other.txt; give a file"):
        list(corpus(kind, files=[str(empty), str(other)]).sentences("train"))
    with pytest.raises(UserError, match="there is no file .*gone.txt; check the path"):
        list(corpus(kind, files=[str(tmp_path / "gone.txt")]).sentences("train"))
    with pytest.raises(UserError, match="is a folder, not a file; name a file inside it"):
        list(corpus(kind, files=[str(tmp_path)]).sentences("train"))
    with pytest.raises(UserError, match=f"the {kind} corpus needs at least one file"):
        corpus(kind, files=[])


def test_a_split_that_nothing_fell_into_says_so(tmp_path: Path):
    path = tmp_path / "short.txt"
    path.write_text("peter laughs .\n")
    assert file_split_of("peter laughs .") == "train"
    with pytest.raises(
        UserError, match=r"there is one sentence in .*short.txt and none is of the test split; a tenth each goes to"
    ):
        list(PlainText((str(path),)).sentences("test"))
    with pytest.raises(UserError, match="unknown split 'dev'"):
        PlainText((str(path),)).sentences("dev")


@pytest.mark.parametrize("name", CORPORA)
def test_every_corpus_can_be_made_again_from_plain_values(name: str):
    sizes = {"seed": 4, "past": True} if name == "grammar" else {"files": ["a", "b"]}
    one = corpus(name, **sizes)
    assert one.plain() == {"name": name, **sizes} and corpus_from(one.plain()) == one
    with pytest.raises(UserError, match=f"unknown size of the {name} corpus 'colour'"):
        corpus(name, **sizes, colour=1)


def test_an_unknown_corpus_is_refused():
    with pytest.raises(UserError, match="unknown corpus 'grammer'; did you mean 'grammar'\\?"):
        corpus("grammer")


@pytest.mark.shared
def test_a_real_treebank_is_read_as_it_was_written(shared: Path):
    """The text that words and ranges spell is the one that the file itself quotes."""
    path = shared / "data" / "en_ewt-ud-dev.conllu"
    quoted = [line[9:] for line in path.read_text().splitlines() if line.startswith("# text = ")]
    found = everything(Treebank((str(path),)))
    assert [one.annotation.raw for one in found] == quoted
    assert len(found) == 2001 and all(one.head.count(0) == 1 for one in found)
    assert all(len(one.annotation.places) == len(one.words) for one in found)
