"""The page of decoders without positions: its charts have their numbers, and nothing gets in as markup."""

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest
import vl_convert
from dict_manifests import page_of
from synthetic_nope import BLOCKS, LENGTHS, TASKS, nope_run

from wherewhat.errors import UserError
from wherewhat.report.core.figures import rows, whole
from wherewhat.report.core.page import Chart, Page, filled
from wherewhat.report.core.render import render
from wherewhat.studies.nope.results import AGAIN, ARMS, LABELS, NOPE
from wherewhat.studies.pages import PAGES

page_of_nope = page_of("nope")
KINDS = ("place", "predicted", "divergence", "entropy", "sides", "distances", "accuracy")
CHARTS = {f"{kind}_{task}" for kind in KINDS for task in TASKS}


@pytest.fixture(scope="module")
def page() -> Page:
    return page_of_nope(*nope_run())


def rows_of(page: Page, chart: str, title: str = "", table: str = "rows") -> list[Mapping[str, Any]]:
    view = next(view for view in page.chart(chart).views if title in ("", view.title))
    return rows(view.tables[table])


def test_the_page_is_known_by_its_name_and_needs_no_torch() -> None:
    assert PAGES["nope"] == "wherewhat.studies.nope.page"
    code = "import sys; import wherewhat.studies.nope.page; print('torch' in sys.modules, 'scipy' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["False", "False"]


def test_the_page_has_its_parts_in_order(page: Page) -> None:
    assert [section.name for section in page.sections] == ["place", "attention", "distance", "learnt", "claims", "made"]
    assert all(section.lede for section in page.sections)
    assert page.sections[0].lede == "Yes: it <knows>."
    facts = {("2", "tasks"), ("2", "seeds"), ("28", "nets"), ("2 × 4", "layers × heads"), ("1,000", "steps per net")}
    assert facts <= set(page.facts)
    assert {chart.name for chart in page.placed if isinstance(chart, Chart)} == CHARTS


@pytest.mark.parametrize("name", sorted(CHARTS))
def test_every_chart_draws(page: Page, name: str) -> None:
    chart = page.chart(name)
    for view in chart.views:
        spec: Any = filled(chart.spec, view.words)
        datasets = {table: rows(columns) for table, columns in view.tables.items()}
        drawn = vl_convert.vegalite_to_svg({**spec, "width": 300, "height": 200, "datasets": datasets})
        assert drawn.count("<path") > 5 and "NaN" not in drawn


def test_the_numbers_of_the_charts_are_those_of_the_table(page: Page) -> None:
    result, _ = nope_run()
    means = result.filter(pl.col("seed").is_null(), subject="scan")
    place = rows_of(page, "place_scan", LABELS[NOPE])
    assert len(place) == (BLOCKS + 1) * 6
    one = next(row for row in place if row["at"] == 2 and row["target"] == "position i" and not row["shuffled"])
    value = means.filter(part="place", item=NOPE, at=2.0, measure="place trained")["value"].item()
    assert one["shown"] == pytest.approx(max(value, -0.25), rel=1e-3) and one["tip"].startswith("position i, training")
    apart = rows_of(page, "divergence_scan", "As released, nats")
    assert len(apart) == 3 * (len(ARMS) - 1) * len(LENGTHS) and {row["item"] for row in apart} == set(ARMS) - {NOPE}
    assert rows_of(page, "divergence_scan", table="trained") == [{"at": 3.5}]
    near = means.filter(part="distance", item=AGAIN, measure="near longer")["value"].item()
    sides = rows_of(page, "sides_scan", "Longer inputs")
    assert [row["value"] for row in sides if row["name"] == LABELS[AGAIN] and row["side"] == "near"] == [
        pytest.approx(near, rel=1e-3)
    ]


def test_what_is_far_below_0_is_drawn_at_the_edge_and_told_as_it_is(page: Page) -> None:
    points = [row for row in rows_of(page, "place_scan", LABELS[NOPE]) if row["shown"] == -0.25]
    assert points and all("R² −" in row["tip"] for row in points)


def test_published_numbers_are_rings_and_columns(page: Page) -> None:
    rings = rows_of(page, "sides_scan", "All lengths", table="published")
    assert len(rings) == 10 and ("ALiBi", "far", 0.026) in [
        (ring["name"], ring["side"], ring["value"]) for ring in rings
    ]
    text = render(page)
    assert "published, SCAN, as released" in text and ">1.222<" in text and ">0.624<" in text


def test_readers_choose_an_encoding_a_divergence_and_lengths(page: Page) -> None:
    titles = {chart.name: [view.title for view in chart.views] for chart in page.placed if isinstance(chart, Chart)}
    assert titles["place_scan"] == [LABELS[arm] for arm in ARMS if arm != AGAIN]
    assert titles["divergence_scan"] == ["Jensen-Shannon, bits", "As released, nats"]
    assert titles["sides_scan"] == titles["distances_scan"] == ["All lengths", "Training lengths", "Longer inputs"]


def test_the_page_is_written_the_same_every_time_and_escapes(page: Page) -> None:
    text = render(page)
    assert text == render(page_of_nope(*nope_run()))
    assert "It is &lt;b&gt;bold&lt;/b&gt;." in text and "a &amp; b" in text and "it &lt;knows&gt;" in text


def test_one_task_and_one_seed_have_their_page_too() -> None:
    page = page_of_nope(*nope_run(seeds=1, tasks=("scan",)))
    assert ("1", "seed") in page.facts and ("1", "task") in page.facts
    assert render(page)


def test_nets_of_one_head_have_no_released_divergence() -> None:
    result, manifest = nope_run()
    alone = result.filter(~pl.col("measure").str.starts_with("released"))
    page = page_of_nope(alone, manifest)
    assert [view.title for view in page.chart("divergence_scan").views] == ["Jensen-Shannon, bits"]
    assert render(page)


def test_a_table_without_nets_is_refused() -> None:
    result, manifest = nope_run()
    with pytest.raises(UserError, match="the table has no net that was measured; run `wherewhat reproduce nope` again"):
        page_of_nope(result.filter(pl.col("part") == "accuracy"), manifest)
    with pytest.raises(UserError, match="the table has no net"):
        page_of_nope(result, {**manifest, "about": {}})


def test_figures_have_the_colours_of_paper(page: Page) -> None:
    assert {"place_scan", "divergence_copy_repeat", "sides_scan"} <= set(page.figures)
    assert "var(--" not in json.dumps(whole(page.figures["divergence_scan"])["layer"])


@pytest.mark.browser
@pytest.mark.parametrize(("width", "light"), [(1280, "light"), (390, "dark")])
def test_in_a_browser_every_chart_is_drawn_and_nothing_goes_wrong(page: Page, shown: Any, width: int, light: str):
    with shown(page, width=width, color_scheme=light) as tab:
        assert tab.locator("[data-widget=drawn] svg").count() == len(CHARTS)
        tab.locator("#attention").get_by_text("As released, nats").first.click()
        tab.locator("#distance").get_by_text("Longer inputs").first.click()
        tab.wait_for_timeout(300)
