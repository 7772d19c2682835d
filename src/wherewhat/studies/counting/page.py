"""The page of contextual counting: who learns it, on which sizes it holds, and what ones are counted against."""

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import percent, short
from wherewhat.published.counting import TOP_1 as PUBLISHED
from wherewhat.report.blocks.axes import MUTED, WHAT, WHERE, colour, legend, names, shade, share, shares_scale, x, y
from wherewhat.report.blocks.chart import chart, heat_map, lines, scatter
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.layout import answer_section, counted, note, panel, run_time
from wherewhat.report.blocks.marks import ROWS, dots, where
from wherewhat.report.blocks.numbers import per_cent
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.blocks.table import table as table_of
from wherewhat.report.core.page import Page, Section
from wherewhat.studies.counting.biases import BiasNames, bias_names, mass
from wherewhat.studies.counting.names import (
    BIDIRECTIONAL,
    BINS,
    BY_HAND,
    CAUSAL,
    FEWER,
    OWN,
    SHORTER,
    SIZES,
    SLOPE,
    TOKEN_TYPES,
    TOP_1,
    TOP_5,
    TRAINED,
    accuracy,
)
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.tables.manifest.study import CountingManifest, CountingSection

HAND = "built by hand"
DIRECTIONS = {CAUSAL: WHERE, BIDIRECTIONAL: WHAT, HAND: MUTED}
FEW_LEARNT = 0.5  # median from which a net is drawn by count
REGIONS = [shade("layers", step) for step in (0, 2, 4, 5)]
LEDES = {
    "answer": "Every dot is a region of one seed: how often its count is exactly right. Rings are published, the "
    "smaller one the median and the larger one the maximum over three seeds and four regions, of longer sequences.",
    "sizes": "The same nets on shorter sequences and on sequences with fewer regions, none of which were in training.",
    "bias": "A query can only compare the ones of its region with tokens of another kind. Whichever it takes, its "
    "number must be the same in training: BOS, the brackets of the region or of all regions or, nearly, the zeros. On "
    "other sizes the count is then off by a known factor, the slope.",
    "codes": "The states of the ones of each region after the encoder, in the plane that shows most of them. Where "
    "regions lie apart, a query can pick its own.",
    "counts": "Accuracy by the true count, of nets that count at least half of the regions. A ratio of attention tells "
    "small counts apart better than large ones, which are also rare in training.",
    "frequencies": "How much of what varies in a rotary head's logits each frequency carries, from the fastest, 0, to "
    "the slowest.",
    "table": "All nets: medians over seeds and regions in per cent, how well a linear map finds the region of a one "
    "after the encoder, what such ones attend to in the encoder, and the scores of its head.",
}


def page(result: pl.DataFrame, manifest: CountingManifest) -> Page:
    """Who learns to count, on which sizes it holds, and what ones are counted against."""
    about, table = manifest.about, ResultTable(result, scale=manifest.about)
    if not about.nets or result.filter(part="accuracy").is_empty():
        raise UserError("the table has no net that was tested; run `wherewhat reproduce counting` again")
    biases = list(bias_names(table, trained(about), about.regions, about.expected))
    facts = [counted(len(trained(about)), "trained net"), counted(about.seeds or 1, "seed")]
    return Page(
        title="Counting in context",
        kind="Reproduction of arXiv 2406.02585",
        lede="How many ones stand between each pair of brackets? One block reads the sequence, one cross-attention "
        "with a learned query per region answers. A causal mask is all the position that this needs, and what ones "
        "are compared with decides whether a net still counts when sequences change.",
        facts=[*facts, *run_time(about.seconds, about.processes)],
        sections=[
            answer(table, about, biases),
            sizes(table, about),
            bias_section(table, about, biases),
            codes(table, about),
            counts(table, about),
            *frequencies(table, about),
            numbers(table, about),
            claims_section(manifest.claims),
            provenance_section(manifest),
        ],
    )


