"""What nets read and are asked: passages to pre-train on, questions with their examples, and the swaps of these."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import count, islice
from typing import ClassVar

from wherewhat.corpora import lexicon as lex
from wherewhat.corpora.annotated_examples import AnnotatedExample
from wherewhat.corpora.base import Corpus
from wherewhat.corpora.constituents import sentence_of
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.grammar_trees import leaf_of
from wherewhat.corpora.minimal_pairs import GENDERS, VOICES, all_names
from wherewhat.corpora.questions import Example, LabelledDataset
from wherewhat.corpora.sentence import Sentence
from wherewhat.corpora.sentence_pairs import PAIRS, SHORT, VERBS, Premise, joined, usable_roles
from wherewhat.probing.role_claims import ROLES as ROLE_ITEM
from wherewhat.probing.roles import RoleSwapProbe
from wherewhat.probing.swap_probe.datasets import GRAMMAR, ProbeDataset
from wherewhat.probing.swap_probe.examples import example_in_words
from wherewhat.probing.swap_probe.swapped_example import SwapItem, SwappedExample
from wherewhat.probing.words import WordShuffleProbe
from wherewhat.studies.word_swap.names import CONTENT, NAMES, ROLES
from wherewhat.tables.manifest.probe import ProbeExample
from wherewhat.tasks.base import SPLITS, check_split
from wherewhat.tasks.stream import Stream

PERSONS = frozenset(name.form for name in lex.NAMES)
NOW = frozenset(verb.now[lex.SG].form for verb in lex.REVERSIBLE)  # the training passages have no past tense
SWAPPED_GENDERS = dict(zip(GENDERS, GENDERS[::-1], strict=True))  # the right label about names after a role swap
# Validation pairs of names serve for testing too: they are few, and with one learning rate nothing is chosen by them.
NAMES_FROM = {"train": ("train",), "valid": ("valid",), "test": ("valid", "test")}


def premises(seed: int, split: str) -> Iterator[Premise]:
    """Short sentences of the grammar in which one person does something to another, endless and without repetition.

    Names have no article and no adjective: only word order shows who is who.

    >>> [premise.sentence.text for premise in islice(premises(1, "train"), 3)]
    ['tom chases rosa .', 'rosa visits nina .', 'lucy is helped by maria .']
    """
    texts = set[str]()
    for number in count():
        premise = premise_of(seed, split, number)
        if premise is not None and premise.sentence.text not in texts:
            texts.add(premise.sentence.text)
            yield premise


@lru_cache(maxsize=200_000)  # most sentences are unusable, and checking takes time
def premise_of(seed: int, split: str, number: int) -> Premise | None:
    """The sentence of that number as a premise; None unless it is short and about two different names."""
    sentence = Grammar(seed).sentence(split, f"names {number}", VOICES)
    if len(sentence.words) > SHORT or sum(word in PERSONS for word in sentence.words) < 2:
        return None  # before its roles are parsed, which takes longer
    roles = usable_roles(sentence)
    if roles is None or not PAIRS["content"].fits(sentence):
        return None
    agent, patient = (leaf_of(sentence, role.head) for role in roles)
    if not {agent.form, patient.form} <= PERSONS:
        return None
    return Premise(sentence, agent, VERBS[sentence.lemma[sentence.head.index(0)]], patient)


def pair_examples(question: str, seed: int, split: str, number: int) -> list[AnnotatedExample]:
    """The first premises, each with one hypothesis per label."""
    return [
        _pair(question, premise, label, Stream(seed, "word swap", question, split, place))
        for place, premise in enumerate(islice(premises(seed, split), number))
        for label in PAIRS[question].labels
    ]


def _pair(question: str, premise: Premise, label: str, stream: Stream) -> AnnotatedExample:
    """A premise with a hypothesis that has this label."""
    tree, where = PAIRS[question].hypothesis(premise, label, stream), premise.sentence.where
    return AnnotatedExample((premise.sentence, sentence_of(tree, where)), label, where)


@dataclass(frozen=True)
class Passages(Corpus):
    """The pre-training corpus: endless passages of a premise and its summary, which has the same roles.

    Predicting the words of the summary requires looking back, as in real text, where one sentence refers to another.

    >>> next(Passages().sentences("train")).text
    'tom chases rosa . tom chases rosa .'
    """

    seed: int = 1
    name: ClassVar[str] = "passages"
    endless: ClassVar[bool] = True

    def sentences(self, split: str) -> Iterator[Sentence]:
        """Passages 0, 1, 2, …, endless."""
        check_split(split)
        unused = Stream(self.seed, "passages")  # an entailed hypothesis needs no random draw
        entailed = PAIRS[ROLES].labels[0]
        return (joined(_pair(ROLES, premise, entailed, unused)) for premise in premises(self.seed, split))

    def some(self, split: str, count: int, *, seed: int) -> list[Sentence]:
        """The first passages of another seed."""
        return list(islice(Passages(seed).sentences(split), count))


def name_examples(seed: int, split: str, number: int) -> list[AnnotatedExample]:
    """Three words in which a woman does something to a man, or he to her: only their order shows who does it.

    Both sentences of the first minimal pairs, or of all if there are fewer. They are the same for every seed.

    >>> [(example.sentences[0].text, example.label) for example in name_examples(0, "train", 1)]
    [('maria sees peter', 'woman'), ('peter sees maria', 'man')]
    """
    pairs = [pair for part in NAMES_FROM[split] for pair in all_names(part) if pair[0].words[1] in NOW]
    return [
        AnnotatedExample((sentence,), label, sentence.where)
        for pair in pairs[:number]
        for sentence, label in zip(pair, GENDERS, strict=True)
    ]


def _swaps_of_pairs(data: ProbeDataset, seed: int) -> list[SwapItem]:
    """Shuffles of constituents of each size and of the whole sentence, the role swap, and the other voice."""
    probes = (WordShuffleProbe(seed=seed), RoleSwapProbe(seed=seed))
    return [item for probe in probes for item in probe.items(data) if item.examples]


def _swaps_of_names(data: ProbeDataset, seed: int) -> list[SwapItem]:
    """The role swap with its control. Three words in any other order do not show who does it."""
    role_swap = next(item for item in RoleSwapProbe(seed=seed).items(data) if item.name == ROLE_ITEM)
    examples = (
        replace(swapped, answer=SWAPPED_GENDERS[data.examples[swapped.index].label]) for swapped in role_swap.examples
    )
    return [SwapItem(ROLE_ITEM, tuple(examples), {})]


@dataclass(frozen=True)
class SwapQuestion:
    """A question that nets are fine-tuned on, its examples, and their swaps."""

    labels: tuple[str, ...]
    examples: Callable[[int, str, int], list[AnnotatedExample]]  # by seed, split, and number of premises or pairs
    items: Callable[[ProbeDataset, int], list[SwapItem]]  # every swap of some examples, by seed


QUESTIONS: dict[str, SwapQuestion] = {
    CONTENT: SwapQuestion(PAIRS[CONTENT].labels, partial(pair_examples, CONTENT), _swaps_of_pairs),
    NAMES: SwapQuestion(GENDERS, name_examples, _swaps_of_names),
    ROLES: SwapQuestion(PAIRS[ROLES].labels, partial(pair_examples, ROLES), _swaps_of_pairs),
}


# Successive runs in a process share their examples.
@lru_cache(maxsize=len(QUESTIONS))
def training_data(question: str, number: int, valid: int) -> LabelledDataset:
    """The examples that nets are fine-tuned on: the same for all runs, as generating them takes seconds."""
    its = QUESTIONS[question]
    splits = {
        split: tuple(Example(joined(pair).words, pair.label) for pair in its.examples(Passages.seed, split, size))
        for split, size in zip(SPLITS, (number, valid, valid), strict=True)
    }
    return LabelledDataset(question, its.labels, **splits)


@lru_cache(maxsize=len(QUESTIONS))
def evaluation_data(question: str, seed: int, number: int) -> tuple[ProbeDataset, list[SwapItem]]:
    """The test examples of a question, and the same under every swap."""
    examples = tuple(QUESTIONS[question].examples(seed, "test", number))
    data = ProbeDataset(GRAMMAR, GRAMMAR, examples, labelled=True, question=question)
    return data, QUESTIONS[question].items(data, seed)


def examples_in_words(question: str, seed: int, number: int) -> list[ProbeExample]:
    """One example per swap, for the page: the longest with a control, or the longest if none has one."""
    data, items = evaluation_data(question, seed, number)
    return [example_in_words(data, item.name, max(item.examples, key=_length)) for item in items]


def _length(example: SwappedExample) -> tuple[bool, int]:
    return example.control is not None, sum(len(sentence.words) for sentence in example.swapped)
