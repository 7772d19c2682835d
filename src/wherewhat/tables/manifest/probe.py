"""The manifest of a probe, as `wherewhat probe` writes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wherewhat.tables.manifest.decode import JSON_KEY
from wherewhat.tables.manifest.sections import ClaimSection, Count, LayerSection, Manifest, ModelSection, Size

Span = tuple[int, int]  # first word, and the one after the last


@dataclass(frozen=True, kw_only=True)
class SwappedSentence:
    """A sentence before and after a swap, with its control."""

    words: Sequence[str] = ()
    swapped: Sequence[str] = ()
    order: Sequence[int] | None = None
    spans: Sequence[Span] = ()
    roles: Mapping[str, Span] = field(default_factory=dict)
    control: Sequence[str] = ()
    control_order: Sequence[int] | None = None
    control_spans: Sequence[Span] = ()


@dataclass(frozen=True, kw_only=True)
class ModelAnswer:
    """What a model made of one version of a sentence."""

    label: str | None = None
    probability: float | None = None
    nats: float | None = None
    distance: float | None = None


@dataclass(frozen=True, kw_only=True)
class ProbeExample:
    """One example to read: swapped sentences with the model's answers, or a relation and where heads look."""

    data: str | None = None
    item: str | None = None
    where: str | None = None
    chosen: str | None = None  # first, or most moved
    label: str | None = None
    new: str | None = None  # the label after the swap
    side: str | None = None
    sentences: Sequence[SwappedSentence] = ()
    # By original, swapped and control.
    answers: Mapping[str, ModelAnswer | None] = field(metadata={JSON_KEY: "said"}, default_factory=dict)
    words: Sequence[str] = ()
    query: Size | None = field(metadata={JSON_KEY: "from"}, default=None)
    partner: Size | None = field(metadata={JSON_KEY: "to"}, default=None)
    looked: Mapping[str, Size | None] = field(default_factory=dict)  # by part of attention, the word looked at
    head: Mapping[str, str] = field(default_factory=dict)  # by part of attention, the head that looks


@dataclass(frozen=True, kw_only=True)
class ItemCounts:
    """How many sentences one kind of swap was done to, how many have a control, and why others are not among them."""

    sentences: Count = 0
    controls: Count = 0
    left_out: Mapping[str, Count] = field(metadata={JSON_KEY: "left out"}, default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class DroppedRelation:
    """A relation with too few rows."""

    item: str
    side: str | None = None
    rows: Count


@dataclass(frozen=True, kw_only=True)
class ProbeData:
    """One treebank or dataset: its size, what was used of it and what was left out."""

    name: str = "data"
    source: str | None = None
    hash: str | None = None
    question: str | None = None
    labelled: bool | None = None
    pairs: bool | None = None
    sentences: Count | None = None
    words: Count | None = None
    labels: Mapping[str, Count] = field(default_factory=dict)
    items: Mapping[str, ItemCounts] = field(default_factory=dict)
    skipped: Mapping[str, Count] = field(default_factory=dict)
    not_needed: Count | None = field(metadata={JSON_KEY: "not needed"}, default=None)
    swapped_in: str | None = field(metadata={JSON_KEY: "swapped in"}, default=None)
    every_size: Count | None = field(metadata={JSON_KEY: "every size"}, default=None)
    removed: Count | None = None
    merged: Count | None = None
    pieces: Count | None = None
    rows: Mapping[str, Count] = field(default_factory=dict)
    hidden: Mapping[str, Count] = field(default_factory=dict)
    dropped: Sequence[DroppedRelation] = ()
    left: float | None = None
    distance: float | None = None
    median: float | None = None
    copied: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class ChosenHeads:
    """Which heads or offsets each half of the sentences chose for a relation."""

    data: str
    item: str
    side: str | None = None
    kind: str
    distance: str = "all"
    heads: Sequence[str] = ()
    offsets: Sequence[Any] = ()


@dataclass(frozen=True, kw_only=True)
class ProbeClaim(ClaimSection):
    """A claim about one dataset."""

    id: str | None = None
    data: str | None = None
    item: str | None = None
    side: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class MeasureSection:
    """How to read a measure of a probe."""

    asks: str = ""
    low: str = ""
    high: str = ""
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class ProbeManifest(Manifest):
    """Which probe was run on which model, on what data, and what came of it."""

    kind: str = "probe"

    probe: str  # words, roles or dependencies
    model: ModelSection = field(default_factory=ModelSection)
    layers: Sequence[LayerSection] = ()
    way: str = ""  # labels, masked, next or states; of dependencies bidirectional or causal
    question: str = field(metadata={JSON_KEY: "asked"}, default="")  # what the model is asked, in a sentence
    split: str | None = None
    aligned: bool | None = None  # whether treebanks hold the same sentences
    data: Sequence[ProbeData] = ()
    measures: Mapping[str, MeasureSection] = field(default_factory=dict)
    chosen: Sequence[ChosenHeads] = ()
    summary: str = field(metadata={JSON_KEY: "said"}, default="")  # the main result in a line
    claims: Sequence[ProbeClaim] = ()
    judged_by: str = field(metadata={JSON_KEY: "judged"}, default="")  # what all claims rest on
    examples: Sequence[ProbeExample] = ()
