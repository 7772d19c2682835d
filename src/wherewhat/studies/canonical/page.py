"""The page of the canonical tasks: what one head with one frequency can learn, by its angle."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import Number, count, listed, percent
from wherewhat.report.blocks.axes import ACCENT, BOTH, INK, LINE, MUTED, WHAT, WHERE, colour, dash, names, share, x, y
from wherewhat.report.blocks.chart import bars, chart
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.layout import columns, counted, panel, paragraphs, small
from wherewhat.report.blocks.marks import DASHES, ROWS, band, dots, line, named, rule, text_labels, where, whiskers
from wherewhat.report.blocks.numbers import per_cent, small_interval
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.blocks.table import table
from wherewhat.report.core.html import Html, join, tag
from wherewhat.report.core.page import Chart, Page, Section
from wherewhat.studies.canonical import BASES, INDEX, LEARNT, ONE_PLANE, RETRIEVAL, SOLVED, TWO_PLANES
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.tables.manifest.study import CanonicalManifest

Colours = Mapping[str, Any]  # of heads
Labels = Mapping[str, tuple[str, float, int, int]]  # of heads: words, the base they stand at, how far beside it
Look = dict[str, Any]  # of charts and axes
TITLES = {INDEX: "Index", RETRIEVAL: "Retrieval"}
TITLES |= {ONE_PLANE: "Partial induction, one plane", TWO_PLANES: "Partial induction, two planes"}
SIMPLE, INDUCTION = {INDEX: WHERE, RETRIEVAL: WHAT}, {ONE_PLANE: MUTED, TWO_PLANES: ACCENT}
WORDS = {INDEX: tag("b", "index", class_="tone-where"), RETRIEVAL: tag("b", "retrieval", class_="tone-what")}
SHARES = {"position_share": "position", "symbol_share": "content", "interaction_share": "both together"}
SCORES = {"positional": WHERE, "symbolic": WHAT, "entropy": MUTED, "positional@inf": WHERE, "symbolic@inf": WHAT}
STROKES = dict(zip(SCORES, ([1, 0], [1, 0], [2, 3], DASHES, DASHES), strict=True))
INNER = 0.62  # radius of the circle of keys; that of queries is 1
LEAST = 0.05  # shorter lengths are drawn at this value
MOSTLY = 0.9  # share of variance from which content decides nearly everything
TICKS: Look = {"values": [0, 0.1, 0.25, 0.5, 1, 2], "format": "~g", "grid": False, "labelOverlap": "greedy"}
ANGLE = x("at", "base angle (θ = base · π/33)", scale="sqrt", domain=[0, 2], **TICKS)  # a root separates small angles
PLACE = {"x": ANGLE, "y": share(y, title="accuracy", values=[0, 0.25, 0.5, 0.75, 1])}
MULTIPLES = "multiples small"  # in the style sheet
HALVES: Look = {"values": [0, 0.5, 1], "minExtent": 40}  # ticks of charts that stand in line


def page(result: pl.DataFrame, manifest: CanonicalManifest) -> Page:
    """Lay out what was learnt at which angle, with the published claims and the predictions of theory."""
    if missing := [title for name, title in TITLES.items() if name not in set(result["subject"])]:
        raise UserError(f"the table has nothing on {missing[0]}; run `wherewhat reproduce canonical` again")
    results = ResultTable(result, notes={name: value for name, value in manifest.about.bounds.items() if value})
    seeds, steps = len(results.seeds), manifest.settings.get("steps")
    facts = {"angle": len(BASES), "seed": seeds, "step": steps, "head": len(TITLES) * len(BASES) * seeds}
    sections = (by_angle, by_slot, circles, position_or_content, both_at_once, theory, every_accuracy)
    first, *others = (section(results) for section in sections)
    return Page(
        title="One head, one frequency",
        kind="Reproduction of arXiv 2511.11579: canonical tasks",
        lede="The smallest possible heads, each trained at one angle of rotation. By theory a head attends by position "
        "if its angle is large, and by content if it is small.",
        facts=[counted(number, noun) for noun, number in facts.items() if number],
        sections=[first, claims_section(manifest.claims), *others, provenance_section(manifest)],
    )


def by_angle(results: ResultTable) -> Section:
    """The first screen: the two crossing curves with the bounds of the theory, and what they show."""
    many = "Lines are means over seeds with 95 % intervals; small dots are single seeds."
    lede = (
        f"Each head was trained at one angle. {many if len(results.seeds) > 1 else 'Lines are from one seed.'} Dashed "
        "lines are theory for n tokens and m symbols: below 2π/(n·m) symbols stay distinct in every slot, and up to "
        "2π/n all slots are distinct."
    )
    words = {RETRIEVAL: "2π/(n·m)", INDEX: "2π/n"}
    bounds = [{"at": results.notes[name], "bound": words[name]} for name in words if name in results.notes]
    side = {"align": {"expr": "datum.at > 1 ? 'right' : 'left'"}, "dx": {"expr": "datum.at > 1 ? -6 : 6"}}
    across, foot = {"x": ANGLE}, {"baseline": "bottom", "y": {"expr": "height - 6"}}
    below = [rule(named("bounds"), across, dash=DASHES, colour=INK, opacity=0.75)]
    below += text_labels(named("bounds"), "bound", across, **side, **foot)
    labels = {INDEX: ("index", 1.0, -12, -8), RETRIEVAL: ("retrieval", 0.5, 12, -8)}
    look: Look = {"label": "Accuracy of index and retrieval by base angle", "figure": True}
    drawn = _curves("angles", results, SIMPLE, labels, below=below, tables={"bounds": bounds}, **look)
    sentences: list[str] = []
    for answer, name in {"the symbol in a slot": INDEX, "the integer of a symbol": RETRIEVAL}.items():
        (base, rotated), *_, (_, unrotated) = _accuracy(results, name).items()
        ends = f"), heads are {percent(rotated)} correct at base {base:g}, and {percent(unrotated)} without rotation."
        sentences.append(join(f"Asked for {answer} (", WORDS[name], ends))
    single, double = (_accuracy(results, name) for name in INDUCTION)
    best = max(single, key=lambda base: single[base])
    paper = ", where the paper says that it fails" if single[best] >= LEARNT else ""
    both = (
        f"Partial induction needs both. Two planes reach {percent(max(double.values()))} at best; one plane alone "
        f"reaches {percent(single[best])} at base {best:g}{paper}."
    )
    return Section("angle", "Index and retrieval by angle", lede, _beside(drawn, *sentences, both), "Angle")


def by_slot(results: ResultTable) -> Section:
    """Small multiples over angles: a U for index, an inverted U for retrieval."""
    lede = (
        "Accuracy by the slot of the answer, 0 to 31, at every angle. By theory, where the angle is too small index is "
        "most accurate at both ends (a U), and where it is too large retrieval is most accurate in the middle (an "
        "inverted U)."
    )
    ends = ", with 95 % intervals over seeds." if len(results.seeds) > 1 else ", of one seed."
    key = tag("p", WORDS[INDEX], " and ", WORDS[RETRIEVAL], ends, class_="note")
    body = panel(_slots("slots", "Accuracy by slot", results, SIMPLE), key)
    return Section("slots", "By slot of the answer", lede, body, "Slots")


def circles(results: ResultTable) -> Section:
    """Learnt keys and queries, one small chart per angle."""
    lede = (
        "Keys (dots, inner circle) and queries (rings, outer circle) of one seed, each scaled to its longest vector. "
        "By theory index needs one key for all symbols, and queries that advance around the circle by slot; retrieval "
        "needs a separate direction for every symbol, and a query, in the same colour, that points there. Where a task "
        "is not learnt, vectors need not look like this."
    )
    charts = {name: columns(*(_circle(results, name, base) for base in BASES), look=MULTIPLES) for name in SIMPLE}
    body = panel(*(tag("div", tag("h3", TITLES[name]), drawn, class_="below") for name, drawn in charts.items()))
    return Section("circle", "Keys and queries on the circle", lede, body, "Circle")


def _circle(results: ResultTable, name: str, base: float) -> Html:
    """Keys (dots, inside) and queries (rings, outside) in the plane, the same colour for the same symbol."""
    vectors = results.where(part="vectors", subject=name, at=base).pivot("measure", index="item", values="value")
    across, up, parts = pl.col("across, plane 0"), pl.col("up, plane 0"), pl.col("item").str.split(" ").list
    sized = vectors.with_columns(kind=parts.first(), which=parts.last(), size=(across**2 + up**2).sqrt())
    radius = pl.when(pl.col("kind") == "key").then(INNER).otherwise(1) / pl.col("size").max().over("kind")
    hue = (pl.int_range(pl.len()) / pl.len()).over("kind")
    of = {"key": "Key of symbol", "query": "Query of slot" if name == INDEX else "Query of symbol"}
    rows = sized.with_columns(x=across * radius, y=up * radius, hue=hue, of=pl.col("kind").replace(of))
    wide = [{"expr": f"{sign} width / height * 1.15"} for sign in "-+"]
    place = {"x": x("x", axis=None, domain=wide), "y": y("y", axis=None, domain=[-1.15, 1.15])}
    hues = {"field": "hue", "type": "quantitative", "legend": None, "scale": {"scheme": "sinebow", "domain": [0, 1]}}
    coloured, middle = {**place, "color": hues}, named("middle")
    sizes = [{"expr": f"pow({diameter} * height / 2.3, 2)"} for diameter in (2 * INNER, 2)]  # of the square around it
    layers = [
        *(middle.mark_point(stroke=LINE, strokeWidth=1.2, size=size).encode(**place) for size in sizes),
        middle.mark_point(shape="cross", filled=True, size=24, fill=MUTED, opacity=0.7).encode(**place),
        dots(where(ROWS, kind="query"), coloured, size=52, hollow=True, fill="transparent"),
        dots(where(ROWS, kind="key"), coloured, size=58, strokeWidth=0.8),
    ]
    label, tip = f"Keys and queries of {name} at base {base:g}", "{of} {which}: length {size:short}"
    drawn = chart("circle", rows, layers, tables={"middle": [{"x": 0, "y": 0}]}, label=label, tip=tip, height=150)
    length = results.value(name, Cell("lengths", "norm", "plane 0", base))
    norm = tag("span", f"|q||k| {length:.0f}" if length >= 10 else f"|q||k| {length:.2g}", class_="dim")
    return small(join(f"base {base:g}", norm), drawn)


def position_or_content(results: ResultTable) -> Section:
    """Variance shares, published scores and the entropy of attention, by angle."""
    lede = (
        "Bars: how much of the variance of a head's logits position explains, content explains, or only the two "
        "together. Lines: the published scores at τ = 1e-4 (solid) and with all swaps weighted equally (dashed); "
        "dotted is the entropy of attention, from 0 (all on one key) to 1 (even). Where attention is even, both "
        "scores are 1 and say little."
    )
    measure, ranks = pl.col("measure"), dict(zip(SHARES, range(3), strict=True))
    look: Look = {"colour": colour("measure", dict(zip(SHARES, (WHERE, WHAT, BOTH), strict=True)))}
    look |= {"y": share(y, title="share", stack="zero", grid=False, **HALVES), "x": names("at", x, labels=False)}
    across = names("at", x, labelAngle=0, labelOverlap="greedy").title("base angle")
    place = {"x": across, "y": y("value", "score", domain=[0, 1], **HALVES), "color": colour("measure", SCORES)}
    layers = [line(ROWS, {**place, "strokeDash": dash("measure", STROKES)}, width=1.8)]
    layers += [dots(where(ROWS, measure=name), place, size=30, strokeWidth=0) for name in ("positional", "symbolic")]
    cards = []
    for name, title in TITLES.items():
        means = results.where(part="scores", subject=name, seed=None).drop_nulls("value").sort("at")
        parts = means.with_columns(order=measure.replace_strict(ranks, default=None), share=measure.replace(SHARES))
        look |= {"tip": "Base {at:g}, {share}: {value:share}", "label": f"Shares of {title} by angle"}
        shares = bars("shares", parts.drop_nulls("order"), order="order", height=110, **look)
        tip, label = "Base {at:g}, {measure}: {value:short}", f"Scores of {title} by angle"
        scores = chart("scores", means.filter(measure.is_in(list(SCORES))), layers, height=170, tip=tip, label=label)
        cards.append(tag("div", tag("h3", title), shares, scores))
    key = [join(tag("span", class_="swatch", data_hue=i), f"{words}  ") for i, words in enumerate(SHARES.values())]
    body = panel(columns(*cards), tag("p", *key, class_="note"))
    return Section("scores", "Position or content, by angle", lede, body, "Scores")


def both_at_once(results: ResultTable) -> Section:
    """Partial induction with one plane and with two, with hand-built heads and chance."""
    lede = (
        "Two pairs have the queried symbol and the later one counts: content finds the pairs, position must choose "
        "between them. Dashed lines are hand-built heads with all attention on the largest logit; trained heads may do "
        "better, because training also chooses the lengths of queries and keys."
    )
    chance, by_hand = named("chance"), {**PLACE, "color": colour("subject", INDUCTION)}
    below = [rule(chance, {"y": PLACE["y"]}), line(named("hand"), by_hand, width=1.3, strokeDash=DASHES, opacity=0.8)]
    below += text_labels(chance, "=chance", PLACE, align="right", dx=-4, dy=12, color=MUTED)
    labels = {TWO_PLANES: ("two planes", 1.0, -4, 18), ONE_PLANE: ("one plane", 0.25, 12, -6)}
    tables = {"hand": _rows(results, "theory", INDUCTION, item="by hand"), "chance": [{"at": 2, "value": 0.5}]}
    look: Look = {"label": "Accuracy of partial induction by base angle", "figure": True}
    drawn = _curves("induction", results, INDUCTION, labels, below=below, tables=tables, **look)
    single, double = (_accuracy(results, name) for name in INDUCTION)
    best = max(single, key=lambda base: single[base])
    tilt = int(1000 * results.notes.get("tilt", 0)) / 1000  # rounded down, so that it holds
    sentences = (
        _two_planes(results, [base for base in sorted(double) if double[base] >= SOLVED]),
        f"With one plane the best accuracy is {percent(single[best])}, at base {best:g}. By theory a small angle can "
        "use the gap between symbols, 2π/16 on the circle, to favour the later pair."
        + (f" A hand-built head makes no error up to base {tilt:g}." if tilt else ""),
        "Without rotation both pairs have the same logit, so theory allows no better than chance. Measured: "
        f"{percent(single[0.0])} with one plane, {percent(double[0.0])} with two.",
    )
    slots = _slots("induction_slots", "Partial induction by slot", results, INDUCTION)
    body = join(_beside(drawn, *sentences), tag("div", panel(slots, title="By slot of the answer"), class_="below"))
    return Section("both", "Both at once: partial induction", lede, body, "Induction")


def _two_planes(results: ResultTable, solved: Sequence[float]) -> str:
    """Where two planes succeed, and how little of their logits' variance position needs for that."""
    planes = "With two planes, one unrotated and one rotated,"
    if not solved:
        return f"{planes} no angle reaches {percent(SOLVED)}."
    content = [results.value(TWO_PLANES, Cell("scores", "symbol_share", at=base)) for base in solved]
    least = min((value for value in content if isfinite(value)), default=0.0)
    little = f" Content explains {percent(least)} or more of the variance of their logits: position only has to tip "
    little = f"{little}the balance between two pairs." if least >= MOSTLY else ""
    return f"{planes} accuracy is at least {percent(SOLVED)} at {at(solved)}.{little}"


