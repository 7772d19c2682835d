"""Where examples come from: the grammar, its own pairs for a classifier that has their labels, or files."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import count, islice
from pathlib import Path

from wherewhat.capture.outputs.text_outputs import LABELS, fits, labels_of
from wherewhat.corpora.annotated_examples import AnnotatedExample, read_annotated_examples
from wherewhat.corpora.files import distinct_names
from wherewhat.corpora.gold import LABELLED, kind_of, read_gold
from wherewhat.corpora.grammar import MOST, Grammar
from wherewhat.corpora.sentence_pairs import CONTENT, ROLES, SHORT, SWAPPED_LABELS, content_example, role_example
from wherewhat.errors import UserError
from wherewhat.probing.swap_probe.probed_model import ProbedModel
from wherewhat.probing.swap_probe.swapped_example import original_texts
from wherewhat.tasks.stream import Stream, fnv, mix

GRAMMAR = "grammar"
TOO_LONG = "longer than the model allows"
ATTEMPTS = 200  # sentences of the grammar tried per example wanted, before giving up
OWN_PAIRS = {"roles": (ROLES, role_example), "content": (CONTENT, content_example)}


@dataclass(frozen=True)
class ProbeDataset:
    """The examples of one source, and what was left out of it."""

    name: str
    source: str
    examples: tuple[AnnotatedExample, ...]
    labelled: bool = False
    question: str | None = None  # its rule says what becomes of a label when roles are swapped
    skipped: tuple[tuple[str, int], ...] = ()  # why, and how many
    spare: int = 0  # usable examples beyond the number that was wanted

    @property
    def pairs(self) -> bool:
        """Whether its examples are pairs of sentences."""
        return any(len(example.sentences) == 2 for example in self.examples)

    @property
    def hash(self) -> str:
        """Of all texts and their labels."""
        lines = ("\t".join((example.label, *original_texts(example))) for example in self.examples)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@dataclass(frozen=True)
class ExampleFilter:
    """How examples are chosen: at most how many, by which seed, what files must hold, and which are unusable."""

    most: int
    seed: int
    need: str  # constituents or roles
    refuse: Callable[[AnnotatedExample], str | None]  # why an example cannot be used, if it cannot

    def __post_init__(self) -> None:
        if self.most < 1:
            raise UserError(f"max_sentences is {self.most}; take at least 1")
        if not 0 <= self.seed < 2**31:
            raise UserError(f"seed is {self.seed}; give a whole number from 0 to {2**31 - 1}")


def load_datasets(model: ProbedModel, files: Sequence[Path], choice: ExampleFilter) -> list[ProbeDataset]:
    """One dataset per file, or one of the grammar where there are no files."""
    if not files:
        return [_from_grammar(model, choice)]
    return [_from_file(model, path, name, choice) for path, name in zip(files, distinct_names(files), strict=True)]


def _from_grammar(model: ProbedModel, choice: ExampleFilter) -> ProbeDataset:
    """Built-in pairs for a classifier that has their labels, else sentences of the grammar."""
    question = own_question(model.labels)
    if question is None and (learnt := learnt_pairs(model)):
        raise UserError(
            f"{model.model.id} learnt to judge pairs ({', '.join(learnt)}), and the built-in pairs have no labels "
            f"{', '.join(model.labels)}; leave --labels out, or give pairs with these labels with --treebank"
        )
    corpus = model.model.corpus if isinstance(model.model.corpus, Grammar) else Grammar()
    first = Stream(corpus.seed, "probe from", question or GRAMMAR, choice.seed).below(MOST)
    if question is None:
        sentences = (corpus.sentence("test", first + place) for place in count())
        endless: Iterator[AnnotatedExample] = (AnnotatedExample((each,), "", each.where) for each in sentences)
    else:
        labels, make = OWN_PAIRS[question]
        first -= first % len(labels)  # from the beginning of a block in which every label is as frequent
        endless = (make(corpus.seed, "test", first + place, max_premise=SHORT) for place in count())
    examples, skipped = _usable(model, islice(endless, ATTEMPTS * choice.most), choice, until=choice.most)
    _check_any(examples, skipped, "the grammar")
    return ProbeDataset(GRAMMAR, GRAMMAR, tuple(examples), question is not None, question, tuple(skipped.items()))


def _from_file(model: ProbedModel, path: Path, name: str, choice: ExampleFilter) -> ProbeDataset:
    """Some examples of a file, chosen by their texts and the seed."""
    unread: Counter[str] = Counter()
    sentences = read_gold(path, choice.need)  # refuses a file that lacks what is needed
    labelled = kind_of(path) == LABELLED
    if labelled:
        read: Iterable[AnnotatedExample] = read_annotated_examples(path, skipped=unread)
    else:
        read = (AnnotatedExample((sentence,), "", sentence.where) for sentence in sentences)
    usable, skipped = _usable(model, read, choice)

    def rank(example: AnnotatedExample) -> int:
        return mix(fnv("\t".join(original_texts(example))) ^ mix(choice.seed))

    examples = nsmallest(choice.most, usable, key=rank)
    skipped = unread + skipped
    _check_any(examples, skipped, str(path))
    labelled = labelled and model.readout == LABELS
    labels = {example.label for example in examples} if labelled else set()
    if not {label.casefold() for label in labels} <= {label.casefold() for label in model.labels}:
        raise UserError(
            f"the labels of {path} are {', '.join(sorted(labels))} and those of {model.model.id} are "
            f"{', '.join(model.labels)}; say with --labels what the model's are called, in its own order"
        )
    question = rule_of(labels) if labelled else None
    spare = len(usable) - len(examples)
    return ProbeDataset(name, str(path), tuple(examples), labelled, question, tuple(skipped.items()), spare)


def _usable(
    model: ProbedModel, examples: Iterable[AnnotatedExample], choice: ExampleFilter, until: int | None = None
) -> tuple[list[AnnotatedExample], Counter[str]]:
    """The usable examples, up to so many if that is given, and why others are not usable."""
    usable, skipped = list[AnnotatedExample](), Counter[str]()
    for example in examples:
        why = choice.refuse(example) or (None if fits(model.model, original_texts(example)) else TOO_LONG)
        if why is None:
            usable.append(example)
        else:
            skipped[why] += 1
        if until is not None and len(usable) == until:
            break
    return usable, skipped


def _check_any(examples: Sequence[AnnotatedExample], skipped: Counter[str], source: str) -> None:
    if not examples:
        reasons = "; ".join(f"{number} {why}" for why, number in skipped.most_common()) or "it holds none"
        raise UserError(f"no sentence of {source} can be used ({reasons}); give others with --treebank")


def own_question(labels: Sequence[str]) -> str | None:
    """The built-in question about pairs that has exactly these labels, in any order.

    >>> own_question(["Reversed", "other", "entailed"])
    'roles'
    """
    given = {label.casefold() for label in labels}
    return next((name for name, (own, _) in OWN_PAIRS.items() if set(own) == given), None)


def learnt_pairs(model: ProbedModel) -> tuple[str, ...]:
    """The labels of a classifier that was trained on pairs, by its own names for them; none for other models."""
    own = labels_of(model.model) if model.readout == LABELS else ()
    return own if own and rule_of(set(own)) else ()


def rule_of(labels: set[str]) -> str | None:
    """The question whose rule says what becomes of each of these labels when roles are swapped.

    >>> rule_of({"entailment", "neutral"}), rule_of({"good", "bad"})
    ('content', None)
    """
    given = {label.casefold() for label in labels}
    return next((name for name, rule in SWAPPED_LABELS.items() if given <= set(rule)), None)
