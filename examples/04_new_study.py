"""A study of our own, whole: does the attention of `tiny` spread out when all tokens of a text are alike?"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import torch

import wherewhat as ww
from wherewhat.formatting import count
from wherewhat.jobs.job import JobContext
from wherewhat.report.blocks.axes import share, x, y
from wherewhat.report.blocks.chart import chart
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.layout import panel
from wherewhat.report.blocks.marks import ROWS, dots, line, whiskers
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.core.page import Page, Section
from wherewhat.stats.verdict import UNPUBLISHED, open_verdict
from wherewhat.studies.engine.claims import Claim, Verdict
from wherewhat.studies.engine.results import Cell, ResultTable, Row
from wherewhat.studies.engine.study import OF_STUDY, Study
from wherewhat.studies.pages import PAGES

ENTROPY = Cell("run", "entropy")  # which number of a run: its part of the table, and its measure


# Settings: what is tried, and how much of it. Both travel to workers as JSON.
@dataclass(frozen=True)
class Variety:
    """A condition: how many distinct tokens a text has."""

    name: str
    tokens: int


@dataclass(frozen=True)
class SamenessScale:
    """How many texts of which length are read; `seeds` and `varieties` are of the study, not of a single run."""

    texts: int
    length: int = 16
    steps: int = 1
    seeds: int = field(default=3, metadata=OF_STUDY)
    varieties: tuple[int, ...] = field(default=(1, 2, 4, 16), metadata=OF_STUDY)


# One run: a condition from a seed. Every number is a row: part, subject, item, at, seed, measure, value, low, high.
def run(condition: Variety, scale: SamenessScale, seed: int, context: JobContext) -> Iterator[Row]:
    """The mean entropy of all heads on texts with so many distinct tokens, from 0 (one key) to 1 (all alike)."""
    generator = torch.Generator().manual_seed(seed)
    shape = (scale.texts, scale.length)
    texts = torch.randperm(100, generator=generator)[torch.randint(0, condition.tokens, shape, generator=generator)]
    heads = ww.profile("tiny", list(texts), scores=("entropy",), untrained=False, hidden=False, seed=seed).heads
    entropy = float(heads.filter(score="entropy")["value"].mean())  # type: ignore[arg-type]
    yield "run", condition.name, "", float(condition.tokens), seed, "entropy", entropy, None, None
    context.step(scale.steps)


def means(table: ResultTable) -> Iterator[Row]:
    """The mean of every condition over seeds, with its interval."""
    for condition in table.conditions:
        cell = ENTROPY._replace(at=float(condition.tokens))
        yield "mean", condition.name, "", cell.at, None, "entropy", *table.mean([condition.name], cell).numbers


# Claims: a sentence, what was published, and a test of the table that decides.
def spreads(table: ResultTable) -> Verdict:
    """Is entropy higher for a single token than for the most different ones, seed by seed?"""
    alike, different = table.conditions[0], table.conditions[-1]
    ends = [ENTROPY._replace(at=float(condition.tokens)) for condition in (alike, different)]
    gap = table.difference([alike.name], [different.name], *ends)
    return Verdict(f"Entropy of {alike.name} minus that of {different.name}: {gap.plain()}.", open_verdict([gap.side]))


# The page is drawn from the table and the manifest alone, without torch.
def page(result: pl.DataFrame, manifest) -> Page:  # type: ignore[no-untyped-def]
    """A chart, the claims, and where the numbers came from."""
    rows = result.filter(part="mean")
    place = {"x": x("at", "distinct tokens", scale="log", grid=False), "y": share(y, "value", "entropy", format=".1f")}
    marks = [line(ROWS, place), whiskers(ROWS, place, along="y"), dots(ROWS, place)]
    drawn = chart("entropy", rows, marks, tip="{subject}: {value:short}", label="Entropy by variety", figure=True)
    lede = "The mean entropy of all heads, with 95 % intervals over seeds."
    sections = [Section("entropy", "How attention spreads", lede, panel(drawn), "Entropy")]
    return Page(
        title="Texts whose tokens are alike",
        kind="A study of our own",
        lede="A head that goes by content cannot tell equal tokens apart. Does its attention then spread?",
        facts=[(str(len(ResultTable(result).seeds)), "seeds")],
        sections=[*sections, claims_section(manifest.claims), provenance_section(manifest)],
    )


STUDY = Study(
    name="sameness",
    about="Texts whose tokens are alike: does attention spread out?",
    paper="ours",
    scales={"tiny": SamenessScale(texts=4), "small": SamenessScale(texts=64)},
    conditions=lambda scale: [Variety(count(tokens, "distinct token"), tokens) for tokens in scale.varieties],
    run=run,
    condition_class=Variety,
    scale_class=SamenessScale,
    claims={"spreads": Claim("Attention spreads out when tokens are alike.", UNPUBLISHED, spreads)},
    decides=("capture", "encodings", "logits", "models", "nets", "profiling", "scores", "stats", "tasks"),
    summarise=means,
)

# A study of the package is one line in `studies/registry.py` and one in `studies/pages.py`.
ww.STUDIES[STUDY.name], PAGES[STUDY.name] = STUDY, __name__

if __name__ == "__main__":
    study_run = ww.reproduce("sameness", scale="tiny", engine="inline")
    for claim in study_run.manifest.claims:
        print(f"{claim.claim} {claim.verdict}: {claim.ours}")
    folder = study_run.save(Path(tempfile.mkdtemp()) / "run")
    print("open", folder / "report.html")
