"""What may be compared, and head by head or not: heads of one architecture are. What differs is said, not refused."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from wherewhat.comparing.rows import half_known
from wherewhat.comparing.state import State, same_weights
from wherewhat.errors import UserError

BY_WEIGHTS = ("identical", "unmasked", "delta", "random")  # sources of scores that need no text
TOLD = ("queries", "first", "tau", "max_tokens")  # settings that change what scores say


def refuse_unlike(states: Sequence[State]) -> None:
    """Refuse heads that cannot be held against each other."""
    first = states[0]
    for other in states[1:]:
        if None not in (first.copies, other.copies) and first.copies != other.copies:
            raise UserError(
                f"{other.name} was probed with {other.copies} copies of a word and {first.name} with {first.copies}, "
                "and locality depends on how many; profile both with the same --copies"
            )
        reasons = left_out(first, other)
        if shared := [name for name in first.scores if name in other.scores]:
            if len(reasons) == len(shared):
                raise UserError(f"{reasons[shared[0]]}, and there is no other score; profile both alike, or with more")
        else:
            raise UserError(
                f"{first.name} and {other.name} have no score in common ({_listed(first.scores)}; "
                f"{_listed(other.scores)}); profile both with the same --scores"
            )
        if alike(first, other) and not set(_heads(first)) & set(_heads(other)):
            raise UserError(
                f"{first.name} and {other.name} have no head in common; profile both with the same --heads and --layers"
            )


def left_out(first: State, other: State) -> dict[str, str]:
    """The scores of both that cannot be held against each other, and why not."""
    unlike = [source for source, n in first.lengths.items() if n != other.lengths.get(source, n)]
    still = same_weights(first, other)
    found = {}
    for score in first.scores:
        if score not in other.scores:
            continue
        source, *measure = score.split(".")
        about = "mean" if "contextual" in measure else source  # both are measured on as many tokens of the texts
        if about in unlike:
            found[score] = (
                f"{other.name} was measured on {_tokens(other, about)} and {first.name} on {_tokens(first, about)}, "
                "and locality and symmetry depend on how many: left out"
            )
        elif still and measure and source in BY_WEIGHTS and about == source:
            found[score] = f"{other.name} has the same weights as {first.name}, so what they alone decide is left out"
    return found


def _tokens(state: State, source: str) -> str:
    return f"{' or '.join(map(str, state.lengths[source]))} tokens"


def differences(states: Sequence[State]) -> list[str]:
    """Plain sentences about what differs beside the weights."""
    first, found = states[0], []
    for other in states[1:]:
        found += [*_other_texts(first, other), *_other_settings(first, other), *_one_sided(first, other)]
        reasons = left_out(first, other)
        for reason in dict.fromkeys(reasons.values()):
            found.append(f"{reason} ({_listed([f'`{name}`' for name in reasons if reasons[name] == reason])}).")
        if not alike(first, other):
            found.append(
                f"{other.name} has {_shape(other)} and {first.name} {_shape(first)}: no head has a counterpart, so "
                "distributions over heads are compared, not heads."
            )
            continue
        for score, count in half_known(first, other).items():
            found.append(f"`{score}` has a value on one side only for {count} head(s) of {other.name}: left out.")
    return found


def alike(first: State, other: State) -> bool:
    """Whether family, layers and heads are the same; a run of some heads only has more than its table shows."""
    if any(first.model.get(name) != other.model.get(name) for name in ("family", "layers")):
        return False
    totals = [state.model.get("total_heads") for state in (first, other)]
    if None not in totals and totals[0] != totals[1]:
        return False
    return _chosen(first) or _chosen(other) or _heads(first) == _heads(other)


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
        f"does not.{_lengths(texts)}"
    ]


def _lengths(texts: Sequence[Mapping[str, Any]]) -> str:
    """How long texts are on both sides, where that differs."""
    means = [f"{one['tokens'] / one['count']:.1f}" for one in texts if one.get("tokens") and one.get("count")]
    if len(set(means)) < 2:
        return ""
    return f" They have {means[1]} tokens each instead of {means[0]}, and locality depends on the length of a text."


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
