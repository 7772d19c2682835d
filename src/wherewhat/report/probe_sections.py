"""The sections that the pages of all probes share: the data, what was left out, and the claims."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from wherewhat.formatting import MISSING, count, short, signed, tenths
from wherewhat.report.claims import claims_section
from wherewhat.report.page import Section
from wherewhat.report.tags import Html, join, prose, tag
from wherewhat.tables.manifest.decode import encode
from wherewhat.tables.manifest.probe import ProbeClaim, ProbeData, ProbeManifest

RIGHT_TO_LEFT = frozenset({"R", "AL"})
Cells = Sequence[object]


def claims_of(manifest: ProbeManifest) -> Section | None:
    """Every claim with its verdict; beside what was published, where something was."""
    claims = [_with_data(claim, manifest) for claim in manifest.claims]
    if not claims:
        return None
    judged_by = f" {manifest.judged_by}" if manifest.judged_by else ""
    if any(not claim.published.startswith("unknown") for claim in claims):
        section = claims_section(claims)
        return replace(section, lede=f"{section.lede}{judged_by}")
    body = tag("div", *(_claim(claim) for claim in claims), class_="claims seen")
    lede = f"Every verdict follows from the numbers.{judged_by}"
    return Section("claims", "What the numbers say", lede, body, "Claims")


def _with_data(claim: ProbeClaim, manifest: ProbeManifest) -> ProbeClaim:
    """A claim that says which data it is about, where there are several."""
    if len(manifest.data) < 2 or not claim.data:
        return claim
    return replace(claim, claim=f"{claim.data}: {claim.claim}")


def _claim(claim: ProbeClaim) -> Html:
    return tag(
        "div",
        tag("p", tag("b", prose(claim.claim))),
        tag("p", prose(claim.ours), class_="ours"),
        tag("p", claim.verdict, class_="verdict", data_verdict=claim.verdict),
        tag("p", prose(claim.why), class_="why") if claim.why else "",
    )


def the_data(manifest: ProbeManifest) -> Section | None:
    """Which sentences were read, and what was left out, by reason."""
    sources = manifest.data
    if not sources:
        return None
    body = tag("div", *(_source(source) for source in sources), class_="made")
    left_out = sum(sum(source.skipped.values()) for source in sources)
    lede = f"Left out: {count(left_out, 'sentence')}, for the reasons below." if left_out else "Nothing was left out."
    return Section("read", "What was read, and what was left out", lede, body, "Data")


def _source(source: ProbeData) -> Html:
    plain = {"from": source.source} | {name: value for name, value in encode(source).items() if name not in APART}
    rows = [
        tag("div", tag("dt", _named(name)), tag("dd", _written(value))) for name, value in plain.items() if _is(value)
    ]
    why = [
        tag("div", tag("dt", f"{number:,}"), tag("dd", prose(reason)))
        for reason, number in source.skipped.items()
        if number
    ]
    left = [tag("h4", "Left out"), tag("dl", *why, class_="skipped")] if why else []
    name = tag("h3", tag("bdi", source.name))
    return tag("section", name, tag("dl", *rows), *left, *_swaps(source), *_dropped(source))


APART = frozenset({"name", "source", "skipped", "dropped", "items"})  # shown in their own way


def _swaps(source: ProbeData) -> list[Html]:
    """How many sentences every swap applies to, and why not to others."""
    lines = []
    for item, counts in source.items.items():
        controls = f"{counts.controls:,}" if counts.controls else "none"
        parts = [f"{count(counts.sentences, 'sentence')}, {controls} with a control"]
        parts += [f"{number:,} left out: {why}" for why, number in counts.left_out.items()]
        lines.append(tag("div", tag("dt", size_words(item)), tag("dd", prose("; ".join(parts)))))
    return [tag("h4", "Swaps"), tag("dl", *lines)] if lines else []


def _dropped(source: ProbeData) -> list[Html]:
    """Relations with too few rows to be reported."""
    relations: dict[str, list[str]] = {}
    for relation in source.dropped:
        relations.setdefault(relation.item, []).append(f"{relation.rows:,} {relation.side}")
    if not relations:
        return []
    lines = [tag("div", tag("dt", tag("bdi", item)), tag("dd", ", ".join(rows))) for item, rows in relations.items()]
    title = tag("summary", f"{count(len(relations), 'relation')} with too few rows")
    return [tag("details", title, tag("dl", *lines))]


def _is(value: Any) -> bool:
    empty = isinstance(value, Mapping) and not any(value.values())
    return not empty and value not in (None, "", [], ())


def _named(name: str) -> str:
    return name.replace("_", " ")


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{_named(str(name))} {_written(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_written(item) for item in value)
    return f"{value:,}" if isinstance(value, int) else short(value) if isinstance(value, float) else str(value)


def facts_of(manifest: ProbeManifest) -> list[tuple[str, str]]:
    """The numbers of the header that every probe has: the model's size and the sentences."""
    model, sources = manifest.model, manifest.data
    sizes = (("layers", model.layers), ("heads", model.heads))
    facts = [(f"{size:,}", name) for name, size in sizes if size is not None]
    read = sum(source.sentences or 0 for source in sources)
    facts += [(f"{read:,}", "sentences")] if read else []
    return facts + ([(str(len(sources)), "treebanks")] if len(sources) > 1 else [])


