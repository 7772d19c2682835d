"""Keeps score while a model runs: rows in, one number a head, score and text out, then intervals and chance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import torch
from torch import Tensor

from wherewhat.capture.reader import Place, Seen
from wherewhat.errors import UserError
from wherewhat.scores.base import PerRow, Rows, Score
from wherewhat.scores.frequencies import Frequencies, frequencies
from wherewhat.scores.offset_mass import offset_mass

RESAMPLES = 1000
LEVEL = 0.95
QUICK_ROWS = 8  # of a text whose logits a quick look takes apart
QUICK_SWAPS = 1 << 14  # of a row that it looks at one by one; of more some stand for all

Answers = dict[str, list[PerRow]]  # by score: values and weights of the rows seen so far


@dataclass(frozen=True)
class Swapping:
    """How contents are to change places: for scores that ask what logits would be if they did.

    A quick look takes logits apart in a few of the rows and swaps contents at the last query of each text only, there
    no more of them than needed; otherwise all of it is done in every row.
    """

    taus: tuple[float, ...]  # temperatures of the published scores
    first: int  # slots before this one keep their content
    quick: bool
    blocks: Sequence[Tensor] | None = None  # by text, stretches of slots that move as one

    def of(self, seen: Seen) -> Rows:
        """The rows, with all that a score may ask of them."""
        rows = Rows(
            seen.attention_HQK,
            seen.queries_Q,
            seen.allowed_QK,
            seen.tokens_K,
            logits=seen.logits,
            first=self.first,
            blocks=None if self.blocks is None else self.blocks[seen.text].to(seen.attention_HQK.device),
            taus=self.taus,
        )
        if not self.quick:
            return rows
        last_Q = seen.queries_Q == len(seen.tokens_K) - 1
        every = max(1, round(len(seen.wanted_Q) / QUICK_ROWS))
        few_Q = torch.isin(seen.queries_Q, seen.wanted_Q.flip(0)[::every])  # the last is among them
        return replace(rows, tabled_Q=last_Q, apart_Q=few_Q, most=QUICK_SWAPS)


@dataclass
class Text:
    """What one text has shown at one place so far, in as many pieces as it came."""

    real: Answers
    chance: Answers
    mass_HO: Tensor | None = None
    rows_O: Tensor | None = None
    frequencies: Frequencies | None = None


@dataclass
class Account:
    """Everything known of one place: a row a text."""

    heads: int = 0
    values: dict[str, dict[int, np.ndarray]] = field(default_factory=dict)  # by score and text, value_H
    weights: dict[str, dict[int, np.ndarray]] = field(default_factory=dict)  # how much the text counts, weight_H
    chances: dict[str, dict[int, float]] = field(default_factory=dict)
    mass_HO: np.ndarray | None = None  # by offset, summed over texts
    texts_O: np.ndarray | None = None  # by offset, how many texts showed it
    rows_O: np.ndarray | None = None  # by offset, in how many rows of all texts together
    frequencies: Frequencies | None = None  # of all texts together, where the logits turn


class Tally:
    """Listens to captured rows. After `close`, `accounts` holds what came of them."""

    def __init__(self, scores: Mapping[str, Score], *, swapping: Swapping, longest: int, seed: int) -> None:
        self.accounts: dict[Place, Account] = {}
        self.absorbed: dict[Place, bool] = {}  # where logits could be read: whether slots have no say in them
        self.turning: set[Place] = set()  # where they have rotary frequencies
        self.scores = scores
        self._swapping = swapping
        self._longest = longest
        self._seed = seed
        self._place: Place | None = None
        self._heads = 0  # of that place
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
        self._heads = len(seen.attention_HQK)
        rows = self._swapping.of(seen)
        self._look_at_logits(seen)
        text = self._open.setdefault(seen.text, Text({}, {}))
        for name, score in self._asked(seen.place).items():
            text.real.setdefault(name, []).append(score.rows(rows))
        for name, answers in self._chance(seen, rows).items():
            text.chance.setdefault(name, []).extend(answers)
        asks_logits = any(score.logits for score in self.scores.values())
        if asks_logits and (found := frequencies(rows)) is not None:
            text.frequencies = found if text.frequencies is None else text.frequencies.then(found)
        if seen.place.part != "cross":
            mass_HO, rows_O = offset_mass(rows)
            text.mass_HO = mass_HO if text.mass_HO is None else text.mass_HO + mass_HO
            text.rows_O = rows_O if text.rows_O is None else text.rows_O + rows_O

    def close(self) -> None:
        """The texts of a batch have been read through."""
        self._close_place()
        self._known.clear()

    def _look_at_logits(self, seen: Seen) -> None:
        if seen.logits is None:
            return
        self.absorbed[seen.place] = seen.logits.absorbed
        if seen.logits.rotary is not None:
            self.turning.add(seen.place)
        if not torch.isfinite(seen.logits.actual_HQK.sum()):
            raise UserError(
                f"the logits of {seen.place.module} are not finite on text {seen.text}; "
                "load the model with --dtype float32, or check its weights"
            )

    def _asked(self, place: Place) -> dict[str, Score]:
        """The questions that make sense here.

        Those about distance are not asked of cross-attention, whose keys stand in another sequence; those about logits
        only where these could be read and slots have a say in them.
        """
        slots_matter = not self.absorbed.get(place, True)
        return {
            name: score
            for name, score in self.scores.items()
            if (place.part != "cross" or not score.relative)
            and (slots_matter or not score.logits)
            and (place in self.turning or not score.turning)
        }

    def _chance(self, seen: Seen, rows: Rows) -> Answers:
        """What heads that know nothing answer on these rows; computed once where layers share rows and mask."""
        asked = self._asked(seen.place)
        for queries_Q, allowed_QK, answers in self._known.get(seen.text, []):
            same = torch.equal(queries_Q, rows.queries_Q) and torch.equal(allowed_QK, rows.allowed_QK)
            if same and answers.keys() == asked.keys():
                return answers
        generator = torch.Generator(device=rows.attention_HQK.device)
        generator.manual_seed((self._seed * 1_000_003 + seen.text) * 1_000_003 + int(rows.queries_Q[0]))
        kinds = dict.fromkeys(score.chance for score in asked.values() if score.chance is not None)
        ignorant = {kind: kind(rows, generator) for kind in kinds}
        answers = {}
        for name, score in asked.items():
            if score.expected is not None:
                answers[name] = [score.expected(rows)]
            elif score.chance is not None:
                answers[name] = [score.rows(ignorant[score.chance])]
            else:
                answers[name] = [rows.nothing]
        self._known.setdefault(seen.text, []).append((rows.queries_Q, rows.allowed_QK, answers))
        return answers

    def _close_place(self) -> None:
        if self._place is None:
            return
        account = self.accounts.setdefault(self._place, Account(self._heads))
        for number, text in self._open.items():
            for name in text.real:
                self._add_score(account, number, text, self.scores[name])
            self._add_offsets(account, text)
            if text.frequencies is not None:
                known = account.frequencies
                account.frequencies = text.frequencies if known is None else known + text.frequencies
        self._open = {}
        self._place = None

    def _add_score(self, account: Account, number: int, text: Text, score: Score) -> None:
        """Add one text's answer, and how much it counts beside those of other texts."""
        value_HQ, weight_HQ = _joined(text.real[score.name])
        value_H, weight_H = score.pool(value_HQ, weight_HQ), weight_HQ.sum(-1)
        weight_H = weight_H if score.pooled else torch.ones_like(weight_H)
        account.values.setdefault(score.name, {})[number] = value_H.cpu().double().numpy()
        account.weights.setdefault(score.name, {})[number] = weight_H.cpu().double().numpy()
        chance_H = score.pool(*_joined(text.chance[score.name]))
        account.chances.setdefault(score.name, {})[number] = float(chance_H.nanmean())

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
    """Average a score over texts, alike or by what they weigh.

    The interval resamples texts; the same draws serve every head and score.
    """
    values, weights = _by_text(account, score, texts)
    known = np.isfinite(values)
    value_H, means = _averaged(values, weights, known, draws(texts, seed))
    texts_H = known.sum(0)
    chances = np.array([account.chances[score].get(number, np.nan) for number in range(texts)])
    with np.errstate(invalid="ignore", divide="ignore"):
        chance = np.nansum(chances) / np.isfinite(chances).sum()
    return Summary(value_H, *interval(means, texts_H), float(chance), texts_H)


