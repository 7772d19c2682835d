"""Attribute an output of a model to the tokens and positions of a text."""


from torch import Tensor, nn

from wherewhat.attribution.result import Attribution
from wherewhat.capture.loading.load import LoadedModel


def attribute(
    model: str | nn.Module | LoadedModel,
    text: str | Tensor,
    *,
    target: str | int = "next",
    method: str = "pa-lrp",
    aggregate: str = "signed",
) -> Attribution:
    """Which tokens and which positions an output is made of."""
    raise NotImplementedError
