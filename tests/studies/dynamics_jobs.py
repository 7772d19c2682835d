"""Light work for processes side by side: they import this file, and nothing heavy with it."""

import os
from collections.abc import Callable


def square(number: int, tell: Callable[[int], None]) -> int:
    tell(number)
    return number * number


def stumble(number: int, tell: Callable[[int], None]) -> int:
    if number == 2:
        raise ValueError("job 2 stumbled")
    return number


def vanish(number: int, tell: Callable[[int], None]) -> int:
    os._exit(3)
