"""The page of decoders without positions: what they know of them, whose attention is theirs, and how far they look."""

from collections import defaultdict

import polars as pl

from wherewhat.errors import UserError
from wherewhat.report.blocks.axes import share, y
from wherewhat.report.blocks.chart import lines
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.layout import counted, panel, run_time
from wherewhat.report.blocks.marks import named, rule
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.core.page import Page, Section
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.nope.attention_section import length_axis, whose_attention
from wherewhat.studies.nope.distance_section import how_far
from wherewhat.studies.nope.looks import Answers, by_name, labelled, side_by_side, training_end
from wherewhat.studies.nope.position_section import its_place
from wherewhat.studies.nope.results import ARMS, NOPE
from wherewhat.tables.manifest.study import LongAnswer, NopeManifest


def page(result: pl.DataFrame, manifest: NopeManifest) -> Page:
    """What was measured on nets with and without positions, with the published claims."""
    about = manifest.about
    there = set(result.filter(pl.col("seed").is_null(), part="place", item=NOPE)["subject"])
    tasks = [task for task in about.lengths if task in there]
    if not tasks:
        raise UserError("the table has no net that was measured; run `wherewhat reproduce nope` again")
    table, answers = ResultTable(result, tasks, about), defaultdict(LongAnswer, about.answers)
    nets = result.filter(pl.col("seed").is_not_null(), part="place").select("subject", "item", "seed").n_unique()
    counts = (
        (len(tasks), "task"),
        (len(table.seeds), "seed"),
        (nets, "net"),
        (about.steps or 0, "step per net", "steps per net"),
    )
    sizes = [(f"{about.layers} × {about.heads}", "layers × heads")] if about.layers and about.heads else []
    facts = [*(counted(*each) for each in counts if each[0]), *sizes, *run_time(about.seconds, about.processes)]
    measured = (its_place, whose_attention, how_far, what_they_learnt)
    return Page(
        title="What does a decoder without positions know about them?",
        kind="Reproduction after arXiv 2305.19466",
        lede="A causal decoder without any encoding of position (NoPE) can tell where a token stands: each token sees "
        "one token more than the one before it. Small decoders learn the same task, without positions and with five "
        "encodings of them. Is the position of a token in what the first one computes? Which of the others does its "
        "attention resemble? And how far back do its heads look?",
        facts=facts,
        sections=[
            *(section(table, answers) for section in measured),
            claims_section(manifest.claims),
            provenance_section(manifest),
        ],
    )


def what_they_learnt(table: ResultTable, answers: Answers) -> Section:
    """Exact outputs by length, as a reminder of what the nets can do."""
    cards = []
    for task in table.conditions:
        rows = labelled(table.where(part="accuracy", subject=task, seed=None).drop_nulls("at"))
        arms = [arm for arm in ARMS if arm in set(rows["item"])]
        across = length_axis(rows)
        drawn = lines(
            f"accuracy_{task}",
            rows,
            x=across,
            y=share(y, "value", "exact outputs"),
            colour=by_name(arms),
            intervals="none",
            below=[rule(named("trained"), {"x": across})],
            tables=training_end(table, task),
            tip="{name}, length {at:.0f}: {value:share}",
            label=f"{task}: exact outputs by length",
            figure=True,
            title=f"{task}: exact outputs",
            size=30,
        )
        cards.append(panel(drawn, title=task))
    lede = (
        "The share of samples whose whole output is decoded without a mistake, by length. Left of the dotted line are "
        "training lengths. A net counts for a claim if it answers at least 90 % of these."
    )
    return Section("learnt", "What the nets learnt", lede, side_by_side(cards), "Learnt")