def size_words(item: str) -> str:
    """The name of a size.

    >>> size_words("3"), size_words("whole")
    ('3 words', 'whole sentence')
    """
    return f"{item} words" if item.isdecimal() else "whole sentence" if item == "whole" else item


def direction(words: Iterable[str]) -> str:
    """The writing direction of a sentence, by its first letter that has one.

    >>> direction(["the", "cat"]), direction(["١", "كتب"])
    ('ltr', 'rtl')
    """
    for letter in "".join(words):
        kind = unicodedata.bidirectional(letter)
        if kind == "L" or kind in RIGHT_TO_LEFT:
            return "rtl" if kind in RIGHT_TO_LEFT else "ltr"
    return "ltr"


def table(
    headings: Sequence[object], rows: Iterable[Cells], *, label: str, groups: Sequence[tuple[str, int]] = ()
) -> Html:
    """Numbers in lines, the first cell of each its name; `groups` are headings over several columns each."""
    above = tag("tr", *(_group(name, wide) for name, wide in groups), class_="over") if groups else ""
    head = tag("thead", above, tag("tr", *(tag("th", name, scope="col") for name in headings)))
    body = [tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:])) for row in rows]
    return tag(
        "div",
        tag("table", tag("caption", label, class_="unseen"), head, tag("tbody", *body)),
        class_="scroller whole probed",
        tabindex="0",
        role="region",
        aria_label=label,
    )


def _group(name: str, wide: int) -> Html:
    return tag("th", name, scope="colgroup", colspan=wide) if name else tag("td", "", colspan=wide)


def per_cent(value: float | None) -> str:
    """A share as a number of per cent.

    >>> per_cent(0.512), per_cent(None)
    ('51.2', '–')
    """
    return MISSING if value is None else tenths(value)


def points(value: float | None) -> str:
    """A difference of shares in points of a hundred, with its sign.

    >>> points(-0.0123), points(None)
    ('−1.2', '–')
    """
    return MISSING if value is None else signed(100 * value)


def reaching(low: object, high: object) -> Html | str:
    """An interval behind its number, small; nothing where there is none."""
    return tag("span", f" {low} to {high}", class_="reach") if MISSING not in (low, high) else ""


def key(*entries: tuple[str, str]) -> Html:
    """Which mark is what: pairs of a class of the style sheet and words."""
    return tag("p", *(tag("span", tag("i", class_=look), words) for look, words in entries), class_="key marks")


def notes(*sentences: str) -> Html:
    """Small print below a chart."""
    return join(*(tag("p", prose(sentence), class_="note") for sentence in sentences if sentence))
