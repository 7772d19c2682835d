"""Roles in treebanks: whose phrase is which role, in the two forms that proposition banks have."""

from pathlib import Path

import pytest

from wherewhat.corpora.sentence import Sentence
from wherewhat.corpora.treebank import Treebank
from wherewhat.errors import UserError

HEAD = "{n}\t{word}\t{lemma}\t{upos}\t_\t{feats}\t{head}\t{rel}\t"


def row(n: int, told: str, last: str) -> str:
    """A line from `word lemma UPOS head relation [features]` and what the last columns say."""
    word, lemma, upos, head, rel, *feats = told.split()
    return HEAD.format(n=n, word=word, lemma=lemma, upos=upos, feats=(feats or ["_"])[0], head=head, rel=rel) + last


PASSIVE = [  # two predicates: the auxiliary with no roles, and the verb
    ("The the DET 3 det", "Roleset=-|Args=_/_"),
    ("old old ADJ 3 amod", "Roleset=-|Args=_/_"),
    ("man man NOUN 5 nsubj:pass", "Roleset=-|Args=_/ARG1"),
    ("was be AUX 5 aux:pass", "Roleset=be.03|Args=V/_"),
    ("bitten bite VERB 0 root", "Roleset=bite.01|Args=_/V"),
    ("by by ADP 8 case", "Roleset=-|Args=_/_"),
    ("the the DET 8 det", "Roleset=-|Args=_/_"),
    ("dog dog NOUN 5 obl", "Roleset=-|Args=_/ARG0"),
    ("because because ADP 11 case", "Roleset=-|Args=_/_"),
    ("of of ADP 9 fixed", "Roleset=-|Args=_/_"),
    ("hunger hunger NOUN 5 obl", "SpaceAfter=No|Roleset=hunger.01|Args=_/ARGM-CAU"),
    (". . PUNCT 5 punct", "Roleset=-|Args="),
]
RELATIVE = [
    ("dogs dog NOUN 0 root", "Roleset=_|Args=ARG0"),
    ("that that PRON 3 nsubj", "Roleset=_|Args=R-ARG0"),
    ("bite bite VERB 1 acl:relcl", "Roleset=bite.01|Args=V"),
    ("men man NOUN 3 obj", "Roleset=_|Args=ARG1"),
]
GERMAN = [  # the tenth column, and then one per predicate; "Y" is where some files have a flag
    ("Maria Maria PROPN 2 nsubj", "_\tA0\tA0"),
    ("sieht sehen VERB 0 root", "see.01\t_\t_"),
    ("Otto Otto PROPN 2 dobj", "_\tA1\t_"),
    ("und und CCONJ 5 cc", "_\t_\t_"),
    ("lacht lachen VERB 2 conj", "laugh.01\t_\t_"),
]


def read(folder: Path, text: str) -> list[Sentence]:
    path = folder / "up.conllu"
    path.write_text(text)
    return list(Treebank((str(path),)).read(path))


def block(rows: list[tuple[str, str]], ninth: str = "_") -> str:
    return "\n".join(row(n, told, f"{ninth}\t{last}") for n, (told, last) in enumerate(rows, start=1)) + "\n\n"


def told(sentence: Sentence, predicate: int) -> dict[str, tuple[str, str, str]]:
    roles = sentence.preds[predicate].roles
    return {
        role.role: (" ".join(sentence.words[role.start : role.end]), sentence.words[role.head], role.via)
        for role in roles
    }


def test_a_phrase_is_all_that_depends_on_a_marked_word_without_its_adposition(tmp_path: Path):
    (one,) = read(tmp_path, block(PASSIVE))
    assert [(verb.index, verb.lemma, verb.voice) for verb in one.preds] == [(3, "be", "active"), (4, "bite", "passive")]
    assert told(one, 0) == {}
    assert told(one, 1) == {
        "agent": ("the dog", "dog", "direct"),
        "patient": ("The old man", "man", "direct"),
        "argm-cau": ("hunger", "hunger", "direct"),
    }
    assert [role.role for role in one.preds[1].roles][:2] == ["agent", "patient"], "in this order"


def test_a_relative_pronoun_fills_the_role_for_what_it_stands_for(tmp_path: Path):
    (one,) = read(tmp_path, block(RELATIVE))
    assert told(one, 0) == {"agent": ("that", "dogs", "relative"), "patient": ("men", "men", "direct")}
    (agent, _) = one.preds[0].roles
    assert (agent.start, agent.end, agent.head) == (1, 2, 0)


