"""Where against what in a real browser: what is drawn stands where the numbers say, and answers to pointer and keys."""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browsing import watched
from dict_manifests import page_of_heads
from synthetic import ROTARY, run_of
from test_report_browser import name_shown, opened, pytestmark, written  # noqa: F401  # fixtures, when to skip

from wherewhat.report.core.render import render

Opener = Callable[..., Any]
Tab = Any
CENTRES = """(marks) => marks.map(mark => {
    const box = mark.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
})"""


def values(score: str) -> dict[str, float]:
    """One score of the rotary run, by head."""
    heads = run_of(ROTARY, random.Random(0))[0].filter(pl.col("score") == score)
    return {f"L{row['layer']}H{row['head']}": row["value"] for row in heads.iter_rows(named=True)}


def cloud(tab: Tab, chart: str) -> Any:
    """The heads of a chart, in the order of the table: of its groups of marks the largest."""
    symbols = tab.locator(f"{chart} .mark-symbol")
    many = max(range(symbols.count()), key=lambda at: symbols.nth(at).locator("path").count())
    return symbols.nth(many).locator("path")


def centres(tab: Tab, chart: str) -> list[tuple[float, float]]:
    """Where the heads of a chart stand on the screen."""
    return [(x, y) for x, y in cloud(tab, chart).evaluate_all(CENTRES)]


def ranks(numbers: list[float]) -> list[int]:
    return sorted(range(len(numbers)), key=numbers.__getitem__)


def redrawn(tab: Tab, chart: str, act: Callable[[], Any]) -> None:
    """Wait until a chart has been drawn anew."""
    tab.evaluate("chart => { document.querySelector(`${chart} svg`).dataset.old = 'yes' }", chart)
    act()
    tab.wait_for_function("chart => document.querySelector(`${chart} svg:not([data-old])`)", arg=chart)


def test_the_first_screen_shows_findings_the_triangle_and_the_selected_head_at_once(opened: Opener):  # noqa: F811
    with opened("rotary") as tab:
        seen = "(element) => element.getBoundingClientRect().bottom <= innerHeight"
        assert tab.locator(".findings").evaluate(seen)
        assert 3 <= tab.locator(".findings li").count() <= 5
        half = "(element) => (element.getBoundingClientRect().top + element.getBoundingClientRect().bottom) / 2"
        assert tab.locator("#triangle-chart").evaluate(half) < 900
        for at, words in ((0, "most positional"), (1, "most content-based")):
            assert words in tab.locator(".card").nth(at).inner_text()
        first = tab.locator(".card").first.get_attribute("data-head")
        assert name_shown(tab) == first
        assert first in tab.locator(".summary h3").inner_text()


def test_the_summary_shows_every_view_of_the_selected_head_with_what_it_rests_on(opened: Opener):  # noqa: F811
    with opened("rotary") as tab:
        name = tab.locator(".findings button.name").first.inner_text()
        tab.locator(".findings button.name").first.click()
        said = tab.locator(".summary").inner_text()
        assert name in said and name_shown(tab) == name
        for label in ("Attended keys", "All keys equally", "Published scores", "untrained", "noise", "entropy", "sink"):
            assert label in said, label
        for score in ("attended.position_share", "symbol_share", "positional"):
            assert f"{values(score)[name]:.2f}" in said, score
        assert said.count("64 texts, 512 rows") == 3
        tab.locator("#triangle-chart").focus()
        tab.keyboard.press("ArrowRight")
        assert name_shown(tab) in tab.locator(".summary h3").inner_text() != name


