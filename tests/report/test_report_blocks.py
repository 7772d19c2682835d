"""The blocks of every page: charts that a page collects, tooltips from columns, one kind of table."""

import json
from dataclasses import replace
from typing import Any

import altair as alt
import polars as pl
import pytest
import vl_convert
from finished_runs import FINISHED

from wherewhat.report.blocks.axes import colour, legend, names, share, x, y
from wherewhat.report.blocks.chart import ViewRows, bars, chart, dumbbell, forest, heat_map, lines, scatter
from wherewhat.report.blocks.marks import ROWS, dots, line, named, text_labels, where
from wherewhat.report.blocks.rows import drawable, table_of, write_tip
from wherewhat.report.blocks.table import table
from wherewhat.report.core.figures import figures, whole
from wherewhat.report.core.html import join, tag
from wherewhat.report.core.page import Chart, Page, Section, Widget
from wherewhat.report.core.render import render

ESTIMATES = [
    {"name": "a", "value": 0.2, "low": 0.1, "high": 0.3, "side": "above", "unused": 7},
    {"name": "b", "value": -0.1, "low": -0.3, "high": 0.1, "side": "unclear", "unused": 8},
]
SEEDS = [
    {"step": step, "value": 0.1 * step, "low": 0.0, "high": 0.4, "seed": seed, "task": task}
    for step in (1, 2, 3)
    for seed in (None, 0, 1)
    for task in ("number", "letter")
]
TONE = colour("task", {"number": "var(--where)", "letter": "var(--what)"})


def page_with(*children: object) -> Page:
    return Page("title", "kind", "lede", [], [Section("one", "One", "lede", tag("div", *children))])


def kinds() -> dict[str, Chart]:
    """A chart of every kind."""
    states = [{"name": name, "state": state, "value": 5.0} for name in "ab" for state in ("before", "after")]
    cells = [{"layer": layer, "head": head, "value": 0.5, "clear": True} for layer in range(2) for head in range(2)]
    layer, head = y("layer", "layer", type="ordinal"), x("head", "head", type="ordinal")
    place: dict[str, Any] = {"x": x("step", "step"), "y": share(y, title="accuracy")}
    return {
        "forest": forest("forest", ESTIMATES, line="name", axis="gain", label="forest"),
        "lines": lines("lines", SEEDS, **place, colour=TONE, seeds=True, label="lines"),
        "whiskers": lines("whiskers", SEEDS, **place, colour=TONE, intervals="whiskers", label="whiskers"),
        "scatter": scatter("scatter", SEEDS, **place, colour=TONE, labels="task", intervals="y", label="scatter"),
        "heat map": heat_map("heat map", cells, x=head, y=layer, unclear="!datum.clear", label="heat map"),
        "dumbbell": dumbbell(
            "dumbbell", states, line="name", x=x("value"), states={"before": "red", "after": "blue"}, label="dumbbell"
        ),
        "bars": bars("bars", cells, x=head, y=y("value"), order="layer", label="bars"),
    }


def paths(made: Chart, *, empty: bool = False) -> int:
    """How many marks and lines a chart draws, with its rows or without any."""
    figure = replace(made, figure=True).figures[made.name]
    tables = {name: {column: [] for column in table} if empty else table for name, table in figure.tables.items()}
    drawn = vl_convert.vegalite_to_svg(whole(replace(figure, tables=tables)))
    assert "NaN" not in drawn
    return drawn.count("<path")


@pytest.mark.parametrize("kind", list(kinds()))
def test_every_kind_draws_its_rows(kind: str):
    assert paths(kinds()[kind]) > paths(kinds()[kind], empty=True)


@pytest.mark.browser
@pytest.mark.parametrize("kind", kinds())
def test_every_kind_is_valid_vega_lite(kind: str):
    alt.Chart.from_dict(kinds()[kind].spec)  # raises where it is not


@pytest.mark.parametrize("run", FINISHED)
def test_every_chart_of_every_page_is_valid_vega_lite(run: str):
    specs = FINISHED[run]().page.charts.values()
    assert specs
    for spec in specs:  # they are not checked when they are drawn, which would take as long as drawing them
        alt.Chart.from_dict(spec)


def test_a_finished_spec_is_drawn_too(shown: Any):
    spec = {"data": {"name": "rows"}, "mark": "point", "encoding": {"x": {"field": "größe", "type": "quantitative"}}}
    made = chart("raw", [{"größe": 1.0}, {"größe": 2.0}], spec, label="raw")
    assert made.views[0].tables["rows"] == {"größe": [1.0, 2.0]}
    with shown(page_with(made)) as tab:
        assert tab.locator("[data-widget=drawn] svg .mark-symbol path").count() == 2


