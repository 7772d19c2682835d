"""Make sure that what was read of a head's logits gives the attention the model computed: no family is misread."""

import torch
from torch import Tensor

# The largest difference of a weight that rounding may explain, by the type the model computes in. Some families take
# their softmax in float32 whatever that is.
CLOSE = {torch.float64: 1e-4, torch.float32: 1e-3, torch.float16: 2e-2, torch.bfloat16: 1e-1}


def tells_attention(actual_HQK: Tensor, attention_HQK: Tensor, allowed_QK: Tensor, dtype: torch.dtype) -> bool:
    """Whether the softmax of these logits over the allowed keys is this attention, apart from a sink of its own.

    >>> half = torch.tensor([[[0.5, 0.5]]])
    >>> tells_attention(torch.zeros(1, 1, 2), half, torch.ones(1, 2, dtype=torch.bool), half.dtype)
    True
    """
    softmax_HQK = actual_HQK.masked_fill(~allowed_QK, -torch.inf).softmax(-1)
    mass_HQ1 = attention_HQK.sum(-1, keepdim=True).clamp_min(1e-30)
    sees_Q1 = allowed_QK.any(-1, keepdim=True)
    apart = ((softmax_HQK - attention_HQK / mass_HQ1).nan_to_num(0.0).abs() * sees_Q1).amax()
    return bool(apart <= CLOSE[dtype])