def test_heads_on_which_views_disagree_are_ringed_and_counted(opened: Opener):  # noqa: F811
    with opened("rotary") as tab:
        mixed = tab.evaluate("Object.keys(JSON.parse(document.getElementById('data').textContent).about.mixed)")
        assert mixed
        rings = tab.locator("#triangle-chart .mark-symbol").first.locator("path")
        assert rings.count() == len(mixed)
        assert f"{len(mixed)} head" in tab.locator(".baselines").inner_text()
        button = tab.locator(f"#table tbody tr[data-head={mixed[0]}] button")
        button.click()
        assert "Measurements disagree." in tab.locator(".summary").inner_text()
        drawn = tab.locator("#triangle-chart svg").evaluate("svg => svg.textContent")
        assert "noise" in drawn and "untrained" in drawn


def test_the_table_ends_with_what_each_score_rests_on(opened: Opener):  # noqa: F811
    with opened("learned") as tab:
        tab.locator("#table").get_by_role("button", name="Hidden state").click()
        rows = tab.locator("#table tfoot tr")
        assert [row.split()[0] for row in rows.all_inner_texts()] == ["texts", "windows", "rows"]
        at = tab.locator("#table thead th").evaluate_all(
            "all => all.findIndex(th => th.dataset.column === 'input.position_share')"
        )
        assert [rows.nth(row).locator("> *").nth(at).inner_text() for row in range(3)] == ["8", "8", "8"]
        assert rows.first.locator("td.few").count() == 5


def test_heads_stand_in_the_triangle_where_their_shares_put_them(opened: Opener):  # noqa: F811
    with opened("rotary") as tab:
        names = ("position", "symbol", "interaction")
        where, what, both = (list(values(f"attended.{name}_share").values()) for name in names)
        points = centres(tab, "#triangle-chart")
        assert len(points) == 36
        lowest, highest = both.index(min(both)), both.index(max(both))
        assert points[lowest][1] > points[highest][1], "only together is up"
        side = (points[highest][1] - points[lowest][1]) / (both[lowest] - both[highest]) / (math.sqrt(3) / 2)
        for (x, y), a, b, c in zip(points, where, what, both, strict=True):
            assert x - points[lowest][0] == pytest.approx(
                side * ((b + c / 2) - (what[lowest] + both[lowest] / 2)), abs=1.5
            ), (a, b, c)
            assert points[lowest][1] - y == pytest.approx(side * math.sqrt(3) / 2 * (c - both[lowest]), abs=1.5)


def test_the_triangle_is_picked_by_pointer_and_walked_by_keys(opened: Opener):  # noqa: F811
    with opened("rotary") as tab:
        names, points = list(values("position_share")), centres(tab, "#triangle-chart")
        lonely = max(range(36), key=lambda at: min(math.dist(points[at], p) for i, p in enumerate(points) if i != at))
        tab.mouse.click(points[lonely][0] + 6, points[lonely][1] + 5)
        assert name_shown(tab) == names[lonely]
        across = [names[at] for at in ranks([x for x, _ in points])]
        tab.locator("#triangle-chart").focus()
        tab.keyboard.press("ArrowLeft")
        assert name_shown(tab) == across[across.index(names[lonely]) - 1]


def test_the_triangle_can_count_all_keys_alike(opened: Opener):  # noqa: F811
    with opened("rotary") as tab:
        before = centres(tab, "#triangle-chart")
        press = tab.get_by_role("button", name="All keys equally")
        redrawn(tab, "#triangle-chart", press.click)
        assert press.get_attribute("aria-pressed") == "true"
        assert centres(tab, "#triangle-chart") != before
        assert tab.get_by_text("Every slot and every content counts equally").is_visible()


