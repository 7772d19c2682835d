"""Tokens are permuted at the input while positions stay, and the whole model runs again."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from wherewhat.capture.capture import CaptureSession, watched_by
from wherewhat.capture.hooks.reader import AttentionReader, AttentionRows, AttentionSite, Chunk, Decomposition
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
FAINT = torch.finfo(torch.float32).tiny  # weights below this have lost their last digits
PAIRS = 32  # random pairs of a text that are swapped, and at most as many more for the heads' largest gaps


@dataclass(frozen=True)
class QueryRows:
    """The query's row at one site in some runs, at the slots whose tokens move."""

    log_NHS: Tensor  # logits, or logarithms of weights: their differences are the same
    weight_NHS: Tensor
    visible_S: Tensor

    def runs(self, number_N: Tensor) -> "QueryRows":
        """Some of the runs, by number."""
        return QueryRows(self.log_NHS[number_N], self.weight_NHS[number_N], self.visible_S)

    @staticmethod
    def joined(pieces: Sequence["QueryRows"]) -> "QueryRows":
        """All runs of several pieces, in order."""
        log_NHS = torch.cat([rows.log_NHS for rows in pieces])
        return QueryRows(log_NHS, torch.cat([rows.weight_NHS for rows in pieces]), pieces[0].visible_S)


class QueryReader(AttentionReader):
    """Collects the query's row at every site, run after run; the query is the last token, and no run is padded.

    Rows are read off the weights of all runs of a batch at once. Where a weight is rounded to 16 bits, or to 0, they
    are read off the decomposed logits, run by run.
    """

    def __init__(self, dtype: torch.dtype = torch.float32) -> None:
        super().__init__(self._add_logits, dtype)
        self.slots_S = torch.empty(0, dtype=torch.long)  # whose tokens move
        self._pieces: dict[AttentionSite, list[QueryRows]] = defaultdict(list)

    def take(self) -> dict[AttentionSite, QueryRows]:
        """Everything collected since the last time, by site.

        In a model of two stacks only the encoder: the query of the decoder is itself one of the moved tokens.
        """
        two_stacks = any(site.part == "cross" for site in self._pieces)
        pieces = {site: some for site, some in self._pieces.items() if site.part == "encoder" or not two_stacks}
        self._pieces.clear()
        return {site: QueryRows.joined(some) for site, some in pieces.items()}

    def emit(
        self,
        site: AttentionSite,
        chunk: Chunk,
        attention_BHQK: Tensor,
        allowed_BQK: Tensor,
        decomposition: Decomposition | None = None,
    ) -> None:
        """Keep the query's row of every run, if it is in this chunk."""
        here = (chunk.rows_BQ[0] == allowed_BQK.shape[-1] - 1).nonzero().flatten()[:1]
        if not len(here):
            return
        slots_S = self.slots_S.to(attention_BHQK.device)
        weight_BHS, visible_S = attention_BHQK[:, :, here[0], slots_S], allowed_BQK[0, here[0], slots_S]
        precise = torch.finfo(weight_BHS.dtype).bits >= 32 and not (weight_BHS[..., visible_S] < FAINT).any()
        if decomposition is not None and site not in self.undecomposed and not precise:
            return super().emit(site, chunk, attention_BHQK, allowed_BQK, decomposition)
        weight_BHS = weight_BHS.to(torch.promote_types(weight_BHS.dtype, torch.float32))
        with self.noting_errors():
            self._add(site, _log(weight_BHS), weight_BHS, visible_S)

    def _add_logits(self, captured: AttentionRows) -> None:
        """The query's row of one run."""
        weight_HS, visible_S = captured.attention_HQK[:, 0, self.slots_S], captured.allowed_QK[0, self.slots_S]
        log_HS = _log(weight_HS) if captured.logits is None else captured.logits.actual_HQK[:, 0, self.slots_S]
        self._add(captured.site, log_HS[None], weight_HS[None], visible_S)

    def _add(self, site: AttentionSite, log_BHS: Tensor, weight_BHS: Tensor, visible_S: Tensor) -> None:
        if not torch.isfinite(log_BHS.sum()):
            raise not_finite("attention", site, "when tokens are moved")
        self._pieces[site].append(QueryRows(log_BHS.cpu(), weight_BHS.cpu(), visible_S.cpu()))


def _log(weight: Tensor) -> Tensor:
    """The logarithm of weights. One of 0 has been rounded to it: the smallest number stands for it."""
    return weight.clamp_min(torch.finfo(weight.dtype).tiny).log()


