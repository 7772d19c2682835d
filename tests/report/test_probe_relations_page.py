"""The page of dependency relations, from its table alone: near and far, relation by relation, heads and treebanks."""

import re
from typing import Any

import polars as pl
import pytest
from dict_manifests import RelationTables, page_of_probe
from synthetic_probes import RELATIONS, SHORT_BY_CONTENT, SHORT_BY_PLACE, World, causal, dependencies

from wherewhat.errors import UserError
from wherewhat.published.relation_heads import ANCHORS
from wherewhat.report.blocks.relations import TITLES
from wherewhat.report.core.figures import figures
from wherewhat.report.core.figures import rows as rows_of
from wherewhat.report.core.page import Chart, Page
from wherewhat.report.core.render import render
from wherewhat.report.pages.probes.relation_tables import TOGETHER

HEADS = ("heads", "heads_confidence_to_head", "heads_fixed_offset_to_dependent", "heads_confidence_to_dependent")
THREE = World(treebanks=("en_pud", "ja_pud", "<i>ar</i>"))


def section(made: Page, name: str) -> Any:
    return next(one for one in made.sections if one.name == name)


def names(made: Page) -> list[str]:
    return [one.name for one in made.sections]


def charts(made: Page, name: str) -> list[Chart]:
    """Every chart of this name: treebank by treebank and, within each, side by side where it is one."""
    return [placed for placed in made.placed if isinstance(placed, Chart) and placed.name == name]


def values(made: Page, chart: str, column: str, place: int | None = None, **wanted: object) -> list[Any]:
    """A column of a chart, or of all of this name, in the rows that are as wanted."""
    its = charts(made, chart) if place is None else [charts(made, chart)[place]]
    rows = [row for each in its for view in each.views for row in rows_of(view.tables["rows"])]
    return [row[column] for row in rows if all(row[name] == value for name, value in wanted.items())]


def test_near_and_far_are_told_for_every_part_with_quiet_levels():
    made = page_of_probe(*dependencies())
    assert values(made, "distances", "distance", place=0, kind="full") == ["1", "2", "3–5", "6+"]
    place, content = (values(made, "distances", "value", place=0, kind=part) for part in ("positional", "contextual"))
    assert place[0] > content[0] and place[-1] < content[-1], "the world is built so"
    assert set(values(made, "distances", "kind")) == {"positional", "contextual", "full", "offset", "uniform"}
    label = re.search(r'data-label="([^"]*)"', section(made, "distance").body)[1]
    assert "position alone at distance 1: 95.0 %" in label, "who cannot see the chart hears it"


def test_what_is_read_aloud_is_what_is_drawn():
    made = page_of_probe(*dependencies())
    labels = re.findall(r'data-label="([^"]*)"', section(made, "distance").body)
    for number, label in enumerate(labels):
        for kind in set(values(made, "distances", "kind")):
            drawn = values(made, "distances", "tip", number, kind=kind)
            told = "; ".join(one.split(", distance ", 1)[1] for one in drawn)
            assert f"{TITLES[kind]} at distance {told}" in label
    assert len(labels) == 2


def test_the_opposite_world_is_drawn_the_other_way():
    made = page_of_probe(*dependencies(SHORT_BY_CONTENT))
    place, content = (values(made, "distances", "value", place=0, kind=part) for part in ("positional", "contextual"))
    assert place[0] < content[0] and place[-1] > content[-1]


def test_relations_are_sorted_from_neighbours_to_far_words():
    found = RelationTables(*dependencies())
    assert found.relations("en_ewt") == sorted(RELATIONS, key=lambda item: RELATIONS[item][0])
    made = page_of_probe(*dependencies())
    assert values(made, "relations", "order", place=1, kind="full", relation="amod") == [0]
    assert section(made, "relations").body.count('data-widget="drawn"') == 2, "both sides"


