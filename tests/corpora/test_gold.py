"""Gold files: what a file is, told by its content; what it has, and what is said of one that lacks what is needed."""

import json
from collections import Counter
from pathlib import Path

import pytest

from wherewhat.corpora.annotated_examples import NO_LABEL
from wherewhat.corpora.gold import HAS, MAY_HAVE, NEEDS, kind_of, read_gold
from wherewhat.errors import UserError

TREE = "(S (NP (NNS Dogs)) (VP (VBP bark)))"
PLAIN = "# sent_id = a-b-1\n1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"
ROLES = PLAIN.replace("\t_\n2", "\tArgs=ARG0\n2").replace("\t_\n\n", "\tRoleset=bark.01|Args=V\n\n")
CASES = json.dumps({"gold_label": "yes", "sentence1_parse": TREE, "sentence2_parse": TREE})


def file(folder: Path, text: str, name: str = "it.txt") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (PLAIN, "treebank"),
        ("\n\n" + PLAIN.split("\n", 1)[1], "treebank"),
        ("1-2\tdu\t_\t_", "treebank"),
        (f"\n  {TREE}", "trees"),
        (f"( {TREE})", "trees"),
        (CASES, "labelled examples"),
        (f"yes\t{TREE}", "labelled examples"),
        (f"Label\ttree\nyes\t{TREE}", "labelled examples"),
        (f"0\t{TREE}\t{TREE}", "labelled examples"),
        (f"12\t( {TREE})", "labelled examples"),
        ("1\t(\t(\tPUNCT\t-LRB-\t_\t2\tpunct\t_\t_", "treebank"),
        ("1\t(:\t(:\tSYM\tNFP\t_\t0\troot\t_\t( x", "treebank"),
    ],
)
def test_a_file_is_what_is_in_it(tmp_path: Path, text: str, kind: str):
    assert kind_of(file(tmp_path, text)) == kind_of(file(tmp_path, text, "a+b.conllu")) == kind


def test_all_sentences_come_in_order_though_some_lack_what_is_needed(tmp_path: Path):
    path = file(tmp_path, PLAIN + ROLES + PLAIN)
    found = list(read_gold(path, "roles"))
    assert [bool(one.preds) for one in found] == [False, True, False]
    assert [one.where for one in found] == [f"it.txt line {line}" for line in (2, 6, 10)]
    assert len(list(read_gold(path, "dependencies"))) == 3


def test_sentences_of_cases_have_phrases_and_labels(tmp_path: Path):
    path = file(tmp_path, f"{CASES}\n{CASES}\n")
    for need in ("constituents", "labels"):
        assert [one.text for one in read_gold(path, need)] == ["Dogs bark"] * 4
    skipped: Counter[str] = Counter()
    undecided = CASES.replace("yes", "-")
    path = file(tmp_path, f"{undecided}\n{CASES}\n{undecided}\n")
    assert len(list(read_gold(path, "constituents", skipped=skipped))) == 2 and skipped == {NO_LABEL: 2}


def test_cases_whose_trees_have_no_phrases_have_none(tmp_path: Path):
    path = file(tmp_path, "yes\t(NNS Dogs)\nno\t(NN rain)\n")
    assert len(list(read_gold(path, "labels"))) == 2
    says = r"it.txt has no constituents \(its first sentence, line 1, has none, nor has any other\); give a file"
    with pytest.raises(UserError, match=says):
        read_gold(path, "constituents")


@pytest.mark.parametrize("need", NEEDS)
@pytest.mark.parametrize(
    ("text", "has"),
    [
        (PLAIN, {"dependencies"}),
        (ROLES, {"dependencies", "roles"}),
        (TREE, {"constituents"}),
        (CASES, {"constituents", "labels"}),
    ],
)
def test_a_file_that_lacks_what_is_needed_says_which_and_where(tmp_path: Path, text: str, has: set[str], need: str):
    path = file(tmp_path, text + "\n" + text)
    if need in has:
        assert list(read_gold(path, need))
        return
    first = 2 if text.startswith("#") else 1
    says = rf"it.txt has no {need} \(its first sentence, line {first}, has none, nor has any other\); give a file with"
    with pytest.raises(UserError, match=says) as told:
        read_gold(path, need)
    assert str(told.value).endswith(NEEDS[need])


def test_every_need_is_known_everywhere():
    assert set(NEEDS) == set(HAS) == set().union(*MAY_HAVE.values())
    with pytest.raises(UserError, match="unknown need 'role'; did you mean 'roles'?"):
        read_gold(Path("any"), "role")


def test_roles_need_somebody_who_has_one(tmp_path: Path):
    nobody = ROLES.replace("Args=ARG0", "Args=_")
    with pytest.raises(UserError, match="has no roles"):
        read_gold(file(tmp_path, nobody), "roles")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("\n \n", "there are no sentences in .*it.txt; give a file with some"),
        ("# only = a comment\n", "there are no sentences in .*it.txt; give a file with some"),
        (
            "\nOnce upon a time",
            r"line 2 of .*it.txt \('Once upon a time'\) is not the first of CoNLL-U, bracketed trees",
        ),
        (
            "web/a.xml 0 0 [WORD] NN (S*) - -",
            r"it.txt has its words blanked out; give the treebank .* FILE.conllu\+.*it.txt",
        ),
        (PLAIN + "3\tbroken\n", "line 5 of .*it.txt has 2 columns and CoNLL-U has 10; mend the line"),
    ],
)
def test_what_is_no_gold_file_is_refused(tmp_path: Path, text: str, says: str):
    with pytest.raises(UserError, match=says):
        list(read_gold(file(tmp_path, text), "dependencies"))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path):
    for gone in (tmp_path / "gone.conllu", tmp_path / "c++" / "gone.conllu"):
        with pytest.raises(UserError, match="there is no file .*gone.conllu; check the path"):
            read_gold(gone, "dependencies")


def test_a_file_is_read_no_further_than_asked(tmp_path: Path):
    sentences = read_gold(file(tmp_path, ROLES + "3\tbroken\n"), "roles")
    assert next(sentences).text == "Dogs bark"
    with pytest.raises(UserError, match="line 5"):
        next(sentences)


@pytest.mark.shared
def test_a_real_treebank_has_dependencies_and_no_roles(shared: Path):
    path = shared / "data" / "en_ewt-ud-dev.conllu"
    assert next(read_gold(path, "dependencies")).text == "From the AP comes this story :"
    with pytest.raises(UserError, match=r"en_ewt-ud-dev.conllu has no roles \(its first sentence, line 5, has none"):
        read_gold(path, "roles")
