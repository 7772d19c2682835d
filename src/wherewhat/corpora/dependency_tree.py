"""Dependency trees: how deep words are, the subtree of a word, and cycles.

Head words are counted from 1 and 0 is the root, as treebanks write them; words are counted from 0.
"""

from collections.abc import Sequence


def find_cycle(heads: Sequence[int]) -> list[int]:
    """The words of a cycle, the first of them first, or none.

    >>> find_cycle([2, 0, 2]), find_cycle([2, 3, 1, 0])
    ([], [0, 1, 2])
    """
    sound = {0}
    for word in range(1, len(heads) + 1):
        path = list[int]()
        while word not in sound and word not in path:
            path.append(word)
            word = heads[word - 1]
        if word not in sound:
            cycle = path[path.index(word) :]
            first = cycle.index(min(cycle))
            return [member - 1 for member in cycle[first:] + cycle[:first]]
        sound.update(path)
    return []


def depths(heads: Sequence[int]) -> list[int]:
    """How many head words every word has above it. There must be no cycle.

    >>> depths([2, 3, 0, 3])
    [2, 1, 0, 1]
    """
    depth = {0: -1}
    for word in range(1, len(heads) + 1):
        path = list[int]()
        while word not in depth:
            path.append(word)
            word = heads[word - 1]
        for steps, below in enumerate(reversed(path), start=1):
            depth[below] = depth[word] + steps
    return [depth[word] for word in range(1, len(heads) + 1)]


def subtree(heads: Sequence[int], word: int, *, without: int | None = None) -> list[int]:
    """A word and all words below it, sorted; `without` is left out with all words below it.

    >>> subtree([2, 0, 2, 5, 3], 2), subtree([2, 0, 2, 5, 3], 2, without=4)
    ([2, 3, 4], [2])
    """
    dependents: dict[int, list[int]] = {}
    for dependent, head in enumerate(heads):
        dependents.setdefault(head - 1, []).append(dependent)
    members, waiting = list[int](), [word]
    while waiting:
        member = waiting.pop()
        if member != without:
            members.append(member)
            waiting += dependents.get(member, [])
    return sorted(members)
