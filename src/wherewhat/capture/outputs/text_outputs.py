"""Load a model with the head it was saved with, and read its labels or its mean hidden states for texts."""

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSequenceClassification,
    AutoModelForTextEncoding,
    PreTrainedModel,
)
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES,
    MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES,
)

from wherewhat.capture.capture import as_user_errors, check_finite, first_device, inputs_for
from wherewhat.capture.loading.load import LoadedModel, LoadSettings, load_by_name
from wherewhat.capture.outputs.language_model import (
    ENDINGS,
    MASKED,
    NEXT,
    NoTokenHeadError,
    body,
    names_tokens,
    prediction_kind,
    with_token_head,
)
from wherewhat.capture.tokens.full_texts import (
    TOKENS,
    encode_full_text,
    encode_full_texts,
    equal_length_batches,
    too_long,
    with_opening,
)
from wherewhat.capture.tokens.special_tokens import opening_token
from wherewhat.errors import UserError
from wherewhat.nets.trunk import Trunk, evaluating

LABELS, STATES = "labels", "states"  # kinds of output, beside MASKED and NEXT
OUTPUT_KINDS = {
    LABELS: "its labels for a question",
    MASKED: "its loss on masked tokens",
    NEXT: "its loss on the next token",
    STATES: "its hidden states: it has no head to read",
}
CLASSIFIER = "ForSequenceClassification"  # suffix of transformers' classes that label whole texts
ENCODERS = {name for name in MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES.values() if name.endswith("EncoderModel")}


def load_reader(name: str, loading: LoadSettings) -> LoadedModel:
    """Load the model called `name` with the head that it was saved with: for labels, for tokens, or none.

    A head that can predict neither is left out.
    """
    return load_by_name(name, loading, from_pretrained=as_saved)


def output_kind(model: LoadedModel) -> str:
    """What a model can output, by the head that it has: one of OUTPUT_KINDS."""
    if isinstance(model.module, Trunk):
        if model.module.config.labels:
            return LABELS
        if model.tokenizer is None:
            raise UserError(f"{model.id} learnt tasks and reads no words; name a language model")
        return prediction_kind(model)
    if _classifies(model.module) and not _is_regression(model.module):
        return LABELS
    if getattr(getattr(model.module, "config", None), "is_encoder_decoder", False):
        raise UserError(
            f"{model.id} is an encoder-decoder without labels, which is not supported here; "
            "name a model with one stack, or a classifier"
        )
    try:
        return prediction_kind(model)
    except NoTokenHeadError:
        return STATES


def why_only_states(model: LoadedModel) -> str | None:
    """Why only the hidden states of a transformers model are read, as a sentence; None where they are not."""
    if _classifies(model.module):
        if not _is_regression(model.module):
            return None
        reason = "its head predicts a number instead of one of several labels"
    else:
        try:
            prediction_kind(model)
        except NoTokenHeadError as error:
            family, config = type(model.module).__name__, getattr(model.module, "config", None)
            saved = next((each for each in getattr(config, "architectures", None) or () if each != family), None)
            if names_tokens(model.module):
                reason = error.why
            elif saved is None:
                reason = f"{family} has no head"
            else:
                reason = f"it was saved from {saved} and opened as {family}, without a head that could be used"
        else:
            return None
    return f"Only the hidden states of {model.id} are read: {reason}."


def labels_of(model: LoadedModel) -> tuple[str, ...]:
    """A classifier's labels, in the order of its logits."""
    if isinstance(model.module, Trunk) and model.module.config.labels:
        return model.module.config.labels
    if not _classifies(model.module):
        raise UserError(
            f"{model.id} has no labels, so it cannot classify a text; name a classifier, saved from a class ending in "
            f"{CLASSIFIER}, or a run of `wherewhat train nli_tiny`"
        )
    config: Any = model.module.config
    if _is_regression(model.module):
        raise UserError(
            f"{model.id} predicts a number instead of one of several labels; name a classifier with two or more"
        )
    if sorted(config.id2label) != list(range(config.num_labels)):
        raise UserError(
            f"{model.id} numbers its labels {', '.join(map(str, sorted(config.id2label)))} instead of 0 to "
            f"{config.num_labels - 1}, so labels and logits cannot be matched; correct id2label in its config.json"
        )
    return tuple(str(config.id2label[number]) for number in range(config.num_labels))


