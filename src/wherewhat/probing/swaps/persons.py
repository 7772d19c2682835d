"""Who may change places in written text: two persons of whom either could have done it, by rules that can be read."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import NamedTuple

from wherewhat.corpora.sentence import Predicate, Role, Sentence
from wherewhat.probing.swaps.base import body

# With these verbs both take part alike: whoever stands first, it is as true.
SYMMETRIC = frozenset(
    ("meet", "marry", "resemble", "match", "join", "combine", "fight", "divorce", "kiss", "hug", "agree", "differ")
)
SUBJECT_TO_OBJECT = {"i": "me", "he": "him", "she": "her", "we": "us", "they": "them"}
OBJECT_TO_SUBJECT = {other: one for one, other in SUBJECT_TO_OBJECT.items()} | {"me": "I"}
IT = "it"
YOU = "you"
SAME_CASE = frozenset((YOU, IT))
PERSON = dict.fromkeys(("i", "me", "we", "us"), 1) | {YOU: 2}  # anyone else is a third
# Forms that show the person of their subject where no tag says so; the last two tell only "you" from others.
BY_SIGHT = frozenset(("am", "is", "are", "has", "have", "does", "do", "'m", "'re", "'ve"))
WAS = frozenset(("was", "were"))
IRREGULAR = {"meet": ("met",), "fight": ("fought",)}


@dataclass(frozen=True)
class Persons:
    """Names and pronouns but "it" are persons, and so are these nouns. With a symmetric verb nothing would change."""

    nouns: frozenset[str] = frozenset()  # lemmas in small letters; "it" may be one of them
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
    tag = scene.sentence.upos[place]
    return tag in ("PROPN", "PRON") or (tag == "NOUN" and _is_among(scene.sentence, place, scene.persons.nouns))


def _about_it(scene: Scene) -> bool:
    said = any(_form(scene.sentence, role.head) == IT for role in scene.two)
    return said and IT not in scene.persons.nouns


def _form(sentence: Sentence, place: int) -> str:
    return sentence.words[place].lower()


def _lemma(sentence: Sentence, place: int) -> str:
    """The lemma of a word; empty where it is not known."""
    return sentence.lemma[place].lower() if sentence.lemma else ""


def _is_among(sentence: Sentence, place: int, lemmas: Collection[str]) -> bool:
    """Whether a word is one of a list: by its lemma, or where that is not known as one of the forms it may have."""
    lemma, form = _lemma(sentence, place), _form(sentence, place)
    return lemma in lemmas if lemma else any(form in inflected(one) for one in lemmas)


def inflected(lemma: str) -> set[str]:
    """The forms that an English word may have, and some that it has not.

    >>> {"marries", "married"} < inflected("marry"), "hugging" in inflected("hug"), "met" in inflected("meet")
    (True, True, True)
    """
    stems = (lemma, lemma.removesuffix("e"), lemma + lemma[-1:], lemma.removesuffix("y") + "i")
    return {lemma, *IRREGULAR.get(lemma, ())} | {stem + end for stem in stems for end in ("s", "es", "ed", "ing")}


def _symmetric(scene: Scene) -> bool:
    return _is_among(scene.sentence, scene.pred.index, scene.persons.symmetric)


def _numbers_differ(scene: Scene) -> bool:
    agent, patient = (_number(scene.sentence, role.head) for role in scene.two)
    return agent is None or agent != patient


def _number(sentence: Sentence, place: int) -> str | None:
    return sentence.number[place] if sentence.number else None


def _same_word(scene: Scene) -> bool:
    sentence = scene.sentence
    one, other = (_lemma(sentence, role.head) or _form(sentence, role.head) for role in scene.two)
    return OBJECT_TO_SUBJECT.get(one, one).lower() == OBJECT_TO_SUBJECT.get(other, other).lower()


def _cases_differ(scene: Scene) -> bool:
    """Whether the phrases themselves tell who did it, so that their order tells nothing; English pronouns change."""
    agent, patient = (_case(scene.sentence, role) for role in scene.two)
    return agent != patient


def _case(sentence: Sentence, role: Role) -> str | None:
    """The case of a noun or name, which it shows or its article does."""
    if not sentence.case or sentence.upos[role.head] == "PRON":
        return None
    articles = [
        place
        for place in range(role.start, role.end)
        if sentence.head[place] - 1 == role.head and sentence.deprel[place].partition(":")[0] == "det"
    ]
    return next((shown for place in (role.head, *articles) if (shown := sentence.case[place])), None)


def _no_other_case(scene: Scene) -> bool:
    pronouns = [role for role in scene.two if scene.sentence.upos[role.head] == "PRON"]
    return any(role.end - role.start > 1 or not _is_english(scene.sentence, role.head) for role in pronouns)


def _is_english(sentence: Sentence, place: int) -> bool:
    """Whether a pronoun is one of the table, and its lemma too if it is known ("me" is of other languages as well)."""
    form, lemma = _form(sentence, place), _lemma(sentence, place)
    other = SUBJECT_TO_OBJECT.get(form) or OBJECT_TO_SUBJECT.get(form)
    return form in SAME_CASE or (other is not None and lemma in ("", form, other.lower()))


def _would_not_agree(scene: Scene) -> bool:
    """Whether the verb shows the person of its subject: "I see him", but "he sees me"; "you were", but "he was"."""
    sentence, verb = scene.sentence, scene.pred.index
    aux = [
        place for place, head in enumerate(sentence.head) if head - 1 == verb and sentence.deprel[place][:3] == "aux"
    ]
    first, second = (PERSON.get(_form(sentence, role.head), 3) for role in scene.two)
    shows = any(_shows_person(sentence, place, you=2 in (first, second)) for place in (verb, *aux))
    return shows and first != second and _number(sentence, scene.agent.head) == "sg"


def _shows_person(sentence: Sentence, place: int, *, you: bool) -> bool:
    form, tag = _form(sentence, place), sentence.xpos[place] if sentence.xpos else None
    now = tag in ("VBZ", "VBP") if tag else form in BY_SIGHT
    return now or (you and form in WAS)


REASONS: dict[str, Callable[[Scene], bool]] = {
    "a relative pronoun is one of the two": _relative,
    "the two and the verb are not apart": _in_the_way,
    "the verb depends on one of the two": _depends,
    "not both are persons": _not_persons,
    '"it" is one of the two, which is seldom a person': _about_it,
    "a verb in which both take part alike": _symmetric,
    "one of the two is several, or it is not known": _numbers_differ,
    "both are the same word": _same_word,
    "the two stand in different cases": _cases_differ,
    "a pronoun whose other case is not known": _no_other_case,
    "the verb would not agree": _would_not_agree,
}
