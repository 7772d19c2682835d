"""Random numbers that anyone can make again: what a stream gives depends on its seed and its name, and on nothing else.

`Stream` is the definition, in plain Python integers. `Streams` is many of them side by side in numpy, with the same
numbers in the same order. Both are the public SplitMix64 generator, started from the FNV-1a hash of the stream's name.
SplitMix64 only counts and then mixes: number k of a stream can be had without the k - 1 before it.
"""

from collections.abc import Sequence
from copy import copy
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Item = TypeVar("Item")

LAST = 2**64 - 1  # all arithmetic is modulo 2^64; numpy's uint64 wraps by itself, Python's int has to be told
STRIDE = 0x9E3779B97F4A7C15
FNV_START, FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3


@overload
def mix(word: int) -> int: ...
@overload
def mix(word: Words) -> Words: ...
def mix(word: Any) -> Any:
    """Scramble 64 bits so that neighbouring counts give unrelated words."""
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & LAST
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & LAST
    return word ^ (word >> 31)


def fnv(text: str) -> int:
    """Hash a text to 64 bits (FNV-1a).

    >>> f"{fnv('index/train/0'):016x}"
    '07e2ac7696a71bb1'
    """
    word = FNV_START
    for byte in text.encode():
        word = ((word ^ byte) * FNV_PRIME) & LAST
    return word


class Stream:
    """One stream of random numbers, named by its parts.

    >>> stream = Stream(1, "demo")
    >>> [stream.below(10) for _ in range(12)]
    [3, 7, 1, 9, 5, 4, 7, 5, 9, 3, 3, 6]
    """

    def __init__(self, seed: int, *parts: object) -> None:
        self.parts = parts
        self.state = mix((seed + fnv("/".join(map(str, parts)))) & LAST)

    def next(self) -> int:
        """The next 64 random bits."""
        self.state = (self.state + STRIDE) & LAST
        return mix(self.state)

    def below(self, n: int) -> int:
        """One of 0 .. n - 1."""
        return ((self.next() >> 11) * n) >> 53

    def many_below(self, n: int, draws: int) -> Ints:
        """So many numbers of 0 .. n - 1 at once, the same as so many calls of `below`.

        >>> Stream(1, "demo").many_below(10, 12).tolist()
        [3, 7, 1, 9, 5, 4, 7, 5, 9, 3, 3, 6]
        """
        counts = np.arange(1, draws + 1, dtype=np.uint64) * np.uint64(STRIDE)
        words = mix(np.uint64(self.state) + counts)
        self.state = (self.state + draws * STRIDE) & LAST
        return _scaled(words, np.asarray(n, dtype=np.uint64))

    def between(self, low: int, high: int) -> int:
        """One of low .. high, both ends included."""
        return low + self.below(high - low + 1)

    def pick(self, items: Sequence[Item]) -> Item:
        """One of the items."""
        return items[self.below(len(items))]

    def weighted(self, choices: Sequence[tuple[Item, int]]) -> Item:
        """One item of (item, integer weight) pairs, as often as its weight says."""
        left = self.below(sum(weight for _, weight in choices))
        for item, weight in choices:
            if left < weight:
                return item
            left -= weight
        raise AssertionError("the number drawn lies below the sum of the weights")

    def shuffle(self, items: Sequence[Item]) -> list[Item]:
        """All items in a random order."""
        order = list(items)
        for i in range(len(order) - 1, 0, -1):
            j = self.below(i + 1)
            order[i], order[j] = order[j], order[i]
        return order

    def sample(self, items: Sequence[Item], k: int) -> list[Item]:
        """The first k of a random order, in the order drawn."""
        order = list(items)
        for i in range(k):
            j = i + self.below(len(order) - i)
            order[i], order[j] = order[j], order[i]
        return order[:k]


