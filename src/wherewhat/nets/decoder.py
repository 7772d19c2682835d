"""A net that reads from left to right: every token sees itself and what came before."""

from wherewhat.nets.trunk import Trunk


class Decoder(Trunk):
    """Predict what comes next. Handed a `Past`, it reads a text in pieces."""
