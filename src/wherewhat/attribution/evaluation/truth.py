"""Texts whose deciding tokens are known: sequences of tasks, pairs of sentences, repeated tokens."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from wherewhat.attribution.outputs import kind_of
from wherewhat.capture.hooks.position_sources import has_two_stacks
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.outputs.language_model import NEXT
from wherewhat.capture.outputs.text_outputs import labels_of
from wherewhat.capture.tokens.full_texts import encode_full_text
from wherewhat.capture.tokens.special_tokens import plain_tokens, special_tokens
from wherewhat.corpora.annotated_examples import AnnotatedExample
from wherewhat.corpora.question_corpus import QuestionCorpus
from wherewhat.corpora.sentence_pairs import SHORT, main_predicate, role_example
from wherewhat.errors import UserError
from wherewhat.tasks.base import Record, Task

BLOCK = 16  # random tokens that are repeated
LEAST_BLOCK = 4
ROLES = "roles"  # the question about pairs of sentences whose roles decide the label


@dataclass(frozen=True)
class KnownText:
    """A text, the slots of the tokens that decide its output, and the right output."""

    ids: tuple[int, ...]
    deciding: tuple[int, ...]
    answer: int  # a token or the number of a label
    source: str  # the task, `roles` or `repeated tokens`


@dataclass(frozen=True)
class TruthSource:
    """A kind of texts whose deciding tokens are known."""

    name: str
    about: str  # which tokens decide
    fits: Callable[[LoadedModel], bool]
    texts: Callable[[LoadedModel, int, int], Iterator[KnownText]]  # of a model, so many, by a seed


def task_slots(record: Record) -> tuple[int, ...]:
    """The slots that decide a task: of hops, all that are visited; of a query, the answer's and its own."""
    if "path" in record:
        return tuple(sorted(record["path"]))
    if "answer_pos" in record:
        return record["answer_pos"], len(record["input"]) - 1
    raise UserError("this task does not tell which of its tokens decide; name a net that learnt another task")


def _task_texts(model: LoadedModel, count: int, seed: int) -> Iterator[KnownText]:
    task = model.task
    assert isinstance(task, Task)
    for index in range(count):
        record = task.sample(seed, "test", index)
        source = record.get("task", task.name)
        yield KnownText(tuple(record["input"]), task_slots(record), record["target"], source)


def role_words(example: AnnotatedExample) -> tuple[int, ...]:
    """The words that decide the label of a pair: both verbs if another verb was put in, else agents and patients.

    Only the head words count, counted through both sentences.
    """
    slots, first = list[int](), 0
    for sentence in example.sentences:
        main = main_predicate(sentence)
        assert main is not None, "sentences of this question have a verb with an agent and a patient"
        heads = [main.index] if example.label == "other" else [role.head for role in main.roles]
        slots += [first + head for head in heads]
        first += len(sentence.words)
    return tuple(sorted(slots))


def _role_texts(model: LoadedModel, count: int, seed: int) -> Iterator[KnownText]:
    labels = labels_of(model)
    for index in range(count):
        example = role_example(seed, "test", index, max_premise=SHORT)
        text = encode_full_text(model, tuple(sentence.text for sentence in example.sentences))
        yield KnownText(tuple(text.ids_T.tolist()), role_words(example), labels.index(example.label), ROLES)


def _repeated_texts(model: LoadedModel, count: int, seed: int) -> Iterator[KnownText]:
    """A block of different random tokens and its beginning again: the next token is the one after the last's copy."""
    known_V, (before, _) = plain_tokens(model), special_tokens(model)
    length = min(BLOCK, len(known_V), ((model.context or 2**31) - len(before)) // 2)
    if length < LEAST_BLOCK:
        raise UserError(f"{model.id} cannot read a block of {LEAST_BLOCK} tokens twice; give texts")
    generator = torch.Generator().manual_seed(seed)
    for _ in range(count):
        block = known_V[torch.randperm(len(known_V), generator=generator)[:length]].tolist()
        again = int(torch.randint(length // 2, length, (), generator=generator))
        ids = (*before, *block, *block[:again])
        copy = len(before) + again - 1
        yield KnownText(ids, (copy, copy + 1, len(ids) - 1), block[again], REPEATED.name)


OWN_TRUTHS = (  # of nets that were trained on something whose deciding tokens are known
    TruthSource(
        "tasks", "the tokens on the path to the answer", lambda model: isinstance(model.task, Task), _task_texts
    ),
    TruthSource(
        ROLES,
        "the verbs if they differ, else agents and patients",
        lambda model: isinstance(model.corpus, QuestionCorpus) and model.corpus.question == ROLES,
        _role_texts,
    ),
)
REPEATED = TruthSource(
    "repeated tokens",
    "the last token, its earlier copy, and the token after that",
    lambda model: model.corpus is None and kind_of(model) == NEXT and not has_two_stacks(model.module),
    _repeated_texts,
)
SOURCES: tuple[TruthSource, ...] = (*OWN_TRUTHS, REPEATED)


def known_texts(model: LoadedModel, count: int, *, seed: int = 0) -> list[KnownText]:
    """So many texts for a model whose deciding tokens are known, of the first kind that fits it."""
    for source in SOURCES:
        if source.fits(model):
            return list(source.texts(model, count, seed))
    raise UserError(
        f"there are no texts whose deciding tokens are known for {model.id}; give texts, or name a net that learnt a "
        "task, a run of nli_tiny, or a language model that predicts the next token"
    )
