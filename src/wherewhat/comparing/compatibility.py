"""Which models can be compared, and whether head by head. What differs otherwise is noted, not refused."""

from collections.abc import Sequence

import polars as pl

from wherewhat.comparing.change_rows import half_known
from wherewhat.comparing.model_state import ModelState, same_weights
from wherewhat.errors import UserError

BY_WEIGHTS = ("identical", "unmasked", "delta", "random")  # sources of scores that need no text
DECISIVE = ("queries", "first", "tau", "max_tokens")  # settings that change the values of scores


def refuse_incompatible(states: Sequence[ModelState]) -> None:
    """Refuse models that have nothing to compare."""
    first = states[0]
    for other in states[1:]:
        if None not in (first.copies, other.copies) and first.copies != other.copies:
            raise UserError(
                f"{other.name} was probed with {other.copies} copies of a word and {first.name} with {first.copies}, "
                "and locality depends on how many; profile both with the same --copies"
            )
        reasons = excluded_scores(first, other)
        if shared := [name for name in first.scores if name in other.scores]:
            if len(reasons) == len(shared):
                raise UserError(
                    f"{reasons[shared[0]]}, and there is no other score; profile both the same way, or with more scores"
                )
        else:
            raise UserError(
                f"{first.name} and {other.name} have no score in common ({_listed(first.scores)}; "
                f"{_listed(other.scores)}); profile both with the same --scores"
            )
        if same_shape(first, other) and not set(_heads(first)) & set(_heads(other)):
            raise UserError(
                f"{first.name} and {other.name} have no head in common; profile both with the same --heads and --layers"
            )


def excluded_scores(first: ModelState, other: ModelState) -> dict[str, str]:
    """The scores of both that cannot be compared, and why not."""
    lengths_differ = [source for source, n in first.lengths.items() if n != other.lengths.get(source, n)]
    one_model = same_weights(first, other)
    reasons = {}
    for score in first.scores:
        if score not in other.scores:
            continue
        source, *measure = score.split(".")
        measured_on = "mean" if "contextual" in measure else source  # both use the same number of tokens of the texts
        if measured_on in lengths_differ:
            reasons[score] = (
                f"{other.name} was measured on {_tokens(other, measured_on)} and {first.name} on "
                f"{_tokens(first, measured_on)}, and locality and symmetry depend on how many: left out"
            )
        elif one_model and measure and source in BY_WEIGHTS and measured_on == source:
            reasons[score] = f"{other.name} has the same weights as {first.name}, so what they alone decide is left out"
    return reasons


def _tokens(state: ModelState, source: str) -> str:
    return f"{' or '.join(map(str, state.lengths[source]))} tokens"


def differences(states: Sequence[ModelState]) -> list[str]:
    """Sentences about what differs besides the weights."""
    first, notes = states[0], list[str]()
    for other in states[1:]:
        notes += _other_texts(first, other)
        settings = [{**state.manifest.settings, "dtype": state.manifest.dtype} for state in (first, other)]
        pairs = {name: (settings[0].get(name), settings[1].get(name)) for name in (*DECISIVE, "dtype")}
        if changed := [
            f"{name} {after} instead of {before}" for name, (before, after) in pairs.items() if after != before
        ]:
            notes.append(f"{other.name} was profiled with other settings than {first.name}: {', '.join(changed)}.")
        for here, there in ((first, other), (other, first)):
            if missing := [f"`{name}`" for name in here.scores if name not in there.scores]:
                notes.append(f"Only {here.name} has {_listed(missing)}; {there.name} does not.")
        reasons = excluded_scores(first, other)
        for reason in dict.fromkeys(reasons.values()):
            notes.append(f"{reason} ({_listed([f'`{name}`' for name in reasons if reasons[name] == reason])}).")
        if not same_shape(first, other):
            notes.append(
                f"{other.name} has {_shape(other)} and {first.name} {_shape(first)}: no head has a counterpart, so "
                "distributions over heads are compared, not heads."
            )
            continue
        for score, count in half_known(first, other).items():
            notes.append(f"`{score}` has a value on one side only for {count} head(s) of {other.name}: left out.")
    return notes


def same_shape(first: ModelState, other: ModelState) -> bool:
    """Whether family, layers and heads are the same; a run of some heads only has more than its table shows."""
    if (first.model.family, first.model.layers) != (other.model.family, other.model.layers):
        return False
    totals = (first.model.total_heads, other.model.total_heads)
    if None not in totals and totals[0] != totals[1]:
        return False
    return _some_heads(first) or _some_heads(other) or _heads(first) == _heads(other)


def _some_heads(state: ModelState) -> bool:
    settings = state.manifest.settings
    return bool(settings.get("layers") or settings.get("heads"))


def _heads(state: ModelState) -> list[tuple[int, int]]:
    return sorted(state.heads.select("layer", "head").unique().iter_rows())


def _shape(state: ModelState) -> str:
    by_layer = state.heads.group_by("layer").agg(pl.col("head").n_unique())["head"].to_list()
    heads = f"{by_layer[0]} heads" if len(set(by_layer)) == 1 else f"{min(by_layer)} to {max(by_layer)} heads"
    return f"{state.model.layers} layers × {heads} ({state.model.family})"


def _other_texts(first: ModelState, other: ModelState) -> list[str]:
    texts = [state.manifest.texts for state in (first, other)]
    if texts[0].hash == texts[1].hash:
        return []
    means = [f"{section.tokens / section.count:.1f}" for section in texts if section.tokens and section.count]
    lengths = ""
    if len(set(means)) > 1:
        lengths = f" They have {means[1]} tokens each instead of {means[0]}, and locality depends on text length."
    return [
        f"{other.name} read other texts ({texts[1].source}) than {first.name} ({texts[0].source}): scores of attention "
        f"on texts may differ for that alone. Scores of weights and of copies of a word do not.{lengths}"
    ]


def _listed(names: Sequence[str], most: int = 6) -> str:
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
