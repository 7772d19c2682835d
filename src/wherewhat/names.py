"""Look a thing up by its name, or suggest the name that was meant."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TypeVar

from wherewhat.errors import UserError

Thing = TypeVar("Thing")


def look_up(kind: str, name: str, family: Mapping[str, Thing]) -> Thing:
    """Return the member called `name`, or say which name was probably meant.

    >>> look_up("fruit", "pear", {"pear": 1})
    1
    >>> look_up("fruit", "paer", {"pear": 1, "fig": 2})
    Traceback (most recent call last):
    wherewhat.errors.UserError: unknown fruit 'paer'; did you mean 'pear'? known: fig, pear
    """
    if isinstance(name, str) and name in family:
        return family[name]
    raise UserError(f"unknown {kind} '{name}'; {suggestion(name, family)}known: {', '.join(sorted(family))}")


def suggestion(name: str, family: Mapping[str, object]) -> str:
    """Say which member looks most like `name`, as the middle of a sentence, or nothing."""
    by_lower = {member.lower(): member for member in family}
    close = get_close_matches(str(name).lower(), by_lower, n=1)
    return f"did you mean '{by_lower[close[0]]}'? " if close else ""
