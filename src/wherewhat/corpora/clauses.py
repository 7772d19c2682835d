"""Questions about the main clause: the number of its subject, its tense, its voice; with and without a distractor.

A distractor is something elsewhere in the sentence that speaks for the other answer. Half of the sentences have one.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from wherewhat.corpora.casting import recast, told
from wherewhat.corpora.grammar import LONGEST, Grammar
from wherewhat.corpora.phrase import HEAD, Leaf, Phrase, leaves, sentence_of
from wherewhat.corpora.rules import OUTER
from wherewhat.corpora.sentence import Sentence
from wherewhat.tasks.cells import block_order
from wherewhat.tasks.stream import Stream


@dataclass(frozen=True)
class MainClause:
    """A question with one answer in the main clause, and perhaps others elsewhere in the sentence."""

    name: str
    kinds: Mapping[str, Sequence[str]]  # of main clause that can have each label
    answer: Callable[[Phrase], str | None]  # of a sentence's tree
    answers: Callable[[Sequence[Leaf]], set[str | None]]  # that its words speak for; two of them with a distractor

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers."""
        return tuple(self.kinds)

    def draw(self, seed: int, split: str, unit: int, taken: Container[str] = frozenset()) -> tuple[Sentence, ...]:
        """A sentence of every label that is not `taken`; in every other unit they have a distractor."""
        distractors = block_order(seed, self.name, split, unit // 2, 2)[unit % 2]
        return tuple(self._first(seed, (split, unit, label), distractors, taken) for label in self.labels)

    def _first(self, seed: int, place: tuple[str, int, str], distractors: int, taken: Container[str]) -> Sentence:
        split, _, label = place
        for attempt in count():
            key = (self.name, *place, attempt)
            stream = Stream(seed, *key)
            tree = Grammar(seed, past=True).rules(stream, *key).sentence(self.kinds[label])
            words = list(leaves(tree))
            if len(words) > LONGEST or len(self.answers(words)) != 1 + distractors or self.answer(tree) != label:
                continue
            if (found := recast(tree, stream, split)) and told(list(leaves(found)), {}) not in taken:
                return sentence_of(found, f"{self.name}/{split}")
        raise AssertionError("counting does not end")


def _number(tree: Phrase) -> str | None:
    subject: Phrase | Leaf = tree.parts[0][1]
    while isinstance(subject, Phrase):
        subject = next(part for relation, part in subject.parts if relation == HEAD)
    return subject.number


def _tense(tree: Phrase) -> str:
    return _tense_of(next(leaves(_verb_phrase(tree))))  # a verb phrase begins with its finite verb


def _voice(tree: Phrase) -> str:
    return "passive" if _verb_phrase(tree).parts[0][0] == "aux:pass" else "active"


def _verb_phrase(tree: Phrase) -> Phrase:
    phrase = tree.parts[1][1]
    assert isinstance(phrase, Phrase)
    return phrase


def _tense_of(finite: Leaf) -> str:
    return "past" if finite.xpos == "VBD" else "present"


def _numbers(words: Sequence[Leaf]) -> set[str | None]:
    return {word.number for word in words if word.upos in ("NOUN", "PROPN")}


def _tenses(words: Sequence[Leaf]) -> set[str | None]:
    return {_tense_of(word) for word in words if word.xpos in ("VBZ", "VBP", "VBD")}


def _voices(words: Sequence[Leaf]) -> set[str | None]:
    return {"passive" if word.xpos == "VBN" else "active" for word in words if word.upos == "VERB"}


PASSIVE = tuple(kind for kind in OUTER if kind.startswith("pass_"))
ACTIVE = tuple(kind for kind in OUTER if kind not in PASSIVE)
NUMBER = MainClause("number", dict.fromkeys(("sg", "pl"), OUTER), _number, _numbers)
TENSE = MainClause("tense", dict.fromkeys(("present", "past"), OUTER), _tense, _tenses)
VOICE = MainClause("voice", {"active": ACTIVE, "passive": PASSIVE}, _voice, _voices)
