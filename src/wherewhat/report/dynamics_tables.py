"""The numbers of nets that learn, arranged for their charts: from rows of a result to columns of a page."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from wherewhat.report.drawn import columns
from wherewhat.report.measured import Manifest
from wherewhat.report.numbers import interval, short
from wherewhat.report.page import Columns
from wherewhat.report.shares import bound

Rows = Iterable[Mapping[str, Any]]
RULES = tuple((f"{rule} at {gamma}", f"{rule}, γ = {gamma}") for rule in ("scores", "shares") for gamma in (0.1, 0.05))
KINDS = ("positional", "symbolic")
DEEP = 20  # by how much an interval may lie below its value where the axis is logarithmic and has no 0
APART = 0.06  # in the plane: names of heads nearer than that would be written over each other


def tables_of(result: pl.DataFrame, manifest: Manifest) -> dict[str, Columns]:
    """Every table of the page, by the name its charts call it."""
    about = manifest.get("about") or {}
    return {
        "hops": columns(hops_rows(result), ("task", "hops", "seed", "step", "value", "low", "high", "said")),
        "ways": columns(
            way_rows(result),
            ("task", "seed", "head", "layer", "step", "positional", "symbolic", "last", "label", "said"),
        ),
        "bound": bound(),
        "layers": columns(layer_rows(result), ("task", "layer", "step", "position", "content", "difference", "said")),
        "pure": columns(pure_rows(result, about), ("task", "step", "rule", "what", "value", "low", "high", "said")),
        "lengths": columns(length_rows(result), ("task", "hops", "seed", "length", "value", "low", "high", "said")),
        "published_lengths": columns(published_lengths(result), ("task", "from", "to", "value", "label")),
        "leads": columns(lead_rows(result), ("task", "whose", "length", "value", "low", "high", "said")),
        "bounds": columns(bound_rows(result, about), ("task", "whose", "length", "value", "said")),
        "speeds": columns(speed_rows(result, about), ("task", "whose", "depth", "value", "low", "high", "said")),
    }


def part_of(result: pl.DataFrame, part: str) -> pl.DataFrame:
    """The rows of one part of the experiment, in a steady order."""
    return result.filter(pl.col("part") == part).sort("subject", "seed", "item", "at", nulls_last=True)


def hops_rows(result: pl.DataFrame) -> Rows:
    """Accuracy over training, by hops."""
    for row in part_of(result, "accuracy").iter_rows(named=True):
        said = f"{row['subject']}, {row['item']}, step {row['at']:,.0f}: {_told(row)}"
        yield {**_numbers(row), "hops": row["item"], "step": row["at"], "said": said}


def length_rows(result: pl.DataFrame) -> Rows:
    """Accuracy for longer inputs, by hops."""
    for row in part_of(result, "length").iter_rows(named=True):
        said = f"{row['subject']}, {row['item']}, {row['at']:.0f} tokens: {_told(row)}"
        yield {**_numbers(row), "hops": row["item"], "length": row["at"], "said": said}


def published_lengths(result: pl.DataFrame) -> Rows:
    """What was published of longer inputs, as far as the axis goes: learnt there from 17 tokens."""
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


def way_rows(result: pl.DataFrame) -> Rows:
    """Every head's place in the plane at every look, run by run."""
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
    """What to write at the end of each head's way; heads that end at one place are named together, once."""
    groups: list[list[Mapping[str, Any]]] = []
    for row in ends.sort("item").iter_rows(named=True):
        near = [its for its in groups if all(abs(its[0][kind] - row[kind]) < APART for kind in KINDS)]
        if near:
            near[0].append(row)
        else:
            groups.append([row])
    return {
        (its[0]["subject"], its[0]["seed"], its[0]["item"]): ", ".join(_layer_name(row["item"]) for row in its)
        for its in groups
    }


def layer_rows(result: pl.DataFrame) -> Rows:
    """Shares by layer and step, over all seeds: what goes by content is counted below 0."""
    names = ["position_share", "symbol_share"]
    heads = part_of(result, "heads").filter(pl.col("seed").is_null() & pl.col("measure").is_in(names))
    wide = heads.pivot(on="measure", index=["subject", "item", "at"], values="value").drop_nulls()
    for row in wide.sort("subject", "item", "at").iter_rows(named=True):
        where, what, layer = row["position_share"], row["symbol_share"], int(_layer_name(row["item"])[1:])
        shares = f"position share {short(where)}, symbol share {short(what)}"
        yield {
            "task": row["subject"],
            "layer": layer,
            "step": row["at"],
            "position": where,
            "content": -what,
            "difference": where - what,
            "said": f"layer {layer}, step {row['at']:,.0f}: {shares}",
        }