class Streams:
    """Many streams side by side: row n is `Stream(seed, *parts, numbers_N[n])`, with `before` right before the number.

    Every call takes `draws` numbers from every row at once. Rows that need fewer say how many they use, and only those
    are spent: the next call goes on from there, exactly as the row's own `Stream` would.

    >>> Streams(1, ["index", "train"], np.array([0, 7])).below(16, draws=3).tolist()
    [[10, 11, 1], [10, 9, 1]]
    """

    def __init__(self, seed: int, parts: Sequence[object], numbers_N: Ints, *, before: str = "") -> None:
        self.seed, self.parts, self.before, self.numbers_N = seed, parts, before, numbers_N
        word_N = np.full(numbers_N.shape, fnv("/".join([*map(str, parts), before])), dtype=np.uint64)
        for place in reversed(range(len(str(numbers_N.max(initial=0))))):  # go on as `fnv` does with the decimal digits
            digit_N = (numbers_N // 10**place % 10).astype(np.uint64)
            written_N = (numbers_N >= 10**place) | (place == 0)  # no leading zeros
            word_N = np.where(written_N, (word_N ^ (digit_N + np.uint64(ord("0")))) * np.uint64(FNV_PRIME), word_N)
        self.state_N = mix(word_N + np.uint64(seed & LAST))

    def next(self, draws: int, used_N: Ints | None = None) -> Words:
        """The next words of every row, [N, draws], of which each row spends the first `used_N` (all unless said)."""
        counts = np.arange(1, draws + 1, dtype=np.uint64) * np.uint64(STRIDE)
        words = mix(self.state_N[:, None] + counts)
        spent_N = np.full_like(self.state_N, draws) if used_N is None else used_N.astype(np.uint64)
        self.state_N = self.state_N + spent_N * np.uint64(STRIDE)
        return words

    def below(self, n: int | Ints, *, draws: int, used_N: Ints | None = None) -> Ints:
        """Numbers of 0 .. n - 1, [N, draws]; n is one number or an array that broadcasts to that shape, under 2^32."""
        return _scaled(self.next(draws, used_N), np.asarray(n, dtype=np.uint64))

    def between(self, low: int, high: int, *, draws: int) -> Ints:
        """Numbers of low .. high, both ends included, [N, draws]."""
        return low + self.below(high - low + 1, draws=draws)

    def shuffle(self, size: int) -> Ints:
        """Row by row the numbers 0 .. size - 1 in a random order, as `Stream.shuffle`."""
        rows_N = np.arange(len(self.state_N))
        order_NM = np.tile(np.arange(size), (len(rows_N), 1))
        lasts = np.arange(size - 1, 0, -1)
        for i, j_N in zip(lasts, self.below(lasts + 1, draws=size - 1).T, strict=True):
            order_NM[rows_N, i], order_NM[rows_N, j_N] = order_NM[rows_N, j_N], order_NM[rows_N, i].copy()
        return order_NM

    def some(self, rows_N: Ints) -> "Streams":
        """These rows alone, from where they are; what they draw is not drawn from the others."""
        part = copy(self)
        part.numbers_N, part.state_N = self.numbers_N[rows_N], self.state_N[rows_N]
        return part

    def branch(self, row: int, *parts: object) -> Stream:
        """A stream by itself, named as a row of these with further parts."""
        return Stream(self.seed, *self.parts, f"{self.before}{self.numbers_N[row]}", *parts)

    def sample(self, items_NM: Ints, k_N: Ints) -> Ints:
        """Row by row the first k_N of a random order, as `Stream.sample`; the rest of a row is -1."""
        order_NM, most, rows_N = items_NM.copy(), int(k_N.max(initial=0)), np.arange(len(items_NM))
        steps = np.arange(most)
        drawn = steps + self.below(items_NM.shape[1] - steps, draws=most, used_N=k_N)
        for i in range(most):  # a swap at i never reaches an entry before i, so rows already full stay as they are
            j_N = drawn[:, i]
            order_NM[rows_N, i], order_NM[rows_N, j_N] = order_NM[rows_N, j_N], order_NM[rows_N, i].copy()
        return np.where(steps < k_N[:, None], order_NM[:, :most], -1)


def _scaled(words: Words, bound: Words) -> Ints:
    """Random bits as numbers of 0 .. bound - 1; the bound stays under 2^32."""
    word = words >> np.uint64(11)
    # word * bound needs up to 85 bits: multiply the upper 21 and the lower 32 bits of the word apart.
    upper, lower = word >> np.uint64(32), word & np.uint64(2**32 - 1)
    return ((upper * bound + (lower * bound >> np.uint64(32))) >> np.uint64(21)).astype(np.int64)
