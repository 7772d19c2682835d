"""The page of the canonical tasks, drawn from a table alone: what it says, what its charts read, and in a browser."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import pytest
from dict_manifests import page_of_canonical

from wherewhat.errors import UserError
from wherewhat.formatting import percent
from wherewhat.report.core.figures import figures
from wherewhat.report.core.page import Chart, Page
from wherewhat.report.core.render import render
from wherewhat.studies.canonical import INDEX, ONE_PLANE, RETRIEVAL, TWO_PLANES
from wherewhat.studies.canonical.page import TITLES
from wherewhat.tables.schema import RESULT, frame

BASES = (2.0, 1.5, 1.0, 0.8, 0.5, 0.4, 0.25, 0.1, 0.01, 0.0)
CURVES = {
    INDEX: [1.0, 0.98, 0.83, 0.64, 0.4, 0.35, 0.29, 0.24, 0.16, 0.15],
    RETRIEVAL: [0.14, 0.17, 0.22, 0.27, 0.37, 0.45, 0.64, 1.0, 1.0, 1.0],
    ONE_PLANE: [0.12, 0.14, 0.18, 0.21, 0.3, 0.34, 0.48, 0.93, 0.99, 0.5],
    TWO_PLANES: [0.68, 0.85, 0.99, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5],
}
MANIFEST: dict[str, Any] = {
    "reproduction": "canonical",
    "command": "wherewhat reproduce canonical",
    "settings": {"steps": 6400, "seeds": 2},
    "about": {"bounds": {"index": 2.0, "retrieval": 0.125, "tilt": 0.0665}},
    "claims": [
        {"claim": "One frequency is not enough.", "published": "Fails <b>", "ours": "99 %", "verdict": "disagrees"}
    ],
}


def made(seeds: int = 2, curves: Mapping[str, Sequence[float]] = CURVES) -> pl.DataFrame:
    """Results in the shape of a real run, without one."""
    rows: list[Any] = []
    for name, curve in curves.items():
        for base, value in zip(BASES, curve, strict=True):
            ends = (None, None) if seeds == 1 else (max(0.0, value - 0.02), min(1.0, value + 0.02))
            rows += [("accuracy", name, "", base, seed, "accuracy", value, None, None) for seed in range(seeds)]
            rows.append(("accuracy", name, "", base, None, "accuracy", value, *ends))
            rows += [
                ("by_slot", name, f"{4 * bin_}–{4 * bin_ + 3}", base, None, "accuracy", value, *ends)
                for bin_ in range(8)
            ]
            rows += _scores(name, base)
            rows += _vectors(name, base)
            rows += [
                ("lengths", name, f"plane {plane}", base, None, "norm", 10 * value, 0.0, 20 * value)
                for plane in range(2 if name == TWO_PLANES else 1)
            ]
    return frame([*rows, *_theory()], RESULT)


def _scores(name: str, base: float) -> list[Any]:
    measures = {"positional": 0.9, "symbolic": 0.2, "positional@inf": 0.8, "symbolic@inf": 0.4, "entropy": 0.3}
    shares = {"position_share": 0.6, "symbol_share": 0.3, "interaction_share": 0.1}
    shares = dict.fromkeys(shares, float("nan")) if base == 0 else shares  # a head that is flat has none
    return [("scores", name, "", base, None, key, value, None, None) for key, value in {**measures, **shares}.items()]


def _vectors(name: str, base: float) -> list[Any]:
    rows = []
    for kind, many in (("key", 16), ("query", 32 if name == INDEX else 16)):
        for number in range(many):
            item = f"{kind} {number}" if kind == "query" and name == INDEX else f"{kind} {chr(97 + number)}"
            turn = 2 * math.pi * number / many
            for plane in range(2 if name == TWO_PLANES else 1):
                for way, value in (("across", 3 * math.cos(turn)), ("up", 3 * math.sin(turn))):
                    rows.append(("vectors", name, item, base, 0, f"{way}, plane {plane}", value, None, None))
    return rows


def _theory() -> list[Any]:
    rows: list[Any] = []
    for name in (INDEX, RETRIEVAL):
        rows += [("theory", name, "base 1", float(slot), None, "peak", 0.05, None, None) for slot in range(32)]
        rows += [("theory", name, "by formula", base, None, "norm", 1 / base, None, None) for base in BASES[:-1]]
    for name in CURVES:
        rows += [("theory", name, "by hand", base / 4, None, "accuracy", 0.5, None, None) for base in range(9)]
    return rows


@pytest.fixture(scope="module")
def page() -> Page:
    return page_of_canonical(made(), MANIFEST)


def words(page: Page, name: str) -> str:
    """What a section says, without its tags."""
    (section,) = (section for section in page.sections if section.name == name)
    return re.sub(r"<[^>]+>", "", f"{section.title}. {section.lede} {section.body}").replace("\N{NO-BREAK SPACE}", " ")


def test_it_begins_with_the_curves_and_says_what_is_seen(page: Page) -> None:
    names = [section.name for section in page.sections]
    assert names == ["angle", "claims", "slots", "circle", "scores", "both", "theory", "numbers", "made"]
    first = words(page, "angle")
    assert "(index), heads are 100 % correct at base 2, and 15 % without rotation." in first
    assert "(retrieval), heads are 14 % correct at base 2, and 100 % without rotation." in first
    assert "one plane alone reaches 99 % at base 0.01, where the paper says that it fails." in first
    assert {what: number for number, what in page.facts} == {
        "angles": "10",
        "seeds": "2",
        "steps": "6,400",
        "heads": "80",
    }


def test_it_does_not_claim_what_is_not_there() -> None:
    failing = made().with_columns(
        value=pl.when((pl.col("part") == "accuracy") & (pl.col("subject") == ONE_PLANE)).then(0.5).otherwise("value")
    )
    page = page_of_canonical(failing, MANIFEST)
    assert "where the paper says" not in page.sections[0].body


def test_a_page_of_the_opposite_outcome_says_the_opposite_or_what_is_theory() -> None:
    swapped = {INDEX: RETRIEVAL, RETRIEVAL: INDEX, ONE_PLANE: TWO_PLANES, TWO_PLANES: ONE_PLANE}
    curves = {name: [*CURVES[other][:-1], 0.8] for name, other in swapped.items()}
    page = page_of_canonical(made(curves=curves), MANIFEST)
    first, both = words(page, "angle"), words(page, "both")
    assert "(index), heads are 14 % correct at base 2, and 80 % without rotation." in first
    assert "(retrieval), heads are 100 % correct at base 2, and 80 % without rotation." in first
    assert "accuracy is at least 98 % at base 0.01." in both
    assert "no better than chance. Measured: 80 % with one plane, 80 % with two." in both
    ledes = [page.lede, words(page, "slots"), words(page, "circle"), both]
    assert all("By theory" in lede for lede in ledes)  # what is said of shapes is not said to be measured
    assert "fails" not in words(page, "theory")


def test_two_planes_that_never_succeed() -> None:
    page = page_of_canonical(made(curves=CURVES | {TWO_PLANES: [0.5] * 10}), MANIFEST)
    assert "one rotated, no angle reaches 98 %." in words(page, "both")


@pytest.mark.parametrize(("share", "said"), [(0.964, True), (0.6, False)])
def test_content_explains_two_planes_only_if_it_makes_up_nearly_all(share: float, said: bool) -> None:
    here = (pl.col("subject") == TWO_PLANES) & (pl.col("measure") == "symbol_share") & (pl.col("at") > 0)
    result = made().with_columns(value=pl.when(here).then(share).otherwise("value"))
    both = words(page_of_canonical(result, MANIFEST), "both")
    assert "accuracy is at least 98 % at bases 0.01 to 1." in both
    assert (f"Content explains {share:.0%} or more".replace("%", " %") in both) is said
    assert ("Content" in both) is said


def test_one_seed_is_not_said_to_have_intervals(page: Page) -> None:
    single = page_of_canonical(made(seeds=1), MANIFEST)
    for name in ("angle", "slots", "numbers"):
        assert "95 % interval" in words(page, name)
        assert "interval" not in words(single, name)
        assert "one seed" in words(single, name)


def test_the_table_of_accuracies_never_rounds_up_to_all() -> None:
    nearly = made(seeds=1, curves=CURVES | {RETRIEVAL: [0.14, 0.17, 0.22, 0.27, 0.37, 0.45, 0.64, 0.9996, 1, 1]})
    page = page_of_canonical(nearly, MANIFEST)
    table = words(page, "numbers")
    assert "0.124.099.993.0100.0" in table  # base 0.1, then index, retrieval, one plane, two planes
    (body,) = (section.body for section in page.sections if section.name == "numbers")
    assert '<th scope="row" data-exact="0.25">0.25</th>' in body  # so that bases are sorted as numbers


def placed(page: Page, name: str) -> list[Chart]:
    """Every chart of this name, from the top of the page."""
    return [chart for chart in page.placed if isinstance(chart, Chart) and chart.name == name]


def test_every_chart_finds_its_numbers(page: Page) -> None:
    names = {chart.name for chart in page.placed if isinstance(chart, Chart)}
    assert names == {"angles", "slots", "induction", "induction_slots", "circle"} | {
        *("shares", "scores", "norms", "by_hand", "peaks")
    }
    drawn = {name for section in page.sections for name in re.findall(r'data-chart="([\w-]+)"', section.body)}
    assert drawn == set(page.charts)
    for chart in page.placed:
        assert isinstance(chart, Chart)
        for table in re.findall(r'"data": \{"name": "(\w+)"\}', json.dumps(chart.spec)):
            rows = chart.views[0].tables[table]
            assert rows and all(rows.values()), (chart.name, table)


def test_there_is_a_small_multiple_an_angle(page: Page) -> None:
    bodies = {section.name: section.body for section in page.sections}
    assert [bodies["slots"].placed.count(chart) for chart in placed(page, "slots")] == [1] * 10
    assert [bodies["circle"].placed.count(chart) for chart in placed(page, "circle")] == [1] * 20
    assert "makes no error up to base 0.066." in bodies["both"]
    assert [bodies["both"].placed.count(chart) for chart in placed(page, "induction_slots")] == [1] * 10
    assert [chart.label for chart in placed(page, "slots")][::9] == [
        "Accuracy by slot at base 2",
        "Accuracy by slot at base 0",
    ]


def test_keys_lie_inside_and_queries_outside(page: Page) -> None:
    tables = {chart.label: chart.views[0].tables["rows"] for chart in placed(page, "circle")}
    for table in tables.values():
        size = [math.hypot(x, y) for x, y in zip(table["x"], table["y"], strict=True)]
        sizes = {(kind, round(its, 6)) for kind, its in zip(table["kind"], size, strict=True)}
        assert sizes == {("key", 0.62), ("query", 1.0)}
    retrieval, index = (tables[f"Keys and queries of {name} at base 2"] for name in (RETRIEVAL, INDEX))
    assert set(retrieval["hue"]) == {number / 16 for number in range(16)}  # a key and its query have one colour
    assert "Query of slot 3: length 3.00" in index["tip"]
    assert "Key of symbol b: length 3.00" in index["tip"]
    assert "Query of symbol b: length 3.00" in retrieval["tip"]


def test_tips_say_what_a_point_is(page: Page) -> None:
    accuracy = page.chart("angles").views[0].tables["rows"]["tip"]
    assert "Index at base 2: 100.0\N{NO-BREAK SPACE}% (98.0 to 100.0)" in accuracy
    assert "Retrieval, seed 1 at base 2: 14.0\N{NO-BREAK SPACE}%" in accuracy
    tips = {name: page.chart(name).views[0].tables["rows"]["tip"] for name in ("slots", "shares", "scores", "norms")}
    assert tips["slots"][0] == "Index, slots 0–3: 100.0\N{NO-BREAK SPACE}% (98.0 to 100.0)"
    assert "Base 0.01, content: 30.0\N{NO-BREAK SPACE}%" in tips["shares"]
    assert "Base 2, positional: 0.90" in tips["scores"]
    assert "Base 0.01, required: 100" in tips["norms"]
    assert page.chart("peaks").views[0].tables["rows"]["tip"][3] == "Slot 3: 0.050"


def test_heads_without_shares_and_runs_of_one_seed_are_drawn_too() -> None:
    page = page_of_canonical(made(seeds=1), MANIFEST)
    assert 0.0 not in page.chart("shares").views[0].tables["rows"]["at"]
    assert set(page.chart("angles").views[0].tables["rows"]["low"]) == {None}
    assert "seeds" not in {what for _, what in page.facts}
    render(page)


def test_a_table_that_lacks_a_case_is_refused() -> None:
    with pytest.raises(UserError, match="the table has nothing on Partial induction, two planes; run `wherewhat repro"):
        page_of_canonical(made().filter(pl.col("subject") != TWO_PLANES), MANIFEST)


def test_what_is_not_all_is_never_said_to_be() -> None:
    said = [percent(value).replace("\N{NO-BREAK SPACE}", " ") for value in (0.9999, 1.0, 0.994, 0.0)]
    assert said == ["99.9 %", "100 %", "99 %", "0 %"]


def test_pictures_and_text_are_whole(page: Page) -> None:
    pictures = figures(page)
    assert set(pictures) == {"angles", "induction"}
    assert all(picture.startswith(b"\x89PNG") and len(picture) > 10_000 for picture in pictures.values())
    text = render(page)
    assert text == render(page_of_canonical(made(), MANIFEST))
    assert "Fails &lt;b&gt;" in text
    assert all(title in text for title in TITLES.values())


@pytest.mark.browser
@pytest.mark.parametrize(("width", "light"), [(1280, "light"), (390, "dark")])
def test_it_draws_in_a_browser_wide_and_narrow(page: Page, shown: Any, width: int, light: str) -> None:
    with shown(page, width=width, color_scheme=light) as tab:
        assert tab.locator(".drawn svg").count() == tab.locator(".drawn").count() == 54
