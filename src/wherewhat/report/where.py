"""The sections that answer the page's question: where against what, by layer, by frequency, in the hidden state."""

from collections.abc import Mapping, Sequence
from typing import Any

from wherewhat.report.findings import Findings
from wherewhat.report.kinds import EXCLUSION, HIDDEN
from wherewhat.report.measured import Manifest, fresh_windows
from wherewhat.report.numbers import interval, rounded, short
from wherewhat.report.page import Columns, Section, Spec
from wherewhat.report.planes import exclusion_plane, published_plane, triangle
from wherewhat.report.shares import bound, corners, halves, quarters, reach_of, temperature
from wherewhat.report.speeds import SPEED, with_speed
from wherewhat.report.strips import (
    correspondence,
    correspondence_by_layer,
    layer_strip,
    mean_parts,
    spectrum_norms,
    spectrum_parts,
    spectrum_scores,
)
from wherewhat.report.tags import Html, join, prose, tag

EXACT = (
    "P is how much a logit changes when other content comes into its slot, S how much it changes when its content goes "
    "to another slot; both are measured against how much the logits vary at all. `P = 0` is a purely positional head, "
    "`S = 0` a purely symbolic one. No head whose logits vary can be both: the variance is never more than P and S "
    "together, so the shaded corner stays empty. Scaling the logits moves no head."
)
PUBLISHED = (
    "Two keys, or two blocks of them, trade places: the cosine of their two weights before and after is the positional "
    "score, the cosine with the weights exchanged the symbolic one. In every swap the squares of the two sum to 1 or "
    "more, so no head falls below the diagonal, and both are 1 only where attention is flat. Swaps count by exp(gap of "
    "the two weights / τ): at τ = 0.0001 hardly any but the widest gap counts, at ∞ all alike."
)
CONFOUNDED = (
    "Read them beside entropy: a flat head scores high on both whatever it does, and only a sharp one can score low. "
    "Entropy is the mean over all rows that were looked at."
)
ABSORBED = (
    "No slot has a say in these logits: position, if any, came in with the hidden state, so exchanging keys inside a "
    "layer moves position with them and every head would count as symbolic."
)
OPAQUE = "The logits of this model were not taken apart: {}."
CARRIED = "Above the first layer, contents may carry position too, which exact shares cannot see."
STILL = "No rotary frequencies for this head: its logits were not taken apart, as {}."
OTHERWISE = "These are other measurements, not to be compared with exact shares number by number:"
WAYS = {  # by the scores that each of them gives
    "input.": "`input.` moves the tokens and runs the whole model again",
    "mean.": "`mean.` splits what a layer reads into its mean over texts (position) and the rest (content)",
}
MEASURES = {
    "positional": "positional score of a plane",
    "symbolic": "symbolic score of a plane",
    "position_part": "what a plane adds by place",
    "symbol_part": "what a plane adds by content",
    "interaction_part": "what a plane adds by both together",
    "variance_share": "what a plane adds in all",
    "position_share": "how far a head goes by place",
    "symbol_share": "how far a head goes by content",
    "interaction_share": "how far a head goes by both together",
    "query_norm": "norm of the query in a plane",
    "key_norm": "norm of the keys in a plane",
    "logit": "size of a plane's logit",
    "peak": "largest logit of a plane",
}
SPEEDS = {"theta": "speed of a plane", SPEED: "speed of a head's mean frequency"}
SWAPS = {
    "tau": "temperature τ",
    "first": "first slot that is swapped",
    "rows": "rows decomposed and swapped",
    "swaps": "swaps of a row",
    "blocks": "blocks",
    "frequency_slots": "slots swapped in each frequency, at most",
}
DEPTHS = {"const": 0.4, "pos": 1.0, "con": 0.7}  # how strongly a part is drawn, by what of the query it is
HALVES = {"const": "constant", "pos": "position", "con": "content"}


