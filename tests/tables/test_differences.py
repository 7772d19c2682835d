"""The first setting in which two runs differ, as a phrase that people can act on."""

import pytest

from wherewhat.tables.differences import first_difference


@pytest.mark.parametrize(
    ("old", "new", "phrase"),
    [
        ({"a": 1, "b": {"c": [1, 2]}}, {"a": 1, "b": {"c": [1, 2]}}, None),
        ({"a": 1, "b": {"c": [1, 2]}}, {"a": 1, "b": {"c": [1, 3]}}, "b.c was [1, 2] and is [1, 3]"),
        ({"a": 1}, {"a": 1, "b": 2}, "b was None and is 2"),
        ({"a": 1, "b": 2}, {"a": 1}, "b was 2 and is None"),
        ({"a": 1}, {"a": 1, "b": None}, None),  # a setting that is left out is one that is not given
        ({"tasks": [{"name": "x", "n": 1}]}, {"tasks": [{"name": "x", "n": 2}]}, "x.n was 1 and is 2"),
        ({"tasks": [{"name": "x"}]}, {"tasks": [{"name": "x"}, {"name": "y"}]}, "tasks was x and is x, y"),
        ({"tasks": ["x"]}, {"tasks": ["y"]}, "tasks was ['x'] and is ['y']"),  # tasks of another kind
    ],
)
def test_the_first_difference_is_named(old: dict[str, object], new: dict[str, object], phrase: str | None) -> None:
    assert first_difference(old, new) == phrase


def test_tasks_of_the_same_name_are_compared_as_they_are() -> None:
    old, new = ({"tasks": [{"name": "x", "n": first}, {"name": "x", "n": 1}]} for first in (1, 2))
    assert "'n': 2" in (first_difference(old, new) or "")
