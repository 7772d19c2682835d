"""The conformer: an encoder with self-attention and a convolution over neighbours in every block."""

import torch
from torch import Tensor, nn
from torch.nn.functional import conv1d, glu, linear, pad, silu

from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.none import NoPosition
from wherewhat.errors import UserError
from wherewhat.nets.attention import SelfAttention
from wherewhat.nets.blocks import at_rows, mlp
from wherewhat.nets.config import NetConfig
from wherewhat.nets.past import Memory
from wherewhat.nets.trunk import Trunk


class Conformer(Trunk):
    """An encoder with attention and convolution in every block (arXiv 2005.08100).

    Its convolution already feels order, so that the encoding "none" is no bag of tokens here. The two published
    encodings are "rope" (arXiv 2107.05907) and "transformer_xl" with the options `layout="interleaved"` and
    `bias_init="zeros"`. It has no dropout, as all our nets; what it has of its own is batch norm, which makes it the
    one kind of net that reads differently while it learns: call `eval()` before reading, as a loaded model is. Queries
    and keys are rotated after their projections, unless the config says `pre_projection`.
    """

    def new_block(self) -> nn.Module:
        return ConformerBlock(self.config)


class ConformerBlock(nn.Module):
    """One layer: half an MLP step, self-attention, convolution, another half MLP step, norm."""

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        width, hidden = config.width, config.mlp * config.width
        self.first = mlp(width, hidden, nn.SiLU()) if hidden else None
        self.attention_norm = nn.LayerNorm(width)
        attention = PreProjectionAttention if config.pre_projection else SelfAttention
        self.attention = attention(width, config.heads, bias=True)
        self.convolution = Convolution(width, config.kernel)
        self.second = mlp(width, hidden, nn.SiLU()) if hidden else None
        self.norm = nn.LayerNorm(width)

    def forward(
        self,
        x_BTD: Tensor,
        encoding: Encoding,
        context: Context,
        memory: Memory | None = None,
        rows_Q: Tensor | None = None,
    ) -> Tensor:
        x_BTD = x_BTD if self.first is None else x_BTD + self.first(x_BTD) / 2
        x_BTD = x_BTD + self.attention(self.attention_norm(x_BTD), encoding, context, memory)
        x_BTD = x_BTD + self.convolution(x_BTD, context.real_BQ, context.chunk)
        x_BTD = x_BTD if self.second is None else x_BTD + self.second(x_BTD) / 2
        normed_BTD: Tensor = self.norm(x_BTD)
        return at_rows(normed_BTD, rows_Q)  # the convolution needs neighbours, and batch norm all tokens


class PreProjectionAttention(SelfAttention):
    """Self-attention whose input is rotated before queries and keys are projected from it: a warning example.

    Logits are then no function of the distance between query and key, as the projections stand between both rotations.
    Some published checkpoints were trained so. Values are projected from the input as it is.
    """

    def forward(
        self,
        x_BTD: Tensor,
        encoding: Encoding,
        context: Context,
        memory: Memory | None = None,
        rows_Q: Tensor | None = None,
    ) -> Tensor:
        x_BHTC = x_BTD.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        inputs = (*encoding.on_query_key(x_BHTC, x_BHTC, context), x_BHTC)
        weights, biases = self.qkv.weight.chunk(3), self.qkv.bias.chunk(3)
        q_BHTC, k_BHTC, v_BHTC = (
            linear(each_BHTC.transpose(1, 2).flatten(2), weight, bias).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for each_BHTC, weight, bias in zip(inputs, weights, biases, strict=True)
        )
        if rows_Q is not None:
            q_BHTC, context = q_BHTC[:, :, rows_Q], context.rows(rows_Q)
        out_BHTC = self.attend(NoPosition(), q_BHTC, k_BHTC, v_BHTC, context)
        mixed_BTD: Tensor = self.out(out_BHTC.transpose(1, 2).flatten(2))
        return mixed_BTD


class Convolution(nn.Module):
    """Mix each channel with itself over the `kernel` tokens around: norm, gate, convolve, batch norm, swish, mix.

    What lies beyond the text counts as 0, padding too, so that padding changes nothing that is real, also while
    learning. In chunks, so does what comes after a token's chunk. No biases beside the norms'.
    """

    def __init__(self, width: int, kernel: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.gate = nn.Linear(width, 2 * width, bias=False)  # one token at a time: a convolution over 1
        self.near = nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width, bias=False)
        self.batch_norm = RealBatchNorm(width)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x_BTD: Tensor, real_BT: Tensor | None = None, chunk: int = 0) -> Tensor:
        if self.training and x_BTD.shape[:2].numel() == 1:
            raise UserError("a conformer learns from at least two tokens at once, for its batch norm, and got one")
        gated_BTD = glu(self.gate(self.norm(x_BTD)))
        if real_BT is not None:
            gated_BTD = gated_BTD.masked_fill(~real_BT[:, :, None], 0)
        near_BDT = self.near(gated_BTD.mT) if not 0 < chunk < x_BTD.shape[1] else self._in_chunks(gated_BTD.mT, chunk)
        mixed_BTD: Tensor = self.out(silu(self.batch_norm(near_BDT, real_BT)).mT)
        return mixed_BTD

    def _in_chunks(self, x_BDT: Tensor, chunk: int) -> Tensor:
        """The convolution of each chunk after what came before it, and before nothing."""
        reach, tokens = self.near.kernel_size[0] // 2, x_BDT.shape[-1]
        padded_BDT = pad(x_BDT, (reach, -tokens % chunk))
        pieces_BDNT = padded_BDT.unfold(-1, reach + chunk, chunk)  # every chunk with what is before it
        texts, width, chunks, _ = pieces_BDNT.shape
        apart = pad(pieces_BDNT.transpose(1, 2).flatten(0, 1), (0, reach))
        near = conv1d(apart, self.near.weight, groups=width)
        joined_BDT: Tensor = near.unflatten(0, (texts, chunks)).transpose(1, 2).flatten(2)
        return joined_BDT[..., :tokens]


class RealBatchNorm(nn.BatchNorm1d):
    """Batch norm whose means and variances are of real tokens alone."""

    def forward(self, x_BDT: Tensor, real_BT: Tensor | None = None) -> Tensor:
        if not self.training or real_BT is None:
            return super().forward(x_BDT)
        x_BTD = x_BDT.mT
        normed_BTD = torch.zeros_like(x_BTD)
        normed_BTD[real_BT] = super().forward(x_BTD[real_BT])
        return normed_BTD.mT
