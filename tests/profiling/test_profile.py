"""The walk: what lands in the tables is what plain loops over the family's own attention give."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from families import FAMILIES
from precision import assert_same, rounding
from transformers import DiffLlamaConfig, DiffLlamaModel, Lfm2Config, Lfm2Model, PreTrainedModel

import wherewhat as ww
from wherewhat.capture.capture import capture
from wherewhat.capture.hooks import reader
from wherewhat.capture.tokens.batch import Batch
from wherewhat.errors import UserError
from wherewhat.profiling.accumulate import ScoreAccumulator, SwapSettings
from wherewhat.profiling.profile import profile
from wherewhat.scores.registry import ROW_SCORES as SCORES
from wherewhat.tables.parquet import parquet_bytes
from wherewhat.tables.schema import HEADS, OFFSETS

BY_NAME = {family.name: family for family in FAMILIES}


def random_texts(count: int = 6, *, longest: int = 20, seed: int = 0) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(3, longest + 1, (count,), generator=generator)
    return [torch.randint(3, 12, (int(n),), generator=generator) for n in lengths]


def eager_attention(model: PreTrainedModel, ids: torch.Tensor) -> np.ndarray:
    """attention_LHQK of one text, alone and unpadded."""
    with torch.no_grad():
        layers = model(ids[None], output_attentions=True).attentions
    return torch.stack([layer[0] for layer in layers]).double().numpy()


def loops(attention_QK: np.ndarray, ids: np.ndarray, *, causal: bool) -> dict[str, float]:
    """Some scores by plain loops over one head's whole matrix."""
    n = len(ids)
    seen = [range(i + 1) if causal else range(n) for i in range(n)]
    local = [sum(attention_QK[i, j] / 2 ** abs(i - j) for j in seen[i]) for i in range(n)]
    previous = [attention_QK[i, i - 1] for i in range(1, n)]
    sink = [attention_QK[i, 0] for i in range(n) if len(seen[i]) > 1]
    spread = []
    for i in range(n):
        if len(seen[i]) > 1:
            row = [attention_QK[i, j] for j in seen[i] if attention_QK[i, j] > 0]
            spread.append(-sum(a * np.log(a) for a in row) / np.log(len(seen[i])))
    pairs = [
        (attention_QK[i, i - k], attention_QK[i, i + k]) for i in range(n) for k in range(1, min(i, n - 1 - i) + 1)
    ]
    both = sum(left + right for left, right in pairs)
    duplicates = []
    for i in range(n):
        copies = [j for j in range(i) if ids[j] == ids[i]]
        if copies:
            duplicates.append(sum(attention_QK[i, j] for j in copies))
    peaks = [int(np.argmax(attention_QK[i])) - i for i in range(n) if len(seen[i]) > 1]
    return {
        "locality": float(np.mean(local)),
        "previous": float(np.mean(previous)),
        "sink": float(np.mean(sink)),
        "entropy": float(np.mean(spread)),
        "balance": 1 - sum(abs(left - right) for left, right in pairs) / both,
        "duplicate": float(np.mean(duplicates)) if duplicates else np.nan,
        "offset_peak": max(peaks.count(offset) for offset in set(peaks)) / len(peaks),
    }


@pytest.mark.parametrize("name", ["llama", "bert", "bloom", "gpt2"])
def test_the_table_is_what_plain_loops_give(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reader, "CHUNK_ENTRIES", 500)  # rows come in several pieces
    texts = random_texts()
    model, eager = BY_NAME[name].build(), BY_NAME[name].build(attn_implementation="eager")
    found = profile(model, texts, queries=0, batch_tokens=50)
    causal = "decoder" in BY_NAME[name].parts
    answers = [eager_attention(eager, ids) for ids in texts]
    assert found.heads.columns == list(HEADS) and found.offsets.columns == list(OFFSETS)
    for layer, head in [(0, 0), (0, 3), (1, 2)]:
        per_text = [
            loops(answer[layer, head], ids.numpy(), causal=causal) for answer, ids in zip(answers, texts, strict=True)
        ]
        for score in per_text[0]:
            values = np.array([one[score] for one in per_text])
            row = _row(found.heads, layer, head, score)
            assert row["texts"] == np.isfinite(values).sum()
            assert row["value"] == pytest.approx(np.nanmean(values), abs=2e-5), (layer, head, score)
            assert row["low"] <= row["value"] <= row["high"]


