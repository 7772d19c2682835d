"""What may be compared: heads of one architecture. What else differs is said, not refused."""

from collections.abc import Sequence

import polars as pl

from wherewhat.comparing.rows import half_known
from wherewhat.comparing.state import State
from wherewhat.errors import UserError

TOLD = ("queries", "first", "tau", "max_tokens")  # settings that change what scores say


def refuse_unlike(states: Sequence[State]) -> None:
    """Refuse heads that cannot be held against each other."""
    first = states[0]
    for other in states[1:]:
        if _unlike(first, other):
            raise UserError(
                f"{other.name} has {_shape(other)} and {first.name} {_shape(first)}; compare heads of one architecture"
            )
        if None not in (first.copies, other.copies) and first.copies != other.copies:
            raise UserError(
                f"{other.name} was probed with {other.copies} copies of a word and {first.name} with {first.copies}, "
                "and locality depends on how many; profile both with the same --copies"
            )
        if not set(first.scores) & set(other.scores):
            raise UserError(
                f"{first.name} and {other.name} have no score in common ({_listed(first.scores)}; "
                f"{_listed(other.scores)}); profile both with the same --scores"
            )
        if not set(_heads(first)) & set(_heads(other)):
            raise UserError(
                f"{first.name} and {other.name} have no head in common; profile both with the same --heads and --layers"
            )


def differences(states: Sequence[State]) -> list[str]:
    """Plain sentences about what differs beside the weights."""
    first, found = states[0], []
    for other in states[1:]:
        found += [*_other_texts(first, other), *_other_settings(first, other), *_one_sided(first, other)]
        for score, count in half_known(first, other).items():
            found.append(f"`{score}` has a value on one side only for {count} head(s) of {other.name}: left out.")
    return found


def _unlike(first: State, other: State) -> bool:
    """Whether family, layers or heads differ; a run that asked for some heads only has more than its table shows."""
    if any(first.model.get(name) != other.model.get(name) for name in ("family", "layers")):
        return True
    return not (_chosen(first) or _chosen(other)) and _heads(first) != _heads(other)


def _chosen(state: State) -> bool:
    settings = state.manifest.get("settings") or {}
    return bool(settings.get("layers") or settings.get("heads"))


def _heads(state: State) -> list[tuple[int, int]]:
    return sorted(state.heads.select("layer", "head").unique().iter_rows())


def _shape(state: State) -> str:
    by_layer = state.heads.group_by("layer").agg(pl.col("head").n_unique())["head"].to_list()
    heads = f"{by_layer[0]} heads" if len(set(by_layer)) == 1 else f"{min(by_layer)} to {max(by_layer)} heads"
    return f"{state.model.get('layers')} layers × {heads} ({state.model.get('family')})"


def _other_texts(first: State, other: State) -> list[str]:
    texts = [state.manifest.get("texts") or {} for state in (first, other)]
    if texts[0].get("hash") == texts[1].get("hash"):
        return []
    return [
        f"{other.name} read other texts ({texts[1].get('source')}) than {first.name} ({texts[0].get('source')}): "
        "scores of attention on texts may differ for that alone. What is read off weights or off copies of a word "
        "does not."
    ]


def _other_settings(first: State, other: State) -> list[str]:
    settings = [
        {**(state.manifest.get("settings") or {}), "dtype": state.manifest.get("dtype")} for state in (first, other)
    ]
    unlike = [name for name in (*TOLD, "dtype") if settings[0].get(name) != settings[1].get(name)]
    told = ", ".join(f"{name} {settings[1].get(name)} instead of {settings[0].get(name)}" for name in unlike)
    return [f"{other.name} was profiled with other settings than {first.name}: {told}."] if unlike else []


def _one_sided(first: State, other: State) -> list[str]:
    found = []
    for one, two in ((first, other), (other, first)):
        if alone := [name for name in one.scores if name not in two.scores]:
            found.append(f"Only {one.name} has {_listed([f'`{name}`' for name in alone])}; {two.name} has not.")
    return found


def _listed(names: Sequence[str], most: int = 6) -> str:
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
