"""Let a model write texts of its own, where nobody gave it any."""

import torch
from torch import Tensor

from wherewhat.capture.capture import evaluating, failing_in_a_sentence, first_device
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.outputs.language_model import NEXT, plain_tokens, speaks, special_tokens
from wherewhat.errors import UserError
from wherewhat.nets.trunk import Trunk


def written(model: LoadedModel, count: int, tokens: int, *, seed: int) -> list[Tensor]:
    """So many texts of so many tokens, each drawn from what the model says of the next token.

    A text begins as the tokenizer begins one, or with a token drawn at random. Of a model that does not predict the
    next token there are none, and that is said.
    """
    if isinstance(model.module, Trunk) or speaks(model) != NEXT:  # our nets have test sentences instead
        raise UserError(
            f"there is no text for {model.id}, and it does not write any; give --text FILE (one text a line)"
        )
    generator = torch.Generator().manual_seed(seed)
    ids_NT = _beginnings(model, count, generator)
    past, new_NT = None, ids_NT
    with failing_in_a_sentence(model.module), torch.no_grad(), evaluating(model.module):
        while ids_NT.shape[1] < tokens:
            given = new_NT.to(first_device(model.module))
            said = model.module(input_ids=given, past_key_values=past, use_cache=True)
            past, chances_NV = said.past_key_values, said.logits[:, -1].float().softmax(-1).cpu()
            new_NT = torch.multinomial(chances_NV, 1, generator=generator)
            ids_NT = torch.cat([ids_NT, new_NT], 1)
    return list(ids_NT)


def _beginnings(model: LoadedModel, count: int, generator: torch.Generator) -> Tensor:
    opening, _ = special_tokens(model)
    if opening:
        return torch.tensor([opening] * count)
    plain_V = plain_tokens(model)
    return plain_V[torch.randint(len(plain_V), (count, 1), generator=generator)]
