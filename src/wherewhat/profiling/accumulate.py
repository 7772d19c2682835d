"""Keeps score while a model runs: rows in, one number per head, score and window out, then intervals and chance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import numpy as np
import torch
from torch import Tensor

from wherewhat.capture.hooks.reader import AttentionSite, Seen
from wherewhat.capture.tokens.batch import ALL, generator_of
from wherewhat.errors import UserError
from wherewhat.scores.base import PerRow, Rows, Score
from wherewhat.scores.frequencies import Frequencies, frequencies
from wherewhat.scores.offset_mass import offset_mass

RESAMPLES = 1000
LEVEL = 0.95
TABLES = 4  # logits that need whole tables are decomposed in one row where others are in so many

Answers = dict[str, list[PerRow]]  # by score: values and weights of the rows seen so far


@dataclass(frozen=True)
class Swapping:
    """How contents are to change places: for scores that ask what logits would be if they did."""

    taus: tuple[float, ...]  # temperatures of the published scores
    first: int  # slots before this one keep their content
    rows: int = ALL  # of a window, spread over it, in which logits are decomposed and swapped
    max_swaps: int | None = None  # of a row that are computed one by one; of more, a sample
    blocks: Sequence[Tensor] | None = None  # by window, stretches of slots that move as one

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
            max_swaps=self.max_swaps,
        )
        if self.rows == ALL or seen.logits is None:
            return rows
        count = max(1, self.rows // TABLES) if seen.logits.by_table else self.rows
        return replace(rows, decomposed_Q=torch.isin(seen.queries_Q, spread_out(seen.wanted_Q, count)))


def spread_out(rows_Q: Tensor, count: int) -> Tensor:
    """At most `count` of some rows: the last of each of as many equal stretches, so always the last of all.

    >>> spread_out(torch.arange(64), 4)
    tensor([15, 31, 47, 63])
    """
    count = min(count, len(rows_Q))
    return rows_Q[torch.arange(1, count + 1, device=rows_Q.device) * len(rows_Q) // count - 1]


@dataclass
class Text:
    """What one window has shown at one place so far, in as many pieces as it came."""

    real: Answers
    chance: Answers
    mass_HO: Tensor | None = None
    rows_O: Tensor | None = None
    frequencies: Frequencies | None = None


@dataclass
class LayerScores:
    """Everything known of one place, window by window."""

    heads: int = 0
    values: dict[str, dict[int, np.ndarray]] = field(default_factory=dict)  # by score and window, value_H
    weights: dict[str, dict[int, np.ndarray]] = field(default_factory=dict)  # how much the window counts, weight_H
    chances: dict[str, dict[int, np.ndarray]] = field(default_factory=dict)  # of every head, or of all heads alike
    rows: dict[str, dict[int, np.ndarray]] = field(default_factory=dict)  # how many rows the value rests on, rows_H
    mass_HO: np.ndarray | None = None  # by offset, summed over texts
    texts_O: np.ndarray | None = None  # by offset, how many windows showed it
    rows_O: np.ndarray | None = None  # by offset, in how many rows of all windows together
    frequencies: Frequencies | None = None  # of all windows together, where the logits turn

    def add(self, score: str, window: int, answer: "Answer") -> None:
        """Write down what a window says about a score."""
        for book, value in (
            (self.values, answer.value_H),
            (self.weights, answer.weight_H),
            (self.chances, answer.chance_H),
            (self.rows, answer.rows_H),
        ):
            book.setdefault(score, {})[window] = value.cpu().double().numpy()


@dataclass(frozen=True)
class Answer:
    """What one window says about one score of every head of a layer."""

    value_H: Tensor
    weight_H: Tensor  # how much the window counts beside others
    chance_H: Tensor  # one number for all heads, or one for each
    rows_H: Tensor  # how many rows it rests on


class ScoreAccumulator:
    """Listens to captured rows. After `close`, `accounts` holds what came of them."""

    def __init__(self, scores: Mapping[str, Score], *, swapping: Swapping, longest: int, seed: int) -> None:
        self.accounts: dict[AttentionSite, LayerScores] = {}
        self.absorbed: dict[AttentionSite, bool] = {}  # where logits could be read: whether slots have no say in them
        self.turning: set[AttentionSite] = set()  # where they have rotary frequencies
        self.scores = scores
        self._swapping = swapping
        self._longest = longest
        self._seed = seed
        self._place: AttentionSite | None = None
        self._heads = 0  # of that place
        self._open: dict[int, Text] = {}
        self._known: dict[int, list[tuple[Tensor, Tensor, Answers]]] = {}  # chance on queries_Q and allowed_QK, by text

    def see(self, seen: Seen) -> None:
        """Ask every score of some rows. Rows of one place come together, so another place closes the last."""
        if seen.site != self._place:
            self._close_place()
            self._place = seen.site
        if not torch.isfinite(seen.attention_HQK.sum()):
            raise UserError(
                f"the attention of {seen.site.module} is not finite on text {seen.text}; "
                "load the model with --dtype float32, or check its weights"
            )
        self._heads = len(seen.attention_HQK)
        rows = self._swapping.of(seen)
        self._look_at_logits(seen)
        text = self._open.setdefault(seen.text, Text({}, {}))
        for name, score in self._asked(seen.site).items():
            text.real.setdefault(name, []).append(score.rows(rows))
        for name, answers in (self._chance(seen, rows) | self._matched(seen.site, rows)).items():
            text.chance.setdefault(name, []).extend(answers)
        asks_logits = any(score.logits for score in self.scores.values())
        if asks_logits and (found := frequencies(rows)) is not None:
            text.frequencies = found if text.frequencies is None else text.frequencies.then(found)
        if seen.site.part != "cross":
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
        self.absorbed[seen.site] = seen.logits.absorbed
        if seen.logits.rotary is not None:
            self.turning.add(seen.site)
        if not torch.isfinite(seen.logits.actual_HQK.sum()):
            raise UserError(
                f"the logits of {seen.site.module} are not finite on text {seen.text}; "
                "load the model with --dtype float32, or check its weights"
            )

    def _asked(self, site: AttentionSite) -> dict[str, Score]:
        """The questions that make sense here.

        Those about distance are not asked of cross-attention, whose keys stand in another sequence; those about logits
        only where these could be read and slots have a say in them.
        """
        slots_matter = not self.absorbed.get(site, True)
        return {
            name: score
            for name, score in self.scores.items()
            if (site.part != "cross" or not score.relative)
            and (slots_matter or not score.logits)
            and (site in self.turning or not score.turning)
        }

    def _chance(self, seen: Seen, rows: Rows) -> Answers:
        """What heads that know nothing answer on these rows; computed once where layers share rows and mask."""
        asked = self._asked(seen.site)
        for queries_Q, allowed_QK, answers in self._known.get(seen.text, []):
            same = torch.equal(queries_Q, rows.queries_Q) and torch.equal(allowed_QK, rows.allowed_QK)
            if same and answers.keys() == asked.keys():
                return answers
        generator = generator_of(rows.tokens_K, self._seed, int(rows.queries_Q[0]))
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

    def _matched(self, site: AttentionSite, rows: Rows) -> Answers:
        """What random heads that are as peaked as each of these would answer, where a score has such a baseline."""
        asked = self._asked(site).items()
        return {name: [score.matched(rows)] for name, score in asked if score.matched is not None}

    def _close_place(self) -> None:
        if self._place is None:
            return
        account = self.accounts.setdefault(self._place, LayerScores(self._heads))
        for number, text in self._open.items():
            for name in text.real:
                self._add_score(account, number, text, self.scores[name])
            self._add_offsets(account, text)
            if text.frequencies is not None:
                known = account.frequencies
                account.frequencies = text.frequencies if known is None else known + text.frequencies
        self._open = {}
        self._place = None

    def _add_score(self, account: LayerScores, number: int, text: Text, score: Score) -> None:
        """Add one text's answer, and how much it counts beside those of other texts."""
        value_HQ, weight_HQ = _joined(text.real[score.name])
        value_H, weight_H = score.pool(value_HQ, weight_HQ), weight_HQ.sum(-1)
        weight_H = weight_H if score.pooled else torch.ones_like(weight_H)
        chance_H = score.pool(*_joined(text.chance[score.name]))
        chance_H = chance_H.nanmean(0, keepdim=True) if score.matched is None else chance_H
        account.add(score.name, number, Answer(value_H, weight_H, chance_H, (weight_HQ > 0).sum(-1)))

    def _add_offsets(self, account: LayerScores, text: Text) -> None:
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
class Resampling:
    """How intervals are resampled: whole texts, all windows of a text together."""

    origins: tuple[int, ...]  # of every window, the number of the text it was cut from
    seed: int

    @cached_property
    def draws_RN(self) -> np.ndarray:
        """How often each resample takes each window."""
        drawn_RX = draws(max(self.origins) + 1, self.seed)
        return np.asarray(drawn_RX[:, list(self.origins)])

    def texts(self, known_NH: np.ndarray) -> np.ndarray:
        """texts_H: how many texts have a window that is known."""
        belongs_XN = np.arange(max(self.origins) + 1)[:, None] == np.array(self.origins)
        return np.asarray((belongs_XN @ known_NH > 0).sum(0))


