"""The sections on position against content: the bounds, the shares by layer, and position in the hidden state."""

from itertools import groupby, product
from typing import Any

import altair as alt

from wherewhat.formatting import rounded
from wherewhat.report.blocks.axes import INK, MUTED, PAPER, WHAT, WHERE, colour, gradient, layer_colour, shade, x, y
from wherewhat.report.blocks.exclusion import bound, excluded_corner
from wherewhat.report.blocks.layout import definitions
from wherewhat.report.blocks.marks import TIP, chosen_head, dots, layered, line, named, zero_rule
from wherewhat.report.blocks.rows import table_of
from wherewhat.report.core.html import Html, join, prose, tag
from wherewhat.report.core.page import Columns, Section, Spec, Widget
from wherewhat.report.core.palette import LIGHT
from wherewhat.report.pages.heads.head_charts import head_points, layer_axis
from wherewhat.report.pages.heads.head_table import HIDDEN, HeadTable
from wherewhat.report.pages.heads.shares import EXCLUSION, about_pair, exclusion, pairs, reach_of, temperature, triples
from wherewhat.tables.manifest.decode import encode
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
OTHERWISE = "The scores below measure this in other ways, and are not comparable with the exact shares:"
WAYS = {  # by the prefix of the scores that each of them gives
    "input.": "`input.` moves the tokens and runs the whole model again",
    "mean.": "`mean.` splits the input of a layer into its mean over texts (position) and the rest (content)",
}
SWAPS = {
    "tau": "temperature τ",
    "first": "first slot swapped",
    "rows": "rows decomposed and swapped",
    "swaps": "swaps per row",
    "blocks": "blocks",
    "frequency_slots": "slots swapped per frequency, at most",
}
SIDES = {"const": ("constant", 0.4), "pos": ("position", 1.0), "con": ("content", 0.7)}  # of the query: its opacity


def exclusion_bounds(run: HeadTable) -> Section | None:
    """The two planes of position against content, each with the corner that no head can be in."""
    ratios, published = exclusion(run), pairs(run)
    charts = {"exclusion": _exclusion_plane(run)} if ratios["name"] else {}
    charts |= {"published": _published_plane(run)} if published else {}
    if not charts:
        return None
    about = {
        "pairs": [about_pair(run, pair) for pair in published],
        "exclusion": [score.key for score in run.find(*EXCLUSION)],
        "reach": rounded(reach_of(ratios)),
        "entropy": run.key("entropy"),
    }
    look = {"data_views": " ".join(charts), "class_": "panel"}
    widget = Widget("bounds", charts, {"exclusion": ratios, "bound": bound()}, about, attributes=look)
    swaps = tag("p", class_="with-entropy"), swap_settings(run.manifest.swaps)
    words = {
        "exclusion": tag("div", tag("p", prose(EXACT)), data_view="exclusion"),
        "published": tag("div", tag("p", PUBLISHED), tag("p", tag("b", CONFOUNDED)), *swaps, data_view="published"),
    }
    beside = tag("div", *(words[view] for view in charts), class_="beside")
    lede = (
        "No head whose logits vary can be purely positional and purely symbolic at once: none can be in the shaded "
        "corner."
    )
    body = tag("div", widget, beside, class_="first")
    return Section("against", "Positional against symbolic", lede, body, short="Bounds")


def swap_settings(swaps: SwapsSection | None) -> Html:
    """How the swaps of the published scores were made."""
    entries = []
    for name, value in (encode(swaps) if swaps else {}).items():
        several = value if isinstance(value, (list, tuple)) else [value]
        written = ", ".join(map(temperature, several)) if name == "tau" else "none" if value is None else str(value)
        entries.append((SWAPS.get(name, name.replace("_", " ")), written))
    return definitions(entries, "swaps") if entries else Html("")


def _exclusion_plane(run: HeadTable) -> Spec:
    """P against S in units of the variance of the logits. `reach` is the end of both axes."""
    root: dict[str, Any] = {"scale": "sqrt", "domain": [0, alt.ExprRef("reach")], "nice": False, "clamp": True}
    root |= {"values": [0, 0.1, 0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 9], "format": "~g", "labelOverlap": "greedy"}
    place = {
        "x": x("x", "← purely positional    P / Var (√ scale)", **root),
        "y": y("y", "← purely symbolic    S / Var (√ scale)", **root),
    }
    points = named("heads")
    return layered(
        *excluded_corner(place, ("no head can be here:", "exclusion theorem,", "Var ≤ P + S")),
        head_points(points, place, run, color=layer_colour(run.layers)),
        *chosen_head(points, place),
        reach=3,
    )


def _published_plane(run: HeadTable) -> Spec:
    """The published scores against each other, coloured by entropy: flat attention is in the upper right corner."""
    unit: dict[str, Any] = {"domain": [0, 1.0], "nice": False, "tickCount": 5}
    bare = {"x": x("x", "{x title}", **unit), "y": y("y", "{y title}", **unit)}
    place = {"x": x("value_{x}", "{x title}", **unit), "y": y("value_{y}", "{y title}", **unit)}
    points = named("heads").transform_filter("isValid(datum['value_{x}']) && isValid(datum['value_{y}'])")
    flat = named("bound").transform_filter("datum.x == 1").transform_calculate(high="1")
    words: dict[str, Any] = {"align": "right", "fontSize": 11, "color": MUTED, "dx": -6, "dy": 12}
    shades = [shade("spread", step) for step in range(len(LIGHT.spread))]
    scale, legend = alt.Scale(range=shades, interpolate="lab", domain=[0, 1]), gradient("entropy", tickCount=3)
    entropy = run.key("entropy")
    spread = alt.Color(f"value_{entropy}", type="quantitative", scale=scale, legend=legend)
    return layered(
        *excluded_corner(bare),
        flat.mark_text(text="flat attention ↗", **words).encode(x=bare["x"], y="high:Q"),
        head_points(points, place, run, color=spread if entropy else layer_colour(run.layers)),
        *chosen_head(points, place),
    )


