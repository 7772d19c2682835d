"""The numbers of the study of relations as its charts read them, each row with what it says."""

from collections.abc import Iterable
from typing import Any

from wherewhat.report.drawn import columns
from wherewhat.report.locality_said import right
from wherewhat.report.numbers import short
from wherewhat.report.page import Columns
from wherewhat.report.probe_dependencies_tables import KINDS, PARTS, TITLES
from wherewhat.report.syntax_study import EACH, PLACES, Row, Syntax

NEAR, FAR = 1.0, 6.0  # distances that locality is looked at, by their first number


def tables_of(found: Syntax) -> dict[str, Columns]:
    """The numbers of all charts."""
    names = ("panel", "kind", "value", "low", "high", "said")
    return {
        "distances": columns(_by_distance(found), (*names, "distance")),
        "relations": columns(_by_relation(found), (*names, "relation", "order")),
        "places": columns(_by_place(found), ("by", "part", "at", "x", "value", "low", "high", "group", "name", "said")),
    }


def panel_of(found: Syntax, subject: str, side: str) -> str:
    """The key of a chart of one encoding or group, from one side; plain, as it stands inside an expression."""
    keys = {one.name: one.key for one in found.subjects}
    return f"{keys.get(subject, subject)} {found.sides.index(side)}"


def _drawn(found: Syntax) -> list[tuple[str, str]]:
    """Every encoding and every group, from every side."""
    names = [*found.groups, *(one.name for one in found.subjects)]
    return [(name, side) for name in names for side in found.sides]


def _by_distance(found: Syntax) -> Iterable[Row]:
    for subject, side in _drawn(found):
        for kind in KINDS:
            for at, distance in found.distances.items():
                if row := found.mean(subject, kind, EACH, at=at, side=side):
                    said = f"{TITLES[kind]}, distance {distance}: {right(clipped(row))}"
                    told = {"panel": panel_of(found, subject, side), "kind": kind, "distance": distance, "said": said}
                    yield {**_ends(row), **told}


def _by_relation(found: Syntax) -> Iterable[Row]:
    for subject, side in _drawn(found):
        for kind in KINDS:
            for order, relation in enumerate(found.relations):
                if row := found.mean(subject, kind, relation, side=side):
                    said = f"{relation}, {TITLES[kind]}: {right(clipped(row))}"
                    told = {"panel": panel_of(found, subject, side), "kind": kind, "order": order, "said": said}
                    yield {**_ends(row), **told, "relation": relation}


def _by_place(found: Syntax) -> Iterable[Row]:
    """Every encoding by how local it is, near and far."""
    for by in PLACES:
        for subject in found.subjects:
            x = found.place(subject.name, by)
            for part in PARTS:
                for at in (NEAR, FAR):
                    row = found.mean(subject.name, part, EACH, at=at)
                    if row is not None and x is not None:
                        said = f"{subject.label}: {right(clipped(row))}, locality {short(x)}"
                        told = {"by": by, "part": part, "at": at, "x": x, "group": subject.group}
                        yield {**_ends(row), **told, "name": subject.label, "said": said}


def clipped(row: Row) -> dict[str, Any]:
    """A share and its interval, no further than shares go; without an interval, none."""
    return {end: None if row[end] is None else max(0.0, min(1.0, row[end])) for end in ("value", "low", "high")}


def _ends(row: Row) -> dict[str, Any]:
    """The same as it is drawn: without an interval its ends are the number itself."""
    known = clipped(row)
    return {end: known["value"] if value is None else value for end, value in known.items()}
