"""The pages of swapped words and exchanged roles, from their tables alone: what they say, draw and leave out."""

import re
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from dict_manifests import page_of_probe
from synthetic_probes import HOSTILE
from synthetic_swaps import BLIND, READS_ORDER, SIZES, Reader, roles, words

from wherewhat.errors import UserError
from wherewhat.published.word_swaps import CHANGES, ROLES
from wherewhat.report.blocks.swaps import MARKS, axis_of, size_words
from wherewhat.report.core.figures import figures, rows
from wherewhat.report.core.page import Chart, Page
from wherewhat.report.core.render import render
from wherewhat.report.pages.probes.probes import PAGES

BOTH = {"words": words, "roles": roles}


def section(made: Page, name: str) -> Any:
    return next(one for one in made.sections if one.name == name)


def names(made: Page) -> list[str]:
    return [one.name for one in made.sections]


def charts_of(made: Page) -> list[str]:
    return [one.name for one in made.placed if isinstance(one, Chart)]


def drawn_of(made: Page, chart: str, view: int = 0, **wanted: object) -> list[dict[str, Any]]:
    """The rows of a view of a chart that are as wanted; none where there is no such chart."""
    if chart not in charts_of(made):
        return []
    its = rows(made.chart(chart).views[view].tables["rows"])
    return [dict(row) for row in its if all(row[name] == value for name, value in wanted.items())]


def test_every_probe_has_its_page():
    assert set(PAGES) == {"words", "roles", "dependencies"}
    with pytest.raises(UserError, match="unknown probe 'word'; did you mean 'words'"):
        page_of_probe(pl.DataFrame(), {"probe": "word"})


@pytest.mark.parametrize("probe", BOTH)
def test_nothing_from_the_data_becomes_markup(probe: str):
    written = render(page_of_probe(*BOTH[probe]()))
    body = written.partition("<script")[0]
    assert "alert(" in body and "<script>alert" not in written and "<b>model" not in written
    assert written.count("</script") == 3, "data, library and our own script"
    assert "<3>" not in body and "&lt;3&gt;" in body
    assert not re.findall(r"https?://(?!www\.w3\.org|vega|github)[^\s\"'<]+", body), "nothing is loaded from elsewhere"


def test_the_change_of_every_size_stands_beside_its_control():
    made = page_of_probe(*words())
    swap, control = (drawn_of(made, "changes_0", kind=kind) for kind in ("swap", "control"))
    assert made.chart("changes_0").views[0].title == "accuracy"
    assert [row["line"] for row in swap] == [size_words(size) for size in SIZES]
    assert [row["value"] for row in swap] == pytest.approx([-4, -8, -12, -16, -20])
    assert [row["value"] for row in control] == pytest.approx([-2, -4, -6, -8, -10])
    assert all(row["low"] < row["value"] < row["high"] for row in swap + control)
    assert swap[0]["tip"] == "3 words, swap: −4.0 points (−6.9 to −1.1), 600 sentences"


def test_what_the_words_alone_tell_is_drawn_and_written():
    changed = {row["line"]: row["value"] for row in drawn_of(page_of_probe(*words()), "changes_0", kind="alone")}
    assert changed == pytest.approx(dict.fromkeys(map(size_words, SIZES), 100 * (2 / 3 - 0.82)))
    made = page_of_probe(*roles())
    levels = {name: [row["value"] for row in drawn_of(made, name, kind="level")] for name in charts_of(made)}
    assert levels == {"answers_0": pytest.approx([200 / 3]), "turned_0": [50], "flips_0": [], "distance_0": []}
    assert ">66.7</td>" in section(made, "labels").body and "words alone</th>" in section(made, "numbers").body
    assert "words alone</th>" in section(page_of_probe(*words()), "numbers").body
    for probe in BOTH.values():
        table, manifest = probe()
        other = page_of_probe(table.filter(pl.col("kind") != "words alone"), manifest)
        kinds = {row["kind"] for name in charts_of(other) for row in drawn_of(other, name)}
        assert not kinds & {"alone", "level"} and "words alone" not in render(other).partition("<script")[0]