def test_relations_clearly_beyond_the_offset_are_counted_from_intervals_and_p():
    table, manifest = dependencies()
    found = RelationTables(table, manifest)
    won = found.winners("en_ewt", "to head", found.relations("en_ewt"))
    rows = found.held_out.filter(
        (pl.col("measure") == "beyond offset") & (pl.col("side") == "to head") & ~pl.col("item").is_in(TOGETHER)
    )
    for part, many in won.items():
        assert many == rows.filter((pl.col("kind") == part) & (pl.col("low") > 0)).height
    lede = section(page_of_probe(table, manifest), "relations").lede
    assert won["full"] > 2 and f"full attention for {won['full']}" in lede and "relations to dependent" in lede
    unsure = (pl.col("measure") == "p") & (pl.col("item") != "nsubj")
    other = table.with_columns(value=pl.when(unsure).then(0.2).otherwise(pl.col("value")))
    assert RelationTables(other, manifest).winners("en_ewt", "to head", found.relations("en_ewt"))["full"] == 1
    body = section(page_of_probe(other, manifest), "numbers").body
    assert 'class="unsure"' in line_of(body, "obl") and "unsure" not in line_of(body, "nsubj")


def line_of(body: str, item: str) -> str:
    return next(row for row in re.findall(r"<tr>(.*?)</tr>", body) if f">{item}<" in row)


def test_few_rows_are_told_in_a_sentence_instead_of_an_empty_chart():
    table, manifest = dependencies()
    kept = (pl.col("side") != "to head") | (pl.col("item") == "all")
    made = page_of_probe(table.filter(kept.fill_null(True)), manifest)
    sentence = "no relation has 100 rows to head in both halves of the sentences; the most frequent, vocative, has 12."
    for name in ("distance", "relations"):
        body = section(made, name).body
        assert body.count('data-widget="drawn"') == 1 and sentence in body and "<code>--least</code>" in body
    assert "0 relations" not in section(made, "relations").lede and "to dependent" in section(made, "relations").lede
    assert set(figures(made)) == {*HEADS, "distance_0_to_dependent", "relations_0_to_dependent"}
    near = page_of_probe(table.filter(pl.col("item") != "each relation"), manifest)
    assert "distance" not in names(near) and "fewer than 100 rows at every distance" in section(near, "together").body


def test_few_sentences_open_with_what_was_found_and_say_the_limits_below():
    table, manifest = dependencies()
    few = table.filter((pl.col("item") == "all").fill_null(True) | pl.col("item").is_null())
    made = page_of_probe(few, manifest)
    assert made.sections[0].name == "together" and not {"distance", "relations"} & set(names(made))
    own = RelationTables(few, manifest).of(("en_ewt", "all", "to head"), "full")
    assert made.sections[0].lede.startswith(f"The head word of a word is found in {100 * own['value']:.1f} % (")
    body = made.sections[0].body
    assert f'data-exact="{100 * own["value"]:.6g}"' in body
    assert body.index("full attention") < body.index("Too few rows") and body.count("Too few rows") == 2
    assert "together" not in names(page_of_probe(*dependencies())), "with rows enough, charts say more"


def test_only_parts_that_were_read_are_told_of():
    table, manifest = dependencies()
    table = table.filter(~pl.col("kind").is_in(["positional", "contextual"]))
    made = page_of_probe(table, manifest)
    for name in ("distance", "relations", "numbers"):
        its = section(made, name)
        assert "content alone" not in its.lede + its.body and "position alone" not in its.lede.lower() + its.body, name
    assert "full attention for" in section(made, "relations").lede and made.lede.endswith("find as it is?")
    assert page_of_probe(*dependencies()).lede.endswith("find by position alone, by content alone and as it is?")
    manifest["examples"][0]["looked"] = {"shuffled": 0}
    made = page_of_probe(table.filter((pl.col("kind") != "full") | pl.col("head").is_not_null()), manifest)
    assert "clearly more" not in section(made, "relations").lede
    assert "full attention" not in section(made, "numbers").body
    assert "examples" not in names(made) and made.lede.endswith("does attention find?")


