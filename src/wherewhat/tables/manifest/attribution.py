"""The manifest of an attribution, as `wherewhat attribute` writes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from wherewhat.tables.manifest.sections import Count, Manifest, ModelSection, Size, TextsSection


@dataclass(frozen=True, kw_only=True)
class ExplainedSection:
    """One explained output; its number in the manifest is the column `output` of the table."""

    text: Size = 0  # the number of the text that was read
    kind: str = ""  # next, masked, labels or answer
    name: str = ""  # the token or the label
    index: Count = 0  # its number in the vocabulary, or among the labels
    slot: Size | None = None  # where it is predicted; none for a label
    logit: float | None = None
    probability: float | None = None
    likeliest: str | None = None  # what the model itself would have answered, where that is something else


@dataclass(frozen=True, kw_only=True)
class LedgerEntrySection:
    """What one node keeps of the relevance that reaches it."""

    node: str = ""  # tokens, softmax, biases, others, or a source of position
    layer: Size | None = None
    value: float = 0.0


@dataclass(frozen=True, kw_only=True)
class LedgerSection:
    """Where the relevance of one output went under one method: the parts add up to the logit."""

    output: Size = 0
    method: str = ""
    logit: float | None = None
    tokens: float = 0.0
    positions: float = 0.0
    softmax: float = 0.0  # kept by softmaxes, whose rule has a constant term
    biases: float = 0.0  # added parameters
    others: float = 0.0  # further embeddings, such as those of segments
    rest: float = 0.0  # what is missing
    tolerance: float = 0.0  # the most that may be missing
    flow: float = 0.0  # the size of everything that was added up, with which the rest is compared
    balances: bool = True  # nothing is missing but rounding
    entries: Sequence[LedgerEntrySection] = ()  # node by node


@dataclass(frozen=True, kw_only=True)
class RotaryFrequency:
    """How fast a rotary frequency turns."""

    layer: Size | None = None
    frequency: Size = 0
    theta: float | None = None  # radians per token


@dataclass(frozen=True, kw_only=True)
class MethodSection:
    """How a method passes relevance back."""

    about: str = ""
    positions: bool = False  # whether positions have relevance of their own, which is part of its scores


@dataclass(frozen=True, kw_only=True)
class AggregateSection:
    """How one score is made of the relevance of a token and of its position."""

    name: str = "signed"
    about: str = ""


@dataclass(frozen=True, kw_only=True)
class EvaluationMeasureSection:
    """How to read a measure of an evaluation."""

    label: str = ""
    about: str = ""
    better: str = "higher"  # or lower


@dataclass(frozen=True, kw_only=True)
class EvaluationSection:
    """How methods were compared: what tokens are replaced by, in which order, and on how many texts."""

    order: str = "signed"  # or published
    replace: str = "token"  # or delete
    replacement: str = ""  # what stands in the place of a token
    draws: Size = 0  # random orders per text
    permutations: Size = 0  # of scores, for the chance level of known tokens
    texts: Mapping[str, int] = field(default_factory=dict)  # by where they are from
    measures: Mapping[str, EvaluationMeasureSection] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class AttributionManifest(Manifest):
    """Which outputs of which model were explained, by which methods, and where their relevance went."""

    kind: str = "attribute"

    model: ModelSection = field(default_factory=ModelSection)
    texts: TextsSection = field(default_factory=TextsSection)
    outputs: Sequence[ExplainedSection] = ()
    methods: Mapping[str, MethodSection] = field(default_factory=dict)
    aggregate: AggregateSection = field(default_factory=AggregateSection)
    ledgers: Sequence[LedgerSection] = ()  # none for methods that pass nothing back that could be added up
    frequencies: Sequence[RotaryFrequency] = ()
    evaluation: EvaluationSection | None = None  # none: methods were not compared
    causal: bool | None = None  # whether a mask hides later tokens; it holds position, and gets no relevance
