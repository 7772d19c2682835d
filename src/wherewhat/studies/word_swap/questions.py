"""The questions that nets are fine-tuned on: their answers, their cases, and what becomes of these."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from wherewhat.corpora.cases import Case
from wherewhat.corpora.pairs import PAIRS
from wherewhat.corpora.twins import GENDERS
from wherewhat.probing.roles import Exchanges
from wherewhat.probing.swapped.data import Data
from wherewhat.probing.swapped.outcome import Item
from wherewhat.probing.words import Shuffles
from wherewhat.studies.word_swap import bare, premises

CONTENT, NAMES, ROLES = "content", "names", "roles"


@dataclass(frozen=True)
class Question:
    """Something to ask, and how its words are swapped."""

    labels: tuple[str, ...]
    bag: float  # what the words alone can tell at the most
    cases: Callable[[int, str, int], list[Case]]  # of a seed and a split, from so many premises or twins
    items: Callable[[Data, int], list[Item]]  # every swap of some cases, by a seed


def _swapped(data: Data, seed: int) -> list[Item]:
    """Phrases of each size, the whole, agent and patient, the other voice."""
    return [item for swaps in (Shuffles, Exchanges) for item in swaps(seed=seed).items(data) if item.trials]


def _about_pairs(name: str, bag: float) -> Question:
    return Question(PAIRS[name].labels, bag, partial(premises.cases, name), _swapped)


# Of roles the words tell every pair with another verb, and half of the rest by chance; of twins they tell nothing.
QUESTIONS: dict[str, Question] = {
    CONTENT: _about_pairs("content", 1.0),
    NAMES: Question(GENDERS, 0.5, bare.cases, bare.items),
    ROLES: _about_pairs("roles", 2 / 3),
}
