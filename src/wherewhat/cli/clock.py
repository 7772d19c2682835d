"""How long a command takes, from its very start to the line that says so."""

import time

_began = time.perf_counter()  # this file is among the first that a process reads


def restart() -> None:
    """A command begins in a process that has been there for a while."""
    global _began
    _began = time.perf_counter()


def seconds() -> float:
    """Since the command began."""
    return round(time.perf_counter() - _began, 3)
