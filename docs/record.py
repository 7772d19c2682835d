"""Record what was measured: a run of a study, or of the benchmarks, becomes a small JSON file in docs/figures/.

`python docs/record.py RUN` records a run of one of the studies in `RUNS`, `python docs/record.py
benchmarks/latest.json` what `make bench` has measured. `make docs` then writes the pages anew.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
from figures import RECORDS, record

from wherewhat.formatting import MISSING
from wherewhat.published.counting import TOP_1
from wherewhat.published.latin_square import BY_TABLE
from wherewhat.stats.verdict import UNPUBLISHED
from wherewhat.studies.counting.biases import learnt_regions
from wherewhat.studies.counting.names import BY_HAND
from wherewhat.studies.counting.solution import way
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.latin_square.names import GROUPS, RULED_OUT, SQUARES, accuracy, guess_cell, label, name_of
from wherewhat.studies.row_sums.names import (
    ALONE_FOLLOWS,
    ENTROPY,
    FOLLOWS,
    FREE,
    GAP,
    INNER,
    ORDER,
    SUMS_ALONE,
    UNIT_SUMS,
    random_fit,
)
from wherewhat.studies.row_sums.settings import ARMS
from wherewhat.studies.row_sums.solution import best_fit, first_layer, three

VERDICTS = ("agrees", "in part", "disagrees", "seen", "not seen", "unknown")
# What verdicts are called in a record that counts both kinds of claim apart, in the order of its prose.
OF_PUBLISHED = {verdict: verdict for verdict in ("agrees", "in part", "disagrees", "unknown")}
OF_UNPUBLISHED = {"seen": "seen", "in part": "seen in part", "not seen": "not seen", "unknown": "unpublished, unknown"}


def header(manifest: dict[str, Any], *options: str) -> dict[str, Any]:
    """How a run was made, and when."""
    work = manifest["about"].get("seconds") or manifest["seconds"]  # of all processes, also of a run that was resumed
    command = ["wherewhat reproduce", manifest["reproduction"], "--scale", manifest["scale"], *options]
    return {
        "command": " ".join([*command, "--seed", str(manifest["seed"])]),
        "date": date.today().isoformat(),
        "source": f"a run of commit {manifest['git_commit'][:7]}, {work:.0f} s of work",
    }


def read(run: Path) -> tuple[dict[str, Any], pl.DataFrame]:
    """The manifest of a run, and the means over its seeds."""
    means = pl.read_parquet(run / "result.parquet").filter(pl.col("seed").is_null())
    return json.loads((run / "manifest.json").read_text()), means


def verdicts_of(manifest: dict[str, Any]) -> dict[str, str]:
    """The verdict of every claim."""
    return {claim["claim"]: claim["verdict"] for claim in manifest["claims"]}


def counted(verdicts: dict[str, str]) -> dict[str, str]:
    """How many claims have each verdict; all verdicts, as the prose names them in this order whatever the run says."""
    counts = Counter(verdicts.values())
    return {"claims": str(len(verdicts)), **{name: str(counts[name]) for name in VERDICTS}}


def counted_apart(manifest: dict[str, Any]) -> dict[str, str]:
    """How many claims have each verdict: of those that were published, and then of those that never were."""
    published, new = (
        [claim["verdict"] for claim in manifest["claims"] if claim["published"].startswith(UNPUBLISHED) == unpublished]
        for unpublished in (False, True)
    )
    return {**_by_verdict("published", published, OF_PUBLISHED), **_by_verdict("unpublished", new, OF_UNPUBLISHED)}


def _by_verdict(kind: str, verdicts: Sequence[str], names: Mapping[str, str]) -> dict[str, str]:
    counts = Counter(verdicts)
    if unexpected := sorted(set(counts) - set(names)):
        raise ValueError(f"{kind} claims cannot have the verdict {', '.join(unexpected)}")
    return {kind: str(len(verdicts)), **{name: str(counts[verdict]) for verdict, name in names.items()}}


def canonical(run: Path) -> dict[str, Any]:
    """The record of a run of `wherewhat reproduce canonical`, with what the page says of it."""
    manifest, means = read(run)
    verdicts = verdicts_of(manifest)
    right = means.filter(part="accuracy", measure="accuracy").select("subject", "at", "value")
    accuracy = {(subject, at): 100 * value for subject, at, value in right.rows()}
    bases = sorted({base for _, base in accuracy}, reverse=True)
    one = "partial_induction, 1 plane"
    return {
        **header(manifest),
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
    manifest, means = read(run)
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
    verdicts = verdicts_of(manifest)
    return {
        **header(manifest),
        "figures": {"verdicts": counted(verdicts)},
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


def attribution(run: Path) -> dict[str, Any]:
    """The record of a run of `wherewhat reproduce attribution`: what positions add, and where their relevance falls."""
    manifest, means = read(run)
    return {
        **header(manifest),
        "figures": {"verdicts": counted(verdicts_of(manifest))},
        "tables": {"positions": positions_table(means)},
        "claims": verdicts_of(manifest),
    }


def positions_table(means: pl.DataFrame) -> list[list[str]]:
    """By kind of texts: AttnLRP against chance, what positions add to it, and where their relevance falls."""

    def points(part: str, source: str, item: str, measure: str) -> str:
        ends = means.filter(part=part, subject=source, item=item, measure=measure).select("value", "low", "high").row(0)
        return "{} ({} to {})".format(*map(signed, ends))

    def share(source: str, measure: str) -> str:
        values = means.filter(part="slots", subject=source, measure=measure)["value"].to_list()
        return f"{100 * values[0]:.0f} %" if values else MISSING

    columns = {
        "texts": lambda source: f"`{source}`",
        "AttnLRP minus random orders, ABPC": lambda source: points("minus random", source, "attnlrp", "abpc"),
        "positions added, ABPC": lambda source: points("minus attnlrp", source, "pa-lrp, absolute", "abpc"),
        "positions added, mIoU": lambda source: points("minus attnlrp", source, "pa-lrp, absolute", "miou"),
        "positions' share of logits": lambda source: share(source, "position share"),
        "of that on the deciding slot": lambda source: share(source, "on the slot"),
    }
    sources = means.filter(part="texts")["subject"].unique(maintain_order=True)
    return [list(columns), *([cell(source) for cell in columns.values()] for source in sources)]


def speech(run: Path) -> dict[str, Any]:
    """The record of a run of `wherewhat reproduce speech`: error rates of all encodings, and what a step costs."""
    manifest, means = read(run)
    recordings = ["--speech recordings/"] if manifest["scale"] != "tiny" else []
    return {
        **header(manifest, *recordings),
        "figures": {"cost": costs(means), "verdicts": counted(verdicts_of(manifest))},
        "tables": {"errors": errors_table(means)},
        "claims": verdicts_of(manifest),
    }


def costs(means: pl.DataFrame) -> dict[str, str | list[str]]:
    """The time and memory of a step with RoPE over those with relative positions."""

    def ratio(measure: str, batch: str) -> str:
        rows = means.filter(pl.col("at").is_null(), part="cost", item=batch, measure=measure)
        rope, relative = (rows.filter(subject=arm)["value"].item() for arm in ("rope", "transformer_xl"))
        return f"{rope / relative:.2f}"

    batches = ("training batch", "20 digits")
    ratios = {f"time and memory, {each}": [ratio("milliseconds", each), ratio("memory", each)] for each in batches}
    return {**ratios, "digits": "20"}


def errors_table(means: pl.DataFrame) -> list[list[str]]:
    """Error rates in per cent, by encoding and test."""
    errors = means.filter(part="error", measure="error rate")
    tests, arms = (errors[column].unique(maintain_order=True).to_list() for column in ("item", "subject"))

    def cell(arm: str, test: str) -> str:
        ends = errors.filter(subject=arm, item=test).select("value", "low", "high").row(0)
        return "{:.1f} ({:.1f} to {:.1f})".format(*(100 * end for end in ends))

    return [["% errors", *tests], *([f"`{arm}`", *(cell(arm, test) for test in tests)] for arm in arms)]


def counting(run: Path) -> dict[str, Any]:
    """The record of a run of `wherewhat reproduce counting`: how often regions are counted exactly."""
    manifest, means = read(run)
    verdicts = verdicts_of(manifest)
    return {
        **header(manifest),
        "figures": {"verdicts": counted_apart(manifest)},
        "tables": {"accuracy": counting_table(means), "ways": ways_table(run, manifest)},
        "claims": verdicts,
    }


def ways_table(run: Path, manifest: dict[str, Any]) -> list[list[str]]:
    """How many regions of all seeds are counted in which way."""
    table, about = ResultTable(pl.read_parquet(run / "result.parquet")), manifest["about"]
    nets = [net for net in about["nets"] if net != BY_HAND]
    regions = learnt_regions(table, nets, about["regions"], about["expected"])
    ways = Counter(map(way, regions))
    return [["how", "learnt regions"], *([name, str(number)] for name, number in ways.most_common())]


def counting_table(means: pl.DataFrame) -> list[list[str]]:
    """Median and maximum over regions and seeds, by encoding and by what a net sees; published below measured."""
    rows = means.filter(measure="top-1", item="as trained")
    ours = {
        net: tuple(100 * rows.filter(part=part, subject=net)["value"].item() for part in ("median", "maximum"))
        for net in rows.filter(part="median")["subject"].to_list()
    }
    published = {net: pairs[0] for net, pairs in TOP_1.items()}
    columns = {
        "causal, BOS": "causal {}, BOS",
        "causal": "causal {}",
        "bidirectional, BOS": "bidirectional {}, BOS",
        "bidirectional": "bidirectional {}",
    }
    encodings = dict.fromkeys(net.split(" ", 1)[1].removesuffix(", BOS") for net in ours if "hand" not in net)
    columns = {name: net for name, net in columns.items() if any(net.format(each) in ours for each in encodings)}

    def row(name: str, encoding: str, source: Mapping[str, tuple[float, ...]], write: str) -> list[str]:
        pairs = [source.get(net.format(encoding)) for net in columns.values()]
        return [name, *(write.format(*pair) if pair else MISSING for pair in pairs)]

    table = [["median (best) region, %", *columns]]
    for encoding in encodings:
        table.append(row(f"`{encoding}`", encoding, ours, "{:.0f} ({:.0f})"))
        if any(net.format(encoding) in published for net in columns.values()):
            table.append(row(f"`{encoding}`, published", encoding, published, "{:g} ({:g})"))
    return table


def row_sums(run: Path) -> dict[str, Any]:
    """The record of a run of `wherewhat reproduce row-sums`: which tasks are solved, and by equal tokens or not."""
    manifest, means = read(run)
    verdicts = verdicts_of(manifest)
    columns = {
        "`position`": ("position", "all"),
        "of equal tokens": ("position", "equal tokens"),
        "longer inputs": ("position", "longer"),
        "`even`, first half": ("even", "first half"),
        "second half": ("even", "second half"),
        "`position`, rows sum to one again": ("position", UNIT_SUMS),
        "`position`, row sums alone": ("position", SUMS_ALONE),
    }
    shares = {
        (subject, item): f"{100 * value:.1f}"
        for subject, item, value in means.filter(part="accuracy").select("subject", "item", "value").rows()
    }
    correlations = {
        "correlation with slots, longer inputs": ORDER,
        "correlation with slots, row sums alone": ALONE_FOLLOWS,
        "correlation with mirrored slots, sums mirrored": FOLLOWS,
    }
    correlated = {
        (subject, cell): f"{round(value, 2) + 0.0:.2f}".replace("-", "−")  # 0 has no sign
        for cell in correlations.values()
        for subject, value in means.filter(part=cell.part, measure=cell.measure).select("subject", "value").rows()
    }
    table = [["% of slots", *columns, *correlations]]
    for name in manifest["about"]["encodings"]:
        cells = [shares.get((f"{task}, {name}", item), MISSING) for task, item in columns.values()]
        cells += [correlated.get((f"position, {name}", cell), MISSING) for cell in correlations.values()]
        table.append([f"`{name}`", *cells])
    names = manifest["about"]["encodings"]
    tables = {"accuracy": table, "first-layer": first_layer_table(run, names), "ends": ends_table(means, names)}
    return {
        **header(manifest),
        "figures": {"verdicts": counted_apart(manifest)},
        "tables": tables,
        "claims": verdicts,
    }


def first_layer_table(run: Path, names: Sequence[str]) -> list[list[str]]:
    """Of nets with URPE in the position task: how uniform their first layer is, and how linear its row sums are."""
    table = ResultTable(pl.read_parquet(run / "result.parquet"))
    rows = [
        ["first layer", "entropy before factors", "R² of row sums, best head", "97.5 % of random factors are below"]
    ]
    for name in names:
        if ARMS[name].kind == FREE:
            random = table.estimate("", random_fit(ARMS[name].factors)).high
            entropy = fmean(first_layer(table, name, ENTROPY)["value"])
            rows.append([f"`{name}`", three(entropy), three(best_fit(table, name)), three(random)])
    return rows


def ends_table(means: pl.DataFrame, names: Sequence[str]) -> list[list[str]]:
    """What relative biases know of slots in the position task, in points: between the ends, and how much more there."""

    def points(name: str, cell: Cell) -> str:
        rows = means.filter(part=cell.part, subject=f"position, {name}", measure=cell.measure)
        return "{} ({} to {})".format(*map(signed, rows.select("value", "low", "high").row(0)))

    rows = [["known of slots, points", "between the ends", "ends minus the slots between them"]]
    return rows + [[f"`{name}`", points(name, INNER), points(name, GAP)] for name in names if ARMS[name].bias]


def latin_square(run: Path) -> dict[str, Any]:
    """The record of a run of `wherewhat reproduce latin-square`: puzzles answered, and what tables know of the grid."""
    manifest, means = read(run)
    verdicts = verdicts_of(manifest)
    return {
        **header(manifest),
        "figures": {"verdicts": counted_apart(manifest)},
        "tables": {"accuracy": latin_table(means, manifest["about"]), "classes": classes_table(run, manifest["about"])},
        "claims": verdicts,
    }


def latin_table(means: pl.DataFrame, about: dict[str, Any]) -> list[list[str]]:
    """By arm: published and own test accuracy, training accuracy, and the layout correlation of the first block."""
    table = [["positions", "published, %", "test, %", "training, %", "layout correlation"]]
    for arm in about["arms"]:
        rows = means.filter(pl.col("at").is_null(), subject=f"squares, {arm}")
        right = rows.filter(part="accuracy", measure="accuracy")
        theirs = BY_TABLE.get(about["sigmas"].get(arm, arm)) if about["kinds"][arm] != "variant" else None
        layout = rows.filter(part="table", item="block 0", measure="layout")
        shares = [
            "{:.0f} ({:.0f} to {:.0f})".format(*(100 * end for end in ends))
            for item in ("test", "train")
            for ends in right.filter(item=item).select("value", "low", "high").rows()
        ]
        correlation = (
            "{:.2f} ({:.2f} to {:.2f})".format(*layout.select("value", "low", "high").row(0))
            if layout.height
            else MISSING
        )
        table.append(
            [label(arm), f"{theirs.held_out:.1f}" if theirs else MISSING, *shares, correlation.replace("-", "−")]
        )
    return table


def classes_table(run: Path, about: dict[str, Any]) -> list[list[str]]:
    """Test accuracy by class of puzzle, of every arm and of the guess from row, column and counts."""
    table = ResultTable(pl.read_parquet(run / "result.parquet"))
    cells = {label(arm): (name_of(SQUARES, arm), accuracy) for arm in about["arms"]}
    cells |= {f"guess: {RULED_OUT}": (RULED_OUT, guess_cell)}
    shares = {name: [table.value(subject, cell(group)) for group in GROUPS] for name, (subject, cell) in cells.items()}
    rows = [[name, *(f"{100 * value:.0f}" for value in values)] for name, values in shares.items()]
    return [["% of test puzzles", *GROUPS], *rows]


def signed(value: float) -> str:
    """A difference in points, with its sign."""
    return f"{100 * value:+.1f}".replace("-", "−")


# How runs of a study are recorded.
RUNS = {
    "canonical": canonical,
    "length": length,
    "attribution": attribution,
    "speech": speech,
    "counting": counting,
    "row-sums": row_sums,
    "latin-square": latin_square,
}


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


if __name__ == "__main__":
    given = Path(sys.argv[1])
    name = "speed" if given.suffix == ".json" else json.loads((given / "manifest.json").read_text())["reproduction"]
    recorded = speed(given) if name == "speed" else RUNS[name](given)
    (RECORDS / f"{name}.json").write_text(written(recorded))
