"""Learned queries gather hidden states by one cross-attention."""

from dataclasses import replace

import pytest
import torch
from precision import rounding

from wherewhat.errors import UserError
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig

CONFIG = NetConfig(
    vocabulary=9, width=8, layers=1, heads=1, encoding="rope", length=16, readout_queries=3, readout_classes=5
)
IDS = torch.tensor([[1, 4, 2, 8, 5], [7, 0, 3, 3, 6]])


@torch.no_grad()
def test_every_answer_is_a_weighted_mean_of_values() -> None:
    net = build(CONFIG, seed=2).double()
    states_BTD, weights = net.hidden(IDS), net.state_dict()
    for text in range(2):
        for query in range(3):
            query_D = weights["readout.queries_RD"][query]
            logits_T = torch.stack([query_D @ weights["readout.key.weight"] @ x_D for x_D in states_BTD[text]])
            attention_T = (logits_T / CONFIG.width**0.5).softmax(0)
            gathered_D = sum(
                share * (weights["readout.value.weight"] @ x_D)
                for share, x_D in zip(attention_T, states_BTD[text], strict=True)
            )
            logits_C = weights["readout.out.weight"] @ gathered_D + weights["readout.out.bias"]
            assert (net.readout_logits(IDS)[text, query] - logits_C).abs().max() < 1e-12


@torch.no_grad()
def test_padding_is_not_gathered() -> None:
    net = build(CONFIG).double()
    padded_BT = torch.cat([IDS, torch.zeros(2, 3, dtype=torch.long)], 1)
    real_BT = torch.arange(8).expand(2, 8) < 5
    assert (net.readout_logits(padded_BT, real_BT) - net.readout_logits(IDS)).abs().max() < 1e-12
    assert (net.readout_logits(padded_BT) - net.readout_logits(IDS)).abs().max() > 1e-3


def test_queries_differ_from_the_start() -> None:
    queries_RD = build(CONFIG).state_dict()["readout.queries_RD"]
    assert (queries_RD[:, None] - queries_RD).norm(dim=-1)[~torch.eye(3, dtype=torch.bool)].min() > 0.1


@torch.no_grad()
@pytest.mark.parametrize(("kind", "same"), [("encoder", True), ("decoder", False)])
def test_without_positions_the_order_of_tokens_counts_under_a_causal_mask_alone(kind: str, same: bool) -> None:
    """So a bidirectional encoder without an encoding cannot count inside regions (arXiv 2406.02585)."""
    net = build(replace(CONFIG, kind=kind, encoding="none")).double()
    order = torch.tensor([2, 0, 4, 1, 3])
    gap = (net.readout_logits(IDS[:, order]) - net.readout_logits(IDS)).abs().max()
    assert (gap < rounding(torch.float64)) if same else (gap > 1e-3)


def test_a_read_out_leaves_the_other_weights_as_they_were() -> None:
    net, bare = build(CONFIG), build(replace(CONFIG, readout_queries=0, readout_classes=0))
    own = {name for name in net.state_dict() if name.startswith("readout.")}
    assert len(own) == 5 and net.state_dict().keys() - own == bare.state_dict().keys()
    assert all(torch.equal(net.state_dict()[name], weight) for name, weight in bare.state_dict().items())


def test_a_net_without_a_read_out_says_so() -> None:
    with pytest.raises(UserError, match="this net has no read-out by queries; give readout_queries"):
        build(replace(CONFIG, readout_queries=0, readout_classes=0)).readout_logits(IDS)
    with pytest.raises(UserError, match="a read-out needs queries and classes, or there is none; got 3 and 0"):
        replace(CONFIG, readout_classes=0)
    with pytest.raises(UserError, match="readout_mlp is for a net with a read-out; give readout_queries too"):
        replace(CONFIG, readout_queries=0, readout_classes=0, readout_mlp=2)


@torch.no_grad()
def test_an_mlp_reads_what_a_query_has_gathered() -> None:
    """Its answers are those of the plain read-out to what was gathered, plus the MLP's own part."""
    net = build(replace(CONFIG, readout_mlp=2), seed=2).double()
    assert net.readout is not None and net.readout.mlp is not None
    norm, into, _, out = net.readout.mlp
    gathered_BRD = net.readout.value(net.readout.attention(net.hidden(IDS)) @ net.hidden(IDS))
    assert into.weight.shape == (16, 8) and norm.weight.tolist() == [1.0] * 8
    added_BRD = out(torch.nn.functional.gelu(into(torch.nn.functional.layer_norm(gathered_BRD, (8,)))))
    assert added_BRD.abs().max() > 1e-3
    gap = (net.readout_logits(IDS) - net.readout.out(gathered_BRD + added_BRD)).abs().max()
    assert gap < rounding(torch.float64)
    assert torch.equal(
        build(replace(CONFIG, readout_mlp=2), seed=2).double().readout_logits(IDS), net.readout_logits(IDS)
    )
