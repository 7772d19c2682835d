"""Trees in brackets: what is read, what is left out, and what is said of brackets that cannot be read."""

import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import bracketed
import pytest

from wherewhat.corpora.bracketed_trees import BracketedTrees, read_tree
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.registry import corpus
from wherewhat.corpora.sentence import Annotation, Sentence
from wherewhat.corpora.units import punctuation
from wherewhat.errors import UserError

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
PENN = """\
( (S
    (NP-SBJ-1 (NNP Ms.) (NNP Haag) )
    (VP (VBZ plays)
      (NP (NNP Elianti) )
      (S (NP-SBJ (-NONE- *-1) ) (VP (-NONE- *?*) )))
    (. .) ))
( (S=2 (`` ``) (NP (PRP$ her) (NN 1\\/2)) (VP (VBD was) (ADVP (RB here))) (-LRB- -LRB-) (: --) (-RRB- -RRB-) ('' '')))

(FRAG (UH Yes))(X (NN two) (NNS trees))
"""


def trees(folder: Path, text: str) -> list[Sentence]:
    path = folder / "some.mrg"
    path.write_text(text)
    return list(BracketedTrees((str(path),)).read(path))


def test_the_worked_tree_has_its_phrases():
    known = json.loads((VECTORS / "locality_symmetry.json").read_text())["constituents"]
    tree = read_tree(known["tree"], "it")
    assert list(tree.words) == known["words"] and tree.text == known["tree"]
    spans = sorted([start, end] for _, start, end in tree.spans)
    assert spans == known["spans"]
    for length in range(1, 12):
        assert [span for span in spans if span[1] - span[0] == length] == known["by_length"].get(str(length), [])


def test_trees_go_over_lines_and_lose_what_nobody_wrote(tmp_path: Path):
    first, second, third, fourth = trees(tmp_path, PENN)
    assert first.words == ("Ms.", "Haag", "plays", "Elianti", ".")
    assert first.tree == "(S (NP (NNP Ms.) (NNP Haag)) (VP (VBZ plays) (NP (NNP Elianti))) (. .))"
    assert first.spans == (("S", 0, 5), ("NP", 0, 2), ("VP", 2, 4), ("NP", 3, 4))
    assert second.words == ('"', "her", "1/2", "was", "here", "(", "--", ")", '"')
    assert second.xpos == ("``", "PRP$", "NN", "VBD", "RB", "-LRB-", ":", "-RRB-", "''") and second.upos == ()
    assert ("S", 0, 9) in second.spans and "(-LRB- -LRB-)" in second.tree
    assert third.words == ("Yes",) and third.spans == (("FRAG", 0, 1),) and fourth.text == "two trees"
    assert [one.where for one in (first, second, third, fourth)] == [f"some.mrg line {n}" for n in (1, 7, 9, 9)]


def test_a_phrase_inside_a_phrase_of_the_same_words_is_kept():
    assert read_tree("(ROOT (S (VP (VB Go))))", "it").spans == (("ROOT", 0, 1), ("S", 0, 1), ("VP", 0, 1))


def test_the_grammars_own_trees_are_read_as_it_means_them():
    for sentence in islice(Grammar(past=True).sentences("train"), 200):
        tree = read_tree(sentence.tree, "it")
        assert (tree.words, tree.tags, tree.spans) == (sentence.words, sentence.xpos, sentence.spans)
        assert tree.text == sentence.tree


def phrases(node: bracketed.Node) -> Iterable[tuple[str, int, int]]:
    """The plain walk over a tree that another reader read."""
    if not bracketed.is_leaf(node):
        yield (node[0], *bracketed.span(node))
        for part in node[1]:
            yield from phrases(part)


def test_phrases_are_those_of_a_second_reader(tmp_path: Path):
    for sentence in trees(tmp_path, PENN):
        assert tuple(phrases(bracketed.read(sentence.tree))) == sentence.spans