def test_what_depends_on_the_predicate_is_cut_off(tmp_path: Path):
    rows = [(line, last.replace("R-ARG0", "_")) for line, last in RELATIVE]
    (one,) = read(tmp_path, block(rows))
    assert told(one, 0)["agent"] == ("dogs", "dogs", "direct"), "not: dogs that bite men"


def test_a_relative_pronoun_with_a_gap_leaves_the_role_out(tmp_path: Path):
    """Had it not, what the pronoun stands for would fill the role by itself, though the pronoun is there."""
    rows = list(RELATIVE)
    rows.append(("there there ADV 2 advmod", "Roleset=_|Args=_"))  # "that ... there", around the verb
    (one,) = read(tmp_path, block(rows))
    assert told(one, 0) == {"patient": ("men", "men", "direct")}


@pytest.mark.parametrize("more", [{"other": "C-ARG1"}, {"other": "ARG1"}])
def test_a_role_in_several_pieces_is_left_out(tmp_path: Path, more: dict[str, str]):
    rows = [(line, last.replace("_/ARGM-CAU", f"_/{more['other']}")) for line, last in PASSIVE]
    (one,) = read(tmp_path, block(rows))
    assert set(told(one, 1)) == {"agent"}


def test_a_phrase_with_a_gap_is_left_out(tmp_path: Path):
    rows = list(PASSIVE)
    rows[10] = ("hunger hunger NOUN 3 nmod", "Roleset=-|Args=_/_")  # "The old man ... because of hunger"
    (one,) = read(tmp_path, block(rows))
    assert set(told(one, 1)) == {"agent"}


def test_columns_say_the_same(tmp_path: Path):
    for ninth in ("_", "Y"):
        (one,) = read(tmp_path, block(GERMAN, ninth))
        assert [(verb.lemma, verb.voice) for verb in one.preds] == [("sehen", "active"), ("lachen", "active")]
        assert told(one, 0) == {"agent": ("Maria", "Maria", "direct"), "patient": ("Otto", "Otto", "direct")}
        assert told(one, 1) == {"agent": ("Maria", "Maria", "direct")}
    assert (
        one.words == ("Maria", "sieht", "Otto", "und", "lacht") and one.annotation.raw == "Maria sieht Otto und lacht"
    )
    eleventh = [(line, f"_\t{last}") for line, last in GERMAN]
    assert read(tmp_path, block(eleventh))[0].preds == one.preds


def test_a_sentence_without_predicates_has_none_and_nouns_are_none(tmp_path: Path):
    rows = [("Ja ja INTJ 0 root", "_"), (". . PUNCT 1 punct", "_")]
    noun = [("hope hope NOUN 0 root", "Roleset=hope.01|Args=V"), ("his he PRON 1 nmod", "Roleset=-|Args=ARG0")]
    assert [one.preds for one in read(tmp_path, block(rows) + block(noun))] == [(), ()]


@pytest.mark.parametrize(
    ("place", "line", "voice"),
    [
        (0, "Maria Maria PROPN 2 nsubj:pass", "passive"),
        (0, "Maria Maria PROPN 2 nsubjpass", "passive"),
        (0, "Maria Maria PROPN 2 obl:agent", "passive"),
        (1, "sieht sehen VERB 0 root Voice=Pass", "passive"),
        (1, "sieht sehen VERB 0 root Voice=Act", "active"),
    ],
)
def test_the_voice_is_what_a_verb_or_its_dependents_say(tmp_path: Path, place: int, line: str, voice: str):
    rows = list(GERMAN)
    rows[place] = (line, rows[place][1])
    assert read(tmp_path, block(rows))[0].preds[0].voice == voice


def test_columns_that_do_not_fit_are_named(tmp_path: Path):
    lines = (block(PASSIVE) + block(GERMAN)).split("\n")
    with pytest.raises(
        UserError, match="line 16 of .*up.conllu has 11 columns and the first word of its sentence 12; mend"
    ):
        read(tmp_path, "\n".join([*lines[:15], lines[15].removesuffix("\t_"), *lines[16:]]))
    nobody = [(line, last.replace("laugh.01", "_")) for line, last in GERMAN]
    says = "line 14 of .*up.conllu begins a sentence with 12 columns, and CoNLL-U has 10 and then one per predicate"
    with pytest.raises(UserError, match=says):
        read(tmp_path, block(PASSIVE) + block(nobody))
    with pytest.raises(UserError, match="line 1 of .*up.conllu begins a sentence with 11 columns"):
        read(tmp_path, block([("a a X 0 root", "_\tstray")]))
