"""Who may change places in written text: two persons of whom either could have done it, by rules that can be read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from wherewhat.corpora.sentence import Predicate, Role, Sentence
from wherewhat.swaps.base import body

# With these verbs both take part alike: whoever stands first, it is as true.
SYMMETRIC = frozenset(
    ("meet", "marry", "resemble", "match", "join", "combine", "fight", "divorce", "kiss", "hug", "agree", "differ")
)
SUBJECT_TO_OBJECT = {"i": "me", "he": "him", "she": "her", "we": "us", "they": "them"}
OBJECT_TO_SUBJECT = {other: one for one, other in SUBJECT_TO_OBJECT.items()} | {"me": "I"}
SAME_CASE = frozenset(("you", "it"))
FIRST = frozenset(("i", "me", "we", "us"))


@dataclass(frozen=True)
class Persons:
    """Names and pronouns are persons, and so are these nouns. With a symmetric verb an exchange changes nothing."""

    nouns: frozenset[str] = frozenset()  # lemmas
    symmetric: frozenset[str] = SYMMETRIC


class Scene(NamedTuple):
    """A verb of a sentence, and the two that might change places."""

    sentence: Sentence
    pred: Predicate
    agent: Role
    patient: Role
    persons: Persons

    @property
    def two(self) -> tuple[Role, Role]:
        """Agent and patient."""
        return self.agent, self.patient


def scene_of(sentence: Sentence, pred: Predicate, persons: Persons) -> Scene | str:
    """The two that may change places around a verb, or why they may not."""
    agent, patient = pred.role("agent"), pred.role("patient")
    if agent is None or patient is None:
        return "agent and patient are not both said"
    scene = Scene(sentence, pred, agent, patient, persons)
    return next((reason for reason, applies in REASONS.items() if applies(scene)), scene)


def in_case(sentence: Sentence, role: Role, *, subject: bool) -> str | None:
    """The pronoun that fills a role, as it is written for a subject or elsewhere; None if it is no pronoun."""
    if sentence.upos[role.head] != "PRON":
        return None
    form = sentence.words[role.head].lower()
    return (OBJECT_TO_SUBJECT if subject else SUBJECT_TO_OBJECT).get(form, "I" if form == "i" else form)


def is_subject(sentence: Sentence, role: Role) -> bool:
    """Whether the subject of a clause fills a role."""
    return sentence.deprel[role.head].startswith("nsubj")


def _relative(scene: Scene) -> bool:
    return any(role.via != "direct" for role in scene.two)


def _in_the_way(scene: Scene) -> bool:
    first, second = sorted((role.start, role.end) for role in scene.two)
    inside = any(role.start <= scene.pred.index < role.end for role in scene.two)
    headless = any(not role.start <= role.head < role.end for role in scene.two)
    return first[1] > second[0] or inside or headless or second[1] > body(scene.sentence)


def _depends(scene: Scene) -> bool:
    """Whether the verb, or one of the two, depends on one of the two (as in "the man seen by her")."""
    agent, patient = (role.head for role in scene.two)
    above = {place: _above(scene.sentence, place) for place in (agent, patient, scene.pred.index)}
    return any(agent in places or patient in places for places in above.values())


def _above(sentence: Sentence, place: int) -> set[int]:
    """All that a word depends on, directly or not."""
    found = set[int]()
    while sentence.head[place] and (place := sentence.head[place] - 1) not in found:
        found.add(place)
    return found


def _not_persons(scene: Scene) -> bool:
    return not all(_is_person(scene, role.head) for role in scene.two)


def _is_person(scene: Scene, place: int) -> bool:
    tag, lemma = scene.sentence.upos[place], _lemma(scene.sentence, place)
    return tag in ("PROPN", "PRON") or (tag == "NOUN" and lemma in scene.persons.nouns)


def _lemma(sentence: Sentence, place: int) -> str:
    return (sentence.lemma[place] if sentence.lemma else "") or sentence.words[place].lower()


def _symmetric(scene: Scene) -> bool:
    return _lemma(scene.sentence, scene.pred.index) in scene.persons.symmetric


def _numbers_differ(scene: Scene) -> bool:
    agent, patient = (_number(scene.sentence, role.head) for role in scene.two)
    return agent is None or agent != patient


def _number(sentence: Sentence, place: int) -> str | None:
    return sentence.number[place] if sentence.number else None


def _same_word(scene: Scene) -> bool:
    one, other = (_lemma(scene.sentence, role.head).lower() for role in scene.two)
    return one == other


def _no_other_case(scene: Scene) -> bool:
    known = SUBJECT_TO_OBJECT.keys() | OBJECT_TO_SUBJECT.keys() | SAME_CASE
    return any(
        scene.sentence.upos[role.head] == "PRON"
        and (role.end - role.start > 1 or scene.sentence.words[role.head].lower() not in known)
        for role in scene.two
    )


def _would_not_agree(scene: Scene) -> bool:
    """Whether the verb shows the person of its subject: "I see him", but "he sees me"."""
    sentence, verb = scene.sentence, scene.pred.index
    aux = [
        place for place, head in enumerate(sentence.head) if head - 1 == verb and sentence.deprel[place][:3] == "aux"
    ]
    now = any(sentence.xpos[place] in ("VBZ", "VBP") for place in (verb, *aux)) if sentence.xpos else False
    first, second = (sentence.words[role.head].lower() in FIRST for role in scene.two)
    return now and first != second and _number(sentence, scene.agent.head) == "sg"


REASONS: dict[str, Callable[[Scene], bool]] = {
    "a relative pronoun is one of the two": _relative,
    "the two and the verb are not apart": _in_the_way,
    "the verb depends on one of the two": _depends,
    "not both are persons": _not_persons,
    "a verb in which both take part alike": _symmetric,
    "one of the two is several, or it is not known": _numbers_differ,
    "both are the same word": _same_word,
    "a pronoun whose other case is not known": _no_other_case,
    "the verb would not agree": _would_not_agree,
}
