"""Charts that draw themselves, and the table of claims, in a real browser."""

from typing import Any

import pytest
from dict_manifests import claims_section

from wherewhat.report.figures import figures
from wherewhat.report.marks import WHERE, layered, named
from wherewhat.report.page import Page, Section
from wherewhat.report.panels import chart_widget, figure_of, panel
from wherewhat.report.tags import join, tag

BAR = ".mark-rect path"
CLAIM = {
    "claim": "Snow is <b>white</b>.",
    "published": "yes",
    "ours": "yes, 3 of 3",
    "verdict": "agrees",
    "why": "Cold.",
}


def made() -> Page:
    """A page with one chart in two views, the same as a small multiple, and two claims."""
    bars = named("numbers").transform_filter("datum.kind == '{kind}'").mark_bar(color=WHERE, tooltip=True)
    charts = {"bars": layered(bars.encode(x="name:N", y="value:Q"))}
    columns = {"name": ["a", "b", "a"], "kind": ["one", "one", "two"], "value": [1.0, 2.0, 3.0]}
    tables = {"numbers": {**columns, "said": ["a: 1", "b: 2", "a: 3"]}, "idle": {"x": [1.0]}}
    views = [("First", {"kind": "one"}), ("Second", {"kind": "two"})]
    chosen = panel(tag("h3", "One of two"), chart_widget("bars", "Some bars", views=views))
    small = tag("div", chart_widget("bars", "One bar", height=120, words={"kind": "two"}), class_="multiples")
    manifest = {"claims": [CLAIM, {**CLAIM, "verdict": "disagrees", "why": ""}]}
    bars = Section("bars", "Bars", "How to read them.", join(chosen, small), "Bars")
    sections = [bars, claims_section(manifest["claims"])]
    picture = figure_of(charts["bars"], tables, (300, 200), {"kind": "one"})
    return Page("Title", "kind", "lede", [("3", "bars")], sections, charts, tables, figures={"bars": picture})


def bars_in(tab: Any, place: int) -> int:
    return tab.locator("[data-widget=drawn]").nth(place).locator(f"svg {BAR}").count()


@pytest.mark.browser
def test_a_chart_draws_itself_from_the_rows_of_its_view(shown: Any):
    with shown(made()) as tab:
        assert (bars_in(tab, 0), bars_in(tab, 1)) == (2, 1)
        tab.get_by_role("button", name="Second").click()
        tab.wait_for_function(
            f"document.querySelector('[data-widget=drawn] svg').querySelectorAll('{BAR}').length == 1"
        )


@pytest.mark.browser
def test_claims_stand_beside_each_other_and_below_each_other_on_a_phone(shown: Any):
    with shown(made()) as tab:
        line = tab.locator(".claims > div").nth(1)
        assert "Snow is <b>white</b>." in line.inner_text()
        assert line.locator(".said").first.is_hidden()
        tab.set_viewport_size({"width": 390, "height": 800})
        assert line.locator(".said").first.is_visible()


def test_a_picture_takes_along_only_the_tables_its_chart_names():
    page = made()
    assert set(page.figures["bars"].tables) == {"numbers"}
    assert figures(page)["bars"].startswith(b"\x89PNG")


def test_a_claim_without_a_published_figure_says_unknown():
    body = claims_section([{"claim": "It rains.", "ours": "no", "verdict": "not seen"}]).body
    assert 'class="published"><span class="said">published: </span>unknown' in body
    assert 'data-verdict="not seen"' in body
