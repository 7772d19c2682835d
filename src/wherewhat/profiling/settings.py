"""What is to be measured, and on how much: the settings of a profile, and what the manifest says of them."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, TypedDict

from wherewhat.capture.loading.load import LoadSettings
from wherewhat.capture.tokens.batch import ALL, LAST
from wherewhat.capture.tokens.blocks import ENDINGS
from wherewhat.errors import UserError
from wherewhat.names import HEAD_NAME, check_keywords, look_up
from wherewhat.scores.base import HIDDEN_STATE, POSITIONAL_PART, REPEATED_TOKENS, RowScore, Score
from wherewhat.scores.planes import SWAPPED_SLOTS
from wherewhat.scores.positional_part import COPIES
from wherewhat.scores.registry import SCORES, scores_at
from wherewhat.scores.swaps import DRAWN, PUBLISHED, at
from wherewhat.tables.manifest.sections import SwapsSection

LEAST_COPIES = 3  # of a word: the shortest text with a left and a right neighbour
LEAST_BLOCK = 2  # tokens: the shortest block in which a token follows another
WORDS = {"last": LAST, "all": ALL}  # that may be given for a number of queries


@dataclass(frozen=True)
class PositionalSettings:
    """How the positional part is measured: how many copies of a word a probing text has, and how many words it uses."""

    length: int = COPIES
    words: int = 100
    seed: int = 0
    batch_tokens: int = 2048  # padded tokens that run through the model together

    def __post_init__(self) -> None:
        if self.length < LEAST_COPIES:
            raise UserError(
                f"a word is to be repeated {self.length} times; locality and symmetry need at least {LEAST_COPIES} "
                "copies"
            )
        if self.words < 1:
            raise UserError(f"{self.words} words are to be repeated; give at least 1")
        if self.batch_tokens < 1:
            raise UserError(f"batch_tokens is {self.batch_tokens}; it must be at least 1")
        _check_seed(self.seed)


@dataclass(frozen=True)
class RepeatedSettings:
    """How random tokens are repeated: a block of them occurs twice, in many sequences."""

    length: int = 32  # of a block
    sequences: int = 50
    seed: int = 0
    batch_tokens: int = 2048  # padded tokens that run through the model together

    def __post_init__(self) -> None:
        least = {"length": LEAST_BLOCK, "sequences": 1, "batch_tokens": 1, "seed": 0}
        for name, value in least.items():
            if getattr(self, name) < value:
                raise UserError(f"repeated tokens cannot have {name} {getattr(self, name)}; give at least {value}")


class ReadingOptions(TypedDict, total=False):
    """The fields of `ProfileSettings` that say how attention is read, as keywords of a function."""

    queries: int | str
    logit_rows: int | str
    max_swaps: int | str | None
    seed: int
    tau: tuple[float, ...]
    first: int
    blocks: Sequence[Any] | str | None
    max_texts: int
    max_tokens: int | None
    add_bos: bool
    batch_tokens: int
    scores: tuple[str, ...]
    layers: tuple[int, ...]
    heads: tuple[str, ...]


class ProfileOptions(ReadingOptions, total=False):
    """All fields of `ProfileSettings`, as keywords of the functions that profile a model."""

    positional: PositionalSettings | bool | None
    random: RepeatedSettings | bool | None
    hidden: bool | None
    untrained: bool | None


@dataclass(frozen=True)
class ProfileSettings:
    """What is to be measured, and on how much."""

    queries: int = 64  # rows of each window whose attention is read, spread over it; or "all", or "last"
    logit_rows: int = 8  # how many of these have their logits decomposed and swapped, spread over the window; or "all"
    max_swaps: int | None = 1 << 14  # per row, computed one by one; beyond that, a sample; None or "all": no limit
    seed: int = 0
    tau: tuple[float, ...] = (PUBLISHED,)  # temperatures of the published scores; inf weighs all swaps equally
    first: int = 1  # the first slot whose content may be swapped
    blocks: Sequence[Any] | str | None = None  # that move as one: [[from, to], ...] per text, or "sentence" or "line"
    positional: PositionalSettings | bool | None = None  # also the positional part of attention; True: the defaults
    random: RepeatedSettings | bool | None = None  # also repeated random tokens; True: the defaults
    hidden: bool | None = None  # look for position in hidden states; None: only where logits do not depend on slots
    untrained: bool | None = None  # also an untrained baseline; None: unless the model is large
    max_texts: int = 100  # windows to read at most
    max_tokens: int | None = None  # None: what the model was made for, but at most 1,024
    add_bos: bool = False  # put the beginning-of-text token in front, where the tokenizer does not
    batch_tokens: int = 2048  # padded tokens that run through the model together
    scores: tuple[str, ...] = ()  # () for all
    layers: tuple[int, ...] = ()  # () for all
    heads: tuple[str, ...] = ()  # names like L3H7; () for all

    def __post_init__(self) -> None:
        object.__setattr__(self, "queries", _count("queries", self.queries, "rows", WORDS))
        object.__setattr__(self, "logit_rows", _count("logit_rows", self.logit_rows, "rows", {"all": ALL}))
        object.__setattr__(self, "max_swaps", _count("max_swaps", self.max_swaps, "swaps", {"all": None}))
        shared = {"seed": self.seed, "batch_tokens": self.batch_tokens}
        if isinstance(self.positional, bool):
            object.__setattr__(self, "positional", PositionalSettings(**shared) if self.positional else None)
        if isinstance(self.random, bool):
            object.__setattr__(self, "random", RepeatedSettings(**shared) if self.random else None)
        self._check_numbers()
        if isinstance(self.blocks, str) and self.blocks not in ENDINGS:
            raise UserError(
                f"there is no file {self.blocks}, nor are blocks called so; give a file, or {' or '.join(ENDINGS)}"
            )
        for name in self.scores:
            self._check_score(name)
        if self.hidden is False and (hidden_scores := self.named(HIDDEN_STATE)):
            raise UserError(f"{hidden_scores[0]} looks inside hidden states; ask for it without --no-hidden")
        for name in self.heads:
            if not HEAD_NAME.fullmatch(name):
                raise UserError(
                    f"'{name}' is not the name of a head; heads are named like L3H7, counted from 0, "
                    "or like 'decoder L3H7' where a model has several parts"
                )

    def _check_numbers(self) -> None:
        if self.max_texts < 1 or self.batch_tokens < 1:
            raise UserError(
                f"max_texts is {self.max_texts} and batch_tokens {self.batch_tokens}; each must be at least 1"
            )
        taus = ", ".join(map(str, self.tau)) or "empty"
        if not self.tau or not all(tau > 0 for tau in self.tau):
            raise UserError(f"tau is {taus}; a temperature must be above 0 (inf weighs all swaps equally)")
        if len({at(tau) for tau in self.tau}) < len(self.tau):
            raise UserError(f"tau is {taus}; two of these are the same to six digits, name each once")
        if self.first < 0:
            raise UserError(f"first is {self.first}; slots are counted from 0")
        _check_seed(self.seed)
        if self.max_tokens is not None and self.max_tokens < 2:
            raise UserError(f"max_tokens is {self.max_tokens}; a text needs at least 2 tokens")

    def _check_score(self, name: str) -> None:
        """Refuse a score that does not exist, or not under these settings."""
        if any(_is_named(known, [name]) for known in self.known):
            return
        bare, _, tau = name.partition("@")
        score = SCORES.get(bare)
        if score is not None and score.kind == POSITIONAL_PART and not tau:
            raise UserError(f"{name} is about the positional part of attention; ask for it with --positional")
        if score is not None and score.kind == REPEATED_TOKENS and not tau:
            raise UserError(f"{name} is about repeated random tokens; ask for it with --random")
        if isinstance(score, RowScore) and score.blocks and self.blocks is None:
            raise UserError(f"{name} swaps whole blocks; say which with --blocks sentence, line or FILE")
        if tau and bare not in scores_at((math.inf,)) and score is not None:  # then its name holds a temperature
            raise UserError(f"{name} is not among the temperatures asked for; add it to --tau")
        look_up("score", name, self.known)

    @property
    def known(self) -> dict[str, Score]:
        """Every score that can be measured under these settings."""
        without = {POSITIONAL_PART: self.positional is None, REPEATED_TOKENS: self.random is None}
        return {
            name: score
            for name, score in scores_at(self.tau).items()
            if not without.get(score.kind)
            and not (self.blocks is None and isinstance(score, RowScore) and score.blocks)
        }

    @property
    def row_scores(self) -> dict[str, RowScore]:
        """The scores to compute from rows of the texts."""
        wanted = {name: score for name, score in self.known.items() if not self.scores or _is_named(name, self.scores)}
        return {name: score for name, score in wanted.items() if isinstance(score, RowScore)}

    def named(self, *kinds: str) -> tuple[str, ...]:
        """The scores of some kinds that were asked for by name."""
        known = self.known.items()
        return tuple(name for name, score in known if score.kind in kinds and _is_named(name, self.scores))


def settings_from(
    function: Callable[..., object], settings: ProfileSettings | None, options: Mapping[str, object]
) -> ProfileSettings:
    """The settings that a function was called with: an object, single options, or an object with some changed."""
    check_options(function, options)
    changed: dict[str, Any] = {**options}
    return ProfileSettings(**changed) if settings is None else replace(settings, **changed)


def check_options(function: Callable[..., object], options: Mapping[str, object]) -> None:
    """Refuse a keyword that is neither a function's own nor a setting of a profile, and suggest the one meant."""
    of_loading = {field.name: f"loading=LoadSettings({field.name}=...)" for field in fields(LoadSettings)}
    check_keywords(function, options, fills=ProfileSettings, elsewhere=of_loading)


