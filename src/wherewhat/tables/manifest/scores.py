"""The manifests of profiles, comparisons and edits: runs whose rows are scores of heads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from wherewhat.tables.manifest.decode import JSON_KEY
from wherewhat.tables.manifest.sections import (
    ClaimSection,
    Count,
    LayerSection,
    Manifest,
    ModelSection,
    Numbers,
    ScoreSection,
    Size,
    SwapsSection,
    TextsSection,
)

Baseline = Mapping[str, float | Numbers | None]  # by measure, and under `sd` the deviations of draws


@dataclass(frozen=True, kw_only=True)
class FirstSlots:
    """The same measures of the first n slots alone."""

    n: Size
    heads: Numbers


@dataclass(frozen=True, kw_only=True)
class PositionalLayer:
    """The positional part of a layer by one source: the mean matrix of its heads beside the mean over heads."""

    layer: Size
    source: str
    n: Size
    mask: str = ""
    back: int | None = None  # how far queries see to the left; none: without limit
    ahead: int | None = None
    heads: Numbers = field(default_factory=dict)
    together: Numbers = field(default_factory=dict)
    paired: Sequence[float] = ()
    first: FirstSlots | None = None


@dataclass(frozen=True, kw_only=True)
class PositionalSection:
    """How the positional part of attention was measured, and the measures of uninformed heads."""

    n: Size = 0
    words: Count | None = None
    baselines: Mapping[str, float | Mapping[str, float | Baseline | None] | None] = field(default_factory=dict)
    layers: Sequence[PositionalLayer] = ()


@dataclass(frozen=True, kw_only=True)
class CorrespondenceSection:
    """A rank correlation with the speed of rotary frequencies, over all layers or in one."""

    layer: Size | None = None
    x: str = "theta"
    y: str
    points: Count | None = None
    rho: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class UntrainedSection:
    """The untrained baseline: how many windows it read."""

    windows: Count | None = None
    seed: int | None = None


@dataclass(frozen=True, kw_only=True)
class RepeatedSection:
    """The sequences of repeated random tokens, and by pattern how many rows of a sequence count."""

    length: Count | None = None
    sequences: Count | None = None
    special: Count | None = None
    rows: Mapping[str, Mapping[str, Count]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class HiddenLayer:
    """Shares of position, content and the rest in the hidden states that a layer reads."""

    layer: Size
    pos: float | None = None
    ctx: float | None = None
    resid: float | None = None
    pos_corrected: float | None = None
    texts: Count | None = None
    tokens: Count | None = None


@dataclass(frozen=True, kw_only=True)
class ProfileManifest(Manifest):
    """Which model and texts a profile is of, and how to read its scores."""

    kind: str = "heads"

    model: ModelSection = field(default_factory=ModelSection)
    texts: TextsSection = field(default_factory=TextsSection)
    layers: Sequence[LayerSection] = ()
    swaps: SwapsSection | None = None
    untrained: UntrainedSection | None = None
    scores: Mapping[str, ScoreSection] = field(default_factory=dict)
    hidden: Sequence[HiddenLayer] = ()
    positional: PositionalSection | None = None
    random: RepeatedSection | None = None
    correspondence: Sequence[CorrespondenceSection] = ()


@dataclass(frozen=True, kw_only=True)
class ComparedModel:
    """One side of a comparison: its name, which model it is, and on which texts it was profiled."""

    name: str
    draws: Count = 0  # of untrained weights; 0: a model that was given
    step: int | None = None
    model: ModelSection = field(default_factory=ModelSection)
    texts: TextsSection = field(default_factory=TextsSection)
    command: str | None = None


@dataclass(frozen=True, kw_only=True)
class Distance:
    """How far apart heads are, with an interval where there are several texts."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class DistanceSummaries:
    """All distances between heads of two models in four numbers."""

    min: Distance
    match: Distance
    match_back: Distance = field(metadata={JSON_KEY: "match back"})
    one_to_one: Distance = field(metadata={JSON_KEY: "one to one"})


@dataclass(frozen=True, kw_only=True)
class HeadPair:
    """Two heads that are paired one to one."""

    head: str
    against: str
    divergence: float


@dataclass(frozen=True, kw_only=True)
class SimilarModels(DistanceSummaries):
    """How alike the heads of two models are, by attention or by scores."""

    model: str
    against: str
    by: str
    texts: Size | None = None
    rows: Size | None = None
    scores: Sequence[str] = ()
    any: float | None = None  # between any two heads, on average
    shuffled: DistanceSummaries | None = None  # the first model and itself with tokens in another order
    partners: Sequence[HeadPair] = ()


@dataclass(frozen=True, kw_only=True)
class CompareManifest(Manifest):
    """What was compared with what, how its intervals came about, and how to read its scores."""

    kind: str = "compare"

    compared: Sequence[ComparedModel] = ()
    draws: Sequence[str] = ()  # names of single draws of untrained weights
    same_heads: bool = False
    intervals: Sequence[str] = ()  # sentences
    over_heads: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)  # by part and score
    model: ModelSection = field(default_factory=ModelSection)
    texts: TextsSection = field(default_factory=TextsSection)
    layers: Sequence[LayerSection] = ()
    positional: PositionalSection | None = None
    random: RepeatedSection | None = None
    scores: Mapping[str, ScoreSection] = field(default_factory=dict)
    chance: Mapping[str, Numbers] = field(default_factory=dict)  # by part and score
    claims: Sequence[ClaimSection] = ()
    similar: Sequence[SimilarModels] = ()


@dataclass(frozen=True, kw_only=True)
class EditedFrequencies:
    """Which frequencies of this model a band is; once for layers that rotate at the same speeds."""

    operation: str
    band: str
    numbers: str
    of: Size
    wavelengths: tuple[float, float]
    layers: Sequence[Size] = ()


@dataclass(frozen=True, kw_only=True)
class EditSection:
    """What was edited, in the words of the command line."""

    description: str = field(metadata={JSON_KEY: "told"}, default="an edit")
    each: str | None = None  # what a sweep went through: head or band
    drop: Sequence[str] = ()
    unrotate: Sequence[str] = ()
    keep: Sequence[str] = ()
    scale: Sequence[str] = ()
    ablate: Sequence[str] = ()
    heads: Sequence[str] = ()
    layers: Sequence[Size] = ()
    frequencies: Sequence[EditedFrequencies] = ()


@dataclass(frozen=True, kw_only=True)
class CopySection:
    """The random sequences that copying was tried on: how many, how long each half, out of how many tokens."""

    sequences: Count
    half: Size
    of: Count | None = None


@dataclass(frozen=True, kw_only=True)
class SweptBand:
    """One band of a sweep: the slowest and the fastest of its angles, in radians per token."""

    layer: Size
    band: str
    theta: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class EditManifest(Manifest):
    """What was edited in which model, and on what its effect was measured."""

    kind: str = "edit"

    edit: EditSection = field(default_factory=EditSection)
    texts: TextsSection = field(default_factory=TextsSection)
    model: ModelSection = field(default_factory=ModelSection)
    predicts: str | None = None  # next, masked or answer
    random: CopySection | None = None
    layers: Sequence[LayerSection] = ()
    bands: Sequence[SweptBand] = ()
    swaps: SwapsSection | None = None
    scores: Mapping[str, ScoreSection] = field(default_factory=dict)