def test_no_head_is_drawn_in_the_corner_that_the_theorem_rules_out(opened: Opener):  # noqa: F811
    with opened("rotary") as tab:
        for words in ("no head can be here:", "Var ≤ P + S", "purely positional", "purely symbolic"):
            assert words in tab.locator("#bounds-chart svg").evaluate("svg => svg.textContent")
        corner = tab.locator("#bounds-chart .mark-area path").first
        inside = """([x, y]) => {
            const area = document.querySelector("#bounds-chart .mark-area path");
            const at = new DOMPoint(x, y).matrixTransform(area.getScreenCTM().inverse());
            return area.isPointInFill(at);
        }"""
        box = corner.bounding_box()
        assert tab.evaluate(inside, [box["x"] + 5, box["y"] + box["height"] - 5]), "the corner itself is shaded"
        points = centres(tab, "#bounds-chart")
        assert len(points) == 36
        assert not [point for point in points if tab.evaluate(inside, list(point))]
        p, s, var = (values(name) for name in ("exclusion_positional", "exclusion_symbolic", "logit_variance"))
        assert ranks([x for x, _ in points]) == ranks([p[head] / var[head] for head in p])
        assert ranks([-y for _, y in points]) == ranks([s[head] / var[head] for head in p])


def test_the_published_scores_are_one_press_away_and_come_with_their_warning(opened: Opener):  # noqa: F811
    with opened("rotary") as tab:
        warning = tab.get_by_text("a head with flat attention scores high on both whatever it does")
        assert not warning.is_visible()
        press = tab.get_by_role("button", name="Published scores", exact=True).first
        press.focus()
        redrawn(tab, "#bounds-chart", lambda: tab.keyboard.press("Enter"))
        assert warning.is_visible()
        points = centres(tab, "#bounds-chart")
        assert ranks([x for x, _ in points]) == ranks(list(values("symbolic").values()))
        assert ranks([-y for _, y in points]) == ranks(list(values("positional").values()))
        frame = pl.DataFrame({name: list(values(name).values()) for name in ("positional", "symbolic", "entropy")})
        rho = frame.select(pl.corr(name, "entropy", method="spearman") for name in ("positional", "symbolic")).row(0)
        said = tab.locator(".with-entropy").inner_text()
        assert f"{rho[0]:.2f} for the positional and {rho[1]:.2f} for the symbolic score" in said
        redrawn(tab, "#bounds-chart", lambda: tab.get_by_label("Temperature").select_option(label="τ = ∞"))
        assert ranks([x for x, _ in centres(tab, "#bounds-chart")]) == ranks(list(values("symbolic@inf").values()))
        assert "symbolic@inf" in tab.locator(".readout:visible").inner_text()


def test_the_plane_of_bounds_is_walked_by_keys(opened: Opener):  # noqa: F811
    with opened("rotary") as tab:
        p, var = values("exclusion_positional"), values("logit_variance")
        across = sorted(p, key=lambda head: p[head] / var[head])
        tab.locator("#bounds-chart").focus()
        before = name_shown(tab)
        tab.keyboard.press("ArrowRight")
        assert name_shown(tab) == across[across.index(before) + 1]
        assert name_shown(tab) in tab.locator(".readout:visible").inner_text()


def test_each_layer_has_its_mean_and_a_dot_can_be_picked(opened: Opener):  # noqa: F811
    with opened("rotary") as tab:
        share = values("attended.symbol_share")
        means = [sum(share[f"L{layer}H{head}"] for head in range(6)) / 6 for layer in range(6)]
        counts = [len(tab.locator("#layers-1 .mark-symbol").nth(at).locator("path").all()) for at in range(2)]
        assert counts == [36, 6]
        dots = tab.locator("#layers-1 .mark-symbol").nth(1).locator("path").evaluate_all(CENTRES)
        assert ranks([-y for _, y in dots]) == ranks(means)
        assert [round(x) for x, _ in dots] == sorted(round(x) for x, _ in dots)
        points = centres(tab, "#layers-1")
        highest = min(range(36), key=lambda at: points[at][1])
        tab.locator("#layers-1").scroll_into_view_if_needed()
        x, y = centres(tab, "#layers-1")[highest]
        tab.mouse.click(x, y)
        assert name_shown(tab) == max(share, key=share.__getitem__)


