"""One example under one swap: what the model reads, and what the right answer is then."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from wherewhat.corpora.annotated_examples import AnnotatedExample
from wherewhat.corpora.sentence import Role
from wherewhat.probing.swap_probe.probed_model import Texts
from wherewhat.probing.swaps.swap import Span, Swap


@dataclass(frozen=True)
class SentenceVersion:
    """One sentence as it is read after a swap. A sentence that was rewritten (the other voice) has no order."""

    words: tuple[str, ...]
    order: tuple[int, ...] | None = None  # new place -> old place
    spans: tuple[Span, ...] = ()  # where words were moved, in old places
    roles: Mapping[str, Span] = field(default_factory=dict)  # in old places, where they matter

    @classmethod
    def by(cls, swap: Swap, roles: Sequence[Role] = ()) -> "SentenceVersion":
        """After a swap."""
        return cls(swap.words, swap.order, swap.spans, {role.role: (role.start, role.end) for role in roles})


ExampleVersion = tuple[SentenceVersion, ...]  # all sentences of an example


@dataclass(frozen=True)
class SwappedExample:
    """An example after a swap, and after the control."""

    index: int  # among the examples of the dataset
    swapped: ExampleVersion
    control: ExampleVersion | None  # None where no control of equal size exists
    answer: str | None  # the right one after the swap, where it is known
    voice: str | None = None  # of the sentence that was swapped


@dataclass(frozen=True)
class SwapItem:
    """One kind of swap, and all examples that it applies to."""

    name: str
    examples: tuple[SwappedExample, ...]
    beside: Mapping[str, Mapping[int, ExampleVersion]]  # by kind and example, other versions to compare with


def version_of(example: AnnotatedExample, changed: Mapping[int, SentenceVersion]) -> ExampleVersion:
    """All sentences of an example, some of them changed."""
    unmoved = [SentenceVersion(each.words, tuple(range(len(each.words)))) for each in example.sentences]
    return tuple(changed.get(place, sentence) for place, sentence in enumerate(unmoved))


def texts_of(version: ExampleVersion) -> Texts:
    """What the model reads: words joined by blanks, before and after a swap, so that only their order differs."""
    return tuple(" ".join(sentence.words) for sentence in version)


def original_texts(example: AnnotatedExample) -> Texts:
    """The example before any swap."""
    return tuple(sentence.text for sentence in example.sentences)
