"""The views of one head held against each other, and what every number rests on."""

import random
import re

import polars as pl
import pytest
from dict_manifests import page_of_heads, read_head_table
from synthetic import DECODER, LEARNED, ROTARY, run_of
from test_report_page import Reader, data_of
from test_report_where import table

from wherewhat.report.core.render import render
from wherewhat.report.pages.heads.head_table import Counts
from wherewhat.report.pages.heads.shares import (
    VERDICTS,
    Preference,
    contradictions,
    disagreement,
    measurements,
    preferences,
    verdicts,
)

TRIPLE = ("position_share", "symbol_share", "interaction_share")


def three(prefix: str, *heads: tuple[float, float]) -> dict[str, list[tuple[float, None]]]:
    """The shares of some heads, by position and by content."""
    columns = [[place for place, _ in heads], [content for _, content in heads], [1 - sum(pair) for pair in heads]]
    return {
        f"{prefix}{name}": [(value, None) for value in values] for name, values in zip(TRIPLE, columns, strict=True)
    }


@pytest.mark.parametrize(
    ("one", "other", "contradict"),
    [
        (Preference("attended", 0.3, 0.6), Preference("shares", 0.8, 0.1), True),
        (Preference("attended", 0.6, 0.3), Preference("shares", 0.8, 0.1), False),
        (
            Preference("attended", 0.45, 0.5),
            Preference("shares", 0.9, 0.05),
            True,
        ),  # takes no side, where the other leans far
        (Preference("attended", 0.45, 0.5), Preference("shares", 0.5, 0.3), False),
        (Preference("attended", 0.45, 0.5), Preference("published", 0.99, 0.2, whole=False), False),
        (Preference("attended", 0.3, 0.6), Preference("published", 0.9, 0.3, whole=False), True),
        (
            Preference("attended", 0.3, 0.6),
            Preference("published", 0.99, 0.97, whole=False),
            False,
        ),  # flat: high on both
        (Preference("attended", 0.3, 0.6, apart=False), Preference("shares", 0.5, 0.3), False),
        (
            Preference("attended", 0.46, 0.54),
            Preference("shares", 0.54, 0.46),
            False,
        ),  # opposite, but by less than a tenth
    ],
)
def test_views_disagree_where_they_clearly_take_opposite_sides(one: Preference, other: Preference, contradict: bool):
    assert (disagreement([one, other]) is not None) == (disagreement([other, one]) is not None) == contradict


def test_one_view_alone_and_no_view_contradict_nothing():
    assert disagreement([]) is disagreement([Preference("attended", 0.9, 0.1)]) is None


def test_intervals_that_overlap_take_no_side():
    made = table(**three("", (0.6, 0.3)))
    wide = made.with_columns(low=pl.col("value") - 0.2, high=pl.col("value") + 0.2)
    sides = []
    for heads in (made, wide):
        run = read_head_table(heads, {})
        sides += [lean.side for lean in preferences(run, measurements(run))["L0H0"]]
    assert sides == [1, 0]


def test_the_page_marks_the_heads_on_which_views_disagree_and_says_why():
    made = table(
        **three("attended__", (0.3, 0.6), (0.7, 0.2)),
        **three("", (0.8, 0.1), (0.7, 0.2)),
        positional=[(0.3, 0.5), (0.9, 0.5)],
        symbolic=[(0.8, 0.5), (0.2, 0.5)],
    )
    run = read_head_table(made, {})
    assert [view.name for view in measurements(run)] == ["attended", "shares", "published"]
    mixed = contradictions(run)
    assert list(mixed) == ["L0H0"]
    assert mixed["L0H0"] == (
        "Attended keys: more by content than by position (position 0.30, content 0.60); "
        "All keys equally: more by position than by content (position 0.80, content 0.10).",
        "When all keys count equally, keys that receive no attention dominate.",
    )
    data = data_of(render(page_of_heads(made, run_of(DECODER, random.Random(0))[1].clear(), pl.DataFrame(), {})))
    assert list(data["about"]["mixed"]) == ["L0H0"] and data["tables"]["heads"]["mixed"] == [1, 0]


@pytest.mark.parametrize(
    ("shares", "sink", "verdict"),
    [
        ((0.8, 0.1), 0.0, "Attention is decided mostly by position"),
        ((0.1, 0.8), 0.0, "Attention is decided mostly by content"),
        ((0.1, 0.1), 0.0, "Attention is decided mostly by {}"),
        ((0.45, 0.3), 0.0, "Attention is decided more by position than by content"),
        ((0.3, 0.45), 0.0, "Attention is decided more by content than by position"),
        ((0.42, 0.45), 0.0, "Neither position nor content dominates"),
        ((0.1, 0.8), 0.999999, "Attention sink: most of its attention goes to the first token"),
        (
            (0.505, 0.3),
            0.0,
            "Attention is decided more by position than by content",
        ),  # the interval reaches below a half
    ],
)
def test_a_head_is_called_what_it_is(shares: tuple[float, float], sink: float, verdict: str):
    made = table(**three("attended__", shares), sink=[(sink, 0.1)])
    assert VERDICTS[verdicts(read_head_table(made, {}))[0]] == verdict


