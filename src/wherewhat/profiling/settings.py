"""What is to be measured, and on how much: the settings of a profile, and how the manifest tells them."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from wherewhat.capture.loading.load import LoadSettings
from wherewhat.capture.tokens.batch import ALL, LAST
from wherewhat.capture.tokens.blocks import ENDINGS
from wherewhat.errors import UserError
from wherewhat.names import HEAD_NAME, check_keywords, look_up
from wherewhat.profiling.positional_part import told as positional_told
from wherewhat.profiling.positional_part.probing import Probing
from wherewhat.profiling.repeated_tokens import told as repeats_told
from wherewhat.profiling.repeated_tokens.repeating import Repeating
from wherewhat.scores import input_level, mean_parts
from wherewhat.scores.base import Score
from wherewhat.scores.frequencies import SWAPPED_SLOTS
from wherewhat.scores.registry import SCORES, at_temperature, blocks_at
from wherewhat.scores.swaps import DRAWN, PUBLISHED, at

INSIDE = {**input_level.ABOUT, **mean_parts.ABOUT}  # scores that look for position inside hidden states
SWAPPED_INSIDE = ("input.positional", "input.symbolic")  # those of them that have temperatures
WORDS = {"last": LAST, "all": ALL}  # what may be said for a number of queries


@dataclass(frozen=True)
class ProfileSettings:
    """What is to be measured, and on how much."""

    queries: int = 64  # rows of each window whose attention is read, spread over it; or "all", or "last"
    logit_rows: int = 8  # of these, spread over the window, those whose logits are decomposed and swapped; or "all"
    max_swaps: int | None = 1 << 14  # of a row computed one by one; of more, a sample stands for all; None: no limit
    seed: int = 0
    tau: tuple[float, ...] = (PUBLISHED,)  # temperatures of the published scores; inf weighs all swaps alike
    first: int = 1  # the first slot whose content may change places
    blocks: Sequence[Any] | str | None = None  # move as one: of every text [[from, to], ...], or "sentence" or "line"
    positional: Probing | bool | None = None  # also the positional part of attention, three ways; True: as by default
    random: Repeating | bool | None = None  # also random tokens, said twice; True: as by default
    hidden: bool | None = None  # look for position inside hidden states; None: where logits do not tell what slots do
    untrained: bool | None = None  # also fresh weights of the same architecture; None: unless the model is large
    max_texts: int = 100
    max_tokens: int | None = None  # None: what the model was made for, but at most 1,024
    add_bos: bool = False  # put the beginning-of-text token in front, where the tokenizer does not
    batch_tokens: int = 2048  # padded tokens that run through the model together
    scores: tuple[str, ...] = ()  # () for all
    layers: tuple[int, ...] = ()  # () for all
    heads: tuple[str, ...] = ()  # names like L3H7; () for all

    def __post_init__(self) -> None:
        object.__setattr__(self, "queries", _rows_asked("queries", self.queries, WORDS))
        object.__setattr__(self, "logit_rows", _rows_asked("logit_rows", self.logit_rows, {"all": ALL}))
        object.__setattr__(self, "max_swaps", _most_swaps(self.max_swaps))
        object.__setattr__(self, "positional", self._probing())
        object.__setattr__(self, "random", self._repeating())
        if self.max_texts < 1 or self.batch_tokens < 1:
            raise UserError(
                f"max_texts is {self.max_texts} and batch_tokens {self.batch_tokens}; each must be at least 1"
            )
        if not self.tau or not all(tau > 0 for tau in self.tau):
            raise UserError(f"tau is {_listed(self.tau)}; a temperature must be above 0 (inf weighs all swaps alike)")
        if len({at(tau) for tau in self.tau}) < len(self.tau):
            raise UserError(f"tau is {_listed(self.tau)}; two of these are the same to six digits, name each once")
        if self.first < 0:
            raise UserError(f"first is {self.first}; slots are counted from 0")
        if not 0 <= self.seed < 2**31:
            raise UserError(f"seed is {self.seed}; give a whole number from 0 to {2**31 - 1}")
        if self.max_tokens is not None and self.max_tokens < 2:
            raise UserError(f"max_tokens is {self.max_tokens}; a text needs at least 2 tokens")
        if isinstance(self.blocks, str) and self.blocks not in ENDINGS:
            raise UserError(
                f"there is no file {self.blocks}, nor are blocks called so; give a file, or {' or '.join(ENDINGS)}"
            )
        for name in self.scores:
            self._check_score(name)
        if self.inside and self.hidden is False:
            raise UserError(f"{self.inside[0]} looks inside hidden states; ask for it without --no-hidden")
        for name in self.heads:
            if not HEAD_NAME.fullmatch(name):
                raise UserError(
                    f"'{name}' is not the name of a head; heads are named like L3H7, counted from 0, "
                    "or like 'decoder L3H7' where a model has several parts"
                )

    def _probing(self) -> Probing | None:
        """How to probe the positional part, if that is asked for."""
        if not isinstance(self.positional, bool):
            return self.positional
        return Probing(seed=self.seed, batch_tokens=self.batch_tokens) if self.positional else None

    def _repeating(self) -> Repeating | None:
        """How random tokens are repeated, if that is asked for."""
        if not isinstance(self.random, bool):
            return self.random
        return Repeating(seed=self.seed, batch_tokens=self.batch_tokens) if self.random else None

    @property
    def on_repeats(self) -> tuple[str, ...]:
        """The scores asked for by name that are about repeated tokens."""
        return tuple(name for name in self.scores if name in repeats_told.ABOUT)

    @property
    def by_position(self) -> tuple[str, ...]:
        """The scores asked for by name that are about the positional part."""
        return tuple(name for name in self.scores if name in positional_told.names())

    @property
    def known(self) -> dict[str, Score]:
        """Every score there is under these settings: at these temperatures, and of blocks where there are any."""
        swapping = [*at_temperature(PUBLISHED), *blocks_at(PUBLISHED)]
        others = {name: score for name, score in SCORES.items() if name not in {score.name for score in swapping}}
        asked = [score for tau in self.tau for score in at_temperature(tau)]
        if self.blocks is not None:
            asked += [score for tau in self.tau for score in blocks_at(tau)]
        return others | {score.name: score for score in asked}

    @property
    def inside(self) -> tuple[str, ...]:
        """The scores asked for by name that look inside hidden states."""
        return tuple(name for name in self._inside if _is_asked(name, self.scores)) if self.scores else ()

    @property
    def _inside(self) -> dict[str, Any]:
        """Every score that looks inside hidden states under these settings."""
        plain = {name: about for name, about in INSIDE.items() if name not in SWAPPED_INSIDE}
        return plain | {f"{name}{at(tau)}": INSIDE[name] for tau in self.tau for name in SWAPPED_INSIDE}

    def knows(self, name: str) -> bool:
        """Whether a score is measured on the texts as they are under these settings."""
        return any(_is_asked(known, [name]) for known in (*self.known, *self._inside))

    def _check_score(self, name: str) -> None:
        """Refuse a score that there is none of, or none under these settings."""
        bare, _, tau = name.partition("@")
        if self.knows(name):
            return
        if name in positional_told.names():
            if self.positional is None:
                raise UserError(f"{name} is about the positional part of attention; ask for it with --positional")
            return
        if name in repeats_told.ABOUT:
            if self.random is None:
                raise UserError(f"{name} is about random tokens that are repeated; ask for it with --random")
            return
        if bare.startswith("block.") and self.blocks is None:
            raise UserError(f"{name} swaps whole blocks; say which with --blocks sentence, line or FILE")
        if tau and (bare in SCORES or bare in SWAPPED_INSIDE):
            raise UserError(f"{name} is not among the temperatures asked for; add it to --tau")
        of_position = dict.fromkeys(positional_told.names() if self.positional else ())
        of_repeats = repeats_told.ABOUT if self.random else {}
        look_up("score", name, {**self.known, **self._inside, **of_position, **of_repeats})

    @property
    def asked(self) -> dict[str, Score]:
        """The scores to compute."""
        return {name: score for name, score in self.known.items() if not self.scores or _is_asked(name, self.scores)}


def check_settings(function: Callable[..., object], given: Mapping[str, Any]) -> None:
    """Refuse a keyword that is neither a function's own nor a setting of a profile, and say which was meant."""
    of_loading = {one.name: f"loading=Loading({one.name}=...)" for one in fields(LoadSettings)}
    check_keywords(function, given, fills=ProfileSettings, elsewhere=of_loading)


