"""Which tokens of a model are special: those that its tokenizer adds, and those that its config or tokenizer names."""

from typing import Any

import torch
from torch import Tensor

from wherewhat.capture.loading.load import LoadedModel


def special_tokens(model: LoadedModel) -> tuple[list[int], list[int]]:
    """The special tokens that the tokenizer adds before and after every text."""
    around = [] if model.tokenizer is None else list(model.tokenizer("")["input_ids"])
    opening = {getattr(model.tokenizer, name, None) for name in ("bos_token_id", "cls_token_id")}
    return [id for id in around if id in opening], [id for id in around if id not in opening]


def plain_tokens(model: LoadedModel) -> Tensor:
    """ids_V of all tokens that are not special."""
    known = model.vocabulary if model.tokenizer is None else min(model.vocabulary, len(model.tokenizer))
    config = getattr(model.module, "config", None)
    stated = [id for name in ("bos_token_id", "eos_token_id", "pad_token_id") for id in _stated(config, name)]
    ids_V = torch.arange(known)
    return ids_V[~torch.isin(ids_V, torch.tensor(sorted({*stated, *_marked(model)}), dtype=torch.long))]


def opening_token(model: LoadedModel) -> int | None:
    """The token to add before a text so that its first token can be predicted: beginning-of-text, or else end-of-text.

    A config's token counts only if the tokenizer treats it as special: many configs hold unchanged defaults.
    """
    holders, marked = (model.tokenizer, model.text_config), _marked(model)
    candidates = (id for name in ("bos_token_id", "eos_token_id") for each in holders for id in _stated(each, name))
    return next((id for id in candidates if id in marked and id < model.vocabulary), None)


def _stated(holder: Any, name: str) -> list[int]:
    """The ids that a tokenizer or a config has under a name: none, one or several."""
    stated = getattr(holder, name, None)
    return [id for id in (stated if isinstance(stated, (list, tuple)) else [stated]) if isinstance(id, int)]


def _marked(model: LoadedModel) -> set[int]:
    """The tokens that the tokenizer treats as special."""
    added = getattr(model.tokenizer, "added_tokens_decoder", {})
    return {*getattr(model.tokenizer, "all_special_ids", ()), *(id for id, token in added.items() if token.special)}
