"""Look up members by name, with suggestions for misspelt names; and the names of heads."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import Any, TypeVar

from wherewhat.errors import UserError

Thing = TypeVar("Thing")
HEAD_NAME = re.compile(r"(?:(encoder|decoder|cross)[ :])?L(\d{1,6})H(\d{1,6})")


def look_up(kind: str, name: str, family: Mapping[str, Thing]) -> Thing:
    """The member called `name`; an unknown name is refused with a suggestion.

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
    """A suggestion of the most similar member, as the middle of a sentence; empty if there is none."""
    by_lower = {member.lower(): member for member in family}
    close = get_close_matches(str(name).lower(), by_lower, n=1)
    return f"did you mean '{by_lower[close[0]]}'? " if close else ""


def check_keywords(
    function: Callable[..., object],
    given: Mapping[str, object],
    *,
    fills: type,
    elsewhere: Mapping[str, str] = {},
    hands_on: Callable[..., object] | None = None,
) -> None:
    """Refuse a keyword that neither a function nor the dataclass it `fills` has, with a suggestion.

    `elsewhere` are names that belong somewhere else, each with how to write it there; `hands_on` is another function
    that receives the keywords, whose own ones are valid too.
    """
    record: Any = fills
    known = [*_own(function), *(_own(hands_on) if hands_on else ()), *(field.name for field in fields(record))]
    for name in given:
        if name in elsewhere:
            raise UserError(f"{function.__name__} has no keyword '{name}'; write {elsewhere[name]}")
        if name not in known:
            raise no_keyword(function.__name__, name, known)


def _own(function: Callable[..., object]) -> list[str]:
    """The keywords in a function's signature."""
    by_name = (Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, parameter in signature(function).parameters.items() if parameter.kind in by_name]


def no_keyword(called: str, name: str, known: Iterable[str]) -> UserError:
    """The error for a keyword that a function does not have.

    >>> print(no_keyword("train", "outt", ["settings", "out"]))
    train has no keyword 'outt'; did you mean 'out'? known: out, settings
    """
    names = dict.fromkeys(sorted(known))
    return UserError(f"{called} has no keyword '{name}'; {suggestion(name, names)}known: {', '.join(names)}")


def layer_labels(layers: Iterable[tuple[int, str]]) -> dict[int, str]:
    """The labels of layers, by their numbers in tables, which are consecutive over all parts of a model.

    In a model with several parts, a layer is labelled with its part and numbered within it. `layers` are the numbers
    and parts of all layers of the model.

    >>> layer_labels(enumerate(("encoder", "encoder", "decoder")))
    {0: 'encoder L0', 1: 'encoder L1', 2: 'decoder L0'}
    >>> layer_labels(enumerate(("decoder", "decoder")))
    {0: 'L0', 1: 'L1'}
    """
    parts = dict(layers)
    if len(set(parts.values())) < 2:
        return {layer: f"L{layer}" for layer in parts}
    first = {part: min(layer for layer, its in parts.items() if its == part) for part in parts.values()}
    return {layer: f"{part} L{layer - first[part]}" for layer, part in parts.items()}


def head_name(layer: int, head: int, labels: Mapping[int, str]) -> str:
    """The name of a head.

    >>> head_name(2, 7, {2: "decoder L0"}), head_name(3, 7, {})
    ('decoder L0H7', 'L3H7')
    """
    return f"{labels.get(layer, f'L{layer}')}H{head}"
