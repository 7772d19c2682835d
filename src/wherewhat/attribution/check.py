"""Check an attribution: where the relevance of an output came from and went, node by node."""

from typing import Any

from torch import nn

from wherewhat.attribution.attribute import TextInput, attribute
from wherewhat.attribution.ledger import Ledger
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

    >>> ids = [42, 28, 31, 22, 39, 23, 31, 24, 4, 2, 6, 10, 10, 7, 9, 7, 16]
    >>> ledger = check_attribution("tiny", ids)  # doctest: +ELLIPSIS
    logit                      11.59
      tokens                   3.822
      rotation, layer 0       ...
    >>> ledger.balances()
    True
    """
    ledger = attribute(model, text, target=target, method=method, tokenizer=tokenizer).relevance.ledger
    if ledger is None:
        raise UserError(f"the method {method} passes nothing back that could be added up; use pa-lrp")
    print(ledger)  # noqa: T201  # that is what it is for
    return ledger