def test_a_page_collects_what_is_placed_in_it_and_stores_equal_things_once():
    rows = [{"step": 1, "value": 2}]
    marks = [line(ROWS, {"x": x("step"), "y": y("value")})]
    first, second = (chart("curve", rows, marks, label=label) for label in ("one", "two"))
    other = chart("curve", [{"step": 1, "value": 3}], marks, label="three")
    widget = Widget("plane", charts={"plane": {"mark": "point"}}, tables={"heads": {"name": ["L0H0"]}}, about={"x": 1})
    page = page_with(tag("p", first), join("words", second, None), other, widget)
    assert [placed.label for placed in page.placed[:3]] == ["one", "two", "three"]
    assert len(page.charts) == 2 and len(page.tables) == 3 and page.about == {"x": 1}
    assert page.chart("curve") is first
    assert page.sections[0].body.count('data-widget="drawn"') == 3 and 'data-widget="plane"' in render(page)


def test_views_have_their_own_rows_and_words():
    marks = [dots(ROWS, {"x": x("step", "{x title}"), "y": y("value")})]
    views = {"now": [{"step": 1, "value": 2}], "then": ViewRows([{"step": 5, "value": 6}], {"x title": "years"})}
    made = chart("curve", views, marks, label="curve", words={"x title": "days"}, figure=True, title="A curve")
    assert [view.title for view in made.views] == ["now", "then"]
    assert [dict(view.words) for view in made.views] == [{"x title": "days"}, {"x title": "years"}]
    assert made.views[1].tables["rows"] == {"step": [5], "value": [6]}
    assert set(made.figures) == {"curve", "curve_then"}
    assert "years" in json.dumps(made.figures["curve_then"].spec) and "{x title}" not in json.dumps(
        made.figures["curve"].spec
    )
    assert all(picture.startswith(b"\x89PNG") for picture in figures(page_with(made)).values())


def test_only_named_columns_are_kept_and_each_row_has_its_tooltip():
    made = forest(
        "gains", pl.DataFrame(ESTIMATES), line="name", axis="gain", tip="{name}: {value:points}", label="gains"
    )
    rows = made.views[0].tables["rows"]
    assert set(rows) == {"name", "value", "low", "high", "side", "tip"}
    assert rows["tip"] == ["a: +20.0 points (+10.0 to +30.0)", "b: −10.0 points (−30.0 to +10.0)"]


def test_tooltips_are_written_from_columns():
    row = {"name": "x", "step": 1200.0, "value": 0.5, "low": None, "high": None, "seed": None}
    assert write_tip("{name}, step {step:,.0f}{seed}: {value:share}", row) == "x, step 1,200: 50.0\xa0%"
    assert write_tip(lambda row: row["name"] * 2, row) == "xx"
    assert table_of([], "{name}", spec={"field": "name"}) == {"tip": []}


def test_a_row_can_be_drawn_without_an_interval():
    assert drawable({"value": 0.5, "low": None, "high": 2.0}, within=(0, 1)) == {"value": 0.5, "low": 0.5, "high": 1}


def test_tables_beside_the_rows_are_handed_in_by_name():
    marks = [
        *text_labels(named("bounds"), "name", {"x": x("at"), "y": y("value")}),
        line(where(ROWS, seed=None), {"x": x("at")}),
    ]
    made = chart(
        "bounded",
        [{"at": 1, "seed": None}],
        marks,
        tables={"bounds": [{"at": 2, "value": 1, "name": "here"}]},
        label="b",
    )
    assert made.views[0].tables["bounds"] == {"at": [2], "value": [1], "name": ["here"]}


def test_names_of_users_never_become_expressions():
    hostile = "'] || alert(1) //</script>"
    rows = [{"name": hostile, "value": 1.0, "low": 0.0, "high": 2.0, "side": "above"}]
    made = forest("gains", {hostile: rows}, line="name", axis="gain", label=hostile)
    assert "alert" not in json.dumps(made.spec)
    expression = legend({"a": hostile}).to_dict()["labelExpr"]
    assert json.loads(expression.partition(")[datum")[0].removeprefix("(")) == {"a": hostile}  # inside quotes
    assert "<script>alert" not in render(page_with(made)) and "//</script>" not in render(page_with(made))


def test_one_table_for_everything():
    cells = tag("td", "3", class_="unclear")
    made = table(["name", "rank", "n"], [["<a>", 1, cells]], label="All", groups=[("", 1), ("both", 2)], ranked="rank")
    assert made.startswith('<div data-widget="sortable"><div class="scroller whole"')
    assert '<th scope="row">&lt;a&gt;</th><td>1</td><td class="unclear">3</td>' in made
    assert (
        '<th scope="col" aria-sort="ascending">rank</th>' in made
        and '<th scope="colgroup" colspan="2">both</th>' in made
    )


def test_axes_take_options_of_scale_and_axis_alike():
    made = x("value", "v", domain=[0, 1], nice=False, format="%", ticks=False).to_dict()
    assert made["scale"] == {"domain": [0, 1], "nice": False} and made["axis"] == {"format": "%", "ticks": False}
    assert x("value", domain=False).to_dict()["axis"] == {"domain": False}
    assert names("who", order="rank").to_dict()["sort"] == {"field": "rank", "op": "min", "order": "ascending"}
