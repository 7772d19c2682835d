"""The walk of the positional part: nets with known answers, what is left beside it, words, seeds and refusals."""

import math
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest
import torch
from families import FAMILIES
from torch import Tensor, nn

from wherewhat.capture.loading.load import LoadedModel, wrap_module
from wherewhat.capture.tokens.encode import EncodedTexts
from wherewhat.capture.tokens.word_ids import whole_words, word_ids
from wherewhat.errors import UserError
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.profiling.measurements.base import MeasurementResult, ProfileContext
from wherewhat.profiling.measurements.positional import measure
from wherewhat.profiling.positional_part.repeated_word import MeanInputs, prepare_probe, same_text
from wherewhat.profiling.profile import profile
from wherewhat.profiling.settings import PositionalSettings, ProfileSettings
from wherewhat.scores.positional_part import (
    MEASURES,
    POSITIONAL_SCORES,
    ChanceLevels,
    both_ways,
    even_both_ways,
    even_causal,
    measures,
)
from wherewhat.tables.manifest.decode import encode
from wherewhat.tables.schema import POSITIONAL

BY_NAME = {family.name: family for family in FAMILIES}
N, PROBING = 11, PositionalSettings(length=11, words=6, seed=1, batch_tokens=200)


def some_texts(*lengths: int, seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(3, 80, (length,), generator=generator) for length in lengths]


TEXTS = some_texts(15, 14, 12, 11, 5)


def net_of(encoding: str, kind: str = "encoder", *, length: int = 40, **options: object) -> nn.Module:
    shape = {"vocabulary": 90, "width": 16, "layers": 2, "heads": 2, "length": length}
    return build(NetConfig(kind=kind, encoding=encoding, encoding_options=options, **shape), seed=1).double()


def found_in(
    model: nn.Module, texts: list[Tensor] | None = None, probing: PositionalSettings = PROBING
) -> MeasurementResult:
    encoded = EncodedTexts.of(TEXTS if texts is None else texts)
    return measure(ProfileContext(wrap_module(model), encoded, ProfileSettings(positional=probing, seed=probing.seed)))


def matrix(found: MeasurementResult, source: str, layer: int = 0) -> np.ndarray:
    rows = found.matrices.filter((pl.col("source") == source) & (pl.col("layer") == layer)).sort("head", "query", "key")
    size = int(rows["query"].max()) + 1
    return rows["attention"].to_numpy().copy().reshape(-1, size, size)


def value(found: MeasurementResult, name: str, layer: int = 0) -> np.ndarray:
    return next(one[name].value_H for site, one in found.summaries.items() if site.ordinal == layer)


def softmax(logits: np.ndarray) -> np.ndarray:
    odds = np.exp(logits - logits.max(-1, keepdims=True))
    return odds / odds.sum(-1, keepdims=True)


# Nets of ours ---------------------------------------------------------------------------------------------------------


def products(net: nn.Module, rows_TD: Tensor, layer: int) -> np.ndarray:
    weight = net.blocks[layer].attention.qkv.weight
    query, key, _ = (rows_TD @ weight.T).unflatten(-1, (3, 2, -1)).permute(1, 2, 0, 3)
    return (query @ key.mT / math.sqrt(query.shape[-1])).detach().numpy()


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize("encoding", ["learned", "sinusoidal"])
def test_what_an_encoding_adds_to_tokens_is_read_by_every_layer(encoding: str, kind: str):
    net = net_of(encoding, kind)
    rows_TD = net.encoding(0).on_tokens(torch.zeros(1, N, 16).double(), torch.arange(N)[None], 0)[0]
    found = found_in(net)
    for layer in (0, 1):
        np.testing.assert_allclose(matrix(found, "delta", layer), softmax(products(net, rows_TD, layer)), atol=1e-9)
    assert any("delta is the model's table of positions" in note for note in found.notes)


def test_a_table_of_every_block_is_read_by_its_own_block():
    net = net_of("learned", place="block")
    found = found_in(net)
    for layer in (0, 1):
        rows_TD = net.encoding(layer).table_SD[:N]
        np.testing.assert_allclose(matrix(found, "delta", layer), softmax(products(net, rows_TD, layer)), atol=1e-9)


