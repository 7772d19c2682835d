"""The first setting in which two runs differ, as a phrase."""

from collections.abc import Iterator, Mapping
from typing import Any


def first_difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
    """The first setting that differs, as a phrase; None if all are equal.

    >>> first_difference({"steps": 5, "net": {"width": 8}}, {"steps": 5, "net": {"width": 16}})
    'net.width was 8 and is 16'
    >>> first_difference({"tasks": [{"name": "letter", "n": 3}]}, {"tasks": [{"name": "letter", "n": 4}]})
    'letter.n was 3 and is 4'
    """
    was, now = dict(_leaves("", old)), dict(_leaves("", new))
    for name in [*now, *was]:
        if was.get(name) != now.get(name):
            return f"{name} was {was.get(name)} and is {now.get(name)}"
    return None


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every value with its path."""
    if name == "tasks" and _are_named(value):
        yield name, ", ".join(task["name"] for task in value)
        for task in value:
            yield from _leaves(task["name"], task)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(f"{name}.{key}" if name else key, inner)
    else:
        yield name, value


def _are_named(value: Any) -> bool:
    """Whether these are records that can be told apart by their names."""
    if not isinstance(value, list | tuple) or not all(isinstance(item, Mapping) and "name" in item for item in value):
        return False
    return len({item["name"] for item in value}) == len(value)