def test_a_head_s_spectrum_is_drawn_and_follows_the_selection(opened: Opener):  # noqa: F811
    with opened("rotary") as tab:
        for chart in ("norms", "shares", "scores"):
            assert tab.locator(f"#spectrum-{chart} svg").bounding_box()["height"] > 40
        bars = tab.locator("#spectrum-shares .mark-rect path")
        assert bars.count() == 3 * 16
        assert "6.3" in tab.locator("#spectrum-scores svg").evaluate("svg => svg.textContent"), (
            "the fastest comes first"
        )
        before = bars.evaluate_all("all => all.map(bar => bar.getAttribute('d')).join()")
        redrawn(tab, "#spectrum-shares", tab.get_by_label("Next head", exact=True).click)
        assert bars.evaluate_all("all => all.map(bar => bar.getAttribute('d')).join()") != before


def test_pointing_at_a_frequency_tells_how_fast_it_turns_and_what_it_adds(opened: Opener):  # noqa: F811
    with opened("rotary") as tab:
        tab.locator("#spectrum-norms").scroll_into_view_if_needed()
        tab.locator("#spectrum-norms .mark-symbol path").nth(2 * 3).hover()
        tip = tab.locator("#tip")
        tip.wait_for(state="visible")
        said = tip.inner_text()
        theta = 10_000 ** (-3 / 16)
        assert f"{theta:.2f} radians per token" in said
        assert f"{2 * math.pi / theta:.1f} tokens" in said
        for words in ("norm of query", "variance by position", "variance by content", "positional"):
            assert words in said


def test_a_model_without_rotary_frequencies_says_so(opened: Opener):  # noqa: F811
    with opened("learned") as tab:
        assert tab.get_by_text("No rotary frequencies for this head").is_visible()
        assert not tab.locator("#spectrum-norms").is_visible()
        assert tab.locator("#frequencies").count() == 0


def test_correlations_over_all_layers_stand_first_each_with_its_interval(opened: Opener):  # noqa: F811
    with opened("rotary") as tab:
        chart = tab.locator("[data-with=theta] [data-chart=correspondence]")
        rows = run_of(ROTARY, random.Random(0))[3]["correspondence"]
        rho = [row["rho"] for row in rows if row["x"] == "theta" and row["layer"] is None]
        dots = chart.locator(".mark-symbol path").evaluate_all(CENTRES)
        assert ranks([x for x, _ in dots]) == ranks(rho) and len(rho) == 3
        cells = tab.locator("[data-with=theta] [data-chart='correspondence by layer'] .mark-rect").last
        assert cells.locator("path").count() == 3 * 6
        assert tab.locator("#all-shares .mark-rect path").count() == 48


def test_faster_is_on_the_same_side_of_planes_and_of_heads(opened: Opener):  # noqa: F811
    with opened("rotary") as tab:
        planes, heads = (tab.locator(f"[data-with={x}]") for x in ("theta", "mean_speed"))
        told = [panel.evaluate("panel => panel.previousElementSibling.textContent") for panel in (planes, heads)]
        assert "Higher in faster planes: positional score of a plane (ρ 0.45)" in told[0]
        assert "Higher in slower planes: symbolic score of a plane (ρ −0.50)" in told[0]
        assert told[1] == "Higher in heads with faster frequencies: position share of a head (ρ 0.60)."
        for panel in (planes, heads):
            assert "slower ← ρ → faster" in " ".join(panel.locator("svg").first.text_content().split())


def test_a_run_of_an_earlier_version_is_turned_round():
    *tables, manifest = run_of(ROTARY, random.Random(0))
    turned = [
        {**row, "x": "mean_frequency", "rho": -row["rho"], "low": -row["high"], "high": -row["low"]}
        if row["x"] == "mean_speed"
        else row
        for row in manifest["correspondence"]
    ]
    now, before = (
        page_of_heads(*tables, {**manifest, "correspondence": rows}) for rows in (manifest["correspondence"], turned)
    )
    assert now.about["correspondence"] == before.about["correspondence"]