def trained(about: CountingSection) -> list[str]:
    """The nets that were not built by hand."""
    return [name for name in about.nets if name != BY_HAND]


def direction_of(net: str) -> str:
    """Which way a net looks."""
    return HAND if net == BY_HAND else net.split()[0]


def shown(net: str) -> str:
    """What a net is called in charts that show its direction by colour."""
    return HAND if net == BY_HAND else net


def answer(table: ResultTable, about: CountingSection, biases: list[BiasNames]) -> Section:
    """The first screen: accuracy of every region, beside the published ones."""
    rows = list(answer_rows(table, about))
    across = share(x, "value", "regions counted exactly")
    line = names("net", labelLimit=230)
    tint = colour("direction", DIRECTIONS, legend=legend(symbolType="circle"))
    place = {"x": across, "y": line}
    layers = [
        dots(where(ROWS, mark="maximum"), place, size=170, hollow=True, stroke=MUTED),
        dots(where(ROWS, mark="median"), place, size=60, hollow=True, stroke=MUTED),
        dots(where(ROWS, mark="ours"), {**place, "color": tint}, size=80, opacity=0.85),
    ]
    look: dict[str, Any] = {"height": 70 + 24 * len(about.nets), "figure": True, "title": "Regions counted exactly"}
    drawn = chart(
        "answer", rows, layers, tip="{net}, {what}: {value:share}", label="accuracy by net and region", **look
    )
    answers = [about.answers[name] for name in ("causal", "bias token") if name in about.answers]
    return answer_section(
        "answer", "Who can count", answers, panel(drawn), solution(table, biases), text=LEDES["answer"], short="Answer"
    )


def answer_rows(table: ResultTable, about: CountingSection) -> Iterator[Mapping[str, Any]]:
    """Ours by region and seed, and the published median and maximum."""
    for net in about.nets:
        own = {"net": shown(net), "direction": direction_of(net)}
        if published := PUBLISHED.get(net):
            for mark, value in zip(("median", "maximum"), published[0], strict=True):
                yield {**own, "mark": mark, "what": f"published {mark}", "value": value / 100}
        points = table.where(part="accuracy", subject=net, item=TRAINED, measure=TOP_1).drop_nulls("seed")
        for at, seed, value in points.select("at", "seed", "value").iter_rows():
            yield {**own, "mark": "ours", "what": f"region {at:.0f}, seed {seed}", "value": value}


def solution(table: ResultTable, biases: list[BiasNames]) -> Any:
    """How the best net counts, in one sentence, by the attention of its read-out and its slopes."""
    if not biases:
        return note("No net has learnt a region well enough to say how it counts.")
    nets = list(dict.fromkeys(each.net for each in biases))
    best = max(nets, key=lambda net: table.value(net, Cell("median", TOP_1, TRAINED)))
    own = [each for each in biases if each.net == best]
    if not any(each.compares for each in own):
        return note(f"How {best} counts: its queries hardly attend to ones, so that the encoder has counted them.")
    on_ones = fmean(mass(table, best, f"1{OWN}", each.region) for each in own)
    stray = fmean(mass(table, best, "1", each.region) for each in own) - on_ones
    kinds = " or ".join(dict.fromkeys(each.by_mass for each in own if each.compares))
    proof = f"slopes on other sizes fit that in {sum(each.agree for each in own)} of {len(own)} learnt regions"
    return note(
        f"How {best} counts: a query attends to the ones of its region ({percent(on_ones)}; ones elsewhere "
        f"{percent(stray)}) and compares them with {_WORDS.get(kinds, kinds)}; {proof}."
    )


_WORDS = {"own brackets": "its brackets, of which every region has one pair"}


