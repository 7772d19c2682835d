"""Keep the figures of README and docs equal to their records: small JSON files that say how each was measured.

A record in docs/figures/ names its figures, the command that made them and when. In a page,
`<!-- figures: NAME.PART -->` … `<!-- /figures -->` holds prose whose numbers are those of the record, one by one and in
the same order, and `<!-- table: NAME.TABLE -->` … `<!-- /table -->` holds a table of it. `make docs` writes both anew.
Numbers in `code` are settings and stay. `python docs/figures.py RUN` records a run of `wherewhat reproduce canonical`
or `length`, `python docs/figures.py benchmarks/latest.json` what `make bench` has measured.
"""

import json
import re
import sys
from collections import Counter
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "docs" / "figures"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROSE = re.compile(r"(<!-- figures: ([\w-]+)\.([\w-]+) -->)(.*?)(<!-- /figures -->)", re.DOTALL)
TABLE = re.compile(r"(<!-- table: ([\w-]+)\.([\w-]+) -->\n).*?(<!-- /table -->)", re.DOTALL)
CODE = r"`[^`]*`"
NUMBER = r"(?<![\w.,^/])[−-]?\d+(?:,\d{3})*(?:\.\d+)?(?![\w/])"
NUMBER_OR_CODE = re.compile(f"{CODE}|({NUMBER})")
VERDICTS = ("agrees", "in part", "disagrees", "seen", "not seen", "unknown")


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


def canonical(run: Path) -> dict[str, Any]:
    """The record of a run of `wherewhat reproduce canonical`, with what the page says of it."""
    manifest = json.loads((run / "manifest.json").read_text())
    verdicts = {claim["claim"]: claim["verdict"] for claim in manifest["claims"]}
    means = pl.read_parquet(run / "result.parquet").filter(
        (pl.col("part") == "accuracy") & (pl.col("measure") == "accuracy") & pl.col("seed").is_null()
    )
    accuracy = {(subject, at): 100 * value for subject, at, value in means.select("subject", "at", "value").rows()}
    bases = sorted({base for _, base in accuracy}, reverse=True)
    one = "partial_induction, 1 plane"
    return {
        "command": f"wherewhat reproduce canonical --scale {manifest['scale']} --seed {manifest['seed']}",
        "date": date.today().isoformat(),
        "source": f"a run of commit {manifest['git_commit'][:7]}, {manifest['seconds']:.0f} s",
        "figures": {
            "verdicts": {
                "claims": str(len(verdicts)),
                **{name: str(n) for name, n in Counter(verdicts.values()).items()},
            },
            "text": {
                "outermost bases": [f"{bases[-2]:g}", f"{bases[0]:g}"],
                "partial induction, one frequency, smallest bases": [
                    f"{accuracy[one, base]:.0f}" for base in bases[-3:-1]
                ],
                "no angle": "0",
                "largest base that a head made by hand solves": "0.066",
            },
        },
        "tables": {
            "accuracy": [
                ["base", *(f"{base:g}" for base in bases)],
                *(
                    [name, *(f"{accuracy[subject, base]:.0f}" for base in bases)]
                    for name, subject in {
                        "index": "index",
                        "retrieval": "retrieval",
                        "partial induction, one frequency": one,
                        "partial induction, two (0 and θ)": "partial_induction, 2 planes",
                    }.items()
                ),
            ]
        },
        "claims": verdicts,
    }


