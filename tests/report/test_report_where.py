"""Where against what, as data: shares, bounds, frequencies, and what the page says when some of it is missing."""

import math
import random
import re
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from dict_manifests import page_of_heads, read_head_table
from synthetic import DECODER, ENCODER, LEARNED, ROTARY, WIDE, Run, Shape, run_of
from test_report_page import HOSTILE, Reader, data_of

from wherewhat.errors import UserError
from wherewhat.report.blocks.exclusion import bound
from wherewhat.report.blocks.ternary import at, ternary_tables
from wherewhat.report.core.figures import figures
from wherewhat.report.core.html import join
from wherewhat.report.core.page import Page, Section, Widget
from wherewhat.report.core.render import render
from wherewhat.report.pages.heads.head_table import KINDS
from wherewhat.report.pages.heads.notable_heads import notable_heads
from wherewhat.report.pages.heads.shares import about_pair, exclusion, pairs, reach_of, triples
from wherewhat.report.pages.heads.spectra import spectra
from wherewhat.runs.registry import Profile, load
from wherewhat.scores.base import KINDS as SCORE_KINDS
from wherewhat.scores.registry import scores_at
from wherewhat.scores.swaps import PUBLISHED
from wherewhat.tables.manifest.io import manifest_of
from wherewhat.tables.schema import FREQUENCIES


@cache
def run(shape: Shape) -> Run:
    return run_of(shape, random.Random(0))


@cache
def page(shape: Shape) -> Page:
    return page_of_heads(*run(shape))


@cache
def text(shape: Shape) -> str:
    return render(page(shape))


def words_of(written: str) -> str:
    return " ".join(Reader(written).words)


def table(**scores: list[tuple[float | None, float | None]]) -> pl.DataFrame:
    """One layer: for each score the value and chance of every head, with an interval of a hundredth around it."""
    rows = [
        {"model": "m", "layer": 0, "head": head, "score": name.replace("__", "."), "value": value, "chance": chance}
        | {edge: None if value is None else value + by for edge, by in (("low", -0.01), ("high", 0.01))}
        | {"texts": 9, "part": "decoder"}
        for name, heads in scores.items()
        for head, (value, chance) in enumerate(heads)
    ]
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(("value", "low", "high", "chance"), pl.Float64))


def without(scores: str, source: Run) -> Run:
    """The same run as if some scores had not been asked."""
    heads, offsets, frequencies, manifest = source
    return heads.filter(~pl.col("score").str.contains(scores)), offsets, frequencies, manifest


def sections(made: Page) -> list[str]:
    return [section.name for section in made.sections]


def test_the_first_two_cards_are_the_heads_that_go_most_by_place_and_by_content():
    heads, _, _, manifest = run(ROTARY)
    found = notable_heads(read_head_table(heads, manifest))
    resting = heads.filter((pl.col("score") == "sink") & (pl.col("value") >= 0.5)).select("layer", "head")
    awake = heads.join(resting, on=["layer", "head"], how="anti")
    assert 0 < awake.height < heads.height
    for notice, score in zip(found[:2], ("attended.position_share", "attended.symbol_share"), strict=True):
        best = awake.filter(pl.col("score") == score).sort("value", descending=True).row(0, named=True)
        assert notice.name == f"L{best['layer']}H{best['head']}"
        assert notice.value == pytest.approx(best["value"], rel=1e-3)
    cards = re.findall(r'<button type="button" class="card.*?</button>', text(ROTARY))
    assert "most positional" in cards[0] and "most content-based" in cards[1]
    for card, notice in zip(cards, found, strict=True):
        assert notice.name in card and "chance" in card and " to " in card
        assert "untrained" in card and str(notice.rests) in card


def test_a_lead_that_is_not_told_from_chance_says_so():
    made = table(position_share=[(0.2, 0.2), (0.01, 0.2)], symbol_share=[(0.05, 0.2), (0.6, 0.2)])
    found = notable_heads(read_head_table(made, {}))
    assert [(notice.name, notice.clear) for notice in found] == [("L0H0", False), ("L0H1", True)]
    written = render(page_of_heads(made, run(DECODER)[1].clear(), pl.DataFrame(), {}))
    assert written.count("chance 0.20, inside the interval</span>") == 1


