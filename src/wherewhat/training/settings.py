"""Everything that decides how a run ends, as one frozen record: the same settings give the same weights."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from wherewhat.errors import UserError
from wherewhat.models.folder import tasks_from_list, tasks_to_list
from wherewhat.names import look_up
from wherewhat.nets.config import NetConfig
from wherewhat.tasks.base import Balanced
from wherewhat.tasks.mixture import Mixture
from wherewhat.tasks.registry import task

MOST_THREADS = 256  # more crash PyTorch before they help anyone
Plain = dict[str, Any]  # settings as plain values, ready for JSON


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One run. `changed` makes a variant from texts, `dataclasses.replace` from values."""

    net: NetConfig
    tasks: tuple[Balanced, ...]  # more than one take turns
    steps: int
    batch: int
    learning_rate: float  # at its peak: it rises over `warmup` steps and falls in a line to 0 at the last one
    warmup: int
    weight_decay: float = 0.01  # of all but what the encoding learns
    betas: tuple[float, float] = (0.9, 0.999)
    seed: int = 0  # of the first weights
    data_seed: int = 1  # of the sequences
    evaluate_every: int = 200
    evaluate_samples: int = 1000
    checkpoint_every: int = 200
    threads: int = 1  # not the machine's own number: a sum that more threads share is rounded differently

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "evaluate_every", "evaluate_samples", "checkpoint_every", "threads"):
            self._check(name, getattr(self, name) >= 1, "at least 1")
        self._check("threads", self.threads <= MOST_THREADS, f"at most {MOST_THREADS}")
        for name in ("seed", "data_seed"):
            self._check(name, 0 <= getattr(self, name) < 2**31, f"a whole number from 0 to {2**31 - 1}")
        self._check("warmup", self.warmup >= 0, "at least 0")
        self._check("learning_rate", 0 < self.learning_rate < math.inf, "above 0, such as 0.001")
        self._check("weight_decay", 0 <= self.weight_decay < math.inf, "at least 0")
        self._check(
            "betas", len(self.betas) == 2 and all(0 <= b < 1 for b in self.betas), "two numbers from 0 to below 1"
        )
        for name, needed in (("vocabulary", self.task.vocabulary), ("length", self.task.length)):
            if getattr(self.net, name) < needed:
                raise UserError(f"the net's {name} {getattr(self.net, name)} is too small; the tasks need {needed}")

    @property
    def task(self) -> Mixture:
        """All tasks as the one that the net learns."""
        return Mixture(self.tasks)

    def to_dict(self) -> Plain:
        """As plain values, ready for JSON; the tasks first, because the net's vocabulary follows from them."""
        plain = {"tasks": tasks_to_list(self.tasks), "net": self.net.to_dict(), "betas": list(self.betas)}
        return plain | {each.name: getattr(self, each.name) for each in fields(self) if each.name not in plain}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Settings":
        """Back from plain values; a field that is unknown or missing is named."""
        known = {each.name: each for each in fields(cls)}
        for name in values:
            look_up("setting", name, known)
        if missing := [name for name, each in known.items() if each.default is MISSING and name not in values]:
            raise UserError(f"the settings lack {', '.join(missing)}; give a value for each")
        net, tasks = NetConfig.from_dict(values["net"]), tasks_from_list(values["tasks"])
        return cls(**{**values, "net": net, "tasks": tasks, "betas": tuple(values.get("betas", cls.betas))})

    def _check(self, name: str, fits: bool, wanted: str) -> None:
        if not fits:
            raise UserError(f"{name} cannot be {getattr(self, name)}; give {wanted}")


def changed(settings: Settings, changes: Sequence[str]) -> Settings:
    """A variant, from texts such as `steps=200`, `encoding=alibi`, `net.width=32`, `window=4` or `letter.n_int=6`.

    A plain name is looked for in the settings, then in the net, then in the tasks, where it changes every task that has
    it; `encoding.base=500` sets one option of the encoding. With other tasks the net's vocabulary and length follow
    them, and another encoding starts without the old one's options, unless they are changed too. Only the outcome of
    all changes is checked.
    """
    plain, touched, options = settings.to_dict(), set[str](), dict[str, Any]()
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise UserError(f"'{change}' changes nothing; write it as field=value, such as steps=200")
        if name.strip().startswith("encoding."):
            options[name.strip().removeprefix("encoding.")] = _option(text.strip())
            continue
        places = _places(plain)
        for holder, field in look_up("setting", name.strip(), places):
            holder[field] = _read(text.strip(), holder[field], name.strip(), plain)
            touched.add(field)
    fitted = _fitted(plain, touched, settings)
    for name, value in options.items():
        _put(fitted["net"]["encoding_options"], name.split("."), value)
    return Settings.from_dict(fitted)


def _put(options: Any, path: Sequence[str], value: Any) -> None:
    """Set an option, or an option of an option: `over_options.base`."""
    for step in path[:-1]:
        options = options.setdefault(step, {})
        if not isinstance(options, dict):
            raise UserError(f"the encoding's {step} is {options!r} and has no {path[-1]} of its own")
    options[path[-1]] = value


def _option(text: str) -> Any:
    """The value of an encoding's option: JSON, or the text as it stands."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _places(plain: Plain) -> dict[str, list[tuple[Plain, str]]]:
    """Every name that can be changed, and where its value lies."""
    places: dict[str, list[tuple[Plain, str]]] = {}
    for each in plain["tasks"]:
        for field in each.keys() - {"name"}:
            places[f"{each['name']}.{field}"] = [(each, field)]
            places.setdefault(field, []).append((each, field))
    for field in plain["net"]:
        places[f"net.{field}"] = places[field] = [(plain["net"], field)]
    return places | {field: [(plain, field)] for field in plain if field != "net"}


def _read(text: str, old: Any, name: str, plain: Plain) -> Any:
    """Read a value of the same kind as the one it replaces."""
    if name == "tasks":  # by name; a task that is there already keeps its sizes
        here = {each["name"]: each for each in plain["tasks"]}
        return [here.get(each) or tasks_to_list([task(each)])[0] for each in text.split(",")]
    try:
        if isinstance(old, list):
            return [type(old[0])(each) for each in text.strip("[]()").split(",")]
        if isinstance(old, dict):
            return _mapping(json.loads(text))
        return type(old)(text)
    except ValueError as error:
        raise UserError(f"{name} cannot be '{text}'; give {_KINDS[type(old)]}, such as {name}={_shown(old)}") from error


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


_KINDS = {int: "a whole number", float: "a number", list: "numbers with commas between them", dict: "a JSON object"}


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _fitted(plain: Plain, touched: set[str], before: Settings) -> Plain:
    """Let the net follow its tasks and its encoding, wherever it was not told otherwise."""
    tasks, follows = tasks_from_list(plain["tasks"]), dict[str, Any]()
    if plain["net"]["encoding"] != before.net.encoding:
        follows["encoding_options"] = {}
    if tasks != before.tasks:
        follows |= {"vocabulary": Mixture(tasks).vocabulary, "length": Mixture(tasks).length}
    untold = {field: value for field, value in follows.items() if field not in touched}
    return {**plain, "net": {**plain["net"], **untold}}
