"""The page of swapped words, from tables alone: what it says in opposite worlds, and what is hostile to it."""

import polars as pl
import pytest
from dict_manifests import WordSwapPageData, page_of_word_swap

from wherewhat.errors import UserError
from wherewhat.report.render import render
from wherewhat.report.word_swap import columns_of
from wherewhat.report.word_swap_chart_data import panels_of, tables_of
from wherewhat.tables.schema import RESULT, frame

CURVES = (("log w 0.1", 1.0), ("log w 0.2 s 0", 0.0))
HOSTILE = "<script>alert(1)</script>"


def run(*, after: float = 0.6, seeds: int = 3) -> tuple[pl.DataFrame, dict]:
    """A table with two curves and a table of positions, and its manifest."""
    rows, names = [], [name for name, _ in CURVES] + ["learned", HOSTILE]
    for name in names:
        for question in ("content", "names", "roles"):
            told = {("original", "accuracy"): 0.9, ("exchange", "before"): 0.9, ("exchange", "accuracy"): after}
            told |= {("exchange", measure): 0.25 for measure in ("followed", "old label", "shift", "control change")}
            if question != "names":
                told |= {(size, "change"): -0.04 for size in ("3", "4", "5", "6", "whole")}
                told |= {("voice", "change"): -0.01}
            for (swap, measure), value in told.items():
                ends = (value - 0.02, value + 0.02) if seeds > 1 else (None, None)
                rows.append(("mean", name, f"{question}, {swap}", None, None, measure, value, *ends))
    about = {
        "subjects": [{"name": name, "s": dict(CURVES).get(name), "encoding": name} for name in names],
        "groups": [[0.3, [name for name, _ in CURVES]]],
        "learnt": {"content": names, "names": ["learned"], "roles": ["learned"]},
        "bag": {"content": 1.0, "names": 0.5, "roles": 2 / 3},
        "seeds": seeds,
        "answers": {"blindness": {"lead": "Nets overlook it.", "rest": "By so much."}},
        "examples": [{"item": "3", "label": "a", "new": "a", "sentences": [{"words": [HOSTILE, "."], "swapped": []}]}],
    }
    return frame(rows, RESULT), {"about": about, "claims": [], "notes": ["A note."]}


def test_the_answer_comes_first_and_is_the_study_s_own() -> None:
    page = page_of_word_swap(*run())
    assert page.sections[0].name == "exchange" and page.sections[0].lede == "Nets overlook it."
    assert [section.name for section in page.sections][-2:] == ["claims", "made"]
    assert "not learnt" in render(page)


def test_tables_show_before_and_after_in_per_cent_with_published_rows_beside() -> None:
    tables = tables_of(WordSwapPageData(*run(after=0.6)))
    shown = zip(*(tables["exchanged"][name] for name in ("question", "encoding", "state", "value")), strict=True)
    assert ("roles", "learned", "exchanged", 60.0) in set(shown)
    assert sorted(set(tables["levels"]["value"])) == pytest.approx([50, 200 / 3, 100])
    assert len(tables["published"]["value"]) == 20 and min(tables["published"]["value"]) == -6.0
    assert set(tables["published"]["measure"]) == {"content"}
    assert set(tables["sides"]["s"]) == {"0", "1"} and next(iter(tables["sides"]["s"])) == "0"


def test_other_numbers_make_another_page() -> None:
    one, other = (render(page_of_word_swap(*run(after=after))) for after in (0.6, 0.2))
    assert one != other and "20.0 %" in other and "20.0 %" not in one


def test_views_are_all_that_learnt_it_if_there_are_rows_and_each_encoding() -> None:
    table, manifest = run()
    assert list(panels_of(WordSwapPageData(table, manifest), "content")) == [
        *(name for name, _ in CURVES),
        "learned",
        HOSTILE,
    ]
    pooled = frame([("mean", "learnt", "content, whole", None, None, "change", -0.1, -0.2, 0.0)], RESULT)
    assert (
        next(iter(panels_of(WordSwapPageData(pl.concat([table, pooled]), manifest), "content"))) == "all that learnt it"
    )


def test_what_is_hostile_is_escaped() -> None:
    assert HOSTILE not in render(page_of_word_swap(*run()))


def test_curves_stand_by_s_whatever_their_locality_and_those_that_lean_come_last() -> None:
    table, manifest = run()
    told = [{"name": "leaning 1 w 0.1", "s": None}, {"name": "log w 0.3 s 4", "s": 4.0}]
    about = manifest["about"] | {"subjects": [*manifest["about"]["subjects"], *told]}
    about["groups"] = [[0.3, [*(name for name, _ in CURVES), told[0]["name"]]], [0.6, [told[1]["name"]]]]
    more = [("mean", one["name"], "names, original", None, None, "accuracy", 0.9, None, None) for one in told]
    found = WordSwapPageData(pl.concat([table, frame(more, RESULT)]), {"about": about})
    assert [(at, one.side) for at, one in found.curves] == [(0.3, "0"), (0.3, "1"), (0.6, "4"), (0.3, "leaning 1")]


def test_changes_have_a_true_minus_sign_and_examples_their_labels() -> None:
    table, manifest = run()
    manifest["about"]["examples"][0] |= {"label": "entailed", "new": "reversed"}
    text = render(page_of_word_swap(table, manifest))
    assert ">−4.0<" in text and ">-4.0<" not in text
    assert "Right label: entailed → reversed" in text


def test_one_seed_has_no_intervals_and_is_drawn_all_the_same() -> None:
    assert "one seed only" in render(page_of_word_swap(*run(seeds=1))).lower()


def test_a_table_without_answers_is_refused() -> None:
    with pytest.raises(UserError, match="no encoding that answered; run `wherewhat reproduce word-swap` again"):
        page_of_word_swap(frame([], RESULT), {})


def test_there_are_pictures_of_every_question_and_names_are_not_shuffled() -> None:
    made = page_of_word_swap(*run()).figures
    drawn = {f"{what}_{question}" for what in ("exchange", "symmetry") for question in ("content", "names", "roles")}
    assert set(made) == drawn | {"shuffles_content", "shuffles_roles"}


def test_symmetry_is_first_shown_by_names_that_are_followed_and_tables_have_no_empty_columns() -> None:
    text = render(page_of_word_swap(*run()))
    shown = text[text.index("After a role swap, by s") :]
    assert shown.index("followed, names") < shown.index("accuracy, names") < shown.index("followed, roles")
    found = WordSwapPageData(*run())
    assert list(columns_of(found, "names")) == ["original", "role swap", "followed", "old label", "control"]
    assert len(columns_of(found, "roles")) == 11
