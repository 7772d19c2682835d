"""The tables of the dynamics page's charts, from the rows of the result."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from wherewhat.formatting import interval, short
from wherewhat.report.page import Columns
from wherewhat.report.panels import columns
from wherewhat.report.shares import bound
from wherewhat.tables.manifest.study import DynamicsManifest, DynamicsSection

Rows = Iterable[Mapping[str, Any]]
RULES = tuple((f"{rule} at {gamma}", f"{rule}, γ = {gamma}") for rule in ("scores", "shares") for gamma in (0.1, 0.05))
KINDS = ("positional", "symbolic")
DEEP = 20  # on a logarithmic axis, which has no 0, an interval ends at this part of its value at the latest
APART = 0.06  # labels of heads nearer than this in the plane would overlap


def tables_of(result: pl.DataFrame, manifest: DynamicsManifest) -> dict[str, Columns]:
    """Every table of the page by its name."""
    about = manifest.about
    return {
        "hops": columns(hops_rows(result), ("task", "hops", "seed", "step", "value", "low", "high", "said")),
        "paths": columns(
            path_rows(result),
            ("task", "seed", "head", "layer", "step", "positional", "symbolic", "last", "label", "said"),
        ),
        "bound": bound(),
        "layers": columns(layer_rows(result), ("task", "layer", "step", "position", "content", "difference", "said")),
        "pure": columns(pure_rows(result, about), ("task", "step", "rule", "what", "value", "low", "high", "said")),
        "lengths": columns(length_rows(result), ("task", "hops", "seed", "length", "value", "low", "high", "said")),
        "published_lengths": columns(published_lengths(result), ("task", "from", "to", "value", "label")),
        "margins": columns(margin_rows(result), ("task", "whose", "length", "value", "low", "high", "said")),
        "bounds": columns(bound_rows(result, about), ("task", "whose", "length", "value", "said")),
        "frequencies": columns(
            frequency_rows(result, about), ("task", "whose", "depth", "value", "low", "high", "said")
        ),
    }


def part_of(result: pl.DataFrame, part: str) -> pl.DataFrame:
    """The rows of one part of the experiment, in a fixed order."""
    return result.filter(pl.col("part") == part).sort("subject", "seed", "item", "at", nulls_last=True)


def hops_rows(result: pl.DataFrame) -> Rows:
    """Accuracy during training, by hops."""
    for row in part_of(result, "accuracy").iter_rows(named=True):
        tooltip = f"{row['subject']}, {row['item']}, step {row['at']:,.0f}: {_percentage(row)}"
        yield {**_numbers(row), "hops": row["item"], "step": row["at"], "said": tooltip}


def length_rows(result: pl.DataFrame) -> Rows:
    """Accuracy by input length and hops."""
    for row in part_of(result, "length").iter_rows(named=True):
        tooltip = f"{row['subject']}, {row['item']}, {row['at']:.0f} tokens: {_percentage(row)}"
        yield {**_numbers(row), "hops": row["item"], "length": row["at"], "said": tooltip}


def published_lengths(result: pl.DataFrame) -> Rows:
    """The published accuracy on longer inputs, as far as the axis goes; training inputs had 17 tokens there."""
    lengths = part_of(result, "length")["at"]
    longest, shortest = float(lengths.max() or 0), float(lengths.min() or 0)  # type: ignore[arg-type]
    first = max(17.0, shortest)
    if longest > first:
        yield {
            "task": "letter",
            "from": first,
            "to": min(longest, 850.0),
            "value": 0.9,
            "label": "published: letter above",
        }
    if longest > 400:
        yield {"task": "number", "from": 400.0, "to": longest, "value": 0.4, "label": "published: number below"}


def path_rows(result: pl.DataFrame) -> Rows:
    """Every head's point in the plane at every evaluation, by run."""
    heads = part_of(result, "heads").filter(pl.col("seed").is_not_null() & pl.col("measure").is_in(KINDS))
    wide = heads.pivot(on="measure", index=["subject", "seed", "item", "at"], values="value").drop_nulls()
    ends = wide.filter(pl.col("at") == heads["at"].max())
    labels = {key: names for run in ends.partition_by("subject", "seed") for key, names in end_labels(run).items()}
    for row in wide.sort("subject", "seed", "item", "at").iter_rows(named=True):
        key, head, last = (
            (row["subject"], row["seed"], row["item"]),
            _layer_name(row["item"]),
            row["at"] == heads["at"].max(),
        )
        scores = {kind: row[kind] for kind in KINDS}
        yield {
            "task": row["subject"],
            "seed": row["seed"],
            "head": head,
            "layer": int(head[1:]),
            "step": row["at"],
            **scores,
            "last": last,
            "label": labels.get(key, "") if last else "",
            "said": f"{head}, step {row['at']:,.0f}: s_POS {short(row['positional'])}, s_SYM {short(row['symbolic'])}",
        }


def end_labels(ends: pl.DataFrame) -> dict[tuple[str, int, str], str]:
    """The label at the end of each head's path; heads that end close together share one."""
    groups: list[list[Mapping[str, Any]]] = []
    for row in ends.sort("item").iter_rows(named=True):
        near = [group for group in groups if all(abs(group[0][kind] - row[kind]) < APART for kind in KINDS)]
        if near:
            near[0].append(row)
        else:
            groups.append([row])
    return {
        (group[0]["subject"], group[0]["seed"], group[0]["item"]): ", ".join(_layer_name(row["item"]) for row in group)
        for group in groups
    }


