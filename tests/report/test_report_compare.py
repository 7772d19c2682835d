"""The page of a comparison, from its table alone: what it says, what it draws, and what it leaves out."""

import json
import re
from typing import Any

import polars as pl
import pytest
from dict_manifests import page_of_comparison

from wherewhat.errors import UserError
from wherewhat.report.core.figures import figures
from wherewhat.report.core.page import Page
from wherewhat.report.core.render import render
from wherewhat.tables.schema import COMPARE, frame

Row = tuple[Any, ...]
AFTER = "a <b>model</b>"
CLAIM = {"claim": "It is local.", "published": "yes", "ours": "yes", "verdict": "agrees", "why": ""}


def rows(
    score: str,
    before: float,
    after: float,
    *,
    reach: float = 0.02,
    names: tuple[str, str] = (AFTER, "untrained"),
    part: str = "encoder",
) -> list[Row]:
    """Rows of 2 layers × 3 heads, of the layers and of the whole."""
    made: list[Row] = []
    change = after - before
    ends = (change - reach, change + reach)
    for layer in range(2):
        for head in range(3):
            more = 0.01 * head
            made.append(
                (*names, layer, head, score, before, after + more, change + more, ends[0] + more, ends[1] + more, part)
            )
        made.append((*names, layer, None, score, before, after, change + 0.1 * layer, *ends, part))
    return [*made, (*names, None, None, score, before, after, change, *ends, part)]


def manifest(*sides: str, **more: Any) -> dict[str, Any]:
    told = [
        {"name": name, "draws": 0, "model": {"id": name, "layers": 2, "heads": 6}}
        for name in sides or ("untrained", AFTER)
    ]
    return {
        "compared": told,
        "draws": [],
        "same_heads": False,
        "intervals": ["Over heads, not texts."],
        "scores": {"identical.locality": {"range": [0, 1], "asks": "How near?"}, "symmetry": {"sides": True}},
        "chance": {"encoder": {"identical.locality": 0.05}},
        **more,
    }


def page(made: list[Row], **more: Any) -> Page:
    return page_of_comparison(frame(made, COMPARE), manifest(**more))


def section(made: Page, name: str) -> Any:
    return next(one for one in made.sections if one.name == name)


def drawn(made: Page, chart: str, table: str = "rows") -> Any:
    """A table of a chart's first view."""
    return made.chart(chart).views[0].tables[table]


def strips(made: Page) -> list[str]:
    """The scores of the first screen, by the labels of their charts."""
    return [
        chart.label.removesuffix(" of every head before and after") for chart in made.placed if chart.name == "strips"
    ]


def test_the_first_screen_says_what_became_of_the_heads():
    made = page(rows("entropy", 0.9, 0.5) + rows("identical.locality", 0.05, 0.3))
    assert made.title == AFTER and made.kind == "Compared with untrained"
    assert made.lede == (
        f"From untrained to {AFTER}. More local (identical.locality): 6 of 6 heads clearly up and 0 clearly down, "
        "most in layer 1 (+0.350) and layer 0 (+0.250); their spread is about the same (half of them 0.050 to 0.050 → "
        "0.30 to 0.32); mean 0.050 → 0.30 (+0.230 to +0.270). Sharper (entropy): 0 of 6 heads clearly up and 6 "
        "clearly down, most in layer 0 (−0.400) and layer 1 (−0.300); their spread is about the same (half of them "
        "0.90 to 0.90 → 0.50 to 0.52); mean 0.90 → 0.50 (−0.420 to −0.380)."
    )
    body = section(made, "change").body
    assert body.index("identical.locality") < body.index("entropy") and "+0.250" in body and "How near?" in body
    assert "<b>model</b>" not in render(made), "a name is never markup"


def test_the_opposite_world_is_told_the_other_way():
    fell = page(rows("identical.locality", 0.3, 0.05)).lede
    assert "Less local (identical.locality): 0 of 6 heads clearly up and 6 clearly down" in fell
    assert "mean 0.30 → 0.050 (−0.270 to −0.230)." in fell
    unsure = page(rows("identical.locality", 0.3, 0.3))
    assert "No clear change of identical.locality: none of 6 heads clearly up or down" in unsure.lede
    assert "no clear change" in section(unsure, "change").body
    exact = [(*row[:8], None, None, row[10]) for row in rows("identical.locality", 0.1, 0.2)]
    assert "no head has an interval" in page(exact).lede and "mean 0.10 → 0.20, without an interval" in page(exact).lede


