"""The page of nets that learn: every chart has its numbers, every number its words, and nothing gets in as markup."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
import vl_convert
from dict_manifests import page_of_dynamics
from synthetic_dynamics import HOPS, LAYERS, LENGTHS, STEPS, dynamics_run

from wherewhat.report.core.figures import figures, rows, whole
from wherewhat.report.core.html import Html
from wherewhat.report.core.page import Chart, Page, Section, View, filled
from wherewhat.report.core.render import render
from wherewhat.studies.dynamics.page import labelled
from wherewhat.studies.pages import PAGES

TASKS = ("number", "letter")
CHARTS = [*(f"{name}_{task}" for name in ("hops", "paths", "layers", "pure") for task in TASKS)]
CHARTS += ["lengths", "margins", "frequencies"]
Row = Mapping[str, Any]


@pytest.fixture(scope="module")
def page() -> Page:
    return page_of_dynamics(*dynamics_run())


def view_of(page: Page, chart: str, title: str = "") -> View:
    return next(view for view in page.chart(chart).views if title in ("", view.title))


def rows_of(page: Page, chart: str, title: str = "", table: str = "rows") -> list[Row]:
    return rows(view_of(page, chart, title).tables[table])


def tables_named(spec: Any) -> set[str]:
    """The tables that a chart asks for."""
    if isinstance(spec, Mapping):
        own = {spec["data"]["name"]} if "name" in spec.get("data", {}) else set()
        return own.union(*(tables_named(value) for value in spec.values()))
    return set().union(*(tables_named(value) for value in spec)) if isinstance(spec, list) else set()


def test_the_page_is_known_by_its_name() -> None:
    assert PAGES["dynamics"] == "wherewhat.studies.dynamics.page"


def test_the_page_needs_no_torch() -> None:
    code = "import sys; import wherewhat.studies.dynamics.page; print('torch' in sys.modules, 'scipy' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["False", "False"]


def test_the_page_has_its_parts_in_order(page: Page) -> None:
    names = [section.name for section in page.sections]
    assert names == ["learning", "plane", "layers", "purity", "longer", "margins", "frequencies", "claims", "made"]
    assert all(section.lede for section in page.sections)
    assert ("3 × 1", "layers × heads") in page.facts and ("2", "seeds") in page.facts
    assert ("128", "sequences per step") in page.facts


def test_every_chart_asks_for_tables_that_are_there(page: Page) -> None:
    charts = [chart for chart in page.placed if isinstance(chart, Chart)]
    assert [chart.name for chart in charts] == CHARTS
    for chart in charts:
        for view in chart.views:
            assert tables_named(chart.spec) == set(view.tables), chart.name
            for columns in view.tables.values():
                lengths = {len(values) for values in columns.values()}
                assert len(lengths) == 1 and lengths != {0}, chart.name


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_draws(page: Page, name: str) -> None:
    chart = page.chart(name)
    for view in chart.views:
        spec: Any = filled(chart.spec, view.words)
        assert not any(f"{{{word}}}" in json.dumps(spec) for word in view.words)
        datasets = {table: rows(columns) for table, columns in view.tables.items()}
        drawn = vl_convert.vegalite_to_svg({**spec, "width": 300, "height": 200, "datasets": datasets})
        assert drawn.count("<path") > 5 and "NaN" not in drawn


def test_readers_choose_a_run_a_share_a_rule_and_a_number_of_hops(page: Page) -> None:
    titles = {chart.name: [view.title for view in chart.views] for chart in page.placed if isinstance(chart, Chart)}
    assert titles["paths_number"] == ["seed 0", "seed 1"]
    assert titles["layers_letter"] == ["Both", "Position", "Content"]
    assert titles["pure_letter"] == [f"{rule}, γ = {gamma}" for rule in ("scores", "shares") for gamma in (0.1, 0.05)]
    assert titles["lengths"] == ["All", *HOPS]


def test_the_pictures_are_drawn(page: Page) -> None:
    assert set(CHARTS) <= set(page.figures)
    assert {"paths_letter_seed_1", "layers_number_Content", "lengths_2_hops"} <= set(page.figures)
    alone = Html.holding("", (page.chart("margins"),))
    only = replace(page, sections=[Section("", "", "", alone)])
    assert figures(only)["margins"].startswith(b"\x89PNG")
    assert "var(--" not in json.dumps(whole(page.figures["hops_number"])["layer"])
    assert page.figures["pure_letter"].spec["title"]["text"] == "The letter task"


def test_the_page_is_written_the_same_every_time_and_escapes(page: Page) -> None:
    text = render(page)
    assert text == render(page_of_dynamics(*dynamics_run()))
    assert "It is &lt;b&gt;bold&lt;/b&gt;." in text and "a &amp; b" in text
    assert text.count('data-chart="hops_') == 2 and text.count('data-widget="drawn"') == 11


def test_the_numbers_of_the_charts_are_those_of_the_table(page: Page) -> None:
    result, _ = dynamics_run()
    runs = [(task, seed) for task in TASKS for seed in (0, 1)]
    paths = {run: rows_of(page, f"paths_{run[0]}", f"seed {run[1]}") for run in runs}
    assert sum(map(len, paths.values())) == 2 * 2 * LAYERS * len(STEPS)
    one = next(point for point in paths["letter", 1] if (point["layer"], point["at"]) == (2, 50))
    expected = result.filter(
        (pl.col("subject") == "letter") & (pl.col("seed") == 1) & (pl.col("item") == "L2H0") & (pl.col("at") == 50)
    )
    value = expected.filter(pl.col("measure") == "symbolic")["value"][0]
    assert one["symbolic"] == pytest.approx(value, rel=1e-3) and f"s_SYM {value:.2f}" in one["tip"]
    assert one["tip"].startswith("L2, step 50: s_POS ")
    assert {point["at"] for points in paths.values() for point in points if point["last"]} == {100}
    hops = [row for task in TASKS for row in rows_of(page, f"hops_{task}")]
    assert len(hops) == 2 * 3 * len(STEPS) * len(HOPS) and {row["item"] for row in hops} == set(HOPS)
    for title in ("All", *HOPS):
        assert {row["at"] for row in rows_of(page, "lengths", title)} == set(LENGTHS)


def test_shares_of_layers_are_those_of_position_and_of_content_below_0(page: Page) -> None:
    both, position, content = (rows_of(page, "layers_number", title) for title in ("Both", "Position", "Content"))
    assert len(both) == LAYERS * len(STEPS)
    for three in zip(both, position, content, strict=True):
        assert three[0]["value"] == pytest.approx(three[1]["value"] + three[2]["value"])
        assert three[1]["value"] >= 0 >= three[2]["value"]
    assert both[0]["tip"].startswith("layer 0, step 0: position share ")


def test_shares_of_heads_and_frequencies_lie_between_0_and_1(page: Page) -> None:
    pure = [row for task in TASKS for view in page.chart(f"pure_{task}").views for row in rows(view.tables["rows"])]
    assert {row["what"] for row in pure} == {"accuracy", "positional heads", "symbolic heads"}
    for row in (*pure, *rows_of(page, "frequencies")):
        assert row["value"] is None or 0 <= row["value"] <= 1


def test_a_published_range_stays_a_range(page: Page) -> None:
    speeds = rows_of(page, "frequencies")
    theirs = [row for row in speeds if row["whose"] == "published" and row["subject"] == "number"]
    assert [(row["depth"], row["value"]) for row in theirs] == [
        (0, 0),
        (0.5, pytest.approx(1 / 63, rel=1e-3)),
        (1, None),
    ]
    ends = [value for row in theirs for value in (row["low"], row["high"])]
    assert ends == pytest.approx([0, 0, 1 / 63, 1 / 63, 36 / 63, 38 / 63], rel=1e-3)
    assert [row["tip"] for row in theirs[1:]] == [
        "published, number, layer 1: 1 of 0 to 63",
        "published, number, layer 2: 36 to 38 of 0 to 63",
    ]


def test_results_that_count_frequencies_from_1_are_shown_alike() -> None:
    result, manifest = dynamics_run()
    ours = [row["value"] for row in rows_of(page_of_dynamics(result, manifest), "frequencies")]
    counts = pl.col("measure") == "mean_frequency"
    for end in ("value", "low", "high"):
        result = result.with_columns(pl.when(counts).then(pl.col(end) + 1).otherwise(pl.col(end)).alias(end))
    published = manifest["about"]["published"]["frequencies"]
    later = {task: [[fast + 1, slow + 1] for fast, slow in published[task]] for task in TASKS}
    manifest["about"]["published"]["frequencies"] = {**published, **later, "first": 1}
    again = rows_of(page_of_dynamics(result, manifest), "frequencies")
    assert [row["value"] for row in again] == pytest.approx(ours)
    assert again[-1]["tip"] == "published, letter, layer 2: 37 to 41 of 1 to 64"


def test_a_bound_of_nothing_ends_its_line(page: Page) -> None:
    margins = rows_of(page, "margins")
    bounds = [row for row in margins if row["measure"] != "gap"]
    assert {row["at"] for row in bounds} == {9, 32}
    assert all(value > 0 for row in bounds for value in (row["value"], row["low"]) if value is not None)


def test_an_interval_down_to_0_ends_on_the_axis_and_is_told_as_it_is() -> None:
    result, manifest = dynamics_run()
    wide = (pl.col("part") == "gap") & pl.col("seed").is_null()
    result = result.with_columns(low=pl.when(wide).then(0.0).otherwise(pl.col("low")))
    measured = [row for row in rows_of(page_of_dynamics(result, manifest), "margins") if row["measure"] == "gap"]
    assert all(row["low"] == pytest.approx(row["value"] / 20) and "(0.00 to " in row["tip"] for row in measured)
    assert measured[0]["tip"].startswith("letter, measured, 9 tokens: 0.11 (0.00 to ")


def test_heads_that_end_at_one_place_are_named_together() -> None:
    points = pl.DataFrame(
        {"layer": [0, 1, 2, 3], "last": True}
        | {"positional": [0.01, 0.02, 0.5, 0.9], "symbolic": [1.0, 0.99, 0.6, 0.2]}
    )
    named = labelled(pl.concat([points, points.with_columns(last=pl.lit(False))]))
    assert named.filter("last")["right"].to_list() == ["L0, L1", None, "L2", None]
    assert named.filter("last")["left"].to_list() == [None, None, None, "L3"]  # where there is no room at the right


def test_what_was_published_of_longer_inputs_is_shown_as_far_as_the_axis_goes() -> None:
    result, manifest = dynamics_run()
    known = rows_of(page_of_dynamics(result, manifest), "lengths", table="published")
    assert [(one["subject"], one["low"], one["high"]) for one in known] == [("letter", 17, 200)]
    farther = result.with_columns(at=pl.when(pl.col("at") == 200).then(850).otherwise(pl.col("at")))
    known = rows_of(page_of_dynamics(farther, manifest), "lengths", table="published")
    assert [(one["subject"], one["low"], one["high"]) for one in known] == [("letter", 17, 850), ("number", 400, 850)]
    assert [one["label"] for one in known] == ["published: letter above", "published: number below"]


def test_a_run_of_one_seed_has_its_page_too() -> None:
    page = page_of_dynamics(*dynamics_run(seeds=1))
    assert ("1", "seed") in page.facts
    assert render(page)


@pytest.mark.browser
@pytest.mark.parametrize(("width", "light"), [(1280, "light"), (390, "dark")])
def test_in_a_browser_every_chart_is_drawn_and_nothing_goes_wrong(page: Page, shown: Any, width: int, light: str):
    with shown(page, width=width, color_scheme=light) as tab:
        assert tab.locator("[data-widget=drawn] svg").count() == 11
        tab.locator("#plane").get_by_text("seed 1").first.click()
        tab.locator("#layers").get_by_text("Content").first.click()
        tab.wait_for_timeout(300)
