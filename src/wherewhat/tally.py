"""Keeps score while a model runs: rows in, one number a head, score and text out, then intervals and chance."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from wherewhat.capture.reader import PARTS, Place, Seen
from wherewhat.errors import UserError
from wherewhat.scores.base import PerRow, Rows, Score
from wherewhat.scores.offset_mass import offset_mass

RESAMPLES = 1000
LEVEL = 0.95

Answers = dict[str, list[PerRow]]  # by score: values and weights of the rows seen so far


@dataclass
class Text:
    """What one text has shown at one place so far, in as many pieces as it came."""

    real: Answers
    chance: Answers
    mass_HO: Tensor | None = None
    rows_O: Tensor | None = None


@dataclass
class Account:
    """Everything known of one place: a row a text."""

    values: dict[str, dict[int, np.ndarray]] = field(default_factory=dict)  # by score and text, value_H
    chances: dict[str, dict[int, float]] = field(default_factory=dict)
    mass_HO: np.ndarray | None = None  # by offset, summed over texts
    texts_O: np.ndarray | None = None  # by offset, how many texts showed it
    rows_O: np.ndarray | None = None  # by offset, in how many rows of all texts together


class Tally:
    """Listens to captured rows. After `close`, `accounts` holds what came of them."""

    def __init__(self, scores: Mapping[str, Score], *, longest: int, seed: int) -> None:
        self.accounts: dict[Place, Account] = {}
        self._scores = scores
        self._longest = longest
        self._seed = seed
        self._place: Place | None = None
        self._open: dict[int, Text] = {}
        self._known: dict[int, list[tuple[Tensor, Tensor, Answers]]] = {}  # chance on queries_Q and allowed_QK, by text

    def see(self, seen: Seen) -> None:
        """Ask every score of some rows. Rows of one place come together, so another place closes the last."""
        if seen.place != self._place:
            self._close_place()
            self._place = seen.place
        if not torch.isfinite(seen.attention_HQK.sum()):
            raise UserError(
                f"the attention of {seen.place.module} is not finite on text {seen.text}; "
                "load the model with --dtype float32, or check its weights"
            )
        rows = Rows(seen.attention_HQK, seen.queries_Q, seen.allowed_QK, seen.tokens_K)
        text = self._open.setdefault(seen.text, Text({}, {}))
        for name, score in self._asked(seen.place):
            text.real.setdefault(name, []).append(score.rows(rows))
        for name, answers in self._chance(seen, rows).items():
            text.chance.setdefault(name, []).extend(answers)
        if seen.place.part != "cross":
            mass_HO, rows_O = offset_mass(rows)
            text.mass_HO = mass_HO if text.mass_HO is None else text.mass_HO + mass_HO
            text.rows_O = rows_O if text.rows_O is None else text.rows_O + rows_O

    def close(self) -> None:
        """The texts of a batch have been read through."""
        self._close_place()
        self._known.clear()

    def _asked(self, place: Place) -> Iterator[tuple[str, Score]]:
        """Questions about distance are not asked of cross-attention, whose keys stand in another sequence."""
        return ((name, score) for name, score in self._scores.items() if place.part != "cross" or not score.relative)

    def _chance(self, seen: Seen, rows: Rows) -> Answers:
        """What heads that know nothing answer on these rows; computed once where layers share rows and mask."""
        asked = dict(self._asked(seen.place))
        for queries_Q, allowed_QK, answers in self._known.get(seen.text, []):
            same = torch.equal(queries_Q, rows.queries_Q) and torch.equal(allowed_QK, rows.allowed_QK)
            if same and answers.keys() == asked.keys():
                return answers
        generator = torch.Generator(device=rows.attention_HQK.device)
        generator.manual_seed((self._seed * 1_000_003 + seen.text) * 1_000_003 + int(rows.queries_Q[0]))
        ignorant = {kind: kind(rows, generator) for kind in dict.fromkeys(score.chance for score in asked.values())}
        answers = {name: [score.rows(ignorant[score.chance])] for name, score in asked.items()}
        self._known.setdefault(seen.text, []).append((rows.queries_Q, rows.allowed_QK, answers))
        return answers

    def _close_place(self) -> None:
        if self._place is None:
            return
        account = self.accounts.setdefault(self._place, Account())
        for number, text in self._open.items():
            for name in text.real:
                pool = self._scores[name].pool
                account.values.setdefault(name, {})[number] = pool(*_joined(text.real[name])).cpu().double().numpy()
                account.chances.setdefault(name, {})[number] = float(pool(*_joined(text.chance[name])).nanmean())
            self._add_offsets(account, text)
        self._open = {}
        self._place = None

    def _add_offsets(self, account: Account, text: Text) -> None:
        """Add one text's mean mass by offset, its middle laid on the middle of the longest text's."""
        if text.mass_HO is None or text.rows_O is None:
            return
        if account.mass_HO is None:
            account.mass_HO = np.zeros((text.mass_HO.shape[0], 2 * self._longest - 1))
            account.texts_O = np.zeros(2 * self._longest - 1, dtype=np.int64)
            account.rows_O = np.zeros(2 * self._longest - 1, dtype=np.int64)
        assert account.texts_O is not None and account.rows_O is not None
        rows_O = text.rows_O.cpu().numpy()
        reach = len(rows_O) // 2
        here = slice(self._longest - 1 - reach, self._longest + reach)
        account.mass_HO[:, here] += text.mass_HO.cpu().double().numpy() / np.maximum(rows_O, 1)
        account.texts_O[here] += rows_O > 0
        account.rows_O[here] += rows_O


def _joined(pieces: list[PerRow]) -> PerRow:
    """Values and weights of all rows, in the order they came."""
    return torch.cat([value_HQ for value_HQ, _ in pieces], -1), torch.cat([weight_HQ for _, weight_HQ in pieces], -1)


@dataclass(frozen=True)
class Summary:
    """One score of every head of a layer: the mean over texts with its interval, and chance."""

    value_H: np.ndarray
    low_H: np.ndarray
    high_H: np.ndarray
    chance: float
    texts_H: np.ndarray


def summarise(account: Account, score: str, *, texts: int, seed: int) -> Summary:
    """Average a score over texts. The interval resamples texts; the same draws serve every head and score."""
    values = np.full((texts, len(next(iter(account.values[score].values())))), np.nan)
    chances = np.full(texts, np.nan)
    for number, value_H in account.values[score].items():
        values[number] = value_H
        chances[number] = account.chances[score][number]
    known = np.isfinite(values)
    draws = np.random.default_rng(seed).multinomial(texts, np.full(texts, 1 / texts), size=RESAMPLES)
    filled = np.where(known, values, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (draws @ filled) / (draws @ known)
        value_H = filled.sum(0) / known.sum(0)
        chance = np.nansum(chances) / np.isfinite(chances).sum()
    low_H, high_H = _interval(means, known.sum(0))
    return Summary(value_H, low_H, high_H, float(chance), known.sum(0))


def _interval(means: np.ndarray, texts_H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The middle of the resampled means; nothing can be said from a single text."""
    low_H, high_H = np.full(means.shape[1], np.nan), np.full(means.shape[1], np.nan)
    for head in np.flatnonzero(texts_H > 1):
        drawn = means[:, head][np.isfinite(means[:, head])]
        low_H[head], high_H[head] = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return low_H, high_H


def numbered(places: Sequence[Place]) -> dict[Place, int]:
    """Give every place its layer number: encoder first, then decoder, then cross-attention, counted through."""
    order = sorted(places, key=lambda place: (PARTS.index(place.part), place.ordinal))
    return {place: number for number, place in enumerate(order)}
