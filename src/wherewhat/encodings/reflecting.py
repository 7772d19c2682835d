"""What path and path_fox share: every token writes down a reflection, and keys meet queries through all of them."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, normalize, pad, silu

from wherewhat.encodings import drawing
from wherewhat.encodings.base import Context, Encoding, Notes, outside_autocast, wide
from wherewhat.encodings.householder import Reflections, blockwise, change, forgotten
from wherewhat.errors import UserError

MOST_BETA = 2 - 2**-16  # a hundred roundings of float32 below 2, so that no product of reflections can grow
SIGMA = 0.02


class Reflecting(Encoding):
    """The projections that make reflections of tokens, and the two ways to attend through them.

    A token's direction w comes from u = W_up W_down x through a short convolution over the last `conv` tokens, SiLU
    and division by its length; its strength is beta = 2 sigmoid(W x + b), held 2^-16 below 2. Both in each head.
    All of it is computed in float32 or wider.
    """

    causal_only = True
    shared = False

    def __init__(self, width: int, heads: int, head_dim: int, *, rank: int, conv: int, chunk: int) -> None:
        super().__init__()
        self.heads = heads
        sizes = {"width": width, "heads": heads, "head_dim": head_dim, "rank": rank, "conv": conv, "chunk": chunk}
        for name, size in sizes.items():
            if size < 1:
                raise UserError(f"a path of reflections needs {name} of at least 1 and got {size}; give a larger one")
        self.chunk = chunk
        self.down = drawing.linear(width, rank, bias=False)
        self.up = drawing.linear(rank, heads * head_dim, bias=False)
        self.taps_HRC = nn.Parameter(torch.empty(heads, conv, head_dim))  # the last tap is of the token itself
        self.beta = drawing.linear(width, heads)

    def log_forget(self, x_BTD: Tensor) -> Tensor | None:
        """log_forget_BHT, what each token's gate lets pass; None without a gate."""
        return None

    def forgetting(self, notes: Notes) -> Tensor | None:
        """What each token adds to the logits of all keys before it, according to the notes; None without a gate."""
        return None

    def reset_parameters(self, generator: torch.Generator) -> None:
        maps = [each for each in self.children() if isinstance(each, nn.Linear)]
        drawing.draw_normal((each.weight for each in maps), SIGMA, generator)
        for each in maps:
            if each.bias is not None:
                nn.init.zeros_(each.bias)
        bound = self.taps_HRC.shape[1] ** -0.5
        nn.init.uniform_(self.taps_HRC, -bound, bound, generator=generator)

    @outside_autocast
    def observe(self, x_BTD: Tensor, real_BT: Tensor | None = None, past: Notes | None = None) -> Notes:
        x_BTD = x_BTD.to(wide(x_BTD.dtype))
        heads = self.taps_HRC.shape[0]
        u_BHTC = project(self.up, project(self.down, x_BTD)).unflatten(-1, (heads, -1)).transpose(1, 2)
        beta_BHT = (2 * project(self.beta, x_BTD).sigmoid()).clamp(max=MOST_BETA).transpose(1, 2)
        written = {"u": u_BHTC, "beta": beta_BHT, "log_forget": self.log_forget(x_BTD)}
        notes = {name: note for name, note in written.items() if note is not None}
        if real_BT is not None:  # zeros for padding, which then reflects nothing and forgets nothing
            shape = {3: real_BT[:, None], 4: real_BT[:, None, :, None]}
            notes = {name: note.masked_fill(~shape[note.dim()], 0) for name, note in notes.items()}
        notes["real"] = (torch.ones_like(x_BTD[..., 0], dtype=torch.bool) if real_BT is None else real_BT)[:, None]
        u_BHKC, real_BHK = (torch.cat((past[name], notes[name]), 2) if past else notes[name] for name in ("u", "real"))
        # The convolution of the new tokens reaches back over tokens that are real.
        taps_HRC, back = self.taps_HRC.to(u_BHKC.dtype), _steps_back(u_BHKC, real_BHK, x_BTD.shape[1])
        conv = taps_HRC.shape[1]
        near = [back(conv - 1 - r) * taps_HRC[:, None, r] for r in range(conv)]
        return notes | {"w": normalize(silu(torch.stack(near).sum(0)), dim=-1, eps=1e-6)}

    @outside_autocast
    def attend(self, q_BHQC: Tensor, k_BHKC: Tensor, v_BHKC: Tensor, context: Context) -> Tensor | None:
        rows_Q = context.rows_Q
        if rows_Q is not None and not torch.equal(rows_Q, torch.arange(context.length).to(rows_Q)[-len(rows_Q) :]):
            return None  # these are not the last tokens in order
        dtype = wide(q_BHQC.dtype)
        q, k, v = q_BHQC.to(dtype) * q_BHQC.shape[-1] ** -0.5, k_BHKC.to(dtype), v_BHKC.to(dtype)
        out_BHQC = blockwise(q, k, v, self._reflections(context, dtype), chunk=self.chunk, real_BK=context.real_BK)
        return out_BHQC.to(v_BHKC.dtype)

    @outside_autocast
    def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        dtype = wide(q_BHQC.dtype)
        q_BHQC, k_BHKC, own = q_BHQC.to(dtype) * q_BHQC.shape[-1] ** -0.5, k_BHKC.to(dtype), q_BHQC.dtype
        reflections, slots_Q = self._reflections(context, dtype), context.slots_Q
        if self.watch is None:
            return change(q_BHQC, k_BHKC, reflections, slots_Q).to(own)
        along_BHQK = change(q_BHQC, k_BHKC, replace(reflections, log_forget_BHK=None), slots_Q)
        position_BHQK = self.source("path", along_BHQK.detach())  # made of contents, but shown as position
        gate_BHK = reflections.log_forget_BHK
        return (position_BHQK if gate_BHK is None else position_BHQK + forgotten(gate_BHK, slots_Q)).to(own)

    def _reflections(self, context: Context, dtype: torch.dtype) -> Reflections:
        notes = context.notes
        if "w" not in notes:
            raise UserError(f"{self.name} reads what its observe noted down; put that into the context's notes")
        gate = self.forgetting(notes)
        return Reflections(notes["w"].to(dtype), notes["beta"].to(dtype), None if gate is None else gate.to(dtype))


def _steps_back(u_BHKC: Tensor, real_BHK: Tensor, new: int) -> Callable[[int], Tensor]:
    """u_BHTC of the token so many steps before each of the last `new` ones, zeros before the first.

    Steps go over padding as if it were not there.
    """
    tokens = u_BHKC.shape[2]
    if real_BHK.all():
        return lambda steps: pad(u_BHKC, (0, 0, steps, 0))[:, :, tokens - new : tokens]
    slots_BHK = (~real_BHK).int().argsort(dim=-1, stable=True)  # of the first real token, the second, ...
    number_BHT = real_BHK.cumsum(-1)[..., -new:] - 1

    def back(steps: int) -> Tensor:
        source_BHT = slots_BHK.gather(-1, (number_BHT - steps).clamp(min=0))[..., None]
        there_BHTC = u_BHKC.gather(2, source_BHT.expand(-1, u_BHKC.shape[1], -1, u_BHKC.shape[-1]))
        return there_BHTC.masked_fill(number_BHT[..., None] < steps, 0)

    return back


def project(to: nn.Linear, x_BTD: Tensor) -> Tensor:
    """A linear map in the dtype of its input, whatever that of its weights."""
    return linear(x_BTD, to.weight.to(x_BTD.dtype), None if to.bias is None else to.bias.to(x_BTD.dtype))
