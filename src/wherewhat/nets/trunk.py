"""The Transformer that all kinds of nets share: token embedding, blocks, final norm, output."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor, nn

from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.drawing import draw_uniform
from wherewhat.errors import UserError
from wherewhat.nets.config import NetConfig
from wherewhat.nets.past import Past
from wherewhat.nets.readout import Readout
from wherewhat.nets.subsampling import Subsampling

LABELLER = 0.02  # initial standard deviation of the classification layer


class Trunk(nn.Module, ABC):
    """A small Transformer without dropout whose encoding alone knows about positions.

    A kind of net says what its blocks are (`new_block`), and which way they look (`config.causal`).

    Its encodings live here rather than in the blocks, so that one that all blocks share is stored once.
    All weights are drawn from `generator`; the trunk's before the encodings', so that nets with the same seed
    differ only in their encoding (and, where that asks for it, in how wide their tokens start). Last come the layer
    that tells labels and the read-out, where there are any.
    """

    def __init__(self, config: NetConfig, *, generator: torch.Generator) -> None:
        super().__init__()
        self.config = config
        # PyTorch draws weights from its global generator, which is left as it was; ours are drawn below. (Layers on the
        # device "meta" would have none, but importing what PyTorch needs for that takes longer than drawing them.)
        with torch.random.fork_rng(devices=[]), torch.device("cpu"):
            self.tokens = nn.Embedding(config.vocabulary, config.width)  # of no use to a net that hears
            self.hearing = Subsampling(config) if config.features else None
            self.blocks = nn.ModuleList(self.new_block() for _ in range(config.layers))
            self.norm = nn.LayerNorm(config.width) if config.block == "pre_norm" else nn.Identity()
            self.head = nn.Linear(config.width, config.vocabulary)
        first = config.make_encoding()
        more = 0 if first.shared else config.layers - 1
        others = [config.make_encoding() for _ in range(more)]
        for other in others:
            other.join(first)
        self.encodings = nn.ModuleList([first, *others])
        self.labeller = _labeller(config) if config.labels else None
        with torch.random.fork_rng(devices=[]), torch.device("cpu"):
            self.readout = Readout(config) if config.readout_queries else None
        self.reset_parameters(generator)

    @abstractmethod
    def new_block(self) -> nn.Module:
        """One more block, called with the stream, its encoding, the context and, in pieces, its memory."""

    def reset_parameters(self, generator: torch.Generator) -> None:
        """Draw all weights: as PyTorch does, but tokens from N(0, token_sigma²) and everything from `generator`."""
        hearing = () if self.hearing is None else self.hearing.modules()
        for module in (*self.blocks.modules(), self.norm, self.head, *hearing):
            if isinstance(module, nn.Linear | nn.Conv1d | nn.Conv2d):
                draw_uniform(module.weight, module.bias, generator)
            elif isinstance(module, nn.LayerNorm | nn.BatchNorm1d):
                module.reset_parameters()
        sigma = self.config.token_sigma or self.encoding(0).token_sigma
        nn.init.normal_(self.tokens.weight, std=sigma, generator=generator)
        for block in range(len(self.encodings)):
            self.encoding(block).reset_parameters(generator)
        if self.labeller is not None:
            _draw(self.labeller, generator)
        if self.readout is not None:
            self.readout.reset_parameters(generator)

    def add_label_layer(self, labels: Sequence[str], *, generator: torch.Generator) -> None:
        """Make the net a classifier with these labels: add a new, untrained layer on the mean hidden state."""
        self.config = replace(self.config, labels=tuple(labels))
        layer = _labeller(self.config)
        _draw(layer, generator)
        self.labeller = layer.to(self.tokens.weight)

    def encoding(self, block: int) -> Encoding:
        """The encoding of a block: its own, or the one that all share."""
        return cast(Encoding, self.encodings[block % len(self.encodings)])

    def forward(self, ids_BT: Tensor, real_BT: Tensor | None = None, past: Past | None = None) -> Tensor:
        """logits_BTV for every token. `real_BT` is False for padding, left or right."""
        logits_BTV: Tensor = self.head(self.hidden(ids_BT, real_BT, past))
        return logits_BTV

    def hidden(
        self, ids_BT: Tensor, real_BT: Tensor | None = None, past: Past | None = None, *, first: int = 0
    ) -> Tensor:
        """x_BTD after the final norm: what `head` reads. With a `past`, only the new tokens are given and read.

        Positions are counted from `first`.
        """
        self._check(ids_BT, real_BT)
        return self.hidden_of(self.embedded(ids_BT, real_BT), real_BT, past, first=first)

    def last_hidden(self, ids_BT: Tensor, *, first: int = 0) -> Tensor:
        """x_BD of the last token; the last block computes nothing for the others but their keys and values."""
        self._check(ids_BT, None)
        last_Q = torch.tensor([ids_BT.shape[1] - 1], device=ids_BT.device)
        return self.hidden_of(self.embedded(ids_BT), first=first, rows_Q=last_Q)[:, 0]

    def embedded(self, ids_BT: Tensor, real_BT: Tensor | None = None) -> Tensor:
        """x_BTD, what blocks read: embeddings of token ids, or of the frames_BTG of a net that hears."""
        x_BTD: Tensor = self.tokens(ids_BT) if self.hearing is None else self.hearing(ids_BT, real_BT)
        return x_BTD

    def hidden_of(
        self,
        x_BTD: Tensor,
        real_BT: Tensor | None = None,
        past: Past | None = None,
        *,
        first: int = 0,
        rows_Q: Tensor | None = None,
    ) -> Tensor:
        """The same for any vectors x_BTD in place of the embeddings of tokens; with `rows_Q`, in these slots alone."""
        with nullcontext() if past is None else past.unless_it_fails():
            context = self._context(x_BTD, real_BT, past, first)
            for number, block in enumerate(self.blocks):
                encoding = self.encoding(number)
                x_BTD = encoding.on_tokens(x_BTD, context.query_positions_BQ, number)
                wanted_Q = rows_Q if number == len(self.blocks) - 1 else None
                x_BTD = block(x_BTD, encoding, context, None if past is None else past.block(number), wanted_Q)
            normed_BTD: Tensor = self.norm(x_BTD)
            return normed_BTD

    def mean_hidden(self, ids_BT: Tensor, real_BT: Tensor | None = None) -> Tensor:
        """x_BD, the mean of the hidden states over the real tokens of each sequence."""
        if real_BT is None or bool(real_BT.all()):
            return self.hidden(ids_BT).mean(1)
        hidden_BTD = self.hidden(ids_BT, real_BT)
        return (hidden_BTD * real_BT[..., None]).sum(1) / real_BT.sum(1, keepdim=True)

    def label_logits(self, ids_BT: Tensor, real_BT: Tensor | None = None) -> Tensor:
        """logits_BA of the labels, read from the mean of the hidden states over real tokens."""
        if self.labeller is None:
            raise UserError(
                "this net has no labels, so it cannot judge a text; fine-tune it on a question, "
                "or name a net that was trained on one"
            )
        logits_BA: Tensor = self.labeller(self.mean_hidden(ids_BT, real_BT))
        return logits_BA

    def readout_logits(self, ids_BT: Tensor, real_BT: Tensor | None = None, *, first: int = 0) -> Tensor:
        """logits_BRC of every query of the read-out."""
        if self.readout is None:
            raise UserError("this net has no read-out by queries; give readout_queries and readout_classes")
        logits_BRC: Tensor = self.readout(self.hidden(ids_BT, real_BT, first=first), real_BT)
        return logits_BRC

    def _context(self, x_BTD: Tensor, real_BT: Tensor | None, past: Past | None, first: int) -> Context:
        new, causal, device = x_BTD.shape[1], self.config.causal, x_BTD.device
        if past is None:
            context = Context.of(new, causal=causal, real_BK=real_BT, device=device)
        elif causal:
            new_BT = torch.ones(x_BTD.shape[:2], dtype=torch.bool, device=device) if real_BT is None else real_BT
            real_BK = past.add(new_BT)
            context = Context.of(real_BK.shape[1], causal=causal, real_BK=real_BK, last=new, device=device)
        else:
            raise UserError(
                f"only a decoder reads in pieces and this net is of kind {self.config.kind}; leave `past` out"
            )
        if self.config.chunk and real_BT is not None and not bool(real_BT[:, 0].all()):
            raise UserError("a net that reads in chunks takes padding after the text, not before it; pad on the right")
        positions_BK = context.key_positions_BK + first
        return replace(context, one_reading=True, key_positions_BK=positions_BK, chunk=self.config.chunk)

    def _check(self, ids_BT: Tensor, real_BT: Tensor | None) -> None:
        if self.config.features:
            self._check_frames(ids_BT, real_BT)
            return
        if ids_BT.dim() != 2 or ids_BT.numel() == 0:
            raise UserError(f"a net reads token ids [batch, tokens], at least one; got shape {list(ids_BT.shape)}")
        low, high = (int(end) for end in ids_BT.aminmax())
        if low < 0 or high >= self.config.vocabulary:
            raise UserError(
                f"token ids must lie in 0..{self.config.vocabulary - 1} and go from {low} to {high}; "
                "use the vocabulary that the net was built for"
            )
        if real_BT is not None and (real_BT.shape != ids_BT.shape or real_BT.dtype != torch.bool):
            raise UserError(
                f"real_BT must be bool and shaped like the ids {list(ids_BT.shape)}; "
                f"got {real_BT.dtype} {list(real_BT.shape)}"
            )

    def _check_frames(self, frames_BTG: Tensor, real_BT: Tensor | None) -> None:
        features = self.config.features
        if frames_BTG.dim() != 3 or frames_BTG.shape[-1] != features or frames_BTG.numel() == 0:
            raise UserError(
                f"this net hears frames [batch, tokens, {features}], at least one token; "
                f"got shape {list(frames_BTG.shape)}"
            )
        if real_BT is not None and (real_BT.shape != frames_BTG.shape[:2] or real_BT.dtype != torch.bool):
            raise UserError(
                f"real_BT must be bool and shaped like the tokens {list(frames_BTG.shape[:2])}; "
                f"got {real_BT.dtype} {list(real_BT.shape)}"
            )


def _labeller(config: NetConfig) -> nn.Linear:
    """The layer that reads a label from the mean of the hidden states, without numbers yet."""
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, config.width, len(config.labels))
    return layer


def _draw(labeller: nn.Linear, generator: torch.Generator) -> None:
    nn.init.normal_(labeller.weight, std=LABELLER, generator=generator)
    nn.init.zeros_(labeller.bias)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode; on leaving the block, every module is in the mode it was in."""
    training = [module for module in model.modules() if module.training]
    try:
        model.eval()
        yield
    finally:
        for module in training:
            module.training = True
