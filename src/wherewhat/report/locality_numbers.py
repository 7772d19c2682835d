"""The table of the study of locality and symmetry: every encoding on every question."""

from collections.abc import Mapping

from wherewhat.report import locality_said as said
from wherewhat.report.locality_study import ALL, DECODER, WORDS_ALONE, Locality, Subject
from wherewhat.report.numbers import count, short
from wherewhat.report.page import Section
from wherewhat.report.tags import Html, tag

LONGEST = 12  # letters of a name above a column


def numbers(found: Locality) -> Section:
    """Every encoding on every question, in a table."""
    names = [question.name for question in found.questions]
    headings = ("encoding", "locality", "balance", "together", *names, "loss", "forgets")
    head = tag("tr", *(tag("th", _cut(name), scope="col", title=name) for name in headings))
    best = {item: said.best(found, item) for item in (ALL, *names)}
    rows = [_row(found, subject, best) for subject in found.subjects]
    if any(found.words_alone(item) is not None for item in best):
        rows.append(_row(found, Subject(WORDS_ALONE, "reference"), dict.fromkeys(best)))
    table = tag("table", tag("thead", head), tag("tbody", *rows))
    body = tag("div", table, class_="scroller whole", tabindex="0", role="region", aria_label="Every encoding")
    many = f"Means over {count(found.seeds, 'seed')}, ± half of their 95 % intervals by Student's t."
    lede = (
        f"All {count(len(found.subjects), 'encoding')}, right answers in per cent, the most of all encoders in bold. "
        f"{many if found.seeds > 1 else 'Of one seed.'} Loss is that of masked words, in decoders of the next word, in "
        "nats (natural logarithms of how unlikely they seemed); a net forgets by as much as it is larger after "
        "fine-tuning. Locality and balance are those of attention in trained nets."
    )
    return Section("numbers", "Every encoding", lede, body, "Table")


def _row(found: Locality, subject: Subject, best: Mapping[str, float | None]) -> Html:
    cells: list[object] = [short(found.place(subject.name, by)) for by in ("locality", "balance")]
    for item, most in best.items():
        row = found.mean(subject.name, item)
        leads = row is not None and row["value"] == most and subject.family != DECODER
        cells.append(tag("b", said.give_or_take(row)) if leads else said.give_or_take(row))
    losses = (found.mean(subject.name, ALL, measure) for measure in ("word loss", "forgetting"))
    cells += [short(row["value"] if row else None) for row in losses]
    return tag("tr", tag("th", subject.label, scope="row"), *(tag("td", cell) for cell in cells))


def _cut(name: str) -> str:
    """A name that fits above a column.

    >>> _cut("agent"), _cut("a file with a long name")
    ('agent', 'a file with…')
    """
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
