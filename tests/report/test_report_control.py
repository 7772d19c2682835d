"""The page of the control experiment: every part of the result is on it, whatever was or was not measured."""

from collections import Counter
from itertools import product
from typing import Any

import polars as pl
import pytest
from dict_manifests import page_of_control

from wherewhat.report.core.figures import figures
from wherewhat.report.core.page import Page
from wherewhat.report.core.render import render
from wherewhat.tables.schema import RESULT, frame

CONTROLS = ("random bands", "random heads")
HOSTILE = "<script>alert('x')</script>"
Row = tuple[Any, ...]


def cells(shares: tuple[str, ...], measures: tuple[str, ...]) -> list[Row]:
    rows: list[Row] = []
    cell = product(("positional", "symbolic"), ("drop", "unrotate"), ("high", "low"), shares)
    for number, (kind, operation, side, share) in enumerate(cell):
        item = f"{operation} {side}:{share}"
        rows += [("cells", kind, item, None, None, name, 0.01 * number, 0.0, 0.02 * number) for name in measures]
        rows.append(("cells", kind, item, None, None, "norm", 0.02 + 0.01 * number, None, None))
        for control, draw in product(CONTROLS, range(3)):
            ratio = 1 + 0.08 * draw
            told = {**dict.fromkeys(measures, 0.004 * draw), "norm": 0.03 * ratio, "ratio": ratio, "pairs": 4.0}
            rows += [(control, kind, item, float(draw), 0, name, value, None, None) for name, value in told.items()]
        rows += [(f"above {control}", kind, item, None, None, "loss", 0.01, -0.01, 0.03) for control in CONTROLS]
        rows += [(f"above {control}", kind, item, None, None, "equal", 1.0, None, None) for control in CONTROLS]
    return rows


def heads() -> list[Row]:
    rows: list[Row] = []
    for number in range(9):
        kind = "positional" if number < 3 else "symbolic" if number > 5 else "other"
        told = {"position_share": 0.9 - 0.1 * number, "symbol_share": 0.05 + 0.1 * number, "mean_frequency": 1.5}
        told |= {"high:0.25": 0.3, "low:0.25": 0.2}
        rows += [("heads", kind, f"L0H{number}", None, None, name, value, None, None) for name, value in told.items()]
    pairs = [("pairs", "theta", "positional", 0.8), ("pairs", "theta", "position_part", 0.1)]
    pairs += [("heads", "mean_speed", "position_share", 0.6), ("heads", "high:0.25", "symbolic", 0.05)]
    rows += [("correlation", of, x, None, None, y, rho, rho - 0.1, rho + 0.1) for of, x, y, rho in pairs]
    rows += [("unlearnt", of, x, None, None, y, rho / 2, rho / 2 - 0.1, rho / 2 + 0.1) for of, x, y, rho in pairs]
    return [*rows, ("correlation", "heads", "low:0.25", None, None, "symbolic", None, None, None)]


def run(
    shares: tuple[str, ...] = ("0.25",), measures: tuple[str, ...] = ("loss", "copy", "induction"), id: str = "a model"
) -> tuple[pl.DataFrame, dict[str, Any]]:
    before: list[Row] = [("before", "", "", None, None, name, 0.5, 0.4, 0.6) for name in measures]
    verdicts = ("agrees", "seen", "in part", "not seen", "unknown")
    claims = [
        {"claim": f"Claim {verdict} of {id}.", "published": "unknown", "ours": "0.1", "verdict": verdict, "why": ""}
        for verdict in verdicts
    ]
    chosen = {"positional": ["L0H0", "L0H1", "L0H2"], "symbolic": ["L0H6", "L0H7", "L0H8"]}
    about = {"model": {"id": id, "heads": 9, "parameters": 1000}, "texts": {"count": 4, "tokens": 40}, "chosen": chosen}
    about |= {"rule": "Of 9 heads the 3 most of each.", "copying": "copy" if "copy" in measures else None}
    manifest = {"about": about, "claims": claims, "settings": {"near": 0.1}, "notes": ["A note."]}
    return frame([*before, *heads(), *cells(shares, measures)], RESULT), manifest


def section(page: Page, name: str) -> str:
    return str(next(one.body for one in page.sections if one.name == name))


def rows_of(page: Page, chart: str) -> list[dict[str, Any]]:
    """The rows of all views of a chart."""
    tables = [view.tables["rows"] for view in page.chart(chart).views]
    return [dict(zip(table, values, strict=True)) for table in tables for values in zip(*table.values(), strict=True)]


def test_the_first_screen_has_cells_controls_and_what_is_seen():
    page = page_of_control(*run())
    first = section(page, "cells")
    shown, _, folded = first.partition("<details")
    assert page.sections[0].name == "cells"
    assert shown.count('data-widget="drawn"') == 2 and 'data-chart="loss-' in shown and 'data-chart="copy-' in shown
    assert folded.count('data-widget="drawn"') == 1 and 'data-chart="induction-' in folded, "another measure of copying"
    assert "Effect on the loss" in first and "Effect on copying" in first and "50 % copied" in first
    assert "dropped" in first and "unrotated" in first
    assert all(f'data-verdict="{verdict}"' in first for verdict in ("agrees", "seen", "in part", "not seen", "unknown"))


