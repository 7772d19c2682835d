"""What the pages of all probes tell alike: the data, what was left out, and what the numbers say to each claim."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from wherewhat.report.claims import the_claims
from wherewhat.report.measured import Manifest
from wherewhat.report.numbers import MISSING, count, short, signed, tenths
from wherewhat.report.page import Section
from wherewhat.report.tags import Html, join, prose, tag

RIGHT_TO_LEFT = frozenset({"R", "AL"})
Cells = Sequence[object]


def claims_of(manifest: Manifest) -> Section | None:
    """What was asked of the numbers and what they say; beside what was published, where something was."""
    claims = [_with_data(claim, manifest) for claim in manifest.get("claims") or ()]
    if not claims:
        return None
    judged = f" {manifest['judged']}" if manifest.get("judged") else ""  # what all of them rest on
    if any(not str(claim.get("published") or "unknown").startswith("unknown") for claim in claims):
        section = the_claims({"claims": claims})
        return replace(section, lede=f"{section.lede}{judged}")
    body = tag("div", *(_claim(claim) for claim in claims), class_="claims seen")
    lede = f"Every verdict is worked out from the numbers.{judged}"
    return Section("claims", "What the numbers say", lede, body, "Claims")


def _with_data(claim: Mapping[str, Any], manifest: Manifest) -> Mapping[str, Any]:
    """A claim that says which data it is about, where there are several."""
    if len(manifest.get("data") or ()) < 2 or not claim.get("data"):
        return claim
    return {**claim, "claim": f"{claim['data']}: {claim.get('claim')}"}


def _claim(claim: Mapping[str, Any]) -> Html:
    verdict = str(claim.get("verdict") or "unknown")
    why = tag("p", prose(str(claim["why"])), class_="why") if claim.get("why") else ""
    return tag(
        "div",
        tag("p", tag("b", prose(str(claim.get("claim") or "")))),
        tag("p", prose(str(claim.get("ours") or "")), class_="ours"),
        tag("p", verdict, class_="verdict", data_verdict=verdict),
        why,
    )


def the_data(manifest: Manifest) -> Section | None:
    """Which sentences were read, and what was left out, by reason."""
    sources = list(manifest.get("data") or ())
    if not sources:
        return None
    body = tag("div", *(_source(one) for one in sources), class_="made")
    left_out = sum(sum(_counts(one).values()) for one in sources)
    lede = f"Left out: {count(left_out, 'sentence')}, for the reasons below." if left_out else "Nothing was left out."
    return Section("read", "What was read, and what was left out", lede, body, "Data")


def _source(one: Mapping[str, Any]) -> Html:
    plain = {"from": one.get("source")} | {name: value for name, value in one.items() if name not in APART}
    rows = [tag("div", tag("dt", _named(name)), tag("dd", _said(value))) for name, value in plain.items() if _is(value)]
    why = [tag("div", tag("dt", f"{number:,}"), tag("dd", prose(reason))) for reason, number in _counts(one).items()]
    left = [tag("h4", "Left out"), tag("dl", *why, class_="skipped")] if why else []
    name = tag("h3", tag("bdi", str(one.get("name") or "data")))
    return tag("section", name, tag("dl", *rows), *left, *_swaps(one), *_dropped(one))


APART = frozenset({"name", "source", "skipped", "dropped", "items"})  # said in words of their own


def _swaps(one: Mapping[str, Any]) -> list[Html]:
    """How many sentences every swap could be done to, and why not to others."""
    lines = []
    for item, its in (one.get("items") or {}).items():
        controls = its.get("controls") or 0
        told = [
            f"{count(its.get('sentences') or 0, 'sentence')}, {f'{controls:,}' if controls else 'none'} with a control"
        ]
        told += [f"{number:,} left out: {why}" for why, number in (its.get("left out") or {}).items()]
        lines.append(tag("div", tag("dt", size_words(item)), tag("dd", prose("; ".join(told)))))
    return [tag("h4", "Swaps"), tag("dl", *lines)] if lines else []


def _dropped(one: Mapping[str, Any]) -> list[Html]:
    """Relations with too few rows to be told of."""
    told: dict[str, list[str]] = {}
    for its in one.get("dropped") or ():
        told.setdefault(str(its.get("item")), []).append(f"{its.get('rows'):,} {its.get('side')}")
    if not told:
        return []
    lines = [tag("div", tag("dt", tag("bdi", item)), tag("dd", ", ".join(rows))) for item, rows in told.items()]
    title = tag("summary", f"{count(len(told), 'relation')} with too few rows")
    return [tag("details", title, tag("dl", *lines))]


def _counts(one: Mapping[str, Any]) -> dict[str, int]:
    """How many were left out for which reason; what is 0 is not told."""
    return {str(reason): int(number) for reason, number in (one.get("skipped") or {}).items() if number}


def _is(value: Any) -> bool:
    empty = isinstance(value, Mapping) and not any(value.values())
    return not empty and value not in (None, "", [], ())


def _named(name: str) -> str:
    return name.replace("_", " ")


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{_named(str(name))} {_said(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_said(item) for item in value)
    return f"{value:,}" if isinstance(value, int) else short(value) if isinstance(value, float) else str(value)


def facts_of(manifest: Manifest) -> list[tuple[str, str]]:
    """The numbers of the header that every probe has: the model's size and the sentences."""
    model, sources = manifest.get("model") or {}, list(manifest.get("data") or ())
    model = model if isinstance(model, Mapping) else {}
    facts = [(f"{model[name]:,}", name) for name in ("layers", "heads") if isinstance(model.get(name), int)]
    read = sum(one.get("sentences") or 0 for one in sources)
    facts += [(f"{read:,}", "sentences")] if read else []
    return facts + ([(str(len(sources)), "treebanks")] if len(sources) > 1 else [])


def model_of(manifest: Manifest) -> str:
    """What the model is called."""
    model = manifest.get("model") or {}
    return str((model.get("id") or model.get("path")) if isinstance(model, Mapping) else model) or "a model"


def size_words(item: str) -> str:
    """What a size is called.

    >>> size_words("3"), size_words("whole")
    ('3 words', 'whole sentence')
    """
    return f"{item} words" if item.isdecimal() else "whole sentence" if item == "whole" else item


def direction(words: Iterable[str]) -> str:
    """Which way a sentence is written, by its first letter that tells.

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
