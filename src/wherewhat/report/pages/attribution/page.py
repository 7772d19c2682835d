"""The page of `wherewhat attribute`: the text with its relevance, the ledger, and where position enters."""

import polars as pl

from wherewhat.formatting import count, large
from wherewhat.report.blocks.layout import counted, present
from wherewhat.report.blocks.numbers import capital
from wherewhat.report.blocks.provenance import provenance_section, texts_section
from wherewhat.report.core.html import join
from wherewhat.report.core.page import Page
from wherewhat.report.pages.attribution.evaluation import evaluation_findings, evaluation_section
from wherewhat.report.pages.attribution.findings import KINDS, finding
from wherewhat.report.pages.attribution.part_sections import (
    by_distance,
    by_frequency,
    by_head,
    by_layer,
    by_method,
    the_ledger,
)
from wherewhat.report.pages.attribution.reading import reading_section
from wherewhat.report.pages.attribution.relevance_data import RelevanceData
from wherewhat.report.pages.attribution.text_sections import every_number, the_text
from wherewhat.tables.manifest.attribution import AttributionManifest

SHOWN = 60  # explanations; all others are in the table alone
FINDINGS = 5  # sentences at the top


def page_of_attribution(
    relevance: pl.DataFrame,
    manifest: AttributionManifest,
    *evaluation: pl.DataFrame,
    distances: pl.DataFrame | None = None,
) -> Page:
    """Lay out what outputs are made of, and how it was measured; `evaluation` are scores, differences and curves."""
    data, model, texts = RelevanceData(relevance, manifest, distances), manifest.model, manifest.texts
    shown = data.explanations[:SHOWN]
    kinds = list(dict.fromkeys(KINDS.get(each.explained.kind, "output") for each in data.first))
    facts = [counted(len(data.first), "output"), counted(data.texts, "text")]
    facts += [counted(texts.tokens, "token")] if texts.tokens else []
    facts += [(large(model.parameters), "parameters")] if model.parameters else []
    return Page(
        title=model.id,
        kind=f"Attribution: {', '.join(kinds)} by {', '.join(data.methods)}",
        lede="Which tokens and which positions an output is made of: its logit, passed back through the model by rules "
        "that keep its sum.",
        facts=facts,
        findings=[
            *map(join, evaluation_findings(*evaluation[:2]) if evaluation else ()),
            *(join(capital(finding(each, data))) for each in data.first[:FINDINGS]),
        ],
        sections=present(
            [
                the_text(shown, manifest.aggregate),
                the_ledger(shown),
                by_distance(shown),
                by_layer(shown),
                by_head(shown),
                by_frequency(shown),
                by_method(shown),
                evaluation_section(*evaluation, section=manifest.evaluation) if evaluation else None,
                every_number(manifest.aggregate),
                reading_section(data),
                texts_section(texts),
                provenance_section(manifest, model=model, texts=texts, notes=_left_out(data)),
            ]
        ),
    )


def _left_out(data: RelevanceData) -> list[str]:
    """A note where there is more in the table than on the page."""
    more = len(data.explanations) - SHOWN
    return [f"relevance.parquet has {count(more, 'more explanation')} than this page shows."] if more > 0 else []
