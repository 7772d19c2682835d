"""Let a model say which token comes: load it with the head that predicts tokens, and ask it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM, PreTrainedModel
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
)

from wherewhat.capture.capture import check_finite, evaluating, failing_in_a_sentence, first_device, inputs_for
from wherewhat.capture.loading.load import LoadedModel, LoadSettings, load_by_name
from wherewhat.capture.tokens.batch import LAST, Batch, batches
from wherewhat.errors import UserError
from wherewhat.nets.trunk import Trunk

NEXT, MASKED, ANSWER = "next", "masked", "answer"  # what a model predicts
ENDINGS = {  # how transformers names classes that predict the next token, and those that fill in masks
    "ForCausalLM": AutoModelForCausalLM,
    "LMHeadModel": AutoModelForCausalLM,
    "ForMaskedLM": AutoModelForMaskedLM,
    "ForPreTraining": AutoModelForMaskedLM,
}
NOBODY = -1  # in `wanted_T`, where nothing is asked
ENTRIES = 1 << 27  # of logits that one batch may have
AT_ONCE = 1 << 24  # of them that are compared with what was wanted at a time
PROBE = 4  # tokens read to see whether a model looks ahead


class UnaskableError(UserError):
    """A model that can run, but has no head that could be asked for tokens; `why` is the reason alone."""

    def __init__(self, why: str, what_to_do: str) -> None:
        super().__init__(f"{why}, so its loss cannot be measured; {what_to_do}")
        self.why = why


@dataclass(frozen=True)
class Question:
    """A sequence to read, and the token that the logits at each slot should name."""

    text: int  # the number of the text that it is about
    ids_T: Tensor
    wanted_T: Tensor  # NOBODY where nothing is asked


@dataclass(frozen=True)
class Answer:
    """What came of a question: for each slot that was asked about, in order."""

    nats_Q: np.ndarray  # by how much the wanted token surprised
    right_Q: np.ndarray  # True where it had the largest logit of all


def find_speaking(name: str, loading: LoadSettings) -> LoadedModel:
    """Load the model called `name` with the head that predicts tokens; one without such a head is refused."""
    return load_by_name(name, loading, reading=with_head)


def speaks(model: LoadedModel) -> str:
    """What a model predicts: "next" the token that follows, "masked" those hidden from it, "answer" a net's answer.

    Whether it looks ahead is seen by changing the last of a few tokens; one that does can only fill in masks.
    """
    if isinstance(model.module, Trunk):
        return _net_speaks(model, model.module)
    if not predicts_tokens(model.module):
        raise UnaskableError(
            f"{type(model.module).__name__} predicts no tokens",
            "load it with transformers' AutoModelForCausalLM or AutoModelForMaskedLM",
        )
    if not _looks_ahead(model.module):
        return NEXT
    _check_masks(model)
    return MASKED


def _net_speaks(model: LoadedModel, net: Trunk) -> str:
    """One that reads words guesses them as it learnt to: the next one if it only looks back, else hidden ones."""
    if model.task is not None:
        return ANSWER
    if model.tokenizer is None:
        raise UserError(
            f"the task that {model.id} was trained on is not known, so its answers cannot be judged; "
            "name the folder of its training run"
        )
    return NEXT if net.config.causal else MASKED


def body(model: LoadedModel) -> LoadedModel:
    """The same model without its head, so that reading it computes no logits of tokens; the modules are shared."""
    inner = getattr(model.module, "base_model", None)
    return replace(model, module=inner) if isinstance(inner, PreTrainedModel) else model


def asked(model: LoadedModel, questions: Sequence[Question]) -> list[Answer]:
    """Put questions to a model. Logits of one batch at a time are held, and never those of all questions."""
    answers: dict[int, Answer] = {}
    tokens = max(1, ENTRIES // model.vocabulary)
    with torch.no_grad(), evaluating(model.module):
        for batch in batches([one.ids_T for one in questions], queries=LAST, seed=0, tokens=min(2048, tokens)):
            logits_BTV = _logits(model.module, batch.to(first_device(model.module)))
            for logits_TV, number in zip(logits_BTV, batch.texts, strict=True):
                answers[number] = _answer(logits_TV, questions[number].wanted_T)
    return [answers[number] for number in range(len(questions))]


def _answer(logits_TV: Tensor, wanted_T: Tensor) -> Answer:
    """Compare in at least 32 bits, some slots at a time."""
    kind = torch.promote_types(logits_TV.dtype, torch.float32)
    nats, right = [], []
    for slots_Q in (wanted_T != NOBODY).nonzero()[:, 0].split(max(1, AT_ONCE // logits_TV.shape[-1])):
        logits_QV = logits_TV[slots_Q.to(logits_TV.device)].to(kind)
        wanted_Q = wanted_T[slots_Q].to(logits_TV.device)
        nats.append(cross_entropy(logits_QV, wanted_Q, reduction="none").cpu().double())
        right.append((logits_QV.argmax(-1) == wanted_Q).cpu())
    return Answer(torch.cat(nats).numpy(), torch.cat(right).numpy())


def _logits(model: nn.Module, batch: Batch) -> Tensor:
    """logits_BTV of one batch."""
    with failing_in_a_sentence(model):
        own = isinstance(model, Trunk)
        logits_BTV: Tensor = model(batch.ids_BT, batch.real_BT) if own else model(**inputs_for(model, batch)).logits
    return logits_BTV


def with_head(name: str, **options: Any) -> tuple[Any, dict[str, Any]]:
    """As AutoModel.from_pretrained, but with the head for the tokens that the model was trained to predict."""
    plain = {key: options[key] for key in ("revision", "local_files_only", "trust_remote_code")}
    model, found = _kind(name, AutoConfig.from_pretrained(name, **plain)).from_pretrained(name, **options)
    within = f"{model.base_model_prefix}."
    if lacking := sorted(key for key in found["missing_keys"] if not key.startswith(within)):
        raise UnaskableError(
            f"the weights of {name} hold no head that predicts tokens ({lacking[0]} is missing)",
            f"save it from {type(model).__name__}",
        )
    return model, found


def _kind(name: str, config: Any) -> Any:
    """Which of transformers' classes to ask: by the class that the model was saved from, or by what there is."""
    if getattr(config, "is_encoder_decoder", False):
        raise UserError(
            f"{name} is an encoder-decoder; loss and copying are measured of models that predict the next token or "
            "masked ones; name one of those"
        )
    for ending, kind in ENDINGS.items():
        if any(saved.endswith(ending) for saved in config.architectures or ()):
            return kind
    causal, masked = (type(config) in known for known in (MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_FOR_MASKED_LM_MAPPING))
    if not causal and not masked:
        raise UserError(
            f"{name} ({config.model_type}) predicts no tokens; loss and copying are measured of models that predict "
            "the next token or masked ones, name one of those"
        )
    if masked and not (causal and getattr(config, "is_decoder", False)):
        return AutoModelForMaskedLM
    return AutoModelForCausalLM


