"""Check the config.json of a transformers model before building it, and find the fields behind a failure."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from wherewhat.errors import UserError
from wherewhat.models.stored import StoredTensor, read_json

CONFIG = "config.json"
# The names of sizes in all families.
LAYERS = frozenset((
    "num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers", "encoder_layers", "decoder_layers",
))  # fmt: skip
LENGTHS = frozenset((
    "max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "max_sequence_length", "seq_length",
))  # fmt: skip
OF_A_HEAD = frozenset(("head_dim", "d_kv", "d_head"))
WIDTHS = OF_A_HEAD | {"hidden_size", "d_model", "n_embd", "dim", "embedding_size", "word_embed_proj_dim"}
HEADS = frozenset((
    "num_attention_heads", "num_key_value_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads",
    "decoder_attention_heads",
))  # fmt: skip
INNER = frozenset((
    "intermediate_size", "hidden_dim", "d_ff", "d_inner", "n_inner", "ffn_dim", "encoder_ffn_dim", "decoder_ffn_dim",
    "ffn_hidden_size",
))  # fmt: skip
OTHERS = frozenset((
    "vocab_size", "type_vocab_size", "rotary_dim", "num_labels", "num_hidden_groups", "inner_group_num",
    "relative_attention_num_buckets", "relative_attention_max_distance",
))  # fmt: skip
SIZES = LAYERS | WIDTHS | HEADS | INNER | OTHERS
MAY_BE_ZERO = frozenset({"type_vocab_size", "rotary_dim"})
COUNTED = re.compile(r"^(n|num)_|_(size|dim|layers|heads|experts|buckets)$")  # further fields that are sizes
DROPOUT = re.compile(r"dropout(_(rate|prob))?$|_pdrop$")
EPSILON = re.compile(r"_eps(ilon)?$")
MOST_SHARED = 1024  # layers that may share one layer's weights, as in ALBERT
MOST_UNSEEN = 1 << 24  # the largest size where there is no weights file to compare it with
MOST_SMALL = 1 << 20  # a size below this is harmless even if no tensor has it
LARGEST = (1 << 63) - 1  # the largest integer that PyTorch accepts
MOST_NAMED = 3  # the most fields worth naming in an error
LONGEST = 1 << 27  # tokens; no model has more, and position tables are allocated in advance
KINDS = {
    "int": "a whole number",
    "float": "a number with a decimal point",
    "bool": "true or false",
    "str": "a text",
    "NoneType": "null",
    "dict": "an object",
}
NUMBERED = re.compile(r"^(.*?)\.(\d+)\.")


def check_config(path: Path, stored: Mapping[str, StoredTensor] | None) -> None:
    """Refuse sizes that no model can have, or that contradict the weights. Only headers have been read so far."""
    config = read_json(path)
    _check_names(path, config)
    kind = config.get("model_type")
    known = CONFIG_MAPPING[kind] if kind in CONFIG_MAPPING else None  # noqa: SIM401 (it makes classes when asked)
    for name, value in _fields(config):
        if value != value:  # NaN
            raise UserError(f"{path} gives {name} as NaN, which is not a number; correct it")
        if isinstance(value, int) and abs(value) > LARGEST:
            raise UserError(f"{path} gives {name} as {_short(value)}, which is beyond 64 bits; correct it")
        field = getattr(known, "__dataclass_fields__", {}).get(name)
        may_be_null = field is not None and "None" in str(field.type).replace("Optional", "None")
        if value is not None or not may_be_null:  # the class computes a null from other fields
            _check_size(path, name, value, getattr(known, name, None))
    _check_tokens(path, config)
    _check_bounds(path, config, stored)
    for name, tensor in ({} if stored is None or config.get("quantization_config") else stored).items():
        matrix, bias = name.endswith("weight"), name.endswith("bias") and len(tensor.shape) == 1
        if (matrix or bias) and tensor.whole_numbers:
            raise UserError(
                f"the weights in {path.parent} hold integers in {name} ({tensor.dtype}), which mean nothing without a "
                "quantization_config; save them as floating point"
            )


def _check_names(path: Path, config: Mapping[str, Any]) -> None:
    """Check the model type, the classes it was saved from, and its dtype."""
    kind, saved = config.get("model_type", ""), config.get("architectures")
    if not isinstance(kind, str):
        raise UserError(f"{path} gives model_type as {_short(kind)}; it must be a name, such as 'gpt2'")
    if saved is not None and not (isinstance(saved, list) and all(isinstance(each, str) for each in saved)):
        raise UserError(f"{path} gives architectures as {_short(saved)}; it must be a list of names, or null")
    for name in ("id2label", "label2id"):
        if not isinstance(config.get(name), dict | None):
            raise UserError(f"{path} gives {name} as {_short(config[name])}; it must be an object, or null")
    for name in ("dtype", "torch_dtype"):
        dtype = config.get(name)
        known = isinstance(dtype, str) and isinstance(getattr(torch, dtype.removeprefix("torch."), None), torch.dtype)
        if not known and dtype != "auto" and not isinstance(dtype, dict | None):
            raise UserError(f"{path} gives {name} as {_short(dtype)}; it must be a type, such as 'float32'")


def _check_tokens(path: Path, config: Mapping[str, Any]) -> None:
    """Token ids that the model looks up must be in its vocabulary; the padding id is checked when it is built."""
    size = config.get("vocab_size")
    for name in ("pad_token_id", "decoder_start_token_id"):
        id = config.get(name)
        if id is None:
            continue
        if isinstance(id, bool) or not isinstance(id, int):
            raise UserError(f"{path} gives {name} as {_short(id)}; it must be the number of a token, or null")
        looked_up = name.startswith("decoder")
        least = 0 if looked_up else -1  # -1 can mean that there is none
        if id < least or (looked_up and isinstance(size, int) and id >= size):
            raise UserError(f"{path} gives {name} as {_short(id)}, and the vocabulary has {size} tokens; correct it")


def _fields(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every field with its value, including those of nested configs."""
    for name, value in config.items():
        yield name, value
        if isinstance(value, dict):
            yield from _fields(value)


