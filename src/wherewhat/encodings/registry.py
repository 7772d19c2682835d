"""Every encoding there is, with what to know before choosing one, and how to make one by its name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from inspect import Parameter, signature
from math import isfinite
from types import UnionType
from typing import Any, get_args, get_origin

from wherewhat.encodings import (
    alibi,
    attenuated,
    band_rope,
    carope,
    cope,
    dape,
    dape_v2,
    deberta,
    fire,
    kerple,
    leaning,
    learned,
    none,
    p_rope,
    path,
    path_fox,
    rollpe,
    rope,
    shaw,
    sinusoidal,
    t5_bias,
    toeplitz,
    transformer_xl,
    untwist,
    urpe,
    xpos,
)
from wherewhat.encodings.base import Encoding, EncodingRecord
from wherewhat.errors import UserError
from wherewhat.names import look_up, suggestion

ENCODINGS: dict[str, EncodingRecord] = {
    record.name: record
    for record in (
        none.RECORD,
        # added to the tokens
        sinusoidal.RECORD,
        learned.RECORD,
        # added to the logits
        alibi.RECORD,
        kerple.RECORD,
        t5_bias.RECORD,
        toeplitz.RECORD,
        fire.RECORD,
        attenuated.RECORD,
        leaning.RECORD,
        shaw.RECORD,
        transformer_xl.RECORD,
        deberta.RECORD,
        # rotated queries and keys
        rope.RECORD,
        p_rope.RECORD,
        band_rope.RECORD,
        xpos.RECORD,
        untwist.RECORD,
        rollpe.RECORD,
        carope.RECORD,
        # reflections
        path.RECORD,
        path_fox.RECORD,
        # from the contents on the way
        cope.RECORD,
        # wrapped around another
        dape.RECORD,
        dape_v2.RECORD,
        urpe.RECORD,
    )
}


@dataclass(frozen=True)
class Shape:
    """The sizes of a net that an encoding may ask for."""

    width: int  # of the residual stream
    heads: int
    head_dim: int
    length: int  # the longest sequence meant to be read


SIZES = tuple(Shape.__annotations__)
LARGEST = 1 << 20  # the largest whole number an encoding accepts: it allocates tables of such sizes
FROM_NET = ("width", "heads", "head_dim")  # sizes given by the net; its length is only a default
Options = Mapping[str, Any]


def encoding(name: str, **options: Any) -> Encoding:
    """Make the encoding called `name`; each takes the options that its class names.

    One that wraps another takes `over`, the other's name (or the other itself), and `over_options`.

    >>> encoding("rope", head_dim=64).fused
    True
    >>> encoding("dape", over="rope", heads=8, head_dim=64).over.fused
    True
    >>> encoding("alibi", head=8)
    Traceback (most recent call last):
    wherewhat.errors.UserError: encoding 'alibi' takes no option 'head'; did you mean 'heads'? it takes: heads, slope
    """

    def wrapped(over: str, over_options: Options) -> Encoding:
        sizes = {size: options[size] for size in SIZES if size in options and size in options_of(over)}
        return encoding(over, **{**sizes, **over_options})

    return _make(name, options, wrapped)


def encoding_for(shape: Shape, name: str, options: Options) -> Encoding:
    """Make the encoding called `name` for a net of this shape, with the sizes that it needs."""
    look_up("encoding", name, ENCODINGS)
    for size in FROM_NET:
        if size in options:
            raise UserError(f"the net already tells its encoding its {size}; leave it out of the encoding's options")
    if isinstance(options.get("over"), Encoding):
        raise UserError(f"a net makes what its {name} wraps by itself; give over as a name, such as over='alibi'")
    _check_names(name, options, [option for option in _all_options(name) if option not in FROM_NET])
    sizes = {size: value for size, value in asdict(shape).items() if size in options_of(name)}
    return _make(name, {**sizes, **options}, lambda over, over_options: encoding_for(shape, over, over_options))


def _make(name: str, options: Options, make_over: Callable[[str, Options], Encoding]) -> Encoding:
    record, options = look_up("encoding", name, ENCODINGS), dict(options)
    if record.wraps is not None:
        options = _with_over(record, options, make_over)
    _check_options(name, options)
    return record.cls(**options)


def _with_over(record: EncodingRecord, options: Options, make_over: Callable[[str, Options], Encoding]) -> Options:
    """A wrapper's options, with the encoding that it wraps in place of that one's name and options."""
    over, over_options = options.get("over", record.wraps), options.get("over_options", {})
    if not isinstance(over, str | Encoding) or not isinstance(over_options, Mapping):
        raise UserError(
            f"encoding '{record.name}' wants over as an encoding's name and over_options as names with values; "
            f"got {over!r} and {over_options!r}"
        )
    if isinstance(over, Encoding) and over_options:
        raise UserError(
            f"encoding '{record.name}' got a ready-made over, so over_options {over_options!r} come too late"
        )
    own = {option: value for option, value in options.items() if option not in ("over", "over_options")}
    if isinstance(over, Encoding):
        return {**own, "over": over}
    _check_missing(record.name, [*own, "over"])
    of_over = [size for size in SIZES if size in options_of(over) and size not in options_of(record.name)]
    left = {option: value for option, value in own.items() if option not in of_over}
    return {**left, "over": make_over(over, over_options)}


def options_of(name: str) -> dict[str, Parameter]:
    """The options that an encoding takes, as its class names them."""
    parameters = signature(look_up("encoding", name, ENCODINGS).cls).parameters
    catch_all = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)  # inherited from nn.Module
    return {option: parameter for option, parameter in parameters.items() if parameter.kind not in catch_all}


def choices_of(name: str) -> dict[str, Any]:
    """The options that a net leaves open, each with its default; a length is the net's own by default.

    >>> choices_of("alibi"), choices_of("learned")
    ({'slope': None}, {'length': "the net's", 'sigma': 0.02, 'place': 'input'})
    """
    defaults = {option: parameter.default for option, parameter in options_of(name).items() if option not in FROM_NET}
    over = ENCODINGS[name].wraps
    wrapped = {"over": over, "over_options": {}} if over is not None else {}
    length = {"length": "the net's"} if "length" in defaults else {}
    return {**wrapped, **defaults, **wrapped, **length}  # these come first, but with these values


def _all_options(name: str) -> list[str]:
    """All options of an encoding, including those that only choose what it wraps."""
    return [*options_of(name), *(["over_options"] if ENCODINGS[name].wraps is not None else [])]


def _check_names(name: str, options: Options, known: Sequence[str]) -> None:
    for option in options:
        if option not in known:
            takes, meant = ", ".join(sorted(known)) or "none", suggestion(option, dict.fromkeys(known))
            raise UserError(f"encoding '{name}' takes no option '{option}'; {meant}it takes: {takes}")


def _check_options(name: str, options: Options) -> None:
    known = options_of(name)
    _check_names(name, options, _all_options(name))
    for option, value in options.items():
        if isinstance(value, float) and not isfinite(value):
            raise UserError(f"encoding '{name}' wants its {option} finite, got {value}")
        if not _fits(value, known[option].annotation):
            wanted, means = _type_in_words(known[option].annotation), ENCODINGS[name].options.get(option)
            meaning = f" ({means})" if means else ""
            raise UserError(f"encoding '{name}' wants its {option} as {wanted}{meaning}, got {value!r:.60}")
        if known[option].annotation in (int, int | None) and isinstance(value, int) and value > LARGEST:
            raise UserError(f"encoding '{name}' wants its {option} to be at most {LARGEST:,}, got {value!r:.60}")
    _check_missing(name, list(options))


def _check_missing(name: str, given: Sequence[str]) -> None:
    needed = [option for option, parameter in options_of(name).items() if parameter.default is Parameter.empty]
    if missing := [option for option in needed if option not in given]:
        raise UserError(f"encoding '{name}' needs to know {' and '.join(missing)}; for example {missing[0]}=64")


def _fits(value: object, wanted: Any) -> bool:
    """Whether a value is of the annotated type; a whole number will do for a float, a bool for neither."""
    if isinstance(wanted, UnionType):
        return any(_fits(value, each) for each in get_args(wanted))
    if isinstance(value, bool):
        return wanted is bool
    return isinstance(value, (int, float) if wanted is float else get_origin(wanted) or wanted)


def _type_in_words(wanted: Any) -> str:
    """A type as one would say it.

    >>> _type_in_words(int | None), _type_in_words(Mapping[str, Any] | None)
    ('int | None', 'mapping | None')
    """
    if isinstance(wanted, UnionType):
        return " | ".join(_type_in_words(each) for each in get_args(wanted))
    if wanted is type(None):
        return "None"
    name: str = (get_origin(wanted) or wanted).__name__
    return {"Sequence": "list", "tuple": "list", "Mapping": "mapping", "str": "text"}.get(name, name)
