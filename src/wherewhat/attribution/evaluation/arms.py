"""What is compared: methods with their ways to make one score per token, and orders that know nothing of the output."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from wherewhat.attribution.attribute import TextInput, attribute
from wherewhat.attribution.evaluation.curves import Floats
from wherewhat.attribution.explain import METHODS
from wherewhat.attribution.result import AGGREGATES, Attribution
from wherewhat.capture.loading.load import LoadedModel

RANDOM, LEFT_TO_RIGHT, RIGHT_TO_LEFT = "random", "left to right", "right to left"


@dataclass(frozen=True)
class MethodArm:
    """A method, and how the relevance of positions enters its scores, where it does."""

    method: str
    aggregate: str = ""

    @property
    def name(self) -> str:
        """What it is called.

        >>> MethodArm("pa-lrp", "signed").name, MethodArm("cp-lrp").name
        ('pa-lrp, signed', 'cp-lrp')
        """
        return f"{self.method}, {self.aggregate}" if self.aggregate else self.method


ATTNLRP, CHANCE = MethodArm("attnlrp"), MethodArm(RANDOM)
BASELINES = (
    ATTNLRP,
    MethodArm("rollout"),
    CHANCE,
    MethodArm(LEFT_TO_RIGHT),
    MethodArm(RIGHT_TO_LEFT),
)  # to compare others with


def aggregates_of(method: str) -> tuple[str, ...]:
    """The ways in which the scores of a method can be made; nameless where there is only one."""
    return tuple(AGGREGATES) if METHODS[method].positions else ("",)


def attributions(
    model: LoadedModel, text: TextInput, methods: Sequence[str], target: str | int = ""
) -> Iterator[tuple[str, Attribution]]:
    """One attribution of a text per method, all of the output that the first explains."""
    for method in methods:
        attribution = attribute(model, text, target=target, method=method)
        target = attribution.output.index
        yield method, attribution


def scores_of(results: Mapping[str, Attribution], slots: Sequence[int]) -> Iterator[tuple[MethodArm, Floats]]:
    """scores_N of every arm for the tokens in some slots, without random ones."""
    for method, attribution in results.items():
        for aggregate in aggregates_of(method):
            scored = replace(attribution, aggregate=aggregate) if aggregate else attribution
            yield MethodArm(method, aggregate), scored.scores_T.double().numpy()[list(slots)]
    places_N = np.arange(len(slots), dtype=np.float64)
    yield MethodArm(LEFT_TO_RIGHT), -places_N
    yield MethodArm(RIGHT_TO_LEFT), places_N
