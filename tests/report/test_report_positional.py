"""The positional part as data: sentences that turn with the numbers, maps in few cells, and nothing where not asked."""

import html
import math
import random
import re
from dataclasses import replace
from functools import cache
from typing import Any

import polars as pl
import pytest
from dict_manifests import page_of_heads, read_head_table
from synthetic import BOTH, DECODER, ENCODER, ONE, Shape, run_of
from synthetic_positional import SCHEMA, World, even, matrices, positional_run
from test_report_page import HOSTILE, Reader, data_of

from wherewhat.report.core.figures import figures
from wherewhat.report.core.html import join
from wherewhat.report.core.page import Page, Section, Widget
from wherewhat.report.core.render import render
from wherewhat.report.pages.heads import positional_maps, positional_tables
from wherewhat.report.pages.heads.head_table import POSITIONAL
from wherewhat.report.pages.heads.positional import positional_part
from wherewhat.report.pages.heads.positional_maps import LEVELS, MOST, NOTHING, Maps, maps_of
from wherewhat.report.pages.heads.positional_sentences import (
    how_sources_agree,
    how_symmetric,
    sentences_about,
    warnings_about,
    what_content_adds,
)
from wherewhat.report.pages.heads.positional_tables import PositionalResults, positional_results
from wherewhat.scores.positional_part import MEASURES, SOURCES
from wherewhat.tables.manifest.decode import MisfitError, decode
from wherewhat.tables.manifest.scores import PositionalLayer

LOCAL, EVEN, SIDED, ALIKE = World(), World(near=0.0), World(sided=True), World(lean=0.0)
SMALL = replace(ENCODER, parts=(("encoder", 3),), heads=4)


@cache
def made(shape: Shape, world: World) -> tuple[Any, ...]:
    return positional_run(shape, world)


def results_of(heads: pl.DataFrame, _: Any, __: Any, manifest: dict[str, Any], matrices: pl.DataFrame) -> Any:
    """What the tables of a run say about the positional part."""
    return positional_results(read_head_table(heads, manifest), matrices)


def section_of(*run: Any) -> Section:
    """The section on the positional part of a run."""
    told = positional_part(read_head_table(run[0], run[3]), results_of(*run))
    assert told is not None
    return told


@cache
def found(shape: Shape, world: World) -> PositionalResults:
    told = results_of(*made(shape, world))
    assert told is not None
    return told


@cache
def page(shape: Shape, world: World) -> Page:
    return page_of_heads(*made(shape, world))


@cache
def text(shape: Shape, world: World) -> str:
    return render(page(shape, world))


def said(world: World, shape: Shape = SMALL, part: str = "encoder") -> str:
    return " ".join(sentences_about(found(shape, world), part))


@cache
def section(shape: Shape, world: World) -> Section:
    return section_of(*made(shape, world))


def words(shape: Shape, world: World) -> str:
    return " ".join(" ".join(Reader(section(shape, world).body).words).split())


def doublings(maps: Maps, source: str, name: str) -> list[list[float | None]]:
    """A map as it will be drawn: how many doublings each cell is from uniform attention."""
    side, line = maps.side(source), maps.cells[source][name]
    numbers = [None if mark == NOTHING else maps.reach * (2 * LEVELS.index(mark) / 62 - 1) for mark in line]
    return [numbers[row * side : (row + 1) * side] for row in range(side)]


def typed(layers: list[dict[str, Any]]) -> list[PositionalLayer]:
    """Layers as the manifest has them."""
    return [decode(PositionalLayer, layer) for layer in layers]


