"""The page of speech, drawn from a table alone: its answer, its pictures of one utterance, and both in a browser."""

from typing import Any

import polars as pl
import pytest
from finished_runs import FINISHED
from synthetic_speech import HERTZ, SAID, TOKEN

from wherewhat.errors import UserError
from wherewhat.report.core.figures import figures, rows
from wherewhat.report.core.page import Page
from wherewhat.report.core.render import render

RECTANGLES = "svg .mark-rect path"
TIMES = """
(title) => {
  const panel = [...document.querySelectorAll("#picture .panel")].find((each) => each.textContent.includes(title));
  const marks = [...panel.querySelectorAll("svg .mark-rect path")].map((each) => each.getBoundingClientRect());
  return [Math.min(...marks.map((each) => each.left)), Math.max(...marks.map((each) => each.right))];
}
"""


def made() -> Page:
    return FINISHED["reproduce speech"]().page


def drawn(page: Page, name: str) -> list[dict[str, Any]]:
    return [dict(row) for row in rows(page.chart(name).views[0].tables["rows"])]


def test_the_answer_comes_first_with_what_a_step_costs() -> None:
    page = made()
    names = ["answer", "picture", "longer", "differences", "heads", "frequencies", "literature", "table"]
    assert [section.name for section in page.sections][:8] == names
    first = page.sections[0].body
    assert "0.80 (0.75 to 0.85)" in first and "1,125,000" in first and "MB of activations, 20 digits" in first
    written = render(page)
    assert "over seeds" in written and "<i>equal" not in written


def test_every_energy_has_its_place_in_the_spectrogram() -> None:
    cells = drawn(made(), "spectrogram")
    assert len(cells) == 2 * len(SAID) * len(HERTZ)
    heard = {(cell["low"], cell["tip"].split(", ", 1)[1].partition(" Hz")[0]) for cell in cells}
    assert heard == {(band, f"{hertz:,}") for band, hertz in enumerate(HERTZ)}
    assert {round(cell["until"] - cell["at"], 3) for cell in cells} == {TOKEN / 2}


def test_attention_goes_from_a_moment_to_another() -> None:
    cells = drawn(made(), "attention")
    assert len(cells) == len(SAID) ** 2
    sharpest = [cell for cell in cells if cell["value"] == 1]
    assert all(cell["at"] == cell["query"] and cell["below"] == cell["until"] for cell in sharpest)


def test_words_are_written_where_they_are_recognised() -> None:
    cells = drawn(made(), "decoded")
    assert [(cell["says"], cell["at"]) for cell in cells if cell["says"]] == [("3", 0.04), ("3", 0.16), ("7", 0.24)]
    assert {cell["word"] for cell in cells} == {"3", "7", "9", "blank"}


def test_pictures_can_be_kept_as_files() -> None:
    drawings = figures(made())
    assert {"errors", "spectrogram", "attention", "decoded"} <= set(drawings)
    assert all(drawing.startswith(b"\x89PNG") for drawing in drawings.values())


def test_a_run_without_pictures_or_costs_has_a_page() -> None:
    run = FINISHED["reproduce speech"]()
    parts = pl.col("part").is_in(["error"])
    names = [section.name for section in type(run)(run.result.filter(parts), run.manifest).page.sections]
    assert "picture" not in names and "heads" not in names and "answer" in names
    with pytest.raises(UserError, match="has no net that was tested"):
        _ = type(run)(run.result.filter(~parts), run.manifest).page


@pytest.mark.browser
@pytest.mark.parametrize(
    "look", [{}, {"width": 390, "color_scheme": "dark"}], ids=["wide and light", "narrow and dark"]
)
def test_the_three_pictures_share_their_time(shown: Any, look: dict[str, Any]) -> None:
    with shown(made(), **look) as tab:
        panels = tab.locator("#picture .panel")
        assert [panels.nth(number).locator("h3").inner_text() for number in range(3)] == [
            "What is heard",
            "Where a head looks",
            "What is recognised, token by token",
        ]
        ends = [tab.evaluate(TIMES, title) for title in ("What is heard", "Where a head looks", "What is recognised")]
        for left, right in ends[1:]:
            assert left == pytest.approx(ends[0][0], abs=2) and right == pytest.approx(ends[0][1], abs=2)
        spoken = panels.nth(2).locator("svg .mark-text.role-mark text").all_text_contents()
        assert spoken == ["3", "3", "7"] * (len(spoken) // 3) and spoken  # once, and once more as its outline


@pytest.mark.browser
def test_another_encoding_is_a_click_away_and_a_cell_says_its_number(shown: Any) -> None:
    with shown(made()) as tab:
        attention = tab.locator("#picture .panel").nth(1)
        buttons = attention.get_by_role("button")
        assert [text for text in buttons.all_inner_texts() if "L1H0" in text] == ["RoPE, L1H0", "relative, L1H0"]
        attention.get_by_role("button", name="relative, L1H0").click()
        attention.locator(RECTANGLES).nth(2).hover()  # the first one is the ground below all cells
        tab.locator("#tip").wait_for(state="visible")
        assert tab.locator("#tip").inner_text().startswith("from 0.00 s to 0.04 s: 0.50")
