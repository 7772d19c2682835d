"""Let a model judge texts: load it with whatever head it has, and read which label it gives."""

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
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

from wherewhat.capture.capture import check_finite, evaluating, failing_in_a_sentence, first_device, inputs_for
from wherewhat.capture.loading.load import LoadedModel, LoadSettings, load_by_name
from wherewhat.capture.outputs.language_model import (
    ENDINGS,
    MASKED,
    NEXT,
    UnaskableError,
    names_tokens,
    speaks,
    with_head,
)
from wherewhat.capture.tokens.batch import Batch
from wherewhat.capture.tokens.untruncated import TOKENS, Whole, alike, read_whole
from wherewhat.errors import UserError
from wherewhat.nets.trunk import Trunk

LABELS, STATES = "labels", "states"  # ways to read a model, beside MASKED and NEXT
WAYS = {
    LABELS: "its answers to a question, by its own labels",
    MASKED: "how much hidden tokens surprise it",
    NEXT: "how much the next token surprises it",
    STATES: "its hidden states: it has no head that could be asked",
}
CLASSIFIER = "ForSequenceClassification"  # how transformers names classes that label whole texts
ENCODERS = {name for name in MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES.values() if name.endswith("EncoderModel")}


def find_reader(name: str, loading: LoadSettings) -> LoadedModel:
    """Load the model called `name` with the head that it was saved with: for labels, for tokens, or none.

    One whose head predicts no tokens that could be asked for is loaded without it.
    """
    return load_by_name(name, loading, reading=_as_saved)


def way_of(model: LoadedModel) -> str:
    """How a model can be read: one of WAYS, by the head that it has."""
    if isinstance(model.module, Trunk):
        return _way_of_net(model, model.module)
    if _classifies(model.module) and not _tells_a_number(model.module):
        return LABELS
    if getattr(getattr(model.module, "config", None), "is_encoder_decoder", False):
        raise UserError(
            f"{model.id} is an encoder-decoder without labels, which cannot be read here; "
            "name a model of one stack, or a classifier"
        )
    try:
        return speaks(model)
    except UnaskableError:
        return STATES


def why_states(model: LoadedModel) -> str | None:
    """Why a model of transformers is read by its hidden states alone, as a sentence; None where it is not."""
    if _classifies(model.module):
        if not _tells_a_number(model.module):
            return None
        return _only_states(model, "its head tells a number instead of one of several labels")
    try:
        speaks(model)
    except UnaskableError as error:
        return _only_states(model, error.why if names_tokens(model.module) else _how_it_opened(model.module))
    return None


def _only_states(model: LoadedModel, why: str) -> str:
    return f"Only the hidden states of {model.id} are looked at: {why}."


def _how_it_opened(model: Any) -> str:
    """What to say of a model without a head, which may have been saved with one that could not be used."""
    family = type(model).__name__
    saved = next((each for each in model.config.architectures or () if each != family), None)
    if saved is None:
        return f"{family} has no head"
    return f"it was saved from {saved} and opened as {family}, without a head that could be asked"


def labels_of(model: LoadedModel) -> tuple[str, ...]:
    """What a model may answer, in the order of its logits."""
    if isinstance(model.module, Trunk) and model.module.config.labels:
        return model.module.config.labels
    if not _classifies(model.module):
        raise UserError(
            f"{model.id} has no labels, so it cannot judge a text; name a classifier, saved from a class ending in "
            f"{CLASSIFIER}, or a run of `wherewhat train nli_tiny`"
        )
    config: Any = model.module.config
    if _tells_a_number(model.module):
        raise UserError(f"{model.id} tells a number instead of one of several labels; name a classifier of two or more")
    if sorted(config.id2label) != list(range(config.num_labels)):
        raise UserError(
            f"{model.id} numbers its labels {', '.join(map(str, sorted(config.id2label)))} instead of 0 to "
            f"{config.num_labels - 1}, so nobody knows which logit is whose; mend id2label in its config.json"
        )
    return tuple(str(config.id2label[number]) for number in range(config.num_labels))


