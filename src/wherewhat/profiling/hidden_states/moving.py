"""Tokens trade places at the input, positions stay, and the whole model runs again."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from wherewhat.capture.capture import Captured, capture
from wherewhat.capture.hooks.reader import AttentionSite, Seen
from wherewhat.capture.tokens.batch import Batch, generator_of
from wherewhat.errors import UserError
from wherewhat.profiling.accumulate import LayerScores
from wherewhat.profiling.hidden_states.run import Progress, Run, enter
from wherewhat.scores.input_level import (
    SCRAMBLED,
    SHIFTED,
    Exchanges,
    chance_shares,
    exchanged,
    latin_square,
    shifts,
    variances,
)
from wherewhat.scores.swaps import at

MOVED_TEXTS = 8  # texts that are run again with tokens moved: each runs up to two hundred times
SLOTS = 64  # tokens of a text that trade places: all between those that stay in front and the next, which asks
LEAST_SLOTS = 3  # after those that stay: two that trade tokens, and the last, which asks
PAIRS = 32  # random pairs of a text that trade places, and as many more at most for the heads' largest gaps


@dataclass(frozen=True)
class Row:
    """The query's row at one place in one run, at the slots that trade tokens."""

    log_HS: Tensor  # logits, or logarithms of weights: what they differ by is the same
    weight_HS: Tensor
    visible_S: Tensor


@dataclass
class Listener:
    """Takes down the query's row at every place, run after run."""

    slots_S: Tensor
    rows: dict[AttentionSite, list[Row]] = field(default_factory=lambda: defaultdict(list))

    def see(self, seen: Seen) -> None:
        weight_HK = seen.attention_HQK[:, 0]
        if seen.logits is None:  # a weight of 0 has been rounded to it: the smallest number stands for it
            log_HK = weight_HK.clamp_min(torch.finfo(weight_HK.dtype).tiny).log()
        else:
            log_HK = seen.logits.actual_HQK[:, 0]
        if not torch.isfinite(log_HK.sum()):
            raise UserError(
                f"the attention of {seen.site.module} is not finite when tokens trade places; "
                "load the model with --dtype float32, or check its weights"
            )
        row = (log_HK, weight_HK, seen.allowed_QK[0])
        self.rows[seen.site].append(Row(*(x.cpu()[..., self.slots_S] for x in row)))


@dataclass(frozen=True)
class Trades:
    """Which content stands in which of the slots, run by run: the squares, the first as in the text, then swaps."""

    squares: dict[str, Tensor]  # order_NS, by what the names of its scores begin with
    pairs_P2: Tensor

    def tables(self, rows: list[Row]) -> dict[str, Tensor]:
        """The runs of every square, log_HNS."""
        log_HNS = torch.stack([row.log_HS for row in rows], 1).double()
        runs = [len(order_NS) for order_NS in self.squares.values()]
        pieces = log_HNS.split([*runs, len(rows) - sum(runs)], 1)
        return dict(zip(self.squares, pieces, strict=False))

    def swaps(self, rows: list[Row], visible_S: Tensor) -> Exchanges | None:
        """What the swaps of visible slots did."""
        kept_P = visible_S[self.pairs_P2].all(-1)
        if not kept_P.any():
            return None
        swapped = [row.log_HS for row in rows[-len(self.pairs_P2) :]]
        after_HPS = torch.stack(swapped, 1).double()[:, kept_P]
        pairs_HP2 = self.pairs_P2[kept_P].expand(len(after_HPS), -1, -1)
        as_is = (rows[0].log_HS, rows[0].weight_HS)
        as_is_HPS, weight_HPS = (x_HS.double()[:, None].expand_as(after_HPS) for x_HS in as_is)
        before, after, apart = (
            -x.gather(-1, pairs_HP2).diff(dim=-1)[..., 0] for x in (as_is_HPS, after_HPS, weight_HPS)
        )
        return Exchanges(before, after, apart.abs())


