"""Texts with padding beside them, and where the texts themselves are."""

import torch
from torch import Tensor


def padded(ids_BT: Tensor, padding_BT: Tensor, side: str) -> tuple[Tensor, Tensor, slice]:
    """The texts with padding on the left or on the right, real_BT, and the slots of the texts."""
    left, added, length = side == "left", padding_BT.shape[1], ids_BT.shape[1]
    together_BT = torch.cat((padding_BT, ids_BT) if left else (ids_BT, padding_BT), dim=1)
    real = slice(added, None) if left else slice(0, length)
    real_BT = torch.zeros_like(together_BT, dtype=torch.bool)
    real_BT[:, real] = True
    return together_BT, real_BT, real
