"""Every kind of run, by the command that writes it, and how to open one: its tables, its manifest and its page."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from wherewhat.report.core.page import Page
from wherewhat.runs.base import Run
from wherewhat.tables.files import run_kind
from wherewhat.tables.manifest.attribution import AttributionManifest
from wherewhat.tables.manifest.io import no_report, read_manifest
from wherewhat.tables.manifest.probe import ProbeManifest
from wherewhat.tables.manifest.scores import CompareManifest, EditManifest, ProfileManifest
from wherewhat.tables.manifest.study import StudyManifest
from wherewhat.tables.manifest.sweep import SweepManifest
from wherewhat.tables.schema import (
    COMPARE,
    EDIT,
    EVALUATION,
    EVALUATION_CURVES,
    EVALUATION_DIFFERENCES,
    FREQUENCIES,
    HEADS,
    OFFSETS,
    POSITIONAL,
    PROBE,
    RELEVANCE,
    RELEVANCE_DISTANCES,
    RESULT,
    SIMILARITY,
    SWEEP,
)


@dataclass(frozen=True)
class Profile(Run):
    """Where every head of a model looks, with intervals, chance levels, and where the numbers came from."""

    kind = ProfileManifest.kind
    schemas: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "heads": HEADS,
        "offsets": OFFSETS,
        "frequencies": FREQUENCIES,
        "positional": POSITIONAL,
    }
    optional = ("frequencies", "positional")

    heads: pl.DataFrame  # one row per head and score
    offsets: pl.DataFrame  # mean mass by relative offset
    frequencies: pl.DataFrame  # what each rotary frequency carries; empty for models that have none
    manifest: ProfileManifest
    positional: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=POSITIONAL))  # matrices, if asked for

    def __repr__(self) -> str:
        def many(count: Any, what: str) -> str:
            return f"{count:,} {what}{'' if count == 1 else 's'}"

        texts = self.manifest.texts
        heads = self.heads.group_by("layer").agg(pl.col("head").n_unique())["head"]
        counts = {"text": texts.count, "window": texts.windows, "token": texts.tokens, "row": self.heads["rows"].max()}
        return (
            f"Profile of {self.manifest.model.id}: {many(len(heads), 'layer')} × {many(heads.max(), 'head')}\n"
            f"{', '.join(many(count or 0, name) for name, count in counts.items())}\n"
            "next: .findings(), .heads (a table), .save(folder), .report(path); a notebook shows a picture of all heads"
        )

    def findings(self) -> list[str]:
        """What stands out, in plain sentences."""
        from wherewhat.report.pages.heads.findings import findings

        return findings(self.heads, self.manifest)

    def draw(self) -> Page:
        from wherewhat.report.pages.heads.page import page_of_heads

        return page_of_heads(self.heads, self.offsets, self.frequencies, self.manifest, self.positional)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}


@dataclass(frozen=True)
class Comparison(Run):
    """By how much every score of every head changed, with intervals."""

    kind = CompareManifest.kind
    schemas: ClassVar[Mapping[str, Mapping[str, Any]]] = {"compare": COMPARE, "similarity": SIMILARITY}
    optional = ("similarity",)

    compare: pl.DataFrame  # one row per head and score, and rows over all heads of a layer and of the model
    manifest: CompareManifest
    similarity: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SIMILARITY))  # every two heads

    @property
    def leading(self) -> list[dict[str, Any]]:
        """The rows to report first: changes over all heads, from the first to the last, of the scores that matter."""
        from wherewhat.report.pages.compare.comparison import ComparisonData

        return ComparisonData(self.compare, self.manifest).leading

    @property
    def sentences(self) -> list[str]:
        """The findings, as plain text."""
        from wherewhat.report.pages.compare.comparison import ComparisonData, sentences
        from wherewhat.report.pages.compare.similar import sentence

        return [*sentences(ComparisonData(self.compare, self.manifest)), *map(sentence, self.manifest.similar)]

    def draw(self) -> Page:
        from wherewhat.report.pages.compare.page import page_of_comparison

        return page_of_comparison(self.compare, self.manifest, self.similarity)


@dataclass(frozen=True)
class EditEffect(Run):
    """A model before and after an edit: what it can do, and where its heads look."""

    kind = EditManifest.kind
    schemas: ClassVar[Mapping[str, Mapping[str, Any]]] = {"edit": EDIT, "heads": HEADS}

    edit: pl.DataFrame  # loss, copying and head scores: before, after and the change
    heads: pl.DataFrame  # as in a profile, before and after
    manifest: EditManifest

    @property
    def strongest(self) -> dict[str, Any] | None:
        """The edit of a sweep that changes the loss most, if there was a sweep."""
        sweep = self.edit.filter((pl.col("measure") == "loss") & pl.col("layer").is_not_null())
        first = sweep.sort(pl.col("value").abs(), descending=True, nulls_last=True).head(1)
        return next(first.select("edit", "value", "low", "high").iter_rows(named=True), None)

    @property
    def whole(self) -> dict[str, dict[str, dict[str, float | None]]]:
        """What the whole model can do: by measure and by state, the value with its interval."""
        measures: dict[str, dict[str, dict[str, float | None]]] = {}
        for row in self.edit.filter(pl.col("layer").is_null()).iter_rows(named=True):
            estimate = {name: row[name] for name in ("value", "low", "high")}
            measures.setdefault(row["measure"], {})[row["state"]] = estimate
        return measures

    def draw(self) -> Page:
        from wherewhat.report.pages.edit.page import page_of_edit

        return page_of_edit(self.edit, self.heads, self.manifest)


@dataclass(frozen=True)
class ProbeRun(Run):
    """How a model reacts to swapped words or roles, or which relations its heads find; the manifest names the probe."""

    kind = ProbeManifest.kind
    schemas: ClassVar[Mapping[str, Mapping[str, Any]]] = {"probe": PROBE}

    probe: pl.DataFrame
    manifest: ProbeManifest

    def draw(self) -> Page:
        from wherewhat.report.pages.probes.probes import page_of_probe

        return page_of_probe(self.probe, self.manifest)


@dataclass(frozen=True)
class AttributionRun(Run):
    """Which tokens and which positions outputs of a model are made of; the manifest names the outputs."""

    kind = AttributionManifest.kind
    schemas: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "relevance": RELEVANCE,
        "distances": RELEVANCE_DISTANCES,
        "evaluation": EVALUATION,
        "evaluation_differences": EVALUATION_DIFFERENCES,
        "evaluation_curves": EVALUATION_CURVES,
    }
    optional = ("distances", "evaluation", "evaluation_differences", "evaluation_curves")

    relevance: pl.DataFrame
    manifest: AttributionManifest
    distances: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=RELEVANCE_DISTANCES))
    evaluation: pl.DataFrame = field(
        default_factory=lambda: pl.DataFrame(schema=EVALUATION)
    )  # of methods, if asked for
    evaluation_differences: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=EVALUATION_DIFFERENCES))
    evaluation_curves: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=EVALUATION_CURVES))

    @property
    def findings(self) -> list[str]:
        """What adds most to each output and what takes most away, a sentence each; and which method is best."""
        from wherewhat.report.pages.attribution.evaluation import evaluation_findings
        from wherewhat.report.pages.attribution.findings import findings

        evaluated = evaluation_findings(self.evaluation, self.evaluation_differences)
        return [*findings(self.relevance, self.manifest), *evaluated]

    def draw(self) -> Page:
        from wherewhat.report.pages.attribution.page import page_of_attribution

        tables = (self.evaluation, self.evaluation_differences, self.evaluation_curves)
        return page_of_attribution(self.relevance, self.manifest, *tables, distances=self.distances)

    def _repr_html_(self) -> str:
        from wherewhat.report.pages.attribution.notebook import notebook_html

        return notebook_html(self.relevance, self.manifest)


@dataclass(frozen=True)
class StudyRun(Run):
    """What was measured; the manifest's `claims` have what was published beside it."""

    kind = StudyManifest.kind
    schemas: ClassVar[Mapping[str, Mapping[str, Any]]] = {"result": RESULT}

    result: pl.DataFrame
    manifest: StudyManifest[Any]

    def draw(self) -> Page:
        from wherewhat.studies.pages import page_of_study

        return page_of_study(self.result, self.manifest)


@dataclass(frozen=True)
class SweepRun(Run):
    """The same recipe trained at every point of a grid; `sweep` has one column per field that changes."""

    kind = SweepManifest.kind
    schemas: ClassVar[Mapping[str, Mapping[str, Any]]] = {"sweep": SWEEP}

    sweep: pl.DataFrame
    manifest: SweepManifest

    def draw(self) -> Page:
        from wherewhat.report.pages.sweep.page import page_of_sweep

        return page_of_sweep(self.sweep, self.manifest)


RUNS: dict[str, type[Run]] = {
    run.kind: run for run in (Profile, Comparison, EditEffect, ProbeRun, AttributionRun, StudyRun, SweepRun)
}


def load(folder: str | Path) -> Run:
    """A run that was saved: a profile, a comparison, an edit, a probe, an attribution, a reproduction or a sweep."""
    folder = Path(folder)
    kind = run_kind(folder)
    if kind is not None and kind not in RUNS:
        raise no_report(folder, kind)
    manifest = read_manifest(folder)
    return RUNS[manifest.kind].read(folder, manifest)