def test_offsets_hold_the_mean_mass_of_the_rows_that_could_see_them():
    texts = random_texts(4)
    model, eager = BY_NAME["llama"].build(), BY_NAME["llama"].build(attn_implementation="eager")
    offsets = profile(model, texts, queries=0).offsets
    assert offsets["offset"].max() == 0, "nothing ahead of a causal query"
    for layer, head, offset in [(0, 0, -1), (1, 3, 0), (1, 1, -7)]:
        per_text = []
        for ids in texts:
            attention_QK = eager_attention(eager, ids)[layer, head]
            rows = [i for i in range(len(ids)) if i + offset >= 0]
            if rows:
                per_text.append(np.mean([attention_QK[i, i + offset] for i in rows]))
        chosen = offsets.filter((pl.col("layer") == layer) & (pl.col("head") == head) & (pl.col("offset") == offset))
        assert chosen["mass"].item() == pytest.approx(np.mean(per_text), abs=1e-5)


def test_the_interval_is_the_bootstrap_over_texts():
    texts = random_texts(8)
    found = profile(BY_NAME["bert"].build(), texts, queries=0, scores=("locality",), seed=5)
    single = [
        _row(profile(BY_NAME["bert"].build(), [ids], queries=0, scores=("locality",)).heads, 1, 2, "locality")["value"]
        for ids in texts
    ]
    generator = np.random.default_rng(5)
    draws = generator.multinomial(8, [1 / 8] * 8, size=1000)
    means = [np.repeat(single, draw).mean() for draw in draws]
    row = _row(found.heads, 1, 2, "locality")
    close = rounding(torch.float32)
    assert row["value"] == pytest.approx(np.mean(single), abs=close)
    assert (row["low"], row["high"]) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])), abs=close)


def test_one_text_has_no_interval():
    heads = profile(BY_NAME["bert"].build(), random_texts(1)).heads
    assert heads["low"].null_count() == len(heads) and heads["value"].drop_nulls().is_not_nan().all()


def test_every_head_has_every_score_and_a_missing_answer_is_null():
    heads = profile(BY_NAME["llama"].build(), random_texts()).heads
    assert set(heads["score"]) == {name for name in SCORES if not name.startswith("block.")}
    assert len(heads) == 2 * 4 * heads["score"].n_unique()
    ahead = heads.filter(pl.col("score") == "next")
    assert ahead["value"].null_count() == len(ahead) and (ahead["texts"] == 0).all()
    assert not heads.select(pl.selectors.float().is_nan().any()).row(0).count(True)


def test_chance_is_what_uniform_attention_gives_on_the_same_rows():
    texts = random_texts()
    heads = profile(BY_NAME["llama"].build(), texts, queries=0).heads
    uniform = [np.mean([(2 - 2.0**-i) / (i + 1) for i in range(len(ids))]) for ids in texts]
    assert heads.filter(pl.col("score") == "locality")["chance"].unique().item() == pytest.approx(np.mean(uniform))


def test_sampling_rows_comes_close_to_looking_at_all_of_them():
    texts = [torch.randint(3, 90, (60,), generator=torch.Generator().manual_seed(n)) for n in range(12)]
    model = BY_NAME["llama"].build()
    every, some = (profile(model, texts, queries=queries, scores=("locality",)).heads for queries in (0, 16))
    assert (every["value"] - some["value"]).abs().max() < 0.03
    assert not every["value"].equals(some["value"])


