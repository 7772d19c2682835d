"""What a whole net promises about the texts it reads, for every encoding and every kind that takes it."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from padding import padded
from torch import Tensor
from torch.nn.functional import cross_entropy

from wherewhat.encodings.registry import ENCODINGS
from wherewhat.errors import UserError
from wherewhat.nets.attention import attend
from wherewhat.nets.build import build
from wherewhat.nets.config import KINDS, NetConfig
from wherewhat.nets.past import Past
from wherewhat.nets.trunk import Trunk

B, T, V = 2, 11, 13
CONFIG = NetConfig(vocabulary=V, width=16, layers=2, heads=2, length=32)
every_encoding = pytest.mark.parametrize("encoding", ENCODINGS)


def kinds_of(encoding: str) -> list[str]:
    """The kinds of net that an encoding can serve."""
    only_back = replace(CONFIG, encoding=encoding).make_encoding().causal_only
    return ["decoder"] if only_back else list(KINDS)


every_net = pytest.mark.parametrize(
    ("encoding", "kind"), [(encoding, kind) for encoding in ENCODINGS for kind in kinds_of(encoding)]
)


def net_of(encoding: str, kind: str = "decoder") -> Trunk:
    return build(replace(CONFIG, encoding=encoding, kind=kind)).double().eval()


def random_ids(*shape: int, seed: int = 0) -> Tensor:
    return torch.randint(V, shape, generator=torch.Generator().manual_seed(seed))


def same(left: Tensor, right: Tensor) -> bool:
    return torch.allclose(left, right, rtol=0, atol=1e-10)


@every_net
def test_logits_are_the_head_of_what_is_hidden(encoding: str, kind: str) -> None:
    net, ids_BT = net_of(encoding, kind), random_ids(B, T)
    assert net(ids_BT).shape == (B, T, V)
    assert net.hidden(ids_BT).shape == (B, T, 16)
    assert torch.equal(net.head(net.hidden(ids_BT)), net(ids_BT))
    assert same(net.head(net.hidden(ids_BT)[:, -1]), net(ids_BT)[:, -1])


@every_net
def test_only_a_decoder_does_not_see_ahead(encoding: str, kind: str) -> None:
    ids_BT = random_ids(B, T)
    changed_BT = ids_BT.clone()
    changed_BT[:, 6:] = (ids_BT[:, 6:] + 1) % V
    net = net_of(encoding, kind)
    assert same(net(ids_BT)[:, :6], net(changed_BT)[:, :6]) == (kind == "decoder")
    assert not same(net(ids_BT)[:, 6:], net(changed_BT)[:, 6:])


@every_net
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing_real(encoding: str, kind: str, side: str) -> None:
    net, ids_BT, padding_BT = net_of(encoding, kind), random_ids(B, T), random_ids(B, 3, seed=1)
    padded_BT, real_BT, real = padded(ids_BT, padding_BT, side)
    assert same(net(padded_BT, real_BT)[:, real], net(ids_BT))


@every_encoding
def test_reading_on_after_a_right_padded_piece_is_reading_without_the_padding(encoding: str) -> None:
    net, ids_BT, past = net_of(encoding), random_ids(B, T), Past()
    first_BT, real_BT = ids_BT[:, :6].clone(), torch.arange(6) < torch.tensor([[6], [3]])
    net(first_BT, real_BT, past=past)
    on_BTV = torch.cat([net(ids_BT[:, 6:8], past=past), net(ids_BT[:, 8:], past=past)], dim=1)
    assert same(on_BTV[:1], net(ids_BT[:1])[:, 6:])
    without_BT = torch.cat((ids_BT[1:, :3], ids_BT[1:, 6:]), dim=1)
    assert same(on_BTV[1:], net(without_BT)[:, 3:])


def test_a_piece_that_is_refused_leaves_no_trace() -> None:
    net, past = net_of("learned"), Past()
    net(random_ids(B, 30), past=past)
    assert "and got 35" in refusal(net, random_ids(B, 5), past=past)
    sentence = "the past holds 2 texts and the next piece has 3; go on with the same texts, or begin with a new Past"
    assert refusal(net, random_ids(3, 1), past=past) == sentence
    assert net(random_ids(B, 2), past=past).shape == (B, 2, V)


def test_a_piece_that_is_refused_inside_leaves_no_trace() -> None:
    config = replace(CONFIG, encoding="xpos", encoding_options={"span": 0.3})
    net, past, ids_BT = build(config).float(), Past(), random_ids(B, 8)
    net(ids_BT[:, :5], past=past)
    assert "xpos over 60 tokens leaves the range of float32" in refusal(net, random_ids(B, 55), past=past)
    torch.testing.assert_close(net(ids_BT[:, 5:], past=past), net(ids_BT)[:, 5:], rtol=0, atol=1e-4)


def test_a_watcher_without_gradients_takes_none_away() -> None:
    net, ids_BT = net_of("kerple"), random_ids(B, T)
    attention = net.blocks[0].attention

    def watch(*call: Any) -> Tensor:
        with torch.no_grad():
            attend(*call)
        return attend(*call)

    attention.attend = watch
    net(ids_BT).sum().backward()
    assert all(each.grad is not None for each in net.encodings.parameters())


@every_encoding
@pytest.mark.parametrize("pieces", [(1,) * T, (4, 1, 3, 3), (T,)], ids=["ones", "uneven", "whole"])
@pytest.mark.parametrize("padded", [False, True], ids=["unpadded", "left-padded"])
def test_reading_in_pieces_is_reading_at_once(encoding: str, pieces: tuple[int, ...], padded: bool) -> None:
    net, ids_BT, past = net_of(encoding), random_ids(B, T), Past()
    real_BT = torch.arange(T) >= torch.tensor([[2], [0]]) if padded else None
    outs, end = [], 0
    for piece in pieces:
        new, end = slice(end, end + piece), end + piece
        outs.append(net(ids_BT[:, new], None if real_BT is None else real_BT[:, new], past=past))
    together_BTV, at_once_BTV = torch.cat(outs, dim=1), net(ids_BT, real_BT)
    real = torch.ones(B, T, dtype=torch.bool) if real_BT is None else real_BT
    assert same(together_BTV[real], at_once_BTV[real])


@every_net
def test_a_net_learns(encoding: str, kind: str) -> None:
    net, ids_BT = build(replace(CONFIG, encoding=encoding, kind=kind)), random_ids(4, 8)
    optimizer, losses = torch.optim.AdamW(net.parameters(), lr=1e-2), []
    for _ in range(30):
        loss = cross_entropy(net(ids_BT).flatten(0, 1), ids_BT.flatten())
        optimizer.zero_grad()
        loss.backward()
        assert all(each.grad is not None and each.grad.isfinite().all() for each in net.parameters())
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 4


@every_net
def test_a_net_in_half_precision_reads_nearly_the_same(encoding: str, kind: str) -> None:
    net, ids_BT = build(replace(CONFIG, encoding=encoding, kind=kind)).eval(), random_ids(B, T)
    exact_BTV = net(ids_BT)
    rounded_BTV = net.to(torch.bfloat16)(ids_BT)
    assert rounded_BTV.dtype == torch.bfloat16
    torch.testing.assert_close(rounded_BTV.float(), exact_BTV, rtol=0, atol=0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_net_without_mlp_reads(kind: str) -> None:
    assert build(replace(CONFIG, mlp=0, kind=kind))(random_ids(B, T)).shape == (B, T, V)


def refusal(net: Trunk, ids_BT: Tensor, real_BT: Tensor | None = None, past: Past | None = None) -> str:
    with pytest.raises(UserError) as refused:
        net(ids_BT, real_BT, past)
    return str(refused.value)


def test_refusals() -> None:
    net, ids_BT = net_of("rope"), random_ids(B, T)
    shape = "a net reads token ids [batch, tokens], at least one; got shape"
    assert refusal(net, ids_BT[0]) == f"{shape} [11]"
    assert refusal(net, ids_BT[:, :0]) == f"{shape} [2, 0]"
    far = "token ids must lie in 0..12 and go from 0 to 13; use the vocabulary that the net was built for"
    assert refusal(net, torch.tensor([[0, 13]])) == far
    assert "go from -1 to 0" in refusal(net, torch.tensor([[0, -1]]))
    real = "real_BT must be bool and shaped like the ids [2, 11]; got torch."
    assert refusal(net, ids_BT, torch.ones(B, T)) == f"{real}float32 [2, 11]"
    assert refusal(net, ids_BT, torch.ones(B, 3, dtype=torch.bool)) == f"{real}bool [2, 3]"
    for kind in KINDS.keys() - {"decoder"}:
        sentence = f"only a decoder reads in pieces and this net is of kind {kind}; leave `past` out"
        assert refusal(net_of("rope", kind), ids_BT, past=Past()) == sentence


def test_a_text_longer_than_a_learned_table_is_refused_also_in_pieces() -> None:
    net, past = net_of("learned"), Past()
    sentence = "learned tells at most 32 tokens apart and got 33; shorten the sequence or build it for longer ones"
    assert refusal(net, random_ids(B, 33)) == sentence
    net(random_ids(B, 32), past=past)
    assert refusal(net, random_ids(B, 1), past=past) == sentence
