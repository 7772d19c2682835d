"""Products of chosen pairs of vectors: those of the definition, whichever pairs are asked for and however often."""

import warnings

import pytest
import torch

from wherewhat.logits.pair_products import PairProducts


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("sets", "keys", "pairs"), [(1, 1, 3), (3, 7, 20), (5, 40, 1)])
def test_products_are_those_of_the_definition(dtype: torch.dtype, sets: int, keys: int, pairs: int):
    generator = torch.Generator().manual_seed(0)
    left_NKX, right_NKX = (torch.randn(sets, keys, 6, generator=generator, dtype=dtype) for _ in range(2))
    left_ND = torch.randint(0, keys, (sets, pairs), generator=generator).sort(-1).values  # some more than once
    right_ND = torch.randint(0, keys, (sets, pairs), generator=generator)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours_ND = PairProducts(left_ND, right_ND, keys=keys)(left_NKX, right_NKX)
    for number in range(sets):
        theirs_D = (left_NKX[number, left_ND[number]] * right_NKX[number, right_ND[number]]).sum(-1)
        torch.testing.assert_close(ours_ND[number], theirs_D)


def test_vectors_may_lie_anywhere_in_memory():
    vectors_NKX = torch.arange(24.0).view(2, 4, 3).transpose(0, 1).mT  # as slices and transposes leave them
    left_ND, right_ND = torch.tensor([[0, 2], [1, 1], [0, 0], [2, 2]]), torch.tensor([[1, 0], [2, 0], [2, 1], [0, 1]])
    ours_ND = PairProducts(left_ND, right_ND, keys=3)(vectors_NKX, vectors_NKX)
    theirs_ND = (vectors_NKX @ vectors_NKX.mT)[torch.arange(4)[:, None], left_ND, right_ND]
    torch.testing.assert_close(ours_ND, theirs_ND)
