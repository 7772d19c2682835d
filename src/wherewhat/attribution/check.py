"""Check an attribution: where the relevance of an output came from and went, node by node."""

from typing import Any

from torch import nn

from wherewhat.attribution.attribute import TextInput, attribute
from wherewhat.attribution.explain import Ledger
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.errors import UserError


def check_attribution(
    model: str | nn.Module | LoadedModel,
    text: TextInput,
    *,
    target: str | int = "",
    method: str = "pa-lrp",
    tokenizer: Any = None,
) -> Ledger:
    """Attribute an output, and refuse the result unless everything that went in came out again.

    >>> check_attribution("tiny", [42, 28, 31, 22, 39, 23, 31, 24, 4, 2, 6, 10, 10, 7, 9, 7, 16]).rest < 1e-3
    True
    """
    relevance = attribute(model, text, target=target, method=method, tokenizer=tokenizer).relevance
    if not relevance.ledger.balances(relevance.dtype):
        raise UserError(f"relevance is lost: {relevance.ledger.rest:.2g} of {relevance.ledger.logit:.2g} is missing")
    return relevance.ledger
