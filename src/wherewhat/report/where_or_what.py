"""The sections on position against content: the bounds, the shares by layer, rotary frequencies, the hidden state."""

from collections.abc import Sequence
from typing import Any

from wherewhat.formatting import interval, rounded, short
from wherewhat.report.head_table import untrained_windows
from wherewhat.report.heads_data import HeadsPageData
from wherewhat.report.kinds import EXCLUSION, HIDDEN
from wherewhat.report.layer_charts import (
    correspondence,
    correspondence_by_layer,
    layer_strip,
    mean_parts,
    spectrum_norms,
    spectrum_parts,
    spectrum_scores,
)
from wherewhat.report.page import Columns, Section, Spec
from wherewhat.report.shares import bound, corners, halves, quarters, reach_of, temperature
from wherewhat.report.spectra import SPEED, correlations
from wherewhat.report.tags import Html, join, prose, tag
from wherewhat.report.where_or_what_charts import exclusion_plane, published_plane, triangle
from wherewhat.tables.manifest.decode import encode
from wherewhat.tables.manifest.scores import CorrespondenceSection
from wherewhat.tables.manifest.sections import SwapsSection

EXACT = (
    "P is how much a logit changes when other content comes into its slot. S is how much it changes when its content "
    "moves to another slot. Both are divided by the variance of the logits. `P = 0` is a purely positional head, "
    "`S = 0` a purely symbolic one. No head whose logits vary can be both: the variance is at most P + S, so the "
    "shaded corner stays empty. Scaling the logits moves no head."
)
PUBLISHED = (
    "Two keys, or two blocks of keys, are swapped. The positional score is the cosine between their two attention "
    "weights before and after; the symbolic score is the same cosine with the two weights exchanged. In every swap the "
    "squares of the two scores sum to 1 or more, so no head falls below the diagonal. Both are 1 only if attention is "
    "flat. Swaps are weighted by exp(difference of the two weights / τ): at τ = 0.0001 almost only the largest "
    "difference counts, at ∞ all swaps count equally."
)
CONFOUNDED = (
    "Compare these scores with entropy: a head with flat attention scores high on both whatever it does, and only a "
    "head with sharp attention can score low. Entropy is the mean over all sampled rows."
)
POSITION_FREE = (
    "These logits do not depend on slots: any position comes in with the hidden state. Swapping keys inside a layer "
    "would move their position along, and every head would count as symbolic."
)
UNDECOMPOSED = "The logits of this model were not decomposed: {}."
CARRIED = "Above the first layer, the content of a key may carry position too, which the exact shares cannot see."
NO_FREQUENCIES = "No rotary frequencies for this head: its logits were not decomposed ({})."
OTHERWISE = "The scores below measure this in other ways, and are not comparable with the exact shares:"
WAYS = {  # by the prefix of the scores that each of them gives
    "input.": "`input.` moves the tokens and runs the whole model again",
    "mean.": "`mean.` splits the input of a layer into its mean over texts (position) and the rest (content)",
}
MEASURES = {
    "positional": "positional score of a plane",
    "symbolic": "symbolic score of a plane",
    "position_part": "variance a plane adds by position",
    "symbol_part": "variance a plane adds by content",
    "interaction_part": "variance a plane adds by both",
    "variance_share": "total variance a plane adds",
    "position_share": "position share of a head",
    "symbol_share": "content share of a head",
    "interaction_share": "share of both together in a head",
    "query_norm": "norm of the query in a plane",
    "key_norm": "norm of the keys in a plane",
    "logit": "mean size of a plane's logit",
    "peak": "largest logit of a plane",
}
SPEEDS = {"theta": "speed of a plane", SPEED: "speed of a head's mean frequency"}
SWAPS = {
    "tau": "temperature τ",
    "first": "first slot swapped",
    "rows": "rows decomposed and swapped",
    "swaps": "swaps per row",
    "blocks": "blocks",
    "frequency_slots": "slots swapped per frequency, at most",
}
DEPTHS = {"const": 0.4, "pos": 1.0, "con": 0.7}  # the opacity of a part, by the query's side of it
HALVES = {"const": "constant", "pos": "position", "con": "content"}


