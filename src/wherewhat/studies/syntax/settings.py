"""The scales of the study (tiny for a first look, small for an hour, paper as published)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from wherewhat.corpora.grammar import Grammar
from wherewhat.studies.engine.encodings import BERT_BASE, EncodingCondition, NetScale, curve, w_for
from wherewhat.studies.engine.study import OF_STUDY


@dataclass(frozen=True, kw_only=True)
class SyntaxScale(NetScale):
    """The nets, their training, how they are probed, and which encodings are tried."""

    # curves of every locality (over n tokens) with every s, from which w follows; and references
    localities: tuple[float, ...] = field(metadata=OF_STUDY)
    sides: tuple[float, ...] = field(metadata=OF_STUDY)
    references: tuple[str, ...] = field(metadata=OF_STUDY)
    probed: int  # sentences with gold trees
    fewest: int = 20  # a relation with fewer rows is left out
    copies: int = 32  # words that are repeated to measure the positional part of attention
    permutations: int = 16  # of every sentence, to measure the contextual part
    corpus: Mapping[str, Any] = field(default_factory=Grammar().plain)

    def conditions(self) -> list[EncodingCondition]:
        """All conditions, the curves first."""
        curves = [curve("log", w_for(locality, n=self.n, s=s), s) for s in self.sides for locality in self.localities]
        return [*curves, *(EncodingCondition(name, "reference", name) for name in self.references)]


_TINY = SyntaxScale(
    localities=(0.35, 0.65, 0.9),
    sides=(1.0, 0.25),
    references=("learned", "rope", "deberta", "none"),
    sentences=20_000,
    steps=1000,
    probed=300,
    permutations=8,
    chosen="The number of steps was chosen from the time and the loss of single nets, and the learning rate as the one "
    "of two with the lower loss; both used seed 0, which is among the runs of this scale. After a whole run was known, "
    "one-sided curves were made as local as symmetric ones, and fewer sentences and permutations were probed, to save "
    "time.",
)
_SMALL = replace(
    _TINY,
    chosen="",
    localities=(0.2, 0.35, 0.5, 0.65, 0.8, 0.9),
    sides=(1.0, 0.25, 4.0),
    references=("learned", "sinusoidal", "rope", "deberta", "t5_bias", "alibi", "none"),
    layers=3,
    width=96,
    steps=3000,
    probed=1000,
    permutations=16,
    fewest=50,
)
# Hardly anything is known about the publication's dependency probe; the net has the shape of BERT-base.
_PAPER = replace(
    _SMALL,
    **BERT_BASE,
    longest=512,
    sentences=1_000_000,
    probed=2000,
    fewest=100,
    unknown=("layers", "width", "heads", "sentences", "steps", "batch", "learning rate", "warm-up", "seeds"),
)
SCALES: dict[str, SyntaxScale] = {"tiny": _TINY, "small": _SMALL, "paper": _PAPER}
