"""Charts that draw themselves, and the table of claims, in a real browser."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from wherewhat.report.claims import the_claims
from wherewhat.report.drawn import drawn, figure_of, panel
from wherewhat.report.figures import figures
from wherewhat.report.marks import WHERE, layered, named
from wherewhat.report.page import Page, Section
from wherewhat.report.render import render
from wherewhat.report.tags import join, tag

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
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
    chosen = panel(tag("h3", "One of two"), drawn("bars", "Some bars", views=views))
    small = tag("div", drawn("bars", "One bar", height=120, words={"kind": "two"}), class_="multiples")
    manifest = {"claims": [CLAIM, {**CLAIM, "verdict": "disagrees", "why": ""}]}
    sections = [Section("bars", "Bars", "How to read them.", join(chosen, small), "Bars"), the_claims(manifest)]
    picture = figure_of(charts["bars"], tables, (300, 200), {"kind": "one"})
    return Page("Title", "kind", "lede", [("3", "bars")], sections, charts, tables, figures={"bars": picture})


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine to open the page in")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(made()), encoding="utf-8")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        problems: list[str] = []
        tab.on(
            "console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None
        )
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.goto(path.as_uri())
        tab.wait_for_selector("html[data-ready=true]", timeout=30_000)
        tab.problems = problems
        yield tab
        browser.close()


def bars_in(tab: Any, place: int) -> int:
    return tab.locator("[data-widget=drawn]").nth(place).locator("svg .mark-rect path").count()


@pytest.mark.browser
def test_a_chart_draws_itself_from_the_rows_of_its_view(opened: Any):
    assert (bars_in(opened, 0), bars_in(opened, 1)) == (2, 1)
    opened.get_by_role("button", name="Second").click()
    opened.wait_for_function(
        "document.querySelectorAll('[data-widget=drawn] svg')[0].querySelectorAll('.mark-rect path').length == 1"
    )
    assert opened.problems == []


@pytest.mark.browser
def test_claims_stand_beside_each_other_and_below_each_other_on_a_phone(opened: Any):
    line = opened.locator(".claims > div").nth(1)
    assert "Snow is <b>white</b>." in line.inner_text()
    assert line.locator(".said").first.is_hidden()
    opened.set_viewport_size({"width": 390, "height": 800})
    assert line.locator(".said").first.is_visible()
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    opened.set_viewport_size({"width": 1280, "height": 900})


def test_a_picture_takes_along_only_the_tables_its_chart_names():
    page = made()
    assert set(page.figures["bars"].tables) == {"numbers"}
    assert figures(page)["bars"].startswith(b"\x89PNG")


def test_a_claim_without_a_published_figure_says_unknown():
    body = the_claims({"claims": [{"claim": "It rains.", "ours": "no", "verdict": "not seen"}]}).body
    assert 'class="published"><span class="said">published: </span>unknown' in body
    assert 'data-verdict="not seen"' in body
