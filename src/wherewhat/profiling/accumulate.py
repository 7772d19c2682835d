"""Scores while a model runs: rows in, one value per head, score and window out, then intervals and chance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from wherewhat.capture.hooks.reader import AttentionRows, AttentionSite
from wherewhat.capture.tokens.batch import ALL, generator_of
from wherewhat.errors import UserError
from wherewhat.logits.base import Logits
from wherewhat.logits.joined import JoinedLogits
from wherewhat.scores.base import PerRow, Rows, RowScore, sum_by_text
from wherewhat.scores.frequencies import Frequencies, frequencies
from wherewhat.scores.offsets import offset_mass
from wherewhat.stats.bootstrap import Resampling, quantile_interval, ratio

TABLES = 4  # where logits need whole tables, only one in so many of the rows to decompose is decomposed

RowValues = dict[str, list[PerRow]]  # by score: values and weights of the rows read so far


@dataclass(frozen=True)
class SwapSettings:
    """How contents are swapped, for scores that ask what logits would be if they were."""

    taus: tuple[float, ...]  # temperatures of the published scores
    first: int  # slots before this one keep their content
    rows: int = ALL  # of a window, spread over it, in which logits are decomposed and swapped
    max_swaps: int | None = None  # of a row that are computed one by one; of more, a sample
    blocks: Sequence[Tensor] | None = None  # by window, stretches of slots that move as one

    def prepare(self, captured: Sequence[AttentionRows]) -> Rows:
        """Captured rows of some texts as scores take them."""
        device = captured[0].attention_HQK.device
        keys = max(rows.attention_HQK.shape[-1] for rows in captured)
        counts = torch.tensor([len(rows.queries_Q) for rows in captured])
        text_Q = torch.arange(len(captured)).repeat_interleave(counts).to(device)
        blocks = None if self.blocks is None else [self.blocks[rows.text].to(device) for rows in captured]
        return Rows(
            torch.cat([_padded(rows.attention_HQK, keys) for rows in captured], 1),
            torch.cat([rows.queries_Q for rows in captured]),
            torch.cat([_padded(rows.allowed_QK, keys) for rows in captured]),
            torch.stack([_padded(rows.tokens_K, keys) for rows in captured]),
            text_Q=text_Q,
            lengths_B=torch.tensor([len(rows.tokens_K) for rows in captured], device=device),
            logits=self._logits(captured, text_Q),
            first=self.first,
            decomposed_Q=self._decomposed(captured),
            max_swaps=self.max_swaps,
            blocks=blocks,
            taus=self.taus,
        )

    def _logits(self, captured: Sequence[AttentionRows], text_Q: Tensor) -> Logits | None:
        parts = [rows.logits for rows in captured if rows.logits is not None]
        if len(parts) < len(captured):
            return None
        return JoinedLogits.of(parts, text_Q) if len(parts) > 1 else parts[0]

    def _decomposed(self, captured: Sequence[AttentionRows]) -> Tensor | None:
        """decomposed_Q: which rows are among those of their text that have their logits decomposed."""
        logits = captured[0].logits
        if self.rows == ALL or logits is None:
            return None
        count = max(1, self.rows // TABLES) if logits.by_table else self.rows
        return torch.cat([torch.isin(rows.queries_Q, spread_out(rows.wanted_Q, count)) for rows in captured])


def _padded(tensor_XK: Tensor, keys: int) -> Tensor:
    """With so many keys, those that are missing 0."""
    missing = keys - tensor_XK.shape[-1]
    return pad(tensor_XK, (0, missing)) if missing else tensor_XK


def spread_out(rows_Q: Tensor, count: int) -> Tensor:
    """At most `count` of some rows: the last of each of as many equal stretches, so always the last of all.

    >>> spread_out(torch.arange(64), 4)
    tensor([15, 31, 47, 63])
    """
    count = min(count, len(rows_Q))
    return rows_Q[torch.arange(1, count + 1, device=rows_Q.device) * len(rows_Q) // count - 1]


@dataclass
class OpenSite:
    """What some texts have shown at one site so far, in as many pieces as they came."""

    windows: dict[int, int] = field(default_factory=dict)  # the texts so far, each with its number here
    values: RowValues = field(default_factory=dict)
    chance: RowValues = field(default_factory=dict)
    text_Q: list[Tensor] = field(default_factory=list)  # of each piece, which of the texts its rows belong to
    mass: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict)  # by window: mass_HO and rows_O
    frequencies: Frequencies | None = None


@dataclass(frozen=True)
class WindowScore:
    """One score of every head of a layer in one window."""

    value_H: Tensor
    weight_H: Tensor  # how much the window counts beside others
    chance: Tensor | float  # one number for all heads, or one for each
    rows: Tensor | int  # how many rows it rests on, for all heads or for each


@dataclass
class LayerScores:
    """Everything measured at one site, window by window."""

    heads: int = 0
    values: dict[str, dict[int, np.ndarray]] = field(default_factory=dict)  # by score and window, value_H
    weights: dict[str, dict[int, np.ndarray]] = field(default_factory=dict)  # how much the window counts, weight_H
    chances: dict[str, dict[int, np.ndarray]] = field(default_factory=dict)  # chance_H, or one number for all heads
    rows: dict[str, dict[int, np.ndarray]] = field(default_factory=dict)  # how many rows the value rests on, rows_H
    mass_HO: np.ndarray | None = None  # by offset, summed over windows
    windows_O: np.ndarray | None = None  # by offset, in how many windows it occurs
    rows_O: np.ndarray | None = None  # by offset, in how many rows of all windows together
    frequencies: Frequencies | None = None  # of all windows together, where the logits are rotary

    def add(self, score: str, window: int, values: WindowScore) -> None:
        """Add what a window gives for a score."""
        chance = values.chance if isinstance(values.chance, Tensor) else torch.tensor([values.chance])
        rows_H = torch.as_tensor(values.rows).expand(len(values.value_H))
        stores = (self.values, self.weights, self.chances, self.rows)
        for by_score, value in zip(stores, (values.value_H, values.weight_H, chance, rows_H), strict=True):
            by_score.setdefault(score, {})[window] = value.cpu().double().numpy()

    def add_windows(self, score: str, windows: Sequence[int], tables_HB: Sequence[Tensor]) -> None:
        """Add what several windows give for a score: its values, weights, chances and rows, a column per window."""
        stores = (self.values, self.weights, self.chances, self.rows)
        for by_score, table_HB in zip(stores, tables_HB, strict=True):
            columns = table_HB.T.cpu().double().contiguous().numpy()
            by_score.setdefault(score, {}).update(zip(windows, columns, strict=True))

    def has_value(self, score: str) -> bool:
        """Whether any head has a value of a score in any window."""
        return any(np.isfinite(value_H).any() for value_H in self.values.get(score, {}).values())


class ScoreAccumulator:
    """Receives captured rows and computes their scores. After `close`, `layers` holds the values."""

    def __init__(self, scores: Mapping[str, RowScore], *, swaps: SwapSettings, longest: int, seed: int) -> None:
        self.layers: dict[AttentionSite, LayerScores] = {}
        self.position_free: dict[AttentionSite, bool] = {}  # where logits could be read: whether slots play no part
        self.rotary: set[AttentionSite] = set()  # sites whose logits have rotary frequencies
        self.scores = scores
        self._swaps = swaps
        self._longest = longest
        self._seed = seed
        self._site: AttentionSite | None = None
        self._open = OpenSite()
        self._known: list[tuple[list[int], Tensor, Tensor, RowValues]] = []  # texts, queries_Q, allowed_QK and chance

    def add(self, captured: Sequence[AttentionRows]) -> None:
        """Compute every score of some rows of some texts, all of one site. A new site closes the previous one."""
        site = captured[0].site
        if site != self._site:
            self._close_site()
            self._site = site
        rows = self._swaps.prepare(captured)
        self.layers.setdefault(site, LayerScores(len(rows.attention_HQK)))
        finite_Q = rows.attention_HQK.sum((0, 2)).isfinite()
        if not finite_Q.all():
            raise not_finite("attention", site, f"on text {captured[int(rows.text_Q[~finite_Q][0])].text}")
        if rows.logits is not None:
            self.position_free[site] = rows.logits.position_free
            if rows.logits.planes is not None:
                self.rotary.add(site)
        open_site, scores = self._open, self._defined(site)
        numbers = [open_site.windows.setdefault(text.text, len(open_site.windows)) for text in captured]
        open_site.text_Q.append(torch.tensor(numbers, device=rows.text_Q.device)[rows.text_Q])
        for name, score in scores.items():
            open_site.values.setdefault(name, []).append(score.rows(rows))
        self._refuse_infinite(site, rows, captured)
        matched = {name: [score.matched(rows)] for name, score in scores.items() if score.matched is not None}
        for name, values in (self._chance(captured, rows, scores) | matched).items():
            open_site.chance.setdefault(name, []).extend(values)
        needs_logits = any(score.logits for score in self.scores.values())
        if needs_logits and (by_frequency := frequencies(rows)) is not None:
            known = open_site.frequencies
            open_site.frequencies = by_frequency if known is None else known.then(by_frequency)
        if site.part != "cross":
            self._add_mass(captured, rows)

    def _refuse_infinite(self, site: AttentionSite, rows: Rows, captured: Sequence[AttentionRows]) -> None:
        """Refuse logits that overflowed, as far as they were decomposed."""
        exact = rows.exact if rows.logits is not None and any(score.logits for score in self.scores.values()) else None
        if exact is not None and not (finite_Q := exact.variance_HQ.sum(0).isfinite()).all():
            raise not_finite("logits", site, f"on text {captured[int(rows.text_Q[~finite_Q][0])].text}")

    def _add_mass(self, captured: Sequence[AttentionRows], rows: Rows) -> None:
        mass_HBO, rows_BO = offset_mass(rows)
        middle = rows.attention_HQK.shape[-1] - 1
        for number, text in enumerate(captured):
            reach = len(text.tokens_K) - 1
            here = slice(middle - reach, middle + reach + 1)
            mass = mass_HBO[:, number, here], rows_BO[number, here]
            known = self._open.mass.get(text.text)
            self._open.mass[text.text] = mass if known is None else (known[0] + mass[0], known[1] + mass[1])

    def close(self) -> None:
        """The texts of a batch have been read to the end."""
        self._close_site()
        self._known.clear()

    def _defined(self, site: AttentionSite) -> dict[str, RowScore]:
        """The scores that are defined here.

        Those about distance are not defined for cross-attention, whose keys belong to another sequence; those about
        logits only where these could be read and depend on slots.
        """
        slots_matter = not self.position_free.get(site, True)
        return {
            name: score
            for name, score in self.scores.items()
            if (site.part != "cross" or not score.relative)
            and (slots_matter or not score.logits)
            and (site in self.rotary or not score.rotary)
        }

    def _chance(self, captured: Sequence[AttentionRows], rows: Rows, scores: Mapping[str, RowScore]) -> RowValues:
        """What uninformed heads get on these rows; computed once where layers share rows and mask."""
        texts = [text.text for text in captured]
        for known_texts, queries_Q, allowed_QK, values in self._known:
            same = torch.equal(queries_Q, rows.queries_Q) and torch.equal(allowed_QK, rows.allowed_QK)
            if known_texts == texts and same and values.keys() == scores.keys():
                return values
        baselines = dict.fromkeys(score.baseline for score in scores.values() if score.baseline is not None)
        seeds = [(text.tokens_K, self._seed, int(text.queries_Q[0])) for text in captured]
        uninformed = {baseline: baseline(rows, [generator_of(*seed) for seed in seeds]) for baseline in baselines}
        values = {}
        for name, score in scores.items():
            if score.expected is not None:
                values[name] = [score.expected(rows)]
            elif score.baseline is not None:
                values[name] = [score.rows(uninformed[score.baseline])]
            else:
                values[name] = [rows.nothing]
        self._known.append((texts, rows.queries_Q, rows.allowed_QK, values))
        return values

    def _close_site(self) -> None:
        if self._site is None:
            return
        layer, open_site = self.layers[self._site], self._open
        windows, text_Q = list(open_site.windows), torch.cat(open_site.text_Q)
        for name in open_site.values:
            score = self.scores[name]
            value_HQ, weight_HQ = _joined(open_site.values[name])
            weight_HB = sum_by_text(weight_HQ, text_Q)
            chance_HB = score.pool(*_joined(open_site.chance[name]), text_Q)
            tables_HB = (
                score.pool(value_HQ, weight_HQ, text_Q),
                weight_HB if score.pooled else torch.ones_like(weight_HB),
                chance_HB.nanmean(0, keepdim=True) if score.matched is None else chance_HB,
                sum_by_text((weight_HQ > 0).to(weight_HQ.dtype), text_Q).round(),
            )
            layer.add_windows(name, windows, tables_HB)
        for mass_HO, rows_O in open_site.mass.values():
            self._add_offsets(layer, mass_HO, rows_O)
        if open_site.frequencies is not None:
            known = layer.frequencies
            layer.frequencies = open_site.frequencies if known is None else known + open_site.frequencies
        self._open = OpenSite()
        self._site = None

    def _add_offsets(self, layer: LayerScores, mass_HO: Tensor, rows_O: Tensor) -> None:
        """Add one window's mean mass by offset, its middle aligned with the middle of the longest window's."""
        if layer.mass_HO is None:
            layer.mass_HO = np.zeros((mass_HO.shape[0], 2 * self._longest - 1))
            layer.windows_O = np.zeros(2 * self._longest - 1, dtype=np.int64)
            layer.rows_O = np.zeros(2 * self._longest - 1, dtype=np.int64)
        assert layer.windows_O is not None and layer.rows_O is not None
        counts_O = rows_O.cpu().numpy()
        reach = len(counts_O) // 2
        here = slice(self._longest - 1 - reach, self._longest + reach)
        layer.mass_HO[:, here] += mass_HO.cpu().double().numpy() / np.maximum(counts_O, 1)
        layer.windows_O[here] += counts_O > 0
        layer.rows_O[here] += counts_O


def not_finite(what: str, site: AttentionSite, when: str) -> UserError:
    """The refusal of attention or logits that overflowed."""
    return UserError(
        f"the {what} of {site.module} {'are' if what == 'logits' else 'is'} not finite {when}; "
        "load the model with --dtype float32, or check its weights"
    )


def _joined(pieces: list[PerRow]) -> PerRow:
    """Values and weights of all rows, in the order they came."""
    return torch.cat([value_HQ for value_HQ, _ in pieces], -1), torch.cat([weight_HQ for _, weight_HQ in pieces], -1)


@dataclass(frozen=True)
class Summary:
    """One score of every head of a layer: the mean over windows with its interval, chance, and what it rests on."""

    value_H: np.ndarray
    low_H: np.ndarray
    high_H: np.ndarray
    chance_H: np.ndarray
    texts_H: np.ndarray
    windows_H: np.ndarray
    rows_H: np.ndarray


def summarise_all(layer: LayerScores, resampling: Resampling) -> dict[str, Summary]:
    """Every score of a layer, by name."""
    return {name: summarise(layer, name, resampling) for name in layer.values}


def summarise(layer: LayerScores, score: str, resampling: Resampling) -> Summary:
    """Average a score over windows, equally or by their weights.

    The interval resamples whole texts; the same draws serve every head and score.
    """
    value_NH, weight_NH, chance_NH, rows_NH = _by_window(layer, score, len(resampling.origins))
    known_NH = np.isfinite(value_NH)
    value_H, means_RH = _averaged(value_NH, weight_NH, known_NH, resampling.draws_RN)
    texts_H = resampling.texts(known_NH)
    with np.errstate(invalid="ignore", divide="ignore"):
        chance_H = np.nansum(chance_NH, 0) / np.isfinite(chance_NH).sum(0)
    rows_H = np.nansum(np.where(known_NH, rows_NH, 0), 0)
    return Summary(value_H, *quantile_interval(means_RH, texts_H), chance_H, texts_H, known_NH.sum(0), rows_H)


def summarise_change(before: LayerScores, after: LayerScores, score: str, resampling: Resampling) -> Summary:
    """By how much a score changed from one reading of some windows to another; each resample takes the same of both.

    Chance is left out: it depends on the rows alone, which are the same in both.
    """
    first, second = (_by_window(layer, score, len(resampling.origins)) for layer in (before, after))
    known_NH = np.isfinite(first[0]) & np.isfinite(second[0])  # a value on one side only is no change
    first_H, firsts_RH = _averaged(first[0], first[1], known_NH, resampling.draws_RN)
    second_H, seconds_RH = _averaged(second[0], second[1], known_NH, resampling.draws_RN)
    texts_H, rows_H = resampling.texts(known_NH), np.nansum(np.where(known_NH, first[3], 0), 0)
    spread = quantile_interval(seconds_RH - firsts_RH, texts_H)
    return Summary(second_H - first_H, *spread, np.full_like(first_H, np.nan), texts_H, known_NH.sum(0), rows_H)


def _by_window(layer: LayerScores, score: str, windows: int) -> tuple[np.ndarray, ...]:
    """Values, weights, chances and rows of a score, each by window and head; NaN where a window gave no value."""
    heads = len(next(iter(layer.values[score].values())))
    tables = []
    for by_score in (layer.values, layer.weights, layer.chances, layer.rows):
        table_NH = np.full((windows, heads), np.nan)
        for number, known_H in by_score.get(score, {}).items():
            table_NH[number] = known_H
        tables.append(table_NH)
    return tuple(tables)


def _averaged(
    values_NH: np.ndarray, weights_NH: np.ndarray, known_NH: np.ndarray, draws_RN: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """mean_H over the windows with a value, and mean_RH of every resample."""
    weights_NH = np.where(known_NH, weights_NH, 0.0)
    filled_NH = np.where(known_NH, values_NH, 0.0) * weights_NH
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_H = filled_NH.sum(0) / weights_NH.sum(0)
    return mean_H, ratio(draws_RN, filled_NH, weights_NH)