def test_same_seed_same_bytes_and_batching_changes_nothing_to_speak_of():
    texts = random_texts()
    model = BY_NAME["llama"].build()
    one, again = (profile(model, texts, queries=4, seed=3) for _ in range(2))
    assert parquet_bytes(one.heads) == parquet_bytes(again.heads)
    assert parquet_bytes(one.offsets) == parquet_bytes(again.offsets)
    alone = profile(model, texts, queries=4, seed=3, batch_tokens=1)
    ours, theirs = (found.heads["value"].fill_null(-1).to_torch() for found in (alone, one))
    assert_same(ours, theirs, computed_in=torch.float32)
    other = profile(model, texts, queries=4, seed=4)
    assert not one.heads["value"].equals(other.heads["value"])


def test_parts_are_marked_apart_and_layers_counted_through():
    found = profile(BY_NAME["t5"].build(), random_texts())
    parts = found.heads.group_by("part").agg(pl.col("layer").unique().sort()).sort("part")
    assert dict(parts.iter_rows()) == {"encoder": [0, 1], "decoder": [2, 3], "cross": [4, 5]}
    asked = set(found.heads.filter(pl.col("part") == "cross")["score"])
    assert asked == {name for name, score in SCORES.items() if not score.relative}
    assert set(found.offsets["layer"]) == {0, 1, 2, 3}
    assert [layer.part for layer in found.manifest.layers] == ["encoder"] * 2 + ["decoder"] * 2 + ["cross"] * 2
    assert any("Cross-attention" in note for note in found.manifest.notes)


def test_only_the_heads_asked_for():
    model = BY_NAME["bert"].build()
    some = profile(model, random_texts(), layers=(1,), heads=("L1H0", "L1H3"), scores=("sink",)).heads
    assert some.select("layer", "head", "score").rows() == [(1, 0, "sink"), (1, 3, "sink")]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"layers": (7,)}, "there is no layer 7; the model has layers 0 to 1"),
        ({"heads": ("L1H9",)}, "there is no head L1H9; layer 1 has heads 0 to 3"),
        ({"heads": ("1.9",)}, "'1.9' is not the name of a head; heads are named like L3H7, counted from 0"),
        ({"heads": ("L1H1",), "layers": (0,)}, "no head is left"),
        ({"scores": ("localty",)}, "unknown score 'localty'; did you mean 'locality'?"),
        ({"queries": -2}, "queries is -2"),
        ({"seed": -1}, "seed is -1; give a whole number from 0"),
        ({"max_tokens": 1}, "max_tokens is 1; a text needs at least 2 tokens"),
        ({"max_tokens": 65}, "bert has a table of 64 positions; ask for at most 64"),
    ],
)
def test_what_cannot_be_asked_is_said(asked: dict, sentence: str):
    with pytest.raises(UserError) as error:
        profile(BY_NAME["bert"].build(), random_texts(), **asked)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ([], "there is no text to read"),
        ([torch.tensor([4])], "text 0 has 1 token(s); a text needs at least 2"),
        ([torch.tensor([4, 99])], "token id 99 does not fit bert, whose vocabulary has 99 entries"),
        (["a string"], "bert has no tokenizer, so it cannot read text"),
    ],
)
def test_texts_that_cannot_be_read_are_named(texts: list, sentence: str):
    with pytest.raises(UserError) as error:
        profile(BY_NAME["bert"].build(), texts)
    assert sentence in str(error.value)


def test_weights_that_are_not_finite_are_named():
    model = BY_NAME["bert"].build()
    with torch.no_grad():
        model.encoder.layer[1].attention.self.key.weight[0, 0] = float("nan")
    with pytest.raises(UserError, match=r"hold NaN or infinity \(first in encoder.layer.1.attention.self.key.weight\)"):
        profile(model, random_texts())


def test_attention_that_overflows_is_named():
    model = BY_NAME["bert"].build()
    with torch.no_grad():
        model.encoder.layer[0].attention.self.key.weight.mul_(1e38)
    with pytest.raises(UserError, match="is not finite on text"):
        profile(model, random_texts())


