"""The page of the study of relations: near and far first, nothing hard-wired, nothing harmful, and it can be seen."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from dict_manifests import page_of_reproduction, page_of_syntax
from synthetic_syntax import ASKED, DISTANCES, GROUPS, RELATIONS, SUBJECTS, syntax_run

from wherewhat.errors import UserError
from wherewhat.report.core.figures import figures, rows
from wherewhat.report.core.html import join
from wherewhat.report.core.page import Chart, Page
from wherewhat.report.core.render import render


def made(**world: Any) -> Page:
    return page_of_reproduction(*syntax_run(**world))


def charts_of(page: Page, name: str) -> list[Chart]:
    """Every chart of this name, in the order of the page."""
    return [placed for placed in page.placed if isinstance(placed, Chart) and placed.name == name]


def rows_of(page: Page, name: str) -> list[dict[str, Any]]:
    """The rows of all views of all charts of this name."""
    return [row for chart in charts_of(page, name) for view in chart.views for row in rows(view.tables["rows"])]


def test_near_and_far_comes_first_in_the_words_of_the_study() -> None:
    page = made()
    names = [section.name for section in page.sections]
    assert names == [*("answer", "encodings", "relations", "table", "locality", "learnt", "shuffled", "claims", "made")]
    assert page.sections[0].lede == "The lead on short; the lead on long."
    text = render(page)
    for name in ASKED:
        assert f"he lead on {name}" in text and f"The rest on {name} &lt;1&gt;." in text


def test_no_answer_is_made_up_where_the_study_has_none() -> None:
    table, manifest = syntax_run()
    page = page_of_syntax(table, {**manifest, "about": {**manifest["about"], "answers": {}}})
    assert page.sections[0].lede == "What each part of attention finds, near and far."
    assert "The lead on" not in render(page)


@pytest.mark.parametrize(("near", "far"), [(0.9, 0.1), (0.2, 0.8)])
def test_the_chart_shows_the_world_as_it_is(near: float, far: float) -> None:
    page = made(near=near, far=far)
    free = page.chart("distances").views[0]
    drawn = {(row["kind"], row["distance"]): row["value"] for row in rows(free.tables["rows"])}
    assert free.title == "free heads" and drawn["positional", "1"] == near and drawn["positional", "6+"] == far
    assert drawn["contextual", "3–5"] == pytest.approx(1 - far)
    assert f"position alone at distance 1: {100 * near:.1f} %" in page.sections[0].body


def test_every_encoding_and_group_is_drawn_from_both_sides() -> None:
    page = made()
    both_sides, alone = charts_of(page, "distances")[:2], charts_of(page, "distances")[2:]
    assert [len(chart.views) for chart in both_sides] == [len(GROUPS)] * 2 and len(alone) == len(SUBJECTS)
    assert sum(section.body.count('data-chart="distances') for section in page.sections) == 2 + len(SUBJECTS)
    assert "to head, free heads" in both_sides[0].label and "to dependent, free heads" in both_sides[1].label
    for (name, *_), chart in zip(sorted(SUBJECTS, key=lambda each: GROUPS.index(each[1])), alone, strict=True):
        assert f"to head, {'position table' if name == 'learned' else name}." in chart.label
    assert {row["relation"] for row in rows_of(page, "relations")} == set(RELATIONS)
    assert [len(chart.views) for chart in charts_of(page, "relations")] == [len(GROUPS)] * 2


def test_relations_are_sorted_from_neighbours_to_far_words() -> None:
    orders = {row["relation"]: row["order"] for row in rows_of(made(), "relations")}
    assert orders == {relation: place for place, relation in enumerate(RELATIONS)}


def test_shares_and_intervals_stay_between_none_and_all() -> None:
    for name in ("distances", "relations", "places"):
        drawn = rows_of(made(near=0.99, far=0.0), name)
        assert drawn and all(0 <= row["low"] <= row["value"] <= row["high"] <= 1 for row in drawn)


def test_one_seed_has_no_intervals() -> None:
    drawn = rows_of(made(seeds=1), "distances")
    assert drawn and all(row["low"] is None and row["high"] is None for row in drawn)
    assert drawn[0]["tip"] == "position alone, distance 1: 90.0 %"
    with_intervals = rows_of(made(), "distances")[0]
    assert with_intervals["tip"] == "position alone, distance 1: 90.0 % (85.0 to 95.0)"


def test_names_from_outside_never_become_markup() -> None:
    text = render(made())
    assert "<script>alert('x')" not in text and "Near &lt;i&gt;by&lt;/i&gt; place." in text
    for chart in made().placed:  # nor part of an expression: names are data, and groups are our own words
        for name in (*RELATIONS, *(subject for subject, *_ in SUBJECTS)):
            assert not {"'", "<"} & set(name) or name not in json.dumps(chart.charts)


def test_the_table_has_what_was_published_beside_it() -> None:
    table = next(section for section in made().sections if section.name == "table")
    assert "det 94.3 / 51.7" in table.body and "1,234" in table.body
    assert "other text" in table.lede


def test_the_legend_of_curves_has_no_free_heads() -> None:
    for chart in charts_of(made(), "places"):
        assert "'values': {'expr': '{groups}'}" in str(chart.spec)
        groups = {view.title: view.words["groups"] for view in chart.views}
        assert groups.pop("curves") == "['one-sided', 'symmetric']"
        assert set(groups.values()) == {"['free', 'one-sided', 'symmetric']"}
        assert groups.keys() == {"full attention", "content alone", "position alone"}


def test_the_correlation_stands_below_its_chart() -> None:
    for chart in charts_of(made(), "places"):
        assert {view.words["x title"] for view in chart.views} == {"locality, r +0.50 (−0.20 to +0.90)"}


def test_ties_are_told_of_in_one_way() -> None:
    assert render(made()).count("ties go to the word before") == 2


def test_a_table_without_encodings_is_refused() -> None:
    table, manifest = syntax_run()
    with pytest.raises(UserError, match="has no encoding that was probed; run `wherewhat reproduce syntax` again"):
        page_of_syntax(table.filter(part="run"), manifest)


def test_pictures_are_drawn_for_files() -> None:
    page = made()
    views = ("", "_one_sided_curves", "_symmetric_or_none", "_all_that_tell_sides_apart")
    sides = ("to_head", "to_dependent")
    assert set(page.figures) == {f"{n}_{s}{v}" for n in ("distances", "relations") for s in sides for v in views}
    small = Page(page.title, page.kind, page.lede, [], [replace(page.sections[0], body=join(page.chart("distances")))])
    assert len(figures(small)) == len(GROUPS) and figures(small)["distances_to_head"].startswith(b"\x89PNG")


@pytest.mark.browser
@pytest.mark.parametrize(("width", "light"), [(1280, "light"), (390, "dark")])
def test_it_can_be_seen(shown: Callable[..., Any], width: int, light: str) -> None:
    with shown(made(), width=width, color_scheme=light) as tab:
        first = tab.locator("#answer [data-widget=drawn]").first
        assert first.locator("svg").count() == 1
        first.get_by_role("button", name="all that tell sides apart").click()
        assert tab.locator("#encodings [data-widget=drawn] svg").count() == len(SUBJECTS)
        assert tab.locator("#locality [data-widget=drawn] svg").count() == 2


def test_distances_are_named_as_the_study_names_them() -> None:
    assert {row["distance"] for row in rows_of(made(), "distances")} == {
        name.replace("-", "–") for name in DISTANCES.values()
    }
