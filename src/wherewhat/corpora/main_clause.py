"""Questions about the main clause: the number of its subject, its tense, its voice; with and without a distractor.

A distractor is a word elsewhere in the sentence that suggests the other answer. Half of the sentences have one.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from wherewhat.corpora.constituents import HEAD, Constituent, Leaf, leaves, sentence_of
from wherewhat.corpora.grammar import LONGEST, Grammar
from wherewhat.corpora.grammar_trees import substitute_nouns, text_of
from wherewhat.corpora.rules import OUTER
from wherewhat.corpora.sentence import Sentence
from wherewhat.tasks.cells import block_order
from wherewhat.tasks.stream import Stream


@dataclass(frozen=True)
class MainClause:
    """A question with one answer in the main clause, and possibly others elsewhere in the sentence."""

    name: str
    kinds: Mapping[str, Sequence[str]]  # of main clauses that can have each label
    answer: Callable[[Constituent], str | None]  # of a sentence's tree
    answers: Callable[[Sequence[Leaf]], set[str | None]]  # that its words suggest; two of them with a distractor

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
            in_split = substitute_nouns(tree, stream, split)
            if in_split is not None and text_of(list(leaves(in_split)), {}) not in taken:
                return sentence_of(in_split, f"{self.name}/{split}")
        raise AssertionError("counting does not end")


def _number(tree: Constituent) -> str | None:
    subject: Constituent | Leaf = tree.parts[0][1]
    while isinstance(subject, Constituent):
        subject = next(part for relation, part in subject.parts if relation == HEAD)
    return subject.number


def _tense(finite: Leaf) -> str:
    return "past" if finite.xpos == "VBD" else "present"


def _voice(tree: Constituent) -> str:
    verb_phrase = tree.parts[1][1]
    assert isinstance(verb_phrase, Constituent)
    return "passive" if verb_phrase.parts[0][0] == "aux:pass" else "active"


PASSIVE = tuple(kind for kind in OUTER if kind.startswith("pass_"))
ACTIVE = tuple(kind for kind in OUTER if kind not in PASSIVE)
NUMBER = MainClause(
    "number",
    dict.fromkeys(("sg", "pl"), OUTER),
    _number,
    lambda words: {word.number for word in words if word.upos in ("NOUN", "PROPN")},
)
TENSE = MainClause(
    "tense",
    dict.fromkeys(("present", "past"), OUTER),
    lambda tree: _tense(next(leaves(tree.parts[1][1]))),  # a verb phrase begins with its finite verb
    lambda words: {_tense(word) for word in words if word.xpos in ("VBZ", "VBP", "VBD")},
)
VOICE = MainClause(
    "voice",
    {"active": ACTIVE, "passive": PASSIVE},
    _voice,
    lambda words: {"passive" if word.xpos == "VBN" else "active" for word in words if word.upos == "VERB"},
)
