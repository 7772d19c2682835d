"""How large the experiment is: tiny hears touch tones, small and paper recordings of spoken digits."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wherewhat.corpora.speech.base import SpeechCorpus
from wherewhat.corpora.speech.digits import SpokenDigits
from wherewhat.corpora.speech.recordings import TRANSCRIPTS, RecordedSpeech
from wherewhat.corpora.speech.splits import LONG, TEST
from wherewhat.corpora.speech.tones import TouchTones
from wherewhat.errors import UserError
from wherewhat.recipes.conformer_digits import conformer_digits
from wherewhat.studies.engine.study import OF_STUDY, Request, with_seeds
from wherewhat.studies.speech.names import COST, EARLY, LATER, NONE, RELATIVE, ROPE, SINUSOIDS, TESTS
from wherewhat.training.speech_training import SpeechSettings


@dataclass(frozen=True)
class SpeechArm:
    """An encoding as one side of the comparison."""

    name: str
    encoding: str
    options: Mapping[str, Any] = field(default_factory=dict)
    early: bool = False  # whether the rotation comes before the projections
    shifts: bool = True  # whether moving an utterance changes nothing


ARMS: dict[str, SpeechArm] = {
    arm.name: arm
    for arm in (
        SpeechArm(ROPE, "rope"),
        SpeechArm(RELATIVE, "transformer_xl", {"layout": "interleaved", "bias_init": "zeros"}),
        SpeechArm(NONE, "none"),
        SpeechArm("alibi", "alibi"),
        SpeechArm("t5_bias", "t5_bias"),
        SpeechArm(SINUSOIDS, "sinusoidal", shifts=False),
        SpeechArm(EARLY, "rope", early=True, shifts=False),
    )
}


@dataclass(frozen=True)
class SpeechCondition:
    """A conformer with one encoding, or what a step of training costs."""

    arm: str

    @property
    def name(self) -> str:
        """Its name in the table."""
        return self.arm


@dataclass(frozen=True, kw_only=True)
class SpeechScale:
    """What is heard, the conformer that learns it with every encoding, and how it is trained."""

    folder: str = ""  # of recordings; empty: touch tones
    digest: str = ""  # of all that they hold
    recorded: bool = True  # whether it takes recordings
    arms: tuple[str, ...] = field(default=tuple(ARMS), metadata=OF_STUDY)
    width: int = 96
    layers: int = 4
    heads: int = 4
    steps: int = 2500
    batch: int = 16
    warmup: int = 300
    samples: int = 600  # utterances of a test
    long_samples: int = 150  # utterances of a test of longer ones
    texts: int = 16  # utterances on which heads are measured
    rounds: int = 8  # in which the cost of a step is measured, both arms in each
    seeds: int = field(default=3, metadata=OF_STUDY)

    @property
    def corpus(self) -> SpeechCorpus:
        """What is heard."""
        if not self.folder:
            return TouchTones()
        has_transcripts = (Path(self.folder) / TRANSCRIPTS).exists()
        return RecordedSpeech(self.folder) if has_transcripts else SpokenDigits(self.folder)

    @property
    def tests(self) -> list[str]:
        """The tests of the corpus, and its plain one with later positions: known ones in their order, then others."""
        tests = self.corpus.tests + ((LATER,) if TEST in self.corpus.tests else ())
        return [*(test for test in TESTS if test in tests), *(test for test in tests if test not in TESTS)]

    @property
    def samples_by_test(self) -> dict[str, int]:
        """How many utterances every test has at most."""
        return {test: self.long_samples if test in LONG else self.samples for test in self.tests}

    def training(self, arm: str, seed: int) -> SpeechSettings:
        """One training run, which is hardly evaluated: the study tests the net itself."""
        kind, plain = ARMS[arm], conformer_digits(self.corpus)
        net = replace(
            plain.net,
            width=self.width,
            layers=self.layers,
            heads=self.heads,
            encoding=kind.encoding,
            encoding_options=kind.options,
            pre_projection=kind.early,
        )
        return replace(
            plain,
            net=net,
            steps=self.steps,
            batch=self.batch,
            warmup=min(self.warmup, self.steps // 3),
            seed=seed,
            data_seed=seed + 1,
            evaluate_every=self.steps,
            evaluate_samples=min(20, self.samples),
        )


def conditions(scale: SpeechScale) -> list[SpeechCondition]:
    """Every encoding, and the cost of a step."""
    return [*(SpeechCondition(arm) for arm in scale.arms), SpeechCondition(COST)]


def prepare(scale: SpeechScale, request: Request) -> SpeechScale:
    """The scale with the recordings that the user has; refuses a scale that needs some without them."""
    if request.speech is None and scale.recorded:
        raise UserError(
            "this scale of speech needs recordings of spoken digits; give --speech DIR with files such as "
            "7_george_12.wav, for example those of the Free Spoken Digit Dataset, or choose --scale tiny"
        )
    folder = "" if request.speech is None else str(request.speech.absolute())
    given: SpeechScale = with_seeds(replace(scale, folder=folder), request)
    given.corpus.check()
    return replace(given, digest=given.corpus.digest())


_SMALL = SpeechScale(arms=(ROPE, RELATIVE, NONE), steps=700, rounds=5)
_TINY = SpeechScale(
    recorded=False,
    arms=(ROPE, RELATIVE, NONE, SINUSOIDS, EARLY),
    steps=300,
    warmup=100,
    samples=200,
    long_samples=100,
    texts=12,
    seeds=1,
)
SCALES: dict[str, SpeechScale] = {"tiny": _TINY, "small": _SMALL, "paper": SpeechScale()}
