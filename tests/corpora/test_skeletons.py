"""Skeletons: phrases and roles without words get theirs from a treebank, or are refused where the two do not fit."""

from pathlib import Path

import pytest

from wherewhat.corpora.registry import corpus
from wherewhat.corpora.sentence import Sentence
from wherewhat.corpora.skeleton import Skeleton, both_of
from wherewhat.errors import UserError

WORDS = """\
# sent_id = answers-other-0001
1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_

# sent_id = answers-tale-0001
1\tMen\tman\tNOUN\tNNS\t_\t3\tnsubj:pass\t_\t_
2\twere\tbe\tAUX\tVBD\t_\t3\taux:pass\t_\t_
3\tbitten\tbite\tVERB\tVBN\t_\t0\troot\t_\t_
4\tby\tby\tADP\tIN\t_\t5\tcase\t_\t_
5\tdogs\tdog\tNOUN\tNNS\t_\t3\tobl\t_\t_
6\t:)\t:)\tSYM\tNFP\t_\t3\tdiscourse\t_\t_

# sent_id = answers-tale-0002
1\tDogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\t_
2\tseen\tsee\tVERB\tVBN\t_\t1\tacl\t_\t_
3\thad\thave\tAUX\tVBD\t_\t4\taux\t_\t_
4\thoped\thope\tVERB\tVBN\t_\t1\tparataxis\t_\t_
"""
BONES = """\
web/answers/00/tale.xml 0 0 [WORD] NNS (TOP(S(NP*) - - * (ARG1*)
web/answers/00/tale.xml 0 1 [WORD] VBD (VP* be be.03 (V*) *
web/answers/00/tale.xml 0 2 [WORD] VBN (VP* bite bite.01 * (V*)
web/answers/00/tale.xml 0 3 [WORD] IN (PP* - - * (ARG0*
web/answers/00/tale.xml 0 4 [WORD] NNS (NP*)))) - - * *)
web/answers/00/tale.xml 0 5 [WORD] NFP *)) - - * *

web/answers/00/tale.xml 1 0 [WORD] NNS (TOP(FRAG(NP* - - (ARG1*) (ARG0*
web/answers/00/tale.xml 1 1 [WORD] VBN *) see see.01 (V*) *)
web/answers/00/tale.xml 1 2 [WORD] VBD (VP* - - * *
web/answers/00/tale.xml 1 3 [WORD] VBN *))) hope hope.01 * (V*)

"""


def read(folder: Path, words: str = WORDS, bones: str = BONES) -> list[Sentence]:
    (folder / "a.conllu").write_text(words)
    inner = folder / "answers" / "00"
    inner.mkdir(parents=True, exist_ok=True)
    (inner / "tale.gold_skel").write_text(bones)
    path = Path(f"{folder / 'a.conllu'}+{folder / 'answers'}")
    return list(Skeleton((str(path),)).read(path))


def test_words_get_their_phrases_and_roles_back(tmp_path: Path):
    first, second = read(tmp_path)
    assert first.words == ("Men", "were", "bitten", "by", "dogs", ":)") and first.head == (3, 3, 0, 5, 3, 3)
    assert first.tree == (
        "(TOP (S (NP (NNS Men)) (VP (VBD were) (VP (VBN bitten) (PP (IN by) (NP (NNS dogs))))) (NFP :-RRB-)))"
    )
    assert first.spans == (
        ("TOP", 0, 6),
        ("S", 0, 6),
        ("NP", 0, 1),
        ("VP", 1, 5),
        ("VP", 2, 5),
        ("PP", 3, 5),
        ("NP", 4, 5),
    )
    assert [(verb.lemma, verb.voice) for verb in first.preds] == [("be", "active"), ("bite", "passive")]
    agent, patient = first.preds[1].roles
    assert (agent.role, agent.start, agent.end, agent.head) == ("agent", 4, 5, 4), "without its adposition"
    assert (patient.role, patient.start, patient.end, patient.head) == ("patient", 0, 1, 0)
    assert first.where == "a.conllu line 5" and first.annotation.raw == "Men were bitten by dogs :)"
    assert [(verb.lemma, verb.voice) for verb in second.preds] == [("see", "passive"), ("hope", "active")]
    assert second.preds[1].roles[0].end == 2