@pytest.mark.parametrize("s", [1.0, 0.25])
def test_attenuated_positions_are_what_was_set_by_hand(s: float):
    found = found_in(net_of("attenuated", w=0.3, s=s, inject="log"))
    i, j = np.indices((N, N))
    odds = np.exp(-0.3 * np.where(j < i, 1, s) * (i - j) ** 2)
    for layer in (0, 1):
        for source in ("delta", "identical"):
            ours = matrix(found, source, layer)
            np.testing.assert_allclose(ours, np.stack([odds / odds.sum(-1, keepdims=True)] * 2), atol=1e-6)
    assert (value(found, "delta.balance") > 0.999).all() == (s == 1)
    assert (value(found, "delta.left_right_bias") < -0.1).all() == (s < 1)


def test_without_an_encoding_there_is_no_delta_and_attention_is_even():
    found = found_in(net_of("none"))
    assert not any(name.startswith("delta") for name in found.scores)
    assert any("neither the logits nor a table depend on position" in note for note in found.notes)
    np.testing.assert_allclose(matrix(found, "identical"), 1 / N, atol=1e-6)
    np.testing.assert_allclose(value(found, "identical.excess"), 0, atol=1e-6)


def test_a_decoder_is_held_against_even_attention_under_its_mask():
    found = found_in(net_of("rope", "decoder"))
    identical, unmasked = matrix(found, "identical"), matrix(found, "unmasked")
    assert np.triu(identical[0], 1).max() == 0 < unmasked.min()
    np.testing.assert_allclose(identical[:, -1], unmasked[:, -1], atol=1e-6)
    summaries = next(iter(found.summaries.values()))
    assert summaries["identical.locality"].chance_H == pytest.approx(even_causal(N))
    for source in ("unmasked", "delta"):
        assert summaries[f"{source}.locality"].chance_H == pytest.approx(even_both_ways(N))
    assert (
        "identical.balance" not in summaries
        and "unmasked.balance" in summaries
        and "delta.left_right_bias" in summaries
    )
    assert "identical.contextual.balance" not in summaries and "identical.contextual.excess" in summaries
    assert set(found.section.baselines) == {"n", "uniform", "random .02", "random 1", "causal"}
    reach = {(one.source, one.back, one.ahead) for one in found.section.layers}
    assert reach >= {("identical", None, 0), ("unmasked", None, None), ("delta", None, None)}
    assert any("Under a causal mask symmetry is meaningless" in note for note in found.notes)


def test_an_encoder_has_no_mask_to_take_away():
    found = found_in(net_of("rope"))
    assert not any(name.startswith("unmasked") for name in found.scores) and "causal" not in found.section.baselines
    assert set(found.scores) == {score.name for score in POSITIONAL_SCORES if not score.name.startswith("unmasked")}


# Beside it ------------------------------------------------------------------------------------------------------------


