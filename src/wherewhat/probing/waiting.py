"""How the walk of a probe speaks to whoever waits for it."""

from collections.abc import Callable

OnStep = Callable[[int, int, str], None]  # done, of how many, what to say beside it
Say = Callable[[str], None]  # takes a sentence
