"""Where position enters a transformers model: rotations, tables, biases and distance terms, shown to who watches.

| family | what is shown | where |
|---|---|---|
| rotary (Llama, Qwen, Gemma, Mistral, NeoX, ...) | cosines and sines, by layer | arguments of the attention |
| tables (GPT-2, BERT and relatives, OPT, BART) | the rows that are added | output of the table |
| BLOOM | the bias of every layer | argument of the attention |
| T5 | the bias that all layers share | `compute_bias` |
| DeBERTa | products of content with distances, by layer | `disentangled_attention_bias` |
| XLNet | encodings of distances, by layer | argument of the attention |
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import Any

from torch import Tensor, nn

from wherewhat.capture.loading.load import OTHER_MODALITIES, POSITION_TABLE
from wherewhat.encodings.base import PositionWatch

ROTATION, BIAS = "position_embeddings", "alibi"  # names of arguments
DISTANCES = "disentangled_attention_bias"  # a method of DeBERTa's attention
SHARED_BIAS = "compute_bias"  # a method of T5's attention


@contextmanager
def watch_positions(model: nn.Module, watch: PositionWatch, *, on_layer: Callable[[int], None]) -> Iterator[None]:
    """Show `watch` every tensor that holds position, inside the block; `on_layer` is told which layer runs."""
    numbers = count()
    with ExitStack() as stack:
        for name, module in text_modules(model):
            if is_attention(module):
                hook = _argument_hook(watch, numbers, on_layer)
                stack.callback(module.register_forward_pre_hook(hook, with_kwargs=True).remove)
                for method in (DISTANCES, SHARED_BIAS):
                    if hasattr(module, method):
                        stack.enter_context(_shown(module, method, watch))
            elif POSITION_TABLE.search(name) and isinstance(module, nn.Embedding):
                stack.callback(module.register_forward_hook(_table_hook(watch)).remove)
        yield


def text_modules(model: nn.Module) -> Sequence[tuple[str, nn.Module]]:
    """The modules of the part that reads text: of an encoder and a decoder, the encoder's."""
    named = [(name, module) for name, module in model.named_modules() if not OTHER_MODALITIES.search(name)]
    if getattr(getattr(model, "config", None), "is_encoder_decoder", False):
        named = [(name, module) for name, module in named if "encoder." in name and "decoder." not in name]
    return named


def token_embedding(model: nn.Module) -> nn.Module:
    """The embedding of the tokens of a text: of an encoder and a decoder, the encoder's."""
    two_stacks = getattr(getattr(model, "config", None), "is_encoder_decoder", False)
    reader: Any = model.get_encoder() if two_stacks else model  # type: ignore[operator]
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


def _argument_hook(watch: PositionWatch, numbers: Iterator[int], on_layer: Callable[[int], None]) -> Any:
    def hook(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        on_layer(next(numbers))
        shown = dict(kwargs)
        if isinstance(rotation := kwargs.get(ROTATION), tuple):
            cos, sin = rotation
            shown[ROTATION] = (watch.on_source("cos", cos, None), watch.on_source("sin", sin, None))
        if isinstance(bias := kwargs.get(BIAS), Tensor):
            shown[BIAS] = watch.on_source("bias", bias, None)
        return args, shown

    return hook


def _table_hook(watch: PositionWatch) -> Any:
    return lambda module, args, output: watch.on_source("table", output, 0)


@contextmanager
def _shown(module: nn.Module, method: str, watch: PositionWatch) -> Iterator[None]:
    """Show what a method of one module gives."""
    plain = getattr(module, method)

    def shown(*args: Any, **kwargs: Any) -> Tensor:
        output = plain(*args, **kwargs)
        if method == DISTANCES:
            return watch.on_product("distance terms", output)
        return watch.on_source("bias", output, None)

    setattr(module, method, shown)
    try:
        yield
    finally:
        delattr(module, method)