def test_draws_count_if_their_norm_is_equal():
    page = page_of_control(*run())
    marks = {name: Counter(row["mark"] for row in rows_of(page, name)) for name in ("loss", "copy", "induction")}
    assert marks["loss"] == marks["copy"] == marks["induction"] == {"cell": 8, "equal": 32, "unequal": 16, "mean": 16}
    means = {row["value"] for name in marks for row in rows_of(page, name) if row["mark"] == "mean"}
    assert means == {0.002}, "the mean of the first two draws; the third is 1.16 times as large"
    controls = section(page, "controls")
    assert "1.00 to 1.16" in controls and "2 of 3" in controls and "−0.010 to 0.030" in controls


def test_cells_and_draws_say_what_they_are():
    tips = [row["tip"] for row in rows_of(page_of_control(*run()), "loss")]
    assert tips[0] == "fast, positional: 0.00 (0.00 to 0.00)"
    assert {"random bands: 0.004, 1.08 times the norm", "random heads: 0.008, 1.16 times the norm"} <= set(tips)


def test_a_reader_may_choose_the_size_of_bands_where_there_are_several():
    assert "dropped, quarters" not in section(page_of_control(*run()), "cells")
    both = section(page_of_control(*run(shares=("0.25", "0.5"))), "cells")
    assert "dropped, quarters" in both and "unrotated, halfs" not in both and "unrotated, halves" in both


def test_without_copying_there_is_only_the_loss():
    page = page_of_control(*run(measures=("loss",)))
    assert section(page, "cells").count('data-widget="drawn"') == 1 and "<details" not in section(page, "cells")
    assert set(page.figures) == {"loss", "loss_unrotated"}


def test_chosen_heads_are_listed_by_kind_the_purest_first():
    chosen = section(page_of_control(*run()), "chosen")
    places = [chosen.index(f">L0H{number}<") for number in (0, 1, 2, 8, 7, 6)]
    assert places == sorted(places) and ">L0H4<" not in chosen


def test_correlations_that_could_not_be_had_are_left_out():
    rhos = rows_of(page_of_control(*run()), "correlations")
    lines = ["speed of a frequency|s_POS", "speed of the mean frequency|position share", "norm in fast quarter|s_SYM"]
    assert [rho["line"] for rho in rhos] == lines * 2
    assert [rho["side"] for rho in rhos[:3]] == ["above", "above", "unclear"]


def test_an_earlier_result_is_turned_so_that_faster_is_positive():
    result, manifest = run()
    speed, part = pl.col("item") == "mean_speed", pl.col("part") == "correlation"
    earlier = result.with_columns(
        item=pl.when(speed).then(pl.lit("mean_frequency")).otherwise("item"),
        **{
            name: pl.when(speed).then(-pl.col(other)).otherwise(name)
            for name, other in (("value", "value"), ("low", "high"), ("high", "low"))
        },
    )
    assert earlier.filter(part & (pl.col("item") == "mean_frequency"))["value"].item() < 0
    rows = [rows_of(page, "correlations") for page in (page_of_control(earlier, manifest), page_of_control(*run()))]
    assert rows[0] == rows[1]


def test_beside_each_correlation_stands_what_arithmetic_gives():
    rhos = rows_of(page_of_control(*run()), "correlations")
    assert [rho["part"] for rho in rhos] == ["correlation"] * 3 + ["unlearnt"] * 3
    assert rhos[0]["tip"] == "s_POS: 0.80 (0.70 to 0.90)"
    assert rhos[3]["tip"] == "s_POS, redrawn weights: 0.40 (0.30 to 0.50)"
    result, manifest = run()
    without = rows_of(page_of_control(result.filter(pl.col("part") != "unlearnt"), manifest), "correlations")
    assert {rho["part"] for rho in without} == {"correlation"}, "a run that has none is drawn as it is"


def test_an_interval_that_there_is_not_is_left_out():
    result, manifest = run()
    above = pl.col("part").str.starts_with("above")
    none = result.with_columns(
        pl.when(above).then(None).otherwise(pl.col(name)).alias(name) for name in ("low", "high")
    )
    controls = section(page_of_control(none, manifest), "controls")
    assert "−0.010 to 0.030" not in controls and "0.010" in controls and "None" not in controls


def test_names_cannot_become_markup():
    written = render(page_of_control(*run(id=HOSTILE)))
    assert HOSTILE not in written and "&lt;script&gt;alert" in written


def test_every_figure_can_be_drawn():
    result, manifest = run(measures=("loss",))
    drawn = figures(page_of_control(result, manifest))
    assert all(picture.startswith(b"\x89PNG") for picture in drawn.values()) and len(drawn) == 2


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_it_draws_itself_in_a_browser_on_a_desk_and_on_a_phone(shown: Any, width: int):
    page = page_of_control(*run(shares=("0.25", "0.5"), id=HOSTILE))
    with shown(page, width=width, color_scheme="dark") as tab:
        assert tab.locator("#cells .cards > .panel .chart svg").count() == 2
        assert tab.locator("#norms .chart svg, #use .chart svg").count() == 3
        assert tab.locator("#cells .cards > .panel").get_by_text("fast, positional heads").count() == 2
        tab.locator("#cells button", has_text="unrotated, halves").first.click()
        tab.locator("#cells details summary").click()
        tab.locator("#cells details .chart svg").wait_for()
        tab.wait_for_timeout(300)
