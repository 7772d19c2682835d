"""A few examples in words, original and under every swap, for the page."""

from collections.abc import Iterator
from typing import Any

from wherewhat.corpora.annotated_examples import AnnotatedExample
from wherewhat.corpora.sentence import Sentence
from wherewhat.corpora.sentence_pairs import usable_roles
from wherewhat.probing.role_claims import ROLES
from wherewhat.probing.swap_probe.estimates import VOICE
from wherewhat.probing.swap_probe.swapped_example import SwapItem, SwappedExample
from wherewhat.probing.swaps.role_swap import swap_roles
from wherewhat.probing.swaps.voice import other_voice
from wherewhat.studies.word_swap.job import WordSwapJob
from wherewhat.studies.word_swap.questions import NAMES
from wherewhat.studies.word_swap.questions import ROLES as PAIRS

SHOWN = (NAMES, PAIRS)  # questions whose label changes for a visible reason
ExampleEntry = dict[str, Any]


def examples_of(job: WordSwapJob) -> list[ExampleEntry]:
    """One example per swap."""
    return [
        _entry(item, _longest(item), job.data(question).examples)
        for question in SHOWN
        if any(training.question == question for training in job.scale.questions)
        for item in job.items(question)
    ]


def _longest(item: SwapItem) -> SwappedExample:
    """The longest with a control, or the longest if none has one; the first of equals."""

    def length(example: SwappedExample) -> tuple[bool, int]:
        return example.control is not None, sum(len(sentence.words) for sentence in example.swapped)

    return max(item.examples, key=length)


def _entry(item: SwapItem, swapped: SwappedExample, originals: tuple[AnnotatedExample, ...]) -> ExampleEntry:
    original = originals[swapped.index]
    sentences = list(_sentences(item, swapped, original))
    return {"item": item.name, "label": original.label, "new": swapped.answer, "sentences": sentences}


def _sentences(item: SwapItem, swapped: SwappedExample, original: AnnotatedExample) -> Iterator[ExampleEntry]:
    for place, sentence in enumerate(original.sentences):
        now, control = swapped.swapped[place], None if swapped.control is None else swapped.control[place]
        entry = {"words": sentence.words, "swapped": now.words, "order": now.order, "spans": now.spans}
        if control is not None and control.words != sentence.words:
            entry |= {"control": control.words, "control_order": control.order, "control_spans": control.spans}
        after = _after(item, sentence) if now.words != sentence.words else None
        yield entry | ({"roles": _roles(sentence), "swapped_roles": _roles(after)} if after else {})


def _after(item: SwapItem, sentence: Sentence) -> Sentence | None:
    """The sentence after a swap whose result is a sentence of the grammar."""
    if item.name == VOICE:
        return other_voice(sentence)
    role_swap = swap_roles(sentence) if item.name == ROLES else None
    return role_swap.sentence if role_swap else None


def _roles(sentence: Sentence) -> dict[str, tuple[int, int]]:
    """The spans of agent and patient."""
    roles = usable_roles(sentence)
    return {role.role: (role.start, role.end) for role in roles} if roles else {}
