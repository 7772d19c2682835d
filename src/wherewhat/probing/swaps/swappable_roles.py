"""Which roles of written text can be swapped: two persons of whom either could have done it, by readable rules."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from wherewhat.corpora.sentence import Predicate, Role, Sentence
from wherewhat.probing.swaps.swap import body

# With these verbs both do the same: after a swap the sentence is as true as before.
SYMMETRIC = frozenset(
    ("meet", "marry", "resemble", "match", "join", "combine", "fight", "divorce", "kiss", "hug", "agree", "differ")
)
SUBJECT_TO_OBJECT = {"i": "me", "he": "him", "she": "her", "we": "us", "they": "them"}
OBJECT_TO_SUBJECT = {form: subject for subject, form in SUBJECT_TO_OBJECT.items()} | {"me": "I"}
IT = "it"
YOU = "you"
SAME_CASE = frozenset((YOU, IT))
PERSON = dict.fromkeys(("i", "me", "we", "us"), 1) | {YOU: 2}  # all others are third person
# Forms that show the person of their subject where no tag says so; the last two tell only "you" from others.
BY_SIGHT = frozenset(("am", "is", "are", "has", "have", "does", "do", "'m", "'re", "'ve"))
WAS = frozenset(("was", "were"))
IRREGULAR = {"meet": ("met",), "fight": ("fought",)}


@dataclass(frozen=True)
class Persons:
    """Who can be swapped: names, pronouns except "it", and these nouns; not around a symmetric verb."""

    nouns: frozenset[str] = frozenset()  # lemmas in lower case; "it" may be one of them
    symmetric: frozenset[str] = SYMMETRIC


class SwapCandidate(NamedTuple):
    """A verb of a sentence, and the two roles that might be swapped."""

    sentence: Sentence
    pred: Predicate
    two: tuple[Role, Role]  # agent and patient


def swap_candidate(sentence: Sentence, pred: Predicate, persons: Persons) -> SwapCandidate | str:
    """The two roles of a verb that can be swapped, or why they cannot."""
    agent, patient = pred.role("agent"), pred.role("patient")
    if agent is None or patient is None:
        return "agent or patient is missing"
    candidate = SwapCandidate(sentence, pred, (agent, patient))
    return _why_inseparable(candidate) or _why_unlike(candidate, persons) or _why_misformed(candidate) or candidate


def in_case(sentence: Sentence, role: Role, *, subject: bool) -> str | None:
    """The pronoun that fills a role, in the form of a subject or of an object; None if it is not a pronoun."""
    if sentence.upos[role.head] != "PRON":
        return None
    form = sentence.words[role.head].lower()
    return (OBJECT_TO_SUBJECT if subject else SUBJECT_TO_OBJECT).get(form, "I" if form == "i" else form)


def is_subject(sentence: Sentence, role: Role) -> bool:
    """Whether a role is filled by the subject of a clause."""
    return sentence.deprel[role.head].startswith("nsubj")


def inflected(lemma: str) -> set[str]:
    """The forms that an English word may have, and some that it does not have.

    >>> {"marries", "married"} < inflected("marry"), "hugging" in inflected("hug"), "met" in inflected("meet")
    (True, True, True)
    """
    stems = (lemma, lemma.removesuffix("e"), lemma + lemma[-1:], lemma.removesuffix("y") + "i")
    return {lemma, *IRREGULAR.get(lemma, ())} | {stem + end for stem in stems for end in ("s", "es", "ed", "ing")}


def _why_inseparable(candidate: SwapCandidate) -> str | None:
    """Why the two are not spans that can change places."""
    sentence, pred, two = candidate
    if any(role.via != "direct" for role in two):
        return "one of the two is a relative pronoun"
    first, second = sorted((role.start, role.end) for role in two)
    inside = any(role.start <= pred.index < role.end for role in two)
    headless = any(not role.start <= role.head < role.end for role in two)
    if first[1] > second[0] or inside or headless or second[1] > body(sentence):
        return "the two and the verb overlap"
    heads = {role.head for role in two}
    for place in (*heads, pred.index):
        above = set[int]()  # all words that this one depends on, directly or not
        while sentence.head[place] and (place := sentence.head[place] - 1) not in above:
            above.add(place)
        if above & heads:  # as in "the man seen by her"
            return "the verb depends on one of the two"
    return None


def _why_unlike(candidate: SwapCandidate, persons: Persons) -> str | None:
    """Why not either of the two could have done it."""
    sentence, pred, two = candidate
    heads = [role.head for role in two]
    forms = [sentence.words[head].lower() for head in heads]
    for head in heads:
        tag = sentence.upos[head]
        if tag not in ("PROPN", "PRON") and not (tag == "NOUN" and _is_among(sentence, head, persons.nouns)):
            return "not both are persons"
    if IT in forms and IT not in persons.nouns:
        return 'one of the two is "it", which is seldom a person'
    if _is_among(sentence, pred.index, persons.symmetric):
        return "the verb is symmetric"
    numbers = {sentence.number[head] if sentence.number else None for head in heads}
    if None in numbers or len(numbers) > 1:
        return "one of the two is plural, or their number is unknown"
    words = [_lemma(sentence, head) or form for head, form in zip(heads, forms, strict=True)]
    if len({OBJECT_TO_SUBJECT.get(word, word).lower() for word in words}) == 1:
        return "both are the same word"
    return None


def _why_misformed(candidate: SwapCandidate) -> str | None:
    """Why the words do not have the forms that the swapped sentence needs."""
    sentence, pred, two = candidate
    if len({_case(sentence, role) for role in two}) > 1:  # case tells who did it, so that order tells nothing
        return "the two are in different grammatical cases"
    for role in two:
        if sentence.upos[role.head] == "PRON" and (role.end - role.start > 1 or not _is_english(sentence, role.head)):
            return "a pronoun whose other form is unknown"
    if not sentence.number or sentence.number[two[0].head] != "sg":
        return None
    first, second = (PERSON.get(sentence.words[role.head].lower(), 3) for role in two)
    aux = [place for place, head in enumerate(sentence.head) if head - 1 == pred.index]
    for place in (pred.index, *(place for place in aux if sentence.deprel[place][:3] == "aux")):
        form, tag = sentence.words[place].lower(), sentence.xpos[place] if sentence.xpos else None
        shows = (tag in ("VBZ", "VBP") if tag else form in BY_SIGHT) or (2 in (first, second) and form in WAS)
        if shows and first != second:  # "I see him", but "he sees me"; "you were", but "he was"
            return "the verb would not agree"
    return None


def _lemma(sentence: Sentence, place: int) -> str:
    """The lemma of a word; empty where it is not known."""
    return sentence.lemma[place].lower() if sentence.lemma else ""


def _is_among(sentence: Sentence, place: int, lemmas: Collection[str]) -> bool:
    """Whether a word is in a list of lemmas: by its lemma, or, where that is unknown, by the forms a lemma may have."""
    lemma, form = _lemma(sentence, place), sentence.words[place].lower()
    return lemma in lemmas if lemma else any(form in inflected(known) for known in lemmas)


def _case(sentence: Sentence, role: Role) -> str | None:
    """The grammatical case of a noun or name, shown by itself or by its article; pronouns change their form."""
    if not sentence.case or sentence.upos[role.head] == "PRON":
        return None
    articles = [
        place
        for place in range(role.start, role.end)
        if sentence.head[place] - 1 == role.head and sentence.deprel[place].partition(":")[0] == "det"
    ]
    return next((shown for place in (role.head, *articles) if (shown := sentence.case[place])), None)


def _is_english(sentence: Sentence, place: int) -> bool:
    """Whether a pronoun is in the table, and its lemma too if it is known ("me" is a word of other languages too)."""
    form, lemma = sentence.words[place].lower(), _lemma(sentence, place)
    other = SUBJECT_TO_OBJECT.get(form) or OBJECT_TO_SUBJECT.get(form)
    return form in SAME_CASE or (other is not None and lemma in ("", form, other.lower()))
