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

from wherewhat.capture.batch import Batch
from wherewhat.capture.door import check_finite, evaluating, failing_in_a_sentence, first_device, inputs_for
from wherewhat.capture.load import Loading, Subject, find
from wherewhat.capture.speech import ENDINGS, MASKED, NEXT, UnaskableError, names_tokens, speaks, with_head
from wherewhat.capture.whole import TOKENS, Whole, alike, read_whole
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


def find_reader(name: str, loading: Loading) -> Subject:
    """Load the model called `name` with the head that it was saved with: for labels, for tokens, or none.

    One whose head predicts no tokens that could be asked for is loaded without it.
    """
    return find(name, loading, reading=_as_saved)


def way_of(subject: Subject) -> str:
    """How a model can be read: one of WAYS, by the head that it has."""
    if isinstance(subject.model, Trunk):
        return _way_of_net(subject, subject.model)
    if _classifies(subject.model) and not _tells_a_number(subject.model):
        return LABELS
    if getattr(getattr(subject.model, "config", None), "is_encoder_decoder", False):
        raise UserError(
            f"{subject.id} is an encoder-decoder without labels, which cannot be read here; "
            "name a model of one stack, or a classifier"
        )
    try:
        return speaks(subject)
    except UnaskableError:
        return STATES


def why_states(subject: Subject) -> str | None:
    """Why a model of transformers is read by its hidden states alone, as a sentence; None where it is not."""
    if _classifies(subject.model):
        if not _tells_a_number(subject.model):
            return None
        return _only_states(subject, "its head tells a number instead of one of several labels")
    try:
        speaks(subject)
    except UnaskableError as error:
        return _only_states(subject, error.why if names_tokens(subject.model) else _how_it_opened(subject.model))
    return None


def _only_states(subject: Subject, why: str) -> str:
    return f"Only the hidden states of {subject.id} are looked at: {why}."


def _how_it_opened(model: Any) -> str:
    """What to say of a model without a head, which may have been saved with one that could not be used."""
    family = type(model).__name__
    saved = next((each for each in model.config.architectures or () if each != family), None)
    if saved is None:
        return f"{family} has no head"
    return f"it was saved from {saved} and opened as {family}, without a head that could be asked"


def labels_of(subject: Subject) -> tuple[str, ...]:
    """What a model may answer, in the order of its logits."""
    if isinstance(subject.model, Trunk) and subject.model.config.labels:
        return subject.model.config.labels
    if not _classifies(subject.model):
        raise UserError(
            f"{subject.id} has no labels, so it cannot judge a text; name a classifier, saved from a class ending in "
            f"{CLASSIFIER}, or a run of `wherewhat train nli_tiny`"
        )
    config: Any = subject.model.config
    if _tells_a_number(subject.model):
        raise UserError(
            f"{subject.id} tells a number instead of one of several labels; name a classifier of two or more"
        )
    if sorted(config.id2label) != list(range(config.num_labels)):
        raise UserError(
            f"{subject.id} numbers its labels {', '.join(map(str, sorted(config.id2label)))} instead of 0 to "
            f"{config.num_labels - 1}, so nobody knows which logit is whose; mend id2label in its config.json"
        )
    return tuple(str(config.id2label[number]) for number in range(config.num_labels))


def judged(subject: Subject, texts: Sequence[tuple[str, ...]]) -> np.ndarray:
    """logits_NA in float64, of every label for every text or pair of texts. All must be as long as `fits` allows.

    A classifier of transformers is called with what its tokenizer makes of one text or of two; our own nets read the
    words of both in a row.
    """
    labels_of(subject)
    found, by_text = read_whole(subject, texts), dict[int, np.ndarray]()
    with torch.no_grad(), evaluating(subject.model):
        for batch in alike(found, most=TOKENS if _reads_several(subject) else 1):
            logits_BA = _logits(subject, batch.to(first_device(subject.model)), found).double().cpu()
            check_finite(logits_BA, f"the logits of {subject.id}")
            by_text |= dict(zip(batch.texts, logits_BA.numpy(), strict=True))
    return np.stack([by_text[number] for number in range(len(found))])


def _logits(subject: Subject, batch: Batch, found: Sequence[Whole]) -> Tensor:
    """logits_BA of one batch."""
    with failing_in_a_sentence(subject.model):
        if isinstance(subject.model, Trunk):
            return subject.model.judge(batch.ids_BT)
        inputs = inputs_for(subject.model, batch) | _types(subject.model, batch, found)
        logits_BA: Tensor = subject.model(**inputs).logits
    return logits_BA


def _types(model: torch.nn.Module, batch: Batch, found: Sequence[Whole]) -> dict[str, Tensor]:
    """Which of two texts a token belongs to, where the tokenizer says it and the model takes it."""
    types = [types_T for number in batch.texts if (types_T := found[number].types_T) is not None]
    if not types or "token_type_ids" not in inspect.signature(model.forward).parameters:
        return {}
    return {"token_type_ids": torch.stack(types).to(batch.ids_BT.device)}


def _reads_several(subject: Subject) -> bool:
    """Some classifiers look for the end of a text by the padding behind it; without a padding token they read one."""
    config: Any = getattr(subject.model, "config", None)
    return isinstance(subject.model, Trunk) or getattr(config.get_text_config(), "pad_token_id", None) is not None


def _way_of_net(subject: Subject, net: Trunk) -> str:
    if net.config.labels:
        return LABELS
    if subject.tokenizer is None:
        raise UserError(f"{subject.id} learnt tasks and reads no words; name a model of text")
    return speaks(subject)


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
