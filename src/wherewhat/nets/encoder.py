"""A net that reads a text as a whole: every token sees all tokens."""

from wherewhat.nets.trunk import Trunk


class Encoder(Trunk):
    """Say something about every token in the light of all the others."""
