"""Load models with the head that predicts tokens, measure their losses on given targets, and generate texts."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM, PreTrainedModel
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
)

from wherewhat.capture.capture import as_user_errors, check_finite, first_device, inputs_for
from wherewhat.capture.loading.load import LoadedModel, LoadSettings, load_by_name
from wherewhat.capture.tokens.batch import LAST, Batch, batches
from wherewhat.capture.tokens.full_texts import FullText, check_lengths, encode_full_texts, with_opening
from wherewhat.capture.tokens.special_tokens import opening_token, plain_tokens, special_tokens
from wherewhat.errors import UserError
from wherewhat.nets.trunk import Trunk, evaluating
from wherewhat.tasks.registry import AloneTask

NEXT, MASKED, ANSWER = "next", "masked", "answer"  # what a model predicts
ENDINGS = {  # suffixes of transformers' classes that predict the next token, and of those that fill in masks
    "ForCausalLM": AutoModelForCausalLM,
    "LMHeadModel": AutoModelForCausalLM,
    "ForMaskedLM": AutoModelForMaskedLM,
    "ForPreTraining": AutoModelForMaskedLM,
}
NO_TARGET = -1  # in `targets_T`, where nothing is to be predicted
ENTRIES = 1 << 27  # logits per batch at most
AT_ONCE = 1 << 24  # logits compared with their targets at a time
REPORTED = 8192  # tokens to predict between two progress reports; batches are bounded where they are run
PROBE = 4  # tokens read to test whether a model looks ahead

OnText = Callable[[int, int], None]  # the number of finished texts, and of all texts


class NoTokenHeadError(UserError):
    """A model that can run, but has no head that predicts tokens; `why` is the reason alone."""

    def __init__(self, why: str, what_to_do: str) -> None:
        super().__init__(f"{why}, so its loss cannot be measured; {what_to_do}")
        self.why = why


@dataclass(frozen=True)
class TokenTargets:
    """A sequence to read, and the token to be predicted at each slot."""

    text: int  # the number of its text
    ids_T: Tensor
    targets_T: Tensor  # NO_TARGET where nothing is to be predicted


@dataclass(frozen=True)
class TokenLosses:
    """How well the targets of a sequence were predicted, slot by slot."""

    nats_Q: np.ndarray  # the loss of each target
    right_Q: np.ndarray  # True where the target had the largest logit


def load_language_model(name: str, loading: LoadSettings) -> LoadedModel:
    """Load the model called `name` with the head that predicts tokens; one without such a head is refused."""
    return load_by_name(name, loading, from_pretrained=with_token_head)


def prediction_kind(model: LoadedModel) -> str:
    """What a model predicts: "next" the next token, "masked" masked tokens, "answer" the answer to a task.

    Whether it looks ahead is tested by changing the last of a few tokens; a model that does can only fill in masks.
    """
    if isinstance(model.module, Trunk):
        if isinstance(model.task, AloneTask):
            raise UserError(
                f"{model.id} answers {model.task.manner}, and only single answers are evaluated here; "
                "name a net that was trained on another task"
            )
        if model.task is not None:
            return ANSWER
        if model.tokenizer is None:
            raise UserError(
                f"the task that {model.id} was trained on is not known, so its answers cannot be evaluated; "
                "name the folder of its training run"
            )
        return NEXT if model.module.config.causal else MASKED
    if not predicts_tokens(model.module):
        raise NoTokenHeadError(
            f"{type(model.module).__name__} predicts no tokens",
            "load it with transformers' AutoModelForCausalLM or AutoModelForMaskedLM",
        )
    if not _looks_ahead(model.module):
        return NEXT
    family = type(model.module).__name__
    if not family.endswith("ForMaskedLM") and family not in MODEL_FOR_MASKED_LM_MAPPING_NAMES.values():
        raise NoTokenHeadError(
            f"{family} sees the tokens that it would have to predict",
            "loss is measured for models that predict the next token or masked ones",
        )
    if getattr(model.tokenizer, "mask_token_id", None) is None:
        raise NoTokenHeadError(
            f"{model.id} predicts masked tokens, but no tokenizer defines its mask token",
            "pass the tokenizer that belongs to it",
        )
    return MASKED


def body(model: LoadedModel) -> LoadedModel:
    """The same model without its head, so that running it computes no token logits; the modules are shared."""
    inner = getattr(model.module, "base_model", None)
    return replace(model, module=inner) if isinstance(inner, PreTrainedModel) else model


def measure_losses(model: LoadedModel, targets: Sequence[TokenTargets]) -> list[TokenLosses]:
    """Run a model on sequences and compare it with their targets, holding the logits of one batch at a time."""
    losses: dict[int, TokenLosses] = {}
    tokens = max(1, ENTRIES // model.vocabulary)
    with torch.no_grad(), evaluating(model.module):
        for batch in batches([target.ids_T for target in targets], queries=LAST, seed=0, tokens=min(2048, tokens)):
            of_batch = [targets[number].targets_T for number in batch.texts]
            targets_BT = pad_sequence(of_batch, batch_first=True, padding_value=NO_TARGET)
            wanted_BT, batch = targets_BT != NO_TARGET, batch.to(first_device(model.module))
            nats_Q, right_Q = _compare(logits_at(model.module, batch, wanted_BT), targets_BT[wanted_BT])
            ends = wanted_BT.sum(-1).cumsum(0)[:-1].numpy()
            by_text = zip(np.split(nats_Q, ends), np.split(right_Q, ends), strict=True)
            losses |= {number: TokenLosses(*each) for number, each in zip(batch.texts, by_text, strict=True)}
    return [losses[number] for number in range(len(targets))]


def _compare(logits_QV: Tensor, target_Q: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """nats_Q and right_Q, compared in at least 32 bits, some slots at a time."""
    dtype, at_once = torch.promote_types(logits_QV.dtype, torch.float32), max(1, AT_ONCE // logits_QV.shape[-1])
    nats, right = [], []
    for some_QV, some_Q in zip(logits_QV.split(at_once), target_Q.to(logits_QV.device).split(at_once), strict=True):
        some_QV = some_QV.to(dtype)
        nats.append(cross_entropy(some_QV, some_Q, reduction="none").cpu().double())
        right.append((some_QV.argmax(-1) == some_Q).cpu())
    return torch.cat(nats).numpy(), torch.cat(right).numpy()


def logits_at(model: nn.Module, batch: Batch, wanted_BT: Tensor) -> Tensor:
    """logits_QV of a batch at the wanted slots, text by text."""
    with as_user_errors(model), _only_at(wanted_BT, model):
        own = isinstance(model, Trunk)
        logits_BTV: Tensor = model(batch.ids_BT, batch.real_BT) if own else model(**inputs_for(model, batch)).logits
    if logits_BTV.shape[:2] == wanted_BT.shape:  # the head was not reached, or nothing was left out
        return logits_BTV[wanted_BT.to(logits_BTV.device)]
    assert logits_BTV.shape[:2] == (1, int(wanted_BT.sum())), "the head has read the wanted slots as one text"
    return logits_BTV[0]


@contextmanager
def _only_at(wanted_BT: Tensor, model: nn.Module) -> Iterator[None]:
    """Let the output embeddings of a transformers model read the wanted slots alone, as if they were one text.

    In a small model with a large vocabulary they cost more than all layers. They are the last layer, so what follows
    treats every slot alike.
    """

    def pick(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        if not args or args[0].dim() != 3 or args[0].shape[:2] != wanted_BT.shape:
            return None
        return args[0][wanted_BT.to(args[0].device)][None], *args[1:]

    head = model.get_output_embeddings() if isinstance(model, PreTrainedModel) else None
    hook = None if head is None else head.register_forward_pre_hook(pick)
    try:
        yield
    finally:
        if hook is not None:
            hook.remove()


def nats(model: LoadedModel, texts: Sequence[str], *, on_text: OnText | None = None) -> list[np.ndarray]:
    """nats_Q of each text, the loss of each predicted token (float64); empty where no token can be predicted.

    The sum over a text is its negative log-likelihood for a model that only looks back, and its negative
    pseudo-log-likelihood for one that looks both ways, of which one token at a time is masked.

    Special tokens and unknown words are not predicted. A model that only looks back needs context for the first token:
    where its tokenizer adds none, an opening or end-of-text token is added; without such a token, the first token is
    not predicted (`predicts_first`).
    """
    encoded = encode_full_texts(model, [(text,) for text in texts])
    kind = prediction_kind(model)
    if kind == ANSWER:
        raise UserError(f"{model.id} answers tasks and gives no likelihood for a text; name a language model")
    if kind == NEXT:
        encoded = [with_opening(text, opening_token(model)) for text in encoded]
        check_lengths(model, encoded)
    losses: list[list[np.ndarray]] = [[] for _ in encoded]
    targets: list[TokenTargets] = []
    for number, text in enumerate(encoded):  # some texts at a time: there may be one sequence per token
        targets += _targets(kind, model, number, text)
        if sum(len(target.ids_T) for target in targets) < REPORTED and number + 1 < len(encoded):
            continue
        for target, loss in zip(targets, measure_losses(model, targets), strict=True):
            check_finite(torch.from_numpy(loss.nats_Q), f"the logits of {model.id}")
            losses[target.text].append(loss.nats_Q)
        targets = []
        if on_text is not None:
            on_text(number + 1, len(encoded))
    return [np.concatenate([np.zeros(0), *each]) for each in losses]


def predicts_first(model: LoadedModel) -> bool:
    """Whether a model that only looks back predicts the first token of a text: whether a token comes before it."""
    return bool(special_tokens(model)[0]) or opening_token(model) is not None


def _targets(kind: str, model: LoadedModel, number: int, text: FullText) -> list[TokenTargets]:
    """What to predict in a text: one sequence per known token with a mask in its place, or one with the next tokens.

    A token in the first slot has nothing before it, and is not a next token.
    """
    if kind == NEXT:
        targets_T = torch.full_like(text.ids_T, NO_TARGET)
        targets_T[:-1] = text.ids_T[1:].where(text.known_T[1:], NO_TARGET)
        return [TokenTargets(number, text.ids_T, targets_T)] if (targets_T != NO_TARGET).any() else []
    targets = []
    for slot in text.known_T.nonzero()[:, 0].tolist():
        masked_T, targets_T = text.ids_T.clone(), torch.full_like(text.ids_T, NO_TARGET)
        masked_T[slot], targets_T[slot] = model.tokenizer.mask_token_id, text.ids_T[slot]
        targets.append(TokenTargets(number, masked_T, targets_T))
    return targets


def generate_texts(model: LoadedModel, count: int, tokens: int, *, seed: int) -> list[Tensor]:
    """`count` texts of `tokens` tokens, sampled from the model's next-token distribution.

    A text begins with the tokenizer's own opening tokens, or with a random token. A model that does not predict the
    next token is refused.
    """
    if isinstance(model.module, Trunk) or prediction_kind(model) != NEXT:  # our nets have test sentences instead
        raise UserError(
            f"there is no text for {model.id}, and it cannot generate any; give --text FILE (one text per line)"
        )
    generator = torch.Generator().manual_seed(seed)
    opening, _ = special_tokens(model)
    if opening:
        ids_NT = torch.tensor([opening] * count)
    else:
        plain_V = plain_tokens(model)
        ids_NT = plain_V[torch.randint(len(plain_V), (count, 1), generator=generator)]
    past, new_NT = None, ids_NT
    with as_user_errors(model.module), torch.no_grad(), evaluating(model.module):
        while ids_NT.shape[1] < tokens:
            given = new_NT.to(first_device(model.module))
            output = model.module(input_ids=given, past_key_values=past, use_cache=True)
            past, probabilities_NV = output.past_key_values, output.logits[:, -1].float().softmax(-1).cpu()
            new_NT = torch.multinomial(probabilities_NV, 1, generator=generator)
            ids_NT = torch.cat([ids_NT, new_NT], 1)
    return list(ids_NT)


def with_token_head(name: str, **options: Any) -> tuple[Any, dict[str, Any]]:
    """Like AutoModel.from_pretrained, but with the head that predicts the tokens the model was trained on."""
    plain = {key: options[key] for key in ("revision", "local_files_only", "trust_remote_code")}
    auto_class = _auto_class(name, AutoConfig.from_pretrained(name, **plain))
    model, loading_info = auto_class.from_pretrained(name, **options)
    within = f"{model.base_model_prefix}."
    if lacking := sorted(key for key in loading_info["missing_keys"] if not key.startswith(within)):
        raise NoTokenHeadError(
            f"the weights of {name} hold no head that predicts tokens ({lacking[0]} is missing)",
            f"save it from {type(model).__name__}",
        )
    return model, loading_info


def _auto_class(name: str, config: Any) -> Any:
    """The transformers auto class to load with: by the class that the model was saved from, or by what exists."""
    if getattr(config, "is_encoder_decoder", False):
        raise UserError(
            f"{name} is an encoder-decoder; loss and copying are measured for models that predict the next token or "
            "masked ones; name one of those"
        )
    for ending, kind in ENDINGS.items():
        if any(saved.endswith(ending) for saved in config.architectures or ()):
            return kind
    causal, masked = (type(config) in known for known in (MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_FOR_MASKED_LM_MAPPING))
    if not causal and not masked:
        raise UserError(
            f"{name} ({config.model_type}) predicts no tokens; loss and copying are measured for models that predict "
            "the next token or masked ones; name one of those"
        )
    if masked and not (causal and getattr(config, "is_decoder", False)):
        return AutoModelForMaskedLM
    return AutoModelForCausalLM


def predicts_tokens(model: nn.Module) -> bool:
    """Whether a module gives a logit for every token of the vocabulary, at every slot."""
    if not isinstance(model, PreTrainedModel) or getattr(model.config, "is_encoder_decoder", False):
        return False
    return isinstance(getattr(_probe(model, 0), "logits", None), Tensor) and names_tokens(model)


def names_tokens(model: nn.Module) -> bool:
    """Whether a transformers model has output embeddings."""
    return isinstance(model, PreTrainedModel) and model.get_output_embeddings() is not None


def _looks_ahead(model: nn.Module) -> bool:
    """Whether another last token changes the logits before it."""
    first_BTV, second_BTV = (_probe(model, last).logits[:, :-1] for last in (0, 1))
    # An overflow would compare as no difference; some families forbid a token with minus infinity.
    check_finite(first_BTV.clamp_min(torch.finfo(first_BTV.dtype).min), f"the logits of {type(model).__name__}")
    allowed_BTV = first_BTV.isfinite() & second_BTV.isfinite()
    first_N, second_N = first_BTV[allowed_BTV], second_BTV[allowed_BTV]
    return bool((first_N - second_N).abs().max() > 1e-5 * first_N.abs().max())


def _probe(model: nn.Module, last: int) -> Any:
    """The output of a model for a few tokens."""
    known = LoadedModel("", model).vocabulary
    ids = torch.tensor([[(2 + slot % 2) % known for slot in range(PROBE - 1)] + [last % known]])
    batch = Batch((0,), ids, torch.ones_like(ids, dtype=torch.bool), (torch.tensor([0]),)).to(first_device(model))
    with as_user_errors(model), torch.no_grad(), evaluating(model):
        return model(**inputs_for(model, batch))