def test_without_an_interval_nothing_is_said_to_be_like_chance():
    made = table(position_share=[(0.2, 0.2)], symbol_share=[(0.05, 0.2)], locality=[(0.5, 0.5)])
    alone = made.with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64), texts=pl.lit(1))
    written = render(page_of_heads(alone, run(DECODER)[1].clear(), pl.DataFrame(), {}))
    card = re.findall(r'<button type="button" class="card.*?</button>', written)[0]
    assert ">positional<" in card and "inside the interval" not in card and "only 1 text" in card
    assert "There is only one text, so no number has an interval." in words_of(written)


@pytest.mark.parametrize(
    ("place", "content", "sink", "leads"),
    [
        ([0.6, 0.5], [0.2, 0.3], [0.0, 0.0], [("L0H0", "most positional")]),  # the other goes by position too
        ([0.6, 0.1], [0.2, 0.9], [0.0, 0.999999], [("L0H0", "most positional")]),  # the other is a sink
        ([0.4, 0.1], [0.35, 0.9], [0.0, 0.0], [("L0H1", "most content-based")]),  # the other takes no clear side
        ([0.6, 0.1], [0.2, 0.9], [0.0, 0.0], [("L0H0", "most positional"), ("L0H1", "most content-based")]),
        ([0.6, 0.1], [0.2, 0.9], [0.9, 0.9], []),
    ],
    ids=["no content", "sink", "unclear", "both", "all sinks"],
)
def test_a_head_leads_only_by_what_it_goes_by(place: Any, content: Any, sink: Any, leads: Any):
    made = table(
        attended__position_share=[(value, None) for value in place],
        attended__symbol_share=[(value, None) for value in content],
        sink=[(value, 0.1) for value in sink],
    )
    found = [
        (notice.name, notice.lead) for notice in notable_heads(read_head_table(made, {})) if notice.score.name != "sink"
    ]
    assert found == leads


def test_a_head_that_rests_on_the_first_token_is_called_so_and_sides_of_chance_are_named():
    scores = {
        "sink": [(0.999999, 0.1), (0.1, 0.1)],
        "entropy": [(0.05, 1.0), (0.9, 1.0)],
        "self": [(0.0, 0.2), (0.1, 0.2)],
    }
    written = render(page_of_heads(table(**scores), run(DECODER)[1].clear(), pl.DataFrame(), {}))
    card = next(one for one in re.findall(r'<button type="button" class="card.*?</button>', written) if "L0H0" in one)
    assert "attention sink" in card
    assert "Also farthest below chance in entropy and self." in card
    assert "leads" not in card


def test_only_scores_with_two_ends_and_a_chance_are_otherwise_striking():
    kinds = {"positional": "Published scores", "exclusion_ratio": "Where or what"}
    open_ended = {
        "scores": {
            "wide": {"range": [0, None]},
            "plain": {"range": [0, 1]},
            **{name: {"kind": kind} for name, kind in kinds.items()},
        }
    }
    made = table(wide=[(90.0, 1.0)], plain=[(0.9, None)], positional=[(0.2, 1.0)], exclusion_ratio=[(0.9, 0.5)])
    assert notable_heads(read_head_table(made, open_ended)) == []
    assert [
        notice.score.name for notice in notable_heads(read_head_table(table(locality=[(0.9, 0.1)]), open_ended))
    ] == ["locality"]


def test_a_score_without_an_upper_end_is_drawn_to_its_largest_number_and_says_so():
    run_ = read_head_table(table(wide=[(5.0, None), (12.5, None)]), {"scores": {"wide": {"range": [0, None]}}})
    score = run_.scores[0]
    assert score.ends == (0.0, None)
    assert score.range == (0.0, pytest.approx(12.51))
    assert score.reach == 12.5
    assert "no upper end" in words_of(text(ROTARY))
    assert "no upper end" not in words_of(text(ENCODER))


def test_a_score_at_another_temperature_is_explained_by_its_name_without_it():
    heads, _, _, manifest = run(ROTARY)
    scores = {score.name: score for score in read_head_table(heads, manifest).scores}
    assert scores["positional@0.01"].asks == scores["positional"].asks != ""
    assert text(ROTARY).count("<h3><code>positional") == 1