def shares_by_layer(run: HeadTable) -> Section | None:
    """The three shares from the first layer to the last."""
    measured = triples(run)
    if not measured or run.layers < 2:
        return None
    untrained = ", the dotted line untrained weights" if measured[0].scores[0].untrained is not None else ""
    lede = (
        f"Each mark is one head, the line is the mean over the heads of a layer, the dashed line is noise{untrained}. "
        "The three shares of a head sum to 1."
    )
    widget = Widget("layers", charts={"layers": _layer_strip(run)}, attributes={"class_": "strips panel"})
    return Section("layers", "Position and content by layer", lede, join(widget), short="Layers")


def _layer_strip(run: HeadTable) -> Spec:
    """One score from the first layer to the last: every head as a faint dot, the layers' means as a line."""
    heads = named("heads").transform_filter("isValid(datum['value_{score}'])")
    across, hue = layer_axis(run.layers), alt.ExprRef("hue")
    ends: dict[str, Any] = {"domain": [alt.ExprRef("y_span[0]"), alt.ExprRef("y_span[1]")], "nice": False}
    place = {"x": across, "y": y("value_{score}", **ends, zero=False, tickCount=5)}

    def means(number: str) -> alt.Chart:
        known = heads.transform_filter(f"isValid(datum['{number}_{{score}}'])")
        return known.transform_aggregate(mean=f"mean({number}_{{score}})", groupby=["layer"])

    chosen = heads.transform_filter("datum.name == selected")
    middle = {"x": across, "y": y("mean", **ends, zero=False, tickCount=5)}
    dot: dict[str, Any] = {"filled": True, "size": 26, "opacity": 0.42, "cursor": "pointer", "tooltip": TIP}
    return layered(
        line(means("chance"), middle, width=1, stroke=MUTED, strokeDash=[3, 4]),
        line(means("untrained"), middle, width=2, stroke=INK, strokeDash=[1, 4], strokeCap="round"),
        heads.mark_point(color=hue, **dot).encode(**place),
        line(means("value"), middle, stroke=hue),
        dots(means("value"), middle, size=46, fill=hue),
        chosen.mark_point(filled=False, size=130, stroke=INK, strokeWidth=1.8).encode(**place),
        hue=WHERE,
        y_span=[0, 1],
    )


def hidden_state(run: HeadTable) -> Section | None:
    """Other measurements, for models with position in the hidden state."""
    moved, position = pairs(run, "input."), run.key("mean.position")
    kinds = {triple.name for triple in triples(run)}
    if not (moved or position or "input" in kinds):
        return None
    names = [score.name for score in run.answered if score.kind == HIDDEN]
    ways = [way for start, way in WAYS.items() if any(name.startswith(start) for name in names)]
    exact = "shares" in kinds or "exact" in [each.logits for each in run.manifest.layers]
    reasons = "; ".join(dict.fromkeys(run.undecomposed.values()))
    why = CARRIED if exact else UNDECOMPOSED.format(reasons) if run.undecomposed else POSITION_FREE
    charts = {"layers": _layer_strip(run), "means": _mean_parts(run.layers)}
    charts |= {"published": _published_plane(run)} if moved else {}
    tables = {"bound": bound(), "means": _mean_logit_parts(run)}
    about = {"moved": [about_pair(run, pair) for pair in moved], "position": position, "entropy": run.key("entropy")}
    widget = Widget("hidden", charts, tables, about, attributes={"class_": "hidden-state"})
    lede = f"{why} {OTHERWISE} {'; '.join(ways)}."
    return Section("hidden", "Position in the hidden state", lede, join(widget), short="Hidden state")


def _mean_parts(layers: int) -> Spec:
    """The logits of a layer's heads, split by the sides of query and key; parts may be negative."""
    rows = named("parts")
    bars = rows.mark_bar(width=alt.ExprRef(f"max(4, width / {layers} * 0.7)"), tooltip=TIP, stroke=PAPER)
    stacked = bars.encode(
        x=layer_axis(layers),
        y=y("value", "share of the logits", stack="zero", tickCount=5),
        color=colour("side", {"pos": WHERE, "con": WHAT}),
        opacity=alt.Opacity("depth", type="quantitative", scale=None),
        order=alt.Order("order", type="quantitative"),
    )
    return layered(stacked, zero_rule(rows, alt.Y("value", type="quantitative"), along="y"))


def _mean_logit_parts(run: HeadTable) -> Columns:
    """By layer the mean over its heads of each part of the logits: one side of the query with one side of the key."""
    rows = []
    for order, (key, (query, (word, depth))) in enumerate(product(("pos", "con"), SIDES.items())):
        part = {"depth": depth, "side": key, "order": order, "words": f"query {word}, key {SIDES[key][0]}"}
        for score in run.find(f"mean.{query}_{key}"):
            for layer, heads in groupby(run.scored(score), key=lambda head: head.layer):
                values = [head.value for head in heads]
                rows.append({"layer": layer, **part, "value": rounded(sum(values) / len(values))})
    return table_of(rows)
