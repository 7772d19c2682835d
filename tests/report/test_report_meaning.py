"""What the page says is what the numbers say: sides of chance, colours of cells, the sentence about a head."""

import random
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from dict_manifests import page_of_heads, read_head_table
from synthetic import DECODER, ENCODER, run_of
from test_report_browser import pytestmark  # noqa: F401

from wherewhat.report.core.render import render
from wherewhat.report.pages.heads.notable_heads import notable_heads
from wherewhat.report.pages.heads.offsets import profiles


def heads(**values: tuple[float, float | None, float | None, float]) -> pl.DataFrame:
    """One layer of heads with one score, `locality`: value, low, high, chance."""
    rows = [
        {"model": "m", "layer": 0, "head": number, "score": "locality", "value": value, "low": low, "high": high}
        | {"chance": chance, "texts": 9, "part": "encoder"}
        for number, (value, low, high, chance) in enumerate(values.values())
    ]
    return pl.DataFrame(rows)


THREE = heads(above=(0.9, 0.8, 1.0, 0.5), unclear=(0.6, 0.4, 0.8, 0.5), below=(0.1, 0.0, 0.2, 0.5))
OFFSETS = pl.DataFrame(
    {"model": "m", "layer": 0, "head": [0, 0, 1, 1, 2, 2], "offset": [-1, 0] * 3, "mass": [0.4, 0.6] * 3, "rows": 9}
)


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Any:
    """Three heads, one on each side of chance and one that cannot be told from it."""
    (tmp_path / "report.html").write_text(render(page_of_heads(THREE, OFFSETS, pl.DataFrame(), {})), encoding="utf-8")
    tab = browser.new_page()
    tab.goto((tmp_path / "report.html").as_uri())
    tab.wait_for_selector("html[data-ready]")
    yield tab
    tab.close()


def test_the_table_tells_above_below_and_unclear_apart(page: Any):
    assert [page.locator(f"#table td.{side}").count() for side in ("above", "below", "unclear")] == [1, 1, 1]
    assert page.locator("#table tr", has_text="L0H0").locator("td").last.get_attribute("class") == "above"
    assert page.locator("#table tr", has_text="L0H2").locator("td").last.get_attribute("class") == "below"


def test_the_map_is_orange_above_chance_and_blue_below(page: Any):
    cells = page.locator("#map-charts .mark-rect path")
    colours = cells.evaluate_all("marks => marks.map(mark => mark.getAttribute('fill'))")
    red_less_blue = [red - blue for red, _, blue in map(rgb, colours[:3])]
    assert red_less_blue[0] > 60 and red_less_blue[2] < -60
    assert abs(red_less_blue[1]) < abs(red_less_blue[0]), "near chance is paler"


def rgb(colour: str) -> tuple[int, ...]:
    if colour.startswith("#"):
        return tuple(int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return tuple(int(number) for number in re.findall(r"\d+", colour)[:3])


def test_without_an_interval_no_head_is_striking():
    assert notable_heads(read_head_table(heads(one=(0.9, None, None, 0.1)), {})) == []


def test_a_head_far_below_chance_is_as_striking_as_one_above():
    found = notable_heads(read_head_table(heads(a=(0.3, 0.28, 0.32, 0.5), b=(0.6, 0.58, 0.62, 0.5)), {}))
    assert [(notice.name, notice.above) for notice in found] == [("L0H0", False)]


def test_scores_of_both_sides_are_left_out_of_a_causal_page_only():
    for shape, left in ((DECODER, set()), (ENCODER, {"symmetry"})):
        table, _, _, manifest = run_of(shape, random.Random(0))
        manifest = {**manifest, "scores": {**manifest["scores"]}}
        manifest["scores"]["symmetry"] = {**manifest["scores"]["symmetry"], "sides": True}
        answered = {score.name for score in read_head_table(table, manifest).answered}
        assert answered & {"symmetry"} == left


def test_a_sink_head_is_not_said_to_look_far_away():
    """Every row looks at key 0, so each far offset is seen by few rows that give it all they have."""
    n = 64
    offsets = pl.DataFrame(
        [
            {"model": "m", "layer": 0, "head": 0, "offset": -back, "mass": 0.6 if back else 0.4, "rows": n - back}
            for back in range(n)
        ]
    )
    columns = profiles(offsets, ["L0H0"])
    share = [mass * seen for mass, seen in zip(columns["L0H0"], columns["seen"], strict=True)]
    assert columns["from"][share.index(max(share))] == -1
    assert min(columns["from"]) > -n + 1, "what a single row could see is left out"
