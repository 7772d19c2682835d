"""Captured inside an edit, a model's logits are those of the edit, taken apart without a remainder."""

from typing import Any

import pytest
import torch
from precision import rounding
from reading import padded_batch
from swapping import worst_of_swaps
from test_edits_known import net, turning_model
from torch import Tensor

from wherewhat.capture.capture import capture
from wherewhat.capture.hooks.reader import AttentionRows
from wherewhat.capture.tokens.batch import Batch
from wherewhat.editing.edit import edit
from wherewhat.logits.rotary import RotaryLogits
from wherewhat.nets.attention import attention_rows
from wherewhat.nets.trunk import Trunk

EDITS: list[dict[str, Any]] = [
    {"drop": "high:0.5"},
    {"unrotate": "high:0.5"},
    {"drop": "low:0.5", "heads": ["L0H1", "L1H3"]},
    {"unrotate": "high:0.5", "heads": ["L0H1", "L1H3"]},
    {"unrotate": "all", "scale": "all=0.25..1.4^2", "heads": ["L0H0", "L0H1", "L1H2"], "ablate": "L0H3"},
]
PRECISION = {"gptj": torch.float32}  # it takes its logits in float32, whatever the model's type
every_edit = pytest.mark.parametrize("wanted", EDITS, ids=lambda wanted: ", ".join(wanted))


@every_edit
@pytest.mark.parametrize("name", ["llama", "gpt_neox", "gptj", "falcon", "roformer", "glm"])
def test_the_table_is_what_the_edited_layer_does_when_contents_change_places(name: str, wanted: dict[str, Any]):
    model = turning_model(name)
    with edit(model, **wanted):
        worst = worst_of_swaps(model, padded_batch(model))
    assert len(worst) == 2 and max(worst.values()) < rounding(PRECISION.get(name, torch.float64))


@every_edit
@pytest.mark.parametrize("encoding", ["rope", "xpos", "untwist", "p_rope"])
def test_so_it_is_in_a_net_of_ours(encoding: str, wanted: dict[str, Any]):
    model, text = net(encoding), short_text()
    with edit(model, **wanted):
        for block, rows in enumerate(all_seen(model, text)):
            assert isinstance(rows.logits, RotaryLogits)
            for s, t in ((0, 1), (2, 7), (5, 3)):
                ours_HK = _swapped(rows.logits, 9, s, t)
                theirs_HK = _attention_after_swap(model, text, block, s, t)[:, 9]
                torch.testing.assert_close(ours_HK.softmax(-1), theirs_HK, rtol=0, atol=1e-12)


def _swapped(logits: RotaryLogits, query: int, s: int, t: int) -> Tensor:
    """logits_HK of a row after contents s and t have changed places, from the table."""
    order = torch.arange(10)
    table_HKS = logits.table(query, order, order)
    order[[s, t]] = order[[t, s]]
    return table_HKS[:, order, torch.arange(10)]


def _attention_after_swap(model: Trunk, text: Batch, block: int, s: int, t: int) -> Tensor:
    """attention_HQK of a block whose keys are handed to it with s and t exchanged."""
    found: list[Tensor] = []
    attention = model.blocks[block].attention
    plain = attention.attend

    def swapping(encoding: Any, q: Tensor, k: Tensor, v: Tensor, context: Any) -> Tensor:
        order = torch.arange(10)
        order[[s, t]] = order[[t, s]]
        found.append(attention_rows(encoding, q, k[:, :, order], context, torch.arange(10))[0])
        out: Tensor = plain(encoding, q, k, v, context)
        return out

    attention.attend = swapping
    try:
        with torch.no_grad():
            model.hidden(text.ids_BT)
    finally:
        attention.attend = plain
    return found[0]


def short_text() -> Batch:
    ids_BT = torch.randint(0, 20, (1, 10), generator=torch.Generator().manual_seed(3))
    return Batch((0,), ids_BT, torch.ones_like(ids_BT, dtype=torch.bool), (torch.arange(10),))


def all_seen(model: Any, batch: Batch) -> list[AttentionRows]:
    pieces: list[AttentionRows] = []
    with capture(model, pieces.append) as captured:
        captured.read(batch)
    assert not captured.undecomposed
    return pieces


@pytest.mark.parametrize("name", ["llama", "a net of ours"])
def test_unrotated_pairs_are_told_as_pairs_that_stand_still(name: str):
    model = turning_model(name)

    def first(**wanted: Any) -> RotaryLogits:
        with edit(model, **wanted):
            logits = all_seen(model, short_text())[0].logits
        assert isinstance(logits, RotaryLogits)
        return logits

    everywhere = first(unrotate="index:1")
    assert (everywhere.theta_F == 0).tolist() == [False, True, False, False]
    assert (everywhere.phase_KF[:, 1] == 1).all()
    here = first(unrotate="index:1", heads="L0H2")
    assert (here.theta_F == 0).tolist() == [False, False, False, False, True]
    zero_H = (here.query_HQF == 0).all(1)
    assert zero_H[:, 1].tolist() == [False, False, True, False] and zero_H[:, 4].tolist() == [True, True, False, True]
    dropped = first(drop="index:1", heads="L0H2")
    assert (dropped.query_HQF == 0).all(1)[:, 1].tolist() == [False, False, True, False]


def test_heads_that_are_ablated_show_the_attention_that_they_would_write_with():
    for name in ("llama", "gptj", "a net of ours"):
        model = turning_model(name)
        plain = all_seen(model, short_text())[0].attention_HQK
        with edit(model, ablate="L0H1"):
            torch.testing.assert_close(all_seen(model, short_text())[0].attention_HQK, plain)


def test_the_fused_kernel_is_given_the_same_queries_and_keys():
    for wanted in EDITS:
        model = turning_model("llama")
        with edit(model, **wanted):
            eager = all_seen(model, short_text())[1]
        model.config._attn_implementation_internal = "sdpa"
        with edit(model, **wanted):
            fused = all_seen(model, short_text())[1]
        torch.testing.assert_close(fused.attention_HQK, eager.attention_HQK, rtol=0, atol=1e-5)


def test_a_model_can_be_captured_before_inside_and_after_an_edit():
    model = turning_model("roformer")
    before = all_seen(model, short_text())[0].attention_HQK
    with edit(model, drop="all"):
        assert not torch.allclose(all_seen(model, short_text())[0].attention_HQK, before)
        first = all_seen(model, short_text())[0].attention_HQK
        assert torch.equal(all_seen(model, short_text())[0].attention_HQK, first)
    assert torch.equal(all_seen(model, short_text())[0].attention_HQK, before)
