"""Tokens are permuted at the input while positions stay, and the whole model runs again."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from wherewhat.capture.capture import CaptureSession, capture
from wherewhat.capture.hooks.reader import AttentionRows, AttentionSite
from wherewhat.capture.tokens.batch import Batch, generator_of
from wherewhat.errors import UserError
from wherewhat.profiling.accumulate import LayerScores, WindowScore, not_finite
from wherewhat.profiling.measurements.base import ProfileContext
from wherewhat.progress import OnText
from wherewhat.scores.input_level import (
    PARTS,
    SCRAMBLED,
    SHIFTED,
    TokenSwaps,
    chance_shares,
    input_scores,
    latin_square,
    shifts,
    swap_orders,
    variances,
)

MOVED_TEXTS = 8  # texts that are run again with tokens moved: each runs up to two hundred times
SLOTS = 64  # tokens of a text that move: all between those that stay in front and the next, which is the query
LEAST_SLOTS = 3  # after those that stay: two that move, and the query
PAIRS = 32  # random pairs of a text that are swapped, and at most as many more for the heads' largest gaps


@dataclass(frozen=True)
class QueryRow:
    """The query's row at one site in one run, at the slots whose tokens move."""

    log_HS: Tensor  # logits, or logarithms of weights: their differences are the same
    weight_HS: Tensor
    visible_S: Tensor


@dataclass
class QueryRows:
    """Collects the query's row at every site, run after run."""

    slots_S: Tensor
    rows: dict[AttentionSite, list[QueryRow]] = field(default_factory=lambda: defaultdict(list))

    def add(self, captured: AttentionRows) -> None:
        weight_HK = captured.attention_HQK[:, 0]
        if captured.logits is None:  # a weight of 0 has been rounded to it: the smallest number stands for it
            log_HK = weight_HK.clamp_min(torch.finfo(weight_HK.dtype).tiny).log()
        else:
            log_HK = captured.logits.actual_HQK[:, 0]
        if not torch.isfinite(log_HK.sum()):
            raise not_finite("attention", captured.site, "when tokens are moved")
        row = (log_HK, weight_HK, captured.allowed_QK[0])
        self.rows[captured.site].append(QueryRow(*(x.cpu()[..., self.slots_S] for x in row)))

    def of_one_sequence(self) -> dict[AttentionSite, list[QueryRow]]:
        """In a model of two stacks only the encoder: the query of the decoder is itself one of the moved tokens."""
        two_stacks = any(site.part == "cross" for site in self.rows)
        return {site: rows for site, rows in self.rows.items() if site.part == "encoder" or not two_stacks}


@dataclass(frozen=True)
class Permutations:
    """Which token is in which of the slots, run by run: the squares, the first run as in the text, then swaps."""

    squares: dict[str, Tensor]  # order_NS, by the prefix of the scores' names
    pairs_P2: Tensor

    def swaps(self, rows: list[QueryRow], visible_S: Tensor) -> TokenSwaps | None:
        """What the swaps of visible slots did; None if there are none."""
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
        return TokenSwaps(before, after, apart.abs())


@dataclass
class MovedTokens:
    """What moving tokens has shown at every site."""

    sites: tuple[AttentionSite, ...] = ()
    slots: list[int] = field(default_factory=list)  # of every text that took part
    layers: dict[AttentionSite, LayerScores] = field(default_factory=lambda: defaultdict(LayerScores))

    def add(
        self, text: int, site: AttentionSite, rows: list[QueryRow], permutations: Permutations, context: ProfileContext
    ) -> None:
        """All runs of one text at one site. Slots that the query cannot see there are left out of the table."""
        visible_S = rows[0].visible_S
        if visible_S.sum() < 2:
            return
        dtypes = (parameter.dtype for parameter in context.model.module.parameters())
        eps = torch.finfo(next(dtype for dtype in dtypes if dtype.is_floating_point)).eps  # that the model computes in
        layer = self.layers[site]
        chances = chance_shares(len(visible_S), int(visible_S.sum()))
        log_HRS, begin = torch.stack([row.log_HS for row in rows], 1).double(), 0
        for square, order_NS in permutations.squares.items():
            log_HNS = log_HRS[:, begin : begin + len(order_NS)]
            begin += len(order_NS)
            table = variances(log_HNS[..., visible_S], order_NS[:, visible_S], eps)
            for part, part_H, chance in zip(PARTS, table.parts, chances, strict=True):
                # Weighted by the whole, the mean over texts is the share of sums over texts.
                score = WindowScore(part_H / table.total_H, table.total_H, chance, rows=1)
                layer.add(f"{square}{part}_share", text, score)
        swaps = permutations.swaps(rows, visible_S)
        for tau in context.settings.tau if swaps else ():
            assert swaps is not None
            chance = float(swaps.chance(tau).mean())
            for record, value_H in zip(input_scores(tau), swaps.scores(tau), strict=True):
                layer.add(record.name, text, WindowScore(value_H, torch.ones_like(value_H), chance, rows=1))

    def notes(self, context: ProfileContext) -> list[str]:
        """Sentences that keep a reader from misreading the scores."""
        first = context.settings.first
        kept = "the last, which is the query" + {0: "", 1: ", nor the first"}.get(first, f", nor the first {first}")
        few, most = min(self.slots), max(self.slots)
        moved = f"{most}" if few == most else f"{few} to {most}"
        notes = [
            f"For the scores called input, {len(self.slots)} of {len(context.ids)} windows (at most {MOVED_TEXTS}) "
            f"were run again with tokens moved while positions stayed: all {moved} tokens before the query (at most "
            f"{SLOTS}; never {kept}). Each ran up to {2 * most} times for the shares and up to {2 * PAIRS} times for "
            "the swaps of two tokens.",
            "The scores called input differ in what happens to neighbours. Where all tokens are permuted at random, a "
            "token acts by itself: what a head reads off its neighbours is in input.other_share. Where the text is "
            "rotated (input.shift), neighbours move along, and the same is in input.shift.symbol_share. Swaps of two "
            "tokens leave all neighbours in their slots, so there it counts as positional.",
        ]
        if any(site.part == "cross" for site in self.sites):
            notes.append(
                "A decoder reads the text shifted by one token; the scores called input are about the encoder."
            )
        return notes