def at(bases: Sequence[float]) -> str:
    """Name base angles, as a range if none in between is missing.

    >>> [at(bases) for bases in ([0.1], [0.1, 0.25, 0.4], [0.1, 1, 2])]
    ['base 0.1', 'bases 0.1 to 0.4', 'bases 0.1, 1 and 2']
    """
    words, between = [f"{base:g}" for base in bases], [base for base in BASES if bases[0] <= base <= bases[-1]]
    whole = len(words) > 2 and len(between) == len(words)
    return f"base{'s' if words[1:] else ''} {f'{words[0]} to {words[-1]}' if whole else listed(words)}"


def theory(results: ResultTable) -> Section:
    """What theory predicts without training."""
    lede = "Formulas and hand-built heads, compared with what was learnt. Dashed lines are always theory."
    look: Look = {"label": "Learnt and hand-built retrieval", "height": 270}
    look["below"] = [line(named("hand"), PLACE, width=1.6, strokeDash=DASHES, stroke=INK)]
    look["tables"] = {"hand": _rows(results, "theory", [RETRIEVAL], item="by hand")}
    required = "required length of queries and keys"
    cards = {
        f"Index: {required}": _norms(results, INDEX),
        "Retrieval: hand-built heads": _curves("by_hand", results, {RETRIEVAL: WHAT}, {}, **look),
        "The U and the inverted U": _peaks(results),
        f"Retrieval: {required}": _norms(results, RETRIEVAL),
    }
    texts = (
        "To give every slot half of the attention when it is queried, the length of query times key must grow as 1/θ² "
        "(dashed). Solid is the learnt length.",
        "Symbols spread evenly on the circle, all attention on the largest logit, no training (dashed). Solid lines "
        "are learnt heads.",
        "Attention on the queried slot by formula, with queries and keys of length 1 at base 1.",
        "For half of the attention when every other pair has a neighbouring symbol, in the worst slots.",
    )
    panels = [panel(cards[title], title=title, text=text) for title, text in zip(cards, texts, strict=True)]
    return Section("theory", "What theory says", lede, columns(*panels), "Theory")