def length(run: Path) -> dict[str, Any]:
    """The record of a run of `wherewhat reproduce length`: accuracies on longer inputs and mean reciprocal ranks."""
    manifest = json.loads((run / "manifest.json").read_text())
    means = pl.read_parquet(run / "result.parquet").filter(pl.col("seed").is_null())
    about = manifest["about"]
    exact = {
        (subject, item): f"{100 * value:.0f}"
        for subject, item, value in means.filter(part="overall", measure="exact")
        .select("subject", "item", "value")
        .rows()
    }
    ranks = means.filter(part="rank", item="all")
    mean = {(subject, measure): value for subject, measure, value in ranks.select("subject", "measure", "value").rows()}
    encodings = about["encodings"]
    verdicts = {claim["claim"]: claim["verdict"] for claim in manifest["claims"]}
    counts = Counter(verdicts.values())
    return {
        "command": f"wherewhat reproduce length --scale {manifest['scale']} --seed {manifest['seed']}",
        "date": date.today().isoformat(),
        "source": f"a run of commit {manifest['git_commit'][:7]}, {manifest['seconds']:.0f} s",
        "figures": {
            # All of them, also those that no claim has: the prose names them in this order, whatever the run says.
            "verdicts": {"claims": str(len(verdicts)), **{name: str(counts[name]) for name in VERDICTS}}
        },
        "tables": {
            "accuracy": [
                ["% exact on longer inputs (at training lengths)", *encodings],
                *(
                    [
                        name,
                        *(
                            f"{exact[f'{name}, {each}', 'test']} ({exact[f'{name}, {each}', 'train']})"
                            for each in encodings
                        ),
                    ]
                    for name in (task["name"] for task in about["tasks"])
                ),
                ["mean reciprocal rank", *(f"{mean[each, 'mrr']:.2f}" for each in encodings)],
                [
                    "mean accuracy of ranked tasks, %",
                    *(f"{100 * mean[each, 'mean accuracy']:.0f}" for each in encodings),
                ],
            ]
        },
        "claims": verdicts,
    }


RUNS = {"canonical": canonical, "length": length}  # how runs of a study are recorded


def speed(latest: Path) -> dict[str, Any]:
    """The record of what `make bench` has measured; what it has not measured this time stays as it is on record."""
    known = record("speed")
    rows = {row[0]: row for row in known["tables"]["ratios"]}
    for each in json.loads(latest.read_text()):
        what, _, against = each["name"].partition(": ")
        faster, bound = against.endswith("faster"), each["bound"]
        goal = "" if bound is None else f"{'≥' if faster else '≤'} {bound:,g}{'' if each['met'] else ': missed'}"
        spread = f"{_short(each['ratio'])} × ({_short(each['low'])}–{_short(each['high'])})"
        against = rows[what][1] if what in rows else against
        rows[what] = [what, against, f"{spread} faster" if faster else spread, goal]
    return {
        **known,
        "date": date.today().isoformat(),
        "figures": {**known["figures"], **_speed_figures({what: row[2] for what, row in rows.items()})},
        "tables": {**known["tables"], "ratios": list(rows.values())},
    }


def _speed_figures(ratios: dict[str, str]) -> dict[str, Any]:
    """The figures of sentences that tell of ratios in the table."""

    def spread(what: str) -> list[str]:
        return re.findall(r"[\d.,]+", ratios[what])[:3]

    profile, swaps = spread("heads, n = 1,024"), spread("all swaps of one query, n = 64, 8 heads")
    return {
        "readme": {
            "profile over forward, n": "1,024",
            "profile over forward": profile,
            "goal, at most": "1.4",
            "swaps, n": "64",
            "running the layer again over swaps": swaps,
        },
        "text": {"profile over forward": [*spread("heads, n = 128"), "128", *spread("heads, n = 256"), "256"]},
    }


def _short(ratio: float) -> str:
    """Three digits: 1.24, 12.4, 1,240."""
    return f"{float(f'{ratio:.3g}'):,.0f}" if ratio >= 100 else f"{ratio:.3g}"


def written(recorded: dict[str, Any]) -> str:
    """A record as its file holds it: what stands in one row stands in one line."""
    text = json.dumps(recorded, ensure_ascii=False, indent=2)
    one_line = re.compile(r'\[\s+("[^\[\]{}]*?")\s+\]')
    return one_line.sub(lambda row: "[" + re.sub(r'",\s+"', '", "', row[1]) + "]", text) + "\n"


def main() -> None:
    """Write every page anew."""
    for path in PAGES:
        path.write_text(filled(path.read_text()))


if __name__ == "__main__":
    given = Path(sys.argv[1])
    name = "speed" if given.suffix == ".json" else json.loads((given / "manifest.json").read_text())["reproduction"]
    recorded = speed(given) if name == "speed" else RUNS[name](given)
    (RECORDS / f"{name}.json").write_text(written(recorded))