def test_a_whole_sentence_has_no_control_and_says_so():
    table, manifest = words()
    none = (pl.col("item") == "whole") & pl.col("kind").str.contains("control")
    body = section(page_of_probe(table.filter(~none), manifest), "numbers").body
    rows = [row for row in re.findall("<tr>.*?</tr>", body) if "whole sentence" in row]
    assert len(rows) == 6 and all("none possible" in row and "–" not in row for row in rows)
    assert "none possible" not in section(page_of_probe(table, manifest), "numbers").body


def test_answers_that_stay_are_drawn_where_no_right_ones_are_known():
    table, manifest = roles()
    kept = table.filter(measure="flip").with_columns(measure=pl.lit("kept"), value=1 - pl.col("value"))
    unjudged = pl.concat([table.filter(measure="distance"), kept])
    lines = drawn_of(page_of_probe(unjudged, manifest), "kept_0")
    assert {row["line"]: row["value"] for row in lines} == pytest.approx(
        {"role swap": 20, "control": 88, "other voice": 92}
    )
    assert "kept_0" not in charts_of(page_of_probe(pl.concat([table, kept]), manifest))


def test_a_full_stop_stays_with_the_stretch_before_it():
    body = section(page_of_probe(*words()), "examples").body
    stop = '<span class="still"><span class="word"><bdi>.</bdi></span><span class="word"><bdi>.</bdi></span></span>'
    closed = re.findall(r'<span class="(closed|moved tangle)">(.*?)</div>', body)
    assert {look for look, _ in closed} == {"closed", "moved tangle"}
    assert all(inside.endswith(f"{stop}</span>") for _, inside in closed)


def test_published_models_stand_beside_labels_and_nowhere_else():
    made = page_of_probe(*words())
    there = drawn_of(made, "changes_0", kind="published", line="whole sentence")
    assert sorted(row["value"] for row in there) == sorted(changed[-1] for changed in CHANGES.values())
    assert "other models" in section(made, "change").body and "SNLI" in section(made, "change").body
    for way in ("masked", "next", "states"):
        other = page_of_probe(*words(Reader(way)))
        assert not drawn_of(other, "changes_0", kind="published") and "SNLI" not in section(other, "change").body
    table, manifest = words()
    unjudged = page_of_probe(table.filter(pl.col("measure") != "accuracy"), manifest)  # sentences without labels
    assert not drawn_of(unjudged, "changes_0", kind="published")
    assert "SNLI" not in section(unjudged, "change").body


@pytest.mark.parametrize(
    ("way", "first"),
    [
        ("labels", "accuracy"),
        ("masked", "surprisal"),
        ("next", "surprisal"),
        ("states", "distance of hidden states"),
    ],
)
def test_what_is_drawn_first_is_what_the_model_can_be_asked(way: str, first: str):
    views = page_of_probe(*words(Reader(way))).chart("changes_0").views
    assert views[0].title == first and views[1].title == f"{first}, in sentences with constituents of every size"


def test_an_axis_reaches_around_nought_and_all_that_is_drawn():
    words_of = page_of_probe(*words()).chart("changes_0").views[0].words
    assert float(words_of["floor"]) < -24.9 and float(words_of["ceiling"]) > 0.9
    assert axis_of("%", [], whole=100.0) == {"unit": "%", "floor": "0", "ceiling": "100"}
    assert axis_of("", [{"value": 2.0, "low": 1.0, "high": 3.0}]) == {"unit": "", "floor": "0", "ceiling": "3.15"}


def test_the_axis_of_a_measure_is_the_same_for_all_data():
    table, manifest = words(replace(READS_ORDER, datas=("grammar", "other")))
    weaker = pl.when(pl.col("data") == "other").then(0.1).otherwise(1.0)
    made = page_of_probe(table.with_columns(pl.col("value", "low", "high") * weaker), manifest)
    one, other = (made.chart(name).views[0] for name in ("changes_0", "changes_1"))
    assert one.words == other.words and one.tables != other.tables


