"""Attribute an output of a model to the tokens and positions of a text."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from wherewhat.attribution.explain import METHODS, Watched, explain
from wherewhat.attribution.result import AGGREGATES, Attribution, ExplainedOutput
from wherewhat.attribution.sources import watched_net
from wherewhat.capture.loading.load import LoadedModel, LoadSettings, load_by_name
from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.nets.trunk import Trunk


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
