"""Three words in which a woman does something to a man, or he to her: only their order shows who does it."""

from dataclasses import replace

from wherewhat.corpora import lexicon as lex
from wherewhat.corpora.annotated_examples import AnnotatedExample
from wherewhat.corpora.minimal_pairs import GENDERS, MinimalPair, all_names
from wherewhat.probing.role_claims import ROLES
from wherewhat.probing.roles import RoleSwapProbe
from wherewhat.probing.swap_probe.datasets import ProbeDataset
from wherewhat.probing.swap_probe.swapped_example import SwapItem

WOMAN, MAN = GENDERS
SWAPPED_LABELS = {WOMAN: MAN, MAN: WOMAN}  # the right label after a role swap
NOW = frozenset(verb.now[lex.SG].form for verb in lex.REVERSIBLE)  # the training passages have no past tense
# Validation pairs are used for testing too: pairs are few, and with one learning rate nothing is chosen by them.
FROM = {"train": ("train",), "valid": ("valid",), "test": ("valid", "test")}


def examples(seed: int, split: str, count: int) -> list[AnnotatedExample]:
    """Both sentences of the first minimal pairs, or of all if there are fewer. They are the same for every seed.

    >>> [(example.sentences[0].text, example.label) for example in examples(0, "train", 1)]
    [('maria sees peter', 'woman'), ('peter sees maria', 'man')]
    """
    return [
        AnnotatedExample((sentence,), label, sentence.where)
        for pair in _minimal_pairs(split)[:count]
        for sentence, label in zip(pair, GENDERS, strict=True)
    ]


def _minimal_pairs(split: str) -> list[MinimalPair]:
    return [pair for part in FROM[split] for pair in all_names(part) if pair[0].words[1] in NOW]


def items(data: ProbeDataset, seed: int) -> list[SwapItem]:
    """The role swap with its control. Three words in any other order do not show who does it."""
    role_swap = next(item for item in RoleSwapProbe(seed=seed).items(data) if item.name == ROLES)
    examples = (
        replace(example, answer=SWAPPED_LABELS[data.examples[example.index].label]) for example in role_swap.examples
    )
    return [SwapItem(ROLES, tuple(examples), {})]