def _norms(results: ResultTable, name: str) -> Chart:
    """The learnt and the required length of query times key, in the only plane of index and retrieval."""
    kinds = {"learnt": ("lengths", "plane 0"), "required": ("theory", "by formula")}
    norms = results.where(subject=name, measure="norm", seed=None).filter(pl.col("at") > 0).sort("at")
    parts = [norms.filter(part=part, item=item).with_columns(kind=pl.lit(kind)) for kind, (part, item) in kinds.items()]
    rows = pl.concat(parts).with_columns(pl.col("value", "low", "high").clip(LEAST), length=pl.col("value"))
    ticks: Look = {"values": [10**power for power in range(-1, 7)], "nice": False}
    ticks["labelExpr"] = "format(datum.value, datum.value < 1 ? '.1f' : '~s')"
    place = {"x": ANGLE, "y": y("value", "length of query × key", scale="log", domainMin=LEAST, **ticks)}
    (learnt, required), tone = (where(ROWS, kind=kind) for kind in kinds), SIMPLE[name]
    layers = [line(required, place, width=1.6, strokeDash=DASHES, stroke=INK), dots(required, place, size=42, fill=INK)]
    layers += text_labels(named("second"), "=required", place, align="left", dx=10, dy=-6)
    layers += [whiskers(learnt, place, along="y", width=2, stroke=tone), line(learnt, place, stroke=tone)]
    layers.append(dots(learnt, place, size=44, fill=tone))
    look: Look = {"label": f"Learnt and required length of query × key for {name}", "height": 270}
    look |= {"tip": "Base {at:g}, {kind}: {length:short}", "tables": {"second": rows.filter(kind="required")[1:2]}}
    return chart("norms", rows, layers, **look)