def matrix(n: int, cell: Any) -> pl.DataFrame:
    """One head's table of n slots from a function of query and key."""
    rows = [("m", 0, 0, "identical", query, key, cell(query, key)) for query in range(n) for key in range(n)]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def test_a_run_that_was_not_asked_has_no_section_and_nothing_of_it():
    plain = page_of_heads(*run_of(SMALL, random.Random(0)))
    given = page_of_heads(*run_of(SMALL, random.Random(0)), pl.DataFrame(schema=SCHEMA))
    assert render(plain) == render(given)
    assert "positional" not in {one.name for one in plain.sections}
    assert not [name for name in (*plain.charts, *plain.tables, *plain.about, *plain.figures) if "positional" in name]


def test_local_and_even_worlds_get_opposite_verdicts():
    assert "heads are clearly local" in said(LOCAL) and "12 of 12 heads are clearly more local" in said(LOCAL)
    assert "heads are hardly more local than uniform attention" in said(EVEN) and "0 of 12 heads" in said(EVEN)
    assert "Locality is mostly due to position" in said(LOCAL)
    assert "What content adds, γ, is not local either" in said(EVEN)
    assert "Layer 0 is the most local" in said(LOCAL)
    assert "the most local" not in said(EVEN)


def test_symmetry_of_heads_of_layers_of_both_or_of_none():
    assert "their biases cancel" in said(LOCAL) and "the layers are symmetric here, not their heads" in said(LOCAL)
    assert "they are no more symmetric" in said(SIDED) and "they favour the left" in said(SIDED)
    assert "Single heads attend equally left and right: mean balance is 1.00" in said(ALIKE)
    assert "But so does any nearly uniform attention." in said(EVEN)


def test_heads_that_favour_the_right_are_reported_so():
    one = next(source for source in found(SMALL, SIDED).sources if source.source == "identical")
    mirrored = replace(one, heads={**one.heads, "left_right_bias": -0.6}, together={**one.together, "balance": 0.2})
    assert "they favour the right (left/right bias −0.60)" in how_symmetric(mirrored)
    assert "they favour neither side" in how_symmetric(replace(mirrored, heads={**one.heads, "left_right_bias": 0.01}))
    half = replace(mirrored, heads={**one.heads, "balance": 0.2}, together={**one.together, "balance": 0.5})
    assert "their biases cancel in part: balance is 0.50" in how_symmetric(half)


def test_sources_agree_or_differ():
    sources = [one for one in found(SMALL, LOCAL).sources if not one.contextual]
    assert "The sources agree" in how_sources_agree(sources)
    apart = [replace(one, heads={**one.heads, "excess": 0.1 * at}) for at, one in enumerate(sources, 1)]
    assert how_sources_agree(apart).startswith("The sources differ: excess locality is 0.10 by identical words, 0.20")
    nearly_even = [replace(one, heads={**one.heads, "excess": 0.005 * at}) for at, one in enumerate(sources, 1)]
    assert "agree" in how_sources_agree(nearly_even)
    assert how_sources_agree(sources[:1]) == ""


def test_content_can_be_more_local_than_place():
    place, beside = (
        next(one for one in found(SMALL, LOCAL).sources if one.source == name)
        for name in ("identical", "identical.contextual")
    )
    numbers = {"much": 0.9, "some": 0.8 * (place.heads["excess"] or 0)}
    more, some = (replace(beside, heads={"excess": value}) for value in numbers.values())
    assert "is more local than position" in what_content_adds(place, more)
    assert "Position and what content adds, γ, are both local" in what_content_adds(place, some)
    assert what_content_adds(place, None) == ""


def test_under_a_causal_mask_sides_are_read_with_the_mask_taken_away():
    told = said(World(causal=True), DECODER, "decoder")
    assert f"compared with {even(64, causal=True):.2f} for uniform attention" in told
    assert "symmetry, balance and left/right bias mean nothing there" in told
    assert "by identical words, unmasked" in told
    assert "mean nothing there" not in said(LOCAL)
    shown = words(DECODER, World(causal=True))
    assert "Uniform attention, causal" in shown
    assert f"locality {even(64):.3f} and {even(64, causal=True):.2f} under the mask “causal”" in shown
    assert "causal" not in words(SMALL, LOCAL)


