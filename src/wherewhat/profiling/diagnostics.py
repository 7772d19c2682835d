"""Say where and why nothing could be measured, so that nobody takes silence for an answer."""

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from wherewhat.capture.hooks.reader import AttentionSite
from wherewhat.capture.tokens.batch import LAST
from wherewhat.errors import UserError
from wherewhat.names import head_name, layer_labels
from wherewhat.profiling.accumulate import LayerScores, ScoreAccumulator
from wherewhat.profiling.settings import ProfileSettings
from wherewhat.scores.offset_peak import LEAST_ROWS

NAMED = 8  # heads that a note names; more are only counted
NO_TURNS = "no logits here are products of queries and keys that turn pair by pair, so there are no frequencies"


def refuse_in_vain(
    model: str,
    ids: Sequence[Tensor],
    tally: ScoreAccumulator,
    opaque: Mapping[AttentionSite, str],
    settings: ProfileSettings,
) -> None:
    """Refuse where what was asked for by name, or from certain slots, has nothing to be measured on."""
    named = [name for name in settings.scores if name in settings.known and settings.known[name].logits]
    if named and not _slots_matter(tally):
        raise UserError(_why_not(model, named[0], tally, opaque))
    if any(settings.known[name].turning for name in named) and not tally.turning:
        turning = next(name for name in named if settings.known[name].turning)
        raise UserError(f"{turning} cannot be asked of {model}: {NO_TURNS}; leave it out")
    asked = named or settings.queries == LAST or settings.first > 1
    if asked and _slots_matter(tally) and _asks_logits(tally) and not _measured(tally):
        raise UserError(_too_few(ids, settings))


def _asks_logits(tally: ScoreAccumulator) -> bool:
    return any(score.logits for score in tally.scores.values())


def _slots_matter(tally: ScoreAccumulator) -> bool:
    return any(not absorbed for absorbed in tally.absorbed.values())


def _why_not(model: str, name: str, tally: ScoreAccumulator, opaque: Mapping[AttentionSite, str]) -> str:
    if not tally.absorbed:
        reason = next(iter(opaque.values()), "its logits could not be taken apart")
        return (
            f"{name} cannot be asked of {model}: {reason}; ask for input.position_share, which moves tokens and "
            "runs the whole model again"
        )
    return (
        f"{name} cannot be asked of {model}, whose logits know nothing of slots or frequencies: its position sits in "
        "the hidden states, and every head would count as symbolic; ask for input.position_share or mean.position"
    )


def _too_few(ids: Sequence[Tensor], settings: ProfileSettings) -> str:
    if settings.scores and all(name.startswith("block.") for name in settings.scores):
        return "no text has two blocks whose contents can change places; give longer texts or other --blocks"
    longest = max(len(text) for text in ids)
    if longest - 1 - settings.first >= 2:  # the last row is always read, and would see two keys
        return (
            "the mask of this model shows no query that is looked at two keys which can change places (from slot "
            f"{settings.first} on); longer texts change nothing in that, ask for scores of attention instead"
        )
    which = "its last query" if settings.queries == LAST else "the queries looked at"
    return (
        f"the longest text has {longest} tokens, and fewer than two keys before {which} can change places (from slot "
        f"{settings.first} on); give longer texts or a smaller --first"
    )


def _measured(tally: ScoreAccumulator) -> bool:
    """Whether any score of logits has an answer anywhere."""
    return any(
        np.isfinite(value_H).any()
        for account in tally.accounts.values()
        for name, by_text in account.values.items()
        if tally.scores[name].logits
        for value_H in by_text.values()
    )


def silences(
    tally: ScoreAccumulator,
    opaque: Mapping[AttentionSite, str],
    layers: Mapping[AttentionSite, int],
    *,
    asked_inside: bool,
) -> list[str]:
    """Plain sentences about what has no answer."""
    found = _without_slots(tally, layers, asked_inside) + _opaque(opaque, layers, asked_inside) + _without_turns(tally)
    blocks = [name for name in tally.scores if name.startswith("block.")]
    if _asks_logits(tally) and _slots_matter(tally) and not _measured(tally):
        found.append(
            "No row that was read sees two keys or more that can change places, because texts are too short or a mask "
            "hides the keys: scores of logits have no values."
        )
    elif (
        blocks and _slots_matter(tally) and not any(_finite(account, blocks[0]) for account in tally.accounts.values())
    ):
        found.append(
            "No row that was read sees two whole blocks whose contents can change places, because texts have none or a "
            "mask hides them: scores of blocks have no values."
        )
    return found + _few_rows(tally) + _flat(tally, layers) + _unlike(tally)


