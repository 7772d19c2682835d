"""What the page of syntax shows: encodings, relations, and numbers by name."""

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from wherewhat.report.probe_dependencies_tables import SIDES
from wherewhat.report.result_text import Row
from wherewhat.tables.manifest.study import LongAnswer, SyntaxManifest, SyntaxSection

EACH = "each"  # all relations together, each by its own head
ALL = "all"  # one head for all relations
TRAINED, UNTRAINED = "trained", "untrained"
SIDED = "sided"  # the group that contains two others
# Labels of groups of encodings.
GROUPS = {
    "free": "free heads",
    "one-sided": "one-sided curves",
    "symmetric": "symmetric or none",
    SIDED: "all that tell sides apart",
}
LOCALITIES = ("bias.locality", "attention.locality")  # of the curve itself, and of attention over identical words


@dataclass(frozen=True)
class SyntaxEncoding:
    """One encoding that was tried."""

    name: str
    groups: tuple[str, ...]
    key: str  # replaces its name in chart expressions

    @property
    def label(self) -> str:
        """Its label."""
        return "position table" if self.name == "learned" else self.name

    @property
    def group(self) -> str:
        """The most specific group it belongs to."""
        return next((name for name in self.groups if name != SIDED), "")


@dataclass(frozen=True)
class SyntaxPageData:
    """The results and the manifest of the study."""

    result: pl.DataFrame
    manifest: SyntaxManifest

    @cached_property
    def about(self) -> SyntaxSection:
        return self.manifest.about

    @cached_property
    def encodings(self) -> list[SyntaxEncoding]:
        """All encodings with a number, in the order of the study."""
        there = set(self.result.filter(part=f"{TRAINED} mean")["subject"])
        numbered = enumerate(self.about.subjects)
        made = (SyntaxEncoding(each.name, tuple(each.groups), f"s{number}") for number, each in numbered)
        return [subject for subject in made if subject.name in there]

    @cached_property
    def groups(self) -> list[str]:
        """The groups that have encodings."""
        there = {name for subject in self.encodings for name in subject.groups}
        return [name for name in GROUPS if name in there]

    def members(self, group: str) -> list[SyntaxEncoding]:
        """The encodings of a group."""
        return [subject for subject in self.encodings if group in subject.groups]

    @cached_property
    def relations(self) -> list[str]:
        """All relations, those between neighbours first."""
        return list(self.about.relations)

    @cached_property
    def distances(self) -> dict[float, str]:
        """The labels of groups of distances, by the smallest of each."""
        return {float(at): name.replace("-", "–") for at, name in self.about.distances.items()}

    @cached_property
    def seeds(self) -> int:
        """The number of seeds."""
        return self.result.filter(part=TRAINED)["seed"].drop_nulls().n_unique()

    @property
    def sides(self) -> tuple[str, ...]:
        """The directions, from a word to its head and back."""
        return SIDES

    def mean(
        self, subject: str, kind: str, item: str = EACH, *, at: float | None = None, side: str = SIDES[0]
    ) -> Row | None:
        """The share found in trained nets, the mean over seeds."""
        return self._means.get((TRAINED, subject, item, at, f"{side}: {kind}"))

    def untrained(self, subject: str, kind: str, side: str = SIDES[0]) -> Row | None:
        """The share found in untrained nets, the mean over seeds."""
        return self._means.get((UNTRAINED, subject, EACH, None, f"{side}: {kind}"))

    @cached_property
    def _means(self) -> dict[tuple[str, str, str, float | None, str], Row]:
        rows = self.result.filter(pl.col("part").str.ends_with(" mean")).iter_rows(named=True)
        return {
            (row["part"].removesuffix(" mean"), row["subject"], row["item"], row["at"], row["measure"]): row
            for row in rows
            if row["value"] is not None
        }

    def locality(self, subject: str, by: str) -> float | None:
        """The locality of an encoding, the mean over seeds; `by` is one of `LOCALITIES`."""
        return self._localities.get((subject, by))

    @cached_property
    def _localities(self) -> dict[tuple[str, str], float]:
        rows = self.result.filter(part="encoding").group_by("subject", "measure").agg(pl.col("value").mean())
        return {(name, measure): value for name, measure, value in rows.iter_rows() if value is not None}

    def loss(self, subject: str) -> float | None:
        """The loss on masked words, the mean over seeds."""
        rows = self.result.filter(part="run", subject=subject, measure="word loss")["value"].drop_nulls()
        return None if rows.is_empty() else float(rows.mean())  # type: ignore[arg-type]

    def link(self, by: str, part: str, at: float | None, side: str = SIDES[0]) -> Row | None:
        """The correlation of a share with locality over encodings."""
        return self._links.get((by, at, f"{side}: {part}"))

    @cached_property
    def _links(self) -> dict[tuple[str, float | None, str], Row]:
        rows = self.result.filter(part="link").iter_rows(named=True)
        return {(row["subject"], row["at"], row["measure"]): row for row in rows if row["value"] is not None}

    def answer(self, name: str) -> tuple[str, str]:
        """The study's answer, without its full stop, and the numbers it rests on; empty if it has none."""
        answer = self.about.answers.get(name, LongAnswer())
        return answer.lead, answer.rest