def test_the_table_has_both_means_of_every_source_and_what_knows_nothing():
    rows = re.findall(r"<tr.*?</tr>", section(SMALL, LOCAL).body)
    cells = {Reader(row).words[0]: Reader(row).words[1:] for row in rows if Reader(row).words}
    one = found(SMALL, LOCAL).sources[0]
    head, whole = (f"{side['balance']:.2f}" for side in (one.heads, one.together))
    assert [head, whole] == cells["Identical words"][10:12]
    assert cells["Identical words"][0] == "64"
    assert cells["Uniform attention"] == ["64", "0.046", "0.00", "0.060", "1.00", "1.00", "0.00"]
    assert cells["Random logits, sd 1"][4:6] == ["0.77", "0.48"]
    assert "Explicit δ" in cells and "Means over texts" in cells
    assert section(SMALL, LOCAL).body.count(">γ relative to ") == 3


def test_means_are_means_over_the_heads_of_their_part():
    tiny = replace(LOCAL, n=12, short=12)
    heads = made(BOTH, tiny)[0]
    for one in found(BOTH, tiny).sources:
        rows = heads.filter((pl.col("score") == f"{one.source}.excess") & (pl.col("part") == one.part))
        assert one.heads["excess"] == pytest.approx(rows["value"].mean(), abs=1e-4)
    assert {one.part for one in found(BOTH, tiny).sources} == {"encoder", "decoder", "cross"}
    body = section(BOTH, tiny).body
    parts = [body.count(f"<td>{part}</td>") for part in ("encoder", "decoder", "cross")]
    assert parts == [len([one for one in found(BOTH, tiny).sources if one.part == "encoder"])] * 3
    assert "<td>encoder</td>" not in section(SMALL, LOCAL).body


def test_the_number_of_slots_is_printed_and_its_effect_worked_out():
    assert "n = 64 slots, 100 words" in section(SMALL, LOCAL).lede
    first, second, *_ = warnings_about(found(SMALL, LOCAL))
    assert f"here n = 64: uniform attention has locality {even(64):.3f}. Compare only results with equal n." in first
    assert "`wherewhat compare MODEL --untrained --positional`" in second
    tiny = replace(LOCAL, n=20, short=20)
    assert f"here n = 20: uniform attention has locality {even(20):.2f}." in warnings_about(found(SMALL, tiny))[0]
    assert "random logits have 0.64 to 0.77" in warnings_about(found(SMALL, LOCAL))[-1]


def test_names_of_commands_are_written_as_such():
    body = section(SMALL, LOCAL).body
    assert "<code>wherewhat compare MODEL --untrained --positional</code>" in body and "`" not in body


def test_sources_over_other_slots_say_so_and_are_compared_only_over_the_same():
    shorter = replace(LOCAL, short=30)
    assert "Means over texts and γ cover n = 30 slots" in words(SMALL, shorter)
    assert "cover n = 30" not in words(SMALL, LOCAL)
    views = {view.title: view for view in page(SMALL, shorter).chart("positional_layers_locality").views}
    assert list(views) == [
        *(f"{series}, n = {n}" for series in ("Mean of heads", "Mean matrix") for n in (64, 30)),
        "What content adds, γ, n = 30",
    ]
    assert {row["over"] for row in found(SMALL, LOCAL).by_layer} == {"n = 64"}
    body = html.unescape(section(SMALL, shorter).body)
    assert "Mean of heads, n = 30" in body and "Mean of heads, n =" not in section(SMALL, LOCAL).body
    levels = [views[f"Mean of heads, n = {n}"].tables["chance"] for n in (64, 30)]
    assert [level["name"] for level in levels] == [["uniform"]] * 2
    assert [level["value"][0] for level in levels] == pytest.approx([even(64), even(30)], abs=1e-4)
    assert set(views["Mean of heads, n = 30"].tables["rows"]["source"]) == {"mean"}
    one = found(SMALL, shorter).source("identical", "encoder")
    cut = f"{one.first[1]['excess']:.2f}"
    assert one.first[0] == 30 and cut != f"{one.heads['excess']:.2f}"
    assert f"excess locality over the first 30 slots is {cut} by identical words" in said(shorter)
    assert f"for γ and {cut} for position" in said(shorter)
    assert "over the first" not in said(LOCAL)
    bare = replace(one, first=(0, {}))
    others = [found(SMALL, shorter).source(name, "encoder") for name in ("delta", "mean")]
    assert "identical" not in how_sources_agree([bare, *others])
    assert what_content_adds(bare, found(SMALL, shorter).source("identical.contextual", "encoder")) == ""
    maps = found(SMALL, shorter).maps
    assert (maps.side("identical"), maps.side("mean")) == (32, 30)
    sizes = {one.source: one.n for one in found(SMALL, shorter).sources}
    assert (sizes["identical"], sizes["identical.contextual"], sizes["mean"]) == (64, 30, 30)


