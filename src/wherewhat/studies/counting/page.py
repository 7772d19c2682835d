"""The page of contextual counting: who learns it, on which sizes it holds, and what ones are counted against."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import cycle
from typing import Any

import altair as alt
import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import percent
from wherewhat.published.counting import TOP_1 as PUBLISHED
from wherewhat.report.blocks.axes import (
    MUTED,
    WHAT,
    WHERE,
    colour,
    gradient,
    legend,
    names,
    shade,
    share,
    shares_scale,
    x,
    y,
)
from wherewhat.report.blocks.chart import chart, heat_map, lines, scatter
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.layout import answer_section, counted, note, panel, run_time
from wherewhat.report.blocks.marks import DASHES, ROWS, dots, named, rule, where
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.core.html import join
from wherewhat.report.core.page import Page, Section
from wherewhat.studies.counting.biases import LearntRegion, learnt_regions
from wherewhat.studies.counting.chance import best_constant
from wherewhat.studies.counting.names import (
    BIDIRECTIONAL,
    BINS,
    BY_HAND,
    CAUSAL,
    HAND,
    LEARNT,
    MEDIAN,
    SIZES,
    SLOW,
    TOP_1,
    TOP_5,
    TRAINED,
    accuracy,
    shown,
)
from wherewhat.studies.counting.number_tables import attention_table, bias_table, number_table, value_of
from wherewhat.studies.counting.solution import solution
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.tables.manifest.study import CountingManifest, CountingSection

DIRECTIONS = {CAUSAL: WHERE, BIDIRECTIONAL: WHAT, HAND: MUTED}
LINES = [WHERE, shade("chance", 5), shade("layers", 4), WHAT, MUTED, shade("layers", 1), shade("spread", 1)]
NARROW = alt.ExprRef("width < 420 ? 1 : 6")  # columns of a legend with a long name
REGIONS = [shade("layers", step) for step in (0, 2, 4, 5)]
LEDES = {
    "answer": "Every dot is a region of one seed: how often its count is exactly right. The dashed line is what always "
    "answering the most frequent count gives, {here}. Rings are published, the smaller one the median and the larger "
    "one the maximum over three seeds and four regions, of sequences of 512 tokens, for which always answering 0 gives "
    "{published}.",
    "sizes": "The same nets on shorter sequences ({shorter} tokens in place of {tokens}) and with fewer regions "
    "({fewer} in place of {regions}), none of which were in training. Columns are regions.",
    "bias": "A query can count the ones of its region by comparing them with a bias token, whose number is the same in "
    "every sequence (BOS, the brackets of the region or of all regions) or nearly the same (zeros). On other sizes the "
    "prediction is then off by a known factor, the slope of predicted over true counts; slopes on other sizes are "
    "relative to the one as trained. Or the encoder has counted, and the read-out takes counts from brackets. What "
    "decides is an exchange: after the encoder, tokens of one kind get the states that they have in another sequence. "
    "If right answers stay right, these states do not matter, as those of a bias token. If answers become the other "
    "sequence's count, the tokens hold it. If opening brackets exchanged alone, and closing ones alone, change it to "
    "the difference of the ones before them, brackets hold running counts. Listed are all regions that are counted "
    "exactly in more than {learnt} of test sequences.",
    "codes": "The states of the ones of each region after the encoder, projected onto their first two principal "
    "components, for the net built by hand, those that have learnt a region, and the best bidirectional one; of "
    "several seeds, the one that has learnt most regions. Where regions lie apart, a query can pick its own.",
    "counts": "Accuracy by the true count; every dot is a learnt region of one seed. Large counts are rare in "
    "training, and neighbouring ones differ less in ratio.",
    "frequencies": "The share of the variance of a rotary head's logits that each frequency carries, from the fastest, "
    "0, to the slowest.",
    "table": "The median and the best of all regions and seeds in per cent, beside those published for sequences of "
    "512 tokens, 300 in the shorter ones. Then how well a linear map finds the region of a one after the encoder, what "
    "such ones and brackets attend to in the encoder, and the scores of its head. Below, what the query of each region "
    "attends to in the read-out, the mean over seeds.",
}


def page(result: pl.DataFrame, manifest: CountingManifest) -> Page:
    """Who learns to count, on which sizes it holds, and what ones are counted against."""
    about, table = manifest.about, ResultTable(result, scale=manifest.about)
    if not about.nets or result.filter(part="accuracy").is_empty():
        raise UserError("the table has no net that was tested; run `wherewhat reproduce counting` again")
    learnt = learnt_regions(table, trained(about), about.regions, about.expected)
    facts = [counted(len(trained(about)), "trained net"), counted(about.seeds or 1, "seed")]
    numbers = join(panel(number_table(table, about)), panel(attention_table(table, about)))
    return Page(
        title="Counting in context",
        kind="Reproduction of arXiv 2406.02585",
        lede="How many ones stand between each pair of brackets? One block reads the sequence, one cross-attention "
        "with a learned query per region answers. A causal mask is all the position that this needs, as a net built "
        "by hand shows. What do trained nets find?",
        facts=[*facts, *run_time(about.seconds, about.processes)],
        sections=[
            answer(table, about, learnt),
            sizes(table, about),
            bias_section(table, about, learnt),
            codes(table, about, learnt),
            counts(table, learnt),
            *frequencies(table, about),
            Section("table", "All numbers", LEDES["table"], numbers, "Numbers"),
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


def answer(table: ResultTable, about: CountingSection, learnt: list[LearntRegion]) -> Section:
    """The first screen: accuracy of every region, beside the published ones."""
    rows = list(answer_rows(table, about))
    across = share(x, "value", "regions counted exactly")
    tint = colour("direction", DIRECTIONS, legend=legend(symbolType="circle", columns=NARROW))
    place = {"x": across, "y": names("net", order="line", labelLimit=230)}
    chance = best_constant(about.tokens, about.regions)
    layers = [
        rule(named("chance"), {"x": across}, dash=DASHES),
        dots(where(ROWS, mark="maximum"), place, size=170, hollow=True, stroke=MUTED),
        dots(where(ROWS, mark="median"), place, size=60, hollow=True, stroke=MUTED),
        dots(where(ROWS, mark="ours"), {**place, "color": tint}, size=80, opacity=0.85),
    ]
    look: dict[str, Any] = {"height": 70 + 24 * len(about.nets), "figure": True, "title": "Regions counted exactly"}
    drawn = chart(
        "answer",
        rows,
        layers,
        tables={"chance": [{"value": chance}]},
        tip="{net}, {what}: {value:share}",
        label="accuracy by net and region",
        **look,
    )
    answers = [about.answers[name] for name in ("bias token", "causal", "by hand") if name in about.answers]
    text = LEDES["answer"].format(here=percent(chance), published=percent(best_constant(512, 4)))
    best = note(solution(table, learnt))
    return answer_section("answer", "Who can count", answers, best, panel(drawn), text=text, short="Answer")


def answer_rows(table: ResultTable, about: CountingSection) -> Iterator[Mapping[str, Any]]:
    """Ours by region and seed, and the published median and maximum."""
    for line, net in enumerate(about.nets):
        own = {"net": shown(net), "direction": direction_of(net), "line": line}
        if published := PUBLISHED.get(net):
            for mark, value in zip(("median", "maximum"), published[0], strict=True):
                yield {**own, "mark": mark, "what": f"published {mark}", "value": value / 100}
        points = table.where(part="accuracy", subject=net, item=TRAINED, measure=TOP_1).drop_nulls("seed")
        for at, seed, value in points.select("at", "seed", "value").iter_rows():
            yield {**own, "mark": "ours", "what": f"region {at:.0f}, seed {seed}", "value": value}


def sizes(table: ResultTable, about: CountingSection) -> Section:
    """A heat map of accuracies by net, size and region."""
    drawn = heat_map(
        "sizes",
        size_views(table, about),
        x=names("place", x, labelAngle=-60, labelLimit=200),
        y=names("net", labelLimit=230),
        scale=shares_scale(),
        legend=gradient(None, format="%", values=[0, 0.5, 1], gradientLength=110, direction="horizontal"),
        label="accuracy by net, size and region",
        tip="{net}, {place}: {value:share}",
        height=110 + 26 * len(about.nets),
        figure=True,
        title="Accuracy on other sizes, by region",
    )
    text = LEDES["sizes"].format_map(vars(about))
    return Section("sizes", "Other lengths, fewer regions", text, panel(drawn), "Sizes")


def size_views(table: ResultTable, about: CountingSection) -> dict[str, list[Mapping[str, Any]]]:
    """By measure, the cells of that heat map."""
    return {
        measure: [
            {"net": shown(net), "place": f"{size}, {region}", "value": value}
            for net in about.nets
            for size in SIZES
            for region in range(about.regions)
            if (value := value_of(table, net, accuracy(size, region, measure))) is not None
        ]
        for measure in (TOP_1, TOP_5)
    }


def bias_section(table: ResultTable, about: CountingSection, learnt: list[LearntRegion]) -> Section:
    """How each learnt region is counted: attention, answers with other brackets, slopes, and what they name."""
    body = panel(bias_table(table, about, learnt))
    text = LEDES["bias"].format(learnt=percent(LEARNT))
    return Section("bias", "Bias tokens", text if learnt else f"{text} There is none.", body, "Bias tokens")


def codes(table: ResultTable, about: CountingSection, learnt: list[LearntRegion]) -> Section:
    """Ones of each region after the encoder, a view per net."""
    counting = {each.net for each in learnt}
    nets = [net for net in about.nets if net == BY_HAND or net in counting]
    others = [net for net in about.nets if direction_of(net) == BIDIRECTIONAL and net not in nets]
    nets += sorted(others, key=lambda net: value_of(table, net, MEDIAN) or 0.0)[-1:]
    best = {net: Counter(each.seed for each in learnt if each.net == net).most_common(1) for net in nets}
    seeds = {net: most[0][0] if most else min(table.seeds) for net, most in best.items()}
    views = {shown(net): rows for net in nets if (rows := list(code_rows(table, net, seeds[net])))}
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


def code_rows(table: ResultTable, net: str, seed: int) -> Iterator[Mapping[str, Any]]:
    """The points of one run of a net."""
    rows = table.where(part="code", subject=net, seed=seed)
    if rows.is_empty():
        return
    points = rows.pivot("measure", index=["at", "item"], values="value").select("at", "x", "y")
    for region, px, py in points.iter_rows():
        yield {"region": f"region {region:.0f}", "x": px, "y": py}


def counts(table: ResultTable, learnt: list[LearntRegion]) -> Section:
    """Accuracy by the true count, of every learnt region."""
    rows = [
        {"net": shown(each.net), "bin": name, "what": f"region {each.region}, seed {each.seed}", "value": row["value"]}
        for each in learnt
        for name in BINS
        if (row := table.row(each.net, Cell("count", TOP_1, name, float(each.region)), each.seed))
    ]
    present = [name for name in BINS if any(row["bin"] == name for row in rows)]
    tint = colour("bin", dict(zip(present, REGIONS, strict=False)), legend=legend(symbolType="circle"))
    place = {"x": share(x, "value", "counted exactly"), "y": names("net", labelLimit=230, grid=True), "color": tint}
    drawn = chart(
        "counts",
        rows,
        [dots(ROWS, place, size=80, opacity=0.85)],
        label="accuracy by true count",
        tip="{net}, {what}, {bin} ones: {value:share}",
        height=80 + 26 * len({row["net"] for row in rows}),
        figure=True,
        title="Accuracy by true count",
    )
    body = panel(drawn) if rows else note("No net has learnt a region.")
    return Section("counts", "Small and large counts", LEDES["counts"], body, "Counts")


def frequencies(table: ResultTable, about: CountingSection) -> list[Section]:
    """What each rotary frequency carries, if there is a rotary net."""
    rotary = [net for net in about.nets if SLOW not in net and table.where(part="frequencies", subject=net).height]
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
    tints = dict(zip(rotary, cycle(LINES), strict=False))
    drawn = lines(
        "frequencies",
        rows,
        x=x("at", "frequency, from the fastest", zero=False, nice=False, grid=False, tickMinStep=1, padding=8),
        y=y("value", "of the variance of logits", format="%", tickCount=5),
        colour=colour("net", tints, legend=legend(labelLimit=230)),
        intervals="none",
        size=26,
        label="what each rotary frequency carries",
        tip="{net}, frequency {at:.0f} ({theta} rad): {value:share}",
        height=300,
        figure=True,
        title="What rotary frequencies carry",
    )
    left_out = f" Nets with {SLOW} have only one." if any(SLOW in net for net in about.nets) else ""
    text = f"{LEDES['frequencies']}{left_out}"
    return [Section("frequencies", "Rotary frequencies", text, panel(drawn), "Frequencies")]