def exclusion_bounds(data: HeadsPageData) -> Section | None:
    """The two planes of position against content, each with the corner that no head can be in."""
    views = [name for name, there in (("exclusion", data.ratios["name"]), ("published", data.pairs)) if there]
    if not views:
        return None
    words = {
        "exclusion": tag("div", tag("p", prose(EXACT)), data_view="exclusion"),
        "published": tag(
            "div",
            tag("p", PUBLISHED),
            tag("p", tag("b", CONFOUNDED)),
            tag("p", class_="with-entropy"),
            swap_settings(data.run.manifest.swaps),
            data_view="published",
        ),
    }
    beside = tag("div", *(words[view] for view in views), class_="beside")
    chart = tag("div", data_widget="bounds", data_views=" ".join(views), class_="panel")
    lede = (
        "No head whose logits vary can be purely positional and purely symbolic at once: none can be in the shaded "
        "corner."
    )
    return Section(
        "against", "Positional against symbolic", lede, tag("div", chart, beside, class_="first"), short="Bounds"
    )


def swap_settings(swaps: SwapsSection | None) -> Html:
    """How the swaps of the published scores were made."""
    entries = [
        tag("div", tag("dt", SWAPS.get(name, name.replace("_", " "))), tag("dd", _swap_setting(name, value)))
        for name, value in (encode(swaps) if swaps else {}).items()
    ]
    return tag("dl", *entries, class_="swaps") if entries else Html("")


def _swap_setting(name: str, value: Any) -> str:
    if name == "tau":
        return ", ".join(temperature(tau) for tau in (value if isinstance(value, (list, tuple)) else [value]))
    return "none" if value is None else str(value)


def shares_by_layer(data: HeadsPageData) -> Section | None:
    """The three shares from the first layer to the last."""
    if not data.triples or data.layers < 2:
        return None
    untrained = ", the dotted line untrained weights" if data.triples[0].scores[0].untrained is not None else ""
    lede = (
        f"Each mark is one head, the line is the mean over the heads of a layer, the dashed line is noise{untrained}. "
        "The three shares of a head sum to 1."
    )
    body = tag("div", data_widget="layers", class_="strips panel")
    return Section("layers", "Position and content by layer", lede, body, short="Layers")


def rotary_frequencies(data: HeadsPageData) -> Section | None:
    """What each rotary frequency carries, and how speed correlates with behaviour."""
    rows = correlations(data.run.manifest.correspondence)
    if not data.spectra.there and not rows:
        return None
    lede = (
        "A rotary plane that rotates fast distinguishes neighbouring slots; a slow one hardly does. "
        "ρ is the rank correlation of speed with behaviour, with its 95 % interval over heads: above 0, faster goes "
        "with more."
    )
    body = join(tag("div", data_widget="frequencies", class_="panel"), _correlation_table(rows))
    return Section("frequencies", "Rotary frequencies", lede, body, short="Frequencies")


def _correlation_table(rows: Sequence[CorrespondenceSection]) -> Html:
    """The correlations with speed as numbers, folded."""
    if not rows:
        return Html("")
    names = ("layer", "with", "behaviour", "ρ", "95 % interval", "points")
    lines = [
        (
            "all layers" if row.layer is None else f"layer {row.layer}",
            SPEEDS.get(row.x, row.x),
            MEASURES.get(row.y, row.y),
            short(row.rho),
            interval(row.low, row.high),
            "" if row.points is None else str(row.points),
        )
        for row in rows
    ]
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    table = tag(
        "table", tag("thead", head), tag("tbody", *(tag("tr", *(tag("td", c) for c in line)) for line in lines))
    )
    return tag("details", tag("summary", "These correlations as numbers"), tag("div", table, class_="numbers"))


def hidden_state(data: HeadsPageData) -> Section | None:
    """Other measurements, for models with position in the hidden state."""
    if not data.hidden:
        return None
    names = [score.name for score in data.run.answered if score.kind == HIDDEN]
    ways = [way for start, way in WAYS.items() if any(name.startswith(start) for name in names)]
    undecomposed = UNDECOMPOSED.format("; ".join(data.reasons)) if data.reasons else POSITION_FREE
    lede = f"{CARRIED if data.exact else undecomposed} {OTHERWISE} {'; '.join(ways)}."
    body = tag("div", data_widget="hidden", class_="hidden-state")
    return Section("hidden", "Position in the hidden state", lede, body, short="Hidden state")


