"""The ledger of an attribution, positions by layer, head and frequency, and methods beside each other."""

import json
from collections.abc import Mapping, Sequence

from wherewhat.formatting import Number, count, percent, short, signed
from wherewhat.report.blocks.layout import note, panel
from wherewhat.report.blocks.table import table
from wherewhat.report.blocks.token_text import quoted
from wherewhat.report.core.html import Html, join, tag
from wherewhat.report.core.page import Section
from wherewhat.report.pages.attribution import charts, maps
from wherewhat.report.pages.attribution.findings import ledger_sentence
from wherewhat.report.pages.attribution.relevance_data import ROTATION, Explanation
from wherewhat.stats.ranks import rank_correlation
from wherewhat.tables.manifest.attribution import LedgerSection

TOTALS = (
    "A rotation is a factor, and a factor gets half of what flows through queries and keys, whatever the angle. So the "
    "total says how much flows through queries and keys, not how much position matters: compare slots and layers."
)


def the_ledger(shown: Sequence[Explanation]) -> Section | None:
    """Where the relevance of each output went: in a sentence, as a waterfall, and for all outputs as a table."""
    ledgers = [(each, each.ledger) for each in shown if each.ledger is not None]
    if not ledgers:
        return None
    sentence = follows({each.number: ledger_sentence(each) for each in shown})
    listed = _ledgers(ledgers) if len(ledgers) > 1 else None
    lede = (
        "Relevance is neither made nor lost on the way back. What neither tokens nor positions have is with parameters "
        "that are added, or was kept by softmaxes, whose rule has a constant term."
    )
    return Section("ledger", "The ledger", lede, join(panel(sentence, charts.waterfall(shown)), listed), short="Ledger")


def _ledgers(ledgers: Sequence[tuple[Explanation, LedgerSection]]) -> Html:
    several = len({each.explained.text for each, _ in ledgers}) > 1
    parts = [name for name in charts.LEDGER if any(getattr(ledger, name) for _, ledger in ledgers)]
    rows = [
        [
            join(quoted(each.name), " ", tag("span", _where(each, several=several), class_="reach")),
            short(ledger.logit),
            *(signed(getattr(ledger, name), 2) for name in parts),
            Number(f"{ledger.rest:.0e}".replace("-", "−"), ledger.rest),
        ]
        for each, ledger in ledgers
    ]
    headings = ["output", "logit", *(charts.LEDGER[name] for name in parts), "missing"]
    return table(headings, rows, label="The ledger of every output")


def _where(explanation: Explanation, *, several: bool) -> str:
    return f"text {explanation.explained.text + 1}, {explanation.method}" if several else explanation.method


def by_layer(shown: Sequence[Explanation]) -> Section | None:
    """Relevance of positions in every layer, slot by slot."""
    sums = charts.layer_sums(shown)
    drawn = maps.layer_map(shown, maps.SLOTS) if sums is not None else None
    if drawn is None:
        return None
    sources = dict.fromkeys(source for each in shown for source in each.sources)
    lede = f"Position enters every layer here, as {' and '.join(f'`{source}`' for source in sources)}."
    body = join(panel(drawn, note(TOTALS if ROTATION in sources else "")), panel(sums, title="Over the whole text"))
    return Section("layers", "Positions, layer by layer", lede, tag("div", body, class_="stacked"), short="Layers")


def by_head(shown: Sequence[Explanation]) -> Section | None:
    """Relevance by head."""
    drawn = maps.layer_map(shown, maps.HEADS)
    lede = "Relevance of positions in every head, over the whole text. Orange adds to the logit, blue takes away."
    return None if drawn is None else Section("heads", "Head by head", lede, panel(drawn), short="Heads")


def by_frequency(shown: Sequence[Explanation]) -> Section | None:
    """Relevance by rotary frequency."""
    drawn = maps.layer_map(shown, maps.FREQUENCIES)
    lede = "Relevance of the rotation of each pair of channels, over all heads and the whole text; 0 is the fastest."
    return (
        None if drawn is None else Section("frequencies", "Rotary frequencies", lede, panel(drawn), short="Frequencies")
    )


def by_distance(shown: Sequence[Explanation]) -> Section | None:
    """Content against position in the logits of attention."""
    drawn = charts.distance_lines(shown)
    if drawn is None:
        return None
    words = {each.number: _position_share(each) for each in shown}
    several = any(len({layer for layer, _, _ in each.position_by_distance}) > 1 for each in shown)
    layers = maps.layer_map(shown, maps.DISTANCES) if several else None
    lede = (
        "Every logit of attention is what query and key say without position, and what position adds. "
        "Both have their share of its relevance."
    )
    heat = panel(layers, title="What position adds, layer by layer") if layers is not None else None
    body = tag("div", panel(follows(words), drawn), heat, class_="stacked")
    return Section("distances", "Content and position, by distance", lede, body, short="Distances")


def _position_share(explanation: Explanation) -> str:
    """How much of the relevance of logits is due to position, and at which distance most of it."""
    if not explanation.position_by_distance:
        return ""
    of_content, of_position = (
        sum(abs(value) for _, _, value in cells)
        for cells in (explanation.content_by_distance, explanation.position_by_distance)
    )
    sizes: dict[int, float] = {}
    for _, distance, value in explanation.position_by_distance:
        sizes[distance] = sizes.get(distance, 0.0) + abs(value)
    largest = max(sizes, key=sizes.__getitem__)
    where = (
        "at the query itself" if largest == 0 else f"{count(abs(largest), 'token')} {'back' if largest > 0 else 'on'}"
    )
    return (
        f"Position has {percent(of_position / (of_position + of_content))} of the relevance of logits, by size; "
        f"the largest part of it {where}."
    )


def by_method(shown: Sequence[Explanation]) -> Section | None:
    """What every method says of the same output, and whether they rank tokens alike."""
    if len({each.method for each in shown}) < 2:
        return None
    words = {each.number: _agreement(each, shown) for each in shown}
    lede = "Each line is a method, shaded from what takes most away to what adds most by its own scale."
    body = panel(maps.method_map(shown), follows(words, look="note"))
    return Section("methods", "Methods compared", lede, body, short="Methods")


def _agreement(explanation: Explanation, shown: Sequence[Explanation]) -> str:
    """How far other methods rank the tokens in the same order."""
    others = [each for each in shown if each.output == explanation.output and each.method != explanation.method]
    values = [
        f"{each.method} {short(rank_correlation(explanation.combined, each.combined))}"
        for each in others
        if len(each.combined) == len(explanation.combined) > 2
    ]
    return f"Rank correlation with {explanation.method}: {', '.join(values)}." if values else ""


def follows(words: Mapping[int, str], look: str = "told") -> Html:
    """A sentence for every explanation, of which the chosen one's is shown."""
    first = next(iter(words.values()), "")
    return tag("p", first, data_widget="followed", data_words=json.dumps(words), class_=look)
