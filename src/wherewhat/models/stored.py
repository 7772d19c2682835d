"""The headers of weights files: names, shapes and types of tensors. No weights are read."""

import json
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from wherewhat.errors import UserError

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
COPY = "copy the folder again"
WHOLE_NUMBERS = ("I", "U", "BOOL")  # prefixes of safetensors' types that are not floating point
LONGEST_NAME = 255  # bytes of a file name, on all common file systems
DEEPEST = 32  # levels of nesting in a model's JSON file at most


@dataclass(frozen=True)
class StoredTensor:
    """One tensor, as a file's header describes it."""

    shape: tuple[int, ...]
    dtype: str  # as safetensors calls it: F32, BF16, I64, ...

    @property
    def size(self) -> int:
        """Its number of elements."""
        return prod(self.shape)

    @property
    def whole_numbers(self) -> bool:
        """Whether it holds integers or booleans rather than floating point."""
        return self.dtype.startswith(WHOLE_NUMBERS)


def read_stored(path: Path, cure: str = COPY) -> dict[str, StoredTensor]:
    """Every tensor of a safetensors file by name; `cure` is the advice in an error."""
    try:
        with safe_open(path, framework="pt") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
            return {name: StoredTensor(tuple(each.get_shape()), str(each.get_dtype())) for name, each in slices.items()}
    except OSError as error:
        reason = error.strerror or str(error).partition(":")[0]
        raise UserError(f"{path} cannot be read ({reason}); {cure}") from error
    except SafetensorError as error:
        raise UserError(f"{path} is damaged or cut short ({error}); {cure}") from error


def stored_in(folder: Path, *, cached: bool = False) -> dict[str, StoredTensor] | None:
    """Every tensor of a model folder, in one file or several; None where it has no safetensors.

    For a folder in the Hub's cache, also None where a file of the index is missing: it has not been downloaded yet.
    """
    if (folder / WEIGHTS).is_file():
        return read_stored(folder / WEIGHTS)
    if not (folder / INDEX).is_file():
        return None
    stored: dict[str, StoredTensor] = {}
    shards = _shards(folder / INDEX)
    if (missing := next((shard for shard in shards if not (folder / shard).is_file()), None)) is not None:
        if cached:
            return None
        raise UserError(f"{folder / INDEX} names {missing[:80]}, which is not in the folder; copy the folder again")
    for shard in shards:
        stored |= read_stored(folder / shard)
    return stored


def _shards(index: Path) -> list[str]:
    """The files named by an index, each in the index's own folder."""
    content = read_json(index)
    named, more = content.get("weight_map"), content.get("metadata", {})
    if not isinstance(more, dict):
        raise UserError(f"{index} gives metadata as {more!r:.40}; it must be an object, so correct it")
    if not isinstance(named, dict) or not named or not all(isinstance(file, str) for file in named.values()):
        raise UserError(f"{index} has no weight_map that gives each tensor the name of its file; copy the folder again")
    for file in sorted(set(named.values())):
        if not file or "\0" in file or Path(file).name != file or len(file.encode()) > LONGEST_NAME:
            raise UserError(
                f"the weight_map in {index} names '{file[:80]}', which is not a file in its folder; correct it"
            )
    return sorted(set(named.values()))


def read_json(path: Path, cure: str = COPY) -> dict[str, Any]:
    """The object in a JSON file of a model folder; unusually deep nesting is refused."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); {cure}") from error
    except RecursionError:
        raise UserError(f"{path} is nested too deep to be read; {cure}") from None
    except ValueError as error:
        raise UserError(f"{path} is not JSON ({error}); {cure}") from error
    if not isinstance(content, dict):
        raise UserError(f"{path} holds no JSON object, but a {type(content).__name__}; {cure}")
    for name, value in content.items():
        if _deeper(value, DEEPEST):
            raise UserError(f"{path} nests {name[:80]} more than {DEEPEST} levels deep; correct it")
    return content


def _deeper(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_deeper(each, levels - 1) for each in inner)
