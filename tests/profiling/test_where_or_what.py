"""Where or what, from a model to the tables: against whole tables built by hand, and where there are no such tables."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from families import FAMILIES
from precision import assert_same

from wherewhat.capture.capture import capture
from wherewhat.capture.hooks import reader
from wherewhat.capture.hooks.reader import AttentionRows
from wherewhat.capture.tokens.batch import LAST, batches
from wherewhat.errors import InternalError, UserError
from wherewhat.logits.factors import Moments
from wherewhat.profiling.profile import profile
from wherewhat.scores import base
from wherewhat.scores.exact import Exact, read_exact
from wherewhat.scores.registry import ROW_SCORES as SCORES

BY_NAME = {family.name: family for family in FAMILIES}
SHARES = ("position_share", "symbol_share", "interaction_share")


def texts(count: int = 5, *, shortest: int = 6, longest: int = 14) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(2)
    lengths = torch.randint(shortest, longest + 1, (count,), generator=generator)
    return [torch.randint(3, 90, (int(n),), generator=generator) for n in lengths]


def rows_of(model: Any, ids: list[torch.Tensor], queries: int) -> list[AttentionRows]:
    pieces: list[AttentionRows] = []
    with capture(model, pieces.append) as captured:
        for batch in batches(ids, queries=queries, seed=0, tokens=1):
            captured.read(batch)
    return pieces


def variances(table: np.ndarray) -> np.ndarray:
    """Of slots, of contents, of both together, by plain means over one whole table."""
    rows, columns, grand = table.mean(1), table.mean(0), table.mean()
    left = table - rows[:, None] - columns[None] + grand
    return np.array([((columns - grand) ** 2).mean(), ((rows - grand) ** 2).mean(), (left**2).mean()])


@pytest.mark.parametrize("name", ["llama", "gemma2", "gemma3", "bloom", "t5", "deberta-v2", "xlnet", "modernbert"])
def test_shares_are_those_of_whole_tables_over_all_rows_and_texts(name: str):
    model, ids = BY_NAME[name].build().double(), texts()
    # One text at a time, without padding: gemma2 has none in float64.
    found = profile(model, ids, queries=0, logit_rows=0, hidden=False, batch_tokens=1)
    spread: dict[tuple[str, int, int], np.ndarray] = {}
    for rows in rows_of(model, ids, 0):
        assert rows.logits is not None
        if rows.site.part == "cross":
            continue
        for row, query in enumerate(rows.queries_Q.tolist()):
            slots = [j for j in range(1, len(rows.tokens_K)) if j != query and rows.allowed_QK[row, j]]
            if len(slots) < 2:
                continue
            table_HKS = rows.logits.table(row, torch.tensor(slots), torch.tensor(slots)).numpy()
            for head, table in enumerate(table_HKS):
                key = (rows.site.part, rows.site.ordinal, head)
                spread[key] = spread.get(key, 0) + variances(table)
    layers = {entry.layer: entry for entry in found.manifest.layers}
    first_of = {part: min(n for n, entry in layers.items() if entry.part == part) for part, *_ in spread}
    for (part, ordinal, head), parts in spread.items():
        here = found.heads.filter((pl.col("layer") == first_of[part] + ordinal) & (pl.col("head") == head))
        ours = [here.filter(pl.col("score") == score)["value"].item() for score in SHARES]
        np.testing.assert_allclose(ours, parts / parts.sum(), atol=1e-6)


def test_texts_count_by_their_variance_also_in_the_interval():
    model, ids = BY_NAME["llama"].build(), texts(7)
    whole = profile(model, ids, queries=0, logit_rows=0, seed=3).heads
    alone = [profile(model, [text], queries=0, logit_rows=0).heads for text in ids]

    def value(heads: pl.DataFrame, score: str, column: str = "value") -> float:
        chosen = (pl.col("layer") == 1) & (pl.col("head") == 2) & (pl.col("score") == score)
        return heads.filter(chosen)[column].item()

    terms = [[value(heads, score) for heads in alone] for score in ("exclusion_symbolic", "exclusion_positional")]
    rows = np.array([max(0, len(text) - 3) for text in ids])  # rows with two keys or more that can change places
    symbolic, positional = (np.array(one) * rows for one in terms)
    draws = np.random.default_rng(3).multinomial(7, [1 / 7] * 7, size=1000)
    ratios = (draws @ symbolic) / (draws @ (symbolic + positional))
    assert value(whole, "exclusion_ratio") == pytest.approx(symbolic.sum() / (symbolic + positional).sum(), abs=1e-5)
    bounds = (value(whole, "exclusion_ratio", "low"), value(whole, "exclusion_ratio", "high"))
    assert bounds == pytest.approx(tuple(np.quantile(ratios, [0.025, 0.975])), abs=1e-5)


def test_the_built_in_model_has_both_kinds():
    heads = profile("tiny").heads
    for score in ("position_share", "symbol_share"):
        best = heads.filter(pl.col("score") == score).sort("value").row(-1, named=True)
        assert best["value"] > 0.8 and best["low"] > 0.8, score


def test_parts_of_frequencies_add_up_to_the_shares():
    found = profile(BY_NAME["llama"].build(), texts(), queries=0)
    total = found.frequencies.group_by("layer", "head", "measure").agg(pl.col("value").sum())
    for part, share in (("position_part", SHARES[0]), ("symbol_part", SHARES[1]), ("interaction_part", SHARES[2])):
        ours = total.filter(pl.col("measure") == part).sort("layer", "head")["value"]
        theirs = found.heads.filter(pl.col("score") == share).sort("layer", "head")["value"]
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    whole = total.filter(pl.col("measure") == "variance_share")["value"]
    np.testing.assert_allclose(whole, 1, atol=1e-5)


def test_all_scores_of_logits_rest_on_the_same_few_rows_unless_asked_otherwise():
    model, ids = BY_NAME["llama"].build(), texts()
    usual, last = profile(model, ids).heads, profile(model, ids, queries=LAST).heads
    every = profile(model, ids, queries=0, logit_rows=0).heads
    for score in ("positional", "attended.symbol_share", "position_share"):
        of_score = [heads.filter(pl.col("score") == score) for heads in (last, usual, every)]
        few, some, all_rows = (int(heads["rows"].max()) for heads in of_score)
        assert few < some < all_rows
        assert not np.allclose(of_score[0]["value"], of_score[1]["value"], atol=1e-3)


def test_other_temperatures_have_names_of_their_own():
    found = profile(BY_NAME["llama"].build(), texts(), tau=(1e-4, 0.1, float("inf")))
    assert {"positional", "positional@0.1", "symbolic@inf"} <= set(found.heads["score"])
    assert found.manifest.swaps.tau == [1e-4, 0.1, "inf"]
    only = profile(BY_NAME["llama"].build(), texts(), tau=(0.1,))
    assert "positional" not in set(only.heads["score"]) and "positional@0.1" in set(only.heads["score"])


def test_another_temperature_changes_nothing_at_the_published_one():
    model, ids = BY_NAME["llama"].build(), texts(2, shortest=300, longest=300)
    one, several = profile(model, ids).heads, profile(model, ids, tau=(1e-4, float("inf"))).heads
    for score in ("positional", "symbolic"):
        ours, theirs = (heads.filter(pl.col("score") == score)["value"] for heads in (one, several))
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("queries", [0, 64])
@pytest.mark.parametrize("name", ["llama", "mistral"])
def test_nothing_depends_on_how_rows_are_chunked(name: str, queries: int, monkeypatch: pytest.MonkeyPatch):
    model, ids = BY_NAME[name].build().double(), texts(3, shortest=40, longest=60)
    whole = profile(model, ids, queries=queries, max_tokens=60)
    monkeypatch.setattr(reader, "CHUNK_ENTRIES", 2000)
    pieces = profile(model, ids, queries=queries, max_tokens=60, batch_tokens=1)
    for ours, theirs in ((pieces.frequencies, whole.frequencies), (pieces.heads, whole.heads)):
        assert ours.height == theirs.height
        keys = [name for name in ours.columns if name in ("layer", "head", "frequency", "measure", "score")]
        values = (table.sort(keys)["value"].fill_null(-1).to_torch() for table in (ours, theirs))
        assert_same(*values, computed_in=torch.float32)  # the norms of both families are, whatever the model's type


def test_blocks_have_no_say_where_slots_have_none():
    ids = texts(3, shortest=9)
    found = profile(
        BY_NAME["bert"].build(), ids, blocks=tuple(torch.tensor([[1, 3], [3, 5]]) for _ in ids), hidden=False
    )
    assert not any("blocks" in note for note in found.manifest.notes)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"scores": ("block.positional",)}, "block.positional swaps whole blocks; say which with --blocks"),
        ({"scores": ("positional@0.1",)}, "positional@0.1 is not among the temperatures asked for; add it to --tau"),
        ({"scores": ("input.positional@0.5",)}, "input.positional@0.5 is not among the temperatures asked for"),
        ({"scores": ("input.position_share@3",)}, "unknown score 'input.position_share@3'; did you mean"),
        (
            {"scores": ("mean.position",), "hidden": False},
            "mean.position looks inside hidden states; ask for it without",
        ),
    ],
)
def test_scores_that_need_more_than_their_name_say_what(asked: dict[str, Any], said: str):
    with pytest.raises(UserError, match=re.escape(said)):
        profile(BY_NAME["llama"].build(), texts(), **asked)


def test_frequencies_are_left_out_where_only_attention_was_asked_for():
    assert profile(BY_NAME["llama"].build(), texts(), scores=("locality",)).frequencies.is_empty()


def test_texts_that_are_turned_by_unlike_angles_are_told_of():
    scaling = {"rope_type": "dynamic", "rope_theta": 100.0, "factor": 3.0}
    model = BY_NAME["llama"].build(rope_parameters=scaling, max_position_embeddings=8)
    short, long = (torch.randint(3, 90, (n,), generator=torch.Generator().manual_seed(n)) for n in (6, 30))
    both, alone = profile(model, [short, long], batch_tokens=1, max_tokens=30), profile(model, [short])
    assert any("the angles of rotation depend on the length of a text" in note for note in both.manifest.notes)
    assert not any("angles of rotation" in note for note in alone.manifest.notes)
    assert both.frequencies["theta"].min() < alone.frequencies["theta"].min()


def test_a_head_without_variance_has_no_shares_and_the_reason_is_told():
    model = BY_NAME["llama"].build()
    with torch.no_grad():
        model.layers[1].self_attn.q_proj.weight[8:16] = 0  # of head 1
    found = profile(model, texts())
    flat = found.heads.filter((pl.col("layer") == 1) & (pl.col("head") == 1))
    assert flat.filter(pl.col("score") == "position_share")["value"].item() is None
    assert any("The logits of L1H1 do not vary beyond rounding in any row" in note for note in found.manifest.notes)


def test_scores_inside_hidden_states_can_be_asked_for_by_name():
    found = profile(BY_NAME["gpt2"].build(), texts(4, shortest=10), scores=("entropy", "input.position_share"))
    assert set(found.heads["score"]) == {"entropy", "input.position_share"}
    assert set(found.manifest.scores) == {"entropy", "input.position_share"}


def test_blocks_are_swapped_where_they_are_given():
    ids = texts(3, shortest=9)
    blocks = tuple(torch.tensor([[1, 3], [3, 5], [5, 8]]) for _ in ids)
    found = profile(BY_NAME["llama"].build(), ids, blocks=blocks).heads
    assert found.filter(pl.col("score") == "block.positional")["value"].null_count() == 0
    warm = profile(BY_NAME["llama"].build(), ids, blocks=blocks, tau=(float("inf"),)).heads
    names = set(warm["score"])
    assert "block.positional@inf" in names and "block.positional" not in names
    with pytest.raises(UserError, match="blocks for 2 texts, but 3 texts; give one line for each text"):
        profile(BY_NAME["llama"].build(), ids, blocks=blocks[:2])


def test_where_position_sits_in_the_hidden_state_other_things_are_measured_under_other_names():
    found = profile(BY_NAME["gpt2"].build(), texts(8, shortest=10))
    names = set(found.heads["score"])
    assert not names & {name for name, score in SCORES.items() if score.logits}
    assert {"input.position_share", "mean.pos_pos", "mean.position"} <= names
    assert any("The logits of layer 0, 1 do not depend on slots" in note for note in found.manifest.notes)
    assert found.frequencies.is_empty() and found.manifest.correspondence == []
    assert {"input.position_share", "mean.pos_pos"} <= set(found.manifest.scores)


def test_layers_without_rotation_are_silent_beside_those_that_turn():
    found = profile(BY_NAME["smollm3"].build(), texts())
    asked = found.heads.filter(pl.col("score") == "position_share")
    assert set(asked["layer"]) == {0}
    assert any("layer 1 do not depend on slots" in note for note in found.manifest.notes)


def test_asking_a_model_for_what_it_does_not_have_says_so():
    with pytest.raises(
        UserError, match="mean_frequency cannot be measured on bert, whose logits do not depend on slots"
    ):
        profile(BY_NAME["bert"].build(), texts(), scores=("mean_frequency",))
    with pytest.raises(UserError, match="measured on bloom: its logits are not rotary, as queries and keys are not"):
        profile(BY_NAME["bloom"].build(), texts(), scores=("mean_frequency",))


def test_a_query_with_too_few_keys_before_it_says_so():
    short = [torch.tensor([5, 6, 7])]
    with pytest.raises(
        UserError, match="longest text has 3 tokens, and fewer than two keys before its last query can be swapped"
    ):
        profile(BY_NAME["llama"].build(), short, queries=LAST)
    usual = profile(BY_NAME["llama"].build(), short).heads.filter(pl.col("score") == "position_share")
    assert usual["value"].null_count() == len(usual), "without being asked for, it is only silent"


def test_logits_that_are_not_finite_say_where():
    model = BY_NAME["bloom"].build()

    def spoil(module: Any, args: Any, output: torch.Tensor) -> torch.Tensor:
        return output * float("nan")

    model.h[1].self_attention.query_key_value.register_forward_hook(spoil)
    with pytest.raises(UserError, match="of h.1.self_attention (is|are) not finite on text"):
        profile(model, texts(), scores=("position_share",))


def test_a_row_that_breaks_the_theorem_is_our_mistake(monkeypatch: pytest.MonkeyPatch):
    def wrong(actual_HQK: torch.Tensor, moments: Moments, swappable_QK: torch.Tensor) -> Exact:
        none_HQ = torch.zeros_like(moments.position_HQ)
        moments = replace(moments, position_HQ=none_HQ, symbol_HQ=none_HQ, interaction_HQ=none_HQ)
        return read_exact(actual_HQK, moments, swappable_QK)

    monkeypatch.setattr(base, "read_exact", wrong)
    with pytest.raises(InternalError, match="what was read of this model's logits is wrong"):
        profile(BY_NAME["llama"].build(), texts(), scores=("exclusion_ratio",))
