"""Charts that draw themselves, sortable tables, and the table of claims, in a real browser."""

from typing import Any

import pytest
from dict_manifests import claims_section

from wherewhat.formatting import short
from wherewhat.report.blocks.axes import WHERE, x, y
from wherewhat.report.blocks.chart import ViewRows, chart
from wherewhat.report.blocks.layout import columns, panel
from wherewhat.report.blocks.marks import ROWS, TIP
from wherewhat.report.blocks.table import table
from wherewhat.report.core.figures import figures
from wherewhat.report.core.html import join
from wherewhat.report.core.page import Page, Section

BAR = ".mark-rect path"
CLAIM = {
    "claim": "Snow is <b>white</b>.",
    "published": "yes",
    "ours": "yes, 3 of 3",
    "verdict": "agrees",
    "why": "Cold.",
}
NUMBERS = {f"row {at}": (at * 7) % 20 / 10 for at in range(20)}


def made() -> Page:
    """A page with a chart in two views, the same as a small multiple, a long and a short table, and two claims."""
    bars = ROWS.mark_bar(color=WHERE, tooltip=TIP).encode(x=x("name", "{what}", type="nominal"), y=y("value", "value"))
    first = [{"name": "a", "value": 1.0, "idle": 7}, {"name": "b", "value": 2.0, "idle": 8}]
    second = ViewRows([{"name": "a", "value": 3.0}], {"what": "other names"})
    views = {"First": first, "Second": second}
    look: dict[str, Any] = {"tip": "{name} has {value:short}", "words": {"what": "names"}}
    chosen = chart("bars", views, [bars], label="Some bars", figure=True, width=300, height=200, **look)
    small = chart("bars", [{"name": "a", "value": 3.0}], [bars], label="One bar", height=120, **look)
    drawn = Section(
        "bars", "Bars", "How to read them.", join(panel(chosen, title="One of two"), columns(small)), "Bars"
    )
    rows = [(name, short(value), "odd" if round(10 * value) % 2 else "even") for name, value in NUMBERS.items()]
    long = table(["name", "value", "kind"], rows, label="Many numbers")
    few = table(["name", "value", "kind"], rows[:3], label="Few numbers")
    numbers = Section("numbers", "Numbers", "How to read them.", join(long, few))
    claims = claims_section([CLAIM, {**CLAIM, "verdict": "disagrees", "why": ""}])
    return Page("Title", "kind", "lede", [("3", "bars")], [drawn, numbers, claims])


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
def test_a_view_fills_in_its_own_words_and_says_which_it_is(shown: Any):
    with shown(made()) as tab:
        words = "document.querySelector('[data-widget=drawn] svg').textContent"
        assert "names" in tab.evaluate(words) and "other names" not in tab.evaluate(words)
        buttons = tab.get_by_role("group", name="Some bars").get_by_role("button")
        assert buttons.all_inner_texts() == ["First", "Second"]
        assert tab.locator("[data-widget=drawn]").nth(1).locator("button").count() == 0, "one view is nothing to choose"
        buttons.nth(1).click()
        tab.wait_for_function(f"{words}.includes('other names')")
        pressed = buttons.evaluate_all("all => all.map(one => one.getAttribute('aria-pressed'))")
        assert pressed == ["false", "true"]


@pytest.mark.browser
def test_a_mark_says_its_tooltip(shown: Any):
    with shown(made()) as tab:
        tab.locator(f"[data-widget=drawn] svg {BAR}").nth(1).hover()
        tab.locator("#tip").wait_for(state="visible")
        assert tab.locator("#tip").inner_text() == "b has 2.00"


def names_in(tab: Any, place: int = 0) -> list[str]:
    rows = tab.locator("#numbers table").nth(place).locator("tbody tr:visible th")
    return [str(name) for name in rows.all_inner_texts()]


@pytest.mark.browser
def test_a_long_table_is_searched_by_words_and_sorted_whatever_is_found(shown: Any):
    with shown(made()) as tab:
        search = tab.locator("#numbers input[type=search]")
        assert search.count() == 1, "a short table has nothing to search"
        assert len(names_in(tab)) == 20 and tab.locator("#numbers [role=status]").inner_text() == ""
        search.fill("ODD 1.")
        odd = [name for name, value in NUMBERS.items() if round(10 * value) % 2 and value > 1]
        assert names_in(tab) == odd
        assert tab.locator("#numbers [role=status]").inner_text() == f"{len(odd)} of 20 rows"
        tab.locator("#numbers table").first.get_by_role("button", name="value").click()
        assert names_in(tab) == sorted(odd, key=lambda name: -NUMBERS[name])
        search.fill("nowhere")
        assert names_in(tab) == [] and tab.locator("#numbers [role=status]").inner_text() == "0 of 20 rows"
        search.fill("")
        assert names_in(tab) == sorted(NUMBERS, key=lambda name: -NUMBERS[name])
        assert len(names_in(tab, 1)) == 3, "another table is not searched along"


@pytest.mark.browser
def test_a_heading_sorts_numbers_down_first_and_words_up_first(shown: Any):
    with shown(made()) as tab:
        few = tab.locator("#numbers table").nth(1)
        few.get_by_role("button", name="value").click()
        assert names_in(tab, 1) == sorted(list(NUMBERS)[:3], key=lambda name: -NUMBERS[name])
        few.get_by_role("button", name="value").click()
        assert names_in(tab, 1) == sorted(list(NUMBERS)[:3], key=lambda name: NUMBERS[name])
        few.get_by_role("button", name="name").click()
        assert names_in(tab, 1) == ["row 0", "row 1", "row 2"]
        sorts = few.locator("thead th").evaluate_all("all => all.map(one => one.getAttribute('aria-sort'))")
        assert sorts == ["ascending", "none", "none"]


@pytest.mark.browser
def test_claims_stand_beside_each_other_and_below_each_other_on_a_phone(shown: Any):
    with shown(made()) as tab:
        line = tab.locator(".claims > div").nth(1)
        assert "Snow is <b>white</b>." in line.inner_text()
        assert line.locator(".said").first.is_hidden()
        tab.set_viewport_size({"width": 390, "height": 800})
        assert line.locator(".said").first.is_visible()


def test_a_picture_takes_along_only_the_columns_its_chart_names():
    page = made()
    assert set(page.figures) == {"bars", "bars_Second"}
    assert set(page.figures["bars"].tables) == {"rows"}
    assert set(page.figures["bars"].tables["rows"]) == {"name", "value", "tip"}
    assert all(picture.startswith(b"\x89PNG") for picture in figures(page).values())


def test_a_claim_without_a_published_figure_says_unknown():
    body = claims_section([{"claim": "It rains.", "ours": "no", "verdict": "not seen"}]).body
    assert 'class="published"><span class="said">published: </span>unknown' in body
    assert 'data-verdict="not seen"' in body
