"""Keep the figures of README and docs equal to their records: small JSON files that say how each was measured.

A record in docs/figures/ names its figures, the command that made them and when. In a page,
`<!-- figures: NAME.PART -->` … `<!-- /figures -->` holds prose whose numbers are those of the record, one by one and in
the same order, and `<!-- table: NAME.TABLE -->` … `<!-- /table -->` holds a table of it. `make docs` writes both anew.
Numbers in `code` are settings and stay. `docs/record.py` writes records.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "docs" / "figures"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROSE = re.compile(r"(<!-- figures: ([\w-]+)\.([\w-]+) -->)(.*?)(<!-- /figures -->)", re.DOTALL)
TABLE = re.compile(r"(<!-- table: ([\w-]+)\.([\w-]+) -->\n).*?(<!-- /table -->)", re.DOTALL)
CODE = r"`[^`]*`"
NUMBER = r"(?<![\w.,^/])[−-]?\d+(?:,\d{3})*(?:\.\d+)?(?![\w/])"
NUMBER_OR_CODE = re.compile(f"{CODE}|({NUMBER})")


@cache
def record(name: str) -> dict[str, Any]:
    """One record: `command`, `date`, `source`, and its `figures` and `tables`."""
    return dict(json.loads((RECORDS / f"{name}.json").read_text()))


def filled(page: str) -> str:
    """A page with the numbers and tables of its records."""
    page = PROSE.sub(lambda found: f"{found[1]}{_prose(found[4], found[2], found[3])}{found[5]}", page)
    return TABLE.sub(lambda found: f"{found[1]}{_table(record(found[2])['tables'][found[3]])}\n{found[4]}", page)


def numbers(text: str) -> list[str]:
    """The numbers of some prose, in order; those in code are not among them."""
    return [found[1] for found in NUMBER_OR_CODE.finditer(text) if found[1]]


def _prose(text: str, name: str, part: str) -> str:
    figures: dict[str, str | list[str]] = record(name)["figures"][part]
    recorded = [each for value in figures.values() for each in ([value] if isinstance(value, str) else value)]
    if len(recorded) != len(numbers(text)):
        raise ValueError(f"{name}.{part} has {recorded} on record, and the prose has {numbers(text)}")
    values = iter(recorded)
    return NUMBER_OR_CODE.sub(lambda found: next(values) if found[1] else found[0], text)


def _table(rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(row)} |".replace("|  |", "| |").replace("|  |", "| |") for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def main() -> None:
    """Write every page anew."""
    for path in PAGES:
        path.write_text(filled(path.read_text()))
