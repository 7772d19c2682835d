"""What a reader does with a page in a browser: open a head by its address, search by score, take a table away."""

import csv
import io
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browsing import Tab
from synthetic import ROTARY, run_of
from test_report_browser import name_shown, opened, pytestmark, written  # noqa: F401  # fixtures, when to skip
from test_report_edits import LOSS, page, sweep, whole

from wherewhat.report.core.html import tag
from wherewhat.report.core.page import Page, Section

Opener = Callable[..., Any]
HEADS = run_of(ROTARY, random.Random(0))[0]


def scores(name: str) -> dict[str, float]:
    """One score of the rotary run by head, as exactly as the page has it."""
    rows = HEADS.filter(pl.col("score") == name).iter_rows(named=True)
    return {f"L{row['layer']}H{row['head']}": float(f"{row['value']:.4g}") for row in rows}


def in_sight(tab: Tab, selector: str) -> bool:
    near = "one => { const { top } = one.getBoundingClientRect(); return top > -5 && top < innerHeight / 2; }"
    return bool(tab.locator(selector).evaluate(near))


# Addresses -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def visit(browser: Any, written: Callable[[str], Path]) -> Iterator[Callable[[str], Any]]:  # noqa: F811
    """Open the rotary run at an address, and hand back the tab; errors inside fail the test that asks for them."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    context.set_default_timeout(15_000)

    def visiting(hash_: str) -> Any:
        tab = context.new_page()
        tab.goto(written("rotary").as_uri() + hash_)
        tab.wait_for_selector("html[data-ready]", timeout=60_000)
        return tab

    yield visiting
    context.close()


@pytest.mark.parametrize("hash_", ["#L3H4", "#l3h4", "#L3%484"])
def test_an_address_opens_a_head(visit: Callable[[str], Any], hash_: str):
    tab = visit(hash_)
    assert name_shown(tab) == "L3H4" and in_sight(tab, "#head")
    assert tab.locator("#table tr[aria-current=true]").get_attribute("data-head") == "L3H4"


def test_a_selection_can_be_copied_as_a_link_and_gone_back_from(visit: Callable[[str], Any]):
    tab = visit("")
    first = name_shown(tab)
    assert "#" not in tab.url and tab.evaluate("scrollY") == 0, "opened as ever"
    for name in ("L2H1", "L4H5"):
        tab.locator(".profile select").select_option(name)
        assert tab.url.endswith(f"#{name}")
    tab.go_back()
    assert name_shown(tab) == "L2H1"
    tab.go_back()
    assert name_shown(tab) == first
    tab.go_forward()
    assert name_shown(tab) == "L2H1" and tab.url.endswith("#L2H1")
    other = visit("#L2H1")
    assert name_shown(other) == "L2H1"


def test_a_walk_with_the_arrow_keys_is_one_step_of_the_history(visit: Callable[[str], Any]):
    tab = visit("#L2H2")
    tab.locator("#map-charts").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        tab.keyboard.press(key)
    assert name_shown(tab) == "L3H4" and tab.url.endswith("#L3H4")
    tab.go_back()
    assert name_shown(tab) == "L2H2"


def test_a_link_to_a_part_keeps_the_head_and_going_back_too(visit: Callable[[str], Any]):
    tab = visit("#L2H2")
    tab.locator("nav a[href='#table']").click()
    tab.wait_for_function("location.hash === '#table'")
    assert name_shown(tab) == "L2H2"
    tab.locator("#table tbody tr[data-head=L5H5] button").click()
    tab.go_back()
    assert tab.url.endswith("#table") and name_shown(tab) == "L2H2"
    tab.evaluate("location.hash = '#L1H1'")
    tab.wait_for_function("document.querySelector('#profile-name').textContent.startsWith('L1H1')")
    assert in_sight(tab, "#head"), "an address that is typed leads to the head"


def test_a_head_that_is_not_there_is_told_and_nothing_breaks(visit: Callable[[str], Any]):
    tab = visit("#L77H1")
    chosen = name_shown(tab)
    assert tab.locator("#unknown-head").inner_text() == f"This page has no head L77H1; {chosen} is selected."
    tab.locator(".profile select").select_option("L0H0")
    assert tab.locator("#unknown-head").count() == 0
    for odd in ("#<b>", "#%E0%A4%A", "#L1", "#constructor"):
        strange = visit(odd)
        assert name_shown(strange) == chosen and strange.locator("#unknown-head").count() == 0


# Search by score -----------------------------------------------------------------------------------------------------


def search(tab: Tab, words: str) -> list[str]:
    tab.locator("#search").fill(words)
    return list(tab.locator("#table tbody tr").evaluate_all("rows => rows.map(row => row.dataset.head)"))


def test_the_table_is_searched_by_score(opened: Opener):  # noqa: F811
    induction, sink = scores("induction"), scores("sink")
    middle = sorted(induction.values())[18]
    with opened("rotary") as tab:
        column = tab.locator("#table thead th[data-column=induction]")
        assert not column.is_visible(), "of another kind"
        asked = f"induction > {middle}"
        assert set(search(tab, asked)) == {head for head, value in induction.items() if value > middle}
        assert column.is_visible(), "what is searched is shown"
        both = {head for head in induction if induction[head] > middle and sink[head] < 0.5}
        for words in (f"{asked} sink < .5", f"INDUCTION>{middle} and sink<0.5", f"{asked}, sink < 50%"):
            assert set(search(tab, words)) == both, words
        assert set(search(tab, f"layer = 3 {asked}")) == {h for h in induction if h[1] == "3" and induction[h] > middle}
        assert set(search(tab, f"L3 {asked}")) == {h for h in induction if h[1] == "3" and induction[h] > middle}
        assert set(search(tab, "layer >= 2 head != 0 layer ≤ 4")) == {
            h for h in induction if h[1] in "234" and h[3] != "0"
        }
        assert search(tab, "L2H1") == ["L2H1"] and len(search(tab, "head 1")) == 6 and len(search(tab, "")) == 36
        assert not column.is_visible()
        levels = {f"L{r['layer']}H{r['head']}": r["chance"] for r in HEADS.filter(pl.col("score") == "sink").to_dicts()}
        assert set(search(tab, "sink > chance")) == {head for head in sink if sink[head] > float(f"{levels[head]:.4g}")}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("inductoin > .3", "No score is called “inductoin”; did you mean induction?"),
        ("qqqqqqqq < 1", "No score is called “qqqqqqqq”; the headings of the table name them all."),
        ("induction >", "“induction >” needs a number after >, or chance."),
        ("induction > much", "“induction > much” needs a number after >, or chance."),
        ("> .3", "“> .3” needs a score before >, such as induction > 0.3."),
        ("layer = three", "“layer = three” needs a number after =."),
        ("induction <> .3", "“<>” is no comparison: use >, <, >=, <=, = or !=."),
        ("induction > .3 or sink > .3", "“or” is not understood: all conditions must hold."),
        ("induction > .3 sink", "“sink” is compared with nothing: write sink > 0.3."),
        ("&lt;b&gt; > 1", "No score is called “&lt;b&gt;”; the headings of the table name them all."),
    ],
)
def test_what_is_wrong_with_a_search_is_said_beside_it(opened: Opener, words: str, said: str):  # noqa: F811
    with opened("rotary") as tab:
        search(tab, "L2")
        rows = search(tab, words)
        box = tab.locator("#search-said")
        if "script" in words:
            assert (
                tab.locator("#search").get_attribute("aria-invalid") == "true"
                and tab.locator("#table script").count() == 0
            )
        else:
            assert box.inner_text() == said and tab.locator("#search").get_attribute("aria-invalid") == "true"
        assert rows == [f"L2H{head}" for head in range(6)], "what was found before stays"
        assert len(search(tab, "L3")) == 6 and box.inner_text() == "6 of 36 heads"
        assert tab.locator("#search").get_attribute("aria-invalid") == "false"


# Tables as files -----------------------------------------------------------------------------------------------------


def saved(tab: Tab, button: Any) -> tuple[str, list[list[str]]]:
    with tab.expect_download() as waiting:
        button.click()
    text = Path(waiting.value.path()).read_bytes().decode("utf-8")
    assert text.endswith("\r\n")
    return waiting.value.suggested_filename, list(csv.reader(io.StringIO(text, newline=""), strict=True))


def test_the_table_of_heads_is_saved_as_it_is_shown_with_every_digit(opened: Opener):  # noqa: F811
    induction = scores("induction")
    with opened("rotary") as tab:
        search(tab, "induction > 0 layer = 2")
        tab.locator("#table thead th[data-column=induction] button").click()
        name, (header, *lines) = saved(tab, tab.locator("#table .csv"))
        assert name == "rotary-small-every-number.csv"
        assert header[:4] == ["name", "layer", "head", "part"]
        place = header.index("induction")
        assert header[place : place + 4] == ["induction", "induction low", "induction high", "induction chance"]
        assert "position_share chance" in header and "entropy" not in header, "the columns that are shown"
        order = sorted((head for head in induction if head[1] == "2"), key=lambda head: -induction[head])
        assert [line[0] for line in lines] == order
        assert [float(line[place]) for line in lines] == [induction[head] for head in order]


def test_every_table_of_a_page_can_be_saved(opened: Opener):  # noqa: F811
    with opened("rotary") as tab:
        assert tab.locator("table").count() == tab.locator("button.csv").count() >= 2
        tab.locator("#frequencies summary").click()
        name, (header, *lines) = saved(tab, tab.locator("#frequencies .csv"))
        assert name.startswith("rotary-small-Rotary-frequencies")
        assert header == ["layer", "with", "behaviour", "ρ", "95 % interval low", "95 % interval high", "points"]
        rows = run_of(ROTARY, random.Random(0))[3]["correspondence"]
        assert [float(line[3]) for line in lines] == pytest.approx([row["rho"] for row in rows], rel=1e-3)
        assert [float(line[4]) for line in lines] == pytest.approx([row["low"] for row in rows], rel=1e-3)


def odd_table(cells: Iterable[str]) -> Page:
    line = tag("tr", tag("th", 'a, "b"', scope="row"), *(tag("td", cell) for cell in cells))
    head = tag("tr", tag("th", "=name", scope="col"), *(tag("th", cell, scope="col") for cell in cells))
    body = tag("div", tag("table", tag("thead", head), tag("tbody", line)), class_="scroller")
    return Page("../../etc/<b>", "a page", "", [], [Section("one", "Odd / numbers", "", body)])


def test_a_file_is_quoted_and_holds_nothing_that_a_spreadsheet_would_run(shown: Opener):
    written_as = {"=1+1": "'=1+1", "@SUM(A1)": "'@SUM(A1)", "-cmd|' /C calc'!A0": "'-cmd|' /C calc'!A0", "+x": "'+x"}
    written_as |= {"+1": "1", "−0.50": "-0.50", "1,234": "1234", "–": ""}  # numbers for a program
    written_as |= {'two\nlines, "quoted"': 'two lines, "quoted"', "0.90 to 0.95": "0.90 to 0.95", "1,2": "1,2"}
    with shown(odd_table(written_as)) as tab:
        name, (header, line) = saved(tab, tab.locator(".csv"))
        assert name == "etc-b-Odd-numbers.csv"
        assert header[0] == "'=name" and header[2] == "'@SUM(A1)" and line[0] == 'a, "b"'
        assert line[1:] == list(written_as.values())


def test_a_ranking_is_sorted_by_any_column_and_saved_in_that_order(shown: Opener):
    made = page(whole(**LOSS) + sweep("head", "loss", "copy"), each="head")
    with shown(made) as tab:
        names = "rows => rows.map(row => row.cells[0].textContent)"
        rows = tab.locator("#ranking tbody tr")
        before = rows.evaluate_all(names)
        heading = tab.locator("#ranking thead button").filter(has_text="change of loss")
        changes = {f"L{row[2]}H{row[3]}": row[7] for row in sweep("head", "loss")}
        heading.click()
        assert rows.evaluate_all(names) == sorted(before, key=lambda head: -changes[head])
        heading.click()
        assert rows.evaluate_all(names)[0] == min(before, key=lambda head: changes[head])
        assert heading.locator("..").get_attribute("aria-sort") == "ascending"
        name, (header, *lines) = saved(tab, tab.locator("#ranking .csv"))
        assert "by-how-much-it-changes-the-loss" in name
        assert header[:5] == ["head", "rank", "change of loss", "95 % interval low", "95 % interval high"]
        assert [line[0] for line in lines] == rows.evaluate_all(names)
        assert [float(line[2]) for line in lines] == pytest.approx(sorted(changes.values()))
        tab.locator("#ranking thead button").filter(has_text="rank").click()
        assert rows.evaluate_all(names) in (before, before[::-1])
