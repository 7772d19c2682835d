"""Build a frozen dataclass from JSON by its type hints, or say in one sentence what does not fit.

A field takes its default where the file has nothing, or null and the field cannot be None; without a default it must be
there. Fields that no dataclass knows are ignored. Numbers keep the type they have in the file.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

JSON_KEY = "json"  # in the metadata of a field: its name in the file, where that is no good name in Python
Section = TypeVar("Section")
NOUNS: dict[Any, str] = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True)
class Bounds:
    """The least and the largest value of a whole number, for `Annotated`."""

    least: int
    largest: int


class MisfitError(ValueError):
    """Something in a file is not of the type that its dataclass asks for; its text is the middle of a sentence."""


def decode(kind: type[Section], value: Any, path: str = "") -> Section:
    """The dataclass with the values of a JSON object; `MisfitError` names the first field that does not fit."""
    section: Section = _decode(kind, value, path)
    return section


def encode(value: Any) -> Any:
    """Dataclasses, mappings and sequences as JSON has them."""
    if is_dataclass(value) and not isinstance(value, type):
        return {_key(each): encode(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {name: encode(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [encode(inner) for inner in value]
    return value


def _decode(hint: Any, value: Any, path: str) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any or isinstance(hint, TypeVar) or (is_dataclass(hint) and type(value) is hint):
        return value
    if origin is Annotated:
        bounds: Bounds = inner[1]
        if type(value) is int and bounds.least <= value <= bounds.largest:
            return value
        raise _misfit(value, f"a whole number from {bounds.least} to {bounds.largest}", path)
    if origin in (Union, UnionType):
        return _alternative(inner, value, path)
    if origin is tuple or origin is Sequence:
        return _sequence(origin, inner, value, path)
    if origin is Mapping or is_dataclass(hint):
        if not isinstance(value, dict):
            raise _misfit(value, "an object", path)
        if is_dataclass(hint):
            return _section(hint, value, path)
        return {name: _decode(inner[1], item, inside(path, name)) for name, item in value.items()}
    kinds = (int, float) if hint is float else (hint,)
    if isinstance(value, kinds) and (hint is bool or not isinstance(value, bool)):
        return value
    raise _misfit(value, NOUNS[hint], path)


def _alternative(hints: Sequence[Any], value: Any, path: str) -> Any:
    """The value as the first type that it fits; if it fits none, the misfit of the first is raised."""
    if value is None and NoneType in hints:
        return None
    misfits = []
    for hint in hints:
        if hint is not NoneType:
            try:
                return _decode(hint, value, path)
            except MisfitError as misfit:
                misfits.append(misfit)
    raise misfits[0]


def _sequence(origin: Any, hints: Sequence[Any], value: Any, path: str) -> tuple[Any, ...]:
    """A list of any length for `Sequence[X]` and `tuple[X, ...]`, of as many as there are types for `tuple[X, Y]`."""
    if not isinstance(value, list | tuple):
        raise _misfit(value, "a list", path)
    fixed = origin is tuple and ... not in hints
    if fixed and len(value) != len(hints):
        raise _misfit(value, f"a list of {len(hints)}", path)
    types = hints if fixed else [hints[0]] * len(value)
    return tuple(
        _decode(hint, item, inside(path, number)) for number, (hint, item) in enumerate(zip(types, value, strict=True))
    )


def _section(kind: Any, value: Mapping[str, Any], path: str) -> Any:
    arguments = {}
    for each in fields(kind):
        name = _key(each)
        hint = _hints(kind)[each.name]
        if value.get(name) is not None or (name in value and NoneType in get_args(hint)):
            arguments[each.name] = _decode(hint, value[name], inside(path, name))
        elif each.default is MISSING and each.default_factory is MISSING:
            raise MisfitError(f"{quoted(inside(path, name))} is missing")
    return kind(**arguments)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _key(each: Field[Any]) -> str:
    return str(each.metadata.get(JSON_KEY, each.name))


def _misfit(value: Any, expected: str, path: str) -> MisfitError:
    given = json.dumps(value, ensure_ascii=True)
    return MisfitError(f"{quoted(path)} is {given if len(given) <= 40 else given[:37] + '...'}, not {expected}")


def inside(path: str, name: str | int) -> str:
    """The path of a field of an object, or of an element of a list."""
    return f"{path}[{name}]" if isinstance(name, int) else f"{path}.{name}" if path else name


def quoted(path: str) -> str:
    """The path of a field as a sentence names it: in quotes, on one line, and never long."""
    plain = path.encode("ascii", "backslashreplace").decode().replace("\n", " ")
    return f"'{plain if len(plain) <= 80 else plain[:77] + '...'}'"