def test_every_score_knows_what_it_rests_on():
    heads, _, _, manifest = run_of(LEARNED, random.Random(0))
    run = read_head_table(heads, manifest)
    rests = {score.name: [str(counts) for counts in score.rests] for score in run.answered}
    assert rests["input.position_share"] == ["8 texts, 8 rows"]
    assert rests["mean.position"] == ["11 texts, 330 rows"]
    assert rests["entropy"] == ["64 texts, 4,096 rows"]
    two = heads.with_columns(
        rows=pl.when((pl.col("layer") == 1) & (pl.col("score") == "entropy")).then(9).otherwise("rows")
    )
    entropy = next(score for score in read_head_table(two, manifest).scores if score.name == "entropy")
    assert entropy.rests == [Counts(64, 64, 4096), Counts(64, 64, 9)]
    scored = read_head_table(two, manifest).scored(entropy)
    assert [scored[row].rests.few for row in (0, 4, 8)] == [False, True, False]


def test_little_is_said_to_be_little():
    assert Counts(1, 40, 900).few and Counts(20, 20, 29).few and not Counts(2, 2, 30).few and not Counts().few
    said = " ".join(Reader(render(page_of_heads(*run_of(LEARNED, random.Random(0))))).words)
    assert "are based on fewer than 30 rows or on a single text." in said
    assert "8 texts, 8 rows; few, so read it with care" in said
    rotary = " ".join(Reader(render(page_of_heads(*run_of(ROTARY, random.Random(0))))).words)
    assert "Fewer than 30 rows" not in rotary and "64 texts, 4,096 rows" in rotary


def test_windows_are_told_where_they_are_not_whole_texts():
    heads, offsets, frequencies, manifest = run_of(DECODER, random.Random(0))
    cut = manifest | {"texts": manifest["texts"] | {"count": 3, "windows": 64}}
    facts = page_of_heads(heads.with_columns(texts=pl.lit(3)), offsets, frequencies, cut).facts
    assert ("3", "texts") in facts and ("64", "windows") in facts
    assert "windows" not in [what for _, what in page_of_heads(heads, offsets, frequencies, manifest).facts]


def test_some_heads_are_not_said_to_be_all():
    heads, offsets, frequencies, manifest = run_of(DECODER, random.Random(0))
    for kept, lede, fact in (
        (
            (pl.col("layer") == 1) & (pl.col("head") == 3),
            "L1H3, one of the 16 heads of this model, attends",
            ("1 of 16", "heads"),
        ),
        (pl.col("layer") == 1, "each of 4 of the 16 heads of this model attends", ("4 of 16", "heads")),
        (pl.lit(True), "each of the 16 heads of this model attends", ("4 × 4", "layers × heads")),
    ):
        made = page_of_heads(heads.filter(kept), offsets, frequencies, manifest)
        assert lede in made.lede and fact in made.facts


def test_both_baselines_are_explained():
    said = " ".join(Reader(render(page_of_heads(*run_of(ROTARY, random.Random(0))))).words)
    assert "Untrained weights of the same architecture: 0.42 on average over heads" in said
    assert (
        "Untrained is the score of random weights of the same architecture" in said
        and "one random initialisation on " in said
    )


def test_names_of_heads_in_findings_select_them():
    written = render(page_of_heads(*run_of(ROTARY, random.Random(0))))
    buttons = re.findall(r'<button type="button" data-head="(L\d+H\d+)" class="name">', written)
    assert buttons and set(buttons) <= set(data_of(written)["tables"]["heads"]["name"])
    assert '<ul class="findings">' in written


def test_what_was_not_measured_has_no_view():
    heads, _, _, manifest = run_of(DECODER, random.Random(0))
    run = read_head_table(heads, manifest)
    assert measurements(run) == [] and set(verdicts(run)) <= {0, 1}


@pytest.mark.parametrize(
    ("windows", "words"), [(4, "4 of 64"), (None, "some of the"), (0, "some of the")], ids=["some", "unknown", "none"]
)
def test_the_windows_of_untrained_weights_are_counted(windows: int | None, words: str):
    heads, _, _, manifest = run_of(DECODER, random.Random(0))
    run = read_head_table(heads, manifest | {"untrained": {"windows": windows}})
    assert run.untrained_windows == f"one random initialisation on {words} windows"
