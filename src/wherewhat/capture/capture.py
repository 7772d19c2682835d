"""The one door: `with capture(model, on_rows) as captured: captured.read(batch)` for every kind of model."""

import inspect
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import PreTrainedModel

from wherewhat.capture.decompose.rotation import Rotation
from wherewhat.capture.hooks.interface import speaks_interface, watch_interface
from wherewhat.capture.hooks.own_nets import watch_net
from wherewhat.capture.hooks.reader import AttentionSite, Reader, Seen
from wherewhat.capture.hooks.softmax_tap import watch_softmax
from wherewhat.capture.tokens.batch import Batch
from wherewhat.errors import UserError
from wherewhat.nets.trunk import Trunk


class Captured:
    """A model that is being watched. `read` runs it once; the rows go to the callback it was opened with."""

    def __init__(self, model: nn.Module, reader: Reader, during: AbstractContextManager[Any]) -> None:
        self._model = model
        self._reader = reader
        self.during = during  # hold it open around any forward pass of one's own

    @property
    def sites(self) -> tuple[AttentionSite, ...]:
        """Every attention seen so far, in the order of the forward pass."""
        return tuple(self._reader.sites)

    @property
    def opaque(self) -> dict[AttentionSite, str]:
        """Where it could not be told what logits are made of, and why."""
        return dict(self._reader.opaque)

    def keep_rotations(self) -> dict[AttentionSite, Rotation]:
        """From now on, note how every family that turns queries and keys does it, and where."""
        self._reader.rotations = {}
        return self._reader.rotations

    def read(self, batch: Batch) -> None:
        """Run the model over a batch and show its rows. A model that shows nothing is an error, not an empty table."""
        batch = batch.to(first_device(self._model))
        if _two_stacks(self._model):
            batch = replace(batch, decoder_ids_BT=_shifted(self._model, batch.ids_BT))
        self._reader.begin(batch)
        with failing_in_a_sentence(self._model, self._reader), torch.no_grad(), self.during:
            _run(self._model, batch)
        if self._reader.calls == 0:
            raise UserError(
                f"no attention could be read from {type(self._model).__name__}: it computes no dense softmax over keys "
                "that can be watched; the README lists the families that can be captured"
            )


@contextmanager
def capture(model: nn.Module, on_rows: Callable[[Seen], None]) -> Iterator[Captured]:
    """Watch a model for the time of the block, in evaluation mode; afterwards it is as it was."""
    with watched_by(Reader(on_rows, next(model.parameters()).dtype), model) as captured:
        yield captured


@contextmanager
def watched_by(reader: Reader, model: nn.Module) -> Iterator[Captured]:
    """The same by a reader of one's own."""
    with evaluating(model), _way_into(model)(model, reader) as during:
        yield Captured(model, reader, during)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Let a model read as it will once it has learnt; on leaving, every part is in the mode it was in."""
    training = [module for module in model.modules() if module.training]
    try:
        model.eval()
        yield
    finally:
        for module in training:
            module.training = True


def _way_into(model: nn.Module) -> Callable[[Any, Reader], AbstractContextManager[AbstractContextManager[Any]]]:
    """Choose how a model is watched."""
    if isinstance(model, Trunk):
        return watch_net
    if speaks_interface(model):
        return watch_interface
    if isinstance(model, PreTrainedModel):
        return watch_softmax
    raise UserError(
        f"{type(model).__name__} is neither a transformers model nor a wherewhat net, so its attention cannot be read; "
        "load it with transformers' AutoModel"
    )


def first_device(model: nn.Module) -> torch.device:
    """Where the model wants its input."""
    stated = getattr(model, "device", None)
    return stated if isinstance(stated, torch.device) else next(model.parameters()).device


def _run(model: nn.Module, batch: Batch) -> None:
    """One forward pass, as cheap as the model allows: no cache, no logits of our own nets."""
    if isinstance(model, Trunk):
        model.hidden(batch.ids_BT, batch.real_BT)
    else:
        model(**inputs_for(model, batch))


def inputs_for(model: nn.Module, batch: Batch) -> dict[str, Tensor | bool]:
    """What a model of transformers is called with to read a batch once."""
    inputs: dict[str, Tensor | bool] = {"input_ids": batch.ids_BT, "attention_mask": batch.real_BT.long()}
    if "use_cache" in inspect.signature(model.forward).parameters:
        inputs["use_cache"] = False
    if batch.decoder_ids_BT is not None:
        inputs["decoder_input_ids"] = batch.decoder_ids_BT
        inputs["decoder_attention_mask"] = batch.real_BT.long()
    return inputs


@contextmanager
def failing_in_a_sentence(model: nn.Module, reader: Reader | None = None) -> Iterator[None]:
    """Turn what goes wrong while a model reads into a sentence; what the reader's listener raised stays its own."""
    try:
        yield
    except Exception as error:
        usual = isinstance(error, RuntimeError | NotImplementedError | IndexError | ValueError)
        # Any other kind is a mistake of ours, unless it came up in transformers' own code: then its config is odd.
        if (reader is not None and error is reader.stumbled) or not (usual or _raised_by_transformers(error)):
            raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"{type(model).__name__} could not be run on these texts: {reason}") from error


def _raised_by_transformers(error: Exception) -> bool:
    """Whether the innermost code that is not PyTorch's is that of transformers."""
    files = [Path(frame.f_code.co_filename) for frame, _ in traceback.walk_tb(error.__traceback__)]
    others = [file for file in files if not file.is_relative_to(Path(torch.__file__).parent)]
    return bool(others) and others[-1].is_relative_to(Path(transformers.__file__).parent)


def check_finite(values: Tensor, what: str) -> None:
    """Refuse numbers that overflowed: their largest would be taken for an answer."""
    if not bool(values.isfinite().all()):
        raise UserError(
            f"{what} are not finite on these texts; load the model with --dtype float32, or check its weights"
        )


def _two_stacks(model: nn.Module) -> bool:
    return bool(getattr(getattr(model, "config", None), "is_encoder_decoder", False))


def _shifted(model: nn.Module, ids_BT: Tensor) -> Tensor:
    """What a sequence-to-sequence decoder reads when it writes the same text: a start token, then all but the last."""
    config: Any = model.config
    stated = (getattr(config, name, None) for name in ("decoder_start_token_id", "bos_token_id"))
    start = next((id for id in stated if id is not None), None)
    shifted_BT = ids_BT.roll(1, dims=1)
    shifted_BT[:, 0] = 0 if start is None else start
    return shifted_BT
