"""Read the attention of a net of ours while it runs."""

import torch
from torch import Tensor

from wherewhat.encodings.base import Context, Encoding
from wherewhat.nets.attention import Attend, attention_rows, replaced_attend, self_attentions
from wherewhat.nets.trunk import Trunk


def read_attention(net: Trunk, input_BT: Tensor) -> list[Tensor]:
    """attention_BHQK of every block to some sequences, or to the frames of utterances; the net is left as it was."""
    kept: list[Tensor] = []
    with replaced_attend(net, [_keeping(kept, module.attend) for module in self_attentions(net)]):
        net.hidden(input_BT)
    return kept


def _keeping(kept: list[Tensor], plain: Attend) -> Attend:
    """Attend as before, and keep the attention."""

    def attend(encoding: Encoding, q_BHQC: Tensor, k_BHKC: Tensor, v_BHKC: Tensor, context: Context) -> Tensor:
        kept.append(attention_rows(encoding, q_BHQC, k_BHKC, context, torch.arange(q_BHQC.shape[2])))
        return plain(encoding, q_BHQC, k_BHKC, v_BHKC, context)

    return attend
