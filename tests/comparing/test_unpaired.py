"""Models of different shapes: distributions over heads, and which heads are nearest by their scores."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from made_up import HEADS_EACH, LAYERS, at, profile
from scipy import stats
from scipy.optimize import linear_sum_assignment

from wherewhat.comparing.compare import compare
from wherewhat.report.pages.compare.comparison import ComparisonData
from wherewhat.runs.registry import Profile, load
from wherewhat.tables.manifest.sections import ScoreSection

SCORES = {"locality": at(0.2), "sink": at(0.5, by_layer=0.2)}
DEEP = 4


def deep(name: str = "deep", **more: object) -> Profile:
    """A model with twice as many layers."""
    scores = {"locality": at(0.1, by_layer=0.15), "sink": at(0.4)}
    return profile(name, scores, layers=DEEP, about={"layers": DEEP, "heads": DEEP * HEADS_EACH}, **more)


def with_ranges(made: Profile) -> Profile:
    scores = {**made.manifest.scores, "sink": ScoreSection(range=(0, 2))}
    return Profile(made.heads, made.offsets, made.frequencies, replace(made.manifest, scores=scores))


def values(made: Profile, score: str) -> list[float]:
    return made.heads.filter(pl.col("score") == score)["value"].to_list()


def test_every_head_stands_on_its_own_side_and_the_means_are_compared():
    first, other = profile("a", SCORES), deep()
    table = compare([first, other]).compare
    local = table.filter(pl.col("score") == "locality")
    heads = local.filter(pl.col("head").is_not_null())
    assert heads["before"].drop_nulls().to_list() == pytest.approx(values(first, "locality"))
    assert heads["after"].drop_nulls().to_list() == pytest.approx(values(other, "locality"))
    assert heads["change"].null_count() == heads.height == (LAYERS + DEEP) * HEADS_EACH
    layers = local.filter(pl.col("head").is_null() & pl.col("layer").is_not_null())
    assert layers["before"].drop_nulls().len() == LAYERS and layers["after"].drop_nulls().len() == DEEP
    whole = local.filter(pl.col("layer").is_null()).row(0, named=True)
    both = values(other, "locality"), values(first, "locality")
    theirs = stats.ttest_ind(*both, equal_var=False).confidence_interval()
    assert whole["change"] == pytest.approx(np.mean(both[0]) - np.mean(both[1]))
    assert (whole["low"], whole["high"]) == pytest.approx((theirs.low, theirs.high))


def test_the_nearest_head_is_the_one_whose_scores_differ_least():
    first, other = with_ranges(profile("a", SCORES)), with_ranges(deep())
    found = compare([first, other])
    table = found.similarity
    assert set(table["by"]) == {"scores"} and table.height == LAYERS * HEADS_EACH * DEEP * HEADS_EACH
    ours = {
        tuple(row[:4]): row[4]
        for row in table.select("layer", "head", "against_layer", "against_head", "divergence").rows()
    }
    for here, there in product(product(range(DEEP), range(HEADS_EACH)), product(range(LAYERS), range(HEADS_EACH))):
        gaps = [
            abs(at(0.1, by_layer=0.15)(*here) - SCORES["locality"](*there)),
            abs(at(0.4)(*here) - SCORES["sink"](*there)) / 2,
        ]
        assert ours[(*here, *there)] == pytest.approx(np.mean(gaps))
    (pair,) = found.manifest.similar
    assert pair.scores == ["locality", "sink"] and pair.min.value == pytest.approx(min(ours.values()))
    rows, columns = linear_sum_assignment(table["divergence"].to_numpy().reshape(DEEP * HEADS_EACH, -1))
    best = table["divergence"].to_numpy().reshape(DEEP * HEADS_EACH, -1)[rows, columns]
    assert [partner.divergence for partner in pair.partners] == pytest.approx(sorted(best))
    assert pair.any == pytest.approx(np.mean(list(ours.values())))


def test_scores_without_two_ends_have_no_say_in_which_heads_are_near():
    first, other = profile("a", SCORES), deep()  # made-up manifests tell the range of locality alone
    (pair,) = compare([first, other]).manifest.similar
    assert pair.scores == ["locality"]


def test_models_without_a_common_part_are_compared_whole_but_not_by_sides():
    scores = {"locality": at(0.2), "symmetry": at(0.5)}
    first = profile("a", scores)
    other = profile("b", scores, part="decoder", about={"family": "gpt2"})
    whole = compare([first, other]).compare.filter(pl.col("layer").is_null())
    assert whole.select("score", "part").rows() == [("locality", "all")]
    alike = compare([first, profile("b", scores, about={"family": "roberta"})]).compare
    assert alike.filter(pl.col("layer").is_null()).select("score", "part").rows() == [
        ("locality", "encoder"),
        ("symmetry", "encoder"),
    ]


def test_the_page_compares_distributions_and_says_that_no_head_has_a_counterpart(tmp_path: Path):
    found = compare([with_ranges(profile("a", SCORES)), with_ranges(deep())])
    assert not ComparisonData(found.compare, found.manifest).paired
    found.save(tmp_path / "run")
    again = load(tmp_path / "run")
    titles = [section.title for section in again.page.sections]
    assert "Heads that are alike" in titles and "Which heads changed most" not in titles
    page = (tmp_path / "run" / "report.html").read_text()
    assert "no head has a counterpart" in page and "Welch" in page
    local, *_, near = found.sentences
    low, high = np.quantile(values(deep(), "locality"), [0.25, 0.75])
    assert local.startswith(
        f"locality: half of the heads are at {low:.2f} to {high:.2f} in deep and at 0.21 to 0.31 in a"
    )
    assert near.startswith("By 2 scores, heads of deep and a paired one to one are ")
    assert again.sentences == found.sentences


def test_a_list_may_hold_both_kinds():
    found = compare([profile("a", SCORES), profile("b", {"locality": at(0.4), "sink": at(0.5)}), deep()])
    heads = found.compare.filter(pl.col("head").is_not_null())
    assert heads.filter(pl.col("model") == "b")["change"].null_count() == 0
    assert heads.filter(pl.col("model") == "deep")["change"].null_count() == 2 * (LAYERS + DEEP) * HEADS_EACH
    assert "deep: another shape than the first" in found.manifest.intervals[0]
    assert found.page.sections
