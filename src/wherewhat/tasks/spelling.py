"""How letters are called when there are more than twenty-six of them."""


def letter(k: int) -> str:
    """The k-th of a, b, ... z, aa, ab, ...

    >>> [letter(k) for k in (0, 25, 26, 119)]
    ['a', 'z', 'aa', 'dp']
    """
    text = ""
    while k >= 0:
        k, place = k // 26 - 1, k % 26
        text = chr(ord("a") + place) + text
    return text