def _peaks(results: ResultTable) -> Chart:
    """Attention by slot in theory, with queries and keys of length 1 at base 1."""
    across = x("at", "slot of the answer", domain=[0, 32], values=[0, 8, 16, 24, 32], grid=False)
    place = {"x": across, "y": y("value", "attention on it", domainMin=0, tickCount=4)}
    coloured = {**place, "color": colour("subject", SIMPLE)}
    layers = [line(ROWS, coloured, width=2, strokeDash=DASHES), dots(ROWS, coloured, size=60, opacity=0)]
    for name, tone in SIMPLE.items():
        layers += text_labels(where(ROWS, subject=name, at=16), f"={name}", place, dy=16, color=tone, fontWeight=600)
    rows, tip = results.where(part="theory", measure="peak"), "Slot {at:.0f}: {value:short}"
    return chart("peaks", rows, layers, label="Attention by slot, by formula", tip=tip, height=270)


def every_accuracy(results: ResultTable) -> Section:
    """Every accuracy, in a table."""
    rows = []
    for base in BASES:
        means = [results.estimate(name, Cell("accuracy", "accuracy", at=base)).numbers for name in TITLES]
        cells = [join(per_cent(value), small_interval(per_cent(low), per_cent(high))) for value, low, high in means]
        rows.append([Number(f"{base:g}", base), *cells])
    many = "Means over seeds in percent, with 95 % intervals by Student's t."
    lede = many if len(results.seeds) > 1 else "In percent, of one seed."
    body = table(["base angle", *TITLES.values()], rows, label="Accuracy by base angle")
    return Section("numbers", "Every accuracy", lede, body, "Table")


