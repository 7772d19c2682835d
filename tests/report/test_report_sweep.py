"""The page of a sweep: the best point first, intervals over seeds, curves, and every failure with its sentence."""

from typing import Any

import polars as pl
import pytest

from wherewhat.errors import UserError
from wherewhat.report.core.page import Page
from wherewhat.report.core.render import render
from wherewhat.report.pages.sweep.page import SweepData, page_of_sweep
from wherewhat.tables.manifest.sweep import FailureSection, SweepManifest

ENDS = {"rope": (0.9, 0.92), "alibi": (0.5, 0.52), "none": (0.49, 0.53)}


def manifest(**more: Any) -> SweepManifest:
    known: dict[str, Any] = {
        "recipe": "tiny",
        "over": {"encoding": list(ENDS), "width": ["16", "32"]},
        "seeds": [0, 1],
        "measure": "accuracy",
        "status": {"done": 12},
    }
    return SweepManifest(**{**known, **more})


def table() -> pl.DataFrame:
    rows = []
    for encoding, ends in ENDS.items():
        for width in (16, 32):
            for seed, end in enumerate(ends):
                run = f"encoding={encoding},width={width},seed={seed}"
                for step, part in ((100, 0.5), (200, 1.0)):
                    value = end * part + (width - 16) / 1000
                    ends_ = {"status": "done", "seconds": 3.0, "attempts": 1}
                    start = {"run": run, "key": run, "encoding": encoding, "width": width, "seed": seed}
                    rows.append({**start, "measure": "accuracy", "value": value, "step": step, **ends_})
                    rows.append({**start, "measure": "loss", "value": 2 - value, "step": step, **ends_})
    return pl.DataFrame(rows)


def page(**more: Any) -> Page:
    return page_of_sweep(table(), manifest(**more))


def test_the_best_point_is_told_first_and_whether_seeds_tell_it_apart():
    first, second = (str(finding) for finding in page().findings)
    assert "The highest accuracy is 0.93" in first and "with encoding=rope, width=32" in first
    assert "The next is encoding=rope, width=16" in second and "the seeds do not tell them apart" in second


def test_points_are_sorted_by_what_they_reach_and_a_loss_from_below():
    data = SweepData(table(), manifest())
    assert [row["point"] for row in data.ends("accuracy")][:2] == ["encoding=rope, width=32", "encoding=rope, width=16"]
    assert data.ends("loss")[0]["point"] == "encoding=rope, width=32"
    best = data.ends("accuracy")[0]
    assert best["value"] == pytest.approx(0.926) and best["low"] < 0.9 and best["high"] <= 1  # of two seeds


def test_sections_show_points_settings_curves_and_failures():
    failures = [FailureSection(run="encoding=<b>,seed=0", sentence="the loss became nan; lower `learning_rate`")]
    whole = page(failures=failures, status={"done": 12, "failed": 1})
    assert [section.name for section in whole.sections] == ["points", "fields", "curves", "failures", "made"]
    text = render(whole)
    assert "encoding=&lt;b&gt;,seed=0" in text and "<b>,seed" not in text
    assert ("1", "failed") in whole.facts


def test_a_single_field_needs_no_section_of_its_own():
    rows = table().filter(pl.col("width") == 16).drop("width")
    names = [section.name for section in page_of_sweep(rows, manifest(over={"encoding": list(ENDS)})).sections]
    assert names == ["points", "curves", "made"]


def test_one_seed_has_no_interval():
    rows = table().filter(pl.col("seed") == 0)
    best = SweepData(rows, manifest(seeds=[0])).ends("accuracy")[0]
    assert best["low"] is None and best["seeds"] == 1
    assert "(" not in str(page_of_sweep(rows, manifest(seeds=[0])).findings[0])


def test_a_sweep_without_a_finished_run_says_so():
    rows = table().with_columns(
        status=pl.lit("failed"), measure=pl.lit(None, pl.String), value=pl.lit(None, pl.Float64)
    )
    empty = page_of_sweep(rows, manifest(status={"failed": 12}))
    assert "No run is finished yet" in str(empty.findings[0])
    assert [section.name for section in empty.sections] == ["made"]


def test_only_the_best_points_have_curves_where_there_are_many(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("wherewhat.report.pages.sweep.page.MOST_LINES", 2)
    drawn = page().chart("curves").views[0].tables["rows"]["point"]
    assert set(drawn) == {"encoding=rope, width=32", "encoding=rope, width=16"}


def test_a_table_without_a_field_of_its_manifest_is_refused():
    with pytest.raises(UserError, match="lacks the column 'width'"):
        page_of_sweep(table().drop("width"), manifest())