def test_every_score_has_a_kind_and_every_kind_its_place():
    kinds = data_of(text(ROTARY))["about"]["kinds"]
    assert kinds == ["Where or what", "Attention", "Published scores"]
    assert data_of(text(LEARNED))["about"]["kinds"] == ["Attention", "Hidden state"]
    assert data_of(text(ENCODER))["about"]["kinds"] == ["Attention"]
    scores = scores_at((PUBLISHED, math.inf))
    assert {scores[name].kind for name in ("block.symbolic", "symbolic@inf")} == {KINDS[2]}
    assert scores["mean_frequency"].kind == KINDS[0] != scores["mean.position"].kind
    assert KINDS == SCORE_KINDS and {score.kind for score in scores.values()} >= set(KINDS)


def test_the_page_begins_with_what_against_where():
    about = data_of(text(ROTARY))["about"]
    names = {score["key"]: score["name"] for score in about["scores"]}
    assert (names[about["x"]], names[about["y"]]) == ("attended.symbol_share", "attended.position_share")
    assert names[about["map"]] == "attended.position_share"
    assert sections(page(ROTARY))[0] == "heads"
    assert 'data-widget="triangle"' in page(ROTARY).sections[0].body
    assert [one["name"] for one in about["triples"]] == ["attended", "shares"]


def test_what_was_not_measured_is_absent():
    old = ["heads", "maps", "head", "table", "scores", "texts", "made"]
    assert sections(page(ENCODER)) == old
    assert set(page(ENCODER).charts) == {"plane", "map", "thumb", "profile", "dots"}
    assert set(sections(page(ROTARY))) - set(old) == {"against", "layers", "frequencies", "plane"}
    assert set(sections(page(LEARNED))) - set(old) == {"layers", "hidden", "plane"}


@pytest.mark.parametrize(
    ("gone", "left"),
    [
        ("share", {"against", "frequencies"}),
        ("^exclusion|^logit_variance", {"against", "layers", "frequencies", "plane"}),
        ("^exclusion|positional|symbolic", {"layers", "frequencies", "plane"}),
        ("^logit_variance", {"against", "layers", "frequencies", "plane"}),
        ("^interaction|^attended.inter", {"against", "frequencies"}),
    ],
)
def test_a_page_can_do_without_some_of_it(gone: str, left: set[str]):
    made = page_of_heads(*without(gone, run(ROTARY)))
    assert set(sections(made)) & {"against", "layers", "frequencies", "hidden", "plane"} == left
    assert render(made)


def test_a_head_without_a_share_is_left_out_of_the_triangle_but_not_of_the_run():
    heads, offsets, frequencies, manifest = run(ROTARY)
    flat = (pl.col("layer") == 2) & pl.col("score").str.contains("share|logit_variance")
    holes = heads.with_columns(pl.when(~flat).then(pl.col("value")).alias("value"))
    found = read_head_table(holes, manifest)
    assert len(triples(found)) == 2
    assert len(exclusion(found)["name"]) == 30 and len(found.heads["name"]) == 36
    assert render(page_of_heads(holes, offsets, frequencies, manifest))


def test_heads_stand_in_the_triangle_by_their_shares():
    assert at(1, 0, 0) == (0, 0) and at(0, 1, 0) == (1, 0)
    assert at(0, 0, 1) == pytest.approx((0.5, math.sqrt(3) / 2))
    assert at(1, 1, 1) == pytest.approx((0.5, math.sqrt(3) / 6))
    lines = ternary_tables([("where", "")] * 3)["lines"]
    sides = [
        math.dist((x, y), (x2, y2)) for x, y, x2, y2 in zip(*(lines[n] for n in ("x", "y", "x2", "y2")), strict=True)
    ]
    assert sorted(round(side, 2) for side in sides) == sorted([1.0, 0.75, 0.5, 0.25] * 3)


