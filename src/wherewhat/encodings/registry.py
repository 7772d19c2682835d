"""Every encoding there is, with what to know before choosing one, and how to make one by its name."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from inspect import Parameter, signature
from typing import Any

from wherewhat.encodings.alibi import Alibi
from wherewhat.encodings.base import Encoding
from wherewhat.encodings.learned import Learned
from wherewhat.encodings.none import NoPosition
from wherewhat.encodings.rope import Rope
from wherewhat.encodings.sinusoidal import Sinusoidal
from wherewhat.errors import UserError
from wherewhat.names import look_up, suggestion


@dataclass(frozen=True)
class EncodingRecord:
    """One encoding, with all that is needed to choose it and to hold it to its promises."""

    name: str
    cls: type[Encoding]
    about: str  # one line, for someone new
    acts: str  # where in the net
    parameters: str  # what is learned, in words
    direction: str  # causal, both ways or either
    kernel: str  # "fused", "fused with a float bias", or "explicit"
    growth: str  # extra time and memory as sequences grow to n tokens
    paper: str
    shift_invariant: bool  # moving the whole text changes nothing
    mirror_invariant: bool  # reading the text backwards, in both directions, only reverses the output


@dataclass(frozen=True)
class Shape:
    """The sizes of a net that an encoding may ask for."""

    width: int  # of the residual stream
    heads: int
    head_dim: int
    length: int  # the longest sequence meant to be read


ENCODINGS: dict[str, EncodingRecord] = {
    record.name: record
    for record in (
        EncodingRecord(
            name="none",
            cls=NoPosition,
            about="no position at all; a decoder still feels order through its causal mask",
            acts="nowhere",
            parameters="none",
            direction="either; without a causal mask the text is a bag of tokens",
            kernel="fused",
            growth="nothing",
            paper="Haviv et al. 2022, arXiv 2203.16634",
            shift_invariant=True,
            mirror_invariant=True,
        ),
        EncodingRecord(
            name="sinusoidal",
            cls=Sinusoidal,
            about="sines and cosines of the position, fast to slow, added to the tokens",
            acts="on the tokens, once, where they enter",
            parameters="none",
            direction="either",
            kernel="fused",
            growth="n × width in time and memory, once",
            paper="Vaswani et al. 2017, arXiv 1706.03762",
            shift_invariant=False,
            mirror_invariant=False,
        ),
        EncodingRecord(
            name="learned",
            cls=Learned,
            about="a learned vector for every place, added to the tokens; no place beyond the last one",
            acts="on the tokens, once where they enter or at every block",
            parameters="length × width, or that for each block",
            direction="either",
            kernel="fused",
            growth="n × width in time, once or for each block; stops at its length",
            paper="Gehring et al. 2017, arXiv 1705.03122; the spread it starts with: arXiv 2406.08272",
            shift_invariant=False,
            mirror_invariant=False,
        ),
        EncodingRecord(
            name="rope",
            cls=Rope,
            about="queries and keys turn with their position, so attention feels only their distance and its sign",
            acts="on queries and keys, in every block",
            parameters="none",
            direction="either",
            kernel="fused",
            growth="n × head width in time and memory, for each head and block",
            paper="Su et al. 2021, arXiv 2104.09864",
            shift_invariant=True,
            mirror_invariant=False,
        ),
        EncodingRecord(
            name="alibi",
            cls=Alibi,
            about="every head loses interest with distance, each at its own fixed pace",
            acts="on the logits, as a bias, in every block",
            parameters="none",
            direction="either; in an encoder both sides count alike",
            kernel="fused with a float bias",
            growth="n² in time and memory, for each head",
            paper="Press et al. 2021, arXiv 2108.12409",
            shift_invariant=True,
            mirror_invariant=True,
        ),
    )
}


def encoding(name: str, **options: Any) -> Encoding:
    """Make the encoding called `name`; each takes the options that its class names.

    >>> encoding("rope", head_dim=64).fused
    True
    >>> encoding("alibi", head=8)
    Traceback (most recent call last):
    wherewhat.errors.UserError: encoding 'alibi' takes no option 'head'; did you mean 'heads'? it takes: heads
    """
    cls = look_up("encoding", name, ENCODINGS).cls
    _check_options(name, options)
    return cls(**options)


def encoding_for(shape: Shape, name: str, options: Mapping[str, Any]) -> Encoding:
    """Make the encoding called `name` for a net of this shape, handing it whatever sizes it asks for."""
    look_up("encoding", name, ENCODINGS)
    for size in ("width", "heads", "head_dim"):
        if size in options:
            raise UserError(f"the net already tells its encoding its {size}; leave it out of the encoding's options")
    asked = {size: value for size, value in asdict(shape).items() if size in options_of(name)}
    return encoding(name, **{**asked, **options})


def options_of(name: str) -> dict[str, Parameter]:
    """The options that an encoding takes, as its class names them."""
    parameters = signature(look_up("encoding", name, ENCODINGS).cls).parameters
    catch_all = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)  # inherited from nn.Module
    return {option: parameter for option, parameter in parameters.items() if parameter.kind not in catch_all}


def _check_options(name: str, options: Mapping[str, Any]) -> None:
    known = options_of(name)
    for option, value in options.items():
        if option not in known:
            takes = ", ".join(sorted(known)) or "none"
            raise UserError(
                f"encoding '{name}' takes no option '{option}'; {suggestion(option, known)}it takes: {takes}"
            )
        if not _fits(value, known[option].annotation):
            wanted = getattr(known[option].annotation, "__name__", str(known[option].annotation))
            raise UserError(f"encoding '{name}' wants its {option} as {wanted}, got {value!r}")
    missing = [option for option, parameter in known.items() if parameter.default is Parameter.empty]
    if missing := [option for option in missing if option not in options]:
        raise UserError(f"encoding '{name}' needs to know {' and '.join(missing)}; for example {missing[0]}=64")


def _fits(value: object, wanted: Any) -> bool:
    """Whether a value is of the annotated type; a whole number will do for a float, a bool for neither."""
    if isinstance(value, bool):
        return wanted is bool
    return isinstance(value, (int, float) if wanted is float else wanted)