def test_what_is_left_is_each_texts_attention_divided_by_the_positional_part():
    model = BY_NAME["bert"].build(seed=2, attn_implementation="eager")
    texts = some_texts(14, 12, 11, 11)
    found = found_in(model, texts)
    with torch.no_grad():
        layers = [model(text[None, :N], output_attentions=True).attentions for text in texts]
    for source in ("identical", "delta", "mean"):
        for layer in (0, 1):
            each = []
            for text in layers:
                left = text[layer][0].double().numpy() / matrix(found, source, layer)
                left = left / left.sum(-1, keepdims=True)
                each.append({name: x.numpy() for name, x in measures(torch.from_numpy(left), both_ways(N)).items()})
            for name in MEASURES:
                mean = np.mean([one[name] for one in each], 0)
                np.testing.assert_allclose(value(found, f"{source}.contextual.{name}", layer), mean, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("w", [0.1, 0.5])
def test_what_is_left_of_position_alone_is_even_even_where_attention_is_too_small_to_be_told_from_0(
    w: float, dtype: torch.dtype
):
    texts, probing = some_texts(64, 64, 64), PositionalSettings(length=64, words=5)
    found = found_in(net_of("none", length=64).to(dtype), texts, probing)
    whole = found_in(net_of("attenuated", length=64, w=w, inject="log").to(dtype), texts, probing)
    assert (matrix(whole, "identical") == 0).any() or dtype == torch.float64
    assert (value(whole, "delta.excess") > 0.3).all()
    for source in ("identical", "delta", "mean"):
        left = value(whole, f"{source}.contextual.excess")
        np.testing.assert_allclose(left, value(found, "identical.contextual.excess"), atol=5e-3)
    for name in ("locality", "balance"):
        ours, theirs = (value(whole, f"{source}.contextual.{name}") for source in ("identical", "delta"))
        np.testing.assert_allclose(ours, theirs, atol=1e-3)


def test_texts_of_one_length_are_cut_and_the_rest_is_told():
    found = found_in(net_of("rope"), some_texts(9, 8, 8, 4))
    assert {one.n for one in found.section.layers if one.source == "mean"} == {8}
    assert {one.n for one in found.section.layers if one.source == "identical"} == {N}
    assert any("use the first 8 tokens of 3 of 4 texts" in note for note in found.notes)
    for one in found.section.layers:
        if one.source == "mean":
            assert one.first is None
        else:
            cut = torch.from_numpy(matrix(found, one.source, one.layer)[:, :8, :8])
            known = {name: float(x.mean()) for name, x in measures(cut, both_ways(8)).items()}
            assert one.first.n == 8 and one.first.heads == pytest.approx(known, abs=1e-9)
    summaries = next(iter(found.summaries.values()))
    assert summaries["mean.locality"].chance_H == pytest.approx(even_both_ways(8))
    assert summaries["mean.locality"].texts_H.tolist() == [3, 3]
    assert summaries["identical.locality"].texts_H.tolist() == [6, 6]


def test_means_without_each_group_are_means_of_the_others():
    x_BTD = torch.randn(7, 9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    means = MeanInputs(3)
    for texts, x in (((0, 1, 2, 3), x_BTD[:4]), ((4, 5, 6), x_BTD[4:].transpose(0, 1))):
        batch = same_text(torch.arange(9), len(texts))
        means.begin(replace(batch, texts=texts))
        means.add("attention", x)
    ours, group_B = means.means(("attention", 0)), torch.arange(7) % 3
    theirs = [x_BTD.mean(0), *(x_BTD[group_B != group].mean(0) for group in range(3))]
    torch.testing.assert_close(ours, torch.stack(theirs))


def test_one_text_has_no_mean():
    found = found_in(net_of("rope"), some_texts(12))
    assert not any(name.startswith("mean.") for name in found.scores)
    assert any("mean was not measured" in note for note in found.notes)
    assert "identical.contextual.left_right_bias" in found.scores


# How it is told -------------------------------------------------------------------------------------------------------


def test_every_score_is_explained_and_every_layer_told_together():
    found = found_in(net_of("rope"))
    for name, one in found.scores.items():
        assert one.name == name and one.asks.endswith("?") and not one.sides
        low, high = one.range
        for summaries in found.summaries.values():
            assert ((summaries[name].value_H >= low - 1e-9) & (summaries[name].value_H <= high + 1e-9)).all()
    for one in found.section.layers:
        mean = float(np.mean(value(found, f"{one.source}.locality", one.layer)))
        assert one.heads["locality"] == pytest.approx(mean)
        together = measures(torch.from_numpy(matrix(found, one.source, one.layer)).mean(0)[None], both_ways(N))
        assert one.together == pytest.approx({name: float(x[0]) for name, x in together.items()}, abs=1e-9)
    assert encode(found.section).keys() == {"n", "words", "baselines", "layers"} and found.section.baselines["n"] == N


def test_the_table_holds_the_matrices_row_by_row():
    found = found_in(net_of("rope"))
    assert found.matrices.schema == pl.Schema(POSITIONAL)
    sums = found.matrices.group_by("layer", "head", "source", "query").agg(pl.col("attention").sum())
    assert len(sums) == 2 * 2 * 3 * N and (sums["attention"] - 1).abs().max() < 1e-6


def test_a_long_probe_keeps_its_first_slots_in_the_table():
    found = found_in(net_of("rope", length=100), some_texts(70, 70), PositionalSettings(length=70, words=2))
    assert found.matrices["query"].max() == 63 and found.section.n == 70
    assert next(one.n for one in found.section.layers) == 70


def test_words_give_the_interval_and_one_word_gives_none():
    many, one = (found_in(net_of("rope"), probing=PositionalSettings(length=8, words=words)) for words in (12, 1))
    many, one = (next(iter(found.summaries.values()))["identical.excess"] for found in (many, one))
    assert (many.low_H < many.value_H).all() and (many.value_H < many.high_H).all()
    assert np.isnan(one.low_H).all() and np.isfinite(one.value_H).all()
    table = next(iter(found_in(net_of("learned")).summaries.values()))["delta.excess"]
    assert np.isnan(table.low_H).all() and table.texts_H.tolist() == [0, 0]


def test_windows_are_held_against_even_attention_inside_them_and_told():
    models = {"mistral": {"sliding_window": 5}, "modernbert": {"local_attention": 8, "global_attn_every_n_layers": 2}}
    for name, options in models.items():
        found = found_in(BY_NAME[name].build(**options), some_texts(11, 11))
        rows = [one for one in found.section.layers if one.source == "identical" and one.back is not None]
        reach, words = {"mistral": ((4, 0), "last 5 keys"), "modernbert": ((4, 4), "4 keys back and 4 ahead")}[name]
        assert {(one.back, one.ahead) for one in rows} == {reach} and {one.mask for one in rows} == {words}
        i, j = np.indices((N, N))
        seen = (i - j <= reach[0]) & (j - i <= reach[1])
        even = float((seen / seen.sum(-1, keepdims=True) * 0.5 ** abs(i - j)).sum() / N)
        assert found.section.baselines[words]["uniform"]["locality"] == pytest.approx(even)
        assert f"{even:.3f} under the mask: {words}" in found.notes[0]
        assert any(f"sees only a window ({words})" in note for note in found.notes)
        site = next(site for site in found.summaries if site.ordinal == rows[0].layer)
        assert found.summaries[site]["identical.locality"].chance_H == pytest.approx(even)
    assert not any("window" in note for note in found_in(net_of("rope", "decoder")).notes)


def test_where_the_mean_vector_has_not_the_mean_query_and_key_it_is_told():
    for name, told in (("qwen3", True), ("llama", False), ("bert", False)):
        notes = found_in(BY_NAME[name].build(), some_texts(11, 11)).notes
        assert any("not from the mean query and key" in note for note in notes) == told, name


def test_the_same_seed_gives_the_same_numbers_and_another_gives_others():
    first, again, other = (
        found_in(net_of("rope"), probing=PositionalSettings(length=9, words=5, seed=seed)) for seed in (4, 4, 5)
    )
    assert first.matrices.equals(again.matrices) and not first.matrices.equals(other.matrices)
    assert first.section == again.section and first.notes == again.notes


def test_the_model_is_as_it_was():
    model = BY_NAME["xlnet"].build()
    ids = torch.arange(10, 30)[None]
    before = model(ids).last_hidden_state
    found_in(model)
    assert torch.equal(before, model(ids).last_hidden_state)
    assert not any(module._forward_pre_hooks or module._forward_hooks for module in model.modules())


def test_the_size_of_batches_changes_nothing():
    small, large = (
        found_in(net_of("shaw"), probing=PositionalSettings(length=9, words=7, batch_tokens=size)) for size in (9, 500)
    )
    np.testing.assert_allclose(small.matrices["attention"], large.matrices["attention"], atol=1e-9)


# Words ----------------------------------------------------------------------------------------------------------------


@dataclass
class Pieces:
    """As much of a tokenizer as is asked."""

    pieces: list[str]
    all_special_ids: tuple[int, ...] = (0,)

    def __len__(self) -> int:
        return len(self.pieces)

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return [self.pieces[id] for id in ids]


def drawn(pieces: list[str], at_least: int) -> list[str]:
    model = LoadedModel("pieces", net_of("none"), Pieces(pieces))
    return [pieces[id] for id in word_ids(model, at_least)]


def test_pieces_that_begin_or_go_on_are_told_apart():
    assert drawn(["[PAD]", "the", "##ing", "cat", "[unused1]", "."], 2) == ["the", "cat"]
    assert drawn(["<s>", "▁the", "ing", "▁cat", "▁", "▁7"], 2) == ["▁the", "▁cat"]
    assert drawn(["<s>", "Ġthe", "ing", "Ġcat", "Ċ"], 2) == ["Ġthe", "Ġcat"]
    assert drawn(["<s>", "the</w>", "th", "cat</w>"], 2) == ["the</w>", "cat</w>"]
    assert whole_words({3: "▁the", 4: "ing"}) == {3: "the"}
    assert whole_words({3: "the", 4: "##ing"}) == {3: "the"}


def test_what_is_no_word_stands_in_where_words_are_few():
    assert drawn(["[PAD]", "C", "=", "(", ")", "1", "2"], 5) == ["C", "=", "(", ")", "1", "2"]
    assert drawn(["[PAD]", "A", "C", "D", "-"], 100) == ["A", "C", "D"]


def test_without_a_tokenizer_special_ids_are_left_out():
    model = wrap_module(BY_NAME["bert"].build())
    assert not {0, 1, 2} & set(word_ids(model, 5)) and len(word_ids(model, 5)) == 96
    probe = prepare_probe(model, PositionalSettings(length=500, words=200))
    assert probe.n == 64 and len(probe.words_W) == len(set(probe.words_W.tolist())) == 96
    notes = found_in(BY_NAME["bert"].build(), probing=PositionalSettings(length=70, words=200)).notes
    assert any("70 copies were requested, but the model holds 64" in note for note in notes)
    assert any("200 words were requested, but the vocabulary has 96" in note for note in notes)


# In a profile ---------------------------------------------------------------------------------------------------------


QUICK = {"hidden": False, "queries": 2}


def test_a_profile_has_it_when_asked():
    model = BY_NAME["bert"].build()
    found = profile(model, some_texts(12, 12), positional=PositionalSettings(length=6, words=3), layers=(1,), **QUICK)
    scores = set(found.heads["score"])
    some = {"identical.locality", "delta.symmetry", "mean.balance", "delta.contextual.left_right_bias", "locality"}
    assert some <= scores
    assert found.manifest.positional.n == 6 and found.manifest.positional.words == 3
    assert found.manifest.settings["positional"] == {"length": 6, "words": 3, "seed": 0, "batch_tokens": 2048}
    assert {one.layer for one in found.manifest.positional.layers} == {1}
    assert set(found.positional["layer"]) == {1} and len(found.positional) == 3 * 4 * 36
    assert found.tables["positional.parquet"] is found.positional


def test_a_profile_does_not_have_it_otherwise():
    for asked in (None, False):
        found = profile(BY_NAME["bert"].build(), some_texts(12, 12), positional=asked, **QUICK)
        assert found.positional.is_empty() and found.manifest.positional is None
        assert found.manifest.settings["positional"] is None
        assert "positional.parquet" not in found.tables


def test_true_means_as_by_default_with_the_profiles_seed():
    found = profile(BY_NAME["bert"].build(), some_texts(12, 12), positional=True, seed=7, **QUICK)
    assert found.manifest.settings["positional"] == {"length": 64, "words": 100, "seed": 7, "batch_tokens": 2048}


def test_some_of_its_scores_can_be_asked_for_by_name():
    asked = {"positional": PositionalSettings(length=6, words=3), "scores": ("identical.locality", "sink")}
    found = profile(BY_NAME["bert"].build(), some_texts(12, 12), **asked)
    assert set(found.heads["score"]) == {"identical.locality", "sink"}
    assert set(found.manifest.scores) == {"identical.locality", "sink"}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"length": 2}, "a word is to be repeated 2 times; locality and symmetry need at least 3 copies"),
        ({"words": 0}, "0 words are to be repeated; give at least 1"),
        ({"batch_tokens": 0}, "batch_tokens is 0; it must be at least 1"),
        ({"seed": -1}, "seed is -1; give a whole number from 0 to 2147483647"),
    ],
)
def test_settings_without_sense_are_refused(settings: dict, sentence: str):
    with pytest.raises(UserError) as error:
        PositionalSettings(**settings)
    assert str(error.value) == sentence


