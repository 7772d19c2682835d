"""What every number rests on: rows, windows and whole texts, however the same thing is asked for."""

import numpy as np
import polars as pl
import pytest
import torch
from families import FAMILIES

from wherewhat.capture.tokens.batch import generator_of, sample_rows
from wherewhat.profiling.accumulate import LayerScores, WindowScore, spread_out, summarise
from wherewhat.profiling.profile import profile
from wherewhat.stats.bootstrap import Resampling

KEYS = ["layer", "head", "score"]
BY_NAME = {family.name: family for family in FAMILIES}


def texts(*lengths: int, seed: int = 0) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(3, 90, (length,), generator=generator) for length in lengths]


def test_saying_the_default_changes_nothing():
    model, ids = BY_NAME["llama"].build(), texts(40, 70, 50)
    unset = profile(model, ids, untrained=False)
    said = profile(model, ids, queries=64, logit_rows=8, max_swaps=16384, untrained=False)
    assert unset.heads.equals(said.heads)
    assert unset.manifest.settings == said.manifest.settings
    assert (unset.manifest.settings["queries"], unset.manifest.settings["logit_rows"]) == (64, 8)


def test_every_value_says_how_many_rows_it_rests_on():
    model, ids = BY_NAME["llama"].build(), texts(100, 120)
    heads = profile(model, ids, untrained=False, max_tokens=128).heads
    rows = {score: set(of["rows"]) for (score,), of in heads.group_by("score")}
    assert rows["locality"] == {128}
    assert rows["position_share"] == rows["positional"] == rows["attended.symbol_share"] == {16}
    every = profile(model, ids, queries="all", logit_rows="all", untrained=False, max_tokens=128).heads
    # Slot 0 never changes places and a query does not swap itself, so rows 0 to 2 have fewer than two keys to swap.
    assert set(every.filter(pl.col("score") == "position_share")["rows"]) == {100 - 3 + 120 - 3}
    last = profile(model, ids, queries="last", untrained=False, max_tokens=128).heads
    assert set(last.filter(pl.col("score") == "positional")["rows"]) == {2}


def test_rows_whose_logits_are_decomposed_are_spread_over_the_window():
    assert spread_out(torch.arange(64), 8).tolist() == [7, 15, 23, 31, 39, 47, 55, 63]
    assert spread_out(torch.arange(3), 8).tolist() == [0, 1, 2]
    assert spread_out(torch.tensor([4, 9, 30]), 1).tolist() == [30]


def test_windows_of_one_text_are_resampled_together():
    rng = np.random.default_rng(1)
    origins = (0, 0, 0, 1, 1, 2, 3)
    values = rng.uniform(size=len(origins))
    account = LayerScores(1)
    for window, value in enumerate(values):
        of_one = torch.tensor([value])
        account.add("x", window, WindowScore(of_one, torch.ones(1), torch.tensor([0.5]), torch.tensor([4])))
    found = summarise(account, "x", Resampling(origins, seed=3))
    drawn = np.random.default_rng(3).multinomial(4, [1 / 4] * 4, size=1000)
    means = []
    for counts in drawn:
        taken = [(counts[origin], value) for origin, value in zip(origins, values, strict=True)]
        means.append(sum(count * value for count, value in taken) / sum(count for count, _ in taken))
    assert (found.low_H[0], found.high_H[0]) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))
    assert (found.texts_H[0], found.windows_H[0], found.rows_H[0]) == (4, 7, 28)


def test_one_long_text_has_windows_but_no_interval():
    heads = profile(BY_NAME["llama"].build(), texts(90), max_tokens=30, untrained=False).heads
    local = heads.filter(pl.col("score") == "locality")
    assert set(local["texts"]) == {1} and set(local["windows"]) == {3}
    assert local["low"].null_count() == local.height and local["value"].null_count() == 0


def test_the_order_of_texts_does_not_decide_which_rows_are_read():
    model, ids = BY_NAME["llama"].build(), texts(100, 110, 120, 130)
    settings = {"queries": 6, "logit_rows": 2, "untrained": False}
    there, back = (profile(model, some, **settings).heads.sort(KEYS) for some in (ids, ids[::-1]))
    for column in ("value", "chance"):
        one, other = (table[column].fill_null(-1).to_numpy() for table in (there, back))
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_rows_depend_on_the_tokens_and_on_the_seed():
    one, other = texts(100, 100)
    rows = [sample_rows(100, 8, generator_of(text, seed)).tolist() for text, seed in ((one, 0), (other, 0), (one, 1))]
    assert rows[0] == sample_rows(100, 8, generator_of(one.clone(), 0)).tolist()
    assert rows[0] != rows[1] and rows[0] != rows[2]


def test_a_published_score_without_a_temperature_is_asked_at_every_temperature():
    model, ids = BY_NAME["llama"].build(), texts(20, 24)
    asked = {"tau": (1e-4, 0.1, float("inf")), "scores": ("positional", "symbolic"), "untrained": False}
    heads = profile(model, ids, **asked).heads
    names = [f"{name}{tau}" for tau in ("", "@0.1", "@inf") for name in ("positional", "symbolic")]
    assert heads["score"].unique(maintain_order=True).to_list() == names
    one = profile(model, ids, tau=(1e-4, 0.1), scores=("positional@0.1",), untrained=False).heads
    assert set(one["score"]) == {"positional@0.1"}