def _is_asked(name: str, asked: Collection[str]) -> bool:
    """Whether a score was asked for: by its whole name, or without a temperature, which means at every temperature.

    >>> _is_asked("positional@0.1", ["positional"]), _is_asked("positional", ["positional@0.1"])
    (True, False)
    """
    return name in asked or name.partition("@")[0] in asked


def _rows_asked(setting: str, rows: object, words: Mapping[str, int]) -> int:
    """How many rows are asked for, the words for all and for the last one as their numbers."""
    if isinstance(rows, str) and rows in words:
        return words[rows]
    if isinstance(rows, int) and not isinstance(rows, bool) and (rows >= 1 or rows in words.values()):
        return rows
    named = ", or ".join(f"'{word}'" for word in words)
    raise UserError(f"{setting} is {rows!r}; give a number of rows, at least 1, or {named}")


def _most_swaps(swaps: object) -> int | None:
    """How many swaps of a row are computed one by one; None for all."""
    if swaps is None or swaps == "all":
        return None
    if isinstance(swaps, int) and not isinstance(swaps, bool) and swaps >= 1:
        return swaps
    raise UserError(f"max_swaps is {swaps!r}; give a number of swaps, at least 1, or 'all'")


def told(settings: ProfileSettings, loading: LoadSettings | None) -> dict[str, Any]:
    """As the manifest tells them: how a module that was handed in was loaded is not known."""
    rows = {"queries": _named(settings.queries), "logit_rows": _named(settings.logit_rows)}
    said = {**asdict(settings), **rows, "max_swaps": settings.max_swaps or "all"}
    said["tau"] = [_number(tau) for tau in settings.tau]
    said["blocks"] = settings.blocks if settings.blocks is None or isinstance(settings.blocks, str) else "given"
    return said if loading is None else {**said, **asdict(loading)}


def _named(rows: int) -> int | str:
    """A number of rows as the command line has it."""
    return {ALL: "all", LAST: "last"}.get(rows, rows)


def _number(tau: float) -> float | str:
    """A temperature as JSON can hold it."""
    return tau if math.isfinite(tau) else "inf"


def about_swaps(settings: ProfileSettings) -> dict[str, Any]:
    """How contents changed places, for the manifest."""
    return {
        "tau": [_number(tau) for tau in settings.tau],
        "first": settings.first,
        "rows": "last" if settings.queries == LAST else _named(settings.logit_rows),
        "swaps": "all"
        if settings.max_swaps is None
        else f"all; of rows in which more than {settings.max_swaps:,} count, a sample of {DRAWN:,}",
        "blocks": told(settings, None)["blocks"],
        "frequency_slots": SWAPPED_SLOTS,
    }


def _listed(values: Sequence[object]) -> str:
    return ", ".join(map(str, values)) or "empty"
