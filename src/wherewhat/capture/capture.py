"""Capture attention from any kind of model: `with capture(model, on_rows) as session: session.read(batch)`."""

import inspect
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from wherewhat.capture.decompose.rotation import Rotation
from wherewhat.capture.hooks.own_nets import watch_net
from wherewhat.capture.hooks.reader import AttentionReader, AttentionRows, AttentionSite
from wherewhat.capture.loading.load import check_supported
from wherewhat.capture.tokens.batch import Batch
from wherewhat.errors import UserError
from wherewhat.nets.trunk import Trunk, evaluating


class CaptureSession:
    """A model whose attention is being captured. `read` runs it once; its rows go to the callback."""

    def __init__(self, model: nn.Module, reader: AttentionReader, during: AbstractContextManager[Any]) -> None:
        self._model = model
        self._reader = reader
        self.during = during  # to be entered around any forward pass that is not run by `read`

    @property
    def sites(self) -> tuple[AttentionSite, ...]:
        """Every attention that has run so far, in the order of the forward pass."""
        return tuple(self._reader.sites)

    @property
    def undecomposed(self) -> dict[AttentionSite, str]:
        """The sites whose logits could not be decomposed, and why."""
        return dict(self._reader.undecomposed)

    def keep_rotations(self) -> dict[AttentionSite, Rotation]:
        """From now on, keep how queries and keys are rotated at each site."""
        self._reader.rotations = {}
        return self._reader.rotations

    def read(self, batch: Batch) -> None:
        """Run the model on a batch and pass on its rows. A model without any is an error, not an empty table."""
        batch = with_decoder_input(self._model, batch.to(first_device(self._model)))
        self._reader.begin(batch)
        with as_user_errors(self._model, self._reader), torch.no_grad(), self.during:
            run(self._model, batch)
        if self._reader.calls == 0:
            raise UserError(
                f"no attention could be read from {type(self._model).__name__}: it computes no dense softmax over keys "
                "that can be captured; the README lists the supported families"
            )


@contextmanager
def capture(model: nn.Module, on_rows: Callable[[AttentionRows], None]) -> Iterator[CaptureSession]:
    """Capture a model's attention for the duration of the block, in evaluation mode; then restore the model."""
    with watched_by(AttentionReader(on_rows, next(model.parameters()).dtype), model) as session:
        yield session


@contextmanager
def watched_by(reader: AttentionReader, model: nn.Module) -> Iterator[CaptureSession]:
    """The same with another kind of reader."""
    check_supported(model)
    with evaluating(model), _watcher(model)(model, reader) as during:
        yield CaptureSession(model, reader, during)


def _watcher(model: nn.Module) -> Callable[..., AbstractContextManager[Any]]:
    """How this kind of model is watched."""
    if isinstance(model, Trunk):
        return watch_net
    # Both import transformers, which takes a second or two, and our own nets do without.
    from wherewhat.capture.hooks.interface import uses_attention_interface, watch_interface
    from wherewhat.capture.hooks.softmax_tap import watch_softmax

    return watch_interface if uses_attention_interface(model) else watch_softmax


def first_device(model: nn.Module) -> torch.device:
    """Where the model wants its input."""
    stated = getattr(model, "device", None)
    return stated if isinstance(stated, torch.device) else next(model.parameters()).device


def run(model: nn.Module, batch: Batch) -> None:
    """One forward pass, as cheap as the model allows: no cache, and no token logits of our own nets."""
    if isinstance(model, Trunk):
        model.hidden(batch.ids_BT if batch.frames_BTG is None else batch.frames_BTG, batch.real_BT)
    else:
        model(**inputs_for(model, batch))


def inputs_for(model: nn.Module, batch: Batch) -> dict[str, Tensor | bool]:
    """The arguments with which a transformers model reads a batch once, without a cache."""
    inputs: dict[str, Tensor | bool] = {"input_ids": batch.ids_BT, "attention_mask": batch.real_BT.long()}
    if "use_cache" in inspect.signature(model.forward).parameters:
        inputs["use_cache"] = False
    if batch.decoder_ids_BT is not None:
        inputs["decoder_input_ids"] = batch.decoder_ids_BT
        inputs["decoder_attention_mask"] = batch.real_BT.long()
    return inputs


@contextmanager
def as_user_errors(model: nn.Module, reader: AttentionReader | None = None) -> Iterator[None]:
    """Turn what a model raises while it runs into a UserError; what the reader's callback raised stays as it is."""
    try:
        yield
    except Exception as error:
        import transformers

        usual = isinstance(error, RuntimeError | NotImplementedError | IndexError | ValueError)
        files = [Path(frame.f_code.co_filename) for frame, _ in traceback.walk_tb(error.__traceback__)]
        outside = [file for file in files if not file.is_relative_to(Path(torch.__file__).parent)]  # of PyTorch
        theirs = bool(outside) and outside[-1].is_relative_to(Path(transformers.__file__).parent)
        # Any other kind is a bug of ours, unless transformers' own code raised it: then the model's config is at fault.
        if (reader is not None and error is reader.callback_error) or not (usual or theirs):
            raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"{type(model).__name__} could not be run on these texts: {reason}") from error


def check_finite(values: Tensor, what: str) -> None:
    """Refuse numbers that overflowed: their largest would be taken for a prediction."""
    if not bool(values.isfinite().all()):
        raise UserError(
            f"{what} are not finite on these texts; load the model with --dtype float32, or check its weights"
        )


def with_decoder_input(model: nn.Module, batch: Batch) -> Batch:
    """The batch with what a decoder beside an encoder reads for it: a start token, then all tokens but the last."""
    config: Any = getattr(model, "config", None)
    if not getattr(config, "is_encoder_decoder", False):
        return batch
    stated = (getattr(config, name, None) for name in ("decoder_start_token_id", "bos_token_id"))
    start = next((id for id in stated if id is not None), None)
    shifted_BT = batch.ids_BT.roll(1, dims=1)
    shifted_BT[:, 0] = 0 if start is None else start
    return replace(batch, decoder_ids_BT=shifted_BT)
