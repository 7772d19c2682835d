"""The sections that manifests of several kinds share, and the manifest of a training run, which has none of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from wherewhat.tables.manifest.decode import Bounds, encode
from wherewhat.tables.schema import MOST

SCHEMA = 2  # the version of manifest.json that is written and read here

Count = Annotated[int, Bounds(0, 10**15 - 1)]
Size = Annotated[int, Bounds(0, MOST - 1)]  # of a model or a text: layers, heads, slots
Numbers = Mapping[str, float | None]  # by name


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """Where the numbers of a run came from: what every kind of run records. Each kind adds its own sections."""

    schema: int = SCHEMA
    kind: str = ""  # the command whose runs these are
    tool: str = "wherewhat"
    versions: Mapping[str, str | None] = field(default_factory=dict)  # of Python and of packages
    platform: str | None = None
    git_commit: str | None = None
    command: str | None = None
    seed: int | None = None
    dtype: str | None = None
    device: str | None = None
    seconds: float | None = None
    peak_memory_bytes: Count | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()  # sentences that keep a reader from misreading the run
    files: Sequence[str] = ()
    sha256: Mapping[str, str] = field(default_factory=dict)  # of every table, and of this manifest without its hashes

    def to_dict(self) -> dict[str, Any]:
        """The manifest as JSON has it."""
        plain: dict[str, Any] = encode(self)
        return plain


@dataclass(frozen=True, kw_only=True)
class ModelSection:
    """Which model it was, so that the same one can be found again."""

    id: str = "a model"
    family: str | None = None
    path: str | None = None
    revision: str | None = None
    weights_hash: str | None = None
    layers: Size | None = None
    heads: Size | None = None  # may be some of all
    total_heads: Size | None = None
    parameters: Count | None = None
    labels: Sequence[str] = ()  # of a classifier
    config: Mapping[str, Any] | None = None  # of a net built by this package


@dataclass(frozen=True, kw_only=True)
class ExampleText:
    """One text as the model read it."""

    tokens: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class TextsSection:
    """Which texts were read: where from, a hash of their token ids, and the first few to look at."""

    source: str | None = None
    files: Sequence[str] = ()
    column: str | None = None
    dataset: str | None = None
    split: str | None = None
    hash: str | None = None
    count: Count | None = None
    windows: Count | None = None
    tokens: Count | None = None
    shortest: Count | None = None
    longest: Count | None = None
    example: Sequence[ExampleText] = ()


@dataclass(frozen=True, kw_only=True)
class LayerSection:
    """One layer of attention: its module, and what could be read of its logits."""

    layer: Size
    part: str = ""
    module: str = ""
    logits: str | None = None  # exact, position-free or undecomposed
    reason: str | None = None  # why they are undecomposed


@dataclass(frozen=True, kw_only=True)
class ScoreSection:
    """How to read a score."""

    asks: str = ""
    low: str = ""
    high: str = ""
    range: tuple[float | None, float | None] = (0.0, 1.0)
    paper: str = ""
    chance: str = ""
    sides: bool = False
    tau: float | str | None = None  # the temperature that weighs swaps at the input; None for all other scores
    kind: str = ""  # of what it measures; groups scores on a page


@dataclass(frozen=True, kw_only=True)
class ClaimSection:
    """What was published, what was measured here, and a verdict."""

    claim: str
    published: str = "unknown"
    ours: str = "unknown"
    verdict: str
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class SwapsSection:
    """How contents of keys changed places."""

    tau: Sequence[float | str] = ()
    first: int | None = None
    rows: int | str | None = None
    swaps: str | None = None
    blocks: str | Mapping[str, Any] | None = None
    frequency_slots: int | None = None


@dataclass(frozen=True, kw_only=True)
class TrainingManifest(Manifest):
    """Which recipe was trained with which settings, what it read, and how it ended."""

    kind: str = "train"

    recipe: str | None = None
    read: Mapping[str, Any] | None = None  # sizes and a digest of what was read
    accuracy: float | None = None
    accuracy_valid: float | None = None
    error: float | None = None  # of nets that hear: edits per word
    loss: float | None = None
