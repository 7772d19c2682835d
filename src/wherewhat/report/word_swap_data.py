"""What the page of swapped words shows: encodings, questions, and numbers before and after swaps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from wherewhat.report.result_text import Row
from wherewhat.tables.manifest.study import LongAnswer, WordSwapManifest, WordSwapSection

SIZES = ("3", "4", "5", "6", "whole")
ROLE_SWAP, VOICE, ORIGINAL = "exchange", "voice", "original"
POOLED = "learnt"  # used in place of an encoding: all with which a question was learnt
QUESTIONS = {
    "content": "fine-tuned on content",
    "names": "fine-tuned on who does it",
    "roles": "fine-tuned on roles in pairs",
}


@dataclass(frozen=True)
class WordSwapEncoding:
    """An encoding."""

    name: str
    s: float | None = None
    encoding: str = ""

    @property
    def side(self) -> str:
        """What distinguishes a curve among those of its locality."""
        return self.name.partition(" w ")[0] if self.s is None else f"{self.s:g}"


@dataclass(frozen=True)
class WordSwapPageData:
    """The results and the manifest of the study, by encoding, question and swap."""

    result: pl.DataFrame
    manifest: WordSwapManifest

    @property
    def about(self) -> WordSwapSection:
        """What the study provides besides its rows."""
        return self.manifest.about

    @cached_property
    def encodings(self) -> list[WordSwapEncoding]:
        """The encodings with an accuracy."""
        encodings = [WordSwapEncoding(entry.name, entry.s, entry.encoding) for entry in self.about.subjects]
        return [
            encoding
            for encoding in encodings
            if any(self.mean(encoding.name, question, ORIGINAL) for question in QUESTIONS)
        ]

    @property
    def questions(self) -> list[str]:
        """What nets were fine-tuned on."""
        names = [encoding.name for encoding in self.encodings]
        return [question for question in QUESTIONS if any(self.mean(name, question, ORIGINAL) for name in names)]

    @property
    def curves(self) -> list[tuple[float, WordSwapEncoding]]:
        """Curves with their locality: by s, and then those with leaning heads."""
        by_name = {encoding.name: encoding for encoding in self.encodings}
        curves = [(float(at), by_name[name]) for at, names in self._groups for name in names if name in by_name]
        return sorted(curves, key=lambda pair: math.inf if pair[1].s is None else pair[1].s)

    @property
    def _groups(self) -> Sequence[tuple[float, Sequence[str]]]:
        return self.about.groups

    @property
    def seeds(self) -> int:
        """The number of seeds."""
        return self.about.seeds or 0

    def learnt(self, question: str) -> list[str]:
        """The encodings with which a question was learnt."""
        return list(self.about.learnt.get(question, ()))

    def bag(self, question: str) -> float | None:
        """The best accuracy from a bag of words."""
        return self.about.bag.get(question)

    def answer(self, name: str) -> tuple[str, str]:
        """The study's answer in a sentence, and the numbers it rests on; empty if it has none."""
        answer = self.about.answers.get(name, LongAnswer())
        return answer.lead, answer.rest

    def mean(self, subject: str, question: str, swap: str, measure: str = "accuracy") -> Row | None:
        """A measure, the mean over seeds."""
        return self._means.get((subject, f"{question}, {swap}", measure))

    @cached_property
    def _means(self) -> dict[tuple[str, str, str], Row]:
        rows = self.result.filter((pl.col("part") == "mean") & pl.col("value").is_not_null())
        return {(row["subject"], row["item"], row["measure"]): row for row in rows.iter_rows(named=True)}
