"""The page of nets that learn: every chart has its numbers, every number its words, and nothing gets in as markup."""

import json
from typing import Any

import polars as pl
import pytest
import vl_convert
from dict_manifests import dynamics_tables_of as tables_of
from dict_manifests import page_of_dynamics
from synthetic_dynamics import HOPS, LAYERS, LENGTHS, STEPS, dynamics_run

from wherewhat.report import dynamics
from wherewhat.report.dynamics_tables import end_labels
from wherewhat.report.figures import figures, rows, whole
from wherewhat.report.head_figures import filled
from wherewhat.report.page import Page
from wherewhat.report.panels import _named
from wherewhat.report.render import render
from wherewhat.report.reproductions import PAGES

WORDS = {"task": "letter", "seed": "0", "tint": "difference", "rule": "shares at 0.05", "hops": "all"}


@pytest.fixture(scope="module")
def page() -> Page:
    return page_of_dynamics(*dynamics_run())


def test_the_page_is_known_by_its_name() -> None:
    assert PAGES["dynamics"] is dynamics.page_of_dynamics


def test_the_page_has_its_parts_in_order(page: Page) -> None:
    names = [section.name for section in page.sections]
    assert names == ["learning", "plane", "layers", "purity", "longer", "margins", "frequencies", "claims", "made"]
    assert all(section.lede for section in page.sections)
    assert ("3 × 1", "layers × heads") in page.facts and ("2", "seeds") in page.facts


def test_every_chart_asks_for_tables_that_are_there(page: Page) -> None:
    assert set().union(*(_named(spec) for spec in page.charts.values())) <= set(page.tables)
    for name, columns in page.tables.items():
        lengths = {len(values) for values in columns.values()}
        assert len(lengths) == 1 and lengths != {0}, name


@pytest.mark.parametrize("name", ["hops", "paths", "layers", "pure", "lengths", "margins", "frequencies"])
def test_every_chart_draws(page: Page, name: str) -> None:
    assert name in page.charts
    spec: Any = filled(page.charts[name], WORDS)
    assert "{" + "task}" not in json.dumps(spec)
    drawn = vl_convert.vegalite_to_svg({**spec, "width": 300, "height": 200, "datasets": _datasets(page)})
    assert drawn.count("<path") > 5


def _datasets(page: Page) -> dict[str, Any]:
    return {name: rows(columns) for name, columns in page.tables.items()}


def test_the_pictures_are_drawn(page: Page) -> None:
    assert {"hops_number", "paths_letter", "lengths", "margins", "frequencies"} <= set(page.figures)
    only = Page("", "", "", [], [], figures={"margins": page.figures["margins"]})
    assert figures(only)["margins"].startswith(b"\x89PNG")
    assert "var(--" not in json.dumps(whole(page.figures["hops_number"])["layer"])


def test_the_page_is_written_the_same_every_time_and_escapes(page: Page) -> None:
    text = render(page)
    assert text == render(page_of_dynamics(*dynamics_run()))
    assert "It is &lt;b&gt;bold&lt;/b&gt;." in text and "a &amp; b" in text
    assert text.count('data-chart="hops"') == 2 and text.count('data-widget="drawn"') == 11


def test_the_numbers_of_the_charts_are_those_of_the_table() -> None:
    result, manifest = dynamics_run()
    tables = tables_of(result, manifest)
    ways = rows(tables["paths"])
    assert len(ways) == 2 * 2 * LAYERS * len(STEPS)
    one = next(w for w in ways if (w["task"], w["seed"], w["head"], w["step"]) == ("letter", 1, "L2", 50))
    expected = result.filter(
        (pl.col("subject") == "letter") & (pl.col("seed") == 1) & (pl.col("item") == "L2H0") & (pl.col("at") == 50)
    )
    value = expected.filter(pl.col("measure") == "symbolic")["value"][0]
    assert one["symbolic"] == pytest.approx(value, rel=1e-3) and f"s_SYM {value:.2f}" in one["said"]
    assert {w["step"] for w in ways if w["last"]} == {100}
    assert len(rows(tables["hops"])) == 2 * 3 * len(STEPS) * (len(HOPS) + 1)
    assert {row["length"] for row in rows(tables["lengths"])} == set(LENGTHS)


def test_shares_of_heads_and_frequencies_lie_between_0_and_1() -> None:
    tables = tables_of(*dynamics_run())
    for name in ("pure", "frequencies"):
        assert all(0 <= value <= 1 for value in tables[name]["value"] if value is not None)


def test_a_published_range_stays_a_range() -> None:
    speeds = rows(tables_of(*dynamics_run())["frequencies"])
    theirs = [row for row in speeds if row["whose"] == "published" and row["task"] == "number"]
    assert [(row["depth"], row["value"]) for row in theirs] == [
        (0, 0),
        (0.5, pytest.approx(1 / 63, rel=1e-3)),
        (1, None),
    ]
    ends = [value for row in theirs for value in (row["low"], row["high"])]
    assert ends == pytest.approx([0, 0, 1 / 63, 1 / 63, 36 / 63, 38 / 63], rel=1e-3)
    assert [row["said"] for row in theirs[1:]] == [
        "published, number, layer 1: 1 of 0 to 63",
        "published, number, layer 2: 36 to 38 of 0 to 63",
    ]


def test_a_bound_of_nothing_ends_its_line() -> None:
    tables = tables_of(*dynamics_run())
    assert {row["length"] for row in rows(tables["bounds"])} == {9, 32}
    assert all(value > 0 for value in [*tables["bounds"]["value"], *tables["margins"]["low"]])


def test_heads_that_end_at_one_place_are_named_together() -> None:
    ends = pl.DataFrame(
        {"subject": "letter", "seed": 0, "item": ["L0H0", "L1H0", "L2H0"]}
        | {"positional": [0.01, 0.02, 0.5], "symbolic": [1.0, 0.99, 0.6]}
    )
    assert end_labels(ends) == {("letter", 0, "L0H0"): "L0, L1", ("letter", 0, "L2H0"): "L2"}


def test_what_was_published_of_longer_inputs_is_shown_as_far_as_the_axis_goes() -> None:
    result, manifest = dynamics_run()
    known = rows(tables_of(result, manifest)["published_lengths"])
    assert [(one["task"], one["from"], one["to"]) for one in known] == [("letter", 17, 200)]
    farther = result.with_columns(at=pl.when(pl.col("at") == 200).then(850).otherwise(pl.col("at")))
    known = rows(tables_of(farther, manifest)["published_lengths"])
    assert [(one["task"], one["from"], one["to"]) for one in known] == [("letter", 17, 850), ("number", 400, 850)]


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
