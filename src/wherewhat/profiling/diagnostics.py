"""Which scores have no value, where and why; and what is refused because nothing could be measured at all."""

import numpy as np

from wherewhat.capture.tokens.batch import LAST
from wherewhat.errors import UserError
from wherewhat.names import head_name
from wherewhat.profiling.reading import AttentionReading
from wherewhat.scores.base import RowScore
from wherewhat.scores.offsets import LEAST_ROWS

NAMED = 8  # heads that a note names; more are only counted
NOT_ROTARY = "its logits are not rotary, as queries and keys are not rotated in channel pairs"


def refuse_unmeasurable(reading: AttentionReading) -> None:
    """Refuse where scores that were asked for by name, or certain slots, leave nothing to measure."""
    settings, model, known = reading.settings, reading.model.id, reading.settings.known
    named = [known[name] for name in settings.scores if name in known]
    of_logits = [score for score in named if isinstance(score, RowScore) and score.logits]
    if of_logits and not reading.slots_matter:
        reason = (
            ", whose logits do not depend on slots: its position is in the hidden states, and every head would count "
            "as symbolic; ask for input.position_share or mean.position"
        )
        if not reading.accumulator.position_free:
            why = next(iter(reading.undecomposed.values()), "its logits could not be decomposed")
            reason = f": {why}; ask for input.position_share, which moves tokens and runs the whole model again"
        raise UserError(f"{of_logits[0].name} cannot be measured on {model}{reason}")
    of_rotary = [score for score in of_logits if score.rotary]
    if of_rotary and not reading.accumulator.rotary:
        raise UserError(f"{of_rotary[0].name} cannot be measured on {model}: {NOT_ROTARY}; leave it out")
    on_purpose = of_logits or settings.queries == LAST or settings.first > 1
    if on_purpose and reading.slots_matter and reading.needs_logits and not _logits_measured(reading):
        raise UserError(_why_no_swaps(reading))


def _why_no_swaps(reading: AttentionReading) -> str:
    settings, first = reading.settings, reading.settings.first
    if settings.scores and all(score.blocks for score in settings.row_scores.values()):
        return "no text has two blocks whose contents can be swapped; give longer texts or other --blocks"
    longest = max(len(text) for text in reading.texts.ids)
    if longest - 1 - first >= 2:  # the last row is always read, and would see two keys
        return (
            f"the mask of this model shows no query two keys that can be swapped (from slot {first} on), which longer "
            "texts would not change; ask for scores of attention instead"
        )
    which = "its last query" if settings.queries == LAST else "the queries that are read"
    return (
        f"the longest text has {longest} tokens, and fewer than two keys before {which} can be swapped (from slot "
        f"{first} on); give longer texts or a smaller --first"
    )


def _logits_measured(reading: AttentionReading) -> bool:
    """Whether any score of logits has a value anywhere."""
    scores, layers = reading.accumulator.scores, reading.accumulator.layers.values()
    return any(layer.has_value(name) for layer in layers for name in layer.values if scores[name].logits)


def missing_values(reading: AttentionReading, *, hidden: bool) -> list[str]:
    """Sentences about what has no value, and why; `hidden` is whether hidden states were measured."""
    notes = _undecomposed(reading, hidden)
    accumulator = reading.accumulator
    of_rotary = [name for name, score in accumulator.scores.items() if score.rotary]
    if of_rotary and not accumulator.rotary and reading.slots_matter:
        notes.append(
            "The logits are not rotary: queries and keys are not rotated in channel pairs, so there are no "
            f"frequencies and {', '.join(of_rotary)} has no value."
        )
    layers = accumulator.layers.values()
    of_blocks = [name for name, score in accumulator.scores.items() if score.blocks]
    if reading.needs_logits and reading.slots_matter and not _logits_measured(reading):
        notes.append(
            "No row that was read sees two or more keys that can be swapped, because texts are too short or a mask "
            "hides the keys: scores of logits have no values."
        )
    elif of_blocks and reading.slots_matter and not any(layer.has_value(of_blocks[0]) for layer in layers):
        notes.append(
            "No row that was read sees two whole blocks whose contents can be swapped, because texts have none or a "
            "mask hides them: scores of blocks have no values."
        )
    peaks = [layer for layer in layers if "offset_peak" in layer.values]
    if peaks and not any(layer.has_value("offset_peak") for layer in peaks):
        notes.append(
            "`offset_peak` has no value: it needs at least "
            f"{LEAST_ROWS} rows of a text that see two or more keys, and no text had so many. Give longer texts or "
            "more --queries."
        )
    if flat := _flat_heads(reading):
        names = ", ".join(flat[:NAMED]) + (f" and {len(flat) - NAMED} more" if len(flat) > NAMED else "")
        notes.append(
            f"The logits of {names} do not vary beyond rounding in any row: these heads count as positional and "
            "symbolic at once, and have no shares, as there is no variance to share."
        )
    if any(layer.frequencies is not None and layer.frequencies.unlike for layer in layers):
        notes.append(
            "In this model the angles of rotation depend on the length of a text: theta of a frequency is the mean "
            "over texts."
        )
    return notes


def _undecomposed(reading: AttentionReading, hidden: bool) -> list[str]:
    """Layers whose logits show nothing of slots; every reason once, with all the layers that it holds for."""
    notes, layers, position_free = [], reading.layers, reading.accumulator.position_free
    if free := [f"{layers[site]}" for site in layers if position_free.get(site) and site.part != "cross"]:
        more = "" if hidden else " With --hidden, position is looked for in the hidden states."
        notes.append(
            f"The logits of layer {', '.join(free)} do not depend on slots: position, if any, came in with the hidden "
            f"states. By construction every head there would count as symbolic, so scores of logits are left out.{more}"
        )
    more = "" if hidden else " With --hidden, tokens are moved at the input instead, and the whole model runs again."
    for reason in dict.fromkeys(reading.undecomposed.values()):
        numbers = ", ".join(f"{layers[site]}" for site, why in reading.undecomposed.items() if why == reason)
        notes.append(f"The logits of layer {numbers} were not decomposed: {reason}.{more}")
    return notes


def _flat_heads(reading: AttentionReading) -> list[str]:
    """Heads whose logits are all the same: rows were measured, but none of them had any variance to explain."""
    names = []
    for site, layer in reading.accumulator.layers.items():
        measured = [np.isfinite(value_H) for value_H in layer.values.get("logit_variance", {}).values()]
        varying = [weight_H > 0 for weight_H in layer.weights.get("position_share", {}).values()]
        if measured and varying:
            flat_H = np.any(measured, 0) & ~np.any(varying, 0)
            names += [head_name(reading.layers[site], head, reading.labels) for head in flat_H.nonzero()[0]]
    return names


def learned_positions_note(reading: AttentionReading, *, hidden: bool) -> list[str]:
    """Say that learned positions count as content where logits depend on slots in other ways as well."""
    if reading.model.table is None or not reading.needs_logits or not reading.slots_matter:
        return []
    more = "" if hidden else " With --hidden, tokens are moved at the input, and both count as position."
    return [
        "This model represents position in two ways: in its attention, and by a table of "
        f"{reading.model.table} learned positions that is added to the tokens. Scores of logits measure the first "
        f"only; for them the learned positions count as content.{more}"
    ]
