"""How often one answer is right whatever the sequence: what a net that counts nothing can have. Torch-free."""

from math import comb


def best_constant(tokens: int, regions: int) -> float:
    """The share of regions that the most frequent count is right for; brackets fall on places drawn at random.

    >>> round(best_constant(512, 4), 3), round(best_constant(64, 4), 3)
    (0.031, 0.225)
    """
    marks = 2 * regions
    sizes = [comb(tokens - size - 1, marks - 1) / comb(tokens, marks) for size in range(tokens - marks + 1)]
    shares = [
        sum(share * comb(size, count) / 2.0**size for size, share in enumerate(sizes)) for count in range(len(sizes))
    ]
    return max(shares)