def test_ratios_are_of_p_and_s_to_the_variance_and_never_inside_the_bound():
    made = table(
        exclusion_positional=[(0.0, None), (3.0, None), (1.0, None), (None, None)],
        exclusion_symbolic=[(2.0, None), (0.0, None), (1.0, None), (1.0, None)],
        logit_variance=[(1.0, None), (1.5, None), (0.0, None), (1.0, None)],
    )
    ratios = exclusion(read_head_table(made, {}))
    assert ratios == {"name": ["L0H0", "L0H1"], "x": [0, 2], "y": [2, 0]}
    line = bound()
    assert all(x + y == pytest.approx(1, abs=1e-3) for x, y in zip(line["x"], line["y"], strict=True))
    assert (line["x"][0], line["x"][-1]) == (0, 1)
    assert reach_of(ratios) == pytest.approx(1.08 * 2.2)
    assert reach_of({"name": ["a"], "x": [400.0], "y": [1.0]}) == 9


def test_the_published_scores_are_shown_with_how_far_they_follow_entropy():
    up, down = [(value, 1.0) for value in (0.1, 0.2, 0.3, 0.4)], [(value, 1.0) for value in (0.9, 0.7, 0.5, 0.3)]
    run_ = read_head_table(table(positional=up, symbolic=down, entropy=up), {"swaps": {"tau": [1e-4, "inf"]}})
    pair = about_pair(run_, pairs(run_)[0])
    assert (pair["rho"], pair["heads"], pair["label"]) == ([1.0, -1.0], 4, "τ = 0.0001")
    without_entropy = read_head_table(table(positional=up, symbolic=down), {})
    assert about_pair(without_entropy, pairs(without_entropy)[0])["rho"] == [None, None]
    assert [pair["label"] for pair in data_of(text(ROTARY))["about"]["pairs"]] == [
        "τ = 0.0001",
        "τ = 0.01",
        "τ = ∞",
        "blocks, τ = 0.0001",
    ]


def test_how_the_swaps_were_made_is_told_twice_where_the_published_scores_are_explained():
    said = words_of(text(ROTARY))
    assert said.count("0.0001, 0.01, ∞") == 2
    assert said.count("first slot swapped") == 2
    assert "a head with flat attention scores high on both whatever it does" in said
    assert 'dl class="swaps"' not in text(ENCODER)


def test_a_model_with_position_in_its_hidden_state_is_told_apart():
    made = page(LEARNED)
    said = words_of(text(LEARNED))
    assert "measure this in other ways, and are not comparable with the exact shares" in said
    assert [one.name for one in triples(read_head_table(*(run(LEARNED)[i] for i in (0, 3))))] == ["input"]
    means = made.tables["means"]
    assert set(means["words"]) == {
        f"query {query}, key {key}" for query in ("constant", "position", "content") for key in ("position", "content")
    }
    for layer in range(4):
        its = [value for value, at_ in zip(means["value"], means["layer"], strict=True) if at_ == layer]
        assert sum(its) == pytest.approx(1, abs=2e-3)


def test_the_correlations_of_frequency_and_behaviour_are_there_as_numbers_too():
    about = data_of(text(ROTARY))["about"]["correspondence"]
    assert [row["layer"] for row in about if row["y"] == "symbolic"] == ["all", "0", "1", "2", "3", "4", "5"]
    assert text(ROTARY).count('<th scope="row">all layers</th>') == 4
    rows = [{"layer": None, "x": "theta", "y": HOSTILE, "rho": None, "low": None, "high": None, "points": 0}]
    heads, offsets, frequencies, manifest = run(ROTARY)
    written = render(page_of_heads(heads, offsets, frequencies, manifest | {"correspondence": rows}))
    assert HOSTILE in "".join(Reader(written).words)
    assert sum(name == "script" for name, _ in Reader(written).elements) == 3


def small(**measures: list[float | None]) -> pl.DataFrame:
    """One head with three frequencies, given from the slowest to the fastest."""
    rows = [
        {"model": "m", "layer": 0, "head": 0, "frequency": at_, "theta": theta, "measure": name, "value": value}
        for name, values in measures.items()
        for at_, (theta, value) in enumerate(zip((0.0, 0.01, 1.0), values, strict=True))
    ]
    return pl.DataFrame(rows, schema=FREQUENCIES)