def test_a_swap_is_shown_word_above_word_with_its_ways():
    body = section(page_of_probe(*words()), "examples").body
    assert "Original: some sailors beside the green house" in body
    first = body.partition("<details")[0]  # without its control
    assert first.count('class="moved"') == 2 and 'viewBox="0 0 3 1"' in first
    assert '<line x1="0.5" y1="0" x2="2.5" y2="1" class="goes"/>' in first, (
        "`the` goes from the first to the third place"
    )
    assert '<line x1="2.5" y1="0" x2="2.5" y2="1" class="stays"/>' in first, "`calls` stays"
    assert "<bdi>green</bdi><sub>2</sub>" in first, "not by a line alone: the old place as a number"
    assert 'class="moved tangle"' in body, "a long stretch has numbers in place of lines"
    assert 'dir="rtl"' in body and "<bdi>الولد</bdi>" in body


def test_what_the_model_said_is_judged_by_the_right_answer_after_the_swap():
    shuffled = section(page_of_probe(*words()), "examples").body
    assert "✗ right: entailed" in shuffled, "a shuffle keeps the label"
    exchanged = section(page_of_probe(*roles()), "examples").body
    assert "✗ right: reversed" in exchanged, "an exchange does not"
    quiet = section(page_of_probe(*words(Reader("masked"))), "examples").body
    assert "3.90</b> nats per token" in quiet and "right:" not in quiet


def test_agent_and_patient_are_marked_and_named():
    body = section(page_of_probe(*roles()), "examples").body
    assert re.search(r'class="role agent">.{0,80}cat.{0,20}<small>agent</small>', body)
    assert re.search(r'class="role patient">.{0,120}lawyer.{0,20}<small>patient</small>', body)
    after = body[body.index("role swap</dt>") :]
    assert 'class="role agent"><bdi>a</bdi> <bdi>small</bdi> <span class="last"><bdi>lawyer' in after, "now he acts"
    assert "span 1" in body, "where roles are not told, the two stretches are"
    voice = body[body.index("Other voice") :].partition("other voice</dt>")[2]
    assert 'class="role agent"><bdi>the</bdi> <span class="last"><bdi>cat' in voice, "there roles stay with their words"


def test_roles_are_told_before_and_after_with_the_old_label():
    made = page_of_probe(*roles())
    lines = {row["line"]: row["value"] for row in drawn_of(made, "answers_0") if row["kind"] in MARKS}
    assert lines == pytest.approx(
        {
            "original: the right label": 82,
            "role swap: the new label": 80,
            "role swap: the old label": 20,
            "control: the right label": 72,
            "other voice: the right label": 82,
        }
    )
    flips = {row["line"]: row["value"] for row in drawn_of(made, "flips_0")}
    assert flips == pytest.approx({"role swap": 80, "control": 12, "other voice": 8})
    new = drawn_of(made, "answers_0", kind="published", line="role swap: the new label")
    after = [row["value"] for row in new]
    assert sorted(after) == pytest.approx(sorted(before + change for before, change in ROLES.values()))
    labels = section(made, "labels").body
    assert "active voice" in labels and "reversed" in labels and labels.count("<tr>") == 7
    turned = [row["kind"] for row in drawn_of(made, "turned_0")]
    assert len([kind for kind in turned if kind in MARKS]) == 5 and "published" not in turned


def test_a_blind_model_is_told_the_other_way():
    made = page_of_probe(*roles(BLIND))
    lines = {row["line"]: row["value"] for row in drawn_of(made, "answers_0") if row["kind"] in MARKS}
    assert lines["role swap: the new label"] == pytest.approx(30) and lines[
        "role swap: the old label"
    ] == pytest.approx(70)
    still = drawn_of(page_of_probe(*words(BLIND)), "changes_0", kind="swap")
    assert [row["value"] for row in still] == pytest.approx([0] * 5)


def test_models_without_labels_have_no_table_of_labels():
    made = page_of_probe(*roles(Reader("masked")))
    assert "labels" not in names(made)
    assert charts_of(made) == ["nats_0", "distance_0"]
    assert "Label by label" not in section(page_of_probe(*words(Reader("next"))), "numbers").body


