"""What stands out in a profile, as sentences for someone who reads a terminal."""

from collections.abc import Mapping
from typing import Any

import polars as pl


def findings(heads: pl.DataFrame, manifest: Mapping[str, Any]) -> list[str]:
    """The head that stands furthest above its chance level, if any does."""
    above = heads.with_columns(above=pl.col("low") - pl.col("chance")).filter(pl.col("above") > 0)
    for row in above.sort("above", descending=True).head(1).iter_rows(named=True):
        return [f"L{row['layer']}H{row['head']} has {row['score']} {row['value']:.2f} (chance {row['chance']:.2f})."]
    return []
