"""How to read the scores of the positional part, in plain words."""

from collections.abc import Collection, Sequence
from typing import Any

from wherewhat.capture.hooks.reader import AttentionSite, numbered
from wherewhat.capture.tokens.encode import token_names
from wherewhat.profiling.positional_part.copies import Copies, Probe
from wherewhat.profiling.positional_part.delta import Delta
from wherewhat.profiling.positional_part.masks import is_window, mask_name, reach_of
from wherewhat.profiling.positional_part.measures import MEASURES, even_both_ways, even_levels

NAMED = 5  # words that a note names
CHEN = "Chen, Varoquaux and Suchanek 2023, arXiv 2310.12864"
SOURCES = {
    "identical": "in texts of one word over and over",
    "unmasked": "in texts of one word over and over, the causal mask taken away",
    "delta": "by what the weights make of positions alone",
    "mean": "by the mean vector of each slot over texts",
}
CONTEXTUAL = "contextual"
_ASKS = {
    "locality": "how near does the head look",
    "excess": "how much nearer than even attention does the head look",
    "beyond": "how near does the head look, apart from itself",
    "symmetry": "do left and right look alike, as published",
    "balance": "do left and right get the same attention",
    "lean": "to which side does the head lean",
}
_ENDS = {
    "locality": ("Far away or evenly spread: even attention over n tokens gets about 3/n.", "Only the token itself."),
    "excess": ("0 is even attention; below 0 the head avoids what is near.", "Only the token itself."),
    "beyond": ("Far away or evenly spread, or only the token itself.", "Only its neighbours; half for a step further."),
    "symmetry": ("Most distances differ about as much as the widest.", "Few distances differ much; noise gets .6 up."),
    "balance": ("One side only.", "Left and right mirror each other, as even attention does too."),
    "lean": ("-1: only what comes later.", "1: only what came before. 0 is neither side."),
}
_CHANCES = {
    "locality": "uniform",
    "excess": "uniform",
    "beyond": "uniform",
    "symmetry": "random logits",
    "balance": "random logits",
}


def names() -> list[str]:
    """Every score of the positional part.

    >>> names()[:2], len(names())
    (['identical.locality', 'identical.excess'], 42)
    """
    plain = [f"{source}.{measure}" for source in SOURCES for measure in MEASURES]
    beside = [source for source in SOURCES if source != "unmasked"]
    return plain + [f"{source}.{CONTEXTUAL}.{measure}" for source in beside for measure in MEASURES]


def about(name: str, n: int) -> dict[str, Any]:
    """How to read a score of n slots."""
    source, _, measure = name.partition(".")
    rest = measure.startswith(CONTEXTUAL)
    measure = measure.removeprefix(f"{CONTEXTUAL}.")
    how = f"Without its positional part ({SOURCES[source]})" if rest else f"Position alone, {SOURCES[source]}"
    low, high = _ENDS[measure]
    ours = measure in ("excess", "beyond", "balance", "lean")
    return {
        "asks": f"{how}: {_ASKS[measure]}?",
        "low": low,
        "high": high,
        "range": _range(measure, n),
        "paper": f"wherewhat; after {CHEN}" if ours or rest else CHEN,
        "chance": _CHANCES.get(measure, "neither side"),
        "sides": False,
    }


def _range(measure: str, n: int) -> list[float]:
    even = even_both_ways(n)
    return {"excess": [-even / (1 - even), 1.0], "lean": [-1.0, 1.0]}.get(measure, [0.0, 1.0])


def notes(probe: Probe, copies: Copies, delta: Delta, texts: Sequence[Any], of: int) -> list[str]:
    """What has to be known to read them."""
    return [
        *_of_copies(probe, copies),
        *_of_delta(probe, delta),
        *_of_curved(probe, delta),
        *_of_mean(probe, texts, of),
    ]