def _check_size(path: Path, name: str, value: Any, default: Any) -> None:
    """A size must be a whole number; lists with one size per layer are checked by transformers."""
    if value is None and (name in SIZES or DROPOUT.search(name) or EPSILON.search(name)):
        if isinstance(default, int | float):
            raise UserError(f"{path} gives {name} as null; it must be a number, such as {default}")
        return
    if DROPOUT.search(name) and isinstance(value, int | float) and not 0 <= value <= 1:
        raise UserError(f"{path} gives {name} as {_short(value)}; a dropout is a share from 0 to 1, so correct it")
    if name not in SIZES | LENGTHS or isinstance(value, list | None):
        return
    least = 0 if name in MAY_BE_ZERO else 1
    if isinstance(default, int) and default < least:  # some families use this for no limit
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UserError(
            f"{path} gives {name} as {_short(value)}; it must be a whole number of at least {least}, so correct it"
        )


def _check_bounds(path: Path, config: Mapping[str, Any], stored: Mapping[str, StoredTensor] | None) -> None:
    shared = "num_hidden_groups" in config
    layers = 0 if stored is None else layers_in(stored)
    most_layers = MOST_SHARED if shared or layers <= 1 else layers
    largest = MOST_UNSEEN
    if stored is not None:
        largest = max((max(each.shape, default=1) for each in stored.values()), default=1)
    for name, value in _fields(config):
        if not isinstance(value, int) or isinstance(value, bool):
            continue
        if name in LAYERS and value > most_layers:
            holds = f"the weights hold {layers}" if layers else f"at most {most_layers} can be built"
            raise UserError(
                f"{path} asks for {name} = {_short(value)}, and {holds}; weights and config.json must belong together"
            )
        if name in LENGTHS and value > LONGEST:
            raise UserError(f"{path} gives {name} as {_short(value)}, which is longer than any text; correct it")
        counts = name in SIZES or COUNTED.search(name)
        if counts and name not in LENGTHS and value > max(largest, MOST_SMALL):
            raise UserError(
                f"{path} gives {name} as {_short(value)}, and no tensor of the weights has more than {largest:,} rows "
                "or columns; weights and config.json must belong together"
            )


def layers_in(stored: Mapping[str, StoredTensor]) -> int:
    """The number of layers in the weights: the longest run of modules with numbers in their names."""
    last: dict[str, int] = {}
    for prefix, number in (match.groups() for name in stored if (match := NUMBERED.match(name))):
        last[prefix] = max(last.get(prefix, 0), int(number[:9]) + 1)
    return max(last.values(), default=0)


