"""The study of locality and symmetry, taken apart once: its encodings, its questions, and its numbers by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any

import polars as pl

from wherewhat.report.measured import Manifest
from wherewhat.report.numbers import NOTHING

ALL = "all"  # the mean over all questions
BY_HAND = ("log", "raw", "learned", "ours", "control")  # curves of distance; the others are references
# What families are called where their own name would say too little.
FAMILIES = {"learned": "learned curve", "ours": "leaning", "control": "leaning, not learned"}
DECODER = "decoder"
WORDS_ALONE = "bag of words"  # right answers from the words, wherever they stand; no encoding, and no net
# What a subject is placed by: the column of the charts, and the measure of the result.
PLACES = {
    "locality": "attention.locality",
    "bias_locality": "bias.locality",
    "balance": "attention.balance",
    "bias_balance": "bias.balance",
    "lean": "attention.lean",
}
# What accuracy goes with over encodings, by the column it is measured by.
AXES = {
    "locality": "attention locality",
    "bias_locality": "locality",
    "balance": "attention symmetry",
    "bias_balance": "symmetry",
}
FEWEST = 3  # seeds
HOW = {"accuracy": "tuned", "frozen accuracy": "frozen"}  # how a net was asked
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Subject:
    """One encoding that was tried."""

    name: str
    family: str
    w: float | None = None
    s: float | None = None

    @property
    def label(self) -> str:
        """Its name for reading: a table of positions is not called like a curve that is learned."""
        return "position table" if (self.family, self.name) == ("reference", "learned") else self.name

    @property
    def one_sided(self) -> bool:
        """Whether it was set to treat the two sides differently."""
        return self.s is not None and self.s != 1


@dataclass(frozen=True)
class Question:
    """One question that nets were asked; `key` stands for its name where a name could do harm."""

    key: str
    name: str
    chance: float
    asks: str = ""
    of_roles: bool = False  # who does what to whom
    counted: bool = True  # where all questions count together; not those made so that no symmetric encoding can answer


@dataclass(frozen=True)
class Locality:
    """The table of the study, taken apart once."""

    result: pl.DataFrame
    manifest: Manifest

    @cached_property
    def about(self) -> Mapping[str, Any]:
        return self.manifest.get("about") or {}

    @cached_property
    def subjects(self) -> list[Subject]:
        """All encodings with an accuracy, in the order of the study."""
        there = set(self.result.filter(part="mean", measure="accuracy")["subject"])
        told = (
            Subject(one["name"], one["family"], one.get("w"), one.get("s")) for one in self.about.get("subjects") or ()
        )
        return [subject for subject in told if subject.name in there and subject.name != WORDS_ALONE]

    @cached_property
    def swept(self) -> set[float | None]:
        """Every w at which several s were tried."""
        return {one.w for one in self.of("log") if one.one_sided}

    def of(self, *families: str) -> list[Subject]:
        """The encodings of some families."""
        return [subject for subject in self.subjects if subject.family in families]

    @cached_property
    def questions(self) -> list[Question]:
        """All questions, in the order of the study."""
        return [
            Question(
                key=f"q{number}",
                name=str(one["name"]),
                chance=float(one.get("chance") or 0),
                asks=str(one.get("asks") or ""),
                of_roles=bool(one.get("of roles")),
                counted=bool(one.get("counted", not one.get("sharp"))),
            )
            for number, one in enumerate(self.about.get("questions") or ())
        ]

    @cached_property
    def overall(self) -> Question:
        """The mean over all questions, as if it were one."""
        counted = [one.chance for one in self.questions if one.counted]
        return Question(ALL, ALL, fmean(counted) if counted else 0.0)

    @cached_property
    def seeds(self) -> int:
        """How many seeds there are."""
        return self.result.filter(part="run")["seed"].drop_nulls().n_unique()

    @property
    def enough(self) -> bool:
        """Whether there are seeds enough to see anything."""
        return self.seeds >= FEWEST

    @cached_property
    def _means(self) -> dict[tuple[str, str, str], Row]:
        rows = self.result.filter(part="mean").iter_rows(named=True)
        return {(row["subject"], row["item"], row["measure"]): row for row in rows if row["value"] is not None}

    def mean(self, subject: str, item: str = ALL, measure: str = "accuracy") -> Row | None:
        """A measure of an encoding over all seeds, with its interval."""
        return self._means.get((subject, item, measure))

    def words_alone(self, item: str) -> float | None:
        """How many right answers the words give by themselves, in whatever order."""
        row = self.mean(WORDS_ALONE, item)
        return None if row is None else float(row["value"])

    @cached_property
    def _places(self) -> dict[tuple[str, str], float]:
        rows = self.result.filter(part="encoding").group_by("subject", "measure").agg(pl.col("value").mean())
        return {(name, measure): value for name, measure, value in rows.iter_rows() if value is not None}

    def place(self, subject: str, by: str) -> float | None:
        """How local or how balanced an encoding is, over all seeds; `by` is one of `PLACES`."""
        return self._places.get((subject, PLACES[by]))

    @cached_property
    def _found(self) -> dict[tuple[str, ...], Row]:
        rows = self.result.filter(pl.col("part").is_in(["link", "contrast"])).iter_rows(named=True)
        key = ("part", "subject", "item", "measure")
        return {tuple(row[name] for name in key): row for row in rows if row["value"] is not None}

    def link(self, axis: str, item: str = ALL, measure: str = "pearson") -> Row | None:
        """How accuracy on a question goes with an axis over encodings, or forgetting or spread does."""
        return self._found.get(("link", axis, item, measure))

    def gap(self, contrast: str, item: str = ALL) -> Row | None:
        """By how much some encodings are more accurate than others."""
        return self._found.get(("contrast", contrast, item, "accuracy"))

    def gaps(self, start: str) -> list[str]:
        """The contrasts whose names start like this, in the order of the study."""
        rows = self.result.filter(part="contrast", item=ALL, measure="accuracy")
        return [name for name in rows["subject"] if name.startswith(start)]

    def answer(self, name: str) -> tuple[str, str]:
        """What the study answers, in a sentence, and what that rests on; nothing where it has not said."""
        answers = self.about.get("answers")
        told = answers.get(name) if isinstance(answers, Mapping) else None
        return (str(told["lead"]), str(told["rest"])) if told else ("", "")


def beside(found: Locality) -> dict[float, dict[str, Subject]]:
    """By w, the symmetric curve, the one that leans as it starts and the one whose leaning is learned, if all are."""
    found_at: dict[float, dict[str, Subject]] = {one.w: {} for one in found.of("ours") if one.w is not None}
    for kind, family in (("symmetric", "log"), ("not learned", "control"), ("leaning", "ours")):
        for one in found.of(family):
            if one.w in found_at and not one.one_sided:
                found_at[one.w][kind] = one
    return {w: its for w, its in found_at.items() if "symmetric" in its}


def side(row: Row | None) -> str:
    """Whether a number is clearly above or below nothing.

    >>> side({"low": 0.1, "high": 0.4}), side({"low": -0.1, "high": 0.4}), side(None)
    ('above', 'unclear', 'unclear')
    """
    if row is None or row["low"] is None or row["high"] is None:
        return "unclear"
    return "above" if row["low"] > NOTHING else "below" if row["high"] < -NOTHING else "unclear"