def test_punctuation_is_told_from_words(tmp_path: Path):
    tagged = trees(tmp_path, PENN)[1]
    marks = [word for word, is_one in zip(tagged.words, punctuation(tagged), strict=True) if is_one]
    assert marks == ['"', "(", "--", ")", '"']
    (odd,) = trees(tmp_path, "(X (NN %) (HYPH -) (NFP xx) (SYM &))")
    assert punctuation(odd) == (False, True, True, False), "as the tags say, whatever it looks like"
    (chinese,) = trees(tmp_path, "(IP (NN 狗) (VV 叫) (PU 。))")
    assert punctuation(chinese) == (False, False, True), "tags that are not Penn's say nothing, so it is seen"
    (german,) = trees(tmp_path, "(S (NE Otto) ($, ,) (NN %) (ADV da) ($. .))")
    assert punctuation(german) == (False, True, False, False, True)
    missing = Sentence(("Yes", "!"), annotate=lambda: Annotation(upos=("_", "_"), xpos=(None, None)))
    assert punctuation(missing) == (False, True)
    partly = Sentence(("a", "%", "."), annotate=lambda: Annotation(upos=("X", "_", "_"), xpos=("FW", "NN", ".")))
    assert punctuation(partly) == (False, False, True), "Penn's tags are asked next"
    grammar = Grammar().sentence("train", 0)
    assert punctuation(grammar) == (False, False, True) == punctuation(Sentence(grammar.words))


def test_a_very_deep_tree_is_read():
    deep = 5000
    tree = read_tree("(S " * deep + "(NN deep)" + ")" * deep, "it")
    assert tree.words == ("deep",) and len(tree.spans) == deep


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "(S (NP (DT the) dog))",
            "in line 3 of .*some.mrg has the word 'dog' without a tag of its own; write .TAG dog.",
        ),
        ("(S (NP the (NN dog)))", "in line 3 of .*some.mrg has the word 'the' without a tag of its own"),
        ("(NP the\n dog)", "in line 3 of .*some.mrg has the word 'dog' without a tag of its own"),
        ("(S\n (NP (DT the)", "the tree that begins in line 3 of .*some.mrg is never closed; mend the tree"),
        ("(S (NP))", "in line 3 of .*some.mrg has a bracket with nothing but 'NP' in it; write"),
        ("()", "in line 3 of .*some.mrg has a bracket with nothing in it; write"),
        ("( (NP (-NONE- *)))", "in line 3 of .*some.mrg has no words; take it out"),
        (
            "( ( The cat ) ( is ( asleep . ) ) )",
            "in line 3 of .*some.mrg has brackets without labels inside it, .*; write .TAG word. for a word",
        ),
        ("( ( The ( old cat ) ) ( sat down ) )", "in line 3 of .*some.mrg has brackets without labels inside it"),
        ("(ROOT ( (NN cat) (NN nap)))", "in line 3 of .*some.mrg has brackets without labels inside it"),
        ("( ( (NN cat)))", "in line 3 of .*some.mrg has brackets without labels inside it"),
        ("( ( A cat ) sleeps )", "in line 3 of .*some.mrg has the word 'sleeps' without a tag of its own"),
        ("(NN a)\n)", "line 4 of .*some.mrg closes a bracket that was never opened; mend the line"),
        ("(NN a) word", "line 3 of .*some.mrg has 'word' between trees; mend the line"),
    ],
)
def test_a_broken_tree_is_named_by_the_line_that_it_begins_in(tmp_path: Path, text: str, says: str):
    with pytest.raises(UserError, match=says):
        trees(tmp_path, f"(UH Yes)\n\n{text}\n")


def test_a_bracket_around_everything_may_hold_several_trees():
    tree = read_tree("( (S (NP (NNP Maria)) (VP (VBZ sings))) (. .))", "it")
    assert tree.words == ("Maria", "sings", ".") and tree.spans == (("S", 0, 2), ("NP", 0, 1), ("VP", 1, 2))


def test_one_tree_is_one_tree():
    with pytest.raises(UserError, match=r"mine goes on after its last bracket \('x'\); mend the tree"):
        read_tree("(NN a) x", "mine")
    with pytest.raises(UserError, match="mine is not a bracketed tree; write"):
        read_tree("a dog", "mine")
    with pytest.raises(UserError, match="mine is not a bracketed tree; write"):
        read_tree(" ", "mine")
    with pytest.raises(UserError, match="mine is never closed"):
        read_tree("(S (NN a)", "mine")


def test_trees_are_a_corpus_with_splits(tmp_path: Path):
    path = tmp_path / "many.mrg"
    path.write_text("".join(f"(S (NN word{number}) (. .))\n" for number in range(200)))
    one = corpus("trees", files=[str(path)])
    counts = {split: len(list(one.sentences(split))) for split in ("train", "valid", "test")}
    assert sum(counts.values()) == 200 and counts["train"] > 120 and min(counts.values()) > 5
