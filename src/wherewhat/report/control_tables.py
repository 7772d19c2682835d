"""The tables of the control page's charts, from the rows of the result."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from wherewhat.formatting import interval, short
from wherewhat.report.page import Columns
from wherewhat.report.spectra import with_speed

MEASURES = ("loss", "copy", "induction")
CONTROLS = ("random bands", "random heads")
MODELS = {"correlation": "", "unlearnt": ", redrawn weights"}  # parts of the result with correlations
SPEED = {"high": "fast", "low": "slow"}
BEHAVIOUR = {
    "position_share": "position share",
    "symbol_share": "symbol share",
    "positional": "s_POS",
    "symbolic": "s_SYM",
}


def tables_of(result: pl.DataFrame, near: float) -> dict[str, Columns]:
    """Cells, draws of controls and their means, heads, and correlations; `near` is the tolerance for equal norms."""
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
    """One cell or draw, as the charts need it."""
    operation, side, share = split_item(row["item"])
    key, cell = _key_of(row), row["part"] == "cells"
    ratio = ratios.get(key, 1.0)
    line, label = f"{row['subject']} {side}", f"{SPEED[side]}, {row['subject']}"
    between = f" ({interval(row['low'], row['high'])})" if cell else f", {short(ratio)} times the norm"
    return {
        "what": row["part"],
        "line": line if cell else f"{line} {row['part']}",
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
    """The mean over the draws of equal norm, by control."""
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
    """Every head with its scores; the shares of norm in its bands are called `high` and `low`."""
    heads: dict[str, dict[str, Any]] = {}
    for row in result.filter(pl.col("part") == "heads").iter_rows(named=True):
        head = heads.setdefault(row["item"], {"head": row["item"], "kind": row["subject"]})
        head[row["measure"].partition(":")[0]] = row["value"]
    for head in heads.values():
        head["said"] = f"{head['head']}, {head['kind']}: position share {short(head.get('position_share'))}"
    return list(heads.values())


def _correlations(result: pl.DataFrame) -> list[dict[str, Any]]:
    """Every correlation of the model, followed by those for redrawn weights."""
    rows = []
    known = pl.col("value").is_not_null() & pl.col("measure").is_in(list(BEHAVIOUR))
    for row in result.filter(pl.col("part").is_in(list(MODELS)) & known).iter_rows(named=True):
        x, (rho, low, high) = with_speed(row["item"].partition(":")[0], row["value"], row["low"], row["high"])
        clear = low is not None and high is not None and (low > 0 or high < 0)
        side = "unclear" if not clear else "above" if rho is not None and rho > 0 else "below"
        tooltip = f"{BEHAVIOUR[row['measure']]}{MODELS[row['part']]}: {short(rho)} ({interval(low, high)})"
        rows.append(
            {"line": f"{x} {row['measure']}", "x": x, "y": row["measure"], "rho": rho, "low": low}
            | {"high": high, "side": side, "part": row["part"], "said": tooltip}
        )
    return rows


def _columns(rows: Sequence[Mapping[str, Any]]) -> Columns:
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {name: [row.get(name) for row in rows] for name in names}


def split_item(item: str) -> tuple[str, str, str]:
    """The operation, side and band size of an intervention.

    >>> split_item("drop high:0.25")
    ('drop', 'high', '0.25')
    """
    operation, _, band = item.partition(" ")
    side, _, share = band.partition(":")
    return operation, side, share