def why_not_built(error: Exception, folder: Path, stored: Mapping[str, StoredTensor] | None, *, trust: bool) -> str:
    """Why transformers failed, and the fields of config.json behind it."""
    config, message = read_json(folder / CONFIG), str(error).strip() or type(error).__name__
    if field := re.match(r"Validation error for field '(\w+)'", message):  # in place of transformers' type names
        wanted = dict.fromkeys(re.findall(r"expected (\w+), got", message))
        if not wanted:
            return f"{field[1]} in its {CONFIG}: {message.splitlines()[-1].strip().partition(': ')[2]}"
        value, kinds = dict(_fields(config)).get(field[1]), " or ".join(KINDS.get(kind, kind) for kind in wanted)
        return f"its {CONFIG} gives {field[1]} as {_short(value)}, and it must be {kinds}"
    if "mismatched_sizes" in message and stored:
        try:
            return misfit(folder, stored, trust=trust) or message.splitlines()[0]
        except Exception:  # the first failure is the one to report
            return message.splitlines()[0]
    lines = message.splitlines()
    last = lines[0].startswith("Class validation error") or lines[0].endswith("(")  # a module that is printed whole
    reason = lines[-1 if last else 0].strip()[:300].rstrip(".")
    named = culprits(reason, config)
    return f"{reason} (see {', '.join(named)} in its {CONFIG})" if named else f"{reason} (in its {CONFIG})"


def culprits(message: str, config: Mapping[str, Any]) -> list[str]:
    """The fields behind an error that does not name them: those whose value or type it mentions."""
    fields = dict(_fields(config))
    if re.match(r"padding_idx", message, re.IGNORECASE) and "pad_token_id" in fields:
        return ["pad_token_id"]
    if re.search(r"multiple|divisib", message) and config.get("model_type") in CONFIG_MAPPING:
        of_family = CONFIG_MAPPING[config["model_type"]].attribute_map
        pair = [of_family.get(name, name) for name in ("hidden_size", "num_attention_heads")]
        return pair if any(name in fields and name not in message for name in pair) else []
    if any(re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", message) for name in fields):
        return []
    named = [name for name, value in fields.items() if _mentions(message, value)]
    return named if len(named) <= MOST_NAMED else []


def _mentions(message: str, value: Any) -> bool:
    """Whether a message mentions a value. Small numbers occur in many messages and count only by themselves."""
    if isinstance(value, list | dict):
        return f"'{type(value).__name__}'" in message
    if message.strip("'\"") == str(value):
        return True
    distinctive = bool(value) if isinstance(value, str) else value not in (None, 0, 1, 2)
    return distinctive and re.search(rf"(?<![\w.]){re.escape(str(value))}(?![\w.])", message) is not None


def misfit(folder: Path, stored: Mapping[str, StoredTensor], *, trust: bool) -> str | None:
    """The first tensor whose shape contradicts the config, and the fields that determine it, as a phrase."""
    config = AutoConfig.from_pretrained(folder, trust_remote_code=trust)
    with torch.device("meta"):
        model = AutoModel.from_config(config, trust_remote_code=trust)
    shapes = []  # of every tensor that the weights hold: by the config, and in the weights
    for name, tensor in model.state_dict().items():
        in_file = stored.get(name) or stored.get(f"{model.base_model_prefix}.{name}")
        if in_file is not None:
            shapes.append((name, tuple(tensor.shape), in_file.shape))
    same_rank = [(built, held) for _, built, held in shapes if len(built) == len(held)]
    agreed = {size for built, held in same_rank for size, other in zip(built, held, strict=True) if size == other}
    for name, built, held in shapes:
        if built == held:
            continue
        different = [size for size in built if size not in held] or list(built)
        fields = _deciding(config.get_text_config().to_dict(), different[0], agreed)
        by = f" by {fields} in config.json" if fields else " by config.json"
        return f"{name} is {_size(held)} in the weights and {_size(built)}{by}"
    return None


def _deciding(config: Mapping[str, Any], size: int, agreed: set[int]) -> str:
    """The fields that equal this size, or whose product does; fields that agree with other tensors come last."""
    sizes = {
        name: value
        for name, value in config.items()
        if isinstance(value, int) and not isinstance(value, bool) and (name in SIZES or COUNTED.search(name))
    }
    sizes |= {name: config[name] for name in LENGTHS if isinstance(config.get(name), int)}
    exact = [name for name, value in sizes.items() if value == size]
    products = [
        f"{heads} × {of}"
        for heads in HEADS & sizes.keys()
        for of in OF_A_HEAD & sizes.keys()
        if sizes[heads] * sizes[of] == size
    ]
    return " or ".join(
        (exact if size not in agreed else sorted(products)) or sorted(products) or exact or sorted(HEADS & sizes.keys())
    )


def _size(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "one number"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