def test_what_is_sure_of_these_heads_leads_and_heads_in_general_stand_beside():
    made = rows("identical.locality", 0.1, 0.3)
    still = [(*row[:6], 0.1, 0.0, -0.02, 0.02, "encoder") if row[3] == 0 else row for row in made]  # heads that stayed
    unsure = page(still, over_heads={"encoder": {"identical.locality": (-0.1, 0.5)}})
    assert "More local (identical.locality): 4 of 6 heads clearly up and 0 clearly down" in unsure.lede
    assert "not clear for heads in general (−0.100 to +0.500 over heads)" in unsure.lede
    assert "4 of 6 heads up, 0 down; over heads −0.100 to +0.500" in section(unsure, "change").body
    sure = page(made, over_heads={"encoder": {"identical.locality": (0.1, 0.3)}})
    assert "in general" not in sure.lede and "over heads +0.100 to +0.300" in section(sure, "change").body


def test_locality_is_shown_with_its_length():
    layers = [{"layer": 0, "source": "identical", "n": 12}, {"layer": 0, "source": "mean", "n": 7}]
    made = rows("identical.locality", 0.1, 0.3) + rows("mean.locality", 0.1, 0.3) + rows("locality", 0.1, 0.3)
    body = section(page(made, positional={"n": 12, "layers": layers}), "change").body
    assert body.count("n = 12; 6 of 6") == 1 and body.count("n = 7; 6 of 6") == 1 and body.count("n = ") == 2


def test_dots_are_heads_and_marks_their_mean_and_quarters():
    made = page(rows("identical.locality", 0.05, 0.3))
    dots, middles, layers = drawn(made, "strips"), drawn(made, "strips", "middles"), drawn(made, "by_layer")
    after = [value for value, state in zip(dots["value"], dots["state"], strict=True) if state == "after"]
    assert sorted(after) == pytest.approx([0.3, 0.3, 0.31, 0.31, 0.32, 0.32])
    assert len(set(zip(dots["state"], dots["jitter"], strict=True))) == 12, "no two heads of a strip lie on each other"
    assert middles["mean"] == pytest.approx([0.05, 0.31])
    assert middles["low"] == pytest.approx([0.05, 0.3025]) and middles["high"] == pytest.approx([0.05, 0.3175])
    assert drawn(made, "strips", "chances") == {"value": [0.05], "there": [1]}
    assert "the dashed line the chance level" in section(made, "change").lede
    bare = page(rows("sink", 0.05, 0.3))
    assert drawn(bare, "strips", "chances")["there"] == [0] and "dashed" not in section(bare, "change").lede
    before = [x for x, state in zip(layers["x"], layers["state"], strict=True) if state == "before"]
    assert all(abs(x - round(x)) < 0.5 for x in before) and all(x < round(x) for x in before), (
        "before stands to the left"
    )


def test_every_draw_of_fresh_weights_shows_its_own_heads():
    draws = ["untrained 1", "untrained 2"]
    made = rows("identical.locality", 0.05, 0.3)
    for name, base in zip(draws, (0.04, 0.06), strict=True):
        made += rows("identical.locality", base, 0.3, names=(AFTER, name))
    shown = page(made, draws=draws)
    before = [
        value
        for value, state in zip(*(drawn(shown, "strips")[name] for name in ("value", "state")), strict=True)
        if state == "before"
    ]
    assert sorted(before) == pytest.approx([0.04] * 6 + [0.06] * 6)
    body = section(shown, "change").body
    assert "Means of the 2 draws of untrained weights: <code>identical.locality</code> 0.040 to 0.060." in body
    assert ("2", "draws of untrained weights") in shown.facts


def test_scores_of_both_sides_are_not_shown_under_a_causal_mask():
    made = page(rows("symmetry", 0.5, 0.9, part="decoder") + rows("locality", 0.1, 0.2, part="decoder"))
    assert strips(made) == ["locality"] and "symmetry" not in section(made, "scores").body


def test_parts_are_shown_apart():
    made = page(rows("locality", 0.1, 0.2) + rows("locality", 0.3, 0.5, part="cross"))
    assert strips(made) == ["locality · encoder", "locality · cross"]


def test_what_changed_most_and_whether_that_means_anything():
    made = page(rows("locality", 0.1, 0.11, reach=0.015))
    changed = drawn(made, "changed")
    assert changed["who"][:2] == ["L0H2", "L1H2"] and changed["side"] == ["above"] * 4 + ["unclear"] * 2
    assert "share only their position" in section(made, "most").lede
    assert (
        "a head is the same head throughout" in section(page(rows("locality", 0.1, 0.2), same_heads=True), "most").lede
    )
    exact = [(*row[:8], None, None, row[10]) for row in rows("delta.locality", 0.1, 0.2)]
    assert set(drawn(page(exact), "changed")["side"]) == {"above"}, "an exact change is sure"


