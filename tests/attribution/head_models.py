"""Tiny random models of every family with the head whose output is explained, and a tokenizer for their numbers."""

from typing import Any

import torch
import transformers
from families import COMMON, FAMILIES, Family
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    PreTrainedModel,
)

from wherewhat.capture.loading.load import LoadedModel

MASK = 7
IDS = [5, 9, 12, 30, MASK, 44, 21, 9, 60]
BY_NAME = {family.name: family for family in FAMILIES}


class NumberTokenizer:
    """As much of a tokenizer as an explanation asks for: tokens are numbers."""

    mask_token_id, mask_token, unk_token_id, model_max_length = MASK, "[MASK]", None, 10**9
    all_special_ids: tuple[int, ...] = ()

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return [str(id) for id in ids]


def head_of(family: Family) -> Any:
    """The auto class of a head: a classifier for XLNet, which sees the token that it would have to predict."""
    if "cross" in family.parts:
        return AutoModelForSeq2SeqLM
    if family.name == "xlnet":
        return AutoModelForSequenceClassification
    return AutoModelForMaskedLM if "encoder" in family.parts else AutoModelForCausalLM


def with_head(family: Family, **more: Any) -> LoadedModel:
    """A family in float64 with weights and biases far from where they start."""
    sizes = {key: value for key, value in {**COMMON, **family.sizes, **more}.items() if value is not None}
    model = head_of(family).from_config(getattr(transformers, family.config)(**sizes))
    return loaded(family.name, model, spread=family.spread)


def other(name: str, auto: Any, **sizes: Any) -> LoadedModel:
    """A family that is not in the list."""
    return loaded(name, auto.from_config(AutoConfig.for_model(name, **sizes)))


def loaded(name: str, model: PreTrainedModel, *, spread: float = 0.2) -> LoadedModel:
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(spread * noise if parameter.dim() > 1 else parameter + 0.1 * noise)
    return LoadedModel(name, model.double().eval(), NumberTokenizer())
