"""A text as one vector: the mean of a model's last hidden states over its own tokens."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from wherewhat.capture.capture import check_finite, evaluating, failing_in_a_sentence, first_device, inputs_for
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.outputs.language_model import body, names_tokens, opener
from wherewhat.capture.tokens.batch import Batch
from wherewhat.capture.tokens.untruncated import alike, encode_whole, opened, read_whole, too_long
from wherewhat.errors import UserError
from wherewhat.nets.trunk import Trunk


def mean_states(model: LoadedModel, texts: Sequence[str]) -> np.ndarray:
    """x_ND in float64: the mean of the last hidden states over tokens that are neither padding nor special."""
    if not has_states(model):
        raise UserError(
            f"{model.id} is an encoder-decoder, and which of its states stand for a text is not settled; "
            "name a model of one stack"
        )
    found = read_whole(model, [(text,) for text in texts])
    for number, one in enumerate(found):
        if not one.own_T.any():
            raise UserError(f"text {number} holds nothing but special tokens; take it out")
    module, by_text = body(model).module, dict[int, np.ndarray]()
    with torch.no_grad(), evaluating(module):
        for batch in alike(found):
            hidden_BTD = _hidden(module, batch.to(first_device(module))).double().cpu()
            check_finite(hidden_BTD, f"the hidden states of {model.id}")
            for hidden_TD, number in zip(hidden_BTD, batch.texts, strict=True):
                by_text[number] = hidden_TD[found[number].own_T].mean(0).numpy()
    return np.stack([by_text[number] for number in range(len(found))])


def has_states(model: LoadedModel) -> bool:
    """Whether it is settled which states of a model stand for a text: those of the only stack that it has."""
    return not getattr(getattr(model.module, "config", None), "is_encoder_decoder", False)


def fits(model: LoadedModel, texts: tuple[str, ...]) -> bool:
    """Whether a model can read one text, or two together, whole: with special tokens, within what it was made for."""
    one = encode_whole(model, texts)
    # Where tokens are asked for, one more may stand before the text.
    return not too_long(model, opened(one, opener(model)) if names_tokens(model.module) else one)


def _hidden(model: nn.Module, batch: Batch) -> Tensor:
    """hidden_BTD after the last layer."""
    with failing_in_a_sentence(model):
        if isinstance(model, Trunk):
            return model.hidden(batch.ids_BT)
        hidden_BTD: Tensor = model(**inputs_for(model, batch)).last_hidden_state
    return hidden_BTD
