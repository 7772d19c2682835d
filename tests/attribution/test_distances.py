"""Logits split into content and position by distance, in every family: what must hold whatever the weights are."""

from pathlib import Path

import polars as pl
import pytest
import torch
from head_models import BY_NAME, IDS, with_head
from precision import rounding
from test_encodings_ledger import config_of, net_of
from test_families_known import ROTARY, explained
from test_families_ledger import FUSED, TABLES
from torch import Tensor

import wherewhat as ww
from wherewhat.attribution.attribute import attribute
from wherewhat.attribution.result import Attribution
from wherewhat.attribution.score_split import LogitRelevance

BY_BIAS = ("bloom", "mpt", "t5")
BY_TERMS = ("xlnet", "deberta", "deberta-v2")
ONE_BY_ONE = "gptj"  # rotates queries and keys one after the other, and not as heads


def by_source(attribution: Attribution, source: str) -> float:
    return sum(float(part_T.sum()) for (name, _), part_T in attribution.parts.items() if name == source)


def test_sums_by_distance_query_and_key_are_those_of_the_table():
    relevance_HQK = torch.randn(2, 5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    whole, parts = LogitRelevance.of(relevance_HQK), LogitRelevance.zeros(2, 5, 5)
    for first, last in ((0, 2), (2, 3), (3, 5)):
        parts.add_rows(relevance_HQK[:, first:last], first)
    expected = [relevance_HQK.diagonal(-lag, 1, 2).sum(-1) for lag in range(-4, 5)]
    for sums in (whole, parts):
        torch.testing.assert_close(sums.by_distance_HR, torch.stack(expected, 1))
        torch.testing.assert_close(sums.by_query_HQ, relevance_HQK.sum(2))
        torch.testing.assert_close(sums.by_key_HK, relevance_HQK.sum(1))


@pytest.mark.parametrize("name", [name for name in BY_NAME if name not in TABLES])
def test_content_and_position_are_all_of_the_logits(name: str):
    attribution = attribute(with_head(BY_NAME[name]), IDS)
    distances, close = attribution.distances, rounding(torch.float32, attribution.ledger.flow)
    if name == ONE_BY_ONE:
        assert distances.is_empty()
        return
    assert distances.columns == ["layer", "distance", "content", "position"]
    position = distances["position"].sum()
    if name in BY_BIAS:
        assert position == pytest.approx(by_source(attribution, "bias"), abs=close)
    if name in BY_TERMS:
        assert position == pytest.approx(2 * by_source(attribution, "distance terms"), abs=close)
    if name in ROTARY or name in ("bloom", "mpt"):
        own = distances.filter(distance=0)
        assert own["position"].abs().max() < close < own["content"].abs().max(), "a token is at no distance from itself"
    layers = {None} if name == "t5" else set(attribution.heads["layer"]) | ({1} if name == "smollm3" else set())
    assert set(distances["layer"]) == layers


@pytest.mark.parametrize("name", sorted(TABLES))
def test_a_table_adds_nothing_to_logits(name: str):
    assert attribute(with_head(BY_NAME[name]), IDS).distances.is_empty()


@pytest.mark.parametrize("name", [name for name in FUSED if name not in TABLES])
def test_fused_and_eager_attention_split_alike(name: str):
    frames = []
    for implementation in ("sdpa", "eager"):
        model = with_head(BY_NAME[name])
        model.module.set_attn_implementation(implementation)
        attribution = attribute(model, IDS)
        frames.append(attribution.distances)
    close = rounding(torch.float32, attribution.ledger.flow)
    for part in ("content", "position"):
        assert frames[0][part].to_list() == pytest.approx(frames[1][part].to_list(), abs=close)


def test_some_rows_at_a_time_give_the_same(monkeypatch: pytest.MonkeyPatch):
    model = with_head(BY_NAME["llama"])
    whole = attribute(model, IDS).distances
    monkeypatch.setattr("wherewhat.attribution.backward.ENTRIES", 80)
    parts = attribute(model, IDS).distances
    for part in ("content", "position"):
        assert parts[part].to_list() == pytest.approx(whole[part].to_list(), abs=1e-6)


def test_a_rotation_by_nothing_adds_nothing_and_one_that_begins_later_the_same():
    model = with_head(BY_NAME["llama"])

    def position_LR(first: int) -> list[Tensor]:
        relevance = explained(model, -1, position_ids=torch.arange(len(IDS))[None] + first)
        return [split.position.by_distance_R for split in relevance.splits]

    for ours, moved in zip(position_LR(0), position_LR(7), strict=True):
        torch.testing.assert_close(ours, moved, rtol=0, atol=1e-5)
        assert ours.abs().max() > 1e-3
    model.module.model.rotary_emb.inv_freq.zero_()
    assert all(not still.any() for still in position_LR(0)), "although its cosines have half of a product"
    assert attribute(model, IDS).position_T.abs().max() > 1e-3


@pytest.mark.parametrize("method", ["attnlrp", "cp-lrp", "input-x-gradient", "rollout", "random"])
def test_methods_that_do_not_tell_positions_apart_have_none(method: str):
    assert attribute(with_head(BY_NAME["llama"]), IDS, method=method).distances.is_empty()
    net = net_of(config_of("rope", "decoder"))
    assert attribute(net, [1, 2, 3], method=method).distances.is_empty()


@pytest.mark.parametrize(
    ("encoding", "times"),
    [("transformer_xl", 2), ("shaw", 2), ("deberta", 2), ("path", 1), ("path_fox", 1), ("t5_bias", 1), ("dape", 1)],
)
def test_position_in_logits_is_what_was_added_to_them(encoding: str, times: int):
    """Of products, sources have half; Transformer-XL's bias of contents and the gates of path_fox are content."""
    attribution = attribute(net_of(config_of(encoding, "decoder")), [1, 4, 2, 8])
    by_layer = attribution.distances.group_by("layer").agg(pl.col("position").sum()).sort("layer")["position"].to_list()
    sums = [0.0] * len(by_layer)
    for (_, layer), part_T in attribution.parts.items():
        sums[layer] += float(part_T.sum())
    assert by_layer == pytest.approx([times * value for value in sums], abs=1e-12) and any(sums)


def test_a_permutation_of_channels_adds_to_logits_although_it_is_no_value():
    attribution = attribute(net_of(config_of("rollpe", "decoder")), [1, 4, 2, 8])
    assert not attribution.parts and attribution.distances["position"].abs().max() > 1e-6
    assert attribution.distances.filter(distance=0)["position"].abs().max() < 1e-12


def test_an_encoder_looks_both_ways():
    distances = attribute(net_of(config_of("rope", "encoder")), [1, 2, 3, 4]).distances
    assert distances["distance"].unique().sort().to_list() == [-3, -2, -1, 0, 1, 2, 3]
    assert attribute(net_of(config_of("rope", "decoder")), [1, 2, 3]).distances["distance"].min() == 0


def test_a_run_has_them_as_a_table(tmp_path: Path):
    net = net_of(config_of("alibi", "decoder"))
    run = ww.attribute_texts(net, [torch.tensor([1, 2, 3])], ww.AttributionSettings(methods=("attnlrp", "pa-lrp")))
    assert run.distances["method"].unique().to_list() == ["pa-lrp"]
    assert run.distances.height == 3 * 3 * 2  # layers, distances, parts
    alone = attribute(net, [1, 2, 3]).distances["position"].sum()
    assert run.distances.filter(pl.col("part") == "position")["value"].sum() == pytest.approx(alone)
    run.save(tmp_path / "run")
    assert ww.load(tmp_path / "run").distances.equals(run.distances)