def where_chart_specs(data: HeadsPageData) -> dict[str, Spec]:
    """The chart patterns of these sections."""
    run = data.run
    many: dict[str, Any] = {"parts": run.parts, "layers": data.layers, "heads": len(run.heads["name"])}
    entropy = next((score.key for score in run.find("entropy")), None)
    charts: dict[str, Spec] = {}
    if data.triples:
        charts |= {"triangle": triangle(**many)}
    if data.triples or data.hidden:
        charts |= {"layers": layer_strip(data.layers)}
    if data.ratios["name"]:
        charts |= {"exclusion": exclusion_plane(**many)}
    if data.pairs or data.moved:
        charts |= {"published": published_plane(entropy=entropy, **many)}
    if data.spectra.there:
        charts |= {"norms": spectrum_norms(), "shares": spectrum_parts(), "scores": spectrum_scores()}
    if run.manifest.correspondence:
        charts |= {"correspondence": correspondence(), "correspondence by layer": correspondence_by_layer()}
    return charts | ({"means": mean_parts(data.layers)} if data.hidden else {})


def where_chart_tables(data: HeadsPageData) -> dict[str, Columns]:
    """The numbers that these charts draw, beside those of the heads."""
    tables: dict[str, Columns] = {}
    if data.triples:
        tables |= {"lines": quarters(), "halves": halves(), "corners": corners(data.triples[0])}
    if data.ratios["name"] or data.pairs or data.moved:
        tables |= {"bound": bound()}
    if data.ratios["name"]:
        tables |= {"exclusion": data.ratios}
    if data.spectra.there:
        tables |= {"thetas": data.spectra.thetas, "spectra": data.spectra.heads}
    return tables | ({"means": _mean_logit_parts(data)} if data.hidden else {})


def where_widget_data(data: HeadsPageData) -> dict[str, Any]:
    """What the widgets of these sections need beside the tables."""
    run, mixed = data.run, data.mixed
    return {
        "triples": [triple.about for triple in data.triples],
        "views": [view.about for view in data.views],
        "mixed": dict(zip(mixed["name"], zip(mixed["how"], mixed["why"], strict=True), strict=True)),
        "pairs": [pair.about for pair in data.pairs],
        "moved": [pair.about for pair in data.moved],
        "exclusion": [score.key for score in run.find(*EXCLUSION)],
        "reach": rounded(reach_of(data.ratios)),
        "entropy": next((score.key for score in run.find("entropy")), None),
        "position": next((score.key for score in run.find("mean.position")), None),
        "correspondence": [
            {
                "layer": "all" if row.layer is None else str(row.layer),
                "x": row.x,
                "y": row.y,
                "title": MEASURES.get(row.y, row.y),
                **{name: getattr(row, name) for name in ("rho", "low", "high", "points")},
            }
            for row in correlations(run.manifest.correspondence)
        ],
        "fresh": untrained_windows(run.manifest),
        "still": {str(layer): NO_FREQUENCIES.format(reason) for layer, reason in data.undecomposed.items()},
    }


def _mean_logit_parts(data: HeadsPageData) -> Columns:
    """By layer the mean over its heads of each part of the logits: one side of the query with one side of the key."""
    rows, heads = [], data.run.heads
    for order, (query, key) in enumerate((query, key) for key in ("pos", "con") for query in DEPTHS):
        for score in data.run.find(f"mean.{query}_{key}"):
            pairs = list(zip(heads["layer"], heads[f"value_{score.key}"], strict=True))
            for layer in sorted(set(heads["layer"])):
                values = [value for at, value in pairs if at == layer and value is not None]
                if values:
                    words = f"query {HALVES[query]}, key {HALVES[key]}"
                    rows.append((layer, DEPTHS[query], key, order, rounded(sum(values) / len(values)), words))
    names = ("layer", "depth", "side", "order", "value", "words")
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}
