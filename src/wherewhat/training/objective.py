"""What a net is to become good at: a loss to step down from, and a measure of how far it has come."""

from abc import ABC, abstractmethod

from torch import Tensor

from wherewhat.nets.trunk import Trunk


class Objective(ABC):
    """The one thing in which runs differ for the training loop."""

    @abstractmethod
    def loss(self, net: Trunk, step: int) -> Tensor:
        """By how many nats the net is wrong at a step. It follows from net and step alone: a run can be resumed."""

    @abstractmethod
    def evaluate(self, net: Trunk) -> dict[str, float]:
        """How good the net is on what it never learns from, under the names that the curve will have."""
