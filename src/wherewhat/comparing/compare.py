"""The walk of a comparison: take what was named, profile what has no profile yet, hold heads against each other."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from wherewhat.comparing.alike import alike, differences, left_out, refuse_unlike
from wherewhat.comparing.claims import claims_of
from wherewhat.comparing.describe import about_intervals, about_states, chances, spread_over_heads
from wherewhat.comparing.inputs import Named, names_of, refuse_few, taken
from wherewhat.comparing.rows import rows_of
from wherewhat.comparing.state import State, mean_of, related
from wherewhat.comparing.unpaired import Nearest, nearest_by_scores, unpaired_rows
from wherewhat.errors import UserError
from wherewhat.progress import shows_progress
from wherewhat.runs.compared import Compared
from wherewhat.runs.profile import Profile
from wherewhat.tables.manifest import peak_memory, provenance
from wherewhat.tables.schema import COMPARE, SIMILARITY, frame

if TYPE_CHECKING:  # a comparison of finished runs needs no torch
    from torch import nn

    from wherewhat.capture.loading.load import LoadedModel, LoadSettings
    from wherewhat.comparing.profiles import Profiles, Texts
    from wherewhat.comparing.side_by_side import SideBySide
    from wherewhat.profiling.profile import OneText
    from wherewhat.tables.origin import Origin

UNTRAINED = ("untrained", "fresh weights")  # what to call them; the second where a model is called like the first
OnStep = Callable[[int, int, str], None]  # done, of how many, what to say beside it


@shows_progress
def compare(
    models: "Sequence[str | Path | Profile | nn.Module | LoadedModel]",
    texts: "Iterable[OneText] | None" = None,
    *,
    untrained: int = 0,
    similar: bool = False,
    loading: "LoadSettings | None" = None,
    progress: bool = False,
    on_step: OnStep | None = None,
    say: Callable[[str], None] | None = None,
    source: "str | Origin" = "handed in",
    **measuring: Any,
) -> Compared:
    """Measure by how much heads changed: every model of the list against the first.

    Each is a finished profile (or its folder), whose tables are enough, or a model, which is profiled here as for
    `profile`: on `texts`, or on those of the first. `untrained` is how many draws of fresh weights of the first one's
    architecture stand before the list. Models of another shape than the first are compared by the distributions of
    their scores, and each of their heads with the head of the first whose scores are nearest; with `similar`, heads of
    models that share their tokens are also compared by what they attend to. `measuring` are the fields of `Measuring`;
    what is left out is as in the first, if that is a profile, and a profile that was made otherwise is made again.
    `progress` shows how far it has come, or `on_step` is told.
    """
    began = time.perf_counter()
    if measuring:
        from wherewhat.profiling.settings import check_settings

        check_settings(compare, measuring)
    refuse_few(models, untrained)
    named = [taken(one) for one in models]
    texts = _at_hand(texts, named, measuring) if similar else texts  # read twice
    way = {"texts": texts, "loading": loading, "source": source, "measuring": measuring}
    beside = _side_by_side(named, untrained, way, (on_step, say)) if similar else None
    found, fresh, notes = [one.profile for one in named if one.profile is not None], list[Profile](), list[str]()
    if untrained or len(found) < len(named) or measuring or loading is not None or texts is not None:
        made = _profiled(named, untrained, way, (on_step, say))
        found, fresh, notes = made.named, made.untrained, made.notes
    states, draws = _states(named, found, fresh)
    refuse_unlike(states)
    table = _table(states, draws)
    nearest = _nearest(states)
    manifest = {**_manifest(table, states, draws, notes), **_cost(began)}
    by_attention = [] if beside is None else beside.pairs
    if pairs := [*by_attention, *(one.about for one in nearest)]:
        manifest["similar"] = pairs
    tables = [
        pl.DataFrame(schema=SIMILARITY),
        *([] if beside is None else [beside.table]),
        *(one.table for one in nearest),
    ]
    return Compared(table, manifest, pl.concat(tables))


def _nearest(states: Sequence[State]) -> list[Nearest]:
    """Of every later one that has another shape than the first: which heads are nearest by their scores."""
    apart = [nearest_by_scores(states[0], other) for other in states[1:] if not alike(states[0], other)]
    return [nearest for nearest in apart if nearest is not None]


def _table(states: Sequence[State], draws: Sequence[State]) -> pl.DataFrame:
    """Every later one against the first, and the first of them against every draw of fresh weights alone."""
    pairs = [(states[0], later) for later in states[1:]]
    pairs += [(draw, states[1]) for draw in draws] if len(draws) > 1 else []
    rows: list[tuple[object, ...]] = []
    for before, after in pairs:
        apart = left_out(before, after)
        both = before.without(apart), after.without(apart)
        rows += rows_of(*both) if alike(before, after) else unpaired_rows(*both)
    return frame(rows, COMPARE)


def _manifest(
    table: pl.DataFrame, states: Sequence[State], draws: Sequence[State], notes: Sequence[str]
) -> dict[str, Any]:
    """What there is to say of a comparison, beside its table."""
    same_heads = related(states)
    spread = spread_over_heads(table, states, same_heads=same_heads)
    return {
        **provenance(),
        "command": None,
        "compared": about_states(states),
        "draws": [draw.name for draw in draws],
        "same_heads": same_heads,
        "intervals": about_intervals(states, same_heads=same_heads),
        "over_heads": spread,
        **_shared(states[-1]),
        "scores": {name: about for state in reversed(states) for name, about in _scores(state).items()},
        "chance": chances(states[-1]),
        "claims": claims_of(table, states, spread),
        "notes": [*notes, *differences(states)],
    }


def _cost(began: float) -> dict[str, Any]:
    return {"seconds": round(time.perf_counter() - began, 3), "peak_memory_bytes": peak_memory()}


def _profiled(named: Sequence[Named], draws: int, way: Mapping[str, Any], waiting: tuple[Any, Any]) -> "Profiles":
    """Profile what has to be; only here a model is needed, and with it torch."""
    from wherewhat.comparing.profiles import Waiting, Way, profiles_of

    return profiles_of(named, Way(**way), draws=draws, waiting=Waiting(*waiting))


def _at_hand(texts: "Texts", named: Sequence[Named], measuring: Mapping[str, Any]) -> "Texts":
    """Texts that can be read again, no more of them than are needed."""
    from wherewhat.profiling.settings import ProfileSettings

    if texts is None or isinstance(texts, str):
        return texts
    settings = [(one.profile.manifest.get("settings") or {}) for one in named if one.profile is not None]
    most = [one.get("max_texts", 0) for one in settings] + [ProfileSettings.max_texts]
    return list(islice(texts, int(measuring.get("max_texts") or max(most))))


def _side_by_side(named: Sequence[Named], draws: int, way: Mapping[str, Any], waiting: tuple[Any, Any]) -> "SideBySide":
    """Hold heads against each other by what they look at, for which every model has to read."""
    from wherewhat.comparing.profiles import Waiting, Way
    from wherewhat.comparing.side_by_side import side_by_side

    if len(named) < 2 and not draws:
        raise UserError("--similar holds heads of two models against each other; name a second one")
    return side_by_side(named, Way(**way), draws=draws, waiting=Waiting(*waiting))


def _states(
    named: Sequence[Named], found: Sequence[Profile], fresh: Sequence[Profile]
) -> tuple[list[State], list[State]]:
    """What is compared, the first of it what all others are held against; and every draw of fresh weights alone."""
    ids = [str((one.manifest.get("model") or {}).get("id")) for one in found]
    names = names_of(ids, [one.given for one in named])
    states = [State(name, one.heads, one.manifest) for name, one in zip(names, found, strict=True)]
    if not fresh:
        return states, []
    called = next(name for name in UNTRAINED if name not in names)
    draws = [State(f"{called} {n}", one.heads, one.manifest, draws=1) for n, one in enumerate(fresh, start=1)]
    return [mean_of(draws, called), *states], draws


def _shared(last: State) -> dict[str, Any]:
    """What the manifest says once, as it was of the last of the list."""
    names = ("settings", "model", "texts", "seed", "dtype", "device", "layers", "positional", "random")
    return {name: last.manifest[name] for name in names if name in last.manifest}


def _scores(state: State) -> Mapping[str, Any]:
    """How to read the scores that a state has."""
    told = state.manifest.get("scores") or {}
    return {name: told[name] for name in state.scores if name in told}