@dataclass(frozen=True)
class Permutations:
    """Which token is in which of the slots, run by run: the squares, the first run as in the text, then swaps."""

    squares: dict[str, Tensor]  # order_NS, by the prefix of the scores' names
    pairs_P2: Tensor

    def swaps(self, rows: QueryRows) -> TokenSwaps | None:
        """What the swaps of visible slots did; None if there are none."""
        kept_P = rows.visible_S[self.pairs_P2].all(-1)
        if not kept_P.any():
            return None
        after_HPS = rows.log_NHS[-len(self.pairs_P2) :][kept_P].transpose(0, 1).double()
        pairs_HP2 = self.pairs_P2[kept_P].expand(len(after_HPS), -1, -1)
        as_is = (rows.log_NHS[0], rows.weight_NHS[0])
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
        self, text: int, site: AttentionSite, rows: QueryRows, permutations: Permutations, context: ProfileContext
    ) -> None:
        """All runs of one text at one site. Slots that the query cannot see there are left out of the table."""
        visible_S = rows.visible_S
        if visible_S.sum() < 2:
            return
        dtypes = (parameter.dtype for parameter in context.model.module.parameters())
        eps = torch.finfo(next(dtype for dtype in dtypes if dtype.is_floating_point)).eps  # that the model computes in
        layer = self.layers[site]
        chances = chance_shares(len(visible_S), int(visible_S.sum()))
        log_HRS, begin = rows.log_NHS.transpose(0, 1).double(), 0
        for square, order_NS in permutations.squares.items():
            log_HNS = log_HRS[:, begin : begin + len(order_NS)]
            begin += len(order_NS)
            table = variances(log_HNS[..., visible_S], order_NS[:, visible_S], eps)
            for part, part_H, chance in zip(PARTS, table.parts, chances, strict=True):
                # Weighted by the whole, the mean over texts is the share of sums over texts.
                score = WindowScore(part_H / table.total_H, table.total_H, chance, rows=1)
                layer.add(f"{square}{part}_share", text, score)
        swaps = permutations.swaps(rows)
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
    reader = QueryReader(next(context.model.module.parameters()).dtype)
    with watched_by(reader, context.model.module) as session:
        for done, text in enumerate(texts):
            ids_T = context.ids[text][: first + SLOTS + 1]
            reader.slots_S = torch.arange(first, len(ids_T) - 1)
            permutations, rows = _run_permutations(session, reader, ids_T, context)
            moved.slots.append(len(reader.slots_S))
            for site, runs in rows.items():
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


def _run_permutations(
    session: CaptureSession, reader: QueryReader, ids_T: Tensor, context: ProfileContext
) -> tuple[Permutations, dict[AttentionSite, QueryRows]]:
    """Run a text as it is and rotated, then with all tokens scrambled, then with pairs swapped."""
    generator, batch_tokens = generator_of(ids_T, context.settings.seed), context.settings.batch_tokens
    size = len(reader.slots_S)
    squares = {SHIFTED: shifts(size), SCRAMBLED: latin_square(size, generator)}
    in_squares = _rerun(session, reader, ids_T, torch.cat(list(squares.values())), batch_tokens)
    pairs_P2 = choose_pairs(size, widest_gaps(in_squares.values()), generator)
    swapped = _rerun(session, reader, ids_T, swap_orders(pairs_P2, size), batch_tokens)
    rows = {site: QueryRows.joined((runs, swapped[site])) for site, runs in in_squares.items()}
    return Permutations(squares, pairs_P2), rows


def _rerun(
    session: CaptureSession, reader: QueryReader, ids_T: Tensor, order_NS: Tensor, batch_tokens: int
) -> dict[AttentionSite, QueryRows]:
    """Run a text with these tokens in these slots; positions stay, because only ids move.

    A token may occur twice: what is the same text again is run once.
    """
    moved_NT = ids_T.repeat(len(order_NS), 1)
    moved_NT[:, reader.slots_S] = ids_T[reader.slots_S][order_NS]
    numbers = dict[tuple[int, ...], int]()  # of every distinct text, in the order in which they run
    number_N = torch.tensor([numbers.setdefault(tuple(moved_T), len(numbers)) for moved_T in moved_NT.tolist()])
    query_Q = torch.tensor([len(ids_T) - 1])
    for moved_BT in torch.tensor(list(numbers)).split(max(1, batch_tokens // len(ids_T))):
        copies, real_BT = len(moved_BT), torch.ones_like(moved_BT, dtype=torch.bool)
        session.read(Batch(tuple(range(copies)), moved_BT, real_BT, (query_Q,) * copies))
    return {site: rows.runs(number_N) for site, rows in reader.take().items()}


def widest_gaps(rows: Iterable[QueryRows]) -> list[tuple[int, int]]:
    """The pair of slots with the most unequal weights in the first run, of every head; the most frequent come first."""
    count: Counter[tuple[int, int]] = Counter()
    for each in rows:
        if each.visible_S.sum() >= 2:
            high_H = each.weight_NHS[0].masked_fill(~each.visible_S, -1.0).argmax(-1)
            low_H = each.weight_NHS[0].masked_fill(~each.visible_S, 2.0).argmin(-1)
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
