"""The page in a real browser with no network: it draws, answers to pointer and keys, and runs nothing but its own."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import Tab, watched
from dict_manifests import page_of_heads
from synthetic import BOTH, DECODER, ENCODER, LEARNED, ONE, ROTARY, Shape, run_of
from test_report_page import HOSTILE, hostile

from wherewhat.report.core.render import render

pytestmark = pytest.mark.browser
Opener = Callable[..., Any]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Reports as files, each made once."""
    folder = tmp_path_factory.mktemp("reports")
    shapes: dict[str, Shape] = {"encoder": ENCODER, "decoder": DECODER, "both": BOTH, "one": ONE}
    shapes |= {"rotary": ROTARY, "learned": LEARNED}

    def file_of(name: str) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            run = hostile() if name == "hostile" else run_of(shapes[name], random.Random(0))
            path.write_text(render(page_of_heads(*run)), encoding="utf-8")
        return path

    return file_of


@pytest.fixture(scope="module")
def opened(browser: Any, written: Callable[[str], Path]) -> Opener:
    """Open a report with the network off; on leaving, nothing may have gone wrong inside or been asked of outside."""

    def opening(name: str, **settings: Any) -> Any:
        return watched(browser, written(name), **settings)

    return opening


def name_shown(tab: Tab) -> str:
    return str(tab.locator("#profile-name").evaluate("title => title.firstChild.textContent"))


def bars(tab: Tab) -> str:
    return str(tab.locator("#profile-chart svg").evaluate("svg => svg.outerHTML"))


def wait_for_other_bars(tab: Tab, before: str) -> None:
    tab.wait_for_function(
        "before => (document.querySelector('#profile-chart svg')?.outerHTML ?? before) !== before",
        arg=before,
    )


CELLS = "[...document.querySelector('#map-charts .mark-rect').querySelectorAll('path')]"
FILLS = f"{CELLS}.map(cell => cell.getAttribute('fill')).join()"


def cells(tab: Tab) -> str:
    """The colours of the map's cells."""
    return str(tab.evaluate(FILLS))


def wait_for_cells(tab: Tab, wanted: str) -> None:
    """Wait until the colours are, or are no longer, some others."""
    tab.wait_for_function(f"others => {FILLS} {wanted[:3]} others", arg=wanted[3:])


def column(tab: Tab, heading: str) -> list[float | None]:
    """The numbers of one column of the table, from top to bottom."""
    at = tab.locator("#table thead th").evaluate_all(
        "(all, name) => all.findIndex(th => th.dataset.column === name)", heading
    )
    cells = tab.locator("#table tbody tr").evaluate_all(
        "(rows, at) => rows.map(row => row.children[at].textContent)", at
    )
    return [None if cell == "–" else float(cell.replace("−", "-")) for cell in cells]


@pytest.mark.parametrize("name", ["encoder", "decoder", "both", "one", "hostile", "rotary", "learned"])
def test_every_chart_is_drawn_with_the_network_off(opened: Opener, name: str):
    with opened(name) as tab:
        for chart in ("#plane-chart svg", "#map-charts svg", "#profile-chart svg", "#dots-chart svg"):
            assert tab.locator(chart).first.bounding_box()["height"] > 20, chart
        thumbs = tab.locator(".thumb")
        assert thumbs.count() == tab.locator(".thumb canvas").count() > 0
        assert tab.locator("#plane-chart .mark-symbol path").count() > 0


def test_clicking_a_cell_of_the_map_changes_the_profile(opened: Opener):
    with opened("encoder") as tab:
        before, drawn = name_shown(tab), bars(tab)
        tab.locator("#map-charts .mark-rect path").nth(12 * 4 + 7).click()
        assert name_shown(tab) == "L4H7" != before
        wait_for_other_bars(tab, drawn)
        assert tab.locator("#table tr[aria-current=true]").get_attribute("data-head") == "L4H7"
        assert "L4H7 selected" in tab.locator("#live").inner_text()


LONELIEST = """marks => {
    const boxes = marks.map(mark => mark.getBoundingClientRect());
    const at = boxes.map(box => [box.x + box.width / 2, box.y + box.height / 2]);
    const away = (one, two) => (one === two ? 1e9 : Math.hypot(one[0] - two[0], one[1] - two[1]));
    const room = at.map((one, index) => [Math.min(...at.map(two => away(one, two))), index, ...one]);
    return room.sort((a, b) => b[0] - a[0]).slice(0, 2).map(([, ...where]) => where);
}"""


