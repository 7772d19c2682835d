"""How parts of a page stand together: cards, columns, notes, keys, and sections that begin with an answer."""

from collections.abc import Iterable, Sequence

from wherewhat.formatting import count, duration
from wherewhat.report.core.html import Html, join, prose, tag
from wherewhat.report.core.page import Section
from wherewhat.tables.manifest.study import LongAnswer


def panel(*children: object, title: str = "", text: str = "") -> Html:
    """A card around charts and words that belong together, with a title and a note above them."""
    heading = tag("h3", title) if title else None
    return tag("div", heading, note(text) if text else None, *children, class_="panel")


def columns(*cards: object, look: str = "two") -> Html:
    """Cards side by side, as far as there is room; `look` is a class of the style sheet."""
    return tag("div", *cards, class_=look)


def small(title: object, chart: object, *texts: str, level: str = "h4") -> Html:
    """One of several small charts: its title, a word about it, and the chart."""
    return tag("div", tag(level, title), *(tag("p", text, class_="note") for text in texts if text), chart)


def note(*sentences: str) -> Html:
    """Small print, a paragraph each; names in backquotes are code."""
    return join(*(tag("p", prose(sentence), class_="note") for sentence in sentences if sentence))


def paragraphs(*sentences: str) -> Html:
    """Sentences that are not empty, a paragraph each."""
    return join(*(tag("p", sentence) for sentence in sentences if sentence))


def key(*entries: tuple[str, str], look: str = "key marks") -> Html:
    """Which mark is what: pairs of a class of the style sheet and words."""
    return tag("p", *(tag("span", tag("i", class_=sign), words) for sign, words in entries), class_=look)


def definitions(entries: Iterable[tuple[object, object]], look: str | None = None) -> Html:
    """Names and what belongs to each, in two columns."""
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in entries), class_=look)


def folded(title: object, *children: object, opened: bool = False, look: str = "treebank") -> Html:
    """Something under a title that opens and closes it."""
    return tag("details", tag("summary", title), *children, open=opened, class_=look)


def answered(*children: object, text: str = "") -> Html:
    """The body of a section that begins with what came out: numbers, charts, and small print."""
    return tag("div", *children, note(text) if text else None, class_="answered")


def answer_section(
    name: str, title: str, answers: Sequence[LongAnswer], *children: object, text: str, short: str
) -> Section:
    """A section that begins with answers of a study and what they rest on; without any, with how to read it."""
    lede = " ".join(f"{answer.lead.removesuffix('.')}." for answer in answers if answer.lead) or text
    return Section(
        name, title, lede, answered(paragraphs(*(each.rest for each in answers)), *children, text=text), short
    )


def present(sections: Iterable[Section | None]) -> list[Section]:
    """The sections that have something to show."""
    return [section for section in sections if section is not None]


def counted(number: int, singular: str, plural: str = "") -> tuple[str, str]:
    """A fact for the head of a page: a number and what it counts.

    >>> counted(1, "seed"), counted(1200, "net")
    (('1', 'seed'), ('1,200', 'nets'))
    """
    return f"{number:,}", singular if number == 1 else plural or f"{singular}s"


def run_time(seconds: float | None, processes: int | None) -> Sequence[tuple[str, str]]:
    """The time of all runs of a study together, as a fact; none where it is not known."""
    if not seconds:
        return []
    return [(duration(seconds), f"summed over {count(processes, 'process', 'processes')}" if processes else "in all")]
