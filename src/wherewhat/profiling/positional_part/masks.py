"""What masks let a token see, as numbers and in words: so many keys back, so many ahead."""

from torch import Tensor

Reach = tuple[int | None, int | None]  # keys back and ahead; None is all there are


def reach_of(allowed_TT: Tensor) -> Reach:
    """How far a mask lets tokens see back and ahead.

    >>> import torch
    >>> reach_of(torch.ones(9, 9).bool().tril().triu(-2)), reach_of(torch.ones(9, 9).bool())
    ((2, 0), (None, None))
    """
    query_X, key_X = allowed_TT.nonzero().T
    ends = (int((query_X - key_X).max()), int((key_X - query_X).max()))
    back, ahead = (None if end == len(allowed_TT) - 1 else end for end in ends)
    return back, ahead


def is_window(reach: Reach) -> bool:
    """Whether even some of what came before is hidden."""
    return reach[0] is not None


def mask_name(reach: Reach) -> str:
    """A mask in words; nothing where there is none.

    >>> mask_name((None, 0)), mask_name((4, 0)), mask_name((8, 8)), mask_name((None, None))
    ('causal', 'last 5 keys', '8 keys back and 8 ahead', '')
    """
    back, ahead = reach
    if ahead is None:
        return "" if back is None else f"{back} keys back"
    if ahead == 0:
        return "causal" if back is None else f"last {back + 1} keys"
    return f"{'all' if back is None else back} keys back and {ahead} ahead"
