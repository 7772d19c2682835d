"""Read the attention of a net of ours while it runs."""

from typing import cast

import torch
from torch import Tensor

from wherewhat.encodings.base import Context, Encoding
from wherewhat.nets.attention import SelfAttention, attention_rows
from wherewhat.nets.trunk import Trunk


def read_attention(net: Trunk, input_BT: Tensor) -> list[Tensor]:
    """attention_BHQK of every block to some sequences, or to the frames of utterances; the net is left as it was."""
    kept: list[Tensor] = []
    modules = [cast(SelfAttention, block.attention) for block in net.blocks]
    plain = modules[0].attend

    def attend(encoding: Encoding, q_BHQC: Tensor, k_BHKC: Tensor, v_BHKC: Tensor, context: Context) -> Tensor:
        kept.append(attention_rows(encoding, q_BHQC, k_BHKC, context, torch.arange(q_BHQC.shape[2])))
        return plain(encoding, q_BHQC, k_BHKC, v_BHKC, context)

    try:
        for module in modules:
            module.attend = attend
        net.hidden(input_BT)
    finally:
        for module in modules:
            module.attend = plain
    return kept
