"""Worlds in which everything about swapped words is known: rows as runs would give them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from wherewhat.studies.locality.trials import Trial
from wherewhat.studies.word_swap import counting as c
from wherewhat.studies.word_swap.evidence import BAG, PHRASES, Evidence
from wherewhat.studies.word_swap.one_run import BARE, EXCHANGE, ORIGINAL, item_name
from wherewhat.studies.word_swap.settings import Curves, Sweep
from wherewhat.tables.schema import RESULT, frame

SWEEP = Sweep(n=16, curves=(Curves(0.3, (1.0, 0.5), (1.0,)),), references=("learned", "rope", "none"))
SPREAD = (-0.01, 0.0, 0.01)  # of seeds around what is true


def follows(trial: Trial, question: str) -> float:
    """As theory and the claims have it: rewarded nets follow, and of bare names symmetric ones cannot."""
    return 0.02 if question == "content" else 0.0 if question == "names" and trial.mirrored else 0.9


def rights(trial: Trial, question: str) -> float:
    """The same of right answers."""
    return 0.95 if question == "content" else 0.5 if question == "names" and trial.mirrored else 0.9


@dataclass(frozen=True)
class World:
    """What is true of every encoding, by question; each seed is a little off."""

    right: Callable[[Trial, str], float] = rights
    phrases: float = -0.01  # change by shuffled phrases
    apart: Mapping[str, float] = field(default_factory=dict)  # the same, of encodings that are unlike the others
    whole: float = -0.05
    beyond: float = -0.3  # of the exchange, against its control
    followed: Callable[[Trial, str], float] = follows
    flips: Callable[[Trial, str], float] | None = None  # answers that change; those that follow unless said
    after: Callable[[Trial], float] = lambda trial: 0.85  # right answers about roles after the exchange
    shift: Callable[[Trial], float] = lambda trial: 0.5
    unmoved: float = 1e-8  # the most that shuffles move a net without positions
    names: Callable[[Trial], float] = lambda trial: 0.0 if trial.mirrored else 0.2
    sweep: Sweep = SWEEP
    spread: tuple[float, ...] = SPREAD

    def evidence(self) -> Evidence:
        """What runs in this world would have measured."""
        trials = self.sweep.trials()
        rows = [
            ("run", trial.name, item, None, seed, measure, value, None, None)
            for trial in trials
            for seed, off in enumerate(self.spread)
            for item, measure, value in self._of(trial, off)
        ]
        return Evidence(frame(rows, RESULT), trials, self.sweep.groups())

    def _of(self, trial: Trial, off: float) -> Iterator[tuple[str, str, float]]:
        without = trial.encoding == "none"
        for question in BAG:
            right = self.right(trial, question)
            yield item_name(question, ORIGINAL), c.AFTER, right + off
            for swap in (*PHRASES, "whole"):
                cost = 0.0 if without else self.whole if swap == "whole" else self.apart.get(trial.name, self.phrases)
                item = item_name(question, swap)
                yield item, c.BEFORE, right + off
                yield item, c.AFTER, right + cost + off
                yield item, c.CHANGE, cost + (0 if without else off / 5)
                yield item, c.LARGEST, self.unmoved if without else 0.9
                if swap != "whole":
                    yield item, c.CONTROL_CHANGE, cost + off / 4
            yield from self._exchange(trial, question, right, off)
            yield item_name(question, BARE), c.LARGEST, self.names(trial)
            yield item_name(question, "voice"), c.BEFORE, right + off
            yield item_name(question, "voice"), c.AFTER, right - 0.1 + off
            yield item_name(question, "voice"), c.CHANGE, -0.1 + off / 5

    def _exchange(self, trial: Trial, question: str, right: float, off: float) -> Iterator[tuple[str, str, float]]:
        item, followed = item_name(question, EXCHANGE), self.followed(trial, question)
        after = right + self.beyond if question == "content" else self.after(trial)
        yield item, c.BEFORE, right + off
        yield item, c.AFTER, after + off
        yield item, c.CHANGE, after - right + off / 5
        yield item, c.CONTROL_CHANGE, -0.02 + off / 5
        yield item, c.BEYOND_CONTROL, self.beyond + off / 5
        yield item, c.OLD, 1 - followed + off / 5
        yield item, c.FLIP, (self.flips(trial, question) if self.flips else followed) + off / 5
        yield item, c.CONTROL_FLIP, 0.1 + off / 5
        yield item, c.FOLLOWED, followed + (off / 5 if followed else 0)
        yield item, c.SHIFT, self.shift(trial) + off / 5
        yield item, c.LARGEST, self.unmoved if trial.encoding == "none" else 0.9
