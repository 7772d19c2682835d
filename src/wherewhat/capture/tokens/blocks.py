"""Cut a text into blocks of tokens that move as one: its sentences or its lines."""

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


def ends_line(token: str) -> bool:
    """Whether a line ends with this token."""
    return "\n" in token


ENDINGS: dict[str, Callable[[str], bool]] = {"sentence": ends_sentence, "line": ends_line}


def blocks_by(model: LoadedModel, ids: Tensor, kind: str, first: int = 0) -> Tensor:
    """The sentences or lines of a text as (blocks, 2): from the first slot to before the second.

    What stands before slot `first` stays where it is and belongs to none.
    """
    if model.tokenizer is None:
        raise UserError(
            f"{model.no_tokenizer}, so where a {kind} ends cannot be told; give --blocks FILE with the slots"
        )
    ends = [number + 1 for number, id in enumerate(ids.tolist()) if ENDINGS[kind](model.tokenizer.decode([id]))]
    edges = sorted({first, *(end for end in ends if end > first), max(first, len(ids))})
    return torch.tensor(list(pairwise(edges)), dtype=torch.long).view(-1, 2)