def sizes(table: ResultTable, about: CountingSection) -> Section:
    """A heat map of accuracies by net, size and region."""
    titles = {
        TRAINED: f"{about.tokens} tokens, {about.regions} regions",
        SHORTER: f"{about.shorter} tokens",
        FEWER: f"{about.fewer} regions",
    }
    views = {
        measure: [
            {"net": shown(net), "place": f"{titles[size]}, {region}", "value": value}
            for net in about.nets
            for size in SIZES
            for region in range(about.regions)
            if (value := (table.row(net, accuracy(size, region, measure)) or {}).get("value")) is not None
        ]
        for measure in (TOP_1, TOP_5)
    }
    drawn = heat_map(
        "sizes",
        views,
        x=names("place", x, labelAngle=-40, labelLimit=200),
        y=names("net", labelLimit=230),
        scale=shares_scale(),
        label="accuracy by net, size and region",
        tip="{net}, {place}: {value:share}",
        height=60 + 26 * len(about.nets),
        figure=True,
        title="Accuracy on other sizes, by region",
    )
    return Section("sizes", "Other lengths, fewer regions", LEDES["sizes"], panel(drawn), "Sizes")


def bias_section(table: ResultTable, about: CountingSection, biases: list[BiasNames]) -> Section:
    """What each learnt region is counted against: attention, slopes, and what they name."""
    lines_ = []
    for each in biases:
        at = float(each.region)
        masses = [percent(mass(table, each.net, kind, each.region)) for kind in TOKEN_TYPES]
        slopes = [short(_value(table, each.net, Cell("slope", SLOPE, size, at))) for size in SIZES]
        fitting = ", ".join(each.by_slopes) or "none of them"
        lines_.append([f"{each.net}, region {each.region}", *masses, *slopes, each.by_mass or "mixed", fitting])
    nothing = "–"
    for bias in reversed(list(next(iter(about.expected.values()), {}))):
        slopes = [short(slope[bias]) for slope in about.expected.values()]
        lines_.insert(0, [f"expected: {bias}", *[nothing] * len(TOKEN_TYPES), "1", *slopes, nothing, nothing])
    headings = ["region", *TOKEN_TYPES, *SIZES, "by attention", "by slopes"]
    groups = [("", 1), ("attention of its query", len(TOKEN_TYPES)), ("slope", len(SIZES)), ("counted against", 2)]
    body = panel(table_of(headings, lines_, label="what regions are counted against", groups=groups))
    unlearnt = "" if biases else " No region was learnt well enough to ask."
    return Section("bias", "What ones are counted against", f"{LEDES['bias']}{unlearnt}", body, "Bias token")


def _value(table: ResultTable, net: str, cell: Cell) -> float | None:
    return (table.row(net, cell) or {}).get("value")


def codes(table: ResultTable, about: CountingSection) -> Section:
    """Ones of each region after the encoder, a view per net."""
    views = {shown(net): rows for net in about.nets if (rows := list(code_rows(table, net)))}
    tints = {f"region {number}": REGIONS[number % len(REGIONS)] for number in range(about.regions)}
    drawn = scatter(
        "codes",
        views,
        x=x("x", "first component", zero=False, nice=False, grid=False, tickCount=5, padding=12),
        y=y("y", "second component", zero=False, nice=False, grid=False, tickCount=5, padding=12),
        colour=colour("region", tints, legend=legend(symbolType="circle")),
        size=46,
        label="states of ones after the encoder, by region",
        tip="{region}",
        height=360,
        figure=True,
        title="Codes of regions",
    )
    return Section("codes", "How regions are told apart", LEDES["codes"], panel(drawn), "Codes")


def code_rows(table: ResultTable, net: str) -> Iterator[Mapping[str, Any]]:
    """The points of a net's first seed."""
    rows = table.where(part="code", subject=net).drop_nulls("seed")
    if rows.is_empty():
        return
    first = rows.filter(pl.col("seed") == rows["seed"].min())
    for region, px, py in (
        first.pivot("measure", index=["at", "item"], values="value").select("at", "x", "y").iter_rows()
    ):
        yield {"region": f"region {region:.0f}", "x": px, "y": py}


