"""Where position enters a transformers model: rotations, tables, biases and distance terms, shown to who watches.

| family | what is shown | where |
|---|---|---|
| rotary (Llama, Qwen, Gemma, Mistral, NeoX, ...) | cosines and sines, by layer | arguments of the attention |
| GPT-J | cosines and sines, by layer | arguments of its rotation function |
| tables (GPT-2, BERT and relatives, OPT, BART) | the rows that are added | output of the table |
| BLOOM, MPT | the bias of every layer | argument of the attention |
| T5, MPNet | the bias that all layers share | `compute_bias`, `compute_position_bias` |
| RoFormer | cosines and sines, for all layers | output of the table |
| DeBERTa | products of content with distances, by layer | `disentangled_attention_bias` |
| XLNet | products of content with distances, by layer | `rel_shift_bnij` |
"""

import inspect
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from itertools import count, islice
from typing import Any, TypeGuard

from torch import Tensor, nn

from wherewhat.capture.hooks.rotation_calls import SharedPatches, patched
from wherewhat.capture.loading.load import OTHER_MODALITIES, POSITION_TABLE
from wherewhat.encodings.base import EVERY, PositionWatch

ROTATION, BIASES = "position_embeddings", ("alibi", "position_bias")  # names of an attention's arguments
DISTANCES = ("disentangled_attention_bias", "disentangled_att_bias", "rel_shift_bnij")  # methods of attentions
SHARED_BIASES = ("compute_bias", "compute_position_bias")  # methods of T5's attention and of MPNet's encoder
OWN_ROTATION = "apply_rotary_position_embeddings"  # a method of RoFormer's attention, which rotates by its table
OnLayer = Callable[[int | None], None]
_ROTATIONS = SharedPatches()  # functions, which all models of a file share


class LayerWatch(PositionWatch):
    """Someone who watches the layers of a model as well."""

    @abstractmethod
    def on_layer(self, layer: int | None) -> None:
        """A layer runs from now on; None: one outside the part that reads the text, such as a decoder's."""

    @abstractmethod
    def on_rotation(self, before: tuple[Tensor, Tensor], after: tuple[Tensor, Tensor]) -> None:
        """Queries and keys, before and after they were rotated."""

    @abstractmethod
    def on_other(self, tensor: Tensor) -> Tensor:
        """The position of something that is not the text, such as what the decoder beside an encoder reads."""


@contextmanager
def watch_positions(model: nn.Module, watch: LayerWatch) -> Iterator[None]:
    """Show `watch` every tensor that holds position, inside the block, and which layer runs."""
    reading, running, numbers = dict(text_modules(model)), RunningLayer(watch.on_layer), count()
    with ExitStack() as stack:
        for name, module in model.named_modules():
            if is_attention(module):
                own = name in reading
                stack.callback(
                    module.register_forward_pre_hook(partial(running.enter, numbers if own else None)).remove
                )
                if own:
                    stack.enter_context(_watch_attention(module, watch))
            elif name in reading and POSITION_TABLE.search(name) and isinstance(module, nn.Embedding):
                stack.callback(module.register_forward_hook(_table_hook(model, watch)).remove)
            for method in SHARED_BIASES:
                if hasattr(module, method):
                    show = partial(_show_shared, watch) if name in reading else watch.on_other
                    stack.enter_context(_replaced(module, method, show))
        stack.enter_context(_watch_rotations(model, watch, running))
        yield


class RunningLayer:
    """The number of the layer that runs."""

    def __init__(self, on_layer: OnLayer) -> None:
        self.number: int | None = None
        self._on_layer = on_layer

    def enter(self, numbers: Iterator[int] | None, *_: object) -> None:
        """The next layer starts; without numbers, one that does not read the text."""
        self.number = None if numbers is None else next(numbers)
        self._on_layer(self.number)


def text_modules(model: nn.Module) -> Sequence[tuple[str, nn.Module]]:
    """The modules of the part that reads text: of an encoder and a decoder, the encoder's."""
    named = [(name, module) for name, module in model.named_modules() if not OTHER_MODALITIES.search(name)]
    if has_two_stacks(model):
        named = [(name, module) for name, module in named if "encoder." in name and "decoder." not in name]
    return named


def has_two_stacks(model: nn.Module) -> bool:
    """Whether a decoder stands beside an encoder."""
    return bool(getattr(getattr(model, "config", None), "is_encoder_decoder", False))