def test_under_a_mask_rows_and_distances_are_those_that_are_asked():
    made = page_of_probe(*causal())
    line = line_of(section(made, "numbers").body, "nsubj")
    for cell in ("273 of 820", "4.0", "2.63", "7.00", "31.0", "136"):
        assert f">{cell}</td>" in line, cell
    assert "left, of all" in section(made, "numbers").body and "about all head words" in section(made, "numbers").lede
    assert "left, of all" not in section(page_of_probe(*dependencies()), "numbers").body


def test_published_numbers_stand_beside_relations_under_their_published_names():
    body = section(page_of_probe(*dependencies()), "numbers").body
    first, second = body.split("</details>")[:2]
    assert "<td>det 94.3 / 51.7</td>" in line_of(first, "det")
    assert "<td>dobj 86.8 / 40.0</td>" in line_of(first, "obj") and "40.0" not in line_of(second, "obj")
    assert ANCHORS["aux:pass"] == ("auxpass", 94.1, 82.5) and ANCHORS["compound:prt"] == ("prt", 99.1, 91.4)
    assert "BERT-base" in first and "BERT-base" not in second, "published from a word to its governor"
    assert "<td>yes</td>" in line_of(first, "nsubj") and "<td>no</td>" in line_of(first, "amod")


def test_the_offset_is_never_bold():
    table, manifest = dependencies(THREE)
    same = (pl.col("measure") == "accuracy") & pl.col("kind").is_in(["offset", "full"]) & pl.col("head").is_null()
    table = table.with_columns(value=pl.when(same).then(0.987).otherwise(pl.col("value")))
    body = section(page_of_probe(table, manifest), "treebanks").body
    assert line_of(body, "obj").count("<b>98.7</b>") == 3 and line_of(body, "obj").count(">98.7<") == 6


def test_what_all_claims_rest_on_is_said_once():
    table, manifest = dependencies()
    manifest["judged"] = "All of it rests on this."
    its = section(page_of_probe(table, manifest), "claims")
    assert its.lede.endswith(" All of it rests on this.") and "rests" not in its.body


def test_a_head_is_named_after_what_it_was_chosen_for():
    found = RelationTables(*dependencies())
    table, manifest = dependencies()
    for one in manifest["chosen"]:
        one["heads"] = ["L0H0", "L0H0"] if one["item"] in ("det", "obl") else ["L2H3"]
    found = RelationTables(table, manifest)
    assert found.best_for("to head", "L0H0") == ["det", "obl"], "the best found first"
    made = page_of_probe(table, manifest)
    assert set(values(made, "heads", "best", layer=0, head=0)) == {"det +1"}
    assert set(values(made, "heads", "best", layer=1, head=1)) == {""}
    body = section(made, "heads").body
    assert "L0H0" in body and "L1H1" not in body and "confidence" in body and "correlation of attention" in body


def test_the_table_has_offsets_intervals_and_p():
    body = section(page_of_probe(*dependencies()), "numbers").body
    line = next(row for row in re.findall(r"<tr>(.*?)</tr>", body) if ">nsubj<" in row)
    assert "at +1/−2" in line and "&lt; 0.001" in line and 'class="reach"' in line and "820" in line
    near = next(row for row in re.findall(r"<tr>(.*?)</tr>", body) if ">amod<" in row)
    assert 'class="unsure"' in near and "unsure" not in line


def test_treebanks_stand_beside_each_other_with_their_word_order():
    assert "treebanks" not in names(page_of_probe(*dependencies(SHORT_BY_PLACE)))
    made = page_of_probe(*dependencies(THREE))
    assert section(made, "distance").body.count('data-widget="drawn"') == 6, "a panel a treebank, on both sides"
    body = section(made, "treebanks").body
    assert body.count('scope="colgroup"') == 6 and "&lt;i&gt;ar" in body
    line = next(row for row in re.findall(r"<tr>(.*?)</tr>", body) if ">obj<" in row)
    assert "97.0" in line and "2.40" in line and "2.70" in line and "3.00" in line, "governors left, and distances"
    won = RelationTables(*dependencies(THREE)).winners("ja_pud", "to head", list(RELATIONS))
    counted = "".join(f"<td>{many}</td>" for many in (len(RELATIONS), *won.values()))
    assert f"<bdi>ja_pud</bdi>, to head</th>{counted}" in body
    assert "positional" not in body and "contextual" not in body
    assert "best fixed offset with position alone, to head" in body and "0.50 to 0.93" in body


