"""The page of swapped words, from tables alone: what it says in opposite worlds, and what is hostile to it."""

import re
from typing import Any

import polars as pl
import pytest
from dict_manifests import page_of_word_swap

from wherewhat.errors import UserError
from wherewhat.report.core.figures import rows
from wherewhat.report.core.page import Page
from wherewhat.report.core.render import render
from wherewhat.tables.schema import RESULT, frame

CURVES = (("log w 0.1", 1.0), ("log w 0.2 s 0", 0.0))
HOSTILE = "<script>alert(1)</script>"


def run(*, after: float = 0.6, seeds: int = 3) -> tuple[pl.DataFrame, dict]:
    """A table with two curves and a table of positions, and its manifest."""
    made, names = [], [name for name, _ in CURVES] + ["learned", HOSTILE]
    for name in names:
        for question in ("content", "names", "roles"):
            told = {("original", "accuracy"): 0.9, ("exchange", "before"): 0.9, ("exchange", "accuracy"): after}
            told |= {("exchange", measure): 0.25 for measure in ("followed", "old label", "shift", "control change")}
            if question != "names":
                told |= {(size, "change"): -0.04 for size in ("3", "4", "5", "6", "whole")}
                told |= {("voice", "change"): -0.01}
            for (swap, measure), value in told.items():
                ends = (value - 0.02, value + 0.02) if seeds > 1 else (None, None)
                made.append(("mean", name, f"{question}, {swap}", None, None, measure, value, *ends))
    about = {
        "subjects": [{"name": name, "s": dict(CURVES).get(name), "encoding": name} for name in names],
        "groups": [[0.3, [name for name, _ in CURVES]]],
        "learnt": {"content": names, "names": ["learned"], "roles": ["learned"]},
        "seeds": seeds,
        "answers": {"blindness": {"lead": "Nets overlook it", "rest": "By so much."}},
        "examples": [{"item": "3", "label": "a", "new": "a", "sentences": [{"words": [HOSTILE, "."], "swapped": []}]}],
    }
    return frame(made, RESULT), {"about": about, "claims": [], "notes": ["A note."]}


def drawn_rows(page: Page, chart: str, table: str = "rows") -> list[Any]:
    """The rows of a chart, in its first view."""
    return rows(page.chart(chart).views[0].tables[table])


def views_of(page: Page, chart: str) -> list[str]:
    return [view.title for view in page.chart(chart).views]


def test_the_answer_comes_first_and_is_the_study_s_own() -> None:
    page = page_of_word_swap(*run())
    assert page.sections[0].name == "exchange" and page.sections[0].lede == "Nets overlook it."
    assert [section.name for section in page.sections][-2:] == ["claims", "made"]
    assert "not learnt" in render(page)


def test_charts_show_before_and_after_in_per_cent_with_published_rows_beside() -> None:
    page = page_of_word_swap(*run(after=0.6))
    states = {(row["subject"], row["state"]): row for row in drawn_rows(page, "exchange_roles")}
    assert states["learned", "after"]["value"] == 0.6
    assert states["learned", "after"]["tip"] == "learned, after the role swap: 60.0\xa0% (58.0 to 62.0) right"
    bags = [drawn_rows(page, f"exchange_{name}", "levels")[0]["value"] for name in ("names", "roles", "content")]
    assert bags == pytest.approx([1 / 2, 2 / 3, 1])
    published = [row for row in drawn_rows(page, "shuffles_content") if row["kind"] == "published"]
    assert len(published) == 20 and min(row["value"] for row in published) == -6.0
    assert {row["kind"] for row in drawn_rows(page, "shuffles_roles")} == {"swap"}
    assert [row["s"] for row in drawn_rows(page, "symmetry")] == ["0", "1"]


def test_changes_are_drawn_in_points_with_their_controls_and_never_beyond_a_hundred() -> None:
    table, manifest = run()
    more = [("mean", "learned", "roles, 3", None, None, "control change", -0.5, -1.4, 0.4)]
    page = page_of_word_swap(pl.concat([table, frame(more, RESULT)]), manifest)
    learned = page.chart("shuffles_roles").views[2]
    marks = {(row["kind"], row["line"]): row for row in rows(learned.tables["rows"])}
    assert marks["swap", "3 words"]["value"] == pytest.approx(-4) and ("control", "4 words") not in marks
    assert marks["control", "3 words"]["low"] == -100 and "control: −50.0 points" in marks["control", "3 words"]["tip"]
    assert (learned.words["floor"], learned.words["ceiling"]) == ("-107", "47")


