"""What the page of locality and symmetry shows: encodings, questions, and numbers by name."""

from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import polars as pl

from wherewhat.report.result_text import Row, estimate, listed
from wherewhat.tables.manifest.study import LocalityManifest, LocalitySection, LongAnswer

ALL = "all"  # the mean over all questions
BY_HAND = ("log", "raw", "learned", "ours", "control")  # curves of distance; all others are references
# Labels of families whose name is not clear enough.
FAMILIES = {"learned": "learned curve", "ours": "leaning", "control": "leaning, not learned"}
DECODER = "decoder"
BAG_OF_WORDS = "bag of words"  # the baseline: no net and no encoding
# Properties of an encoding: the column of the charts, and the measure in the result.
PROPERTIES = {
    "locality": "attention.locality",
    "bias_locality": "bias.locality",
    "balance": "attention.balance",
    "bias_balance": "bias.balance",
    "left_right_bias": "attention.left_right_bias",
}
# Predictors of accuracy in the result, by the property they are.
PREDICTORS = {
    "locality": "attention locality",
    "bias_locality": "locality",
    "balance": "attention symmetry",
    "bias_balance": "symmetry",
}
FEWEST_SEEDS = 3
HOW = {"accuracy": "tuned", "frozen accuracy": "frozen"}  # how a net was tested


@dataclass(frozen=True)
class LocalityEncoding:
    """One encoding that was tried."""

    name: str
    family: str
    w: float | None = None
    s: float | None = None

    @property
    def label(self) -> str:
        """Its label: a table of positions must not be confused with a learned curve."""
        return "position table" if (self.family, self.name) == ("reference", "learned") else self.name

    @property
    def one_sided(self) -> bool:
        """Whether its two sides differ by hand."""
        return self.s is not None and self.s != 1


@dataclass(frozen=True)
class LocalityQuestion:
    """One question; `key` replaces its name in chart expressions, where a name could inject code."""

    key: str
    name: str
    chance: float
    asks: str = ""
    of_roles: bool = False  # who does what to whom
    counted: bool = True  # in means over all questions; not those that no symmetric encoding can answer


