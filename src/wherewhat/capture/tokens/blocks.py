"""Split a text into blocks of tokens that are moved together: its sentences or its lines."""

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.errors import UserError


def ends_sentence(token: str) -> bool:
    """Whether a sentence ends with this token.

    >>> ends_sentence(" end."), ends_sentence("3.5"), ends_sentence('?"')
    (True, False, True)
    """
    return token.rstrip("\"'”’»)]* \n\t").endswith((".", "!", "?", "…", "。", "！", "？"))


ENDINGS: dict[str, Callable[[str], bool]] = {"sentence": ends_sentence, "line": lambda token: "\n" in token}


def blocks_by(model: LoadedModel, ids: Tensor, kind: str, first: int = 0) -> Tensor:
    """The sentences or lines of a text as (blocks, 2): first slot and one past the last.

    Tokens before slot `first` belong to no block and are never moved.
    """
    if model.tokenizer is None:
        raise UserError(
            f"{model.no_tokenizer}, so the end of a {kind} cannot be found; give --blocks FILE with the slots"
        )
    ends = [number + 1 for number, id in enumerate(ids.tolist()) if ENDINGS[kind](model.tokenizer.decode([id]))]
    edges = sorted({first, *(end for end in ends if end > first), max(first, len(ids))})
    return torch.tensor(list(pairwise(edges)), dtype=torch.long).view(-1, 2)