def test_frequencies_are_kept_fastest_first_as_whole_steps():
    found = spectra(small(query_norm=[0.5, None, 2.0], position_part=[-0.1, 0.3, float("nan")], other=[1.0, 1.0, 1.0]))
    assert found.thetas == {"layer": [0], "theta": [[1.0, 0.01, 0.0]]}
    kept = {
        (name, measure): (step, steps)
        for name, measure, step, steps in zip(
            *(found.heads[n] for n in ("name", "measure", "step", "steps")), strict=True
        )
    }
    assert kept["L0H0", "query_norm"] == (0.002, [1000, None, 250])
    assert kept["L0H0", "position_part"] == (0.0003, [None, 1000, -333])
    assert {name for name, _ in kept} == {"L0H0", "all heads"}
    assert ("L0H0", "other") not in kept


def test_layers_that_turn_differently_have_no_common_mean():
    one = small(query_norm=[1.0, 2.0, 3.0])
    other = one.with_columns(layer=pl.lit(1, pl.Int32), theta=pl.col("theta") * 2)
    found = spectra(pl.concat([one, other]))
    assert found.thetas["theta"] == [[1.0, 0.01, 0.0], [2.0, 0.02, 0.0]]
    assert set(found.heads["name"]) == {"L0H0", "L1H0"}


def test_a_table_of_frequencies_that_cannot_be_shown_is_refused_in_a_sentence():
    with pytest.raises(UserError, match="the table of frequencies lacks theta; make it again with `wherewhat heads`"):
        spectra(small(logit=[1.0, 1.0, 1.0]).drop("theta"))


def test_a_page_of_many_heads_scores_and_frequencies_stays_small():
    heads = run(WIDE)[0]
    assert heads["score"].n_unique() >= 25 and run(WIDE)[2]["frequency"].n_unique() == 64
    assert len(text(WIDE).encode()) < 2_000_000


def test_no_string_of_the_new_measurements_becomes_markup():
    heads, offsets, frequencies, manifest = run(ROTARY)
    told = {name: {**score, "asks": HOSTILE, "chance": HOSTILE} for name, score in manifest["scores"].items()}
    swaps = {HOSTILE: HOSTILE, "tau": [1e-4], "queries": HOSTILE}
    written = render(page_of_heads(heads, offsets, frequencies, manifest | {"scores": told, "swaps": swaps}))
    reader = Reader(written)
    assert sum(name == "script" for name, _ in reader.elements) == 3
    assert not [name for name, _ in reader.elements if name == "img"]
    assert "".join(reader.words).count(HOSTILE) > 20


def test_a_picture_of_the_triangle_is_drawn_too():
    made = page_of_heads(*run(ROTARY))
    assert "triangle" in made.figures and "triangle" not in page(ENCODER).figures
    alone = join(Widget("triangle", figures={"triangle": made.figures["triangle"]}))
    drawn = figures(Page("", "", "", (), [Section("", "", "", alone)]))
    assert drawn["triangle"].startswith(b"\x89PNG") and len(drawn["triangle"]) > 20_000


@pytest.mark.parametrize(("shape", "kept"), [(ROTARY, True), (ENCODER, False)], ids=["rotary", "other"])
def test_a_profile_keeps_its_frequencies_only_where_there_are_some(shape: Shape, kept: bool, tmp_path: Path):
    heads, offsets, frequencies, manifest = run(shape)
    whole = offsets.with_columns(rows=pl.lit(1, pl.Int64))
    saved = Profile(heads, whole, frequencies, manifest_of("heads", manifest)).save(tmp_path / "run")
    assert (saved / "frequencies.parquet").exists() == kept
    again = load(saved)
    assert again.frequencies.equals(frequencies) and again.frequencies.schema == pl.Schema(FREQUENCIES)
    assert ("frequencies.parquet" in again.manifest.files) == kept
    assert again.report(tmp_path / "again.html").read_bytes() == (saved / "report.html").read_bytes()


def test_a_run_without_frequencies_leaves_none_of_an_earlier_one_behind(tmp_path: Path):
    heads, offsets, frequencies, manifest = run(ROTARY)
    whole: Any = offsets.with_columns(rows=pl.lit(1, pl.Int64))
    typed = manifest_of("heads", manifest)
    Profile(heads, whole, frequencies, typed).save(tmp_path)
    Profile(heads, whole, frequencies.clear(), typed).save(tmp_path, overwrite=True)
    assert load(tmp_path).frequencies.is_empty()
