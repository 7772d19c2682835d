"""A model and how it is read: by its labels, by the surprisal of tokens, or by its hidden states."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from wherewhat.capture.loading.load import LoadedModel, LoadSettings, wrap_module
from wherewhat.capture.outputs.language_model import MASKED, NEXT, nats, predicts_first
from wherewhat.capture.outputs.text_outputs import (
    LABELS,
    STATES,
    classify,
    has_states,
    labels_of,
    load_reader,
    mean_states,
    output_kind,
    why_only_states,
)
from wherewhat.errors import UserError
from wherewhat.progress import OnText

BATCH = 256  # texts read between two reports of progress
READOUTS = {
    LABELS: "The model is a classifier: its labels before and after the swap are compared.",
    MASKED: "The model fills in masks: each token of a text is masked in turn and predicted (pseudo-likelihood).",
    NEXT: "The model predicts the next token: each token of a text is predicted from those before it.",
    STATES: "The model predicts neither labels nor tokens, so only its hidden states are compared.",
}
FIRST = (
    "The first token of a text is not predicted, as nothing comes before it. Where a swap moves another token there, "
    "the sums before and after are over different tokens."
)

Texts = tuple[str, ...]  # one text, or a premise and a hypothesis
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Outputs:
    """What a model computed for some texts, in their order."""

    state_ND: Floats | None  # the mean of the last hidden states of each text, if the model has its own
    answer_N: NDArray[np.int64] | None = None  # of a classifier, the index of the label
    nats_N: Floats | None = None  # of a language model, the surprisal of a text, summed over its tokens
    tokens_N: Floats | None = None  # and how many tokens were predicted


@dataclass(frozen=True)
class ProbedModel:
    """A model, how it is read, and the names of its labels if it has some."""

    model: LoadedModel
    readout: str
    labels: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """What a reader has to know about the way the model is read."""
        if self.readout == STATES and (why := why_only_states(self.model)) is not None:
            return [why]
        return [FIRST] if self.readout == NEXT and not predicts_first(self.model) else []

    def read(self, texts: Sequence[Texts], *, on_text: OnText | None = None) -> Outputs:
        """The outputs for some texts."""
        batches = []
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]

            def report(done: int, _: int, start: int = start) -> None:
                if on_text is not None:
                    on_text(start + done, len(texts))

            batches.append(self._read_batch(batch, report))
            report(len(batch), len(batch))

        def joined(name: str) -> Any:
            parts = [getattr(batch, name) for batch in batches]
            return None if parts[0] is None else np.concatenate(parts)

        return Outputs(joined("state_ND"), joined("answer_N"), joined("nats_N"), joined("tokens_N"))

    def _read_batch(self, texts: Sequence[Texts], on_text: OnText) -> Outputs:
        whole = [" ".join(each) for each in texts]  # a pair is one text here: both sentences, one after the other
        state_ND = mean_states(self.model, whole) if has_states(self.model) else None
        if self.readout == LABELS:
            return Outputs(state_ND, answer_N=classify(self.model, texts).argmax(-1))
        if self.readout == STATES:
            return Outputs(state_ND)
        surprisals = nats(self.model, whole, on_text=on_text)
        total_N = np.array([nats_T.sum() for nats_T in surprisals])
        return Outputs(state_ND, nats_N=total_N, tokens_N=np.array([float(len(nats_T)) for nats_T in surprisals]))

    def unknown_share(self, texts: Sequence[Texts]) -> float:
        """The share of tokens that are not in the vocabulary."""
        id = getattr(self.model.tokenizer, "unk_token_id", None)
        read = [self.model.tokenizer(text, add_special_tokens=False)["input_ids"] for each in texts for text in each]
        return sum(ids.count(id) for ids in read) / max(1, sum(map(len, read))) if id is not None else 0.0


def open_probed_model(
    model: str | nn.Module | LoadedModel, *, tokenizer: Any = None, loading: LoadSettings, labels: Sequence[str] = ()
) -> ProbedModel:
    """A model, ready to be read in the way that it can be; `labels` are other names for its labels."""
    if isinstance(model, str):
        loaded_model = load_reader(model, loading)
        loaded_model = loaded_model if tokenizer is None else replace(loaded_model, tokenizer=tokenizer)
    else:
        loaded_model = model if isinstance(model, LoadedModel) else wrap_module(model, tokenizer)
    readout = output_kind(loaded_model)  # refuses a net that learnt tasks
    if loaded_model.tokenizer is None:
        raise UserError(
            f"{loaded_model.no_tokenizer}, so it cannot read sentences; save one beside the model, or name a model "
            "that reads text"
        )
    if readout != LABELS:
        if labels:
            raise UserError(f"{loaded_model.id} is not a classifier, so it has no labels to name; leave --labels out")
        return ProbedModel(loaded_model, readout)
    own, given = labels_of(loaded_model), tuple(labels)
    if given and len(given) != len(own):
        raise UserError(
            f"--labels names {len(given)} ({', '.join(given)}) and {loaded_model.id} has {len(own)} labels "
            f"({', '.join(own)}); name each of them, in this order"
        )
    if len(set(given)) < len(given):
        raise UserError(f"--labels is '{','.join(given)}', which names a label twice; give each its own name")
    return ProbedModel(loaded_model, readout, given or own)