def judged(model: LoadedModel, texts: Sequence[tuple[str, ...]]) -> np.ndarray:
    """logits_NA in float64, of every label for every text or pair of texts. All must be as long as `fits` allows.

    A classifier of transformers is called with what its tokenizer makes of one text or of two; our own nets read the
    words of both in a row.
    """
    labels_of(model)
    found, by_text = read_whole(model, texts), dict[int, np.ndarray]()
    with torch.no_grad(), evaluating(model.module):
        for batch in alike(found, most=TOKENS if _reads_several(model) else 1):
            logits_BA = _logits(model, batch.to(first_device(model.module)), found).double().cpu()
            check_finite(logits_BA, f"the logits of {model.id}")
            by_text |= dict(zip(batch.texts, logits_BA.numpy(), strict=True))
    return np.stack([by_text[number] for number in range(len(found))])


def _logits(model: LoadedModel, batch: Batch, found: Sequence[Whole]) -> Tensor:
    """logits_BA of one batch."""
    with failing_in_a_sentence(model.module):
        if isinstance(model.module, Trunk):
            return model.module.judge(batch.ids_BT)
        inputs = inputs_for(model.module, batch) | _types(model.module, batch, found)
        logits_BA: Tensor = model.module(**inputs).logits
    return logits_BA


def _types(model: torch.nn.Module, batch: Batch, found: Sequence[Whole]) -> dict[str, Tensor]:
    """Which of two texts a token belongs to, where the tokenizer says it and the model takes it."""
    types = [types_T for number in batch.texts if (types_T := found[number].types_T) is not None]
    if not types or "token_type_ids" not in inspect.signature(model.forward).parameters:
        return {}
    return {"token_type_ids": torch.stack(types).to(batch.ids_BT.device)}


def _reads_several(model: LoadedModel) -> bool:
    """Some classifiers look for the end of a text by the padding behind it; without a padding token they read one."""
    config: Any = getattr(model.module, "config", None)
    return isinstance(model.module, Trunk) or getattr(config.get_text_config(), "pad_token_id", None) is not None


def _way_of_net(model: LoadedModel, net: Trunk) -> str:
    if net.config.labels:
        return LABELS
    if model.tokenizer is None:
        raise UserError(f"{model.id} learnt tasks and reads no words; name a model of text")
    return speaks(model)


def _classifies(model: torch.nn.Module) -> bool:
    name = type(model).__name__
    known = MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES.values()
    return isinstance(model, PreTrainedModel) and (name.endswith(CLASSIFIER) or name in known)


def _tells_a_number(model: Any) -> bool:
    """Whether what a classifier says of a text is one number, and no choice."""
    return bool(model.config.num_labels < 2)


def _as_saved(name: str, **options: Any) -> tuple[Any, dict[str, Any]]:
    """As AutoModel.from_pretrained, but with the head of the class that the model was saved from."""
    plain = {key: options[key] for key in ("revision", "local_files_only", "trust_remote_code")}
    config = AutoConfig.from_pretrained(name, **plain)
    saved = tuple(config.architectures or ())
    if any(each.endswith(CLASSIFIER) for each in saved):
        return _with_labels(name, **options)
    if any(each.endswith(ending) for each in saved for ending in ENDINGS):
        try:
            return with_head(name, **options)
        except (UnaskableError, ValueError):  # the latter where transformers has no such class for a family
            pass  # `why_states` tells it
    kind = AutoModel if ENCODERS.isdisjoint(saved) else AutoModelForTextEncoding  # the first of two stacks, alone
    bare: tuple[Any, dict[str, Any]] = kind.from_pretrained(name, **options)
    return bare


def _with_labels(name: str, **options: Any) -> tuple[Any, dict[str, Any]]:
    """A classifier, if its weights hold all that it classifies by."""
    model, found = AutoModelForSequenceClassification.from_pretrained(name, **options)
    within = f"{model.base_model_prefix}."
    # A pooler may be missing where attention is read; here the answer is read from it.
    if lacking := sorted(key for key in found["missing_keys"] if not key.startswith(within) or "pooler" in key):
        raise UserError(
            f"the weights of {name} hold no head that tells labels ({lacking[0]} is missing), so it cannot judge; "
            f"save it from {type(model).__name__} after fine-tuning"
        )
    return model, found