def pure_rows(result: pl.DataFrame, about: Mapping[str, Any]) -> Rows:
    """Pure heads as a share of all heads, and right answers, over training."""
    heads = max(1, int(about.get("layers") or 1))
    for row in (
        part_of(result, "purity").filter(pl.col("seed").is_null() & (pl.col("item") == "all")).iter_rows(named=True)
    ):
        kind, _, rule = row["measure"].partition(" by ")
        shares = {key: None if row[key] is None else min(row[key] / heads, 1.0) for key in ("value", "low", "high")}
        said = f"step {row['at']:,.0f}: {short(row['value'])} of {heads} heads purely {kind}"
        yield {"task": row["subject"], "step": row["at"], "rule": rule, "what": f"{kind} heads", "said": said, **shares}
    right = part_of(result, "accuracy").filter(pl.col("seed").is_null() & (pl.col("item") == "all"))
    for row in right.iter_rows(named=True):
        said = f"step {row['at']:,.0f}: {_told(row)} right"
        yield {**_numbers(row), "step": row["at"], "rule": "", "what": "right answers", "said": said}


def lead_rows(result: pl.DataFrame) -> Rows:
    """The lead of the best key by length, over all seeds."""
    rows = part_of(result, "gap").filter(pl.col("seed").is_null() & (pl.col("measure") == "gap"))
    for row in rows.iter_rows(named=True):
        said = f"{row['subject']}, {row['at']:.0f} tokens: {short(row['value'])}{_interval(row)}"
        low = None if row["low"] is None else max(row["low"], row["value"] / DEEP)
        yield {**_numbers(row), "low": low, "whose": "measured", "length": row["at"], "said": said}


def bound_rows(result: pl.DataFrame, about: Mapping[str, Any]) -> Rows:
    """The bounds at our heads' mean frequencies and at the published ones; where nothing is left, a line ends."""
    ours = part_of(result, "gap").filter(pl.col("seed").is_null() & (pl.col("measure") == "bound"))
    found = [(row["subject"], "bound at our θ", row["at"], row["value"]) for row in ours.iter_rows(named=True)]
    for task, points in ((about.get("published") or {}).get("bounds") or {}).items():
        found += [(task, "bound at the published θ", length, value) for length, value in points]
    for task, whose, length, value in found:
        if value > 0:
            said = f"{task}, {whose}, {length:.0f} tokens: {short(value)}"
            yield {"task": task, "whose": whose, "length": length, "value": value, "said": said}


def speed_rows(result: pl.DataFrame, about: Mapping[str, Any]) -> Rows:
    """Mean frequency by layer at the end, from 0 for the fastest to 1 for the slowest."""
    heads = part_of(result, "heads").filter(pl.col("seed").is_null() & (pl.col("measure") == "mean_frequency"))
    known = (about.get("published") or {}).get("frequencies") or {}
    first = int(known.get("first", 1))  # the number of the fastest; results of earlier versions count from 1
    last, layers = heads.filter(pl.col("at") == heads["at"].max()), max(1, int(about.get("layers") or 1) - 1)
    for row in last.iter_rows(named=True):
        layer, ladder = int(_layer_name(row["item"])[1:]), int(about.get("frequencies") or 2) - 1
        numbers = {key: None if row[key] is None else (row[key] - first) / ladder for key in ("value", "low", "high")}
        said = f"{row['subject']}, layer {layer}: {short(row['value'])} of {first} to {first + ladder}"
        yield {"task": row["subject"], "whose": "ours", "depth": layer / layers, "said": said, **numbers}
    for task in ("number", "letter"):
        for layer, (fast, slow) in enumerate(known.get(task) or ()):
            number = f"{fast}" if fast == slow else f"{fast} to {slow}"
            said = f"published, {task}, layer {layer}: {number} of {first} to {first + known['of'] - 1}"
            low, high = ((end - first) / (known["of"] - 1) for end in (fast, slow))
            depth, value = layer / (len(known[task]) - 1), low if fast == slow else None
            yield {
                "task": task,
                "whose": "published",
                "depth": depth,
                "value": value,
                "low": low,
                "high": high,
                "said": said,
            }


def _layer_name(head: str) -> str:
    """A head's name where each layer has but one."""
    return head.partition("H")[0]


def _numbers(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"task": row["subject"], **{key: row[key] for key in ("seed", "value", "low", "high")}}


def _told(row: Mapping[str, Any]) -> str:
    ends = "" if row["low"] is None else f" ({100 * row['low']:.0f} to {100 * row['high']:.0f})"
    return f"{100 * row['value']:.0f} %{ends}"


def _interval(row: Mapping[str, Any]) -> str:
    ends = interval(row["low"], row["high"])
    return f" ({ends})" if ends else ""