def against(found: Findings) -> Section | None:
    """The two planes of where against what, each with the corner that no head can be in."""
    views = [name for name, there in (("exclusion", found.ratios["name"]), ("published", found.pairs)) if there]
    if not views:
        return None
    words = {
        "exclusion": tag("div", tag("p", prose(EXACT)), data_view="exclusion"),
        "published": tag(
            "div",
            tag("p", PUBLISHED),
            tag("p", tag("b", CONFOUNDED)),
            tag("p", class_="with-entropy"),
            the_swaps(found.run.manifest),
            data_view="published",
        ),
    }
    beside = tag("div", *(words[view] for view in views), class_="beside")
    chart = tag("div", data_widget="bounds", data_views=" ".join(views), class_="panel")
    lede = "No head whose logits vary is positional and symbolic at once; the shaded corner shows how far that goes."
    return Section("against", "Where against what", lede, tag("div", chart, beside, class_="first"), short="Bounds")


def the_swaps(manifest: Manifest) -> Html:
    """How the swaps of the published scores were made."""
    swaps = manifest.get("swaps") or {}
    rows = [(SWAPS.get(name, name.replace("_", " ")), _swap(name, value)) for name, value in swaps.items()]
    entries = [tag("div", tag("dt", name), tag("dd", value)) for name, value in rows]
    return tag("dl", *entries, class_="swaps") if entries else Html("")


def _swap(name: str, value: Any) -> str:
    if name == "tau":
        return ", ".join(temperature(tau) for tau in (value if isinstance(value, (list, tuple)) else [value]))
    return "none" if value is None else str(value)


def by_layer(found: Findings) -> Section | None:
    """The three shares from the first layer to the last."""
    if not found.triples or found.layers < 2:
        return None
    fresh = ", dots what fresh weights get" if found.triples[0].scores[0].untrained is not None else ""
    lede = (
        f"A mark is one head, the line the mean of a layer's heads, dashes noise{fresh}. For every head the three sum "
        "to 1."
    )
    body = tag("div", data_widget="layers", class_="strips panel")
    return Section("layers", "From early to late layers", lede, body, short="Layers")


def by_frequency(found: Findings) -> Section | None:
    """Which rotary frequencies carry where and what, and how surely speed and behaviour go together."""
    rows = correlations(found.run.manifest)
    if not found.spectra.there and not rows:
        return None
    lede = (
        "A rotary plane that turns fast tells neighbouring slots apart; one that turns slowly hardly does. "
        "ρ is the rank correlation of speed with behaviour, with its 95 % interval over heads: above 0, the faster the "
        "more."
    )
    body = join(tag("div", data_widget="frequencies", class_="panel"), _listed(rows))
    return Section("frequencies", "Frequency and behaviour", lede, body, short="Frequencies")


def correlations(manifest: Manifest) -> list[dict[str, Any]]:
    """How behaviour goes with speed, all of it in one orientation."""
    oriented = []
    for row in manifest.get("correspondence") or ():
        x, (rho, low, high) = with_speed(str(row.get("x") or "theta"), row.get("rho"), row.get("low"), row.get("high"))
        oriented.append({**row, "x": x, "rho": rounded(rho), "low": rounded(low), "high": rounded(high)})
    return oriented


def _listed(rows: Sequence[Mapping[str, Any]]) -> Html:
    """The same correlations as a table, folded away."""
    if not rows:
        return Html("")
    names = ("layer", "with", "behaviour", "ρ", "95 % interval", "points")
    lines = [
        (
            _layer(row),
            SPEEDS.get(row["x"], row["x"]),
            MEASURES.get(str(row.get("y")), str(row.get("y"))),
            short(row["rho"]),
            interval(row["low"], row["high"]),
            str(row.get("points", "")),
        )
        for row in rows
    ]
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    table = tag(
        "table", tag("thead", head), tag("tbody", *(tag("tr", *(tag("td", c) for c in line)) for line in lines))
    )
    return tag("details", tag("summary", "These correlations as numbers"), tag("div", table, class_="numbers"))


def _layer(row: Mapping[str, Any]) -> str:
    return "all layers" if row.get("layer") is None else f"layer {row['layer']}"


def in_the_hidden_state(found: Findings) -> Section | None:
    """Other measurements, for models whose position sits in the hidden state."""
    if not found.hidden:
        return None
    names = [score.name for score in found.run.answered if score.kind == HIDDEN]
    ways = [way for start, way in WAYS.items() if any(name.startswith(start) for name in names)]
    lede = f"{_why_inside(found)} {OTHERWISE} {'; '.join(ways)}."
    body = tag("div", data_widget="hidden", class_="hidden-state")
    return Section("hidden", "Position in the hidden state", lede, body, short="Hidden state")