def each_alone(texts: int, seed: int) -> Resampling:
    """Texts of one window each."""
    return Resampling(tuple(range(texts)), seed)


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


def summarise(account: LayerScores, score: str, resampling: Resampling) -> Summary:
    """Average a score over windows, alike or by what they weigh.

    The interval resamples whole texts; the same draws serve every head and score.
    """
    value_NH, weight_NH, chance_NH, rows_NH = _by_window(account, score, len(resampling.origins))
    known_NH = np.isfinite(value_NH)
    value_H, means_RH = _averaged(value_NH, weight_NH, known_NH, resampling.draws_RN)
    texts_H = resampling.texts(known_NH)
    with np.errstate(invalid="ignore", divide="ignore"):
        chance_H = np.nansum(chance_NH, 0) / np.isfinite(chance_NH).sum(0)
    rows_H = np.nansum(np.where(known_NH, rows_NH, 0), 0)
    return Summary(value_H, *interval(means_RH, texts_H), chance_H, texts_H, known_NH.sum(0), rows_H)


def paired(before: LayerScores, after: LayerScores, score: str, resampling: Resampling) -> Summary:
    """By how much a score changed from one reading of some windows to another; each resample takes the same of both.

    Chance is left out: it belongs to the rows, which are the same in both.
    """
    first, second = (_by_window(account, score, len(resampling.origins)) for account in (before, after))
    known_NH = np.isfinite(first[0]) & np.isfinite(second[0])  # what answers once only says nothing of a change
    first_H, firsts_RH = _averaged(first[0], first[1], known_NH, resampling.draws_RN)
    second_H, seconds_RH = _averaged(second[0], second[1], known_NH, resampling.draws_RN)
    texts_H, rows_H = resampling.texts(known_NH), np.nansum(np.where(known_NH, first[3], 0), 0)
    spread = interval(seconds_RH - firsts_RH, texts_H)
    return Summary(second_H - first_H, *spread, np.full_like(first_H, np.nan), texts_H, known_NH.sum(0), rows_H)


def _by_window(account: LayerScores, score: str, windows: int) -> tuple[np.ndarray, ...]:
    """Values, weights, chances and rows of a score, each by window and head; NaN where a window gave no value."""
    heads = len(next(iter(account.values[score].values())))
    tables = []
    for book in (account.values, account.weights, account.chances, account.rows):
        table_NH = np.full((windows, heads), np.nan)
        for number, known_H in book.get(score, {}).items():
            table_NH[number] = known_H
        tables.append(table_NH)
    return tuple(tables)


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