def paired(before: Account, after: Account, score: str, *, texts: int, seed: int) -> Summary:
    """By how much a score changed from one reading of some texts to another; each resample takes the same of both.

    Chance is left out: it belongs to the rows, which are the same in both.
    """
    drawn = draws(texts, seed)
    first, second = _by_text(before, score, texts), _by_text(after, score, texts)
    known = np.isfinite(first[0]) & np.isfinite(second[0])  # a text that answers once only says nothing of a change
    first_H, firsts = _averaged(*first, known, drawn)
    second_H, seconds = _averaged(*second, known, drawn)
    texts_H = known.sum(0)
    return Summary(second_H - first_H, *interval(seconds - firsts, texts_H), float("nan"), texts_H)


def _by_text(account: Account, score: str, texts: int) -> tuple[np.ndarray, np.ndarray]:
    """Values and weights of a score, a row a text and a column a head; NaN where a text gave no value."""
    values = np.full((texts, len(next(iter(account.values[score].values())))), np.nan)
    weights = np.zeros_like(values)
    for number, value_H in account.values[score].items():
        values[number] = value_H
        weights[number] = account.weights[score][number]
    return values, weights


def _averaged(
    values: np.ndarray, weights: np.ndarray, known: np.ndarray, drawn: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The mean over known texts, and that of every resample; each by head."""
    weights = np.where(known, weights, 0.0)
    filled = np.where(known, values, 0.0) * weights
    with np.errstate(invalid="ignore", divide="ignore"):
        return filled.sum(0) / weights.sum(0), (drawn @ filled) / (drawn @ weights)


@cache
def draws(texts: int, seed: int) -> np.ndarray:
    """How often each resample takes each text."""
    return np.random.default_rng(seed).multinomial(texts, np.full(texts, 1 / texts), size=RESAMPLES)


def interval(means: np.ndarray, texts_H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The middle of the resampled means; nothing can be said from a single text."""
    if np.isfinite(means).all() and (texts_H > 1).all():
        low_H, high_H = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        return low_H, high_H
    low_H, high_H = np.full(means.shape[1], np.nan), np.full(means.shape[1], np.nan)
    for head in np.flatnonzero(texts_H > 1):
        drawn = means[:, head][np.isfinite(means[:, head])]
        low_H[head], high_H[head] = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return low_H, high_H
