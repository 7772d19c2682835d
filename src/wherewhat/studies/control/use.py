"""How much each head puts into each of its rotary frequencies, as shares of all that the model puts into any."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import torch

from wherewhat.encodings.bands import chosen
from wherewhat.errors import UserError


@dataclass(frozen=True)
class Use:
    """The norms of queries and keys by head and frequency. Heads with fewer frequencies have NaN and 0 at the end.

    A norm is mean length of queries times mean length of keys in a pair of channels, divided by the sum of these over
    all heads and pairs of the model. The factor that a model puts before its logits would change none of it.
    """

    names: tuple[str, ...]  # of the heads, like L3H7
    theta_HF: np.ndarray  # radians a token
    norm_HF: np.ndarray

    def band(self, text: str) -> np.ndarray:
        """band_HF, True where a head's own frequencies lie in a band."""
        band_HF = np.zeros(self.theta_HF.shape, dtype=bool)
        for head, theta_F in enumerate(self.theta_HF):
            own_F = np.isfinite(theta_F)
            band_HF[head, own_F] = chosen(text, torch.from_numpy(theta_F[own_F])).numpy()
        return band_HF

    def within(self, text: str) -> np.ndarray:
        """share_H, how much of each head's own norm lies in a band."""
        share_H: np.ndarray = (self.norm_HF * self.band(text)).sum(1) / self.norm_HF.sum(1)
        return share_H

    def rows(self, names: Sequence[str]) -> np.ndarray:
        """chosen_H, True for the heads of these names."""
        return np.isin(self.names, names)


def use(frequencies: pl.DataFrame, names: Sequence[str], pairs: Mapping[int, int]) -> Use:
    """Read off frequencies.parquet how much these heads put into their pairs; `pairs` is how many turn, by layer."""
    turns = pl.col("frequency") < pl.col("layer").replace_strict(pairs, default=0, return_dtype=pl.Int32)
    turning = frequencies.filter(turns).with_columns(
        name=pl.format("L{}H{}", "layer", "head"), theta=pl.col("theta").abs()
    )
    if turning.is_empty():
        raise UserError("no head has rotary frequencies whose norms could be measured; give longer texts")
    wide = turning.pivot("measure", index=["name", "frequency", "theta"], values="value").sort("frequency")
    by_head = wide.with_columns(norm=pl.col("query_norm") * pl.col("key_norm")).partition_by("name", as_dict=True)
    found = [by_head[(name,)] for name in names if (name,) in by_head]
    theta_HF = _padded([table["theta"].to_numpy() for table in found], np.nan)
    norm_HF = np.nan_to_num(_padded([table["norm"].to_numpy() for table in found], 0.0))
    return Use(tuple(table["name"][0] for table in found), theta_HF, norm_HF / norm_HF.sum())


def _padded(rows: Sequence[np.ndarray], filler: float) -> np.ndarray:
    table = np.full((len(rows), max(map(len, rows))), filler)
    for row, values in zip(table, rows, strict=True):
        row[: len(values)] = values
    return table
