"""Whatever a caller gives as a model and as texts, made ready to run: a loaded model and windows of token ids."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from wherewhat.capture.loading.load import LoadedModel, LoadSettings, load_by_name, wrap_module
from wherewhat.capture.tokens.encode import EncodedTexts, encode, own_texts
from wherewhat.errors import UserError
from wherewhat.profiling.settings import ProfileSettings
from wherewhat.scores.base import HIDDEN_STATE, POSITIONAL_PART, REPEATED_TOKENS
from wherewhat.tables.texts import Text

TextInput = str | Text | Tensor | Sequence[int] | np.ndarray  # a string, or token ids


def load_model(model: str | nn.Module | LoadedModel, tokenizer: Any, loading: LoadSettings) -> LoadedModel:
    """A model by its name, or a module as it is."""
    if isinstance(model, str):
        loaded = load_by_name(model, loading)
        return loaded if tokenizer is None else replace(loaded, tokenizer=tokenizer)
    return model if isinstance(model, LoadedModel) else wrap_module(model, tokenizer)


def encode_texts(
    model: LoadedModel, texts: Iterable[TextInput] | EncodedTexts | None, settings: ProfileSettings
) -> EncodedTexts:
    """The token ids to run, and what was cut: of the given texts, or of the task that a net was trained on."""
    if model.hears:
        _refuse_of_words(model, settings)
    if texts is None and settings.add_bos:
        raise UserError(f"{model.id} is to read texts of its own, which begin as they are; leave out --add-bos")
    if isinstance(texts, EncodedTexts):
        return texts
    if texts is None:
        return own_texts(model, settings.max_texts, settings.seed, settings.max_tokens)
    if isinstance(texts, str):
        texts = [texts]
    if isinstance(texts, Tensor) and texts.dim() < 2:
        raise UserError(
            f"the texts are one tensor of {texts.numel()} token ids, which would be as many texts of one token; "
            "put it into a list, [ids]"
        )
    return encode(
        model,
        (_string_or_ids(text, number) for number, text in enumerate(texts)),
        max_tokens=settings.max_tokens,
        max_texts=settings.max_texts,
        add_bos=settings.add_bos,
    )


def _refuse_of_words(model: LoadedModel, settings: ProfileSettings) -> None:
    """Refuse what needs words that can be repeated or moved, of a net that hears."""
    options = {
        "--positional": settings.positional is not None or settings.named(POSITIONAL_PART),
        "--random": settings.random is not None or settings.named(REPEATED_TOKENS),
        "--hidden": settings.hidden or settings.named(HIDDEN_STATE),
        "--blocks": settings.blocks is not None,
    }
    for option in (name for name, is_given in options.items() if is_given):
        raise UserError(
            f"{model.id} hears speech, of which no stretch is a word that can be repeated or moved; leave out {option}"
        )


def _string_or_ids(text: TextInput, number: int) -> str | Text | Tensor:
    """A string as it is, or token ids as a tensor, however they are written."""
    if isinstance(text, str | Text):
        return text
    try:
        ids_T = torch.as_tensor(text)
    except (TypeError, ValueError, RuntimeError):
        ids_T = torch.empty(1)  # floating point, so refused below
    if ids_T.is_floating_point() or ids_T.is_complex() or ids_T.dtype == torch.bool:
        raise UserError(
            f"text {number} is a {type(text).__name__} that does not hold whole numbers; "
            "give a string, or token ids as a list, an array or a tensor"
        )
    if ids_T.dim() == 0:
        raise UserError(
            f"text {number} is the number {text}; put the token ids of a text into a list of their own, [ids]"
        )
    return ids_T