def predicts_tokens(model: nn.Module) -> bool:
    """Whether a module says something of every token of the vocabulary, at every token."""
    if not isinstance(model, PreTrainedModel) or getattr(model.config, "is_encoder_decoder", False):
        return False
    return isinstance(getattr(_probe(model, 0), "logits", None), Tensor) and names_tokens(model)


def names_tokens(model: nn.Module) -> bool:
    """Whether a model of transformers has a table of tokens at its end."""
    return isinstance(model, PreTrainedModel) and model.get_output_embeddings() is not None


def _looks_ahead(model: nn.Module) -> bool:
    """Whether another last token changes what is said before it."""
    one_BTV, other_BTV = (_probe(model, last).logits[:, :-1] for last in (0, 1))
    # What overflowed differs from nothing; minus infinity is how some families forbid a token.
    check_finite(one_BTV.clamp_min(torch.finfo(one_BTV.dtype).min), f"the logits of {type(model).__name__}")
    allowed_BTV = one_BTV.isfinite() & other_BTV.isfinite()
    one_N, other_N = one_BTV[allowed_BTV], other_BTV[allowed_BTV]
    return bool((one_N - other_N).abs().max() > 1e-5 * one_N.abs().max())


def _probe(model: nn.Module, last: int) -> Any:
    """What a model gives back for a few tokens."""
    known = LoadedModel("", model).vocabulary
    ids = torch.tensor([[(2 + slot % 2) % known for slot in range(PROBE - 1)] + [last % known]])
    batch = Batch((0,), ids, torch.ones_like(ids, dtype=torch.bool), (torch.tensor([0]),)).to(first_device(model))
    with failing_in_a_sentence(model), torch.no_grad(), evaluating(model):
        return model(**inputs_for(model, batch))


