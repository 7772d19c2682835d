"""The page of locality and symmetry, drawn from a table alone: what it says in opposite worlds, and in a browser."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from dict_manifests import of_dicts, page_of_locality, page_of_reproduction
from synthetic_locality import BAG, HELPS, HOSTILE, HURTS, NEITHER, QUESTIONS, World, bell, locality_run, subjects

from wherewhat.errors import UserError
from wherewhat.report.core.figures import figures
from wherewhat.report.core.page import Chart, Page
from wherewhat.report.core.render import render
from wherewhat.studies.engine.results import Cell, ResultRow, ResultTable
from wherewhat.studies.locality.charts import LINE, PROPERTIES, apart, span
from wherewhat.studies.locality.page import GAPS, OURS, SMALL, WIDE, left_out, overall, read
from wherewhat.studies.locality.summaries import CONTRASTS, MATCHED, PREDICTORS
from wherewhat.tables.manifest.study import LocalitySection

ONE_SEED = replace(HELPS, seeds=1)
Found = tuple[ResultTable, LocalitySection]  # what the page reads


def read_page(result: pl.DataFrame, manifest: Any) -> Found:
    return of_dicts("reproduce", lambda table, whole: read(table, whole.about), "locality")(result, manifest)


@pytest.fixture(scope="module")
def found() -> Found:
    return read_page(*locality_run(HELPS))


@pytest.fixture(scope="module")
def page() -> Page:
    return page_of_locality(*locality_run(HELPS))


def accuracy(found: Found, name: str) -> ResultRow:
    row = found[0].row(name, Cell("mean", "accuracy", "all"))
    assert row is not None
    return row


def rows(chart: Chart, view: int = 0, table: str = "rows") -> pl.DataFrame:
    """What a chart draws in one of its views."""
    return pl.DataFrame(chart.views[view].tables[table], strict=False)


def charts(page: Page, section: str) -> list[Chart]:
    (its,) = (each for each in page.sections if each.name == section)
    return [chart for chart in its.body.placed if isinstance(chart, Chart)]


def questions(page: Page, axis: str = "locality") -> list[Chart]:
    """The charts against locality or balance: over all questions, and of each."""
    return [page.chart(name) for name in (axis, *(f"{axis}_{number}" for number in range(1, 1 + len(QUESTIONS))))]


def words(page: Page, name: str) -> str:
    """What a section says, without its tags."""
    (section,) = (section for section in page.sections if section.name == name)
    return unescape(re.sub(r"<[^>]+>", " ", f"{section.title}. {section.lede} {section.body}"))


def test_it_begins_with_the_answer(page: Page) -> None:
    names = [section.name for section in page.sections]
    assert names == [
        *("answer", "locality", "symmetry", "numbers", "stability", "decoders", "leaning", "claims", "made")
    ]
    assert {what: number for number, what in page.facts} == {
        "encodings": str(len(subjects())),
        "questions": "5",
        "seeds": "3",
        "nets": str(3 * len(subjects())),
        "summed over 2 processes": "2 h 1 min",  # of all runs, and not of the last command
    }


def test_what_a_reader_cannot_know_is_said_where_it_first_stands(page: Page) -> None:
    assert "e^(−w·distance²)" in page.lede and "below 1 flatter ahead, above 1 steeper, 1 symmetric" in page.lede
    first = words(page, "answer")
    assert "seeds, which draw" in first and "a partial correlation controls locality" in first
    assert "In frozen nets only a layer on top is trained" in words(page, "locality")
    assert "nats (natural logarithm)" in words(page, "numbers")


def test_symmetry_is_first_seen_at_the_same_locality(page: Page) -> None:
    titles = [view.title for view in charts(page, "answer")[1].views]
    assert titles[:3] == list(GAPS["symmetry"])
    assert all("same locality" in GAPS["symmetry"][title] for title in titles[:2])
    assert "confounded" in titles[2] and "that view is confounded" in words(page, "answer")


def test_leaning_is_held_against_all_that_the_study_holds_it_against(page: Page) -> None:
    roles, gains = charts(page, "leaning")
    names = ["over symmetric", "over one-sided", "over not learned", "over rope", "not learned over symmetric"]
    assert sorted(view.title for view in gains.views) == sorted(names)
    assert all(rows(gains, number).height == 1 + len(QUESTIONS) for number in range(len(names)))
    assert set(rows(roles)["kind"]) == {"symmetric", "not learned", "leaning"}


def test_words_alone_are_a_level_like_chance(page: Page) -> None:
    levels = rows(page.chart("locality_1"), table="names").filter(pl.col("level"))
    assert dict(zip(levels["name"], levels["value"], strict=True)) == {"chance": 0.5, "words alone": BAG["number"]}
    assert words(page, "numbers").count("bag of words") == 1 and "bag of words" not in json.dumps(page.tables)
    result, manifest = locality_run(HELPS)
    older = page_of_locality(result.filter(pl.col("subject") != "bag of words"), manifest)
    assert "words alone" not in json.dumps(older.tables) and "Words alone" not in words(older, "locality")


def test_one_word_does_not_mean_two_things(page: Page) -> None:
    for chart in questions(page):
        names = rows(chart, table="names")["name"]
        assert "position table" in names and "learned" not in names
    assert "position table" in words(page, "numbers")
    assert '"learned": "learned curve"' in str(page.chart("stability").spec)


def test_an_interval_that_there_is_not_is_left_out() -> None:
    result, manifest = locality_run(ONE_SEED)
    page = page_of_locality(result, manifest)
    table = words(page, "numbers")
    assert "±" not in table and "One seed only." in table and "95 %" not in table
    assert "seeds" not in {what for _, what in page.facts}
    assert "One seed only." in words(page, "locality")


def test_the_table_has_every_encoding_and_the_best_in_bold(page: Page, found: Found) -> None:
    (section,) = (section for section in page.sections if section.name == "numbers")
    lines = re.findall(r"<tr>(<th scope=\"row\".*?)</tr>", section.body)
    assert len(lines) == len(subjects()) + 1  # and a bag of words
    assert f"All {len(subjects())} encodings" in section.lede
    best = [line for line in lines if "<b>" in line]
    assert ">log w 5</th>" in best[0] and all("decoder" not in line for line in best)
    row = accuracy(found, "log w 5")
    reach = 50 * (row["high"] - row["low"])
    assert f'<b>{100 * row["value"]:.1f}<span class="reach"> ± {reach:.1f}</span></b>' in best[0]


def test_all_that_are_best_are_bold_but_no_decoder_is() -> None:
    result, manifest = locality_run(HELPS)
    equal = ["decoder w 2", "log w 5", "rope"]
    here = pl.col("part").eq("mean") & pl.col("subject").is_in(equal) & pl.col("measure").eq("accuracy")
    page = page_of_locality(result.with_columns(value=pl.when(here).then(0.99).otherwise("value")), manifest)
    (section,) = (section for section in page.sections if section.name == "numbers")
    lines = re.findall(r"<tr>(<th scope=\"row\".*?)</tr>", section.body)
    bold = [re.findall(r">([^<]+)</th>", line)[0] for line in lines if line.count("<b>") == 1 + len(QUESTIONS)]
    assert bold == ["log w 5", "rope"]


def test_points_lie_where_they_were_measured(page: Page, found: Found) -> None:
    chart, balance, name = page.chart("locality"), page.chart("balance"), "log w 0.5 s 0.25"

    def point(chart: Chart, view: int) -> dict[str, Any]:
        return rows(chart, view).filter(pl.col("tip").str.starts_with(f"{name}: ")).row(0, named=True)

    assert [view.title for view in chart.views] == ["trained nets", "the curve itself", "frozen nets"]
    drawn = pl.concat([rows(each, view, table)["tip"] for each in (chart, balance) for view in range(3)
                       for table in ("rows", "references")])  # fmt: skip
    assert not drawn.str.contains("decoder").any()
    near, even = bell(0.5, 0.25)
    assert point(chart, 1)["x"] == pytest.approx(near) and point(balance, 1)["x"] == pytest.approx(even)
    one, row = point(chart, 0), accuracy(found, name)
    assert one["x"] == pytest.approx(0.17 + 0.9 * (near - 0.17)) and one["line"] is None
    assert one["look"] == "sided" and point(balance, 0)["line"] == "w 0.5"
    assert [one[end] for end in ("value", "low", "high")] == [row[end] for end in ("value", "low", "high")]
    assert point(chart, 2)["value"] == pytest.approx(0.9 * row["value"])


def test_curves_of_another_w_are_faint_beside_lines_of_one(page: Page) -> None:
    table = rows(page.chart("balance"))
    faint = table.filter(look="faint")
    assert faint.height == 7 and faint["line"].is_null().all() and faint["low"].is_null().all()
    assert set(table.filter(pl.col("line").is_not_null())["line"]) == {"w 0.1", "w 0.5"}
    labels = table.drop_nulls("label")
    lowest = table.drop_nulls("line").group_by("line").agg(pl.col("x").min())
    assert dict(labels.select("line", "x").iter_rows()) == dict(lowest.iter_rows())
    assert sorted(rows(page.chart("locality")).drop_nulls("label")["label"]) == ["w 0.001", "w 5"]


def test_intervals_end_where_shares_end() -> None:
    run = locality_run(replace(HELPS, seeds=2))  # two seeds say little, and their intervals are wide
    (table, about), page = read_page(*run), page_of_locality(*run)
    assert table.where(part="mean", measure="accuracy").filter(pl.col("high") > 1).height > 0
    ends = [rows(chart).select("low", "high") for chart in questions(page)]
    for drawn in (pl.concat(ends), rows(page.chart("roles"))):
        assert drawn["low"].min() >= 0 and drawn["high"].max() == 1
    assert all(0 <= low < high <= 1 for low, high in (span(table, question) for question in about.questions))


def test_two_seeds_that_happen_to_agree_decide_nothing() -> None:
    result, manifest = locality_run(replace(HELPS, seeds=2))
    gap = pl.col("part") == "contrast"  # whose intervals have no length where both seeds give the same
    same = [pl.when(gap).then(pl.col("value")).otherwise(pl.col(end)).alias(end) for end in ("low", "high")]
    chart = charts(page_of_locality(result.with_columns(same), manifest), "answer")[0]
    sides = {view.title: set(view.tables["rows"]["side"]) for view in chart.views}
    assert (sides["over flattest"], sides["correlation"]) == ({"unclear"}, {"above"})


def test_no_two_names_of_references_touch() -> None:
    run = locality_run(NEITHER)  # where all accuracies are nearly the same
    (table, about), page = read_page(*run), page_of_locality(*run)
    for number, (question, chart) in enumerate(zip((overall(about), *about.questions), questions(page), strict=True)):
        low, high = span(table, question)
        here = rows(chart, table="names")
        assert len(here) == 7 + 2 and chart.height == (SMALL if number else WIDE)
        levels = sorted(here["beside"])
        assert low - 1e-9 <= levels[0] and levels[-1] <= high + 1e-9
        assert all(after - level >= LINE * (high - low) / chart.height - 1e-9 for level, after in pairwise(levels))


@pytest.mark.parametrize("values", [[0.5, 0.5, 0.5], [0.1, 0.9, 0.12, 0.95], [0.99, 0.98, 0.97], [0.0, 0.01], []])
def test_names_are_moved_no_further_than_needed(values: list[float]) -> None:
    placed = apart(values, 0.1, (0.0, 1.0))
    assert all(b - a >= 0.1 - 1e-9 for a, b in pairwise(sorted(placed)))
    order = sorted(range(len(values)), key=lambda i: values[i])
    assert [placed[i] for i in order] == sorted(placed)
    free = [
        i for i in range(len(values)) if all(abs(values[i] - other) > 0.25 for other in values if other != values[i])
    ]
    assert all(placed[i] == pytest.approx(values[i]) for i in free if values.count(values[i]) == 1)


def test_the_page_reads_names_that_the_study_writes() -> None:
    assert {name for its in GAPS.values() for name in its.values()} <= {*CONTRASTS, *MATCHED}
    assert any(name.startswith(start) for start in OURS for name in CONTRASTS)
    assert {predictor for _, predictor in PROPERTIES.values()} <= set(PREDICTORS)


def test_every_chart_finds_its_numbers(page: Page) -> None:
    drawn = {name for section in page.sections for name in re.findall(r'data-chart="([\w-]+)"', section.body)}
    assert drawn == set(page.charts)
    for chart in (chart for section in page.sections for chart in charts(page, section.name)):
        for table in re.findall(r'"data": \{"name": "(\w+)"\}', json.dumps(chart.spec)):
            assert all(view.tables[table] for view in chart.views), (chart.name, table)


def test_a_readers_file_name_never_becomes_markup_or_an_expression(page: Page) -> None:
    text = render(page)
    assert HOSTILE not in text and "<script>alert" not in text and "&lt;script&gt;alert" in text
    assert "Which label of &lt;b&gt;four&lt;/b&gt;?" in text and "closely &lt;i&gt;" in text
    for section in page.sections:
        for given in re.findall(r'data-(?:words|views)="([^"]*)"', section.body):
            assert "alert" not in given
    assert "alert" not in json.dumps(page.charts)


def test_it_is_the_page_of_the_reproduction(page: Page) -> None:
    assert page_of_reproduction(*locality_run(HELPS)) == page


def test_a_table_without_accuracies_is_refused() -> None:
    result, manifest = locality_run(HELPS)
    with pytest.raises(UserError, match="the table has no encoding with an accuracy; run `wherewhat reproduce loc"):
        page_of_locality(result.filter(pl.col("part") != "mean"), manifest)
    with pytest.raises(UserError, match="no encoding with an accuracy"):
        page_of_locality(result, {"reproduction": "locality"})


def test_families_that_were_not_tried_are_not_there() -> None:
    result, manifest = locality_run(HELPS)
    gone = [one["name"] for one in subjects() if one["family"] in ("ours", "raw", "learned", "decoder", "reference")]
    few = result.filter(~pl.col("subject").is_in([*gone, "decoder locality"]))
    page = page_of_locality(few.filter(~pl.col("subject").str.contains("leaning|decoder")), manifest)
    assert "Nothing to draw." in words(page, "leaning") and "Nothing to draw." in words(page, "decoders")
    assert '"raw"' not in json.dumps(page.chart("stability").spec["layer"][-1]["encoding"])


def test_lines_are_said_to_turn_back_only_where_they_do(page: Page) -> None:
    assert "turns back" in words(page, "symmetry")
    result, manifest = locality_run(HELPS)
    told = [{**one, "s": 0.75} if one["s"] == 2 else one for one in manifest["about"]["subjects"]]
    about = {**manifest["about"], "subjects": told}
    assert "turns back" not in words(page_of_locality(result, {**manifest, "about": about}), "symmetry")


def test_pictures_can_be_drawn_whatever_a_question_is_called(page: Page) -> None:
    views = ("", *(f"_{number}" for number in range(1, 6)), "_the_curve_itself", "_frozen_nets")
    assert set(page.figures) == {f"{axis}{view}" for axis in ("locality", "balance") for view in views}
    assert page.figures["locality"].spec["title"]["text"] == "Accuracy against locality: all questions"
    first, second, third = page.figures["locality"].spec["title"]["subtitle"]
    assert first.startswith("r +") and second.startswith("controlled for symmetry") and third == "trained nets"
    assert page.figures["locality_frozen_nets"].spec["title"]["subtitle"] == ["frozen nets"]  # without correlations
    assert page.figures["balance_5"].spec["title"]["text"] == f"Accuracy against balance: {HOSTILE}"
    some = [page.chart(name) for name in ("locality", "balance_5")]
    body = page.sections[1].body.holding("", tuple(some))
    drawn = figures(replace(page, sections=[replace(page.sections[1], body=body)]))
    assert len(drawn) == 4
    assert all(picture.startswith(b"\x89PNG") and len(picture) > 20_000 for picture in drawn.values())


def test_it_is_drawn_without_tensors_and_always_the_same(page: Page, tmp_path: Path) -> None:
    result, manifest = locality_run(HELPS)
    result.write_parquet(tmp_path / "result.parquet")
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    code = (
        "import json, sys, polars as pl; from pathlib import Path; folder = Path(sys.argv[1]);"
        "from wherewhat.studies.pages import page_of_study;"
        "from wherewhat.tables.manifest.io import manifest_of;"
        "manifest = manifest_of('reproduce', json.loads((folder / 'manifest.json').read_text()));"
        "page = page_of_study(pl.read_parquet(folder / 'result.parquet'), manifest);"
        "assert not {'torch', 'transformers', 'numpy', 'scipy'} & set(sys.modules);"
        "print(json.dumps([page.charts, page.tables, [section.body for section in page.sections]]))"
    )
    theirs = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, capture_output=True, text=True)
    ours = json.dumps([page.charts, page.tables, [section.body for section in page.sections]])
    assert theirs.stdout.strip() == ours


@pytest.mark.browser
@pytest.mark.parametrize(("width", "light", "world"), [(1400, "light", HURTS), (390, "dark", ONE_SEED)])
def test_it_draws_in_a_browser_wide_and_narrow(shown: Any, width: int, light: str, world: World) -> None:
    page = page_of_locality(*locality_run(world))
    with shown(page, width=width, color_scheme=light) as tab:
        places = 2 + 2 * (1 + len(QUESTIONS)) + 2 + 1 + 2 - (world.seeds == 1)  # one seed has no spread
        assert tab.locator(".drawn svg").count() == tab.locator(".drawn").count() == places
        assert tab.locator("#locality").get_by_text("sinusoidal").count() >= 1 + len(QUESTIONS)
        for section in ("answer", "locality", "symmetry", "stability", "decoders", "leaning"):
            for button in tab.locator(f"#{section} .switch button").all():
                button.click()
        tab.wait_for_timeout(300)


def test_questions_that_do_not_count_together_are_named_and_left_out_of_chance() -> None:
    result, manifest = locality_run(HELPS)
    asked = [{**one, "counted": number == 0, "chance": 0.9 if number == 0 else 0.5}
             for number, one in enumerate(manifest["about"]["questions"])]  # fmt: skip
    _, about = read_page(result, {**manifest, "about": {**manifest["about"], "questions": asked}})
    assert overall(about).chance == pytest.approx(0.9)
    assert all(f"“{one['name']}”" in left_out(about, "{}") for one in asked[1:])
    assert f"“{asked[0]['name']}”" not in left_out(about, "{}")
