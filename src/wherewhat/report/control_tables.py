"""From the result of the control experiment to the tables its charts are drawn from."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from wherewhat.report.numbers import interval, short
from wherewhat.report.page import Columns
from wherewhat.report.speeds import with_speed

MEASURES = ("loss", "copy", "induction")
CONTROLS = ("random bands", "random heads")
OF = {"correlation": "", "unlearnt": ", weights drawn anew"}  # parts of the result that hold correlations
SPEED = {"high": "fast", "low": "slow"}
BEHAVIOUR = {
    "position_share": "position share",
    "symbol_share": "symbol share",
    "positional": "s_POS",
    "symbolic": "s_SYM",
}


def tables_of(result: pl.DataFrame, near: float) -> dict[str, Columns]:
    """Cells, draws of controls and their means, heads, and correlations; `near` is how unequal an equal norm may be."""
    rows = [row for row in result.iter_rows(named=True) if row["part"] in ("cells", *CONTROLS)]
    norms = {_key_of(row): row["value"] for row in rows if row["measure"] == "norm"}
    ratios = {_key_of(row): row["value"] for row in rows if row["measure"] == "ratio"}
    points = [_point(row, norms, ratios, near) for row in rows if row["measure"] in MEASURES]
    draws = [point for point in points if point["what"] != "cells"]
    return {
        "cells": _columns([point for point in points if point["what"] == "cells"]),
        "draws": _columns(draws),
        "means": _columns(_means(draws)),
        "used": _columns(_used(result)),
        "correlations": _columns(_correlations(result)),
    }


def _key_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["part"], row["subject"], row["item"], row["at"]


def _point(
    row: Mapping[str, Any], norms: Mapping[Any, float], ratios: Mapping[Any, float], near: float
) -> dict[str, Any]:
    """One cell or draw as the charts need it."""
    operation, side, share = taken(row["item"])
    key, cell = _key_of(row), row["part"] == "cells"
    ratio = ratios.get(key, 1.0)
    place, label = f"{row['subject']} {side}", f"{SPEED[side]}, {row['subject']}"
    between = f" ({interval(row['low'], row['high'])})" if cell else f", {short(ratio)} times the norm"
    return {
        "what": row["part"],
        "line": place if cell else f"{place} {row['part']}",
        "label": label,
        "kind": row["subject"],
        "operation": operation,
        "share": share,
        "measure": row["measure"],
        "value": row["value"],
        "low": row["low"],
        "high": row["high"],
        "norm": 100 * norms[key],
        "counts": "yes" if abs(ratio - 1) <= near else "no",
        "said": f"{label if cell else row['part']}: {short(row['value'])}{between}",
    }


def _means(draws: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The mean of the draws of each control that are of equal norm."""
    groups: dict[tuple[str, ...], list[float]] = {}
    for draw in draws:
        if draw["counts"] == "yes":
            groups.setdefault((draw["line"], draw["operation"], draw["share"], draw["measure"]), []).append(
                draw["value"]
            )
    names = ("line", "operation", "share", "measure")
    return [
        {**dict(zip(names, key, strict=True)), "value": sum(values) / len(values)} for key, values in groups.items()
    ]


def _used(result: pl.DataFrame) -> list[dict[str, Any]]:
    """Every head with its scores; what lies in the fast and in the slow band under plain names."""
    heads: dict[str, dict[str, Any]] = {}
    for row in result.filter(pl.col("part") == "heads").iter_rows(named=True):
        head = heads.setdefault(row["item"], {"head": row["item"], "kind": row["subject"]})
        head[row["measure"].partition(":")[0]] = row["value"]
    for head in heads.values():
        head["said"] = f"{head['head']}, {head['kind']}: position share {short(head.get('position_share'))}"
    return list(heads.values())


def _correlations(result: pl.DataFrame) -> list[dict[str, Any]]:
    """Every correlation of the model, and after it the same of weights drawn anew."""
    found = []
    known = pl.col("value").is_not_null() & pl.col("measure").is_in(list(BEHAVIOUR))
    for row in result.filter(pl.col("part").is_in(list(OF)) & known).iter_rows(named=True):
        x, (rho, low, high) = with_speed(row["item"].partition(":")[0], row["value"], row["low"], row["high"])
        clear = low is not None and high is not None and (low > 0 or high < 0)
        side = "unclear" if not clear else "above" if rho is not None and rho > 0 else "below"
        said = f"{BEHAVIOUR[row['measure']]}{OF[row['part']]}: {short(rho)} ({interval(low, high)})"
        found.append(
            {"line": f"{x} {row['measure']}", "x": x, "y": row["measure"], "rho": rho, "low": low}
            | {"high": high, "side": side, "part": row["part"], "said": said}
        )
    return found


def _columns(rows: Sequence[Mapping[str, Any]]) -> Columns:
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {name: [row.get(name) for row in rows] for name in names}


def taken(item: str) -> tuple[str, str, str]:
    """Operation, side and size of what was done.

    >>> taken("drop high:0.25")
    ('drop', 'high', '0.25')
    """
    operation, _, band = item.partition(" ")
    side, _, share = band.partition(":")
    return operation, side, share