def test_the_table_has_every_score():
    body = section(page(rows("locality", 0.1, 0.2) + rows("sink", 0.1, 0.101)), "scores").body
    lines = re.findall(r"<tr>(.*?)</tr>", body)[1:]
    assert len(lines) == 2 and "+0.100" in lines[0] and "unclear" not in lines[0] and 'class="unclear"' in lines[1]
    assert lines[0].endswith("<td>6</td><td>0</td>"), "heads up and heads down"


def along(*stops: tuple[str, float], steps: bool) -> Page:
    first, *later = stops
    made = [row for name, value in later for row in rows("locality", first[1], value, names=(name, first[0]))]
    told = manifest(*(name for name, _ in stops))
    for number, side in enumerate(told["compared"]):
        side["step"] = 500 * number if steps else None
    return page_of_comparison(frame(made, COMPARE), told)


def test_a_list_of_snapshots_is_drawn_to_scale():
    made = along(("step-0", 0.1), ("step-500", 0.15), ("step-1000", 0.4), steps=True)
    table = drawn(made, "along")
    whole = [n for n, layer in enumerate(table["layer"]) if layer is None]
    assert [table["at"][n] for n in whole] == [0, 500, 1000]
    assert [table["value"][n] for n in whole] == pytest.approx([0.1, 0.15, 0.4])
    assert [table["low"][n] for n in whole][1:] == pytest.approx([0.13, 0.38]) and table["low"][whole[0]] is None
    lede = section(made, "along").lede
    assert "steps of training" in lede and "changes most between step-500 and step-1000: +0.250" in lede
    assert made.kind == "3 models, from step-0" and made.title == "step-1000"
    assert '"at"' in json.dumps(made.chart("along").spec)


def test_other_lists_are_drawn_in_their_order():
    made = along(("a", 0.4), ("b", 0.1), ("c", 0.2), steps=False)
    assert "changes most between a and b: −0.300" in section(made, "along").lede
    assert '"name"' in json.dumps(made.chart("along").spec)
    assert "along" not in [section.name for section in page(rows("locality", 0.1, 0.2)).sections]


def walking(steps: list[int], *, heads: int = 8, layers: int = 2) -> Page:
    """Checkpoints in which L1H0 moves most, up and halfway down again; heads move the less the higher their number."""
    names, made = [f"step-{step:06d}" for step in steps], list[Row]()
    for order, name in enumerate(names[1:], start=1):
        way = order / (len(names) - 1)
        for layer in range(layers):
            for head in range(heads):
                size = 0.1 / (1 + head) if (layer, head) != (1, 0) else 0.6
                after = 0.2 + size * (min(1, 3 * way) if way <= 0.5 else 1.5 - way)
                made.append((name, names[0], layer, head, "locality", 0.2, after, after - 0.2, None, None, "encoder"))
            made.append((name, names[0], layer, None, "locality", 0.2, 0.3, 0.1, 0.05, 0.15, "encoder"))
        made.append((name, names[0], None, None, "locality", 0.2, 0.2 + 0.1 * way, 0.1 * way, 0.0, 0.2, "encoder"))
    described = manifest(*names, same_heads=True)
    for side, step in zip(described["compared"], steps, strict=True):
        side["step"] = step
    return page_of_comparison(frame(made, COMPARE), described)


def test_every_head_is_drawn_along_the_list_and_those_that_move_most_are_named():
    made = walking([0, 10, 20, 30, 40])
    movers, every, ends = (drawn(made, "heads_along", name) for name in ("movers", "rows", "ends"))
    assert movers["who"][:5] == ["L1H0"] * 5 and movers["at"][:5] == [0, 10, 20, 30, 40]
    assert movers["value"][:5] == pytest.approx([0.2, 0.65, 0.8, 0.65, 0.5])
    assert movers["tip"][2] == "L1H0, step-000020: locality 0.80"
    assert len(set(movers["who"])) == 6 == len(ends["who"]) and len(set(every["who"])) == 16 and len(every["who"]) == 80
    gaps = [high - low for low, high in zip(sorted(ends["value"]), sorted(ends["value"])[1:], strict=False)]
    assert min(gaps) >= 0.6 * 15 / 420 - 1e-9, "names do not overlap"
    lede = section(made, "heads").lede
    assert lede.startswith(
        "`locality` moves most in L1H0: from 0.20 to 0.50, between 0.20 and 0.80 on the way; its largest change is "
        "+0.450 from step-000000 to step-000010. The 6 heads "
    )
    assert "Only" not in lede and "share only their position" not in lede
    body = section(made, "heads").body
    assert "0.80 at step-000020" in body and "The 3 heads that move most in each score" in body