def test_documents_without_a_skeleton_are_passed_over_and_one_file_will_do(tmp_path: Path):
    assert len(read(tmp_path)) == 2, "the first sentence is of another document"
    path = f"{tmp_path / 'a.conllu'}+{tmp_path / 'answers' / '00' / 'tale.gold_skel'}"
    assert len(list(corpus("skeleton", files=[path]).read(Path(path)))) == 2
    with pytest.raises(
        UserError, match="no document of .*a.conllu has a skeleton in .*answers; give those of the same"
    ):
        read(tmp_path, WORDS.replace("-tale-", "-story-"))


def test_a_plus_may_be_part_of_a_folder(tmp_path: Path):
    folder = tmp_path / "c++"
    folder.mkdir()
    assert len(read(folder)) == 2
    assert both_of(Path(f"{folder / 'a.conllu'}+{folder}")) == (folder / "a.conllu", folder)
    for gone in (f"{folder}/none.conllu+{folder}", f"{folder}/a.conllu+{folder}/none"):
        with pytest.raises(UserError, match="there is no file .*none.*; check the path"):
            both_of(Path(gone))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("NFP *))", "NFP *)", "the tree of the sentence that begins in line 1 of .*tale.gold_skel is never closed"),
        ("(NP*)))) - - * *)", "(NP*)))) - - * *", "opens the role ARG0 and never closes it; mend the lines"),
        ("(ARG1*)\n", "*)\n", "the sentence that begins in line 1 of .*tale.gold_skel closes a role that was never"),
        (
            "IN (PP* - - * (ARG0*",
            "IN",
            "line 4 of .*tale.gold_skel has 5 columns and a skeleton at least 8; mend the line",
        ),
        (
            " 0 4 [WORD]",
            " x 4 [WORD]",
            "line 5 of .*tale.gold_skel has 'x' for the number of its sentence; mend the line",
        ),
        (
            "NFP *))",
            "NFP ))",
            r"line 6 of .*tale.gold_skel has '\)\)' for its piece of the tree, where one \* stands for the word; mend",
        ),
        (
            "IN (PP* -",
            "IN (PP** -",
            r"line 4 of .*tale.gold_skel has '\(PP\*\*' for its piece of the tree, where one \* stands",
        ),
        (
            "IN (PP*",
            "-NONE- (PP*",
            "line 4 of .*tale.gold_skel has the tag -NONE-, of an empty element; mend the line",
        ),
        ("be be.03", "- -", "line 1 of .*tale.gold_skel has 1 rolesets and 2 columns of roles; mend the lines"),
        (
            "IN (PP* - - * (ARG0*",
            "IN (PP* - -",
            "line 4 of .*tale.gold_skel has 8 columns and the first word of its sentence 10; mend the line",
        ),
        (
            "web/answers/00/tale.xml 1 ",
            "web/answers/00/tale.xml 2 ",
            "a.conllu line 13 is sentence 0002, which .*not have",
        ),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, old: str, new: str, says: str):
    assert old in BONES
    bones = BONES.replace(old, new)
    with pytest.raises(UserError, match=says):
        read(tmp_path, bones=bones)


def test_a_perfect_is_told_without_lemmas_too(tmp_path: Path):
    bare = WORDS.replace("\thave\tAUX", "\t_\tAUX")
    assert [verb.voice for verb in read(tmp_path, bare)[1].preds] == ["passive", "active"]


def test_another_number_of_words_is_refused(tmp_path: Path):
    fewer = "\n".join(line for line in WORDS.split("\n") if ":)" not in line)
    says = (
        "a.conllu line 5 has 5 words and the sentence that begins in line 1 of .*tale.gold_skel has 6; take a treebank"
    )
    with pytest.raises(UserError, match=says):
        read(tmp_path, fewer)
