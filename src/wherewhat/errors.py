"""Two kinds of error: one that users can fix, in a sentence that says how, and one that is a bug of ours.

Sentences name settings as command-line options; `python_errors` renames them to keyword arguments.
"""

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


class UserError(Exception):
    """Something the user can fix. The command line prints it as one sentence and exits with 2."""

    typed: str  # the sentence with command-line options

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.typed = sentence


class InternalError(RuntimeError):
    """Something that must not happen with any model: a bug of ours, worth reporting."""


def python_errors(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Make the errors of a function name keyword arguments instead of command-line options.

    An unknown keyword is such an error too, unless the function takes any keyword.
    """

    @functools.wraps(function)
    def called(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        _check_names(function, kwargs)
        try:
            return function(*args, **kwargs)
        except UserError as error:
            error.args = (in_python(error.typed),)
            raise

    return called


def suggests_fields(record: type[Result]) -> type[Result]:
    """Make a dataclass refuse unknown fields with a suggestion."""
    made = record.__init__

    @functools.wraps(made)
    def called(self: object, *args: object, **kwargs: object) -> None:
        _check_names(record, kwargs)
        made(self, *args, **kwargs)

    setattr(record, "__init__", called)  # noqa: B010  # which mypy lets nobody assign to
    return record


def _check_names(function: Callable[..., object], given: Iterable[str]) -> None:
    """Refuse a keyword that is not in a signature."""
    known = inspect.signature(function).parameters
    wrong = [name for name in given if name not in known]
    if wrong and not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in known.values()):
        from wherewhat.names import no_keyword  # which needs the errors of this module

        raise no_keyword(function.__name__, wrong[0], [name for name in known if name != "self"])


# Phrases that differ in Python by more than the name of the option.
_PHRASES = {
    r"run the command again with --overwrite": "make the run again and save it with overwrite=True",
    r"run a command with --out \S+ first": "save a run there first",
    r"another --out": "another folder",
    r"token ids from Python": "token ids",
    r"--text or --dataset": "texts",
    r"(?:a|the) path after --text": "its path",
    r"name them with --text FILE": "name them with files=[...]",
    r"--text FILE(?: \(one text per line\))?|--text": "texts",
    r"--treebank": "files",
    r"--untrained": "untrained=1",
}
_FLAGS = (
    *("add_bos", "allow_pickle", "hidden", "offline", "overwrite"),
    *("positional", "random", "resume", "shared", "similar"),
)
_OF_LOADING = ("allow_pickle", "device", "device_map", "dtype", "offline", "revision", "trust_remote_code")
_OPTION = re.compile(r"--([a-z][a-z-]*[a-z])(?: (\d+|float32|auto|head|band)\b)?")


def in_python(sentence: str) -> str:
    """A sentence with command-line options, rewritten with keyword arguments.

    >>> in_python("give --max-tokens 8, or leave --random out")
    'give max_tokens=8, or leave random=True out'
    >>> in_python("load the model with --dtype float32; add --overwrite, or choose another --out")
    'load the model with loading=LoadSettings(dtype="float32"); add overwrite=True, or choose another folder'
    """
    for typed, phrase in _PHRASES.items():
        sentence = re.sub(typed, phrase, sentence)
    return _OPTION.sub(_keyword, sentence)


def _keyword(option: "re.Match[str]") -> str:
    name, value = option[1].replace("-", "_"), option[2]
    if name.startswith("no_"):
        name, value = name.removeprefix("no_"), "False"
    elif name in _FLAGS:
        name, value = name, "True" if value is None else f"True {value}"
    elif value is not None and not value.isdecimal():
        value = f'"{value}"'
    if name in _OF_LOADING:
        return f"loading=LoadSettings({name}={'...' if value is None else value})"
    return name if value is None else f"{name}={value}"