def test_clicking_a_mark_of_the_plane_or_just_beside_it_changes_the_profile(opened: Opener):
    with opened("encoder") as tab:
        names = tab.locator("#table tbody th button").all_inner_texts()
        tab.locator("#table tbody button").first.click()
        tab.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
        points = tab.locator("#plane-chart .mark-symbol").first.locator("path")
        assert points.count() == len(names) == 144
        for (index, x, y), aside in zip(points.evaluate_all(LONELIEST), (0, 11), strict=True):
            drawn = bars(tab)
            tab.mouse.click(x + aside, y + aside)
            assert name_shown(tab) == names[int(index)] != "L0H0"
            wait_for_other_bars(tab, drawn)


def test_pointing_at_a_head_shows_its_numbers_with_intervals(opened: Opener):
    with opened("encoder") as tab:
        tab.evaluate("document.getElementById('maps').scrollIntoView({ behavior: 'instant' })")
        tab.wait_for_function("() => new Promise(done => requestAnimationFrame(() => done(true)))")
        tab.locator("#map-charts .mark-rect path").nth(5).hover()
        tip = tab.locator("#tip")
        tip.wait_for(state="visible")
        assert "L0H5" in tip.inner_text()
        assert "95 % interval" in tip.inner_text()
        assert "chance" in tip.inner_text()


def test_heads_are_reached_by_keys_alone(opened: Opener):
    with opened("encoder") as tab:
        tab.locator("#search").fill("L4")
        tab.locator("#search").fill("")
        button = tab.locator("#table tbody tr[data-head=L5H5] button")
        button.focus()
        tab.keyboard.press("Enter")
        assert name_shown(tab) == "L5H5"
        tab.locator("#map-charts").focus()
        for key, reached in (("ArrowRight", "L5H6"), ("ArrowDown", "L6H6"), ("ArrowLeft", "L6H5"), ("ArrowUp", "L5H5")):
            tab.keyboard.press(key)
            assert name_shown(tab) == reached
        tab.locator("#plane-chart").focus()
        tab.keyboard.press("ArrowRight")
        assert name_shown(tab) != "L5H5"
        card = tab.locator(".card").nth(1)
        card.focus()
        tab.keyboard.press("Space")
        assert name_shown(tab) == card.get_attribute("data-head")
        assert card.get_attribute("aria-pressed") == "true"


def test_every_control_is_in_the_way_of_the_tab_key_and_shows_its_focus(opened: Opener):
    with opened("one") as tab:
        wanted = tab.locator("button, select, input, a[href], [tabindex='0'], summary").count()
        seen = set()
        for _ in range(wanted + 3):
            tab.keyboard.press("Tab")
            seen.add(tab.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)"))
            ring = "getComputedStyle(document.activeElement).outlineWidth"
            assert tab.evaluate(f"document.activeElement === document.body ? '' : {ring}") in {"", "3px"}
        assert len(seen) >= wanted


def test_the_choosers_change_the_charts(opened: Opener):
    with opened("encoder") as tab:
        plane = tab.locator("#plane-chart")
        assert plane.locator("text=locality").count() == 1
        tab.get_by_role("combobox", name="Across").select_option(label="previous")
        plane.locator("text=previous").wait_for()
        assert plane.locator("text=locality").count() == 0
        before = cells(tab)
        tab.locator(".thumb[data-score=entropy]").click()
        assert tab.locator(".maps h3").inner_text() == "entropy"
        assert tab.locator(".thumb[aria-pressed=true]").get_attribute("data-score") == "entropy"
        wait_for_cells(tab, "!==" + before)