@pytest.mark.parametrize("width", [1280, 390])
def test_many_layers_take_no_more_room_than_few(browser: Any, tmp_path: Path, width: int):
    shapes = [replace(ROTARY, model=f"{layers} layers", parts=(("decoder", layers),)) for layers in (6, 30)]
    height = {}
    for shape in shapes:
        path = tmp_path / "report.html"
        path.write_text(render(page_of_heads(*run_of(shape, random.Random(0)))), encoding="utf-8")
        with watched(browser, path, width=width) as tab:
            height[shape.model] = tab.locator("#frequencies").bounding_box()["height"]
    few, many = height.values()
    assert many <= few + 30 and many < (1300 if width == 1280 else 2000)


def test_position_in_the_hidden_state_has_its_own_charts(opened: Opener):  # noqa: F811
    with opened("learned") as tab:
        for chart in ("#triangle-chart", "#moved-chart", "#means-chart", "#position-chart"):
            assert tab.locator(f"{chart} svg").bounding_box()["height"] > 100, chart
        assert tab.locator("#means-chart .mark-rect path").count() == 6 * 4
        assert "everything else" in tab.locator("#triangle-chart svg").evaluate("svg => svg.textContent")
        before = name_shown(tab)
        tab.locator("#moved-chart").focus()
        tab.keyboard.press("ArrowLeft")
        assert name_shown(tab) != before


def test_maps_and_table_show_one_kind_of_scores_at_a_time(opened: Opener):  # noqa: F811
    with opened("rotary") as tab:
        maps, table = tab.locator("#maps"), tab.locator("#table")
        assert maps.locator(".thumb").count() == 11
        maps.get_by_role("button", name="Attention", exact=True).click()
        tab.wait_for_function("document.querySelectorAll('.thumb canvas').length === 8")
        maps.locator(".thumb[data-score=entropy]").click()
        assert maps.locator("h3").inner_text() == "entropy"
        shown = table.locator("thead th:visible")
        assert "position_share" in shown.all_inner_texts() and "entropy" not in shown.all_inner_texts()
        table.get_by_role("button", name="Published scores").click()
        assert shown.count() == 1 + 8
        table.get_by_role("button", name="All", exact=True).click()
        assert shown.count() == table.locator("thead th").count() == 1 + 11 + 11 + 8
        assert table.locator("tbody tr").first.locator("td:visible").count() == 30


def test_a_map_of_a_score_without_chance_says_so_and_shows_its_end(opened: Opener):  # noqa: F811
    with opened("rotary") as tab:
        tab.locator(".thumb[data-score=logit_variance]").click()
        legend = tab.locator(".legend").inner_text()
        assert "no chance level" in legend and "no upper end" in legend
        assert f"{max(values('logit_variance').values()):.2f}" in legend


def test_the_new_charts_follow_the_light(opened: Opener):  # noqa: F811
    with opened("rotary", color_scheme="light") as tab:
        fills = "(all) => all.map(mark => getComputedStyle(mark).fill).join()"
        marks = {chart: cloud(tab, chart) for chart in ("#triangle-chart", "#bounds-chart")}
        marks["#spectrum-shares"] = tab.locator("#spectrum-shares .mark-rect path")
        light = {chart: mark.evaluate_all(fills) for chart, mark in marks.items()}
        tab.emulate_media(color_scheme="dark")
        tab.wait_for_function("getComputedStyle(document.body).backgroundColor === 'rgb(20, 22, 26)'")
        tab.wait_for_timeout(200)
        for chart, mark in marks.items():
            assert mark.evaluate_all(fills) != light[chart], chart


def test_the_new_parts_are_on_paper_without_their_switches(opened: Opener):  # noqa: F811
    with opened("rotary") as tab:
        tab.emulate_media(media="print")
        sections = tab.locator("main > section")
        assert sections.count() == 11
        assert all(sections.nth(at).is_visible() for at in range(11))
        assert tab.locator(".switch:visible").count() == 0
        assert tab.pdf(format="A4").startswith(b"%PDF")
