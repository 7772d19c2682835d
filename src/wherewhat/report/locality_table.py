"""The table of locality and symmetry: every encoding on every question."""

from collections.abc import Mapping

from wherewhat.formatting import count, short
from wherewhat.report.locality_data import ALL, BAG_OF_WORDS, DECODER, LocalityEncoding, LocalityPageData
from wherewhat.report.page import Section
from wherewhat.report.result_text import give_or_take
from wherewhat.report.tags import Html, tag

LONGEST = 12  # characters of a column heading


def numbers(data: LocalityPageData) -> Section:
    """The table of every encoding on every question."""
    names = [question.name for question in data.questions]
    headings = ("encoding", "locality", "balance", "mean", *names, "loss", "forgetting")
    head = tag("tr", *(tag("th", _cut(name), scope="col", title=name) for name in headings))
    best = {item: data.best(item) for item in (ALL, *names)}
    rows = [_row(data, encoding, best) for encoding in data.encodings]
    if any(data.bag_of_words(item) is not None for item in best):
        rows.append(_row(data, LocalityEncoding(BAG_OF_WORDS, "reference"), dict.fromkeys(best)))
    table = tag("table", tag("thead", head), tag("tbody", *rows))
    body = tag("div", table, class_="scroller whole", tabindex="0", role="region", aria_label="Every encoding")
    means = f"Means over {count(data.seeds, 'seed')}, ± half the width of their 95 % intervals (Student's t)."
    lede = (
        f"All {count(len(data.encodings), 'encoding')}, accuracy in per cent, the best encoder in bold. "
        f"{means if data.seeds > 1 else 'One seed only.'} Loss is that of masked words, in decoders of the next word, "
        "in nats (natural logarithm); forgetting is how much it rises through fine-tuning. Locality and balance are "
        "those of attention in trained nets."
    )
    return Section("numbers", "Every encoding", lede, body, "Table")


def _row(data: LocalityPageData, encoding: LocalityEncoding, best: Mapping[str, float | None]) -> Html:
    cells: list[object] = [short(data.property_of(encoding.name, by)) for by in ("locality", "balance")]
    for item, most in best.items():
        row = data.mean(encoding.name, item)
        leads = row is not None and row["value"] == most and encoding.family != DECODER
        cells.append(tag("b", give_or_take(row)) if leads else give_or_take(row))
    losses = (data.mean(encoding.name, ALL, measure) for measure in ("word loss", "forgetting"))
    cells += [short(row["value"] if row else None) for row in losses]
    return tag("tr", tag("th", encoding.label, scope="row"), *(tag("td", cell) for cell in cells))


def _cut(name: str) -> str:
    """A name cut to the width of a column.

    >>> _cut("agent"), _cut("a file with a long name")
    ('agent', 'a file with…')
    """
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
