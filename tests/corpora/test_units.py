"""Words as they are written: what a range line joins is one unit, and units hang together as the words did."""

from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wherewhat.corpora.bracketed_trees import read_tree
from wherewhat.corpora.dependency_tree import depths, find_cycle, subtree
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.sentence import Annotation, Sentence
from wherewhat.corpora.treebank import Treebank
from wherewhat.corpora.units import Units, units_of
from wherewhat.errors import UserError

FRENCH = """\
# text = Rends-le 10 000 fois au roi.
1-2\tRends-le\t_\t_\t_\t_\t_\t_\t_\t_
1\tRends\trendre\tVERB\t_\t_\t0\troot\t_\t_
2\t-le\tlui\tPRON\t_\t_\t1\tobj\t_\t_
3\t10 000\t10000\tNUM\t_\t_\t4\tnummod\t_\t_
4\tfois\tfois\tNOUN\t_\t_\t1\tobl\t_\t_
4.1\t_\t_\tVERB\t_\t_\t_\t_\t0:x\t_
5-6\tau\t_\t_\t_\t_\t_\t_\t_\t_
5\tà\tà\tADP\t_\t_\t7\tcase\t_\t_
6\tle\tle\tDET\t_\t_\t7\tdet\t_\t_
7\troi\troi\tNOUN\t_\t_\t2\tnmod\t_\tSpaceAfter=No
8\t.\t.\tPUNCT\t_\t_\t1\tpunct\t_\t_
"""
FORESTS = st.integers(1, 9).flatmap(lambda size: st.lists(st.integers(0, size), min_size=size, max_size=size))


def written(folder: Path, text: str) -> Sentence:
    path = folder / "a.conllu"
    path.write_text(text)
    (only,) = Treebank((str(path),)).read(path)
    return only


def test_a_range_is_one_unit_and_takes_the_part_of_its_topmost_word(tmp_path: Path):
    found = units_of(written(tmp_path, FRENCH))
    assert found == Units(
        words=("Rends-le", "10 000", "fois", "au", "roi", "."),
        head=(0, 3, 1, 5, 1, 1),  # "roi" depends on "-le", which is of the first unit; "-le" on "Rends" is dropped
        deprel=("root", "nummod", "obl", "case", "nmod", "punct"),
        upos=("VERB", "NUM", "NOUN", "ADP", "NOUN", "PUNCT"),
        places=((0, 8), (9, 15), (16, 20), (21, 23), (24, 27), (27, 28)),
        raw="Rends-le 10 000 fois au roi.",
        merged=2,
    )
    assert [found.raw[start:end] for start, end in found.places] == list(found.words)


def test_a_unit_takes_the_word_nearest_to_the_root_though_another_comes_first(tmp_path: Path):
    """Had the first word decided, unit 1 would depend on unit 2 and unit 2 on unit 1."""
    lines = FRENCH.splitlines()
    lines[2] = "1\tRends\trendre\tVERB\t_\t_\t4\tacl\t_\t_"
    lines[3] = "2\t-le\tlui\tPRON\t_\t_\t0\troot\t_\t_"
    lines[5] = "4\tfois\tfois\tNOUN\t_\t_\t2\tobl\t_\t_"
    found = units_of(written(tmp_path, "\n".join(lines) + "\n"))
    assert found.head[:3] == (0, 3, 1) and found.deprel[0] == "root" and found.upos[0] == "PRON"


@given(FORESTS, st.data())
def test_units_of_a_tree_are_a_tree(heads: list[int], data: st.DataObject):
    """Whatever words are joined, nothing goes in a circle and somebody is the root."""
    if find_cycle(heads):
        return
    joined = data.draw(st.lists(st.booleans(), min_size=len(heads), max_size=len(heads)))
    places, at = [], 0
    for join in joined:
        at += not join
        places.append((at, at + 1))
    known = Annotation(head=tuple(heads), deprel=("x",) * len(heads), raw="a" * 20, places=tuple(places))
    found = units_of(Sentence(("a",) * len(heads), annotate=lambda: known))
    assert not find_cycle(found.head) and 0 in found.head and len(found.head) == len(set(places))
    assert found.merged == sum(places.count(place) > 1 for place in set(places))


