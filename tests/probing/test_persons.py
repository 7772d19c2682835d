"""Who may change places in written text: what must not be exchanged says why, by lists that can be longer."""

from dataclasses import replace
from pathlib import Path

import pytest
from written import AGENT, HE_SAW_HER, PATIENT, changed, told

from wherewhat.corpora.sentence import Predicate, Role, Sentence
from wherewhat.corpora.treebank import Treebank
from wherewhat.probing.swaps.role_swap import swap_roles, why_not_swappable
from wherewhat.probing.swaps.swappable_roles import Persons

PLAIN = ("PROPN VERB PROPN PUNCT", "2 0 2 2", "nsubj root obj punct")
WHO = ("PRON VERB PRON PUNCT", "2 0 2 2", "nsubj root obj punct")
HELPING = ("PRON AUX VERB PRON PUNCT", "3 3 0 3 3", "nsubj aux root obj punct")
ARTICLE = ("DET PROPN VERB PROPN PUNCT", "2 3 0 3 3", "det obj root nsubj punct")


def with_roles(sentence: Sentence, *roles: Role, lemma: str = "see") -> Sentence:
    return changed(sentence, preds=(Predicate(1, lemma, "active", roles),))


SEEN = told("Tom seen by Mary .", "PROPN VERB ADP PROPN PUNCT", "0 1 4 2 1", "root acl case obl punct")
REFUSED = {
    "no roles are known": [changed(HE_SAW_HER, preds=())],
    "tags and dependencies are not known": [changed(HE_SAW_HER, upos=()), changed(HE_SAW_HER, head=(), deprel=())],
    "agent or patient is missing": [with_roles(HE_SAW_HER, AGENT), with_roles(HE_SAW_HER, PATIENT)],
    "one of the two is a relative pronoun": [with_roles(HE_SAW_HER, replace(AGENT, via="relative"), PATIENT)],
    "the two and the verb overlap": [
        with_roles(HE_SAW_HER, replace(AGENT, end=2), PATIENT),  # holds the verb
        with_roles(HE_SAW_HER, AGENT, replace(PATIENT, start=0)),  # one in the other
        with_roles(HE_SAW_HER, AGENT, replace(PATIENT, end=4)),  # holds the full stop
        with_roles(HE_SAW_HER, AGENT, replace(PATIENT, head=0)),  # its head stands elsewhere
    ],
    "the verb depends on one of the two": [
        with_roles(SEEN, Role("agent", 3, 4, 3, "direct"), replace(AGENT, role="patient")),
        changed(HE_SAW_HER, head=(2, 0, 1, 2)),
    ],
    "not both are persons": [
        told("He saw cats .", "PRON VERB NOUN PUNCT", "2 0 2 2", "nsubj root obj punct"),
        told("Tom saw everything .", "PROPN VERB ADJ PUNCT", "2 0 2 2", "nsubj root obj punct"),
    ],
    "the verb is symmetric": [
        told("Tom met Mary .", "PROPN VERB PROPN PUNCT", "2 0 2 2", "nsubj root obj punct", lemma="tom meet mary .")
    ],
    "one of the two is plural, or their number is unknown": [
        told("He saw them .", "PRON VERB PRON PUNCT", "2 0 2 2", "nsubj root obj punct", number="s-p-"),
        told("He saw you .", "PRON VERB PRON PUNCT", "2 0 2 2", "nsubj root obj punct", number="s---"),
        told("You saw you .", "PRON VERB PRON PUNCT", "2 0 2 2", "nsubj root obj punct", number="----"),
    ],
    "both are the same word": [told("Tom saw Tom .", "PROPN VERB PROPN PUNCT", "2 0 2 2", "nsubj root obj punct")],
    'one of the two is "it", which is seldom a person': [
        told("He saw it .", *WHO),
        told("It saw Mary .", "PRON VERB PROPN PUNCT", "2 0 2 2", "nsubj root obj punct"),
    ],
    "the two are in different grammatical cases": [
        told("Den Peter sieht Maria .", *ARTICLE, roles="3-4 0-2", case="aa-n-"),
        told("Den Peter sieht Maria .", *ARTICLE, roles="3-4 0-2", case="a----"),  # only the article shows it
        told("Petra vidi Marija .", *PLAIN, case="a-n-"),
        told("Maria sah me .", "PROPN VERB PRON PUNCT", "2 0 2 2", "nsubj root obj punct", case="n-a-"),
    ],
    "a pronoun whose other form is unknown": [
        told(
            "Maria me vio .",
            "PROPN PRON VERB PUNCT",
            "3 3 0 3",
            "nsubj obj root punct",
            roles="0-1 1-2",
            lemma="m yo ver .",
        ),
        told("Who saw Mary ?", "PRON VERB PROPN PUNCT", "2 0 2 2", "nsubj root obj punct"),
        told("Er sah Maria .", "PRON VERB PROPN PUNCT", "2 0 2 2", "nsubj root obj punct"),
        told("Tom saw himself .", "PROPN VERB PRON PUNCT", "2 0 2 2", "nsubj root obj punct"),
        told(
            "Tom saw him here .",
            "PROPN VERB PRON ADV PUNCT",
            "2 0 2 3 2",
            "nsubj root obj advmod punct",
            roles="0-1 2-4",
        ),
    ],
    "the verb would not agree": [
        told("You are helping him .", *HELPING, roles="0-1 3-4", xpos=("PRP", "VBP", "VBG", "PRP", ".")),
        told("You are helping him .", *HELPING, roles="0-1 3-4"),  # by sight
        told("You were helping him .", *HELPING, roles="0-1 3-4", xpos=("PRP", "VBD", "VBG", "PRP", ".")),
        told("He was helping you .", *HELPING, roles="0-1 3-4", xpos=("PRP", "VBD", "VBG", "PRP", ".")),
        told("You see him .", *WHO, xpos=("PRP", "VBP", "PRP", ".")),
        told(
            "I see Mary .", "PRON VERB PROPN PUNCT", "2 0 2 2", "nsubj root obj punct", xpos=("PRP", "VBP", "NNP", ".")
        ),
        told(
            "Mary is seen by me .",
            "PROPN AUX VERB ADP PRON PUNCT",
            "3 3 0 5 3 3",
            "nsubj:pass aux:pass root case obl punct",
            roles="4-5 0-1",
            voice="passive",
            xpos=("NNP", "VBZ", "VBN", "IN", "PRP", "."),
        ),
    ],
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_may_not_change_places_says_why(reason: str):
    for sentence in REFUSED[reason]:
        assert why_not_swappable(sentence) == reason and swap_roles(sentence) is None


def test_verbs_that_show_no_person_agree_with_anyone():
    for tag in ("VBD", None):
        sentence = told(
            "I saw Mary .", "PRON VERB PROPN PUNCT", "2 0 2 2", "nsubj root obj punct", xpos=("PRP", tag, "NNP", ".")
        )
        assert why_not_swappable(sentence) is None
    sees = told(
        "He sees her .", "PRON VERB PRON PUNCT", "2 0 2 2", "nsubj root obj punct", xpos=("PRP", "VBZ", "PRP", ".")
    )
    assert swap_roles(sees).sentence.text == "She sees him ."
    plural = ("PRP", "VBP", "PRP", ".")
    we = told("We see them .", "PRON VERB PRON PUNCT", "2 0 2 2", "nsubj root obj punct", number="p-p-", xpos=plural)
    assert swap_roles(we).sentence.text == "They see us ."


def test_both_lists_can_be_longer():
    sentence = told(
        "The nurse saw Tom .", "DET NOUN VERB PROPN PUNCT", "2 3 0 3 3", "det nsubj root obj punct", roles="0-2 3-4"
    )
    assert why_not_swappable(sentence) == "not both are persons"
    nurses = Persons(nouns=frozenset(["nurse"]))
    assert swap_roles(sentence, nurses).sentence.text == "Tom saw the nurse ."
    seeing = replace(nurses, symmetric=frozenset(["saw"]))
    assert why_not_swappable(sentence, seeing) == "the verb is symmetric"


def test_it_may_be_called_a_person():
    sentence = told("It saw Mary .", "PRON VERB PROPN PUNCT", "2 0 2 2", "nsubj root obj punct")
    exchange = swap_roles(sentence, Persons(nouns=frozenset(["it"])))
    assert exchange and exchange.sentence.text == "Mary saw it ." and exchange.changed == ()


def test_cases_that_are_alike_or_only_on_english_pronouns_do_not_matter():
    """As Danish has its nouns; and English has cases on pronouns alone, which take the form of the other's."""
    assert swap_roles(told("Maria ser Peter .", *PLAIN, case="n-n-")).sentence.text == "Peter ser Maria ."
    english = told("He saw her .", *WHO, case="n-a-")
    assert swap_roles(english).sentence.text == "She saw him ."
    assert swap_roles(told("Maria saw him .", "PROPN VERB PRON PUNCT", *WHO[1:], case="--a-")).sentence.text == (
        "He saw Maria ."
    )


@pytest.mark.parametrize(
    ("text", "verb", "number", "result"),
    [
        ("You saw him .", "VBD", "s-s-", "He saw you ."),
        ("You see them .", "VBP", "p-p-", "They see you ."),
        ("They were helping you .", "VBD", "p--p-", "You were helping them ."),
        ("You can help him .", "MD", "s--s-", "He can help you ."),
    ],
)
def test_you_changes_places_where_the_verb_is_the_same_for_all(text: str, verb: str, number: str, result: str):
    form = WHO if len(text.split()) == 4 else HELPING
    tags = ("PRP", verb, *("VBG",) * (len(text.split()) - 4), "PRP", ".")
    assert (
        swap_roles(
            told(text, *form, number=number, xpos=tags, roles="0-1 2-3" if form is WHO else "0-1 3-4")
        ).sentence.text
        == result
    )


def test_where_lemmas_are_not_known_forms_are_looked_at():
    def bare(sentence: Sentence) -> Sentence:
        return changed(sentence, lemma=("",) * len(sentence.words))

    saw = bare(told("Maria saw Peter .", *PLAIN))
    assert swap_roles(saw).sentence.text == "Peter saw Maria .", "a name keeps its capital"
    assert why_not_swappable(bare(told("Tom saw Tom .", *PLAIN))) == "both are the same word"
    assert why_not_swappable(bare(told("He saw him .", *WHO))) == "both are the same word"
    for verb in ("meets", "met", "marries", "married", "hugged", "fought", "divorcing", "kisses", "match"):
        assert why_not_swappable(bare(told(f"Tom {verb} Mary .", *PLAIN))) == "the verb is symmetric"
    for verb in ("saw", "bitten", "meddles", "marred", "heard"):
        assert why_not_swappable(bare(told(f"Tom {verb} Mary .", *PLAIN))) is None
    nurses = bare(told("Tom saw nurses .", "PROPN VERB NOUN PUNCT", "2 0 2 2", "nsubj root obj punct", roles="0-1 2-3"))
    assert why_not_swappable(nurses) == "not both are persons"
    assert why_not_swappable(nurses, Persons(nouns=frozenset(["nurse"]))) is None


def test_a_treebank_without_lemmas_and_one_with_cases(tmp_path: Path):
    """Peter is seen by Maria in both orders; the same sentence without cases or lemmas can be exchanged."""
    rows = [
        "1\tDen\t{}\tDET\t_\t{}\t2\tdet\t_\tArgs=_",
        "2\tPeter\t{}\tPROPN\t_\tNumber=Sing\t3\tobj\t_\tArgs=ARG1",
        "3\tsieht\t{}\tVERB\t_\t_\t0\troot\t_\tRoleset=see.01|Args=V",
        "4\tMaria\t{}\tPROPN\t_\tNumber=Sing\t3\tnsubj\t_\tArgs=ARG0",
        "5\t.\t{}\tPUNCT\t_\t_\t3\tpunct\t_\tArgs=_",
    ]
    path = tmp_path / "a.conllu"

    def read(case: str) -> Sentence:
        path.write_text("\n".join(rows).format("_", case, "_", "_", "_", "_") + "\n")
        (only,) = Treebank((str(path),)).read(path)
        return only

    marked, plain = read("Case=Acc"), read("_")
    assert marked.case == ("Acc", None, None, None, None) and marked.lemma == ("",) * 5
    assert why_not_swappable(marked) == "the two are in different grammatical cases" and swap_roles(marked) is None
    assert swap_roles(plain).sentence.text == "Maria sieht den Peter ."
