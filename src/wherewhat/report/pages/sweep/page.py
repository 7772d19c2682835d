"""The page of a sweep: which settings came out best, how the runs learnt, and which failed."""

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import count, duration, listed
from wherewhat.report.blocks.layout import counted, present
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.core.page import Page
from wherewhat.report.pages.sweep.curve_sections import curves_section, lengths_section
from wherewhat.report.pages.sweep.findings import findings_of
from wherewhat.report.pages.sweep.point_sections import failures_section, fields_section, points_section
from wherewhat.report.pages.sweep.sweep_data import SweepData
from wherewhat.tables.files import AGAIN
from wherewhat.tables.manifest.sweep import SweepManifest


def page_of_sweep(rows: pl.DataFrame, manifest: SweepManifest) -> Page:
    """Lay out the points, their curves and the failures."""
    if missing := [name for name in manifest.over if name not in rows.columns]:
        raise UserError(f"sweep.parquet lacks the column '{missing[0]}'; {AGAIN}")
    data, status = SweepData(rows, manifest), manifest.status
    facts = [
        counted(sum(status.values()), "run"),
        *([counted(status["failed"], "failed", "failed")] if status.get("failed") else []),
        counted(len(manifest.seeds), "seed"),
        *([(duration(manifest.seconds), "in all")] if manifest.seconds else []),
    ]
    what = "every value" if len(data.fields) == 1 else "every combination"
    tried = f" with {what} of {' and '.join(data.fields)}" if data.fields else ""
    notes = [f"The settings below are those of all runs; each has its own {listed([*data.fields, 'seed'])}."]
    return Page(
        title=f"{manifest.recipe}: {' × '.join(data.fields) or 'seeds'}",
        kind="Sweep",
        lede=f"The recipe {manifest.recipe}, trained{tried} from {count(len(manifest.seeds), 'seed')}.",
        facts=facts,
        findings=findings_of(data),
        sections=present(
            [
                points_section(data) if data.measures else None,
                fields_section(data) if data.measures and len(data.fields) > 1 else None,
                lengths_section(data) if data.measures else None,
                curves_section(data) if data.measures else None,
                failures_section(manifest),
                provenance_section(manifest, notes=notes),
            ]
        ),
    )