def _check_seed(seed: int) -> None:
    if not 0 <= seed < 2**31:
        raise UserError(f"seed is {seed}; give a whole number from 0 to {2**31 - 1}")


def _is_named(name: str, names: Collection[str]) -> bool:
    """Whether a score is among some names: with its temperature, or without, which means at every temperature.

    >>> _is_named("positional@0.1", ["positional"]), _is_named("positional", ["positional@0.1"])
    (True, False)
    """
    return name in names or name.partition("@")[0] in names


def _count(setting: str, count: object, unit: str, words: Mapping[str, int | None]) -> int | None:
    """Check a number of rows or swaps; a word such as "all" becomes the value that stands for it."""
    if isinstance(count, str) and count in words:
        return words[count]
    if isinstance(count, int | None) and not isinstance(count, bool) and (count in words.values() or (count or 0) >= 1):
        return count
    named = ", or ".join(f"'{word}'" for word in words)
    raise UserError(f"{setting} is {count!r}; give a number of {unit}, at least 1, or {named}")


def settings_section(settings: ProfileSettings, loading: LoadSettings | None) -> dict[str, Any]:
    """For the manifest; `loading` is None for a module that the caller loaded."""
    words = {ALL: "all", LAST: "last"}  # as the command line has them
    section = asdict(settings)
    section |= {name: words.get(section[name], section[name]) for name in ("queries", "logit_rows")}
    section["max_swaps"] = settings.max_swaps or "all"
    section["tau"] = [tau if math.isfinite(tau) else "inf" for tau in settings.tau]  # JSON has no infinity
    section["blocks"] = settings.blocks if settings.blocks is None or isinstance(settings.blocks, str) else "given"
    return section if loading is None else {**section, **asdict(loading)}


def swaps_section(settings: ProfileSettings) -> SwapsSection:
    """For the manifest: how contents were swapped."""
    section = settings_section(settings, None)
    drawn = f"all; of rows in which more than {settings.max_swaps or 0:,} count, a sample of {DRAWN:,}"
    return SwapsSection(
        tau=section["tau"],
        first=settings.first,
        rows="last" if settings.queries == LAST else section["logit_rows"],
        swaps="all" if settings.max_swaps is None else drawn,
        blocks=section["blocks"],
        frequency_slots=SWAPPED_SLOTS,
    )
