"""Attention whose keys are reflected by every token on the way to the query, in three equal forms.

Each token t has a direction w_t of length 1 and a strength beta_t between 0 and 2, which together make the matrix
H_t = I - beta_t w_t w_tᵀ: nothing at 0, a projection at 1, a reflection at 2. Query i meets key j as

    logit_ij = q_iᵀ H_i H_{i-1} ... H_{j+1} k_j  (+ the sum of log_forget over t = j+1 ... i),    j ≤ i,

so that nothing stands between a query and the key of its own token. Queries come scaled. The three forms:

| form | time | memory | for |
|---|---|---|---|
| `recurrent` | n² · channels, token after token | n · channels | the definition, with which the others are compared |
| `change` | rows · n² | n² | attention that is looked at, above all a few rows of it |
| `blockwise` | n² · channels | n · channels | everything else |

A product of such matrices can be singular (beta = 1), so nothing here divides one by another.

Two letters are this file's own: N counts blocks of tokens, Y the keys of a block and after them the channels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

import torch
from torch import Tensor
from torch.linalg import solve_triangular
from torch.nn.functional import pad
from torch.utils.checkpoint import checkpoint

ROWS = 128  # queries computed together: enough for large products, few enough for the cache


@dataclass(frozen=True)
class Reflections:
    """What every token does to what is carried past it. One with beta 0 and log_forget 0 does nothing."""

    w_BHKC: Tensor
    beta_BHK: Tensor
    log_forget_BHK: Tensor | None = None  # None: nothing is forgotten


def recurrent(q_BHTC: Tensor, k_BHTC: Tensor, v_BHTC: Tensor, reflections: Reflections) -> Tensor:
    """out_BHTC by the definition: each token reflects all earlier keys, adds its own, and looks at them.

    >>> east, value = torch.tensor([[[[1.0, 0.0], [1.0, 0.0]]]]), torch.tensor([[[[1.0], [0.0]]]])
    >>> recurrent(east, east, value, Reflections(east, torch.tensor([[[2.0, 2.0]]])))[0, 0, 1]
    tensor([0.1192])

    The second token turned the first key around: its logits were -1 and 1.
    """
    keys_BHKC, kept_BHK, outs = k_BHTC[:, :, :0], k_BHTC[:, :, :0, 0], []
    for t in range(k_BHTC.shape[2]):
        w_BHC1, beta_BH1 = reflections.w_BHKC[:, :, t, :, None], reflections.beta_BHK[:, :, t, None]
        along_BHK = (keys_BHKC @ w_BHC1).squeeze(-1)
        keys_BHKC = keys_BHKC - (beta_BH1 * along_BHK)[..., None] * w_BHC1.mT
        keys_BHKC = torch.cat((keys_BHKC, k_BHTC[:, :, t : t + 1]), dim=2)
        logits_BHK = (keys_BHKC @ q_BHTC[:, :, t, :, None]).squeeze(-1)
        if reflections.log_forget_BHK is not None:
            kept_BHK = pad(kept_BHK + reflections.log_forget_BHK[:, :, t, None], (0, 1))
            logits_BHK = logits_BHK + kept_BHK
        outs.append(logits_BHK.softmax(-1)[:, :, None] @ v_BHTC[:, :, : t + 1])
    return torch.cat(outs, dim=2)


def change(q_BHQC: Tensor, k_BHKC: Tensor, reflections: Reflections, slots_Q: Tensor) -> Tensor:
    """change_BHQK, what to add to q·k, for queries in these slots; keys after the query get some finite number.

    With the directions of all tokens as rows of W, Wb = diag(beta) W and M = I + stril(Wb Wᵀ), it is
    -tril(Q Wᵀ) M⁻¹ stril(Wb Kᵀ). Solved from the left, which costs n² a row, so that a few rows are cheap.
    """
    w_BHKC, slots_K = reflections.w_BHKC, torch.arange(k_BHKC.shape[2], device=k_BHKC.device)
    weighted_BHKC = reflections.beta_BHK[..., None] * w_BHKC
    along_BHQK = (q_BHQC @ w_BHKC.mT).masked_fill(slots_K > slots_Q[:, None], 0)
    between_BHKK = weighted_BHKC @ w_BHKC.mT  # only what is below its diagonal is read
    share_BHQK = solve_triangular(between_BHKK, along_BHQK, upper=False, left=False, unitriangular=True)
    change_BHQK: Tensor = -(share_BHQK @ (weighted_BHKC @ k_BHKC.mT).tril(-1))
    gate_BHK = reflections.log_forget_BHK
    return change_BHQK if gate_BHK is None else change_BHQK + forgotten(gate_BHK, slots_Q)


def forgotten(log_forget_BHK: Tensor, slots_Q: Tensor) -> Tensor:
    """forgotten_BHQK, the sum of log_forget over the tokens after the key up to the query.

    It is the difference of two sums, in float64: far into a text both are large, and a near key needs the digits that
    are left.
    """
    sum_BHK = log_forget_BHK.double().cumsum(-1)
    return (sum_BHK[:, :, slots_Q, None] - sum_BHK[:, :, None, :]).to(log_forget_BHK.dtype)


def blockwise(
    q_BHQC: Tensor, k_BHKC: Tensor, v_BHKC: Tensor, reflections: Reflections, *, chunk: int, real_BK: Tensor | None
) -> Tensor:
    """out_BHQC of the last Q tokens, `chunk` tokens a block. Keys that are not real are seen by nobody.

    A block of tokens becomes two matrices. `own` has, for each of its queries, the logits of the block's keys and the
    query carried back to the block's start. `step` makes of a query that arrives at the block's end the logits of the
    block's keys and the query carried back to the block's start. The queries of a few blocks then walk back through
    all earlier ones, one product a block. To learn, the walk is not remembered but walked again.
    """
    keys, queries = k_BHKC.shape[2], q_BHQC.shape[2]
    chunk = min(chunk, keys)
    missing, short = (keys - queries) % chunk, -keys % chunk  # rows before and after, to make whole blocks
    gate_BHK, padding_BK = reflections.log_forget_BHK, None if real_BK is None else ~pad(real_BK, (0, short))
    v_BHKC = _whole(v_BHKC, 0, short)
    if padding_BK is not None:  # no values for padding, so that a query that sees nothing else gathers zeros
        v_BHKC = v_BHKC.masked_fill(padding_BK[:, None, :, None], 0)
    query_blocks = _QueryBlocks(
        *_matrices(_cut(q_BHQC, chunk, missing), k_BHKC, reflections),
        v_BHKC=v_BHKC,
        sum_BHK=None if gate_BHK is None else pad(gate_BHK, (0, short)).double().cumsum(-1),
        padding_BK=padding_BK,
    )
    return torch.cat([query_blocks.attend(group) for group in query_blocks.groups], dim=2)[
        :, :, missing : missing + queries
    ]


def _matrices(
    q_BHNQC: Tensor, k_BHKC: Tensor, reflections: Reflections
) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """own_BHQY of each of the last blocks, those that hold queries, and step_BHCY of every block.

    The algebra is that of `change` within one block, done for the keys and for the matrix I side by side.
    """
    chunk, with_queries = q_BHNQC.shape[3], slice(-q_BHNQC.shape[2], None)
    k_BHNKC, w_BHNKC = _cut(k_BHKC, chunk), _cut(reflections.w_BHKC, chunk)
    weighted_BHNKC = _cut(reflections.beta_BHK[..., None], chunk) * w_BHNKC
    met_BHNKY = torch.cat(((weighted_BHNKC @ k_BHNKC.mT).tril(-1), weighted_BHNKC), dim=-1)
    share_BHNKY = solve_triangular(weighted_BHNKC @ w_BHNKC.mT, met_BHNKY, upper=False, unitriangular=True)
    identity_CC = torch.eye(k_BHNKC.shape[-1], dtype=k_BHNKC.dtype, device=k_BHNKC.device)
    plain_BHNCY = torch.cat((k_BHNKC.mT, identity_CC.expand(*k_BHNKC.shape[:3], -1, -1)), dim=-1)
    step_BHNCY = plain_BHNCY - w_BHNKC.mT @ share_BHNKY
    plain_BHNQY = torch.cat((q_BHNQC @ k_BHNKC[:, :, with_queries].mT, q_BHNQC), dim=-1)
    own_BHNQY = plain_BHNQY - (q_BHNQC @ w_BHNKC[:, :, with_queries].mT).tril() @ share_BHNKY[:, :, with_queries]
    return own_BHNQY.unbind(2), step_BHNCY.unbind(2)  # apart: slices of one tensor would be slow to learn through


def _cut(each_BHKC: Tensor, chunk: int, missing: int = 0) -> Tensor:
    """each_BHNKC, whole blocks of tokens, with zeros for tokens missing before the first and after the last.

    Zeros reflect nothing, and no query sees a key after itself.
    """
    blocks_BHNKC: Tensor = _whole(each_BHKC, missing, -(missing + each_BHKC.shape[2]) % chunk).unflatten(2, (-1, chunk))
    return blocks_BHNKC


def _whole(each_BHKC: Tensor, before: int, after: int) -> Tensor:
    """Zeros before and after the tokens; the tokens of a head side by side in memory, which many products read."""
    return pad(each_BHKC, (0, 0, before, after)) if before or after else each_BHKC.contiguous()


@dataclass(frozen=True)
class _QueryBlocks:
    """Queries that go back through the text, block by block, and gather values."""

    owns: Sequence[Tensor]  # own_BHQY of each of the last blocks, those that hold queries
    steps: Sequence[Tensor]  # step_BHCY of every block
    v_BHKC: Tensor
    sum_BHK: Tensor | None  # of log_forget, so far, in float64; None: no gate
    padding_BK: Tensor | None

    @property
    def chunk(self) -> int:
        return self.owns[0].shape[2]

    @property
    def first(self) -> int:
        """The first block that holds queries."""
        return len(self.steps) - len(self.owns)

    @property
    def groups(self) -> list[range]:
        """The blocks that hold queries, a few together."""
        few, stop = max(1, ROWS // self.chunk), len(self.steps)
        return [range(start, min(start + few, stop)) for start in range(self.first, stop, few)]

    def attend(self, group: range) -> Tensor:
        """out_BHQC of the queries in these blocks."""
        if not torch.is_grad_enabled():
            return self._attend(group)
        out_BHQC: Tensor = checkpoint(self._attend, group, use_reentrant=False, preserve_rng_state=False)
        return out_BHQC

    def _attend(self, group: range) -> Tensor:
        logits_BHQK, keys = self._logits(group), self.chunk * group.stop
        if self.sum_BHK is not None:
            # The gate enters up to a number per row, which the softmax ignores: what the query has forgotten since the
            # start of its few rows. What is left is small for near keys anywhere in the text: float32 holds it well.
            few = gcd(self.chunk, 16)
            start_BHN = pad(self.sum_BHK, (1, 0))[:, :, self.chunk * group.start : keys : few]
            fade_BHNK = (start_BHN[..., None] - self.sum_BHK[:, :, None, :keys]).to(logits_BHQK.dtype)
            logits_BHQK = (logits_BHQK.unflatten(2, (-1, few)) + fade_BHNK[:, :, :, None]).flatten(2, 3)
        if self.padding_BK is not None:  # low but finite: a query that sees only padding makes no NaN
            lowest = torch.finfo(logits_BHQK.dtype).min
            logits_BHQK = logits_BHQK.masked_fill(self.padding_BK[:, None, None, :keys], lowest)
        if self.sum_BHK is not None:
            # A gate makes many keys with less than e^-70 of a row's attention, and arithmetic with numbers near the
            # smallest that a float can hold is so slow that learning through them took twice as long as without.
            faint_BHQK = logits_BHQK < logits_BHQK.detach().amax(-1, keepdim=True) - 70
            logits_BHQK = logits_BHQK.masked_fill(faint_BHQK, -torch.inf)
        return logits_BHQK.softmax(-1) @ self.v_BHKC[:, :, :keys]

    def _logits(self, group: range) -> Tensor:
        """logits_BHQK of the queries in these blocks and all keys up to their end, -inf for keys after the query."""
        chunk, columns = self.chunk, []
        parts = (chunk, self.steps[0].shape[2])
        later_QK = torch.ones(chunk, chunk, dtype=torch.bool, device=self.v_BHKC.device).triu(1)
        walking_BHQC = self.owns[0][:, :, :0, chunk:]  # nobody yet
        for block in reversed(range(group.stop)):
            column_BHQK, walking_BHQC = (walking_BHQC @ self.steps[block]).split(parts, dim=-1)
            if block in group:
                own_BHQK, starting_BHQC = self.owns[block - self.first].split(parts, dim=-1)
                own_BHQK = own_BHQK.masked_fill(later_QK, -torch.inf)
                before = chunk * (block - group.start)  # rows of the group that stand before all keys of the block
                barred_BHQK = own_BHQK.new_full((*own_BHQK.shape[:2], before, chunk), -torch.inf)
                column_BHQK = torch.cat((barred_BHQK, own_BHQK, column_BHQK), dim=2)
                walking_BHQC = torch.cat((starting_BHQC, walking_BHQC), dim=2)
            columns.append(column_BHQK)
        return torch.cat(columns[::-1], dim=-1)
