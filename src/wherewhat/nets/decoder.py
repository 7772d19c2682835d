"""A net that reads from left to right: every token sees itself and what came before."""

from torch import nn

from wherewhat.nets.trunk import Block, Trunk


class Decoder(Trunk):
    """Predict what comes next. Handed a `Past`, it reads a text in pieces."""

    def new_block(self) -> nn.Module:
        return Block(self.config)