def test_what_was_left_out_is_told_with_its_reason():
    read = section(page_of_probe(*words()), "read")
    assert read.lede == "Left out: 36 sentences, for the reasons below." and "no &lt;verb&gt;" in read.body
    assert (
        "<dt>3 words</dt><dd>600 sentences, 550 with a control; 300 left out: no phrase of &lt;3&gt; words" in read.body
    )
    assert "<dt>whole sentence</dt><dd>900 sentences, none with a control<" in read.body
    assert "<dt>not needed</dt><dd>200</dd>" in read.body, "what was not asked for is not left out"
    table, manifest = words()
    manifest["data"][0]["skipped"] = {}
    assert section(page_of_probe(table, manifest), "read").lede == "Nothing was left out."


def test_claims_come_from_the_manifest_alone():
    table, manifest = words()
    assert "Local order hardly matters." in section(page_of_probe(table, manifest), "claims").body
    assert section(page_of_probe(table, manifest), "claims").title == "Published and ours"
    unheard = [{**claim, "published": "unknown: nothing was published"} for claim in manifest["claims"]]
    alone = section(page_of_probe(table, {**manifest, "claims": unheard}), "claims")
    assert alone.title == "What the numbers say" and "unknown: nothing" not in alone.body
    assert "claims" not in names(page_of_probe(table, {**manifest, "claims": []}))


def test_several_data_stand_beside_each_other_and_claims_say_which():
    table, manifest = words(replace(READS_ORDER, datas=("grammar", HOSTILE)))
    manifest["claims"][0]["data"] = "grammar"
    made = page_of_probe(table, manifest)
    assert section(made, "change").body.count('data-widget="drawn"') == 2
    assert charts_of(made) == ["changes_0", "changes_1"]
    assert "grammar: Local order hardly matters." in section(made, "claims").body


def test_data_in_which_nothing_could_be_swapped_has_no_chart():
    table, manifest = words(replace(READS_ORDER, datas=("grammar", "empty")))
    none = pl.when(pl.col("data") == "empty").then(None).otherwise(pl.col("value"))
    made = page_of_probe(table.with_columns(value=none), manifest)
    assert section(made, "change").body.count('data-widget="drawn"') == 1


@pytest.mark.parametrize("probe", BOTH)
def test_little_is_enough_for_a_page(probe: str):
    table, _ = BOTH[probe](Reader("states"))
    made = page_of_probe(table.filter(pl.col("kind") == "swapped"), {"probe": probe})
    assert names(made) == ["change", "numbers", "made"] and render(made)


@pytest.mark.parametrize("probe", BOTH)
def test_a_table_without_rows_is_refused(probe: str):
    table, manifest = BOTH[probe]()
    with pytest.raises(UserError, match=f"run `wherewhat probe {probe}` again"):
        page_of_probe(table.clear(), manifest)


@pytest.mark.parametrize("probe", BOTH)
def test_pictures_are_drawn(probe: str):
    drawn = figures(page_of_probe(*BOTH[probe](replace(READS_ORDER, way="masked"))))
    every = "changes_0_surprisal_in_sentences_with_constituents_of_every_size"
    names_of = {
        "words": {"changes_0", every, "changes_0_distance_of_hidden_states"},
        "roles": {"nats_0", "distance_0"},
    }
    assert set(drawn) == names_of[probe] and all(one.startswith(b"\x89PNG") for one in drawn.values())


@pytest.mark.browser
@pytest.mark.parametrize(
    "look", [{"width": 1280}, {"width": 390, "color_scheme": "dark"}], ids=["wide", "narrow and dark"]
)
@pytest.mark.parametrize("probe", BOTH)
def test_the_page_in_a_browser(shown: Any, probe: str, look: dict[str, Any]):
    with shown(page_of_probe(*BOTH[probe]()), **look) as tab:
        charts = tab.locator("[data-widget=drawn]")
        assert charts.count() == {"words": 1, "roles": 4}[probe]
        assert charts.first.locator("svg .mark-symbol path").count() >= 10
        for other in tab.locator(".switch button").all()[1:]:
            other.click()  # every view draws without a warning
        box = tab.locator(".moved").first if probe == "words" else tab.locator(".role").first
        assert box.is_visible()