def test_sorting_sorts_and_heads_without_a_value_stay_last(opened: Opener):
    with opened("both") as tab:
        heading = tab.locator("#table th[data-column=locality]")
        heading.locator("button").click()
        down = column(tab, "locality")
        there = [number for number in down if number is not None]
        assert heading.get_attribute("aria-sort") == "descending"
        assert there == sorted(there, reverse=True)
        assert len(set(there)) > 20
        assert down[len(there) :] == [None] * 48
        heading.locator("button").focus()
        tab.keyboard.press("Enter")
        up = column(tab, "locality")
        assert heading.get_attribute("aria-sort") == "ascending"
        assert up[: len(there)] == sorted(there)
        assert up[len(there) :] == [None] * 48
        assert tab.locator("#table th[aria-sort=none]").count() == tab.locator("#table thead th").count() - 1


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("decoder L1H3", 1),
        ("L1H3", 3),
        ("L1", 24),
        ("L7", 0),
        ("layer 1", 24),
        ("head 2", 18),
        ("cross", 48),
        ("cross head 2", 6),
        ("zebra", 0),
        ("", 144),
    ],
)
def test_search_filters(opened: Opener, both_tab: Tab, asked: str, found: int):
    both_tab.locator("#search").fill(asked)
    assert both_tab.locator("#table tbody tr").count() == found
    assert both_tab.get_by_text("No head matches this search.").is_visible() == (found == 0)


@pytest.fixture(scope="module")
def both_tab(opened: Opener) -> Iterator[Tab]:
    with opened("both") as tab:
        yield tab


def test_a_head_without_offsets_or_values_says_so(opened: Opener):
    with opened("both") as tab:
        tab.get_by_label("Selected head", exact=True).select_option("cross L2H3")
        assert tab.get_by_text("No offsets for this head").is_visible()
        assert not tab.locator("#profile-chart").is_visible()
        assert "No value for locality" in tab.locator(".says").inner_text()
        assert (
            tab.get_by_text("48 of 144 heads have no value").count()
            + tab.get_by_text("96 of 144 heads have no value").count()
        )
        tab.get_by_label("Next head", exact=True).click()
        assert name_shown(tab) == "cross L2H4"


def test_strings_that_look_like_markup_are_shown_as_text_and_run_nothing(opened: Opener):
    with opened("hostile") as tab:
        said = HOSTILE.replace("\u2028", "")
        assert said in tab.locator("h1").inner_text()
        assert said in tab.locator(".tokens li").first.inner_text()
        assert tab.locator(".tokens li").nth(1).inner_text() == '"'
        assert said in tab.locator("#table thead th").nth(2).inner_text()
        assert tab.locator("script").count() == 3
        assert tab.locator("img").count() == 0
        tab.locator("#map-charts .mark-rect path").first.hover()
        tab.locator("#map-charts .mark-rect path").first.click()
        tab.locator(".thumb").first.click()
        assert said in tab.locator(".maps h3").inner_text()


@pytest.mark.parametrize("name", ["encoder", "both", "hostile", "rotary", "learned"])
def test_nothing_runs_off_the_side_of_a_phone(opened: Opener, name: str):
    with opened(name, width=375, height=812, has_touch=True) as tab:
        assert tab.evaluate("document.documentElement.scrollWidth") <= 375
        assert tab.evaluate(
            "[...document.querySelectorAll('.chart svg')].every(c => c.getBoundingClientRect().right <= 375)"
        )
        scroller = tab.locator("#table .scroller")
        assert scroller.evaluate("box => box.scrollWidth > box.clientWidth")  # the table scrolls in its own box


def test_dark_and_light_differ_and_charts_follow_a_change(opened: Opener):
    with opened("encoder", color_scheme="light") as tab:
        light, drawn = tab.screenshot(), cells(tab)
        tab.emulate_media(color_scheme="dark")
        wait_for_cells(tab, "!==" + drawn)
        assert tab.screenshot() != light
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 22, 26)"
        tab.emulate_media(color_scheme="light")
        wait_for_cells(tab, "===" + drawn)


def test_on_paper_it_is_light_whole_and_without_controls(opened: Opener):
    with opened("encoder", color_scheme="dark") as tab:
        dark = cells(tab)
        tab.emulate_media(media="print")
        wait_for_cells(tab, "!==" + dark)
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        sections = tab.locator("main > section")
        assert sections.count() == 7
        assert all(sections.nth(at).is_visible() for at in range(7))
        assert not tab.locator("nav").is_visible()
        assert not tab.locator("#search").is_visible()
        assert tab.locator(".scroller").evaluate("box => box.scrollHeight <= box.clientHeight + 1")
        assert tab.pdf(format="A4").startswith(b"%PDF")


def test_motion_is_left_out_when_it_is_not_wanted(opened: Opener):
    with opened("one", reduced_motion="reduce") as tab:
        assert tab.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