def classify(model: LoadedModel, texts: Sequence[tuple[str, ...]]) -> np.ndarray:
    """logits_NA in float64, of every label for every text or pair of texts. All must be as short as `fits` allows.

    A transformers classifier is called with its tokenizer's encoding of one text or two; our own nets read the words of
    both in a row.
    """
    labels_of(model)
    encoded, by_text = encode_full_texts(model, texts), dict[int, np.ndarray]()
    # Some classifiers find the end of a text by the padding after it; without a padding token they read one text.
    several = isinstance(model.module, Trunk) or getattr(model.text_config, "pad_token_id", None) is not None
    with torch.no_grad(), evaluating(model.module):
        for batch in equal_length_batches(encoded, most=TOKENS if several else 1):
            batch = batch.to(first_device(model.module))
            with as_user_errors(model.module):
                if isinstance(model.module, Trunk):
                    logits_BA = model.module.label_logits(batch.ids_BT)
                else:
                    inputs = inputs_for(model.module, batch)
                    types = [types_T for number in batch.texts if (types_T := encoded[number].types_T) is not None]
                    if types and "token_type_ids" in inspect.signature(model.module.forward).parameters:
                        inputs["token_type_ids"] = torch.stack(types).to(batch.ids_BT.device)
                    logits_BA = model.module(**inputs).logits
            logits_BA = logits_BA.double().cpu()
            check_finite(logits_BA, f"the logits of {model.id}")
            by_text |= dict(zip(batch.texts, logits_BA.numpy(), strict=True))
    return np.stack([by_text[number] for number in range(len(encoded))])


def mean_states(model: LoadedModel, texts: Sequence[str]) -> np.ndarray:
    """x_ND in float64: the mean of the last hidden states over tokens that are neither padding nor special."""
    if not has_states(model):
        raise UserError(
            f"{model.id} is an encoder-decoder, which has no single sequence of hidden states for a text; "
            "name a model with one stack"
        )
    encoded = encode_full_texts(model, [(text,) for text in texts])
    for number, text in enumerate(encoded):
        if not text.own_T.any():
            raise UserError(f"text {number} holds nothing but special tokens; take it out")
    module, by_text = body(model).module, dict[int, np.ndarray]()
    with torch.no_grad(), evaluating(module):
        for batch in equal_length_batches(encoded):
            batch = batch.to(first_device(module))
            with as_user_errors(module):
                if isinstance(module, Trunk):
                    hidden_BTD = module.hidden(batch.ids_BT)
                else:
                    hidden_BTD = module(**inputs_for(module, batch)).last_hidden_state
            hidden_BTD = hidden_BTD.double().cpu()
            check_finite(hidden_BTD, f"the hidden states of {model.id}")
            for hidden_TD, number in zip(hidden_BTD, batch.texts, strict=True):
                by_text[number] = hidden_TD[encoded[number].own_T].mean(0).numpy()
    return np.stack([by_text[number] for number in range(len(encoded))])


def has_states(model: LoadedModel) -> bool:
    """Whether a model has one stack, whose last hidden states represent a text."""
    return not getattr(getattr(model.module, "config", None), "is_encoder_decoder", False)


def fits(model: LoadedModel, texts: tuple[str, ...]) -> bool:
    """Whether a model can read one text, or two together, without truncation."""
    text = encode_full_text(model, texts)
    # For models that predict tokens, an opening token may be added.
    return not too_long(model, with_opening(text, opening_token(model)) if names_tokens(model.module) else text)


def _classifies(model: torch.nn.Module) -> bool:
    name = type(model).__name__
    known = MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES.values()
    return isinstance(model, PreTrainedModel) and (name.endswith(CLASSIFIER) or name in known)


def _is_regression(model: Any) -> bool:
    """Whether a classifier predicts one number instead of a label."""
    return bool(model.config.num_labels < 2)


def as_saved(name: str, **options: Any) -> tuple[Any, dict[str, Any]]:
    """Like AutoModel.from_pretrained, but with the head of the class that the model was saved from."""
    plain = {key: options[key] for key in ("revision", "local_files_only", "trust_remote_code")}
    config = AutoConfig.from_pretrained(name, **plain)
    saved = tuple(config.architectures or ())
    if any(each.endswith(CLASSIFIER) for each in saved):
        return _with_labels(name, **options)
    if any(each.endswith(ending) for each in saved for ending in ENDINGS):
        try:
            return with_token_head(name, **options)
        except (NoTokenHeadError, ValueError):  # the latter where transformers has no such class for the family
            pass  # `why_only_states` gives the reason
    kind = AutoModel if ENCODERS.isdisjoint(saved) else AutoModelForTextEncoding  # the encoder alone
    bare: tuple[Any, dict[str, Any]] = kind.from_pretrained(name, **options)
    return bare


def _with_labels(name: str, **options: Any) -> tuple[Any, dict[str, Any]]:
    """A classifier, if its weights include the whole head."""
    model, loading_info = AutoModelForSequenceClassification.from_pretrained(name, **options)
    within = f"{model.base_model_prefix}."
    # Elsewhere a pooler may be missing; here the labels are computed from it.
    if lacking := sorted(key for key in loading_info["missing_keys"] if not key.startswith(within) or "pooler" in key):
        raise UserError(
            f"the weights of {name} hold no classification head ({lacking[0]} is missing), so it cannot classify; "
            f"save it from {type(model).__name__} after fine-tuning"
        )
    return model, loading_info
