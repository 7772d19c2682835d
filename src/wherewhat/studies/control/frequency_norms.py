"""How much of the model's total norm each head has in each of its rotary frequencies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import torch

from wherewhat.encodings.bands import chosen
from wherewhat.errors import UserError


@dataclass(frozen=True)
class FrequencyNorms:
    """Norms of queries and keys by head and frequency. Heads with fewer frequencies are padded with NaN and 0.

    A norm is the mean length of queries times the mean length of keys in a channel pair, divided by the sum of these
    products over all heads and pairs of the model, so the scale of the logits does not matter.
    """

    names: tuple[str, ...]  # of the heads, like L3H7
    theta_HF: np.ndarray  # radians per token
    norm_HF: np.ndarray

    def band(self, text: str) -> np.ndarray:
        """band_HF, True where a frequency is in this band of its head."""
        band_HF = np.zeros(self.theta_HF.shape, dtype=bool)
        for head, theta_F in enumerate(self.theta_HF):
            own_F = np.isfinite(theta_F)
            band_HF[head, own_F] = chosen(text, torch.from_numpy(theta_F[own_F])).numpy()
        return band_HF

    def within(self, text: str) -> np.ndarray:
        """share_H, the share of each head's norm that is in a band."""
        share_H: np.ndarray = (self.norm_HF * self.band(text)).sum(1) / self.norm_HF.sum(1)
        return share_H

    def rows(self, names: Sequence[str]) -> np.ndarray:
        """selected_H, True for the heads with these names."""
        return np.isin(self.names, names)


def read_norms(frequencies: pl.DataFrame, names: Sequence[str], pairs: Mapping[int, int]) -> FrequencyNorms:
    """The norms of these heads, from a table of frequencies; `pairs` is the number of rotated pairs by layer."""
    is_rotated = pl.col("frequency") < pl.col("layer").replace_strict(pairs, default=0, return_dtype=pl.Int32)
    rotated = frequencies.filter(is_rotated).with_columns(
        name=pl.format("L{}H{}", "layer", "head"), theta=pl.col("theta").abs()
    )
    if rotated.is_empty():
        raise UserError("no head has rotary frequencies whose norms could be measured; give longer texts")
    wide = rotated.pivot("measure", index=["name", "frequency", "theta"], values="value").sort("frequency")
    by_head = wide.with_columns(norm=pl.col("query_norm") * pl.col("key_norm")).partition_by("name", as_dict=True)
    tables = [by_head[(name,)] for name in names if (name,) in by_head]
    theta_HF = _padded([table["theta"].to_numpy() for table in tables], np.nan)
    norm_HF = np.nan_to_num(_padded([table["norm"].to_numpy() for table in tables], 0.0))
    return FrequencyNorms(tuple(table["name"][0] for table in tables), theta_HF, norm_HF / norm_HF.sum())


def _padded(rows: Sequence[np.ndarray], filler: float) -> np.ndarray:
    table = np.full((len(rows), max(map(len, rows))), filler)
    for row, values in zip(table, rows, strict=True):
        row[: len(values)] = values
    return table
