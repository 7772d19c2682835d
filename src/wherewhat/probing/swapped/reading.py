"""A model and the way it is read: by its labels, by how much words surprise it, or by where its states lie."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from wherewhat.capture.loading.load import LoadedModel, LoadSettings, wrap_module
from wherewhat.capture.outputs.classifier import LABELS, STATES, find_reader, judged, labels_of, way_of, why_states
from wherewhat.capture.outputs.language_model import MASKED, NEXT
from wherewhat.capture.outputs.likelihood import asks_first, nats
from wherewhat.capture.outputs.mean_states import has_states, mean_states
from wherewhat.errors import UserError

AT_ONCE = 256  # texts read between two looks at how far it has come
ASKED = {
    LABELS: "The model is a classifier: it is asked which label it gives, before and after.",
    MASKED: "The model fills in masks: of every text, each token is hidden in turn and asked for (pseudo-likelihood).",
    NEXT: "The model predicts the next token: of every text, each token is asked for from those before it.",
    STATES: "The model has no head that could be asked, so only its hidden states are looked at.",
}
FIRST = (
    "The first token of a text is not asked for, as nothing stands before it: where a swap puts another token there, "
    "its sum is over other tokens than that of the original."
)

Texts = tuple[str, ...]  # one text, or a premise and what may follow from it
OnText = Callable[[int, int], None]  # texts read, and of how many
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Heard:
    """What a model made of some texts, in their order."""

    state_ND: Floats | None  # where it puts each text: the mean of its last hidden states, if it has some of its own
    answer_N: NDArray[np.int64] | None = None  # of a classifier, the number of the label it gives
    nats_N: Floats | None = None  # of a model that predicts tokens, the surprise of all of a text's tokens
    tokens_N: Floats | None = None  # and how many were asked for


@dataclass(frozen=True)
class Reader:
    """A model, how it is read, and what its labels are called if it has some."""

    model: LoadedModel
    way: str
    labels: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """What has to be known of the way that the model is read."""
        if self.way == STATES and (why := why_states(self.model)) is not None:
            return [why]
        return [FIRST] if self.way == NEXT and not asks_first(self.model) else []

    def hear(self, texts: Sequence[Texts], *, on_text: OnText | None = None) -> Heard:
        """Let the model read some texts."""
        pieces = []
        for start in range(0, len(texts), AT_ONCE):
            piece = texts[start : start + AT_ONCE]

            def told(done: int, _: int, start: int = start) -> None:
                if on_text is not None:
                    on_text(start + done, len(texts))

            pieces.append(self._hear(piece, told))
            told(len(piece), len(piece))
        return _joined(pieces)

    def _hear(self, texts: Sequence[Texts], on_text: OnText) -> Heard:
        whole = [" ".join(each) for each in texts]  # a pair is one text here: both sentences, one after the other
        state_ND = mean_states(self.model, whole) if has_states(self.model) else None
        if self.way == LABELS:
            return Heard(state_ND, answer_N=judged(self.model, texts).argmax(-1))
        if self.way == STATES:
            return Heard(state_ND)
        found = nats(self.model, whole, on_text=on_text)
        total_N = np.array([one.sum() for one in found])
        return Heard(state_ND, nats_N=total_N, tokens_N=np.array([float(len(one)) for one in found]))

    def unknown(self, texts: Sequence[Texts]) -> float:
        """The share of tokens that the tokenizer does not know."""
        id = getattr(self.model.tokenizer, "unk_token_id", None)
        read = [self.model.tokenizer(text, add_special_tokens=False)["input_ids"] for each in texts for text in each]
        return sum(ids.count(id) for ids in read) / max(1, sum(map(len, read))) if id is not None else 0.0


def open_reader(
    model: str | nn.Module | LoadedModel, *, tokenizer: Any = None, loading: LoadSettings, labels: Sequence[str] = ()
) -> Reader:
    """A model, ready to be read in the way that it can be read; `labels` are other names for its labels."""
    if isinstance(model, str):
        loaded_model = find_reader(model, loading)
        loaded_model = loaded_model if tokenizer is None else replace(loaded_model, tokenizer=tokenizer)
    else:
        loaded_model = model if isinstance(model, LoadedModel) else wrap_module(model, tokenizer)
    way = way_of(loaded_model)  # refuses a net that learnt tasks
    if loaded_model.tokenizer is None:
        raise UserError(
            f"{loaded_model.no_tokenizer}, so it cannot read sentences; save one beside the model, or name a model "
            "that reads text"
        )
    if way != LABELS:
        if labels:
            raise UserError(f"{loaded_model.id} is no classifier, so it has no labels to name; leave --labels out")
        return Reader(loaded_model, way)
    return Reader(loaded_model, way, _named(loaded_model, labels_of(loaded_model), tuple(labels)))


def _named(model: LoadedModel, own: tuple[str, ...], given: tuple[str, ...]) -> tuple[str, ...]:
    """What the labels are called, by the model or by who asks."""
    if given and len(given) != len(own):
        raise UserError(
            f"--labels names {len(given)} ({', '.join(given)}) and {model.id} has {len(own)} labels "
            f"({', '.join(own)}); name each of them, in this order"
        )
    if len(set(given)) < len(given):
        raise UserError(f"--labels is '{','.join(given)}', which names a label twice; give each its own name")
    return given or own


def _joined(pieces: Sequence[Heard]) -> Heard:
    """What was heard piece by piece."""

    def column(name: str) -> Any:
        parts = [getattr(piece, name) for piece in pieces]
        return None if parts[0] is None else np.concatenate(parts)

    return Heard(column("state_ND"), column("answer_N"), column("nats_N"), column("tokens_N"))