def test_its_scores_are_refused_where_it_was_not_asked_for():
    with pytest.raises(UserError, match="about the positional part of attention; ask for it with --positional"):
        profile(BY_NAME["bert"].build(), some_texts(12), scores=("identical.locality",))
    with pytest.raises(UserError, match="did you mean 'identical.locality'"):
        profile(BY_NAME["bert"].build(), some_texts(12), scores=("identical.localty",), positional=True)


def test_a_model_too_short_to_probe_is_refused():
    net = build(
        NetConfig(vocabulary=9, width=8, layers=1, heads=2, kind="encoder", encoding="learned", length=2), seed=0
    )
    with pytest.raises(UserError, match="holds 2 tokens, and the positional part of attention needs at least 3"):
        found_in(net, some_texts(2, 2))


def test_attention_that_is_not_finite_is_refused():
    model = BY_NAME["bert"].build()
    with torch.no_grad():
        model.encoder.layer[0].attention.self.query.weight.mul_(1e30)
        model.encoder.layer[0].attention.self.key.weight.mul_(1e30)
    with pytest.raises(UserError, match="not finite on copies of one word"):
        found_in(model)


def test_chance_is_the_same_for_the_same_seed():
    one, same, other = (ChanceLevels(seed).under(both_ways(9)) for seed in (3, 3, 4))
    assert one == same != other