def token_embedding(model: nn.Module) -> nn.Module:
    """The embedding of the tokens of a text: of an encoder and a decoder, the encoder's."""
    reader: Any = model.get_encoder() if has_two_stacks(model) else model  # type: ignore[operator]
    embedding: nn.Module = reader.get_input_embeddings()
    return embedding


def other_embeddings(model: nn.Module) -> tuple[nn.Module, ...]:
    """Further embeddings that are added to content, such as those of segments; none that hold position."""
    shown = {name for name, _ in text_modules(model) if POSITION_TABLE.search(name)}
    tokens = token_embedding(model)
    return tuple(
        module
        for name, module in model.named_modules()
        if isinstance(module, nn.Embedding)
        and module is not tokens
        and name not in shown
        and not name.endswith("relative_attention_bias")
    )


def is_attention(module: nn.Module) -> bool:
    """Whether a module computes attention itself, rather than passing it on."""
    return type(module).__name__.endswith(("Attention", "SelfAttention")) and not any(
        is_attention(child) for child in module.children()
    )


@contextmanager
def _watch_attention(module: nn.Module, watch: PositionWatch) -> Iterator[None]:
    """Show what one attention is given, and what its methods give."""
    with ExitStack() as stack:
        stack.callback(module.register_forward_pre_hook(partial(_show_arguments, watch), with_kwargs=True).remove)
        for method in DISTANCES:
            if hasattr(module, method):
                stack.enter_context(_replaced(module, method, partial(watch.on_product, "distance terms")))
        yield


def _show_shared(watch: PositionWatch, bias: Tensor) -> Tensor:
    return watch.on_source("bias", bias, EVERY)


def _show_arguments(
    watch: PositionWatch, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    shown = dict(kwargs)
    if isinstance(rotation := kwargs.get(ROTATION), tuple):
        cos, sin = rotation
        shown[ROTATION] = (watch.on_source("cos", cos, None), watch.on_source("sin", sin, None))
    for name in BIASES:
        if isinstance(bias := kwargs.get(name), Tensor) and not bias.requires_grad:
            hidden_BTD = args[0] if args else kwargs["hidden_states"]
            tokens = hidden_BTD.shape[1]
            # One row may serve all queries, but relevance differs from query to query; MPT has more keys than tokens.
            shown[name] = watch.on_source("bias", bias[..., -tokens:].expand(*bias.shape[:-2], tokens, tokens), None)
    return args, shown


def _table_hook(model: nn.Module, watch: PositionWatch) -> Any:
    if any(hasattr(module, OWN_ROTATION) for module in model.modules()):
        return lambda module, args, output: watch.on_source("rotation", output, EVERY)
    return lambda module, args, output: watch.on_source("table", output, 0)


@contextmanager
def _replaced(module: nn.Module, method: str, replacement: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Put something else in place of what a method of one module gives."""
    plain = getattr(module, method)

    def replaced(*args: Any, **kwargs: Any) -> Any:
        output = plain(*args, **kwargs)
        return replacement(output) if isinstance(output, Tensor) else output

    with patched(module, method, replaced):
        yield


@contextmanager
def _watch_rotations(model: nn.Module, watch: LayerWatch, running: RunningLayer) -> Iterator[None]:
    """Show cosines and sines that reach a rotation function without having been an argument of the attention."""
    files = {type(part).__module__ for part in model.modules()}
    with ExitStack() as stack:
        for file in (sys.modules[name] for name in sorted(files) if name in sys.modules):
            for name, value in list(vars(file).items()):
                if name.startswith("apply_rot") and "vision" not in name and callable(value):
                    stack.enter_context(_ROTATIONS.replace(file, name, partial(_shown_rotation, watch, running)))
        yield


def _shown_rotation(watch: LayerWatch, running: RunningLayer, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(function).bind(*args, **kwargs)
        for name in ("cos", "sin"):
            value = given.arguments.get(name)
            if running.number is not None and isinstance(value, Tensor) and not value.requires_grad:
                given.arguments[name] = watch.on_source(name, value, None)
        rotated = function(*given.args, **given.kwargs)
        before = tuple(islice(given.arguments.values(), 2))
        if running.number is not None and _is_pair(before) and _is_pair(rotated):
            watch.on_rotation(before, rotated)
        return rotated

    return wrapper


def _is_pair(value: Any) -> TypeGuard[tuple[Tensor, Tensor]]:
    """Whether these are queries and keys; some families rotate one after the other."""
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(each, Tensor) for each in value)