@dataclass
class Moved:
    """What moving tokens has shown at every place."""

    sites: tuple[AttentionSite, ...] = ()
    slots: list[int] = field(default_factory=list)  # of every text that took part
    accounts: dict[AttentionSite, LayerScores] = field(default_factory=lambda: defaultdict(LayerScores))

    def add(self, text: int, site: AttentionSite, rows: list[Row], trades: Trades, run: Run) -> None:
        """All runs of one text at one place. What its query cannot see, there, is no slot of the table."""
        visible_S = rows[0].visible_S
        if visible_S.sum() < 2:
            return
        chances = chance_shares(len(visible_S), int(visible_S.sum()))
        for square, log_HNS in trades.tables(rows).items():
            found = variances(log_HNS[..., visible_S], trades.squares[square][:, visible_S], run.eps)
            for part, part_H, chance in zip(("position", "symbol", "other"), found.parts, chances, strict=True):
                # Weighed by the whole, the mean over texts is the share of sums over texts.
                answer = (part_H / found.total_H, found.total_H, chance)
                enter(self.accounts[site], f"{square}{part}_share", text, answer, rows=1)
        swaps = trades.swaps(rows, visible_S)
        for tau in run.taus if swaps else ():
            assert swaps is not None
            chance_H = swaps.chance(tau)
            for name, value_H in zip(published(tau), swaps.scores(tau), strict=True):
                answer = (value_H, torch.ones_like(value_H), float(chance_H.mean()))
                enter(self.accounts[site], name, text, answer, rows=1)

    def notes(self, run: Run) -> list[str]:
        """What has to be known to read them."""
        kept = "the last, which asks" + {0: "", 1: ", nor the first"}.get(run.first, f", nor the first {run.first}")
        few, most = min(self.slots), max(self.slots)
        traded = f"{most}" if few == most else f"{few} to {most}"
        told = [
            f"For the scores called input, {len(self.slots)} of {len(run.ids)} windows (at most {MOVED_TEXTS}) were "
            f"run again with tokens moved, positions staying: all {traded} tokens in front of the one that asks (at "
            f"most {SLOTS}; never {kept}). Each ran up to {2 * most} times for the shares and up to {2 * PAIRS} times "
            "for the swaps of two tokens.",
            "The scores called input have two ends. Where all tokens trade places at random, a token acts by itself: "
            "what a head reads off its neighbours is in input.other_share. Where the text moves round in a circle "
            "(input.shift), neighbours go along, and the same is in input.shift.symbol_share. Swaps of two tokens "
            "leave all neighbours in their slots, so there it counts as positional.",
        ]
        if any(site.part == "cross" for site in self.sites):
            told.append("A decoder reads the text shifted by one token; the scores called input are about the encoder.")
        return told


def published(tau: float) -> tuple[str, str]:
    """What the two published scores are called at a temperature; the published one needs no mention."""
    return f"input.positional{at(tau)}", f"input.symbolic{at(tau)}"


def move_tokens(run: Run, on_text: Progress | None = None) -> Moved:
    """Run every text again and again, as it is and with its tokens in other slots."""
    moved = Moved()
    listener = Listener(torch.empty(0))
    with capture(run.model.module, lambda seen: listener.see(seen)) as captured:
        texts = _some(run)
        for done, text in enumerate(texts):
            ids_T = run.ids[text][: run.first + SLOTS + 1]
            listener = Listener(torch.arange(run.first, len(ids_T) - 1))
            trades = _trade(captured, listener, ids_T, run)
            moved.slots.append(len(listener.slots_S))
            for site, rows in _of_one_sequence(listener.rows).items():
                moved.add(text, site, rows, trades, run)
            if on_text is not None:
                on_text(done + 1, len(texts))
        moved.sites = captured.sites
    if not moved.slots:
        longest = max(map(len, run.ids))
        raise UserError(
            f"no text is long enough to move tokens: the longest has {longest} tokens, of which the first {run.first} "
            f"and the last stay where they are; give texts of at least {run.first + LEAST_SLOTS} tokens"
        )
    return moved


