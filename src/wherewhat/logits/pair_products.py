"""Products of chosen pairs of vectors, without copying a vector for every pair it is in."""

import warnings

import torch
from torch import Tensor


class PairProducts:
    """In each of N sets of vectors, products of D pairs; `left_ND` must be sorted in ascending order.

    >>> pairs = PairProducts(torch.tensor([[0, 0, 1]]), torch.tensor([[0, 1, 1]]), keys=2)
    >>> pairs(torch.eye(2)[None], torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
    tensor([[1., 3., 4.]])
    """

    def __init__(self, left_ND: Tensor, right_ND: Tensor, *, keys: int) -> None:
        self._shape = left_ND.shape
        self._vectors = len(left_ND) * keys
        start_N1 = torch.arange(len(left_ND), device=left_ND.device)[:, None] * keys
        self._left_P, self._right_P = (start_N1 + left_ND).flatten(), (start_N1 + right_ND).flatten()
        self._ends_U = torch.searchsorted(self._left_P, torch.arange(self._vectors + 1, device=left_ND.device))

    def __call__(self, left_NKX: Tensor, right_NKX: Tensor) -> Tensor:
        """product_ND of vectors on the left with vectors on the right."""
        left_UX, right_UX = left_NKX.flatten(0, 1), right_NKX.flatten(0, 1)
        if left_UX.device.type == "cpu" and len(self._left_P) <= self._vectors**2:  # a matrix has no more entries
            return self._sampled(left_UX, right_UX).view(self._shape)
        return (left_UX[self._left_P] * right_UX[self._right_P]).sum(-1).view(self._shape)

    def _sampled(self, left_UX: Tensor, right_UX: Tensor) -> Tensor:
        """As the entries of a sparse matrix, products are computed where the vectors lie: many times quicker."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta", UserWarning)
            zeros_P, size = left_UX.new_zeros(len(self._left_P)), (self._vectors, self._vectors)
            # A pair may occur twice, in any order on the right: not a valid matrix, but valid products.
            pattern = torch.sparse_csr_tensor(self._ends_U, self._right_P, zeros_P, size, check_invariants=False)
            products_P: Tensor = torch.sparse.sampled_addmm(pattern, left_UX, right_UX.mT).values()
        return products_P