def test_other_numbers_make_another_page() -> None:
    one, other = (render(page_of_word_swap(*run(after=after))) for after in (0.6, 0.2))
    assert one != other and "20.0 %" in other and "20.0 %" not in one


def test_views_are_all_that_learnt_it_if_there_are_rows_and_each_encoding() -> None:
    table, manifest = run()
    encodings = [*(name for name, _ in CURVES), "learned", HOSTILE]
    assert views_of(page_of_word_swap(table, manifest), "shuffles_content") == encodings
    pooled = frame([("mean", "learnt", "content, whole", None, None, "change", -0.1, -0.2, 0.0)], RESULT)
    page = page_of_word_swap(pl.concat([table, pooled]), manifest)
    assert views_of(page, "shuffles_content") == ["all that learnt it", *encodings]


def test_what_is_hostile_is_escaped() -> None:
    assert HOSTILE not in render(page_of_word_swap(*run()))


def test_curves_stand_by_s_whatever_their_locality_and_those_that_lean_come_last() -> None:
    table, manifest = run()
    told = [{"name": "leaning 1 w 0.1", "s": None}, {"name": "log w 0.3 s 4", "s": 4.0}]
    about = manifest["about"] | {"subjects": [*manifest["about"]["subjects"], *told]}
    about["groups"] = [[0.3, [*(name for name, _ in CURVES), told[0]["name"]]], [0.6, [told[1]["name"]]]]
    more = [
        ("mean", one["name"], f"names, {swap}", None, None, measure, 0.9, None, None)
        for one in told
        for swap, measure in (("original", "accuracy"), ("exchange", "followed"))
    ]
    page = page_of_word_swap(pl.concat([table, frame(more, RESULT)]), {**manifest, "about": about})
    found = [(row["locality"], row["s"]) for row in drawn_rows(page, "symmetry")]
    assert found == [("0.3", "0"), ("0.3", "1"), ("0.6", "4"), ("0.3", "leaning 1")]


def test_changes_have_a_true_minus_sign_and_examples_their_labels() -> None:
    table, manifest = run()
    manifest["about"]["examples"][0] |= {"label": "entailed", "new": "reversed"}
    text = render(page_of_word_swap(table, manifest))
    assert ">−4.0<" in text and ">-4.0<" not in text
    assert "Right label: entailed → reversed" in text
    assert "Right label: a, before and after" in render(page_of_word_swap(*run()))


def test_one_seed_has_no_intervals_and_is_drawn_all_the_same() -> None:
    assert "one seed only" in render(page_of_word_swap(*run(seeds=1))).lower()


def test_a_table_without_answers_is_refused() -> None:
    with pytest.raises(UserError, match="no encoding that answered; run `wherewhat reproduce word-swap` again"):
        page_of_word_swap(frame([], RESULT), {})


def test_there_are_pictures_of_every_question_and_names_are_not_shuffled() -> None:
    made = set(page_of_word_swap(*run()).figures)
    drawn = {f"{what}_{question}" for what in ("exchange", "shuffles") for question in ("content", "roles")}
    assert drawn | {"exchange_names", "symmetry", "symmetry_followed_roles", "symmetry_followed_content"} <= made
    assert "shuffles_content_learned" in made and not any(name.startswith("shuffles_names") for name in made)


def test_symmetry_is_first_shown_by_names_that_are_followed_and_tables_have_no_empty_columns() -> None:
    page = page_of_word_swap(*run())
    shown = views_of(page, "symmetry")
    assert shown[:4] == ["followed, names", "accuracy, names", "shift, names", "followed, roles"] and len(shown) == 9
    assert [view.words["y title"] for view in page.chart("symmetry").views][::4] == [
        "role swaps that are followed",
        "accuracy after the role swap",
        "change of probabilities",
    ]
    body = next(section.body for section in page.sections if section.name == "numbers")
    heads = [re.findall(r"<th scope=\"col\">([^<]*)", head) for head in re.findall("<thead>.*?</thead>", body)]
    content, names, roles = heads
    assert names == ["encoding", "original", "role swap", "followed", "old label", "control"]
    assert content == roles and len(roles) == 12
