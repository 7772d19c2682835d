"""The findings of a run in plain words: each sentence holds, for every kind of run."""

import random
import re
from typing import Any

import polars as pl
import pytest
from dict_manifests import findings
from synthetic import BOTH, DECODER, ENCODER, LEARNED, ONE, ROTARY, Shape, run_of
from test_report_views import three
from test_report_where import table


def numbers_of(heads: pl.DataFrame, score: str) -> dict[str, dict[str, Any]]:
    rows = heads.filter(pl.col("score") == score).iter_rows(named=True)
    return {f"L{row['layer']}H{row['head']}": row for row in rows}


def single(heads: pl.DataFrame) -> pl.DataFrame:
    """The same as if one text had been read."""
    gone = pl.lit(None, pl.Float64)
    return heads.with_columns(low=gone, high=gone, texts=pl.lit(1), windows=pl.lit(1), rows=pl.lit(64))


@pytest.mark.parametrize("shape", [ROTARY, LEARNED, ENCODER, DECODER, BOTH, ONE], ids=lambda shape: shape.model)
def test_there_are_three_to_five_each_with_what_it_rests_on(shape: Shape):
    heads, _, _, manifest = run_of(shape, random.Random(0))
    found = findings(heads, manifest)
    assert 3 <= len(found) <= 5 and len(set(found)) == len(found)
    for sentence in found:
        named = sentence.startswith(("encoder L", "decoder L", "cross L"))
        assert (named or not sentence[0].islower()) and sentence.endswith("."), sentence
        assert re.search(r"\d+ texts|position [\d.]+, content [\d.]+\)", sentence), sentence


@pytest.mark.parametrize("shape", [ROTARY, LEARNED], ids=lambda shape: shape.model)
def test_heads_that_place_or_content_decides_are_counted_with_their_intervals(shape: Shape):
    heads, _, _, manifest = run_of(shape, random.Random(0))
    prefix, rest = ("input.", "other") if shape.learned else ("attended.", "interaction")
    resting = {name for name, row in numbers_of(heads, "sink").items() if row["value"] >= 0.5}
    assert resting
    counts = [
        sum(row["low"] > 0.5 for name, row in numbers_of(heads, f"{prefix}{part}_share").items() if name not in resting)
        for part in ("position", "symbol", rest)
    ]
    awake = len(numbers_of(heads, "sink")) - len(resting)
    said = next(sentence for sentence in findings(heads, manifest) if "decides" in sentence)
    assert f"of {awake} heads that are not attention sinks" in said
    assert f" {max(counts)} of {awake} heads" in said
    assert f"in {awake - sum(counts)} no share clearly exceeds one half" in said
    assert ("When tokens are permuted at the input" in said) == shape.learned


def test_counts_and_leads_by_hand():
    made = table(**three("attended__", (0.9, 0.05), (0.8, 0.1), (0.1, 0.85), (0.4, 0.45), (0.505, 0.2)))
    assert findings(made, {})[:2] == [
        "Position clearly decides where 2 of 5 heads attend; content decides 1; in 2 no share clearly exceeds one half "
        "(whole 95\N{NO-BREAK SPACE}% interval; 9 texts).",
        "L0H0 is the most positional head: share 0.90 (0.89 to 0.91); L0H2 is the most content-based head: share 0.85 "
        "(0.84 to 0.86) (9 texts).",
    ]


def test_nobody_leads_where_nobody_takes_a_side():
    made = table(**three("attended__", (0.45, 0.4), (0.3, 0.35)))
    found = findings(made, {})
    assert found[0].startswith("Neither position nor content clearly decides where any of the 2 heads attend; no share")
    assert "No head clearly favours position over content or content over position (9 texts)." in found
    assert not any(" the most " in sentence for sentence in found)


def test_sinks_are_called_sinks_and_go_by_nothing():
    made = table(**three("attended__", (0.1, 0.85), (0.7, 0.2)), sink=[(0.999999, 0.1), (0.02, 0.1)])
    found = findings(made, {})
    assert found[0] == (
        "The attention of L0H1 is decided mostly by position: position share 0.70 (0.69 to 0.71); "
        "content share 0.20 (0.19 to 0.21) (9 texts)."
    )
    assert "1 of 2 heads is an attention sink" in " ".join(found) and "L0H0 most: 1.00" in " ".join(found)
    assert "L0H0 is the most" not in " ".join(found)
    every = findings(table(**three("attended__", (0.1, 0.85)), sink=[(0.9, 0.1)]), {})
    assert (
        every[0]
        == "L0H0 is an attention sink: attention to the first token 0.90 (0.89 to 0.91), chance 0.10 (9 texts)."
    )
    assert not any("decide" in sentence or " the most " in sentence for sentence in every)


