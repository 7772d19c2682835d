"""The questions that nets are fine-tuned on: their labels, their examples, and the swaps of these."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from wherewhat.corpora.annotated_examples import AnnotatedExample
from wherewhat.corpora.minimal_pairs import GENDERS
from wherewhat.corpora.sentence_pairs import PAIRS
from wherewhat.probing.roles import RoleSwapProbe
from wherewhat.probing.swap_probe.datasets import ProbeDataset
from wherewhat.probing.swap_probe.swapped_example import SwapItem
from wherewhat.probing.words import WordShuffleProbe
from wherewhat.studies.word_swap import premises, three_word_sentences

CONTENT, NAMES, ROLES = "content", "names", "roles"


@dataclass(frozen=True)
class SwapQuestion:
    """A question, its examples, and their swaps."""

    labels: tuple[str, ...]
    bag: float  # the best accuracy from a bag of words
    examples: Callable[
        [int, str, int], list[AnnotatedExample]
    ]  # by seed, split, and number of premises or minimal pairs
    items: Callable[[ProbeDataset, int], list[SwapItem]]  # every swap of some examples, by seed


def _swapped(data: ProbeDataset, seed: int) -> list[SwapItem]:
    """Shuffles of constituents of each size and of the whole sentence, the role swap, and the other voice."""
    probes = (WordShuffleProbe(seed=seed), RoleSwapProbe(seed=seed))
    return [item for probe in probes for item in probe.items(data) if item.examples]


def _about_pairs(name: str, bag: float) -> SwapQuestion:
    return SwapQuestion(PAIRS[name].labels, bag, partial(premises.examples, name), _swapped)


# For roles, the words decide every pair with another verb, and half of the rest by chance; for names, nothing.
QUESTIONS: dict[str, SwapQuestion] = {
    CONTENT: _about_pairs("content", 1.0),
    NAMES: SwapQuestion(GENDERS, 0.5, three_word_sentences.examples, three_word_sentences.items),
    ROLES: _about_pairs("roles", 2 / 3),
}