@given(FORESTS)
def test_walks_along_arcs_agree_with_plain_ones(heads: list[int]):
    def way(word: int) -> list[int]:
        """All governors of a word, or as many as show that there is no end."""
        found = []
        while heads[word] and len(found) <= len(heads):
            word = heads[word] - 1
            found.append(word)
        return found

    ways = [way(word) for word in range(len(heads))]
    endless = [word for word, above in enumerate(ways) if len(above) > len(heads)]
    around = find_cycle(heads)
    assert bool(around) == bool(endless)
    for one, other in zip(around, around[1:] + around[:1], strict=True):
        assert heads[one] == other + 1
    if not endless:
        assert depths(heads) == [len(above) for above in ways]
        for word in range(len(heads)):
            under = [one for one in range(len(heads)) if one == word or word in ways[one]]
            between = [[one, *ways[one][: len(ways[one]) - len(ways[word])]] for one in under]  # up to the word itself
            assert subtree(heads, word) == under
            assert subtree(heads, word, without=0) == [
                one for one, path in zip(under, between, strict=True) if 0 not in path
            ]


def test_other_corpora_have_units_too():
    for sentence in islice(Grammar().sentences("test"), 50):
        found = units_of(sentence)
        assert (found.words, found.head, found.deprel) == (sentence.words, sentence.head, sentence.deprel)
        assert found.raw == sentence.text and found.merged == 0 and found.upos == sentence.upos
        assert [found.raw[start:end] for start, end in found.places] == list(sentence.words)
    tree = units_of(read_tree("(S (NN dogs) (VBP bark))", "it").sentence(""))
    assert tree.words == ("dogs", "bark") and tree.head == tree.deprel == tree.upos == ()


@pytest.mark.parametrize(("heads", "path", "line"), [("0 3 2", "2 to 3 to 2", 2), ("1 0 2", "1 to 1", 1)])
def test_words_that_govern_each_other_in_a_circle_are_named(tmp_path: Path, heads: str, path: str, line: int):
    rows = [f"{n}\tw\tw\tX\t_\t_\t{head}\tdep\t_\t_\n" for n, head in enumerate(heads.split(), start=1)]
    with pytest.raises(
        UserError, match=rf"line {line} of .*a.conllu has a head that leads back to it \({path}\); mend"
    ):
        written(tmp_path, "".join(rows))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("7\troi\t", "7\t\t", "line 11 of .*a.conllu has no form .its second column is empty.; mend the line"),
        ("5-6\tau\t", "5-6\t \t", "line 8 of .*a.conllu has no form"),
        ("5-6\tau", "5-9\tau", "line 8 of .*a.conllu has the range 5-9 after word 4 of 8; put a range before"),
        ("5-6\tau", "6-7\tau", "line 8 of .*a.conllu has the range 6-7 after word 4 of 8"),
        ("1-2\tRends-le", "1-5\tRends-le", "line 8 of .*a.conllu has the range 5-6 after word 4 of 8"),
    ],
)
def test_what_is_written_nowhere_and_ranges_that_do_not_fit_are_named(tmp_path: Path, old: str, new: str, says: str):
    assert FRENCH.count(old) == 1
    with pytest.raises(UserError, match=says):
        written(tmp_path, FRENCH.replace(old, new))


def test_what_is_missing_is_empty_and_cases_are_known(tmp_path: Path):
    text = FRENCH.replace("\trendre\t", "\t_\t").replace("roi\troi\tNOUN\t_\t_", "_\t_\tNOUN\t_\tCase=Dat|Number=Sing")
    found = written(tmp_path, text)
    assert found.lemma[0] == "" and found.lemma[6] == "_" == found.words[6] and found.lemma[1] == "lui"
    assert found.case == (*(None,) * 6, "Dat", None)


@pytest.mark.shared
def test_a_real_treebank_has_its_units(shared: Path):
    path = shared / "data" / "en_ewt-ud-dev.conllu"
    lines = path.read_text().splitlines()
    quoted = [line[9:] for line in lines if line.startswith("# text = ")]
    ranges = sum("-" in line.split("\t")[0] for line in lines if line[:1].isdigit())
    found = [units_of(sentence) for sentence in Treebank((str(path),)).read(path)]
    assert len(found) == 2001 and [one.raw for one in found] == quoted
    assert sum(one.merged for one in found) == ranges == 359
    for one in found:
        assert [one.raw[start:end] for start, end in one.places] == list(one.words)
        assert one.head.count(0) == 1 and all(0 <= head <= len(one.words) for head in one.head)
        assert not find_cycle(one.head) and len(one.head) == len(one.deprel) == len(one.upos) == len(one.words)