def test_what_was_skipped_merged_and_dropped_is_told():
    body = section(page_of_probe(*dependencies()), "read").body
    for words in ("longer than the model allows", "merged", "2 relations with too few rows", "vocative", "12 to head"):
        assert words in body
    assert "hidden" not in body, "what is 0 on both sides is not told"


def test_rows_in_words_show_who_asks_and_where_each_part_looked():
    body = section(page_of_probe(*dependencies()), "examples").body
    assert "<small>asks</small>" in body and "<small>partner</small>" in body
    assert "full attention (L1H1): found; position alone (L0H2): missed" in body


def test_nothing_from_the_data_becomes_markup():
    written = render(page_of_probe(*dependencies(THREE)))
    assert "<script>alert" not in written and "<i>ar" not in written and "<b>model" not in written
    assert written.count("</script") == 3 and "&lt;script&gt;alert" in written, "data, library and our own script"


def test_little_is_enough_for_a_page_and_nothing_is_refused():
    table, manifest = dependencies()
    held_out = table.filter(pl.col("layer").is_null() & (pl.col("kind") != "order") & (pl.col("distance") == "all"))
    made = page_of_probe(held_out, {"probe": "dependencies"})
    assert names(made) == ["together", "relations", "numbers", "made"] and render(made)
    with pytest.raises(UserError, match="run `wherewhat probe dependencies` again"):
        page_of_probe(table.clear(), manifest)


def test_pictures_are_drawn():
    drawn = figures(page_of_probe(*dependencies()))
    both = ("to_head", "to_dependent")
    assert set(drawn) == {*HEADS, *(f"{name}_0_{side}" for name in ("distance", "relations") for side in both)}
    assert all(one.startswith(b"\x89PNG") for one in drawn.values())


@pytest.mark.browser
@pytest.mark.parametrize(
    "look", [{"width": 1280}, {"width": 390, "color_scheme": "dark"}], ids=["wide", "narrow and dark"]
)
def test_the_page_in_a_browser(shown: Any, look: dict[str, Any]):
    with shown(page_of_probe(*dependencies(THREE)), **look) as tab:
        folded = tab.locator("#relations details.treebank").nth(1)
        chart = folded.locator("[data-widget=drawn] svg").first
        folded.locator("summary").click()
        tab.wait_for_function(
            "document.querySelectorAll('#relations details')[1].querySelector('svg').clientWidth > 200"
        )
        assert chart.locator(".mark-symbol path").count() == 3 * len(RELATIONS)
        for other in tab.locator(".switch button").all()[1:]:
            other.click()


def test_how_heads_were_chosen_and_what_a_causal_model_sees_is_told():
    table, manifest = dependencies()
    told = section(page_of_probe(table, manifest), "distance")
    assert "the head that the other half chose" in told.lede and "sees only" not in told.body
    manifest["settings"] |= {"selection": "same", "offsets": [-5, 5]}
    manifest |= {"way": "causal"}
    manifest["data"][0]["hidden"] = {"to head": 2000, "to dependent": 3000}
    other = section(page_of_probe(table, manifest), "distance")
    assert "on the same sentences" in other.lede and "out of −5 to +5" in other.lede
    assert "(10,000 of 15,000 rows)" in other.body


def test_a_side_shows_only_the_relations_that_were_asked_from_it():
    table, manifest = dependencies()
    fewer = table.filter(~((pl.col("side") == "to head") & pl.col("item").is_in(["obj", "obl"])))
    made = page_of_probe(fewer, manifest)
    assert len(set(values(made, "relations", "relation", place=0))) == len(RELATIONS) - 2
    assert len(set(values(made, "relations", "relation", place=1))) == len(RELATIONS)
    assert f"Of {len(RELATIONS) - 2} relations to head" in section(made, "relations").lede