def _curves(name: str, results: ResultTable, colours: Colours, labels: Labels, **look: Any) -> Chart:
    """Accuracy by angle: faint dots for seeds, a band for their interval, a line and dots for their mean."""
    place, means = {**PLACE, "color": colour("subject", colours)}, where(ROWS, seed=None)
    layers = [*look.pop("below"), dots(where(ROWS, seed=...), place, size=12, opacity=0.35, strokeWidth=0)]
    layers += [band(means, place), line(means, place), dots(means, place, size=54)]
    for head, (words, base, dx, dy) in labels.items():
        beside = {"align": "left" if dx > 0 else "right", "dx": dx, "dy": dy, "fontSize": 14, "fontWeight": 600}
        layers += text_labels(where(means, subject=head, at=base), f"={words}", PLACE, color=colours[head], **beside)
    look = {"height": 420, "width": 760, "title": look["label"], "subtitle": count(len(BASES), "angle"), **look}
    tip = "{title} at base {at:g}: {value:share}"
    return chart(name, _rows(results, "accuracy", colours), layers, tip=tip, **look)


def _slots(name: str, label: str, results: ResultTable, colours: Colours) -> Html:
    """Accuracy by the slot of the answer, one small chart per angle, from the largest."""
    slots = pl.col("item").str.split("–").list.eval(pl.element().cast(pl.Float64))
    rows = _rows(results, "by_slot", colours, seed=None).with_columns(middle=slots.list.mean())
    across = x("middle", domain=[0, 31], values=[0, 15, 31], grid=False)
    place = {"x": across, "y": share(y, values=[0, 0.5, 1]), "color": colour("subject", colours)}
    layers = [band(ROWS, place), line(ROWS, place, width=1.9), dots(ROWS, place, size=16, strokeWidth=0)]
    look: Look = {"tip": "{title}, slots {item}: {value:share}", "height": 120}
    titles = [f"base {base:g}" for base in BASES]
    charts = (chart(name, rows.filter(at=base), layers, label=f"{label} at base {base:g}", **look) for base in BASES)
    return columns(*map(small, titles, charts), look=MULTIPLES)


def _rows(results: ResultTable, part: str, heads: Iterable[str], **columns: Any) -> pl.DataFrame:
    """The rows of some heads, with the title of each."""
    rows = results.where(part=part, **columns).filter(pl.col("subject").is_in(list(heads)))
    return rows.with_columns(title=pl.col("subject").replace(TITLES) + pl.format(", seed {}", "seed").fill_null(""))


def _beside(drawn: Chart, *sentences: str) -> Html:
    """A large chart, and what it shows."""
    return tag("div", panel(drawn), tag("div", paragraphs(*sentences), class_="says-it"), class_="first")


def _accuracy(results: ResultTable, name: str) -> dict[float, float]:
    """The mean accuracy at every angle, from the largest."""
    return {base: results.value(name, Cell("accuracy", "accuracy", at=base)) for base in BASES}
