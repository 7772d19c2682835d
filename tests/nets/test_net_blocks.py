"""Where norms are: post-norm blocks compute what their formula says."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import gelu, layer_norm

from wherewhat.errors import UserError
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig

CONFIG = NetConfig(
    vocabulary=9, width=8, layers=2, heads=1, kind="encoder", block="post_norm", encoding="none", length=16
)
IDS = torch.tensor([[1, 4, 2, 8, 5], [7, 0, 3, 3, 6]])


def normed(x_BTD: torch.Tensor) -> torch.Tensor:
    return layer_norm(x_BTD, x_BTD.shape[-1:])


@torch.no_grad()
def test_a_post_norm_net_computes_its_formula() -> None:
    net = build(CONFIG, seed=3).double()
    weights = net.state_dict()
    x_BTD = weights["tokens.weight"][IDS]
    for number in range(CONFIG.layers):
        here = {name.removeprefix(f"blocks.{number}."): value for name, value in weights.items()}
        query_BTC, key_BTC, value_BTC = (x_BTD @ here["attention.qkv.weight"].T).chunk(3, -1)
        attention_BTT = (query_BTC @ key_BTC.mT / CONFIG.width**0.5).softmax(-1)
        x_BTD = normed(x_BTD + attention_BTT @ value_BTC @ here["attention.out.weight"].T)
        hidden_BTM = gelu(x_BTD @ here["mlp.0.weight"].T + here["mlp.0.bias"])
        x_BTD = normed(x_BTD + gelu(hidden_BTM @ here["mlp.2.weight"].T + here["mlp.2.bias"]))
    logits_BTV = x_BTD @ weights["head.weight"].T + weights["head.bias"]
    assert (net(IDS) - logits_BTV).abs().max() < 1e-12


@torch.no_grad()
def test_without_an_mlp_there_is_one_norm_per_block() -> None:
    names = build(replace(CONFIG, mlp=0)).state_dict()
    assert [name for name in names if "norm" in name and "0." in name] == [
        "blocks.0.attention_norm.weight",
        "blocks.0.attention_norm.bias",
    ]
    assert build(replace(CONFIG, mlp=0))(IDS).isfinite().all()


def test_post_norm_nets_of_every_kind_but_conformers() -> None:
    assert build(replace(CONFIG, kind="decoder"))(IDS).isfinite().all()
    with pytest.raises(UserError, match="a conformer has blocks of its own and cannot have post_norm ones"):
        replace(CONFIG, kind="conformer")
    with pytest.raises(UserError, match="unknown block 'postnorm'; did you mean 'post_norm'"):
        replace(CONFIG, block="postnorm")
