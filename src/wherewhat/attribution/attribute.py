"""Attribute an output of a model to the tokens and positions of a text."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from wherewhat.attribution.explain import METHODS, explain
from wherewhat.attribution.outputs import OutputChoice, choose_output
from wherewhat.attribution.relevance import Watched
from wherewhat.attribution.result import AGGREGATES, Attribution, ExplainedOutput
from wherewhat.attribution.rollout import mean_attention
from wherewhat.attribution.sources import watched_net, watched_transformer
from wherewhat.capture.hooks.position_sources import other_embeddings, token_embedding
from wherewhat.capture.loading.load import LoadedModel, LoadSettings, wrap_module
from wherewhat.capture.outputs.explained import load_explained
from wherewhat.capture.tokens.batch import generator_of
from wherewhat.capture.tokens.encode import token_names
from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.nets.trunk import Trunk

TextInput = str | tuple[str, str] | Tensor | Sequence[int]  # a text, a pair of texts, or token ids


def attribute(
    model: str | nn.Module | LoadedModel,
    text: TextInput,
    *,
    target: str | int = "",
    method: str = "pa-lrp",
    aggregate: str = "signed",
    tokenizer: Any = None,
    seed: int = 0,
) -> Attribution:
    """Which tokens and which positions of a text an output of a model is made of.

    `target` is what to explain: "next" (the likeliest next token), "label" (the likeliest label), "mask" (the likeliest
    token in place of the mask), a token or a label by name or number; by default what the model predicts. `seed` is for
    the method "random".

    >>> ids = [42, 28, 31, 22, 39, 23, 31, 24, 4, 2, 6, 10, 10, 7, 9, 7, 16]  # "tiny" goes back 16 slots: to z
    >>> attribution = attribute("tiny", ids)
    >>> attribution.output.name, [attribution.tokens[slot] for slot in attribution.scores_T.topk(2).indices]
    ('z', ['z', '16'])
    """
    look_up("method", method, METHODS)
    look_up("aggregate", aggregate, AGGREGATES)
    loaded = open_model(model, tokenizer)
    choice = choose_output(loaded, text, target)
    ids_T = choice.ids_BT[0]
    generator = generator_of(ids_T, seed)
    relevance = explain(watched(loaded, choice), choice.index, method=method, generator=generator)
    probability_C = relevance.logits_C.double().softmax(-1)
    output = ExplainedOutput(
        kind=choice.kind,
        name=choice.name_of(relevance.index),
        index=relevance.index,
        slot=choice.slot,
        logit=relevance.logit,
        probability=float(probability_C[relevance.index]),
    )
    return Attribution(
        tuple(token_names(loaded, ids_T)), tuple(ids_T.tolist()), output, relevance, aggregate, loaded.notes
    )


def open_model(
    model: str | nn.Module | LoadedModel, tokenizer: Any = None, loading: LoadSettings | None = None
) -> LoadedModel:
    """A model by its name, with the head it was saved with; or one that is already in memory. At least in float32."""
    if isinstance(model, nn.Module):
        return in_float32(wrap_module(model, tokenizer))
    loaded = load_explained(model, loading or LoadSettings()) if isinstance(model, str) else model
    return in_float32(loaded if tokenizer is None else replace(loaded, tokenizer=tokenizer))


def in_float32(model: LoadedModel) -> LoadedModel:
    """The same model, or a copy in float32 of one in half precision, whose small differences would be lost."""
    dtype = next(model.module.parameters()).dtype
    if dtype not in (torch.float16, torch.bfloat16):
        return model
    name = str(dtype).removeprefix("torch.")
    try:
        module = deepcopy(model.module).float()
    except (RuntimeError, MemoryError) as error:
        raise UserError(
            f"{model.id} is in {name}, and a copy in float32, which relevance needs, does not fit into memory; "
            "explain a smaller model"
        ) from error
    note = f"{model.id} is in {name}; its relevance was computed by a copy in float32."
    return replace(model, module=module, notes=(*model.notes, note))


def watched(model: LoadedModel, choice: OutputChoice) -> Watched:
    """A model with everything that it takes to explain an output."""
    module, ids_BT = model.module, choice.ids_BT
    attention = partial(mean_attention, model, ids_BT)
    if isinstance(module, Trunk):
        return Watched(
            module, module.tokens, choice.logits, partial(watched_net, module), (), len(ids_BT[0]), attention
        )
    positions, others = partial(watched_transformer, module), other_embeddings(module)
    return Watched(module, token_embedding(module), choice.logits, positions, others, len(ids_BT[0]), attention)
