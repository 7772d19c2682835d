"""Models side by side on the same texts: which of their heads look at the same things."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
from torch import Tensor

from wherewhat.capture.loading.load import LoadedModel, LoadSettings
from wherewhat.capture.loading.untrained import fresh
from wherewhat.comparing.inputs import Named, names_of
from wherewhat.comparing.profiles import Waiting, Way, begin, subject_of
from wherewhat.comparing.similar import Similarity, same_tokens, similar_heads
from wherewhat.profiling.profile import read
from wherewhat.tables.schema import SIMILARITY

FRESH = "fresh weights"


@dataclass(frozen=True)
class SideBySide:
    """Every later model against the first, by what heads look at."""

    table: pl.DataFrame  # similarity.parquet
    pairs: list[dict[str, Any]]  # what each comparison amounts to


def side_by_side(named: Sequence[Named], asked: Way, *, draws: int, waiting: Waiting) -> SideBySide:
    """Hold each against the first, and where draws are asked for also fresh weights of its own shape."""
    first, way = begin(named[0], asked)
    settings = way.settings
    ids = read(first, way.texts, settings).ids
    others = [subject_of(one, way.loading or LoadSettings()) for one in named[1:]]
    names = names_of([model.id for model in (first, *others)], [one.given for one in named])
    first, *others = (replace(model, id=name) for model, name in zip((first, *others), names, strict=True))
    drawn = [replace(fresh(first, seed=settings.seed), id=FRESH)] if draws else []
    found = list[Similarity]()
    for number, other in enumerate((*drawn, *others)):
        same_tokens(first, other, ids, _again(other, way, ids))
        found.append(similar_heads(first, other, ids, seed=settings.seed, on_text=_telling(waiting, number, other)))
    pairs = [
        {"model": one.id, "against": first.id, **each.told} for one, each in zip((*drawn, *others), found, strict=True)
    ]
    return SideBySide(pl.concat([pl.DataFrame(schema=SIMILARITY), *(each.table for each in found)]), pairs)


def _again(other: LoadedModel, way: Way, ids: Sequence[Tensor]) -> list[Tensor]:
    """What a later model reads: the same texts, in its own tokens where it has a tokenizer and texts are words."""
    words = isinstance(way.texts, str) or any(not isinstance(text, Tensor) for text in way.texts or ())
    return read(other, way.texts if words else ids, way.settings).ids


def _telling(waiting: Waiting, number: int, other: LoadedModel) -> Callable[[int, int], None]:
    def on_text(done: int, of: int) -> None:
        if waiting.on_step is not None:
            waiting.on_step(done, of, f"{other.id}: heads side by side")

    return on_text