def _check_masks(model: LoadedModel) -> None:
    """A model that looks ahead can be asked only for tokens that are hidden from it."""
    family = type(model.module).__name__
    if not family.endswith("ForMaskedLM") and family not in MODEL_FOR_MASKED_LM_MAPPING_NAMES.values():
        raise UnaskableError(
            f"{family} sees the tokens that it would have to predict",
            "loss is measured of models that predict the next token or masked ones",
        )
    if getattr(model.tokenizer, "mask_token_id", None) is None:
        raise UnaskableError(
            f"{model.id} predicts masked tokens, and no tokenizer says which token is the mask",
            "hand in the tokenizer that belongs to it",
        )


def special_tokens(model: LoadedModel) -> tuple[list[int], list[int]]:
    """What the tokenizer puts before and after every text."""
    around = [] if model.tokenizer is None else list(model.tokenizer("")["input_ids"])
    opening = {getattr(model.tokenizer, name, None) for name in ("bos_token_id", "cls_token_id")}
    return [id for id in around if id in opening], [id for id in around if id not in opening]


def plain_tokens(model: LoadedModel) -> Tensor:
    """ids_V of the tokens that stand for something in a text: all but the special ones."""
    known = model.vocabulary if model.tokenizer is None else min(model.vocabulary, len(model.tokenizer))
    config = getattr(model.module, "config", None)
    stated = [id for name in ("bos_token_id", "eos_token_id", "pad_token_id") for id in _stated(config, name)]
    ids_V = torch.arange(known)
    return ids_V[~torch.isin(ids_V, torch.tensor(sorted({*stated, *_marked(model)}), dtype=torch.long))]


def opener(model: LoadedModel) -> int | None:
    """The token to put before a text so that its first one can be asked for: what begins texts, or else ends them.

    What a config says counts if the tokenizer holds that token for special: many say what was never changed.
    """
    config: Any = getattr(model.module, "config", None)
    config = config.get_text_config() if hasattr(config, "get_text_config") else config
    holders, marked = (model.tokenizer, config), _marked(model)
    found = (id for name in ("bos_token_id", "eos_token_id") for each in holders for id in _stated(each, name))
    return next((id for id in found if id in marked and id < model.vocabulary), None)


def _stated(holder: Any, name: str) -> list[int]:
    """The ids that a tokenizer or a config gives under a name, which may be none, one or several."""
    stated = getattr(holder, name, None)
    return [id for id in (stated if isinstance(stated, (list, tuple)) else [stated]) if isinstance(id, int)]


def _marked(model: LoadedModel) -> set[int]:
    """The tokens that the tokenizer holds for special."""
    added = getattr(model.tokenizer, "added_tokens_decoder", {})
    return {
        *getattr(model.tokenizer, "all_special_ids", ()),
        *(id for id, token in added.items() if token.special),
    }
