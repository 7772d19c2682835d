"""Sequences of random tokens in which a block is said twice."""

from dataclasses import dataclass

import torch
from torch import Tensor

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.outputs.language_model import plain_tokens, special_tokens
from wherewhat.errors import UserError
from wherewhat.profiling.repeated_tokens.repeating import LEAST, Repeating


@dataclass(frozen=True)
class Sequences:
    """What a model reads, and where in it the two blocks stand."""

    ids: list[Tensor]
    first: int  # token of the first block
    length: int  # of a block

    @property
    def stop(self) -> int:
        """The first token behind the second block."""
        return self.first + 2 * self.length


def draw_sequences(model: LoadedModel, repeating: Repeating) -> Sequences:
    """Draw blocks in which no token comes twice, as long as was asked for or as fit; special tokens stand around them.

    A token that came twice in a block would have two copies to look back at, and two followers.
    """
    known_V = plain_tokens(model)
    before, after = special_tokens(model)
    room = ((model.context or 2**31) - len(before) - len(after)) // 2
    length = min(repeating.length, room, len(known_V))
    if length < LEAST:
        raise UserError(
            f"{model.id} holds {model.context} tokens and knows {len(known_V)} that are not special; "
            f"a block of at least {LEAST} of them has to fit in twice, so leave --random out"
        )
    generator = torch.Generator().manual_seed(repeating.seed)
    around = torch.tensor(before, dtype=torch.long), torch.tensor(after, dtype=torch.long)
    ids = []
    for _ in range(repeating.sequences):
        block_T = known_V[torch.randperm(len(known_V), generator=generator)[:length]]
        ids.append(torch.cat((around[0], block_T, block_T, around[1])))
    return Sequences(ids, len(before), length)
