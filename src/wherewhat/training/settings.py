"""Everything that determines the outcome of a training run: the same settings give the same weights."""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any, ClassVar, Self, TypeVar

from torch import Tensor

from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.errors import UserError
from wherewhat.models.folder import StoredNet
from wherewhat.names import look_up
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk

MOST_THREADS = 256  # PyTorch crashes with more
Plain = dict[str, Any]  # settings as plain values, ready for JSON
Kind = TypeVar("Kind", bound="TrainingSettings")


class Objective(ABC):
    """What a net is trained for: a loss, and how well the net does on held-out data."""

    @abstractmethod
    def loss(self, net: Trunk, step: int) -> Tensor:
        """The loss at a step, in nats. It depends on net and step only, so that a run can be resumed."""

    @abstractmethod
    def evaluate(self, net: Trunk) -> dict[str, float]:
        """How well the net does on held-out data, by the names of measures in the curve."""


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(ABC):
    """One training run of any kind. `changed` makes a variant from strings, `dataclasses.replace` from values."""

    learns: ClassVar[str]  # the field that holds what is learnt: tasks, a corpus or a question
    decided: ClassVar[Mapping[str, str]] = {}  # fields of the net that cannot be set, each with what to do instead

    net: NetConfig
    steps: int
    batch: int
    learning_rate: float  # at its peak: it rises over `warmup` steps and falls linearly to 0 at the last one
    warmup: int
    weight_decay: float = 0.01  # for all but the parameters of the encoding
    betas: tuple[float, float] = (0.9, 0.999)
    seed: int = 0  # of the initial weights
    data_seed: int = 1  # of the sequences
    evaluate_every: int = 200
    evaluate_samples: int = 1000
    checkpoint_every: int = 200
    threads: int = 1  # fixed, since the number of threads affects rounding
    keep_every: int = 0  # steps between snapshots; 0: no snapshots
    clip: float = 0.0  # the largest norm of the gradient of all weights; a longer one is shortened; 0: no limit

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
        self._check("clip", 0 <= self.clip < math.inf, "above 0, such as 1.0, or 0 for no limit")
        fits = len(self.betas) == 2 and all(0 <= beta < 1 for beta in self.betas)
        self._check("betas", fits, "two numbers from 0 to below 1")

    @property
    @abstractmethod
    def ends(self) -> Mapping[str, str]:
        """The final numbers of a run, and the measures of its curve that they come from."""

    @abstractmethod
    def objective(self) -> Objective:
        """What the net is trained for. Requires settings that are `ready`."""

    @abstractmethod
    def ending(self, ends: Mapping[str, float]) -> str:
        """How a run ended, as a sentence."""

    def initial_net(self) -> Trunk:
        """The net that training starts from: as a rule a new one. Requires settings that are `ready`."""
        return build(self.net, seed=self.seed)

    def ready(self) -> Self:
        """The same run with its data loaded; most need none."""
        return self

    def fitted(self, words: WordVocabulary | None) -> Self:
        """The same run for a vocabulary learnt from data; most have a fixed one."""
        return self

    @property
    def words(self) -> WordVocabulary | None:
        """The vocabulary of a net that reads words."""
        return None

    @abstractmethod
    def saved_with_net(self) -> Plain:
        """What a model folder stores beside the net, as keyword arguments of `save_model`."""

    def read(self) -> Plain:
        """Statistics of the training data, with a `digest`; empty where there is none."""
        return {}

    def left_out(self) -> list[str]:
        """Notes on texts that were not read, one line each."""
        return []

    def changed_texts(self, before: Plain) -> str | None:
        """The data that has changed since `read` returned `before`; None if nothing has."""
        return None

    @classmethod
    def target_of(cls, model: StoredNet) -> Any:
        """What a stored net was trained on; None if it was something else."""
        return getattr(model, cls.learns)

    @classmethod
    def target_to_plain(cls, target: Any) -> Any:
        """What is learnt, as plain values."""
        return target

    @classmethod
    def target_from_plain(cls, plain: Any) -> Any:
        """Back from plain values."""
        return plain

    @classmethod
    def parts(cls, plain: Plain) -> list[tuple[str, Plain]]:
        """The parts of what is learnt that have sizes to change, each with its name."""
        return []

    @classmethod
    def chosen(cls, text: str, plain: Plain) -> Any:
        """What is learnt, as plain values, from the names in a string."""
        return text.strip()

    @classmethod
    @abstractmethod
    def follows(cls, plain: Plain, before: Plain) -> Plain:
        """Fields of the net that follow from what is learnt, where that has changed."""

    def to_dict(self) -> Plain:
        """As plain values, ready for JSON; what is learnt comes first, because the net's vocabulary follows from it."""
        plain = {
            self.learns: self.target_to_plain(getattr(self, self.learns)),
            "net": self.net.to_dict(),
            "betas": list(self.betas),
        }
        names = (each.name for each in _stored_fields(type(self)))
        return plain | {name: getattr(self, name) for name in names if name not in plain}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Back from plain values; an unknown or missing field is refused by name."""
        known = {each.name: each for each in _stored_fields(cls)}
        for name in values:
            look_up("setting", name, known)
        if missing := [name for name, each in known.items() if each.default is MISSING and name not in values]:
            raise UserError(f"the settings lack {', '.join(missing)}; give a value for each")
        net, learnt = NetConfig.from_dict(values["net"]), cls.target_from_plain(values[cls.learns])
        return cls(**{**values, "net": net, cls.learns: learnt, "betas": tuple(values.get("betas", cls.betas))})

    @classmethod
    def complete(cls, plain: Plain) -> Plain:
        """Plain values, possibly of an earlier version, completed with defaults."""
        return {each.name: each.default for each in _stored_fields(cls) if each.default is not MISSING} | plain

    def _check(self, name: str, fits: bool, wanted: str) -> None:
        if not fits:
            raise UserError(f"{name} cannot be {getattr(self, name)}; give {wanted}")


def _stored_fields(kind: type[TrainingSettings]) -> list[Field[Any]]:
    """The fields that are settings; those left out of comparisons are only carried along."""
    return [each for each in fields(kind) if each.compare]


def changed(settings: Kind, changes: Sequence[str]) -> Kind:
    """A variant, from strings such as `steps=200`, `encoding=alibi`, `net.width=32`, `window=4` or `letter.n_int=6`.

    A plain name is looked up in the settings, then in the net, then in what is learnt, where it changes every part that
    has it; `encoding.base=500` sets one option of the encoding. The net's sizes follow what is learnt, and another
    encoding starts without the old one's options, unless they are changed too. Only the result of all changes is
    checked.
    """
    plain, touched, options = settings.to_dict(), set[str](), dict[str, Any]()
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise UserError(f"'{change}' changes nothing; write it as field=value, such as steps=200")
        if name.strip().startswith("encoding."):
            try:
                value: Any = json.loads(text)
            except ValueError:
                value = text.strip()
            options[name.strip().removeprefix("encoding.")] = value
            continue
        for holder, field in look_up("setting", name.strip(), _places(settings, plain)):
            if holder is plain["net"] and field in settings.decided:
                raise UserError(f"{field} cannot be set; {settings.decided[field]}")
            if name.strip() == settings.learns:
                holder[field] = settings.chosen(text, plain)
            else:
                holder[field] = _read(text.strip(), holder[field], name.strip())
            touched.add(field)
    follows = settings.follows(plain, settings.to_dict())
    if plain["net"]["encoding"] != settings.net.encoding:
        follows["encoding_options"] = {}
    # The net follows what it learns and its encoding, in the fields that were not set explicitly.
    unset = {field: value for field, value in follows.items() if field not in touched}
    fitted = {**plain, "net": {**plain["net"], **unset}}
    if "kernel" in touched and fitted["net"]["kind"] != "conformer":
        raise UserError(f"kernel is for conformers, and the net is of kind {fitted['net']['kind']}; leave it out")
    for name, value in options.items():
        _set_option(fitted["net"]["encoding_options"], name.split("."), value)
    return type(settings).from_dict(fitted)


def _set_option(options: Any, path: Sequence[str], value: Any) -> None:
    """Set an option, or an option of an option: `over_options.base`."""
    for step in path[:-1]:
        options = options.setdefault(step, {})
        if not isinstance(options, dict):
            raise UserError(f"the encoding's {step} is {options!r} and has no {path[-1]} of its own")
    options[path[-1]] = value


def _places(settings: TrainingSettings, plain: Plain) -> dict[str, list[tuple[Plain, str]]]:
    """Every name that can be changed, and where its value is stored."""
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
            mapping = json.loads(text)
            if not isinstance(mapping, dict):
                raise ValueError("not a JSON object")
            return mapping
        return type(old)(text)
    except (ValueError, KeyError) as error:
        shown = ",".join(map(str, old)) if isinstance(old, list) else str(old)
        raise UserError(f"{name} cannot be '{text}'; give {_KINDS[type(old)]}, such as {name}={shown}") from error


_KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "numbers with commas between them",
    dict: "a JSON object",
}