def test_long_texts_are_cut_into_windows_and_short_left_overs_dropped():
    ids = torch.randint(3, 90, (2 * 20 + 5,))
    manifest = profile(BY_NAME["llama"].build(), [ids], max_tokens=20).manifest
    assert {name: getattr(manifest.texts, name) for name in ("count", "windows", "tokens")} == {
        "count": 1,
        "windows": 2,
        "tokens": 40,
    }
    three = profile(BY_NAME["llama"].build(), [ids] * 3, max_tokens=20, max_texts=5).manifest.texts
    assert (three.count, three.windows) == (3, 5)


def test_the_manifest_knows_where_the_numbers_came_from(tmp_path: Path):
    found = profile(BY_NAME["llama"].build(), random_texts(), seed=2)
    manifest = ww.load(found.save(tmp_path / "run")).manifest
    assert manifest.model.family == "llama" and manifest.model.parameters > 0
    assert len(manifest.model.weights_hash) == 64 and len(manifest.texts.hash) == 64
    assert manifest.seed == 2 and manifest.dtype == "float32" and manifest.device == "cpu"
    assert manifest.versions["torch"].startswith(torch.__version__.split("+")[0])
    assert manifest.peak_memory_bytes > 0 and manifest.seconds > 0
    assert set(manifest.scores) == {name for name in SCORES if not name.startswith("block.")}
    assert set(manifest.to_dict()["scores"]["locality"]) == {
        *("asks", "low", "high", "range", "paper", "chance", "sides", "kind", "tau")
    }
    changed = BY_NAME["llama"].build(seed=1)
    assert profile(changed, random_texts()).manifest.model.weights_hash != manifest.model.weights_hash


def test_a_profile_shows_itself_in_a_notebook():
    bundle = profile(BY_NAME["bert"].build(), random_texts())._repr_mimebundle_()
    assert "<" in bundle["text/html"] and bundle["text/plain"].startswith("Profile of bert")


def test_a_family_that_mixes_several_attentions_in_a_layer_is_refused():
    sizes = {"vocab_size": 99, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    mixing = DiffLlamaModel(DiffLlamaConfig(**sizes, num_attention_heads=4, num_key_value_heads=4)).eval()
    with pytest.raises(UserError, match="has 4 attentions in 2 layers; which of them are its heads is ambiguous"):
        profile(mixing, random_texts())


def test_layers_without_attention_are_told_of():
    sizes = {"vocab_size": 99, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    hybrid = {"layer_types": ["conv", "full_attention"], "num_attention_heads": 4, "num_key_value_heads": 2}
    found = profile(Lfm2Model(Lfm2Config(**sizes, **hybrid)).eval(), random_texts())
    assert any("1 of the model's 2 layers have attention" in note for note in found.manifest.notes)


def test_no_attention_is_kept_from_batch_to_batch_or_layer_to_layer():
    tally = ScoreAccumulator(SCORES, swaps=SwapSettings((1e-4,), 1, rows=8), longest=50, seed=0)
    with capture(BY_NAME["llama"].build(), lambda rows: tally.add([rows])) as captured:
        ids_BT = torch.randint(3, 90, (1, 50))
        captured.read(Batch((0,), ids_BT, ids_BT > 0, (torch.arange(50),)))
        largest = max(
            tensor.untyped_storage().nbytes()
            for _, queries_Q, allowed_QK, answers in tally._known
            for tensor in [
                queries_Q,
                allowed_QK,
                *(part for pieces in answers.values() for pair in pieces for part in pair),
            ]
        )
    assert largest < 4 * 50 * 50 * 4


def _row(heads: pl.DataFrame, layer: int, head: int, score: str) -> dict:
    chosen = (pl.col("layer") == layer) & (pl.col("head") == head) & (pl.col("score") == score)
    return heads.filter(chosen).row(0, named=True)