def test_flat_heads_are_said_to_be_flat_first():
    made = table(entropy=[(0.97, 1.0), (0.99, 1.0)], **three("", (0.8, 0.1), (0.1, 0.8)))
    assert (
        findings(made, {})[0]
        == "Attention is nearly uniform in all 2 heads: entropy 0.97 to 0.99, where 1 is uniform (9 texts)."
    )
    assert not any("nearly uniform" in one for one in findings(table(entropy=[(0.97, 1.0), (0.5, 1.0)]), {}))


def test_one_text_has_no_intervals_and_nothing_is_told_from_chance_by_them():
    heads, _, _, manifest = run_of(ROTARY, random.Random(0))
    found = findings(single(heads), manifest)
    assert found[-1] == "All of this is based on one text, so there are no intervals; give two texts or more."
    assert 3 <= len(found) <= 5
    for sentence in found[:-1]:
        assert "interval" not in sentence and "chance is" not in sentence and "farthest" not in sentence
        assert "1 text, 64 rows" in sentence or "disagree" in sentence
    assert findings(heads, manifest)[-1] != found[-1]


def test_more_or_less_than_fresh_weights_is_counted_by_intervals():
    made = table(**three("attended__", (0.9, 0.05), (0.8, 0.1), (0.3, 0.4))).with_columns(
        untrained=pl.when(pl.col("score") == "attended.position_share").then(0.3).otherwise(None)
    )
    said = [sentence for sentence in findings(made, {}) if "untrained weights" in sentence]
    assert said == [
        "2 of 3 heads are more positional than untrained weights of the same architecture: the mean position share is "
        "0.67, untrained 0.30 (whole 95\N{NO-BREAK SPACE}% interval; 9 texts; untrained: one random "
        "initialisation on some of the windows)."
    ]


def test_heads_that_went_the_other_way_are_not_hidden_in_a_mean():
    made = table(**three("attended__", (0.9, 0.05), (0.8, 0.1), (0.1, 0.4))).with_columns(
        untrained=pl.when(pl.col("score") == "attended.position_share").then(0.3).otherwise(None)
    )
    assert (
        "2 of 3 heads are more positional than untrained weights of the same architecture, 1 is less so: the mean "
        "position share is 0.60" in (" ".join(findings(made, {})))
    )


def test_some_heads_are_told_as_some():
    heads, _, _, manifest = run_of(ROTARY, random.Random(0))
    one = heads.filter((pl.col("layer") == 1) & (pl.col("head") == 3))
    found = findings(one, manifest)
    assert 3 <= len(found) <= 5
    assert "L1H3, one of the model's 36 heads," in found[0]
    layer = findings(heads.filter(pl.col("layer") == 1), manifest)
    assert re.search(r"of \d profiled heads \(36 in the model\)", layer[0])
    assert not any("farthest" in sentence for sentence in found)
    assert set(re.findall(r"L\d+H\d+", " ".join(found))) <= {"L1H3"}


@pytest.mark.parametrize("asked", [["entropy"], ["sink", "induction"], ["positional", "symbolic"], ["position_share"]])
def test_some_scores_give_what_they_can(asked: list[str]):
    heads, _, _, manifest = run_of(ROTARY, random.Random(0))
    found = findings(heads.filter(pl.col("score").is_in(asked)), manifest)
    assert 1 <= len(found) <= 5
    assert not any("decide" in sentence or " the most " in sentence for sentence in found)


def test_place_alone_is_told_where_it_was_asked():
    made = table(identical__locality=[(0.2, 0.1), (0.4, 0.1)], entropy=[(0.5, 1.0), (0.6, 1.0)])
    said = (
        "By position alone, L0H1 is the most local head: identical.locality 0.40 (0.39 to 0.41), chance 0.10 (9 texts)."
    )
    assert findings(made, {})[0] == said


def test_sides_of_chance_are_named_and_true():
    heads, _, _, manifest = run_of(ENCODER, random.Random(0))
    for sentence in findings(heads, manifest):
        found = re.match(
            r"(L\d+H\d+) is farthest (above|below) chance in .*?: ([\d.]+) \(.*?\), chance ([\d.]+)", sentence
        )
        if found:
            assert (float(found[3]) > float(found[4])) == (found[2] == "above"), sentence


def test_every_head_named_has_the_number_said_of_it():
    heads, _, _, manifest = run_of(ROTARY, random.Random(0))
    values = {f"{value:.2f}" for value in heads["value"].drop_nulls()}
    for sentence in findings(heads, manifest):
        for name, number in re.findall(r"(L\d+H\d+) (?:is the most [\w-]+ head: share|most:) ([\d.]+)", sentence):
            assert number in values and name in {f"L{a}H{b}" for a in range(6) for b in range(6)}