def test_a_map_says_how_often_attention_is_the_even_share():
    maps = maps_of(matrix(8, lambda query, key: 0.3 if query == key else 0.1))
    drawn = doublings(maps, "identical", "L0H0")
    assert drawn == doublings(maps, "identical", "L0")
    step = maps.reach / 31
    assert drawn[3][3] == pytest.approx(math.log2(0.3 * 8), abs=step)
    assert drawn[3][4] == pytest.approx(math.log2(0.1 * 8), abs=step)
    assert maps.profiles["identical"]["L0H0"][maps.offsets.index(0)] == 0.3
    assert maps.profiles["identical"]["L0H0"][maps.offsets.index(-9)] is None


def test_a_coarse_cell_is_the_mean_of_its_slots():
    maps = maps_of(matrix(64, lambda query, key: (1 + (query + key) % 2) / 96))
    assert maps.block == 2
    assert {round(cell, 9) for row in doublings(maps, "identical", "L0H0") for cell in row} == {0.0}


def test_what_a_causal_query_cannot_see_is_left_empty_and_even_is_what_it_sees():
    causal = [{"layer": 0, "source": "identical", "n": 6, "back": None, "ahead": 0}]
    maps = maps_of(matrix(6, lambda query, key: 1 / (query + 1) if key <= query else 0.0), typed(causal))
    drawn = doublings(maps, "identical", "L0H0")
    assert [[cell is None for cell in row] for row in drawn] == [
        [key > query for key in range(6)] for query in range(6)
    ]
    assert {cell for row in drawn for cell in row} == {0.0, None}
    mirrored = maps_of(matrix(6, lambda query, key: float(query == key)))
    assert NOTHING not in mirrored.cells["identical"]["L0H0"], "a head that looks only at itself has no mask"


def test_a_long_probe_is_held_against_the_even_share_of_all_its_slots():
    sight = [{"layer": 0, "source": "identical", "n": 128, "back": None, "ahead": None}]
    maps = maps_of(matrix(64, lambda query, key: 1 / 128), typed(sight))
    assert {cell for row in doublings(maps, "identical", "L0H0") for cell in row} == {0.0}
    assert maps.slots("identical") == "first 64 of 128 slots" and maps.side("identical") == 32
    assert set(maps.evens["identical"]["L0"]) == {float(f"{1 / 128:.3g}")}
    *run, manifest, table = made(SMALL, LOCAL)
    told = {**manifest["positional"], "n": 128}
    told["layers"] = [{**one, "n": 128} for one in told["layers"]]
    body = section_of(*run, {**manifest, "positional": told}, table).body
    assert "the first 64 of 128 slots are drawn" in body
    assert "slots are drawn" not in section(SMALL, LOCAL).body


