"""Logits that can be explained: of labels, of a token at a slot, or of the first token that a decoder gives."""

import inspect
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForSeq2SeqLM
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES

from wherewhat.capture.capture import inputs_for
from wherewhat.capture.loading.load import LoadedModel, LoadSettings, load_by_name
from wherewhat.capture.outputs.text_outputs import as_saved
from wherewhat.capture.tokens.batch import Batch
from wherewhat.errors import UserError
from wherewhat.nets.trunk import Trunk

# Classes whose decoder answers what the encoder has read.
ANSWERING = set(MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES.values())


def load_explained(name: str, loading: LoadSettings) -> LoadedModel:
    """Load a model with the head that it was saved with: for labels, for tokens, or for tokens after an encoder."""
    return load_by_name(name, loading, from_pretrained=_with_head)


def _with_head(name: str, **options: Any) -> tuple[Any, dict[str, Any]]:
    plain = {key: options[key] for key in ("revision", "local_files_only", "trust_remote_code")}
    config = AutoConfig.from_pretrained(name, **plain)
    if ANSWERING.isdisjoint(config.architectures or ()):
        return as_saved(name, **options)
    loaded: tuple[Any, dict[str, Any]] = AutoModelForSeq2SeqLM.from_pretrained(name, **options)
    return loaded


def predicts_after_encoder(model: nn.Module) -> bool:
    """Whether a decoder answers with tokens what an encoder has read."""
    return type(model).__name__ in ANSWERING


def label_logits(model: nn.Module, ids_BT: Tensor, types_BT: Tensor | None) -> Tensor:
    """logits_BC of the labels of texts, or of pairs of texts that token types tell apart."""
    if isinstance(model, Trunk):
        return model.label_logits(ids_BT)
    inputs = inputs_for(model, _batch(ids_BT))
    if types_BT is not None and "token_type_ids" in inspect.signature(model.forward).parameters:
        inputs["token_type_ids"] = types_BT
    logits_BC: Tensor = model(**inputs).logits
    return logits_BC


def token_logits(model: nn.Module, ids_BT: Tensor, slot: int) -> Tensor:
    """logits_BC of the tokens that are predicted at a slot."""
    logits_BTC: Tensor = (
        model(ids_BT) if isinstance(model, Trunk) else model(**inputs_for(model, _batch(ids_BT))).logits
    )
    return logits_BTC[:, slot]


def next_token_logits(model: nn.Module, ids_BT: Tensor) -> Tensor:
    """logits_BC of the first tokens that a decoder gives after its start token."""
    config: Any = model.config
    start = getattr(config, "decoder_start_token_id", None)
    if start is None:
        raise UserError(
            f"the config of {type(model).__name__} names no decoder_start_token_id, after which its first token comes; "
            "set it in config.json"
        )
    inputs = inputs_for(model, _batch(ids_BT))
    start_BT = torch.full((len(ids_BT), 1), start, dtype=torch.long, device=ids_BT.device)
    logits_BTC: Tensor = model(**inputs, decoder_input_ids=start_BT).logits
    return logits_BTC[:, -1]


def _batch(ids_BT: Tensor) -> Batch:
    texts = tuple(range(len(ids_BT)))
    return Batch(texts, ids_BT, torch.ones_like(ids_BT, dtype=torch.bool), (torch.tensor([0]),) * len(texts))
