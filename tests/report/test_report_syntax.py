"""The page of the study of relations: near and far first, nothing hard-wired, nothing harmful, and it can be seen."""

from collections.abc import Callable
from typing import Any

import pytest
from dict_manifests import page_of_reproduction, page_of_syntax
from synthetic_syntax import ASKED, DISTANCES, GROUPS, RELATIONS, SUBJECTS, syntax_run

from wherewhat.errors import UserError
from wherewhat.report.figures import figures
from wherewhat.report.page import Page
from wherewhat.report.render import render


def made(**world: Any) -> Page:
    return page_of_reproduction(*syntax_run(**world))


def rows_of(page: Page, table: str) -> list[dict[str, Any]]:
    columns = page.tables[table]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_near_and_far_comes_first_in_the_words_of_the_study() -> None:
    page = made()
    names = [section.name for section in page.sections]
    assert names == [*("answer", "encodings", "relations", "table", "locality", "learnt", "shuffled", "claims", "made")]
    assert page.sections[0].lede == "The lead on short; The lead on long."
    text = render(page)
    for name in ASKED:
        assert f"The lead on {name}" in text and f"The rest on {name} &lt;1&gt;." in text


def test_no_answer_is_made_up_where_the_study_has_none() -> None:
    table, manifest = syntax_run()
    page = page_of_syntax(table, {**manifest, "about": {**manifest["about"], "answers": {}}})
    assert page.sections[0].lede == "What each part of attention finds, near and far."
    assert "The lead on" not in render(page)


@pytest.mark.parametrize(("near", "far"), [(0.9, 0.1), (0.2, 0.8)])
def test_the_chart_shows_the_world_as_it_is(near: float, far: float) -> None:
    page = made(near=near, far=far)
    shown = {
        (row["kind"], row["distance"]): row["value"] for row in rows_of(page, "distances") if row["panel"] == "free 0"
    }
    assert shown["positional", "1"] == near and shown["positional", "6+"] == far
    assert shown["contextual", "3–5"] == pytest.approx(1 - far)
    assert f"{100 * near:.0f} % at 1" in page.sections[0].body


def test_every_encoding_and_group_is_drawn_from_both_sides() -> None:
    page = made()
    panels = {row["panel"] for row in rows_of(page, "distances")}
    assert len(panels) == 2 * (len(SUBJECTS) + len(GROUPS))
    drawn = sum(section.body.count('data-chart="distances"') for section in page.sections)
    assert drawn == 2 + len(SUBJECTS)
    assert {row["relation"] for row in rows_of(page, "relations")} == set(RELATIONS)


def test_shares_and_intervals_stay_between_none_and_all() -> None:
    for table in ("distances", "relations", "places"):
        for row in rows_of(made(near=0.99, far=0.0), table):
            assert 0 <= row["low"] <= row["value"] <= row["high"] <= 1


def test_one_seed_has_no_intervals() -> None:
    rows = rows_of(made(seeds=1), "distances")
    assert all(row["low"] == row["value"] == row["high"] for row in rows)


def test_names_from_outside_never_become_markup() -> None:
    text = render(made())
    assert "<script>alert('x')" not in text and "Near &lt;i&gt;by&lt;/i&gt; place." in text
    for table in ("distances", "relations"):
        assert not [row for row in rows_of(made(), table) if set(row["panel"]) & set("'<>`")]


def test_the_table_has_what_was_published_beside_it() -> None:
    table = next(section for section in made().sections if section.name == "table")
    assert "det 94.3 / 51.7" in table.body and "1,234" in table.body
    assert "other text" in table.lede


def test_the_legend_of_curves_has_no_free_heads() -> None:
    legend = str(made().charts["places"])
    assert "'{by}' == 'bias.locality' ? ['one-sided', 'symmetric'] : ['free', 'one-sided', 'symmetric']" in legend


def test_ties_are_told_of_in_one_way() -> None:
    assert render(made()).count("ties go to the word before") == 2


def test_a_table_without_encodings_is_refused() -> None:
    table, manifest = syntax_run()
    with pytest.raises(UserError, match="has no encoding that was probed; run `wherewhat reproduce syntax` again"):
        page_of_syntax(table.filter(part="run"), manifest)


def test_pictures_are_drawn_for_files() -> None:
    page = made()
    assert {"distances_free_to_head", "relations_sided_to_dependent", "distances_one_sided_to_head"} <= set(
        page.figures
    )
    one = {"distances": page.figures["distances_free_to_head"]}
    small = Page(page.title, page.kind, page.lede, [], [], figures=one)
    assert figures(small)["distances"].startswith(b"\x89PNG")


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
