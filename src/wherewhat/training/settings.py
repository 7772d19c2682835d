"""Everything that decides how a run ends, as one frozen record: the same settings give the same weights."""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any, ClassVar, Self, TypeVar

from wherewhat.corpora.words import Words
from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk
from wherewhat.training.objective import Objective

MOST_THREADS = 256  # more crash PyTorch before they help anyone
Plain = dict[str, Any]  # settings as plain values, ready for JSON
Kind = TypeVar("Kind", bound="Settings")


@dataclass(frozen=True, kw_only=True)
class Settings(ABC):
    """One run, whatever it learns. `changed` makes a variant from texts, `dataclasses.replace` from values."""

    learns: ClassVar[str]  # the field that says what is learnt
    ends: ClassVar[Mapping[str, str]]  # what is said of a finished run, and the measure of its curve that says it
    decided: ClassVar[Mapping[str, str]] = {}  # fields of the net that cannot be told, each with what to do instead

    net: NetConfig
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
    keep_every: int = 0  # steps from one snapshot that stays to the next; 0: none stays

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "evaluate_every", "evaluate_samples", "checkpoint_every", "threads"):
            self._check(name, getattr(self, name) >= 1, "at least 1")
        self._check("threads", self.threads <= MOST_THREADS, f"at most {MOST_THREADS}")
        for name in ("seed", "data_seed"):
            self._check(name, 0 <= getattr(self, name) < 2**31, f"a whole number from 0 to {2**31 - 1}")
        self._check("warmup", self.warmup >= 0, "at least 0")
        self._check("keep_every", self.keep_every >= 0, "at least 0")
        self._check("learning_rate", 0 < self.learning_rate < math.inf, "above 0, such as 0.001")
        self._check("weight_decay", 0 <= self.weight_decay < math.inf, "at least 0")
        self._check(
            "betas", len(self.betas) == 2 and all(0 <= b < 1 for b in self.betas), "two numbers from 0 to below 1"
        )

    @abstractmethod
    def objective(self) -> Objective:
        """What the net is to become good at. Asked of settings that are `ready`."""

    @abstractmethod
    def ending(self, ends: Mapping[str, float]) -> str:
        """How a run ended, for people."""

    def first_net(self) -> Trunk:
        """The net that learning begins with: a new one, for most. Asked of settings that are `ready`."""
        return build(self.net, seed=self.seed)

    def ready(self) -> Self:
        """The same run with everything read that it needs; most need nothing."""
        return self

    def fitted(self, words: Words | None) -> Self:
        """The same run for a vocabulary that has been learnt; most know theirs beforehand."""
        return self

    @property
    def words(self) -> Words | None:
        """The vocabulary of words that the net reads, where it reads words."""
        return None

    @abstractmethod
    def belongings(self) -> Plain:
        """What a model folder keeps beside the net, by the names that `save_model` has for it."""

    def read(self) -> Plain:
        """What was read, in numbers, with a `digest` of it; nothing where nothing is read."""
        return {}

    def left_out(self) -> list[str]:
        """What people should know of texts that were not read, a line each."""
        return []

    def changed_texts(self, before: Plain) -> str | None:
        """What is read and is not what it was before, when `read` said this of it; nothing if all is the same."""
        return None

    @classmethod
    @abstractmethod
    def learnt_to(cls, learnt: Any) -> Any:
        """What is learnt, as plain values."""

    @classmethod
    @abstractmethod
    def learnt_from(cls, plain: Any) -> Any:
        """Back from plain values."""

    @classmethod
    @abstractmethod
    def parts(cls, plain: Plain) -> list[tuple[str, Plain]]:
        """The parts of what is learnt that have sizes to change, each with its name."""

    @classmethod
    @abstractmethod
    def chosen(cls, text: str, plain: Plain) -> Any:
        """What is learnt, as plain values, from the names in a text."""

    @classmethod
    @abstractmethod
    def follows(cls, plain: Plain, before: Plain) -> Plain:
        """Fields of the net that follow from what is learnt, where that is another than before."""

    def to_dict(self) -> Plain:
        """As plain values, ready for JSON; what is learnt comes first, because the net's vocabulary follows from it."""
        plain = {
            self.learns: self.learnt_to(getattr(self, self.learns)),
            "net": self.net.to_dict(),
            "betas": list(self.betas),
        }
        return plain | {each.name: getattr(self, each.name) for each in _written(type(self)) if each.name not in plain}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Back from plain values; a field that is unknown or missing is named."""
        known = {each.name: each for each in _written(cls)}
        for name in values:
            look_up("setting", name, known)
        if missing := [name for name, each in known.items() if each.default is MISSING and name not in values]:
            raise UserError(f"the settings lack {', '.join(missing)}; give a value for each")
        net, learnt = NetConfig.from_dict(values["net"]), cls.learnt_from(values[cls.learns])
        return cls(**{**values, "net": net, cls.learns: learnt, "betas": tuple(values.get("betas", cls.betas))})

    @classmethod
    def complete(cls, plain: Plain) -> Plain:
        """Plain values that an earlier version may have written, with the defaults of what it did not know."""
        return {each.name: each.default for each in _written(cls) if each.default is not MISSING} | plain

    def _check(self, name: str, fits: bool, wanted: str) -> None:
        if not fits:
            raise UserError(f"{name} cannot be {getattr(self, name)}; give {wanted}")


def _written(kind: type[Settings]) -> list[Field[Any]]:
    """The fields that are settings: what does not count when two runs are compared is only carried along."""
    return [each for each in fields(kind) if each.compare]


def changed(settings: Kind, changes: Sequence[str]) -> Kind:
    """A variant, from texts such as `steps=200`, `encoding=alibi`, `net.width=32`, `window=4` or `letter.n_int=6`.

    A plain name is looked for in the settings, then in the net, then in what is learnt, where it changes every part
    that has it; `encoding.base=500` sets one option of the encoding. The net's sizes follow what is learnt, and another
    encoding starts without the old one's options, unless they are changed too. Only the outcome of all changes is
    checked.
    """
    plain, touched, options = settings.to_dict(), set[str](), dict[str, Any]()
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise UserError(f"'{change}' changes nothing; write it as field=value, such as steps=200")
        if name.strip().startswith("encoding."):
            options[name.strip().removeprefix("encoding.")] = _option(text.strip())
            continue
        for holder, field in look_up("setting", name.strip(), _places(settings, plain)):
            if holder is plain["net"] and field in settings.decided:
                raise UserError(f"{field} cannot be set; {settings.decided[field]}")
            told = name.strip() == settings.learns
            holder[field] = settings.chosen(text, plain) if told else _read(text.strip(), holder[field], name.strip())
            touched.add(field)
    fitted = _fitted(plain, touched, settings)
    if "kernel" in touched and fitted["net"]["kind"] != "conformer":
        raise UserError(f"kernel is for conformers, and the net is of kind {fitted['net']['kind']}; leave it out")
    for name, value in options.items():
        _put(fitted["net"]["encoding_options"], name.split("."), value)
    return type(settings).from_dict(fitted)


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


def _places(settings: Settings, plain: Plain) -> dict[str, list[tuple[Plain, str]]]:
    """Every name that can be changed, and where its value lies."""
    places: dict[str, list[tuple[Plain, str]]] = {}
    for part, sizes in settings.parts(plain):
        for field in sizes.keys() - {"name"}:
            places[f"{part}.{field}"] = [(sizes, field)]
            places.setdefault(field, []).append((sizes, field))
    for field in plain["net"]:
        places[f"net.{field}"] = places[field] = [(plain["net"], field)]
    return places | {field: [(plain, field)] for field in plain if field != "net"}


def _read(text: str, old: Any, name: str) -> Any:
    """Read a value of the same kind as the one it replaces."""
    try:
        if isinstance(old, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(old, list):
            return [type(old[0])(each) for each in text.strip("[]()").split(",")]
        if isinstance(old, dict):
            return _mapping(json.loads(text))
        return type(old)(text)
    except (ValueError, KeyError) as error:
        raise UserError(f"{name} cannot be '{text}'; give {_KINDS[type(old)]}, such as {name}={_shown(old)}") from error


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


_KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "numbers with commas between them",
    dict: "a JSON object",
}


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _fitted(plain: Plain, touched: set[str], before: Settings) -> Plain:
    """Let the net follow what it learns and its encoding, wherever it was not told otherwise."""
    follows = before.follows(plain, before.to_dict())
    if plain["net"]["encoding"] != before.net.encoding:
        follows["encoding_options"] = {}
    untold = {field: value for field, value in follows.items() if field not in touched}
    return {**plain, "net": {**plain["net"], **untold}}