@pytest.mark.parametrize(("back", "ahead"), [(4, 0), (3, 3)])
def test_what_lies_outside_a_window_is_left_empty(back: int, ahead: int):
    seen = lambda query, key: query - key <= back and key - query <= ahead  # noqa: E731
    visible = lambda query: sum(seen(query, key) for key in range(16))  # noqa: E731
    sight = [{"layer": 0, "source": "identical", "n": 16, "back": back, "ahead": ahead}]
    maps = maps_of(matrix(16, lambda query, key: seen(query, key) / visible(query)), typed(sight))
    drawn = doublings(maps, "identical", "L0H0")
    assert [[cell == 0.0 for cell in row] for row in drawn] == [[seen(i, j) for j in range(16)] for i in range(16)]
    assert maps.evens["identical"]["L0"] == maps.profiles["identical"]["L0"]


def test_layers_that_see_otherwise_are_not_held_against_each_other():
    *run, manifest, table = made(SMALL, LOCAL)
    layers = [
        {**one, "mask": "3 keys back and 3 ahead", "back": 3, "ahead": 3}
        if (one["layer"], one["source"]) == (1, "identical")
        else one
        for one in manifest["positional"]["layers"]
    ]
    told = results_of(*run, {**manifest, "positional": {**manifest["positional"], "layers": layers}}, table)
    whole = " ".join(sentences_about(told, "encoder"))
    assert "the most local" not in whole and "by identical words" not in whole
    slots = [row["over"] for row in told.by_layer if (row["measure"], row["series"]) == ("locality", "heads")]
    assert list(dict.fromkeys(slots)) == ["n = 64", "n = 64, 3 keys back and 3 ahead"]


def test_a_decoder_is_not_said_to_look_where_it_cannot():
    told = said(World(causal=True, sided=True), DECODER, "decoder")
    assert "Without the mask, the logits would favour earlier keys" in told and "favour the" not in told
    one = found(DECODER, World(causal=True, sided=True)).source("unmasked", "decoder")
    mirrored = replace(one, heads={**one.heads, "left_right_bias": -0.36}, together={**one.together, "balance": 0.2})
    sentence = "would favour later keys (left/right bias −0.36); the model was never trained without it."
    assert sentence in how_symmetric(mirrored, hidden=True) and sentence not in how_symmetric(mirrored)


def test_balance_that_rests_on_hardly_any_attention_is_told():
    assert not [one for one in warnings_about(found(SMALL, LOCAL)) if "are based on less than" in one]
    *run, manifest, table = made(SMALL, LOCAL)
    layers = [{**one, "paired": [0.001, *one["paired"][1:]]} for one in manifest["positional"]["layers"]]
    told = results_of(*run, {**manifest, "positional": {**manifest["positional"], "layers": layers}}, table)
    assert "Identical words: balance and left/right bias of 3 of 12 heads are based on less than 5" in " ".join(
        warnings_about(told)
    )


def test_sources_and_measures_are_those_that_are_measured():
    assert positional_tables.MEASURES == MEASURES and tuple(SOURCES) == positional_maps.SOURCES


def test_a_layer_is_the_mean_of_its_heads():
    one = matrix(8, lambda query, key: 0.6 if key == 0 else 0.4 / 7)
    other = matrix(8, lambda query, key: 0.6 if key == 7 else 0.4 / 7).with_columns(head=pl.lit(1, pl.Int32))
    maps = maps_of(pl.concat([one, other]))
    mean = math.log2((0.6 + 0.4 / 7) / 2 * 8)
    assert doublings(maps, "identical", "L0")[2][0] == pytest.approx(mean, abs=maps.reach / 31)
    assert maps.profiles["identical"]["L0"][maps.offsets.index(0)] == pytest.approx(
        (0.6 * 2 + 0.4 / 7 * 14) / 16, rel=1e-2
    )