def counts(table: ResultTable, about: CountingSection) -> Section:
    """Accuracy by the true count, of nets that count at all."""
    learnt = [net for net in about.nets if (_value(table, net, Cell("median", TOP_1, TRAINED)) or 0.0) > FEW_LEARNT]
    rows = [
        {"net": shown(net), "bin": name, **{end: row[end] for end in ("value", "low", "high")}}
        for net in learnt
        for name in BINS
        if (row := table.row(net, Cell("count", TOP_1, name)))
    ]
    tints = dict(zip([shown(net) for net in learnt], [MUTED, *_ramp(len(learnt))], strict=False))
    drawn = lines(
        "counts",
        rows,
        x=names("bin", x, labelAngle=0),
        y=share(y, "value", "counted exactly"),
        colour=colour("net", tints, legend=legend(symbolType="stroke", symbolStrokeWidth=3, labelLimit=230)),
        intervals="none",
        label="accuracy by true count",
        tip="{net}, {bin} ones: {value:share}",
        height=320,
        figure=True,
        title="Accuracy by true count",
    )
    return Section("counts", "Small and large counts", LEDES["counts"], panel(drawn), "Counts")


def frequencies(table: ResultTable, about: CountingSection) -> list[Section]:
    """What each rotary frequency carries, if there is a rotary net."""
    rotary = [net for net in about.nets if table.where(part="frequencies", subject=net).height]
    rows = [
        {"net": net, "at": at, "theta": theta, "value": value}
        for net in rotary
        for at, theta, value in table.where(part="frequencies", subject=net, measure="variance_share", seed=None)
        .sort("at")
        .select("at", "item", "value")
        .iter_rows()
    ]
    if not rows:
        return []
    drawn = lines(
        "frequencies",
        rows,
        x=x("at", "frequency, from the fastest", zero=False, nice=False, grid=False, tickMinStep=1, padding=8),
        y=share(y, "value", "of the variance of logits"),
        colour=colour("net", dict(zip(rotary, _ramp(len(rotary)), strict=False)), legend=legend(labelLimit=230)),
        intervals="none",
        size=26,
        label="what each rotary frequency carries",
        tip="{net}, frequency {at:.0f} ({theta} rad): {value:share}",
        height=300,
        figure=True,
        title="What rotary frequencies carry",
    )
    return [Section("frequencies", "Rotary frequencies", LEDES["frequencies"], panel(drawn), "Frequencies")]


def _ramp(count: int) -> list[Any]:
    shades = [WHERE, shade("chance", 5), shade("spread", 4), shade("layers", 4), shade("layers", 2), WHAT]
    return shades * (count // len(shades) + 1)


def numbers(table: ResultTable, about: CountingSection) -> Section:
    """Medians, the linear decoder of regions, what ones attend to in the encoder, and its head's scores."""
    rows = []
    for net in about.nets:
        medians = [per_cent(_value(table, net, Cell("median", TOP_1, size))) for size in SIZES]
        five = per_cent(_value(table, net, Cell("median", TOP_5, TRAINED)))
        decoded = per_cent(_value(table, net, Cell("decode", "accuracy")))
        encoder = [short(_value(table, net, Cell("encoder", "mass", kind))) for kind in TOKEN_TYPES]
        scores = [short(_value(table, net, Cell("heads", score))) for score in ("entropy", "input.position_share")]
        rows.append([shown(net), *medians, five, decoded, *encoder, *scores])
    groups = [("", 1), ("median, top-1", 3), ("top-5", 1), ("", 1), ("ones attend to", len(TOKEN_TYPES)), ("head", 2)]
    headings = ["net", *SIZES, TRAINED, "region decoded", *TOKEN_TYPES, "entropy", "position share"]
    body = panel(table_of(headings, rows, label="all nets", groups=groups))
    return Section("table", "All numbers", LEDES["table"], body, "Numbers")
