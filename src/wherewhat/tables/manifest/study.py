"""The manifest of a study, as `wherewhat reproduce` writes it, with what the page of each study needs beside rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, TypeVar

from wherewhat.tables.manifest.decode import Bounds, decode
from wherewhat.tables.manifest.probe import MeasureSection, ProbeExample
from wherewhat.tables.manifest.sections import ClaimSection, Count, Manifest, ModelSection, Numbers, Size, TextsSection

About = TypeVar("About")


@dataclass(frozen=True, kw_only=True)
class StudyManifest(Manifest, Generic[About]):
    """Which publication was reproduced at which scale, and every claim with a verdict."""

    kind: str = "reproduce"

    reproduction: str
    paper: str | None = None
    scale: str | None = None
    claims: Sequence[ClaimSection] = ()
    about: About  # what the page of this study needs beside its rows


@dataclass(frozen=True, kw_only=True)
class LongAnswer:
    """The answer to a question of a study: one sentence to lead with, and the rest."""

    lead: str = ""
    rest: str = ""


@dataclass(frozen=True, kw_only=True)
class StudyCondition:
    """One condition of a study: an encoding with its options, and the curve that it stands for."""

    name: str
    family: str = ""
    label: str | None = None
    encoding: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    kind: str | None = None
    w: float | None = None
    s: float | None = None
    mirrored: bool | None = None
    groups: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class TrainedSection:
    """What studies that train nets under several conditions share: the conditions, the nets and the answers."""

    subjects: Sequence[StudyCondition] = ()
    seeds: Count | None = None
    layers: Size | None = None
    heads: Size | None = None
    seconds: float | None = None
    processes: Count | None = None
    answers: Mapping[str, LongAnswer] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CanonicalSection:
    """Bounds on what one layer can do, by task."""

    bounds: Numbers = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PublishedFrequencies:
    """The frequencies that heads of each layer are published to use: of how many, and counted from which number."""

    of: Size | None = None
    first: int = 1
    number: Sequence[tuple[int, int]] = ()
    letter: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True, kw_only=True)
class PublishedDynamics:
    """What was published of training: frequencies by layer, and bounds by length."""

    frequencies: PublishedFrequencies = field(default_factory=PublishedFrequencies)
    bounds: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class DynamicsSection:
    """The nets that were trained, and what was published of theirs."""

    layers: Annotated[int, Bounds(0, 999)] | None = None
    frequencies: Size | None = None
    steps: Count | None = None
    batch: Count | None = None
    seeds: Count | None = None
    length: Count | None = None
    published: PublishedDynamics = field(default_factory=PublishedDynamics)


@dataclass(frozen=True, kw_only=True)
class QuestionSection:
    """A question that nets were fine-tuned to answer."""

    name: str
    asks: str = ""
    chance: float = 0.0
    sharp: bool = False  # no symmetric encoding can answer it
    counted: bool | None = None  # in means over all questions; None: if it is not sharp


@dataclass(frozen=True, kw_only=True)
class LocalitySection(TrainedSection):
    """Curves, questions and answers of the study of locality and symmetry."""

    n: Size | None = None
    uniform: float | None = None
    families: Mapping[str, str] = field(default_factory=dict)
    questions: Sequence[QuestionSection] = ()
    axes: Mapping[str, str] = field(default_factory=dict)
    contrasts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SyntaxSection(TrainedSection):
    """Conditions, each with the groups it belongs to, and answers of the study of syntax."""


@dataclass(frozen=True, kw_only=True)
class WordSwapSection(TrainedSection):
    """Conditions, what was learnt, examples and answers of the study of swapped words."""

    groups: Sequence[tuple[float, Sequence[str]]] = ()  # localities, and the conditions of each
    learnt: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by question
    measures: Mapping[str, MeasureSection | str] = field(default_factory=dict)
    examples: Sequence[ProbeExample] = ()


@dataclass(frozen=True, kw_only=True)
class LengthTask:
    """A task of the study of lengths: its group, the longest inputs, one sample, and what guessing gives."""

    name: str
    group: str = ""
    trained: Count | None = None  # the longest length of training
    tested: Count | None = None
    example: str = ""
    chance: float | None = None


@dataclass(frozen=True, kw_only=True)
class LengthSection(TrainedSection):
    """Tasks and encodings of the study of longer inputs."""

    tasks: Sequence[LengthTask] = ()
    encodings: Sequence[str] = ()
    steps: Count | None = None
    batch: Count | None = None
    shift: Annotated[int, Bounds(0, 2**31)] = 0


@dataclass(frozen=True, kw_only=True)
class NopeSection(TrainedSection):
    """The nets of the study of decoders without positions, and by task the longest training length and last place."""

    steps: Count | None = None
    lengths: Mapping[str, int] = field(default_factory=dict)
    places: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ScratchpadTask:
    """A task of the study of scratchpads, with a sample in each format."""

    name: str
    trained: Count | None = None
    tested: Count | None = None
    samples: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ScratchpadSection(TrainedSection):
    """Tasks, formats and encodings of the study of scratchpads."""

    tasks: Sequence[ScratchpadTask] = ()
    encodings: Sequence[str] = ()
    steps: Count | None = None


@dataclass(frozen=True, kw_only=True)
class CountingSection(TrainedSection):
    """The nets that were compared, the sizes of sequences, and the slopes that each bias token would lead to."""

    nets: Sequence[str] = ()
    regions: int = 0
    fewer: int = 0  # regions of other test sequences
    tokens: int = 0
    shorter: int = 0  # tokens of other test sequences
    expected: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # slope by size and bias token


@dataclass(frozen=True, kw_only=True)
class RowSumsSection(TrainedSection):
    """Encodings, what each can do about row sums, and the sizes of both tasks."""

    encodings: Sequence[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    tokens: Mapping[str, int] = field(default_factory=dict)  # of a sequence, by task


@dataclass(frozen=True, kw_only=True)
class LatinSquareSection(TrainedSection):
    """Arms of the study of Latin squares: where positions come from, from which sigma tables start, and sizes."""

    arms: Sequence[str] = ()
    network_arms: Sequence[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    sigmas: Mapping[str, float] = field(default_factory=dict)
    noise: Sequence[float] = ()
    steps: Count | None = None
    puzzles: Count | None = None  # of training
    samples: Count | None = None  # of the test


@dataclass(frozen=True, kw_only=True)
class AttributionStudySection(TrainedSection):
    """The kinds of texts on which methods of attribution are compared, and how many of each."""

    sources: Sequence[str] = ()
    texts: Count | None = None
    draws: Count | None = None  # random orders per text


@dataclass(frozen=True, kw_only=True)
class SpeechSection(TrainedSection):
    """Arms and tests of the study of speech, what was recognised, and the utterance of the pictures."""

    arms: Sequence[str] = ()
    tests: Sequence[str] = ()
    corpus: str = ""
    unit: str = "word"
    steps: Count | None = None
    samples: Count | None = None  # utterances of every test
    utterance: Sequence[str] = ()  # what is said in the one that is drawn
    words: Sequence[str] = ()  # that can be said


@dataclass(frozen=True, kw_only=True)
class ControlSection:
    """The model that was edited, its texts, and the heads that were chosen."""

    model: ModelSection = field(default_factory=ModelSection)
    texts: TextsSection = field(default_factory=TextsSection)
    chosen: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rule: str = ""
    copying: str | None = None


AttributionStudyManifest = StudyManifest[AttributionStudySection]
CanonicalManifest = StudyManifest[CanonicalSection]
ControlManifest = StudyManifest[ControlSection]
CountingManifest = StudyManifest[CountingSection]
DynamicsManifest = StudyManifest[DynamicsSection]
LatinSquareManifest = StudyManifest[LatinSquareSection]
LengthManifest = StudyManifest[LengthSection]
LocalityManifest = StudyManifest[LocalitySection]
NopeManifest = StudyManifest[NopeSection]
RowSumsManifest = StudyManifest[RowSumsSection]
ScratchpadManifest = StudyManifest[ScratchpadSection]
SpeechManifest = StudyManifest[SpeechSection]
SyntaxManifest = StudyManifest[SyntaxSection]
WordSwapManifest = StudyManifest[WordSwapSection]
SECTIONS: dict[str, type[Any]] = {
    "attribution": AttributionStudySection,
    "canonical": CanonicalSection,
    "control": ControlSection,
    "counting": CountingSection,
    "dynamics": DynamicsSection,
    "latin-square": LatinSquareSection,
    "length": LengthSection,
    "locality": LocalitySection,
    "nope": NopeSection,
    "row-sums": RowSumsSection,
    "scratchpad": ScratchpadSection,
    "speech": SpeechSection,
    "syntax": SyntaxSection,
    "word-swap": WordSwapSection,
}


def study_section(study: object, about: Any) -> Any:
    """The section of a study by its name, from plain values; of a study that has no class, the values themselves."""
    values = {} if about is None else about
    return decode(SECTIONS[study], values, "about") if isinstance(study, str) and study in SECTIONS else values
