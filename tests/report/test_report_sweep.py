"""The page of a sweep: the best point first, intervals over seeds, curves, and every failure with its sentence."""

from typing import Any

import polars as pl
import pytest

from wherewhat.errors import UserError
from wherewhat.report.core.page import Page
from wherewhat.report.core.render import render
from wherewhat.report.pages.sweep.page import page_of_sweep
from wherewhat.report.pages.sweep.sweep_data import SweepData
from wherewhat.stats.intervals import wilson
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
    monkeypatch.setattr("wherewhat.report.pages.sweep.curve_sections.MOST_LINES", 2)
    drawn = page().chart("curves").views[0].tables["rows"]["point"]
    assert set(drawn) == {"encoding=rope, width=32", "encoding=rope, width=16"}


def test_a_table_without_a_field_of_its_manifest_is_refused():
    with pytest.raises(UserError, match="lacks the column 'width'"):
        page_of_sweep(table().drop("width"), manifest())


def test_one_seed_has_an_interval_over_test_samples_where_their_number_is_known():
    rows = table().filter(pl.col("seed") == 0)
    data = SweepData(rows, manifest(seeds=[0], samples={"accuracy": 100}))
    best = data.ends("accuracy")[0]
    assert (best["low"], best["high"]) == pytest.approx(wilson(0.916, 100))
    assert data.ends("loss")[0]["low"] is None
    whole = page_of_sweep(rows, data.manifest)
    assert "the test samples do not tell them apart" in str(whole.findings[1])
    assert "95 % interval over test samples" in str(whole.sections[0].lede)


def test_several_seeds_keep_their_interval_over_seeds():
    both = [SweepData(table(), manifest(samples=samples)).ends("accuracy")[0] for samples in ({}, {"accuracy": 100})]
    assert both[0] == both[1]


def test_chance_is_a_line_and_a_sentence():
    whole = page(chance={"accuracy": 0.5})
    assert "Chance is 0.50: 2 points are clearly above it." in str(whole.findings[2])
    kinds = whole.chart("points").views[0].tables["rows"]["kind"]
    assert list(kinds).count("chance") == 1
    accuracy, loss = (view.tables["chance"] for view in whole.chart("curves").views)
    assert list(accuracy["value"]) == [0.5] and not loss.get("value")
    assert "Chance is 0.99: no point is clearly above it." in str(page(chance={"accuracy": 0.99}).findings[2])
    one = table().filter(pl.col("seed") == 0)
    known, unknown = (
        page_of_sweep(one, manifest(seeds=[0], chance={"accuracy": 0.125}, samples=samples)).findings[2]
        for samples in ({"accuracy": 100}, {})
    )
    assert str(known) == "Chance is 0.12: all points are clearly above it." and str(unknown) == "Chance is 0.12."


def test_points_that_end_alike_have_no_winner():
    rows = table().with_columns(value=pl.lit(0.25))
    (finding,) = page_of_sweep(rows, manifest()).findings
    assert "All 6 points end with the same accuracy, 0.25" in str(finding)


def by_length(**more: Any) -> Page:
    """A sweep whose runs also measure every length, one of which has two parts."""
    parts = [("exact length 4", 0.8), ("exact length 12", 0.3), ("exact length 3x12", 0.1), ("exact length 2", 1.0)]
    of_length = [table().filter(measure="accuracy").with_columns(measure=pl.lit(name), value=v) for name, v in parts]
    settings = {"tasks": [{"name": "copy", "train_length": 4}]}
    return page_of_sweep(pl.concat([table(), *of_length]), manifest(settings=settings, **more))


def test_measures_of_single_lengths_are_one_chart_and_no_columns():
    samples = {"exact length 12": 10, "exact length 3x12": 30}
    whole = by_length(samples=samples, chance={"exact length 4": 0.5, "exact length 2": 0.25})
    assert [section.name for section in whole.sections] == ["points", "fields", "lengths", "curves", "made"]
    (view,) = whole.chart("lengths").views
    drawn = view.tables["rows"]
    assert view.title == "Exact" and list(drawn["length"]) == sorted(drawn["length"])
    values = dict(zip(drawn["length"], drawn["value"], strict=True))
    assert values == {2: 1.0, 4: 0.8, 12: pytest.approx((10 * 0.3 + 30 * 0.1) / 40)}
    assert list(view.tables["chance"]["length"]) == [2, 4] and list(view.tables["trained"]["length"]) == [4]
    assert "trained on lengths up to 4" in whole.sections[2].lede
    assert [view.title for view in whole.chart("curves").views] == ["Accuracy", "Loss"]
    assert "length 12" not in str(whole.sections[0].body)


def test_a_length_that_changes_from_point_to_point_is_not_marked():
    rows = table().rename({"width": "train_length"})
    length = rows.filter(measure="accuracy").with_columns(measure=pl.lit("exact length 4"))
    over = {"encoding": list(ENDS), "train_length": ["16", "32"]}
    settings = {"tasks": [{"name": "copy", "train_length": 4}]}
    whole = page_of_sweep(pl.concat([rows, length]), manifest(over=over, settings=settings))
    assert "trained on lengths" not in next(each for each in whole.sections if each.name == "lengths").lede


def test_the_table_of_all_numbers_can_be_downloaded():
    assert '<a href="sweep.parquet" download' in render(page())