def move_tokens(context: ProfileContext, on_text: OnText | None = None) -> MovedTokens:
    """Run every text again and again, as it is and with its tokens in other slots."""
    moved, first, seed = MovedTokens(), context.settings.first, context.settings.seed
    long = [number for number, ids_T in enumerate(context.ids) if len(ids_T) >= first + LEAST_SLOTS]
    # Of the texts that are long enough, a sample that does not depend on their order.
    texts = sorted(sorted(long, key=lambda text: generator_of(context.ids[text], seed).initial_seed())[:MOVED_TEXTS])
    rows = QueryRows(torch.empty(0))
    with capture(context.model.module, lambda captured: rows.add(captured)) as session:
        for done, text in enumerate(texts):
            ids_T = context.ids[text][: first + SLOTS + 1]
            rows = QueryRows(torch.arange(first, len(ids_T) - 1))
            permutations = _run_permutations(session, rows, ids_T, context)
            moved.slots.append(len(rows.slots_S))
            for site, runs in rows.of_one_sequence().items():
                moved.add(text, site, runs, permutations, context)
            if on_text is not None:
                on_text(done + 1, len(texts))
        moved.sites = session.sites
    if not moved.slots:
        raise UserError(
            f"no text is long enough to move tokens: the longest has {max(map(len, context.ids))} tokens, of which the "
            f"first {first} and the last stay in place; give texts of at least {first + LEAST_SLOTS} tokens"
        )
    return moved


def _run_permutations(session: CaptureSession, rows: QueryRows, ids_T: Tensor, context: ProfileContext) -> Permutations:
    """Run a text as it is and rotated, then with all tokens scrambled, then with pairs swapped."""
    generator, batch_tokens = generator_of(ids_T, context.settings.seed), context.settings.batch_tokens
    size = len(rows.slots_S)
    squares = {SHIFTED: shifts(size), SCRAMBLED: latin_square(size, generator)}
    _rerun(session, ids_T, rows.slots_S, torch.cat(list(squares.values())), batch_tokens)
    as_is = [runs[0] for runs in rows.of_one_sequence().values()]
    pairs_P2 = choose_pairs(size, widest_gaps(as_is), generator)
    _rerun(session, ids_T, rows.slots_S, swap_orders(pairs_P2, size), batch_tokens)
    return Permutations(squares, pairs_P2)


def _rerun(session: CaptureSession, ids_T: Tensor, slots_S: Tensor, order_NS: Tensor, batch_tokens: int) -> None:
    """Run copies of a text with these tokens in these slots; positions stay, because only ids move."""
    moved_NT = ids_T.repeat(len(order_NS), 1)
    moved_NT[:, slots_S] = ids_T[slots_S][order_NS]
    query_Q = torch.tensor([len(ids_T) - 1])
    for moved_BT in moved_NT.split(max(1, batch_tokens // len(ids_T))):
        copies, real_BT = len(moved_BT), torch.ones_like(moved_BT, dtype=torch.bool)
        session.read(Batch(tuple(range(copies)), moved_BT, real_BT, (query_Q,) * copies))


def widest_gaps(rows: Iterable[QueryRow]) -> list[tuple[int, int]]:
    """The pair of slots with the most unequal weights, of every head; those that most heads share come first."""
    count: Counter[tuple[int, int]] = Counter()
    for row in rows:
        if row.visible_S.sum() >= 2:
            high_H = row.weight_HS.masked_fill(~row.visible_S, -1.0).argmax(-1)
            low_H = row.weight_HS.masked_fill(~row.visible_S, 2.0).argmin(-1)
            count.update((min(pair), max(pair)) for pair in zip(high_H.tolist(), low_H.tolist(), strict=True))
    return [pair for pair, _ in count.most_common() if pair[0] != pair[1]]


def choose_pairs(size: int, wanted: Sequence[tuple[int, int]], generator: torch.Generator) -> Tensor:
    """Pairs of slots to swap, pairs_P2: some at random, and up to as many of the wanted ones.

    >>> choose_pairs(3, [(0, 1)], torch.Generator().manual_seed(0)).shape  # all there are
    torch.Size([3, 2])
    """
    all_P2 = torch.combinations(torch.arange(size))
    drawn_P2 = all_P2[torch.randperm(len(all_P2), generator=generator)[:PAIRS]]
    drawn = [(int(first), int(second)) for first, second in drawn_P2]
    return torch.tensor(list(dict.fromkeys([*drawn, *wanted[:PAIRS]])))
