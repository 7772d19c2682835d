"""The attention of a net is read while it runs, whatever stands in its blocks."""

import pytest
import torch
from torch import Tensor

from wherewhat.encodings.base import Context, Encoding
from wherewhat.nets.attention import Attend, attend, replaced_attend, self_attentions
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.studies.engine.attention import read_attention

NET = NetConfig(vocabulary=8, width=8, layers=3, heads=2, length=8, kind="encoder")


def scaled(by: float) -> Attend:
    """Attention whose output is larger, so that a block that attends so is known by what comes out."""

    def attend_scaled(encoding: Encoding, q: Tensor, k: Tensor, v: Tensor, context: Context) -> Tensor:
        return by * attend(encoding, q, k, v, context)

    return attend_scaled


@torch.no_grad()
def test_every_block_attends_in_its_own_way_while_attention_is_read_and_afterwards() -> None:
    net, ids_BT = build(NET, seed=1), torch.randint(8, (3, 6), generator=torch.Generator().manual_seed(0))
    own = [scaled(2.0), scaled(30.0), attend]
    with replaced_attend(net, [scaled(2.0), scaled(2.0), attend]):
        alike = read_attention(net, ids_BT)
    with replaced_attend(net, own):
        ours = read_attention(net, ids_BT)
        assert [module.attend for module in self_attentions(net)] == own
    assert len(ours) == 3 and all(torch.equal(ours[block], alike[block]) for block in (0, 1))
    assert (ours[2] - alike[2]).abs().max() > 1e-3  # the last block reads what the second one gathers in its own way
    assert [module.attend for module in self_attentions(net)] == [attend] * 3


def test_blocks_attend_as_before_after_an_error_and_none_is_left_out() -> None:
    net = build(NET, seed=1)
    with pytest.raises(RuntimeError, match="stop"), replaced_attend(net, [scaled(2.0)] * 3):
        raise RuntimeError("stop")
    with pytest.raises(ValueError, match="zip"), replaced_attend(net, [scaled(2.0)]):
        pass
    assert [module.attend for module in self_attentions(net)] == [attend] * 3
    with replaced_attend(net.blocks[1], [scaled(2.0)]):  # a part of the net
        assert self_attentions(net)[0].attend is attend and self_attentions(net)[1].attend is not attend