def layer_rows(result: pl.DataFrame) -> Rows:
    """Shares by layer and step, as means over seeds; content counts below 0."""
    names = ["position_share", "symbol_share"]
    heads = part_of(result, "heads").filter(pl.col("seed").is_null() & pl.col("measure").is_in(names))
    wide = heads.pivot(on="measure", index=["subject", "item", "at"], values="value").drop_nulls()
    for row in wide.sort("subject", "item", "at").iter_rows(named=True):
        position, content, layer = row["position_share"], row["symbol_share"], int(_layer_name(row["item"])[1:])
        shares = f"position share {short(position)}, symbol share {short(content)}"
        yield {
            "task": row["subject"],
            "layer": layer,
            "step": row["at"],
            "position": position,
            "content": -content,
            "difference": position - content,
            "said": f"layer {layer}, step {row['at']:,.0f}: {shares}",
        }


def pure_rows(result: pl.DataFrame, about: DynamicsSection) -> Rows:
    """Pure heads as a share of all heads, and accuracy, during training."""
    heads = max(1, (about.layers or 1))
    for row in (
        part_of(result, "purity").filter(pl.col("seed").is_null() & (pl.col("item") == "all")).iter_rows(named=True)
    ):
        kind, _, rule = row["measure"].partition(" by ")
        shares = {key: None if row[key] is None else min(row[key] / heads, 1.0) for key in ("value", "low", "high")}
        tooltip = f"step {row['at']:,.0f}: {short(row['value'])} of {heads} heads purely {kind}"
        yield {
            "task": row["subject"],
            "step": row["at"],
            "rule": rule,
            "what": f"{kind} heads",
            "said": tooltip,
            **shares,
        }
    accuracy = part_of(result, "accuracy").filter(pl.col("seed").is_null() & (pl.col("item") == "all"))
    for row in accuracy.iter_rows(named=True):
        tooltip = f"step {row['at']:,.0f}: {_percentage(row)} correct"
        yield {**_numbers(row), "step": row["at"], "rule": "", "what": "accuracy", "said": tooltip}


def margin_rows(result: pl.DataFrame) -> Rows:
    """The margin of the best key by input length, as means over seeds."""
    rows = part_of(result, "gap").filter(pl.col("seed").is_null() & (pl.col("measure") == "gap"))
    for row in rows.iter_rows(named=True):
        tooltip = f"{row['subject']}, {row['at']:.0f} tokens: {short(row['value'])}{_interval(row)}"
        low = None if row["low"] is None else max(row["low"], row["value"] / DEEP)
        yield {**_numbers(row), "low": low, "whose": "measured", "length": row["at"], "said": tooltip}


def bound_rows(result: pl.DataFrame, about: DynamicsSection) -> Rows:
    """The bounds at our heads' mean frequencies and at the published ones; a line ends where the bound is 0."""
    ours = part_of(result, "gap").filter(pl.col("seed").is_null() & (pl.col("measure") == "bound"))
    bounds = [(row["subject"], "bound at our θ", row["at"], row["value"]) for row in ours.iter_rows(named=True)]
    for task, points in about.published.bounds.items():
        bounds += [(task, "bound at the published θ", length, value) for length, value in points]
    for task, whose, length, value in bounds:
        if value > 0:
            tooltip = f"{task}, {whose}, {length:.0f} tokens: {short(value)}"
            yield {"task": task, "whose": whose, "length": length, "value": value, "said": tooltip}


def frequency_rows(result: pl.DataFrame, about: DynamicsSection) -> Rows:
    """Mean frequency by layer after training, from 0 for the fastest to 1 for the slowest."""
    heads = part_of(result, "heads").filter(pl.col("seed").is_null() & (pl.col("measure") == "mean_frequency"))
    published = about.published.frequencies
    first = published.first  # the number of the fastest; results of earlier versions count from 1
    last, layers = heads.filter(pl.col("at") == heads["at"].max()), max(1, (about.layers or 1) - 1)
    for row in last.iter_rows(named=True):
        layer, slowest = int(_layer_name(row["item"])[1:]), (about.frequencies or 2) - 1
        numbers = {key: None if row[key] is None else (row[key] - first) / slowest for key in ("value", "low", "high")}
        tooltip = f"{row['subject']}, layer {layer}: {short(row['value'])} of {first} to {first + slowest}"
        yield {"task": row["subject"], "whose": "ours", "depth": layer / layers, "said": tooltip, **numbers}
    slowest = (published.of or 2) - 1
    for task, ranges in (("number", published.number), ("letter", published.letter)):
        for layer, (fast, slow) in enumerate(ranges):
            number = f"{fast}" if fast == slow else f"{fast} to {slow}"
            low, high = ((end - first) / slowest for end in (fast, slow))
            yield {
                "task": task,
                "whose": "published",
                "depth": layer / (len(ranges) - 1),
                "value": low if fast == slow else None,
                "low": low,
                "high": high,
                "said": f"published, {task}, layer {layer}: {number} of {first} to {first + slowest}",
            }


def _layer_name(head: str) -> str:
    """The layer of a head, as a name: each layer has only one head."""
    return head.partition("H")[0]


def _numbers(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"task": row["subject"], **{key: row[key] for key in ("seed", "value", "low", "high")}}


def _percentage(row: Mapping[str, Any]) -> str:
    ends = "" if row["low"] is None else f" ({100 * row['low']:.0f} to {100 * row['high']:.0f})"
    return f"{100 * row['value']:.0f} %{ends}"


def _interval(row: Mapping[str, Any]) -> str:
    ends = interval(row["low"], row["high"])
    return f" ({ends})" if ends else ""
