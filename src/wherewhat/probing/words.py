"""The word probe: words shuffled within constituents of every size, and in the whole sentence, each with a control."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from torch import nn

from wherewhat.capture.loading.load import LoadedModel, LoadSettings
from wherewhat.corpora.annotated_examples import AnnotatedExample
from wherewhat.errors import UserError
from wherewhat.probing import word_claims
from wherewhat.probing.swap_probe.datasets import ProbeDataset
from wherewhat.probing.swap_probe.estimates import WHOLE, Marks, ProbeEstimates
from wherewhat.probing.swap_probe.item_outputs import ItemOutputs
from wherewhat.probing.swap_probe.run import SwapProbe, run_probe
from wherewhat.probing.swap_probe.swapped_example import SentenceVersion, SwapItem, SwappedExample, version_of
from wherewhat.probing.swaps.constituent_shuffle import constituents_of, shuffle_constituents, shuffle_control
from wherewhat.probing.swaps.swap import SIZES, size_name
from wherewhat.progress import OnStep, Say
from wherewhat.runs.registry import ProbeRun
from wherewhat.stats.bootstrap import LEAST
from wherewhat.stats.verdict import ClaimResult

BOTH = "both"
PAIR_PLACES = {BOTH: (0, 1), "premise": (0,), "hypothesis": (1,)}
EVERY_SIZE = "every size"  # the side of examples with a constituent of every size: one original serves all sizes
DEFAULT_SIZES = tuple(map(size_name, SIZES))


@dataclass(frozen=True)
class WordShuffleProbe(SwapProbe):
    """Which words are shuffled."""

    sizes: tuple[str, ...] = DEFAULT_SIZES  # words in a constituent, or "whole"
    which: str = BOTH  # sentence of a pair
    name: ClassVar[str] = "words"
    need: ClassVar[str] = "constituents"

    def __post_init__(self) -> None:
        if self.which not in PAIR_PLACES:
            raise UserError(f"which is '{self.which}'; of a pair shuffle premise, hypothesis or both")
        for size in self.sizes:
            if size != WHOLE and not (size.isdecimal() and int(size) >= 2):
                raise UserError(f"'{size}' is not the size of a constituent; give 2 words or more, or {WHOLE}")
        if not self.sizes or len(set(self.sizes)) < len(self.sizes):
            raise UserError(f"sizes is '{','.join(self.sizes)}'; name at least one size, and none twice")

    def refuse(self, example: AnnotatedExample) -> str | None:
        there = (
            constituents_of(example.sentences[place], _words(size))
            for size in self.sizes
            for place in self._places(example)
        )
        return None if any(there) else "without a constituent to shuffle"

    def items(self, data: ProbeDataset) -> list[SwapItem]:
        """Every size with the examples that have such a constituent."""
        by_size: dict[str, tuple[SwappedExample, ...]] = {}
        for size in self.sizes:
            swapped = (self._swapped(index, example, size) for index, example in enumerate(data.examples))
            by_size[size] = tuple(each for each in swapped if each is not None)
        whole = {each.index: each.swapped for each in by_size.get(WHOLE, ())}
        return [
            SwapItem(size, examples, {WHOLE: whole} if whole and size != WHOLE else {})
            for size, examples in by_size.items()
        ]

    def why_missing(self, item: str) -> str:
        return "nothing to shuffle" if item == WHOLE else f"no constituent of {item} words"

    def sides(self, outputs: ItemOutputs, items: Sequence[SwapItem]) -> Mapping[str, Marks]:
        """Every label, and the examples that have a constituent of every size if there are enough."""
        labels = np.array(outputs.labels)
        sides = {label: labels == label for label in sorted(set(labels)) if outputs.library.data.labelled}
        every = in_every_item(items)
        if len(every) >= LEAST:
            sides[EVERY_SIZE] = np.array([each.index in every for each in outputs.item.examples])
        return sides

    def about(self, data: ProbeDataset, items: Sequence[SwapItem]) -> dict[str, Any]:
        return {"swapped_in": self.which if data.pairs else "sentence", "every_size": len(in_every_item(items))}

    def claims(self, data: ProbeDataset, estimates: ProbeEstimates) -> list[ClaimResult]:
        return word_claims.claims_of(data, estimates, self.sizes)

    def summary(self, data: ProbeDataset, estimates: ProbeEstimates) -> str:
        return word_claims.summary_of(data, estimates, self.sizes)

    def _places(self, example: AnnotatedExample) -> tuple[int, ...]:
        return PAIR_PLACES[self.which] if len(example.sentences) == 2 else (0,)

    def _swapped(self, index: int, example: AnnotatedExample, size: str) -> SwappedExample | None:
        """An example with its constituents of one size shuffled; a text is always shuffled in the same way."""
        shuffled, controls = dict[int, SentenceVersion](), dict[int, SentenceVersion]()
        for place in self._places(example):
            sentence = example.sentences[place]
            swap = shuffle_constituents(sentence, _words(size), seed=self.seed, key=sentence.text)
            if swap is not None:
                shuffled[place] = SentenceVersion.by(swap)
                control = shuffle_control(sentence, swap, seed=self.seed, key=sentence.text)
                controls |= {} if control is None else {place: SentenceVersion.by(control)}
        if not shuffled:
            return None
        beside = version_of(example, controls) if len(controls) == len(shuffled) else None
        return SwappedExample(index, version_of(example, shuffled), beside, example.label or None)


def probe_words(
    model: str | nn.Module | LoadedModel,
    files: Sequence[str | Path] = (),
    *,
    sizes: Sequence[str | int] = DEFAULT_SIZES,
    which: str = BOTH,
    max_sentences: int = 500,
    labels: Sequence[str] = (),
    seed: int = 0,
    tokenizer: Any = None,
    loading: LoadSettings | None = None,
    on_step: OnStep | None = None,
    say: Say | None = None,
) -> ProbeRun:
    """Shuffle words within constituents, and in whole sentences, and measure how a model's outputs change.

    `files` hold constituents, or labelled examples with constituents; without files, sentences of the grammar are used.
    `sizes` are words per constituent, or "whole"; `which` is premise, hypothesis or both; `labels` are other names for
    a classifier's labels, in its order.
    """
    probe = WordShuffleProbe(max_sentences, tuple(labels), seed, tuple(map(str, sizes)), which)
    return run_probe(probe, model, files, tokenizer=tokenizer, loading=loading, on_step=on_step, say=say)


def in_every_item(items: Sequence[SwapItem]) -> set[int]:
    """The indices of the examples that every item has."""
    return set.intersection(*({each.index for each in item.examples} for item in items))


def _words(size: str) -> int | None:
    return None if size == WHOLE else int(size)