def _of_copies(probe: Probe, copies: Copies) -> list[str]:
    few = ", ".join(token_names(probe.model, probe.words_W[:NAMED]))
    more = ", ..." if len(probe.words_W) > NAMED else ""
    masks = {mask_name(reach_of(sums.allowed_TT)): sums.allowed_TT for sums in copies.identical.values()}
    under = [
        f"{even_levels(mask_TT)['locality']:.3f} under the mask: {name}" for name, mask_TT in masks.items() if name
    ]
    causal = f" ({', '.join(under)})" if under else ""
    told = [
        f"The positional part was read at n = {probe.n} copies of one word, {len(probe.words_W)} words ({few}{more}), "
        f"without special tokens; attention was averaged over words before it was measured. Locality depends on n: "
        f"even attention gets {even_both_ways(probe.n):.3f} here{causal}, so compare only at the same n. Above the "
        "first layer hidden states of one word may differ by slot, and the values hold what lower layers did as well."
    ]
    if probe.n < probe.probing.length:
        told.append(f"{probe.probing.length} copies were asked for, but the model holds {probe.n}.")
    if len(probe.words_W) < probe.probing.words:
        told.append(f"{probe.probing.words} words were asked for, but the vocabulary has {len(probe.words_W)}.")
    if len(probe.asked) < len(probe.sites):
        told.append("A decoder reads its text shifted by one token; the positional part is about the encoder.")
    if copies.masked:
        told.append(
            "Under a causal mask symmetry means nothing, so identical has only locality, excess and beyond there, held "
            "against even attention under the mask; unmasked takes the mask away from the same logits and has all of "
            "the measures."
        )
    windows = [site for site, sums in copies.identical.items() if is_window(reach_of(sums.allowed_TT))]
    if windows:
        seen = sorted({mask_name(reach_of(copies.identical[site].allowed_TT)) for site in windows})
        told.append(
            f"In {_layers(windows, probe)} a token sees a window only ({', '.join(seen)}): identical is held against "
            "even attention inside it. Where logits tell what lies outside, delta, mean and unmasked take the window "
            "away as well, and say what heads would make of keys that they never see."
        )
    if silent := copies.masked - set(copies.unmasked):
        told.append(
            f"In {_layers(silent, probe)} nothing is known of keys that the mask hides, so unmasked is not given, and "
            "delta and mean are taken under the mask."
        )
    return told


def _of_delta(probe: Probe, delta: Delta) -> list[str]:
    told = []
    if delta.table:
        told.append(
            "delta is the model's table of positions through the query and key weights of each layer, biases dropped; "
            "where the sum of token and position is normed before the first layer, the table as that norm scales it, "
            "in the mean over probing words. Above the first layer the table no longer arrives as it is, and delta "
            "says what it would be met with."
        )
    if delta.relative:
        told.append(
            f"In {_layers(delta.relative, probe)} delta is the attention of tokens that all have the same vector, the "
            "mean of the probing words: what still tells keys apart is what the logits know of slots."
        )
    if delta.both:
        told.append(
            f"In {_layers(delta.both, probe)} a table of positions is added to the tokens too; delta leaves it out, "
            "identical and mean have it."
        )
    if delta.bent:
        told.append(f"In {_layers(delta.bent, probe)} there is no delta: a table is not read by linear weights there.")
    if delta.none:
        told.append(f"In {_layers(delta.none, probe)} there is no delta: neither logits nor a table know positions.")
    return told


def _of_curved(probe: Probe, delta: Delta) -> list[str]:
    if not delta.curved:
        return []
    return [
        f"In {_layers(delta.curved, probe)} logits are not linear in queries and keys, or these not in what the "
        "attention reads (some models norm them inside): mean, and delta where all tokens share one vector, are there "
        "what is made of the mean vector, not of the mean query and key."
    ]


def _of_mean(probe: Probe, texts: Sequence[Any], of: int) -> list[str]:
    if len(texts) < 2:
        return ["mean was not taken: it needs at least 2 texts of which half reach 3 tokens."]
    return [
        f"mean and the contextual parts are over the first {len(texts[0])} tokens of {len(texts)} of {of} texts, cut "
        "there. The contextual part is each text's attention divided by the positional one, rows normalised again."
    ]


def _layers(sites: Collection[AttentionSite], probe: Probe) -> str:
    """Some layers in words."""
    if len(sites) == len(probe.asked):
        return "all layers"
    layers = numbered(probe.sites)
    return f"layer {', '.join(str(number) for number in sorted(layers[site] for site in sites))}"