@dataclass(frozen=True)
class LocalityPageData:
    """The results and the manifest of the study."""

    result: pl.DataFrame
    manifest: LocalityManifest

    @cached_property
    def about(self) -> LocalitySection:
        return self.manifest.about

    @cached_property
    def encodings(self) -> list[LocalityEncoding]:
        """All encodings with an accuracy, in the order of the study."""
        there = set(self.result.filter(part="mean", measure="accuracy")["subject"])
        encodings = (
            LocalityEncoding(condition.name, condition.family, condition.w, condition.s)
            for condition in self.about.subjects
        )
        return [encoding for encoding in encodings if encoding.name in there and encoding.name != BAG_OF_WORDS]

    @cached_property
    def swept(self) -> set[float | None]:
        """Every w at which several s were tried."""
        return {encoding.w for encoding in self.of("log") if encoding.one_sided}

    @property
    def encoders(self) -> list[LocalityEncoding]:
        """All encodings except those in decoders."""
        return [encoding for encoding in self.encodings if encoding.family != DECODER]

    def best(self, item: str = ALL) -> float | None:
        """The highest accuracy of an encoder on a question."""
        rows = (self.mean(encoder.name, item) for encoder in self.encoders)
        return max((row["value"] for row in rows if row), default=None)

    @property
    def left_out(self) -> str:
        """Which questions are not in means over all questions."""
        return listed(f"“{question.name}”" for question in self.questions if not question.counted)

    def of(self, *families: str) -> list[LocalityEncoding]:
        """The encodings of some families."""
        return [encoding for encoding in self.encodings if encoding.family in families]

    @cached_property
    def questions(self) -> list[LocalityQuestion]:
        """All questions, in the order of the study."""
        return [
            LocalityQuestion(
                key=f"q{number}",
                name=question.name,
                chance=question.chance,
                asks=question.asks,
                of_roles=question.of_roles,
                counted=not question.sharp if question.counted is None else question.counted,
            )
            for number, question in enumerate(self.about.questions)
        ]

    @cached_property
    def overall(self) -> LocalityQuestion:
        """The mean over all questions, as if it were a question."""
        chances = [question.chance for question in self.questions if question.counted]
        return LocalityQuestion(ALL, ALL, fmean(chances) if chances else 0.0)

    @cached_property
    def seeds(self) -> int:
        """The number of seeds."""
        return self.result.filter(part="run")["seed"].drop_nulls().n_unique()

    @property
    def enough(self) -> bool:
        """Whether there are enough seeds for a verdict."""
        return self.seeds >= FEWEST_SEEDS

    @cached_property
    def _means(self) -> dict[tuple[str, str, str], Row]:
        rows = self.result.filter(part="mean").iter_rows(named=True)
        return {(row["subject"], row["item"], row["measure"]): row for row in rows if row["value"] is not None}

    def mean(self, encoding: str, item: str = ALL, measure: str = "accuracy") -> Row | None:
        """A measure of an encoding over all seeds, with its interval."""
        return self._means.get((encoding, item, measure))

    def bag_of_words(self, item: str) -> float | None:
        """The accuracy of a bag of words."""
        row = self.mean(BAG_OF_WORDS, item)
        return None if row is None else float(row["value"])

    @cached_property
    def _properties(self) -> dict[tuple[str, str], float]:
        rows = self.result.filter(part="encoding").group_by("subject", "measure").agg(pl.col("value").mean())
        return {(name, measure): value for name, measure, value in rows.iter_rows() if value is not None}

    def property_of(self, encoding: str, by: str) -> float | None:
        """Locality or balance of an encoding, the mean over seeds; `by` is one of `PROPERTIES`."""
        return self._properties.get((encoding, PROPERTIES[by]))

    @cached_property
    def _comparisons(self) -> dict[tuple[str, ...], Row]:
        rows = self.result.filter(pl.col("part").is_in(["link", "contrast"])).iter_rows(named=True)
        key = ("part", "subject", "item", "measure")
        return {tuple(row[name] for name in key): row for row in rows if row["value"] is not None}

    def link(self, predictor: str, item: str = ALL, measure: str = "pearson") -> Row | None:
        """How a predictor correlates over encodings with accuracy on a question, or with forgetting or spread."""
        return self._comparisons.get(("link", predictor, item, measure))

    def gap(self, contrast: str, item: str = ALL) -> Row | None:
        """The difference in accuracy of a contrast."""
        return self._comparisons.get(("contrast", contrast, item, "accuracy"))

    def gaps(self, start: str) -> list[str]:
        """The contrasts whose names start with this, in the order of the study."""
        rows = self.result.filter(part="contrast", item=ALL, measure="accuracy")
        return [name for name in rows["subject"] if name.startswith(start)]

    def answer(self, name: str) -> tuple[str, str]:
        """The study's answer in a sentence, and the numbers it rests on; empty if it has none."""
        answer = self.about.answers.get(name, LongAnswer())
        return answer.lead, answer.rest


def leaning_curves(data: LocalityPageData) -> dict[float, dict[str, LocalityEncoding]]:
    """By w, the symmetric curve, and the leaning ones with fixed and with learned side weights."""
    by_w: dict[float, dict[str, LocalityEncoding]] = {
        encoding.w: {} for encoding in data.of("ours") if encoding.w is not None
    }
    for kind, family in (("symmetric", "log"), ("not learned", "control"), ("leaning", "ours")):
        for encoding in data.of(family):
            if encoding.w in by_w and not encoding.one_sided:
                by_w[encoding.w][kind] = encoding
    return {w: kinds for w, kinds in by_w.items() if "symmetric" in kinds}


def side(row: Row | None) -> str:
    """Whether a number is clearly above or below 0.

    >>> side({"value": 0.2, "low": 0.1, "high": 0.4}), side({"value": 0.2, "low": -0.1, "high": 0.4}), side(None)
    ('above', 'unclear', 'unclear')
    """
    return "unclear" if row is None else {1: "above", -1: "below", 0: "unclear"}[estimate(row).side]
