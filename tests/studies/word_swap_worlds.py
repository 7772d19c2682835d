"""Worlds in which everything about swapped words is known: rows as runs would give them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from wherewhat.studies.engine.encodings import EncodingCondition
from wherewhat.studies.engine.results import ResultTable, table_of
from wherewhat.studies.word_swap import names as c
from wherewhat.studies.word_swap.names import BAG, BARE_NAMES, CONSTITUENTS, ORIGINAL, ROLE_SWAP, item_name
from wherewhat.studies.word_swap.settings import SCALES, CurveGroup, WordSwapScale

CURVES = (CurveGroup(0.3, (1.0, 0.5), (1.0,)),)
SCALE = replace(SCALES["tiny"], curves=CURVES, references=("learned", "rope", "none"))
SPREAD = (-0.01, 0.0, 0.01)  # of seeds around what is true


def follows(condition: EncodingCondition, question: str) -> float:
    """As theory and the claims have it: rewarded nets follow, and of bare names symmetric ones cannot."""
    return 0.02 if question == "content" else 0.0 if question == "names" and condition.mirrored else 0.9


def rights(condition: EncodingCondition, question: str) -> float:
    """The same of right answers."""
    return 0.95 if question == "content" else 0.5 if question == "names" and condition.mirrored else 0.9


@dataclass(frozen=True)
class World:
    """What is true of every encoding, by question; each seed is a little off."""

    right: Callable[[EncodingCondition, str], float] = rights
    constituents: float = -0.01  # change by shuffled constituents
    apart: Mapping[str, float] = field(default_factory=dict)  # the same, of encodings that are unlike the others
    whole: float = -0.05
    beyond: float = -0.3  # of the exchange, against its control
    followed: Callable[[EncodingCondition, str], float] = follows
    flips: Callable[[EncodingCondition, str], float] | None = None  # answers that change; those that follow unless said
    after: Callable[[EncodingCondition], float] = lambda condition: 0.85  # right answers about roles after the exchange
    shift: Callable[[EncodingCondition], float] = lambda condition: 0.5
    unmoved: float = 1e-8  # the most that shuffles move a net without positions
    names: Callable[[EncodingCondition], float] = lambda condition: 0.0 if condition.mirrored else 0.2
    scale: WordSwapScale = SCALE
    spread: tuple[float, ...] = SPREAD

    def results(self) -> ResultTable:
        """What runs in this world would have measured."""
        conditions = self.scale.conditions()
        rows = [
            ("run", condition.name, item, None, seed, measure, value, None, None)
            for condition in conditions
            for seed, off in enumerate(self.spread)
            for item, measure, value in self._of(condition, off)
        ]
        return table_of(rows, conditions, self.scale)

    def _of(self, condition: EncodingCondition, off: float) -> Iterator[tuple[str, str, float]]:
        without = condition.encoding == "none"
        for question in BAG:
            right = self.right(condition, question)
            yield item_name(question, ORIGINAL), c.AFTER, right + off
            for swap in (*CONSTITUENTS, "whole"):
                cost = (
                    0.0
                    if without
                    else self.whole
                    if swap == "whole"
                    else self.apart.get(condition.name, self.constituents)
                )
                item = item_name(question, swap)
                yield item, c.BEFORE, right + off
                yield item, c.AFTER, right + cost + off
                yield item, c.CHANGE, cost + (0 if without else off / 5)
                yield item, c.LARGEST, self.unmoved if without else 0.9
                if swap != "whole":
                    yield item, c.CONTROL_CHANGE, cost + off / 4
            yield from self._exchange(condition, question, right, off)
            yield item_name(question, BARE_NAMES), c.LARGEST, self.names(condition)
            yield item_name(question, "voice"), c.BEFORE, right + off
            yield item_name(question, "voice"), c.AFTER, right - 0.1 + off
            yield item_name(question, "voice"), c.CHANGE, -0.1 + off / 5

    def _exchange(
        self, condition: EncodingCondition, question: str, right: float, off: float
    ) -> Iterator[tuple[str, str, float]]:
        item, followed = item_name(question, ROLE_SWAP), self.followed(condition, question)
        after = right + self.beyond if question == "content" else self.after(condition)
        yield item, c.BEFORE, right + off
        yield item, c.AFTER, after + off
        yield item, c.CHANGE, after - right + off / 5
        yield item, c.CONTROL_CHANGE, -0.02 + off / 5
        yield item, c.BEYOND_CONTROL, self.beyond + off / 5
        yield item, c.OLD, 1 - followed + off / 5
        yield item, c.FLIP, (self.flips(condition, question) if self.flips else followed) + off / 5
        yield item, c.CONTROL_FLIP, 0.1 + off / 5
        yield item, c.FOLLOWED, followed + (off / 5 if followed else 0)
        yield item, c.SHIFT, self.shift(condition) + off / 5
        yield item, c.LARGEST, self.unmoved if condition.encoding == "none" else 0.9
