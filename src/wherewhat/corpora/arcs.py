"""Walk along dependencies: how far words are from the root, what hangs below one, and whether some go in a circle.

Governors are counted from 1 and 0 is the root, as treebanks write them; words are counted from 0.
"""

from collections.abc import Sequence


def circle(heads: Sequence[int]) -> list[int]:
    """Words that govern each other in a circle, the first of them first, or none.

    >>> circle([2, 0, 2]), circle([2, 3, 1, 0])
    ([], [0, 1, 2])
    """
    sound = {0}
    for word in range(1, len(heads) + 1):
        path = list[int]()
        while word not in sound and word not in path:
            path.append(word)
            word = heads[word - 1]
        if word not in sound:
            around = path[path.index(word) :]
            first = around.index(min(around))
            return [one - 1 for one in around[first:] + around[:first]]
        sound.update(path)
    return []


def depths(heads: Sequence[int]) -> list[int]:
    """How many governors every word has above it. There must be no circle.

    >>> depths([2, 3, 0, 3])
    [2, 1, 0, 1]
    """
    found = {0: -1}
    for word in range(1, len(heads) + 1):
        path = list[int]()
        while word not in found:
            path.append(word)
            word = heads[word - 1]
        for steps, one in enumerate(reversed(path), start=1):
            found[one] = found[word] + steps
    return [found[word] for word in range(1, len(heads) + 1)]


def below(heads: Sequence[int], word: int, *, without: int | None = None) -> list[int]:
    """A word and all that depends on it, in their order; `without` is left out with all that depends on it.

    >>> below([2, 0, 2, 5, 3], 2), below([2, 0, 2, 5, 3], 2, without=4)
    ([2, 3, 4], [2])
    """
    under: dict[int, list[int]] = {}
    for one, head in enumerate(heads):
        under.setdefault(head - 1, []).append(one)
    found, waiting = list[int](), [word]
    while waiting:
        one = waiting.pop()
        if one != without:
            found.append(one)
            waiting += under.get(one, [])
    return sorted(found)
