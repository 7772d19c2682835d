"""The page."""

import polars as pl

from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.core.page import Page
from wherewhat.tables.manifest.study import SpeechManifest


def page(result: pl.DataFrame, manifest: SpeechManifest) -> Page:
    return Page(
        title="Speech",
        kind="Reproduction",
        lede="",
        facts=[],
        sections=[claims_section(manifest.claims), provenance_section(manifest)],
    )
