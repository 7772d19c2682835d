"""A net that reads a text as a whole: every token sees all tokens."""

from torch import nn

from wherewhat.nets.trunk import Block, Trunk


class Encoder(Trunk):
    """Say something about every token in the light of all the others."""

    def new_block(self) -> nn.Module:
        return Block(self.config)