def _some(run: Run) -> list[int]:
    """The texts to run again: of those long enough a sample that does not depend on their order."""
    long = [number for number, ids_T in enumerate(run.ids) if len(ids_T) >= run.first + LEAST_SLOTS]
    drawn = {number: generator_of(run.ids[number], run.seed).initial_seed() for number in long}
    return sorted(sorted(long, key=drawn.__getitem__)[:MOVED_TEXTS])


def _of_one_sequence(rows: dict[AttentionSite, list[Row]]) -> dict[AttentionSite, list[Row]]:
    """Where two stacks read, only the encoder: what the decoder asks from is itself one of the moved tokens."""
    two_stacks = any(site.part == "cross" for site in rows)
    return {site: found for site, found in rows.items() if site.part == "encoder" or not two_stacks}


def _trade(captured: Captured, listener: Listener, ids_T: Tensor, run: Run) -> Trades:
    """Run a text as it is and shifted, then with all tokens scrambled, then with pairs exchanged."""
    generator = generator_of(ids_T, run.seed)
    size = len(listener.slots_S)
    squares = {SHIFTED: shifts(size), SCRAMBLED: latin_square(size, generator)}
    _rerun(captured, ids_T, listener.slots_S, torch.cat(list(squares.values())), run.batch_tokens)
    as_is = [found[0] for found in _of_one_sequence(listener.rows).values()]
    pairs_P2 = choose_pairs(size, widest_gaps(as_is), generator)
    _rerun(captured, ids_T, listener.slots_S, exchanged(pairs_P2, size), run.batch_tokens)
    return Trades(squares, pairs_P2)


def _rerun(captured: Captured, ids_T: Tensor, slots_S: Tensor, order_NS: Tensor, batch_tokens: int) -> None:
    """Run copies of a text with these contents in these slots; positions stay, because only ids move."""
    moved_NT = ids_T.repeat(len(order_NS), 1)
    moved_NT[:, slots_S] = ids_T[slots_S][order_NS]
    query_Q = torch.tensor([len(ids_T) - 1])
    for moved_BT in moved_NT.split(max(1, batch_tokens // len(ids_T))):
        copies = len(moved_BT)
        real_BT = torch.ones_like(moved_BT, dtype=torch.bool)
        captured.read(Batch(tuple(range(copies)), moved_BT, real_BT, (query_Q,) * copies))


def widest_gaps(rows: Iterable[Row]) -> list[tuple[int, int]]:
    """The pair of slots whose weights are furthest apart, of every head; those that most heads share come first."""
    count: Counter[tuple[int, int]] = Counter()
    for row in rows:
        if row.visible_S.sum() >= 2:
            high_H = row.weight_HS.masked_fill(~row.visible_S, -1.0).argmax(-1)
            low_H = row.weight_HS.masked_fill(~row.visible_S, 2.0).argmin(-1)
            count.update((min(pair), max(pair)) for pair in zip(high_H.tolist(), low_H.tolist(), strict=True))
    return [pair for pair, _ in count.most_common() if pair[0] != pair[1]]


def choose_pairs(size: int, wanted: Sequence[tuple[int, int]], generator: torch.Generator) -> Tensor:
    """Pairs of slots to exchange, pairs_P2: some at random, and up to as many of the wanted ones.

    >>> choose_pairs(3, [(0, 1)], torch.Generator().manual_seed(0)).shape  # all there are
    torch.Size([3, 2])
    """
    all_P2 = torch.combinations(torch.arange(size))
    drawn_P2 = all_P2[torch.randperm(len(all_P2), generator=generator)[:PAIRS]]
    drawn = [(int(one), int(other)) for one, other in drawn_P2]
    return torch.tensor(list(dict.fromkeys([*drawn, *wanted[:PAIRS]])))
