"""Two kinds of error: one that people can mend, in a sentence that says how, and one that is our own mistake.

Sentences name settings as they are typed after a command; `python_door` names them as a caller in Python writes them.
"""

import functools
import re
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


class UserError(Exception):
    """Something the user can mend. The command line prints it as one sentence and exits with 2."""

    typed: str  # the sentence for someone at a command line, whatever doors the error went through

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.typed = sentence


class InternalError(RuntimeError):
    """Something that cannot be, whatever the model: a mistake of ours, worth reporting."""


def python_door(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Have the errors of a function speak of keywords, because whoever calls it typed no command."""

    @functools.wraps(function)
    def called(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except UserError as error:
            error.args = (in_python(error.typed),)
            raise

    return called


# What is said otherwise in Python than by the name of the option.
_PHRASES = {
    r"run the command again with --overwrite": "make the run again and save it with overwrite=True",
    r"run a command with --out \S+ first": "save a run there first",
    r"another --out": "another folder",
    r"token ids from Python": "token ids",
    r"--text or --dataset": "texts",
    r"(?:a|the) path after --text": "its path",
    r"name them with --text FILE": "name them with files=[...]",
    r"--text FILE(?: \(one text a line\))?|--text": "texts",
    r"--treebank": "files",
    r"--untrained": "untrained=1",
}
_FLAGS = ("add_bos", "allow_pickle", "hidden", "offline", "overwrite", "positional", "random", "resume", "similar")
_OF_LOADING = ("allow_pickle", "device", "device_map", "dtype", "offline", "revision", "trust_remote_code")
_OPTION = re.compile(r"--([a-z][a-z-]*[a-z])(?: (\d+|float32|auto|head|band)\b)?")


def in_python(sentence: str) -> str:
    """A sentence that names options, as one that names keywords.

    >>> in_python("give --max-tokens 8, or leave --random out")
    'give max_tokens=8, or leave random=True out'
    >>> in_python("load the model with --dtype float32; add --overwrite, or choose another --out")
    'load the model with loading=Loading(dtype="float32"); add overwrite=True, or choose another folder'
    """
    for typed, said in _PHRASES.items():
        sentence = re.sub(typed, said, sentence)
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
        return f"loading=Loading({name}={'...' if value is None else value})"
    return name if value is None else f"{name}={value}"
