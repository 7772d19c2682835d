"""The study of relations between words, taken apart once: its encodings, and its numbers by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from wherewhat.report.measured import Manifest
from wherewhat.report.probe_dependencies_tables import SIDES

EACH = "each"  # each relation by its own head, counted together
ALL = "all"  # one head for all relations
TRAINED, UNTRAINED = "trained", "untrained"
SIDED = "sided"  # the group that has others in it
# What groups of encodings are called on the page.
GROUPS = {
    "free": "free heads",
    "one-sided": "one-sided curves",
    "symmetric": "symmetric or none",
    SIDED: "all that tell sides apart",
}
PLACES = {"bias.locality": "the curve by itself", "attention.locality": "attention to identical words"}
FEWEST = 3  # seeds
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Subject:
    """One encoding that was tried."""

    name: str
    groups: tuple[str, ...]
    key: str  # stands for its name inside expressions

    @property
    def label(self) -> str:
        """Its name for reading."""
        return "position table" if self.name == "learned" else self.name

    @property
    def group(self) -> str:
        """The group that is its own."""
        return next((name for name in self.groups if name != SIDED), "")


@dataclass(frozen=True)
class Syntax:
    """The table of the study."""

    result: pl.DataFrame
    manifest: Manifest

    @cached_property
    def about(self) -> Mapping[str, Any]:
        return self.manifest.get("about") or {}

    @cached_property
    def subjects(self) -> list[Subject]:
        """All encodings with a number, in the order of the study."""
        there = set(self.result.filter(part=f"{TRAINED} mean")["subject"])
        told = enumerate(self.about.get("subjects") or ())
        made = (Subject(str(one["name"]), tuple(one.get("groups") or ()), f"s{number}") for number, one in told)
        return [subject for subject in made if subject.name in there]

    @cached_property
    def groups(self) -> list[str]:
        """The groups that have encodings."""
        there = {name for subject in self.subjects for name in subject.groups}
        return [name for name in GROUPS if name in there]

    def members(self, group: str) -> list[Subject]:
        """The encodings of a group."""
        return [subject for subject in self.subjects if group in subject.groups]

    @cached_property
    def relations(self) -> list[str]:
        """All relations, those between neighbours first."""
        return [str(name) for name in self.about.get("relations") or ()]

    @cached_property
    def distances(self) -> dict[float, str]:
        """What distances are called, by their first number."""
        return {float(at): str(name).replace("-", "–") for at, name in (self.about.get("distances") or {}).items()}

    @cached_property
    def seeds(self) -> int:
        """How many seeds there are."""
        return self.result.filter(part=TRAINED)["seed"].drop_nulls().n_unique()

    @property
    def sides(self) -> tuple[str, ...]:
        """From where to where one looks."""
        return SIDES

    def mean(
        self, subject: str, kind: str, item: str = EACH, *, at: float | None = None, side: str = SIDES[0]
    ) -> Row | None:
        """What is found in trained nets, over all seeds."""
        return self._means.get((TRAINED, subject, item, at, f"{side}: {kind}"))

    def untrained(self, subject: str, kind: str, side: str = SIDES[0]) -> Row | None:
        """What is found in nets that have learnt nothing, over all seeds."""
        return self._means.get((UNTRAINED, subject, EACH, None, f"{side}: {kind}"))

    @cached_property
    def _means(self) -> dict[tuple[str, str, str, float | None, str], Row]:
        rows = self.result.filter(pl.col("part").str.ends_with(" mean")).iter_rows(named=True)
        return {
            (row["part"].removesuffix(" mean"), row["subject"], row["item"], row["at"], row["measure"]): row
            for row in rows
            if row["value"] is not None
        }

    def place(self, subject: str, by: str) -> float | None:
        """How local an encoding is, over all seeds; `by` is one of `PLACES`."""
        return self._places.get((subject, by))

    @cached_property
    def _places(self) -> dict[tuple[str, str], float]:
        rows = self.result.filter(part="encoding").group_by("subject", "measure").agg(pl.col("value").mean())
        return {(name, measure): value for name, measure, value in rows.iter_rows() if value is not None}

    def loss(self, subject: str) -> float | None:
        """How well nets guess hidden words, over all seeds."""
        rows = self.result.filter(part="run", subject=subject, measure="word loss")["value"].drop_nulls()
        return None if rows.is_empty() else float(rows.mean())  # type: ignore[arg-type]

    def link(self, by: str, part: str, at: float | None, side: str = SIDES[0]) -> Row | None:
        """How what is found goes with locality over encodings."""
        return self._links.get((by, at, f"{side}: {part}"))

    @cached_property
    def _links(self) -> dict[tuple[str, float | None, str], Row]:
        rows = self.result.filter(part="link").iter_rows(named=True)
        return {(row["subject"], row["at"], row["measure"]): row for row in rows if row["value"] is not None}

    def answer(self, name: str) -> tuple[str, str]:
        """What the study answers, half a sentence, and what that rests on; nothing where it has not said."""
        told = (self.about.get("answers") or {}).get(name)
        return (str(told["lead"]), str(told["rest"])) if told else ("", "")