def test_many_checkpoints_stay_readable():
    steps = [0, *(2**power for power in range(10)), *range(1000, 50_000, 1000)]
    made = walking(steps, heads=200)
    drawn_heads = set(drawn(made, "heads_along")["who"])
    assert len(drawn_heads) == 10_000 // len(steps) < 400
    assert f"Only the {len(drawn_heads)} heads that move most are drawn." in section(made, "heads").lede
    for name in ("along", "heads_along"):
        spec = json.dumps(made.chart(name).spec)
        assert '"symlog"' in spec and '"values": [0, 4, 16, 64, 256, 1000, ' in spec, (
            "most of the early steps are within two per cent"
        )
    assert '"symlog"' not in json.dumps(walking(list(range(0, 5100, 100))).chart("along").spec)
    assert section(made, "sides").body.count("<tr>") == len(steps) + 1, "a line each"
    assert (f"{len(steps)}", "models") in made.facts


def test_many_names_are_slanted_and_thinned():
    stops = [(f"model {number}", 0.1 + 0.01 * number) for number in range(50)]
    spec = json.dumps(along(*stops, steps=False).chart("along").spec)
    assert '"labelAngle": -40' in spec and '"model 48"' in spec and '"model 47"' not in spec
    few = json.dumps(along(*stops[:4], steps=False).chart("along").spec)
    assert '"labelAngle": 0' in few and '"model 2"' not in few
    lede = section(along(*stops[:4], steps=False), "heads").lede
    assert "Heads of independently trained models share only their position." in lede


def test_models_without_counterparts_are_left_out_of_the_lines_of_heads():
    def unpaired(name: str) -> list[Row]:
        whole = [row for row in rows("locality", 0.1, 0.3, names=(name, "a")) if row[2] is None]
        return [(name, "a", 0, 0, "locality", None, 0.4, None, None, None, "encoder"), *whole]

    paired = rows("locality", 0.1, 0.2, names=("b", "a"))
    mixed = page_of_comparison(frame([*unpaired("c"), *paired], COMPARE), manifest("a", "c", "b"))
    assert set(drawn(mixed, "heads_along", "movers")["name"]) == {"a", "b"}
    assert "Without counterparts, as their shape is another: c." in section(mixed, "heads").lede
    apart = page_of_comparison(frame([*unpaired("c"), *unpaired("d")], COMPARE), manifest("a", "c", "d"))
    assert "heads" not in [each.name for each in apart.sections]
    assert section(apart, "shapes").lede.startswith("No other model has the shape of a, so no head has a counterpart")
    assert section(apart, "shapes").body.count("<td>6</td>") == 3
    assert "shapes" not in [each.name for each in mixed.sections]


def test_claims_are_there_where_something_was_claimed():
    assert "claims" not in [one.name for one in page(rows("locality", 0.1, 0.2), claims=[]).sections]
    assert "It is local." in section(page(rows("locality", 0.1, 0.2), claims=[CLAIM]), "claims").body


def test_a_single_layer_needs_no_chart_by_layer():
    table = frame(rows("locality", 0.1, 0.2), COMPARE).filter(pl.col("layer").is_null() | (pl.col("layer") == 0))
    assert "layers" not in [one.name for one in page_of_comparison(table, manifest()).sections]


def test_a_table_without_rows_is_refused():
    with pytest.raises(UserError, match="has no rows to show; run `wherewhat compare` again"):
        page([])


def test_pictures_are_drawn():
    made = along(("a", 0.4), ("b", 0.1), ("c", 0.2), steps=False)
    pictures = figures(made)
    assert set(pictures) == {"by_layer", "along", "heads_along", "changed"}
    assert all(picture.startswith(b"\x89PNG") for picture in pictures.values())


@pytest.mark.browser
@pytest.mark.parametrize(
    "look", [{"width": 1280}, {"width": 390, "color_scheme": "dark"}], ids=["wide", "narrow and dark"]
)
def test_the_page_in_a_browser(shown: Any, look: dict[str, Any]):
    made = along(("step-000000", 0.1), ("step-000500", 0.15), ("step-001000", 0.4), steps=True)
    with shown(made, **look) as tab:
        charts = tab.locator("[data-widget=drawn]")
        assert charts.count() == 5, "a tile, layers, the list, every head, the heads that changed most"
        for place in range(5):
            assert charts.nth(place).locator("svg path").count() > 3
        dots = charts.nth(0).locator("svg .mark-symbol path").count()
        assert dots == 12
