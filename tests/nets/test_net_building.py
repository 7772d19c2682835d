"""A net is built from its config and its seed alone."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from precision import assert_same
from safetensors.torch import load_file, save_file

from wherewhat.encodings.registry import ENCODINGS
from wherewhat.nets.build import NETS, Decoder, Encoder, build
from wherewhat.nets.config import KINDS, NetConfig
from wherewhat.nets.conformer import Conformer
from wherewhat.nets.trunk import Trunk

CONFIG = NetConfig(vocabulary=48, width=32, layers=3, heads=4, length=16)
every_encoding = pytest.mark.parametrize("encoding", ENCODINGS)


def test_every_kind_is_built() -> None:
    assert set(NETS) == set(KINDS)
    assert type(build(CONFIG)) is Decoder
    assert type(build(replace(CONFIG, kind="encoder"))) is Encoder
    assert type(build(replace(CONFIG, kind="conformer"))) is Conformer


def test_what_all_kinds_share_is_no_net() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Trunk(CONFIG, generator=torch.Generator())


@every_encoding
def test_the_same_seed_gives_the_same_weights_and_touches_nothing_global(encoding: str) -> None:
    config, before = replace(CONFIG, encoding=encoding), torch.random.get_rng_state()
    first, second, other = build(config, seed=3), build(config, seed=3), build(config, seed=4)
    assert torch.equal(torch.random.get_rng_state(), before)
    for name, weight in first.state_dict().items():
        assert torch.equal(weight, second.state_dict()[name])
        assert not weight.is_meta and weight.isfinite().all()
    assert not torch.equal(first.head.weight, other.head.weight)


@every_encoding
def test_nets_of_one_seed_differ_only_in_their_encoding(encoding: str) -> None:
    net, bare = build(replace(CONFIG, encoding=encoding)), build(replace(CONFIG, encoding="none"))
    own = {name for name in net.state_dict() if name.startswith("encodings.")}
    assert net.state_dict().keys() - own == bare.state_dict().keys()
    for name in bare.state_dict().keys() - {"tokens.weight"}:
        assert torch.equal(net.state_dict()[name], bare.state_dict()[name])


@pytest.mark.parametrize(("encoding", "sigma"), [("none", 0.02), ("rope", 0.02), ("sinusoidal", 1.0)])
def test_tokens_start_as_wide_as_their_encoding_asks(encoding: str, sigma: float) -> None:
    tokens = build(replace(CONFIG, encoding=encoding, vocabulary=1000)).tokens.weight
    assert tokens.std().item() == pytest.approx(sigma, rel=0.03)


def test_tokens_start_as_wide_as_asked() -> None:
    tokens = build(replace(CONFIG, encoding="sinusoidal", vocabulary=1000, token_sigma=0.3)).tokens.weight
    assert tokens.std().item() == pytest.approx(0.3, rel=0.03)


def test_other_weights_start_as_pytorch_would_start_them() -> None:
    net = build(replace(CONFIG, width=256))
    for linear in (net.head, net.blocks[0].attention.qkv, net.blocks[0].mlp[3]):
        bound = linear.in_features**-0.5
        assert linear.weight.abs().max().item() == pytest.approx(bound, rel=1e-3)
        assert linear.weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.02)
    assert torch.equal(net.norm.weight, torch.ones(256)) and not net.norm.bias.any()


def test_the_number_of_weights_is_known() -> None:
    D, V, layers = 32, 48, 3
    attention, mlp, norm = 4 * D * D, 8 * D * D + 5 * D, 2 * D
    around = V * D + norm + D * V + V
    with_mlp, without = build(CONFIG), build(replace(CONFIG, mlp=0))
    assert sum(each.numel() for each in with_mlp.parameters()) == around + layers * (attention + mlp + 2 * norm)
    assert sum(each.numel() for each in without.parameters()) == around + layers * (attention + norm)


@pytest.mark.parametrize(("place", "tables"), [("input", 1), ("block", 3)])
def test_an_encoding_is_shared_or_owned_by_each_block(place: str, tables: int) -> None:
    net = build(replace(CONFIG, encoding="learned", encoding_options={"place": place}))
    assert len(net.encodings) == tables
    assert [net.encoding(block) is net.encodings[min(block, tables - 1)] for block in range(3)] == [True] * 3
    assert len({encoding.table_SD.sum().item() for encoding in net.encodings}) == tables


@every_encoding
def test_weights_survive_safetensors(encoding: str, tmp_path: Path) -> None:
    net, other = build(replace(CONFIG, encoding=encoding)), build(replace(CONFIG, encoding=encoding), seed=1)
    # Cloned, because a part that several blocks share has several names.
    save_file({name: weight.clone() for name, weight in net.state_dict().items()}, tmp_path / "net.safetensors")
    other.load_state_dict(load_file(tmp_path / "net.safetensors"))
    ids_BT = torch.arange(12).view(2, 6)
    assert all(torch.equal(weight, other.state_dict()[name]) for name, weight in net.state_dict().items())
    assert_same(net(ids_BT), other(ids_BT))