def _why_inside(found: Findings) -> str:
    """Why it was looked for inside hidden states."""
    if found.exact:
        return CARRIED
    reasons = found.reasons
    return OPAQUE.format("; ".join(reasons)) if reasons else ABSORBED


def where_charts(found: Findings) -> dict[str, Spec]:
    """The patterns of these sections' charts."""
    run = found.run
    many: dict[str, Any] = {"parts": run.parts, "layers": found.layers, "heads": len(run.heads["name"])}
    entropy = next((score.key for score in run.find("entropy")), None)
    charts: dict[str, Spec] = {}
    if found.triples:
        charts |= {"triangle": triangle(**many)}
    if found.triples or found.hidden:
        charts |= {"layers": layer_strip(found.layers)}
    if found.ratios["name"]:
        charts |= {"exclusion": exclusion_plane(**many)}
    if found.pairs or found.moved:
        charts |= {"published": published_plane(entropy=entropy, **many)}
    if found.spectra.there:
        charts |= {"norms": spectrum_norms(), "shares": spectrum_parts(), "scores": spectrum_scores()}
    if found.run.manifest.get("correspondence"):
        charts |= {"correspondence": correspondence(), "correspondence by layer": correspondence_by_layer()}
    return charts | ({"means": mean_parts(found.layers)} if found.hidden else {})


def where_tables(found: Findings) -> dict[str, Columns]:
    """The numbers these sections draw, beside those of the heads."""
    tables: dict[str, Columns] = {}
    if found.triples:
        tables |= {"lines": quarters(), "halves": halves(), "corners": corners(found.triples[0])}
    if found.ratios["name"] or found.pairs or found.moved:
        tables |= {"bound": bound()}
    if found.ratios["name"]:
        tables |= {"exclusion": found.ratios}
    if found.spectra.there:
        tables |= {"thetas": found.spectra.thetas, "spectra": found.spectra.heads}
    return tables | ({"means": _means(found)} if found.hidden else {})


def where_about(found: Findings) -> dict[str, Any]:
    """What the widgets of these sections must know."""
    entropy = next((score.key for score in found.run.find("entropy")), None)
    return {
        "triples": [one.about for one in found.triples],
        "views": [one.about for one in found.views],
        "mixed": dict(zip(found.mixed["name"], zip(found.mixed["how"], found.mixed["why"], strict=True), strict=True)),
        "pairs": [one.about for one in found.pairs],
        "moved": [one.about for one in found.moved],
        "exclusion": [score.key for score in found.run.find(*EXCLUSION)],
        "reach": rounded(reach_of(found.ratios)),
        "entropy": entropy,
        "position": next((score.key for score in found.run.find("mean.position")), None),
        "correspondence": _correspondence(found.run.manifest),
        "fresh": fresh_windows(found.run.manifest),
        "still": {str(layer): STILL.format(reason) for layer, reason in found.opaque.items()},
    }


def _correspondence(manifest: Manifest) -> list[dict[str, Any]]:
    return [
        {
            "layer": "all" if row.get("layer") is None else str(row["layer"]),
            "x": row["x"],
            "y": str(row.get("y")),
            "title": MEASURES.get(str(row.get("y")), str(row.get("y"))),
            **{name: row.get(name) for name in ("rho", "low", "high", "points")},
        }
        for row in correlations(manifest)
    ]


def _means(found: Findings) -> Columns:
    """By layer the mean over its heads of each part of the logits: what of the query meets what of the key."""
    rows = []
    for order, (query, key) in enumerate((query, key) for key in ("pos", "con") for query in DEPTHS):
        for score in found.run.find(f"mean.{query}_{key}"):
            values = found.run.heads[f"value_{score.key}"]
            for layer in sorted(set(found.run.heads["layer"])):
                its = [
                    v for v, at in zip(values, found.run.heads["layer"], strict=True) if at == layer and v is not None
                ]
                if its:
                    said = f"query {HALVES[query]}, key {HALVES[key]}"
                    rows.append((layer, DEPTHS[query], key, order, rounded(sum(its) / len(its)), said))
    names = ("layer", "depth", "side", "order", "value", "words")
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}
