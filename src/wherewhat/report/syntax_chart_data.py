"""The tables behind the charts of the study of syntax, each row with its tooltip."""

from collections.abc import Iterable
from typing import Any

from wherewhat.formatting import short
from wherewhat.report.page import Columns
from wherewhat.report.panels import columns
from wherewhat.report.probe_dependencies_tables import KINDS, PARTS, TITLES
from wherewhat.report.result_text import Row, share
from wherewhat.report.syntax_data import EACH, LOCALITIES, SyntaxPageData

NEAR, FAR = 1.0, 6.0  # distances shown against locality, by the smallest of each group


def tables_of(data: SyntaxPageData) -> dict[str, Columns]:
    """The tables of all charts."""
    names = ("panel", "kind", "value", "low", "high", "said")
    return {
        "distances": columns(_by_distance(data), (*names, "distance")),
        "relations": columns(_by_relation(data), (*names, "relation", "order")),
        "places": columns(
            _by_locality(data), ("by", "part", "at", "x", "value", "low", "high", "group", "name", "said")
        ),
    }


def panel_of(data: SyntaxPageData, subject: str, side: str) -> str:
    """The key of a chart of one encoding or group, in one direction; it is safe inside an expression."""
    keys = {encoding.name: encoding.key for encoding in data.encodings}
    return f"{keys.get(subject, subject)} {data.sides.index(side)}"


def _drawn(data: SyntaxPageData) -> list[tuple[str, str]]:
    """Every encoding and every group, in every direction."""
    names = [*data.groups, *(encoding.name for encoding in data.encodings)]
    return [(name, side) for name in names for side in data.sides]


def _by_distance(data: SyntaxPageData) -> Iterable[Row]:
    for subject, side in _drawn(data):
        for kind in KINDS:
            for at, distance in data.distances.items():
                if row := data.mean(subject, kind, EACH, at=at, side=side):
                    tooltip = f"{TITLES[kind]}, distance {distance}: {share(clipped(row))}"
                    shows = {"panel": panel_of(data, subject, side), "kind": kind, "distance": distance}
                    yield {**_ends(row), **shows, "said": tooltip}


def _by_relation(data: SyntaxPageData) -> Iterable[Row]:
    for subject, side in _drawn(data):
        for kind in KINDS:
            for order, relation in enumerate(data.relations):
                if row := data.mean(subject, kind, relation, side=side):
                    tooltip = f"{relation}, {TITLES[kind]}: {share(clipped(row))}"
                    shows = {"panel": panel_of(data, subject, side), "kind": kind, "order": order, "said": tooltip}
                    yield {**_ends(row), **shows, "relation": relation}


def _by_locality(data: SyntaxPageData) -> Iterable[Row]:
    """Every encoding by its locality, near and far."""
    for by in LOCALITIES:
        for subject in data.encodings:
            x = data.locality(subject.name, by)
            for part in PARTS:
                for at in (NEAR, FAR):
                    row = data.mean(subject.name, part, EACH, at=at)
                    if row is not None and x is not None:
                        tooltip = f"{subject.label}: {share(clipped(row))}, locality {short(x)}"
                        shows = {"by": by, "part": part, "at": at, "x": x, "group": subject.group}
                        yield {**_ends(row), **shows, "name": subject.label, "said": tooltip}


def clipped(row: Row) -> dict[str, Any]:
    """A share and its interval, within 0 to 1."""
    return {end: None if row[end] is None else max(0.0, min(1.0, row[end])) for end in ("value", "low", "high")}


def _ends(row: Row) -> dict[str, Any]:
    """A share and the ends of its interval; without an interval both ends are the share."""
    known = clipped(row)
    return {end: known["value"] if value is None else value for end, value in known.items()}
