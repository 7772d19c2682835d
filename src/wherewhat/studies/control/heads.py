"""The heads of a model: which frequencies each uses, which are selected, and how use goes with behaviour."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import polars as pl
import torch

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.encodings.bands import chosen
from wherewhat.errors import UserError
from wherewhat.runs.registry import Profile
from wherewhat.stats.correlation import spearman_over_heads
from wherewhat.stats.estimate import Estimate
from wherewhat.studies.control.settings import BEHAVIOUR, MEAN, MEAN_SPEED, SHARES, SIDES, ControlSettings, band

LEAST_HEADS = 3  # one of each kind, and one to draw controls from
OF_PAIRS = ("positional", "symbolic", "position_part", "symbol_part")  # scores of a single frequency
SCORES = (*BEHAVIOUR, MEAN, "entropy", "logit_variance")  # of a head
NAME = pl.format("L{}H{}", "layer", "head")
Rhos = Mapping[tuple[str, str, str], Estimate]  # rank correlations, by what a point is, x and y
Fastest = tuple[float, float] | None  # s_POS and s_SYM of a head's fastest frequency, medians over heads


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
        return np.asarray((self.norm_HF * self.band(text)).sum(1) / self.norm_HF.sum(1))


def read_norms(frequencies: pl.DataFrame, names: Sequence[str], pairs: Mapping[int, int]) -> FrequencyNorms:
    """The norms of these heads, from a table of frequencies; `pairs` is the number of rotated pairs by layer."""
    is_rotated = pl.col("frequency") < pl.col("layer").replace_strict(pairs, default=0, return_dtype=pl.Int32)
    rotated = frequencies.filter(is_rotated).with_columns(name=NAME, theta=pl.col("theta").abs())
    if rotated.is_empty():
        raise UserError("no head has rotary frequencies whose norms could be measured; give longer texts")
    wide = rotated.pivot("measure", index=["name", "frequency", "theta"], values="value").sort("frequency")
    by_name = wide.with_columns(norm=pl.col("query_norm") * pl.col("key_norm")).partition_by("name", as_dict=True)
    tables = {name: by_name[(name,)] for name in names if (name,) in by_name}
    theta_HF = np.full((len(tables), max((table.height for table in tables.values()), default=0)), np.nan)
    norm_HF = np.zeros(theta_HF.shape)
    for head, table in enumerate(tables.values()):
        theta_HF[head, : table.height] = table["theta"].to_numpy()
        norm_HF[head, : table.height] = np.nan_to_num(table["norm"].to_numpy())
    return FrequencyNorms(tuple(tables), theta_HF, norm_HF / norm_HF.sum())


@dataclass(frozen=True)
class HeadSelection:
    """As many positional heads as symbolic ones, by a rule fixed before anything was measured."""

    heads: Mapping[str, tuple[str, ...]]  # by kind, the purest first
    pure: bool  # whether each of them has more than half of its variance on its side
    rule: str  # a sentence


def select_heads(shares: Mapping[str, Sequence[float]], settings: ControlSettings) -> HeadSelection:
    """Take equally many heads from both ends of the ranking by position share minus symbol share (`shares`, by head).

    As many as have more than half of their variance on their side, at most a third of all heads. If too few have, the
    outer thirds of the ranking.
    """
    if len(shares) < LEAST_HEADS:
        raise UserError(
            f"the shares of {len(shares)} head(s) could be measured; comparing positional with symbolic heads "
            f"and with others takes at least {LEAST_HEADS}; name a larger model"
        )
    ranked = sorted(shares, key=lambda name: shares[name][1] - shares[name][0])  # sorting is stable: ties keep order
    most = max(1, int(len(ranked) * settings.most_of_heads))
    clear = [sum(pair[side] > settings.more_than for pair in shares.values()) for side in (0, 1)]
    pure = min(clear) >= max(1, len(ranked) * settings.enough)
    count = min(most, *clear) if pure else most
    begins = f"Of {len(ranked)} heads the {count} most positional and the {count} most symbolic, by position share"
    why = "as many of each kind as have more than half of their variance there, at most a third of all."
    if not pure:
        why = "the outer thirds, because too few heads of one kind have more than half of their variance on their side."
    selected = {"positional": tuple(ranked[:count]), "symbolic": tuple(ranked[::-1][:count])}
    return HeadSelection(selected, pure, f"{begins} minus symbol share: {why}")


def by_head(heads: pl.DataFrame, norms: FrequencyNorms, share: float) -> pl.DataFrame:
    """One row per head of `norms`: the shares of its norm in the fast and in the slow band, and its scores."""
    wide = heads.with_columns(name=NAME).pivot("score", index=["name", "layer", "head"], values="value")
    bands = {band(side, share): norms.within(band(side, share)) for side in SIDES}
    return pl.DataFrame({"name": norms.names, **bands}).join(wide, on="name", how="left", maintain_order="left")


def correlations(frequencies: pl.DataFrame, heads: pl.DataFrame, *, seed: int) -> tuple[Rhos, Fastest]:
    """Over `pairs`, scores of a frequency with its speed; over `heads`, a table from `by_head`, behaviour with use."""
    rotating = frequencies.filter(pl.col("theta") > 0)
    pairs = rotating.pivot("measure", index=["layer", "head", "frequency", "theta"], values="value")
    heads = heads.with_columns(-pl.col(MEAN).alias(MEAN_SPEED)) if MEAN in heads.columns else heads
    use = (MEAN_SPEED, *(name for name in heads.columns if ":" in name))  # and the shares of norm in bands
    wanted, rhos = [("pairs", pairs, "theta", y) for y in OF_PAIRS], {}
    wanted += [("heads", heads, x, y) for x, y in product(use, BEHAVIOUR)]
    for points, table, x, y in wanted:
        if {x, y} <= set(table.columns):
            known = table.select("layer", "head", x=x, y=y).drop_nulls()
            x_N, y_N, heads_N2 = known["x"].to_numpy(), known["y"].to_numpy(), known.select("layer", "head").to_numpy()
            rhos[points, x, y] = spearman_over_heads(x_N, y_N, heads_N2, seed=seed)
    if not {"positional", "symbolic"} <= set(pairs.columns):
        return rhos, None
    fastest = pl.col("theta") == pl.col("theta").max().over("layer", "head")
    medians = pairs.drop_nulls(["positional", "symbolic"]).filter(fastest).select(pl.median("positional", "symbolic"))
    return rhos, None if None in medians.row(0) else medians.row(0)


@dataclass(frozen=True)
class HeadFindings:
    """What was read from the heads of a model, before any intervention."""

    norms: FrequencyNorms
    selection: HeadSelection
    sizes: tuple[float, ...]  # of the bands; verdicts are about the first
    table: pl.DataFrame  # from `by_head`
    trained: Rhos  # correlations of the model
    redrawn: Rhos  # correlations of the same model with redrawn weights
    fastest: Fastest


def read_heads(
    own: Profile, redrawn: Profile, pairs: Mapping[int, int], settings: ControlSettings, *, seed: int
) -> HeadFindings:
    """Select heads, and correlate; band sizes that do not have a pair of every head become a half."""
    known = own.heads.drop_nulls("value").sort("layer", "head").with_columns(name=NAME)
    position, symbol = (dict(known.filter(score=score).select("name", "value").iter_rows()) for score in SHARES)
    norms = read_norms(own.frequencies, [name for name in position if name in symbol], pairs)
    selection = select_heads({name: (position[name], symbol[name]) for name in norms.names}, settings)
    fewest = int(np.isfinite(norms.theta_HF).sum(1).min())
    sizes = tuple(dict.fromkeys(share if int(share * fewest) else 0.5 for share in settings.shares))
    table = by_head(own.heads, norms, sizes[0])
    other = by_head(redrawn.heads, read_norms(redrawn.frequencies, norms.names, pairs), sizes[0])
    trained, fastest = correlations(own.frequencies, table, seed=seed)
    untrained, _ = correlations(redrawn.frequencies, other, seed=seed)
    return HeadFindings(norms, selection, sizes, table, trained, untrained, fastest)


def with_redrawn_weights(model: LoadedModel, *, seed: int) -> LoadedModel:
    """A copy whose tensors are each redrawn from a normal distribution with the tensor's own mean and deviation."""
    module, generator = deepcopy(model.module), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in module.parameters():
            if weight.is_floating_point():
                spread, mean = torch.std_mean(weight.float(), correction=0)
                drawn = torch.randn(weight.shape, generator=generator)  # on the CPU, the same for every device
                weight.copy_(mean.cpu() + spread.cpu() * drawn)
    return replace(model, module=module)
