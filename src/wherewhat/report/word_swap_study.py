"""What the page of swapped words knows of its study: encodings, and what each answered before and after."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from wherewhat.report.measured import Manifest

Row = Mapping[str, Any]
SIZES = ("3", "4", "5", "6", "whole")
EXCHANGE, VOICE, ORIGINAL = "exchange", "voice", "original"
POOLED = "learnt"  # stands in the place of an encoding: all with which a question was learnt
QUESTIONS = {
    "content": "fine-tuned on content",
    "names": "fine-tuned on who does it",
    "roles": "fine-tuned on roles in pairs",
}


@dataclass(frozen=True)
class Subject:
    """An encoding."""

    name: str
    s: float | None = None
    encoding: str = ""

    @property
    def side(self) -> str:
        """What sets a curve apart among those of its locality."""
        return self.name.partition(" w ")[0] if self.s is None else f"{self.s:g}"


@dataclass(frozen=True)
class WordSwap:
    """The result and the manifest of the study, to be asked by encoding, question and swap."""

    result: pl.DataFrame
    manifest: Manifest = field(default_factory=dict)

    @property
    def about(self) -> Mapping[str, Any]:
        """What the study says beside its rows."""
        return self.manifest.get("about") or {}

    @cached_property
    def subjects(self) -> list[Subject]:
        """The encodings that were tried and answered something."""
        told = self.about.get("subjects") or ()
        named = [Subject(str(one["name"]), one.get("s"), str(one.get("encoding") or "")) for one in told]
        return [one for one in named if any(self.mean(one.name, question, ORIGINAL) for question in QUESTIONS)]

    @property
    def questions(self) -> list[str]:
        """What nets were fine-tuned on."""
        return [one for one in QUESTIONS if any(self.mean(subject.name, one, ORIGINAL) for subject in self.subjects)]

    @property
    def curves(self) -> list[tuple[float, Subject]]:
        """Curves with their locality: all from the smallest s on, and then those whose heads lean."""
        by_name = {one.name: one for one in self.subjects}
        told = [(float(at), by_name[name]) for at, names in self._groups for name in names if name in by_name]
        return sorted(told, key=lambda each: math.inf if each[1].s is None else each[1].s)

    @property
    def _groups(self) -> Sequence[tuple[float, Sequence[str]]]:
        return self.about.get("groups") or ()

    @property
    def seeds(self) -> int:
        """From how many seeds everything was done."""
        return int(self.about.get("seeds") or 0)

    def learnt(self, question: str) -> list[str]:
        """The encodings with which a question was learnt."""
        return list((self.about.get("learnt") or {}).get(question) or ())

    def bag(self, question: str) -> float | None:
        """What the words alone can tell at the most."""
        return (self.about.get("bag") or {}).get(question)

    def answer(self, name: str) -> tuple[str, str]:
        """The study's answer to a question everybody asks, and what it rests on."""
        told = (self.about.get("answers") or {}).get(name) or {}
        return str(told.get("lead") or ""), str(told.get("rest") or "")

    def mean(self, subject: str, question: str, swap: str, measure: str = "accuracy") -> Row | None:
        """What holds over seeds."""
        return self._means.get((subject, f"{question}, {swap}", measure))

    @cached_property
    def _means(self) -> dict[tuple[str, str, str], Row]:
        rows = self.result.filter((pl.col("part") == "mean") & pl.col("value").is_not_null())
        return {(row["subject"], row["item"], row["measure"]): row for row in rows.iter_rows(named=True)}