def _few_rows(tally: ScoreAccumulator) -> list[str]:
    """Whether rows of a text agree cannot be asked where too few of them are read."""
    asked = [account for site, account in tally.accounts.items() if "offset_peak" in account.values]
    if not asked or any(_finite(account, "offset_peak") for account in asked):
        return []
    return [
        f"`offset_peak` has no value: it asks how often the rows of a text look equally far, and of no text "
        f"{LEAST_ROWS} rows that see two keys or more were read. Give longer texts or more --queries."
    ]


def learned_beside(table: int | None, tally: ScoreAccumulator, *, asked_inside: bool) -> list[str]:
    """Say that learned positions count as content where logits know slots by other ways as well."""
    if table is None or not _asks_logits(tally) or not _slots_matter(tally):
        return []
    more = "" if asked_inside else " With --hidden, tokens are moved at the input, and both count as position."
    return [
        f"This model knows slots in two ways: its attention does by itself, and a table of {table} learned positions "
        "is added to the tokens. Scores of logits see the first only, and the learned positions count as content "
        f"there.{more}"
    ]


def told_of(site: AttentionSite, tally: ScoreAccumulator, opaque: Mapping[AttentionSite, str]) -> dict[str, str]:
    """What could be read of the logits of a layer, for the manifest: exact, absorbed, or opaque and why."""
    if site in opaque:
        return {"logits": "opaque", "reason": opaque[site]}
    if site not in tally.absorbed:
        return {}
    return {"logits": "absorbed" if tally.absorbed[site] else "exact"}


def _opaque(opaque: Mapping[AttentionSite, str], layers: Mapping[AttentionSite, int], asked_inside: bool) -> list[str]:
    """Every reason once, with all the layers that it holds for."""
    more = (
        "" if asked_inside else " With --hidden, tokens are moved at the input instead, and the whole model runs again."
    )
    sites = {reason: [site for site in opaque if opaque[site] == reason] for reason in opaque.values()}
    numbers = {reason: ", ".join(f"{layers[site]}" for site in found) for reason, found in sites.items()}
    return [f"The logits of layer {layer} were not taken apart: {reason}.{more}" for reason, layer in numbers.items()]


def _without_turns(tally: ScoreAccumulator) -> list[str]:
    """Where slots have their say by other ways than turning."""
    silent = [name for name, score in tally.scores.items() if score.turning]
    if not silent or tally.turning or not _slots_matter(tally):
        return []
    return [f"{NO_TURNS.capitalize()} and {', '.join(silent)} is not given."]


def _without_slots(tally: ScoreAccumulator, layers: Mapping[AttentionSite, int], asked_inside: bool) -> list[str]:
    absorbed = [f"{layers[site]}" for site in layers if tally.absorbed.get(site) and site.part != "cross"]
    if not absorbed:
        return []
    more = "" if asked_inside else " With --hidden, position is looked for inside the hidden state."
    return [
        f"No slot has a say in the logits of layer {', '.join(absorbed)}: position, if any, came in with the hidden "
        f"state. By construction every head there would count as symbolic, so scores of logits are not given.{more}"
    ]


def _flat(tally: ScoreAccumulator, layers: Mapping[AttentionSite, int]) -> list[str]:
    """Heads whose logits are all the same: slots and contents explain nothing, for there is nothing to explain."""
    labels = layer_labels({"layer": number, "part": site.part} for site, number in layers.items())
    flat = [
        head_name(layers[site], head, labels)
        for site, account in tally.accounts.items()
        for head in range(account.heads)
        if "position_share" in account.values and _is_flat(account, head)
    ]
    if not flat:
        return []
    names = ", ".join(flat[:NAMED]) + (f" and {len(flat) - NAMED} more" if len(flat) > NAMED else "")
    return [
        f"The logits of {names} do not vary beyond rounding in any row: positional and symbolic at once, and without "
        "shares, since there is no variance to share."
    ]


def _is_flat(account: LayerScores, head: int) -> bool:
    """Rows were measured, but none of them had any variance."""
    measured = any(np.isfinite(value_H[head]) for value_H in account.values.get("logit_variance", {}).values())
    return measured and not any(weight_H[head] > 0 for weight_H in account.weights["position_share"].values())


def _unlike(tally: ScoreAccumulator) -> list[str]:
    """Rotations that depend on the length of a text give its frequencies other angles."""
    if not any(account.frequencies is not None and account.frequencies.unlike for account in tally.accounts.values()):
        return []
    return ["Texts of unlike length are turned by unlike angles here: theta of a frequency is the mean over texts."]


def _finite(account: LayerScores, score: str) -> bool:
    return any(np.isfinite(value_H).any() for value_H in account.values.get(score, {}).values())