def test_many_heads_get_coarser_maps_so_that_the_page_stays_small():
    assert len(text(replace(ENCODER, length=24), LOCAL).encode()) < 2_000_000
    many = pl.DataFrame({"model": "m", "layer": 0, "head": range(700)})
    maps = maps_of(matrices(many, replace(LOCAL, n=26, sources=("delta",)), random.Random(0)))
    assert sum(len(line) for lines in maps.cells.values() for name, line in lines.items() if "H" in name) <= MOST
    assert maps.side("delta") == 24


def test_a_table_of_unknown_sources_or_none_draws_no_maps():
    *run, table = made(SMALL, LOCAL)
    for other in (table.with_columns(source=pl.lit(HOSTILE)), table.clear(), pl.DataFrame()):
        body = section_of(*run, other).body
        assert results_of(*run, other).maps.cells == {}
        assert "positional-maps" not in body and "positional-plane" in body


def test_a_part_of_the_scores_is_enough():
    heads, *rest = made(SMALL, LOCAL)
    few = heads.filter(~pl.col("score").str.contains(r"\.(balance|left_right_bias|symmetry|locality)$"))
    assert 'data-widget="positional-plane"' not in render(page_of_heads(few, *rest))
    bare = section_of(heads, *rest[:2], {**rest[2], "positional": {"n": 64}}, rest[3])
    assert "Uniform attention" not in bare.body


def test_other_sections_are_not_flooded():
    about = data_of(text(SMALL, LOCAL))["about"]
    of_place = {score["key"] for score in about["scores"] if score["kind"] == POSITIONAL}
    assert len(of_place) == 36
    assert about["kinds"][-1] == POSITIONAL
    assert not of_place & {about["x"], about["y"], about["map"]}
    written = text(SMALL, LOCAL)
    cards = re.findall(r'<button type="button" class="card.*?</button>', written)
    assert cards and not [card for card in cards if "identical." in card]
    assert written.count("<h3><code>*.") == 6
    assert "<code>identical.locality</code>" not in written
    pictures = [name for name in page(SMALL, LOCAL).figures if name.startswith("map_identical")]
    assert pictures == ["map_identical_balance", "map_identical_locality"]


def test_pictures_of_the_plane_the_layers_and_the_maps():
    whole = page(SMALL, LOCAL)
    ours = {name: one for name, one in whole.figures.items() if name.startswith("positional")}
    made_ = figures(Page("", "", "", [], [Section("", "", "", join(Widget("positional", figures=ours)))]))
    shown = set(made_)
    planes = {f"positional_plane_{source}" for source in ("identical", "delta", "mean")}
    views = ("", "_Mean_matrix", "_What_content_adds_γ")
    layers = {f"positional_layers_{measure}{view}" for measure in ("locality", "balance") for view in views}
    assert shown == planes | layers | {"positional_maps"}
    assert all(made_[name].startswith(b"\x89PNG") and len(made_[name]) > 5000 for name in shown)


def test_one_head_alone_has_maps_but_no_layers_to_compare():
    alone = section(ONE, World(causal=True)).body
    assert "positional-maps" in alone and "positional_layers" not in alone
    assert "positional_layers" in section(SMALL, LOCAL).body


def test_strings_cannot_become_markup():
    heads, offsets, frequencies, manifest, table = made(SMALL, LOCAL)
    told = {**manifest["positional"], "baselines": {HOSTILE: {"locality": 0.1}}}
    hostile = heads.with_columns(part=pl.lit(HOSTILE))
    for wrong in ({"words": HOSTILE}, {"baselines": {"uniform": HOSTILE}}):
        with pytest.raises(MisfitError):
            page_of_heads(hostile, offsets, frequencies, {**manifest, "positional": {**told, **wrong}}, table)
    written = render(page_of_heads(hostile, offsets, frequencies, {**manifest, "positional": told}, table))
    kinds = [attributes.get("type") for name, attributes in Reader(written).elements if name == "script"]
    assert kinds == ["application/json", None, None]
    assert not [name for name, _ in Reader(written).elements if name == "img"]
