"""Load a model by name: built in, a training run's folder, a local transformers folder, or an id on the Hub."""

import hashlib
import os
import re
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerFast
from transformers.utils import cached_file

from wherewhat.capture.loading.check_config import CONFIG, check_config, layers_in, why_not_built
from wherewhat.corpora.base import Corpus
from wherewhat.corpora.vocabulary import MASK, PAD, UNKNOWN, WordVocabulary
from wherewhat.errors import UserError, suggests_fields
from wherewhat.hub import HUB_ID, must_be_cached
from wherewhat.models.folder import StoredNet, load_model, net_folder
from wherewhat.models.registry import MODELS
from wherewhat.models.stored import LONGEST_NAME, StoredTensor, stored_in
from wherewhat.names import look_up, suggestion
from wherewhat.nets.build import build
from wherewhat.nets.trunk import Trunk
from wherewhat.tasks.base import Task
from wherewhat.tasks.mixture import Mixture

POSITION_TABLE = re.compile(r"(^|\.)(position_embeddings?|wpe|embed_positions)$")
OTHER_MODALITIES = re.compile(r"vision|visual|image|audio|speech")  # modules whose positions are not the text's
LENGTH_FIELDS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16, "float64": torch.float64}
TOKENIZER_FILES = ("tokenizer*", "vocab*", "*.model", "merges.txt", "*.tiktoken")
LEAST_SHARE = 10  # a tokenizer with less than a tenth of the model's vocabulary does not belong to the model
LONGEST_PATH = 4095  # bytes of a path on Linux; elsewhere less
SAMPLED = 1024  # evenly spaced values of each tensor that are part of the fingerprint

FromPretrained = Callable[..., tuple[Any, dict[str, Any]]]  # like transformers': the model, and its loading info


@suggests_fields
@dataclass(frozen=True)
class LoadSettings:
    """How to load a model. Pickle files and remote code only if explicitly allowed."""

    dtype: str = "float32"
    device: str = "auto"
    device_map: str | None = None
    revision: str | None = None
    offline: bool = False
    trust_remote_code: bool = False
    allow_pickle: bool = False


@dataclass(frozen=True)
class LoadedModel:
    """A model that is ready to run, with its tokenizer or task."""

    id: str
    module: nn.Module
    tokenizer: Any = None  # a transformers tokenizer
    task: Task | None = None  # what one of our nets was trained on: a source of texts
    corpus: Corpus | None = None  # what one of our nets was trained on, with sentences it was not trained on
    revision: str | None = None
    path: str | None = None  # its folder, if it is a local one
    notes: tuple[str, ...] = ()  # what a reader of results should know about how it was loaded
    unread: str | None = None  # why its tokenizer files could not be read, if there are any

    @property
    def family(self) -> str:
        """The architecture: transformers' name, or the encoding and kind of our own net."""
        if isinstance(self.module, Trunk):
            return f"{self.module.config.called} {self.module.config.kind}"
        return str(getattr(getattr(self.module, "config", None), "model_type", type(self.module).__name__))

    @property
    def net(self) -> dict[str, Any] | None:
        """The config to build it from, if it is one of our nets."""
        return self.module.config.to_dict() if isinstance(self.module, Trunk) else None

    @property
    def no_tokenizer(self) -> str:
        """Why there is no tokenizer, as the beginning of a sentence."""
        if self.unread is None:
            return f"{self.id} has no tokenizer"
        return f"the tokenizer files of {self.id} cannot be used ({self.unread})"

    @property
    def text_config(self) -> Any:
        """The config of the part that reads text: for most models, of the whole model."""
        config: Any = getattr(self.module, "config", None)
        return config.get_text_config() if hasattr(config, "get_text_config") else config

    @property
    def vocabulary(self) -> int:
        """The number of token ids in the model's vocabulary."""
        if isinstance(self.module, Trunk):
            return self.module.config.vocabulary
        embedding: Any = self.module.get_input_embeddings()  # type: ignore[operator]
        return int(embedding.weight.shape[0])

    @property
    def table(self) -> int | None:
        """The number of positions in a learned table, if there is one: no text may be longer."""
        if isinstance(self.module, Trunk):
            return self.module.encoding(0).max_length
        named = [(name, module) for name, module in self.module.named_modules() if POSITION_TABLE.search(name)]
        sizes = []
        for module in (module for name, module in named if not OTHER_MODALITIES.search(name)):
            if isinstance(weight := getattr(module, "weight", None), Tensor):
                padding = getattr(module, "padding_idx", None)  # some families reserve the first rows for padding
                reserved = getattr(module, "offset", 0 if padding is None else padding + 1)
                sizes.append(int(weight.shape[0]) - int(reserved))
        return min(sizes, default=None)

    @property
    def layers(self) -> int | None:
        """The number of layers of a model with one stack, according to its config."""
        config: Any = getattr(self.module, "config", None)
        if isinstance(self.module, Trunk):
            return self.module.config.layers
        stated = getattr(config.get_text_config(), "num_hidden_layers", None)
        return stated if isinstance(stated, int) and not getattr(config, "is_encoder_decoder", False) else None

    @property
    def context(self) -> int | None:
        """The number of tokens that the model can hold, according to its config, table and tokenizer."""
        stated = [getattr(self.text_config, name, None) for name in (*LENGTH_FIELDS, "length")]
        stated += [self.table, getattr(self.tokenizer, "model_max_length", None)]
        return min((size for size in stated if isinstance(size, int) and 0 < size < 10**6), default=None)


def load_by_name(
    name: str, loading: LoadSettings, *, from_pretrained: FromPretrained = AutoModel.from_pretrained
) -> LoadedModel:
    """Load the model called `name` on the requested device and in the requested type, and check its weights.

    `from_pretrained` loads models of transformers.
    """
    dtype = look_up("dtype", loading.dtype, DTYPES)
    device = _device(loading.device)
    _check_request(name, loading)
    if (folder := MODELS[name].folder if name in MODELS else net_folder(name)) is not None:
        stored = load_model(folder)
        model = replace(_own(stored), id=_short(name), path=None if name in MODELS else name)
        model = replace(model, module=stored.net.to(device=device, dtype=dtype))
    else:
        model = _from_transformers(name, loading, from_pretrained, dtype)
        model = model if loading.device_map else replace(model, module=model.module.to(device))
    return _checked(model)


def wrap_module(module: nn.Module, tokenizer: Any = None) -> LoadedModel:
    """Wrap a model that is already in memory."""
    config = getattr(module, "config", None)
    named = getattr(config, "name_or_path", "") or getattr(config, "model_type", "") or type(module).__name__
    check_supported(module)
    return _checked(LoadedModel(str(named), module, tokenizer))


def check_supported(module: nn.Module) -> None:
    """Refuse a module that is neither a transformers model nor one of our nets."""
    if not isinstance(module, Trunk | PreTrainedModel):
        raise UserError(
            f"{type(module).__name__} is neither a transformers model nor a wherewhat net, so its attention cannot be "
            "read; load it with transformers' AutoModel"
        )


def untrained_copy(model: LoadedModel, *, seed: int) -> LoadedModel:
    """A copy with untrained weights: the same architecture, initialised the way its own library does it.

    Unlike the `unlearnt` model of the control experiment, whose random weights keep the spread of the trained ones,
    nothing here depends on the trained weights. The same seed gives the same weights, and PyTorch's global generator is
    left as it was.
    """
    parameter = next(model.module.parameters())
    if isinstance(model.module, Trunk):
        module: nn.Module = build(model.module.config, seed=seed)
    else:
        with torch.random.fork_rng(devices=[]):  # transformers draws from the global generator, on the CPU
            torch.default_generator.manual_seed(seed)
            module = type(model.module)(deepcopy(model.module.config))
    module = module.to(device=parameter.device, dtype=parameter.dtype)
    return replace(model, id=f"{model.id}, untrained", module=module.eval(), revision=None, path=None)


def fingerprint(model: nn.Module) -> str:
    """A hash of every weight's name, type, shape and some of its values: cheap, and different after any fine-tuning."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        if tensor.is_meta:  # offloaded to disk by a device map
            continue
        flat = tensor.detach().flatten()
        step = max(1, flat.numel() // SAMPLED)
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(flat[::step].float().cpu().numpy().tobytes())
    return digest.hexdigest()


def _own(stored: StoredNet) -> LoadedModel:
    """One of our nets with what it was trained on: a task, or its words and a corpus or a question."""
    task, size = Mixture(stored.tasks) if stored.tasks else None, stored.net.config.vocabulary
    notes: tuple[str, ...] = ()
    if task is not None and task.vocabulary != size:
        notes = (
            f"The tasks in the net's config.json use {task.vocabulary} of the {size} token ids in its vocabulary: "
            "they may not be those that it was trained on.",
        )
    tokenizer = None if stored.words is None else word_tokenizer(stored.words)
    return LoadedModel("", stored.net, tokenizer, task, stored.question_corpus or stored.corpus, notes=notes)


def word_tokenizer(words: WordVocabulary) -> PreTrainedTokenizerFast:
    """A vocabulary of whole words as a transformers tokenizer that adds no special tokens."""
    return PreTrainedTokenizerFast(tokenizer_object=words.tokenizer, pad_token=PAD, unk_token=UNKNOWN, mask_token=MASK)


def _from_transformers(
    name: str, loading: LoadSettings, from_pretrained: FromPretrained, dtype: torch.dtype
) -> LoadedModel:
    _check_transformers_request(name, loading)
    if must_be_cached(name, loading.revision, offline=loading.offline, built_in=MODELS):
        loading = replace(loading, offline=True)
    source = {"revision": loading.revision, "local_files_only": loading.offline or Path(name).is_dir()}
    shared = {**source, "trust_remote_code": loading.trust_remote_code}
    with _sentences_for(name, loading), _quiet():
        folder = Path(cached_file(name, CONFIG, **source)).parent
    stored = stored_in(folder, cached=not Path(name).is_dir())
    check_config(folder / CONFIG, stored)
    with _sentences_for(name, loading, (folder, stored)), _quiet():
        model, loading_info = from_pretrained(
            name,
            dtype=dtype,
            use_safetensors=None if loading.allow_pickle else True,
            device_map=loading.device_map,
            output_loading_info=True,
            **shared,
        )
    # Missing weights would be random; a pooler may be missing, since attention does not depend on it.
    if lacking := sorted(key for key in loading_info["missing_keys"] if "pooler" not in key):
        raise UserError(
            f"the weights of {name} lack {len(lacking)} tensor(s) that its config asks for, the first is {lacking[0]}; "
            "weights and config.json must belong together"
        )
    if getattr(model, "main_input_name", "input_ids") != "input_ids":
        raise UserError(f"{name} reads {model.main_input_name}, not tokens; wherewhat profiles language models")
    tokenizer, unread = _tokenizer(name, shared, int(model.get_input_embeddings().weight.shape[0]))
    revision, where = getattr(model.config, "_commit_hash", None), name if Path(name).is_dir() else None
    return LoadedModel(
        _short(name),
        model.eval(),
        tokenizer,
        revision=revision,
        path=where,
        notes=_unused(model, loading_info["unexpected_keys"], stored or {}),
        unread=unread,
    )


def _unused(model: Any, unexpected: Any, stored: Mapping[str, StoredTensor]) -> tuple[str, ...]:
    """A note on weights that the model does not use; a head is left out on purpose where only the body is loaded."""
    inside = f"{model.base_model_prefix}."
    whole = type(model).__name__ in (getattr(model.config, "architectures", None) or ())
    extra = sorted(key for key in unexpected if whole or key.startswith(inside) or f"{inside}{key}" in stored)
    if not extra:
        return ()
    layers, held = LoadedModel("", model).layers, layers_in(stored)
    if layers is not None and layers < held and any(f".{layers}." in f".{key}" for key in extra):
        return (f"The config asks for {layers} of the {held} layers that the weights hold; the others are not used.",)
    many = "1 tensor" if len(extra) == 1 else f"{len(extra)} tensors"
    return (f"The weights hold {many} that {type(model).__name__} has no place for, such as {extra[0]}: not used.",)


def _tokenizer(name: str, shared: dict[str, Any], vocabulary: int) -> tuple[Any, str | None]:
    """The model's tokenizer, or None: token ids can be read without one. Second, why its files could not be read.

    Where tokenizer files are missing, transformers may create an empty tokenizer to which every word is unknown. It is
    recognised by its small size compared with the model's vocabulary, or by a folder without any tokenizer file.
    """
    if Path(name).is_dir() and not any(path for pattern in TOKENIZER_FILES for path in Path(name).glob(pattern)):
        return None, None
    try:
        with _quiet():
            tokenizer = AutoTokenizer.from_pretrained(name, **shared)
            known = len(tokenizer)
    except ImportError as error:
        raise UserError(f"the tokenizer of {name} needs a package that is not installed: {_reason(error)}") from error
    except Exception as error:  # damaged files can raise anything
        return None, _reason(error)
    return (tokenizer, None) if known * LEAST_SHARE >= vocabulary else (None, None)


def _reason(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


def _short(name: str) -> str:
    """The name of a model in results: the last part of a folder's path; a Hub id or a built-in name as it is.

    >>> _short("openai-community/gpt2")
    'openai-community/gpt2'
    """
    folder = Path(name)
    if not folder.is_dir():
        return name
    return folder.resolve().parent.name if folder.name == "model" else folder.resolve().name


def _check_request(name: str, loading: LoadSettings) -> None:
    """Refuse names that no file, folder or Hub id can have, and a revision of anything but a Hub id."""
    longest = max((len(os.fsencode(part)) for part in name.split("/")), default=0)
    if longest > LONGEST_NAME or len(os.fsencode(name)) > LONGEST_PATH or "\0" in name:
        what = "holds a NUL character" if "\0" in name else "is longer than any file's name"
        raise UserError(f"the model's name {name[:40]!r}... {what}; name a folder, a Hub id, or a built-in model")
    if loading.revision is not None and (name in MODELS or Path(name).is_dir()):
        kind = "comes with the package" if name in MODELS else "is a folder"
        raise UserError(
            f"{name} {kind} and has no revision '{loading.revision}'; leave --revision out, or give a Hub id"
        )


def _check_transformers_request(name: str, loading: LoadSettings) -> None:
    """Refuse a mistyped path before the network is asked for a Hub id, and a device map without its package."""
    path = Path(name)
    if path.is_file():
        raise UserError(f"{name} is a file; name the folder that holds the model's config.json")
    if path.is_dir() and not (path / "config.json").is_file():
        raise UserError(f"the folder {name} holds no model (no config.json); name a model's or a training run's folder")
    if not path.exists() and not HUB_ID.fullmatch(name):
        raise UserError(f"there is no folder {name}; name a folder, a Hub id, or one of: {', '.join(sorted(MODELS))}")
    if loading.device_map is not None and find_spec("accelerate") is None:
        raise UserError("--device-map needs the package accelerate; install it with pip, or leave the option out")


@contextmanager
def _sentences_for(
    name: str, loading: LoadSettings, held: tuple[Path, Mapping[str, StoredTensor] | None] | None = None
) -> Iterator[None]:
    """Turn whatever transformers raises while it loads into a UserError; bugs of ours are raised as they are.

    `held` is the folder of the model's files, and what its weights hold.
    """
    try:
        yield
    except UserError:
        raise
    except SafetensorError as error:
        raise UserError(f"the weights of {name} are damaged or cut short ({error}); fetch them again") from error
    except OSError as error:
        raise UserError(_why_not_found(name, loading, error)) from error
    except Exception as error:
        *_, last = traceback.walk_tb(error.__traceback__)
        if Path(last[0].f_code.co_filename).is_relative_to(Path(__file__).parents[1]):  # our own code failed
            raise
        why = _reason(error) if held is None else why_not_built(error, *held, trust=loading.trust_remote_code)
        raise UserError(f"{name} could not be loaded: {why}") from error


def _why_not_found(name: str, loading: LoadSettings, error: OSError) -> str:
    if Path(name).is_dir():
        safe = loading.allow_pickle or any(Path(name).glob("*.safetensors"))
        hint = "" if safe else "; there are no safetensors, add --allow-pickle to read .bin files"
        return f"{name} could not be loaded: {(str(error).strip() or type(error).__name__).splitlines()[0]}{hint}"
    where = "in the local cache" if loading.offline else "on the Hub"
    return (
        f"there is no model '{name}' here, and it was not found {where}; {suggestion(name, MODELS)}"
        f"check the name and the network, or name a local folder (built in: {', '.join(sorted(MODELS))})"
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress transformers' log lines, warnings and progress bars: what matters is reported by us."""
    logs: Any = transformers.utils.logging
    before, bars = logs.get_verbosity(), logs.is_progress_bar_enabled()
    logs.set_verbosity_error()
    logs.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logs.set_verbosity(before)
        if bars:
            logs.enable_progress_bar()


def _checked(model: LoadedModel) -> LoadedModel:
    """The same model, if its weights are finite; matrices that are all 0 are noted."""
    empty, matrices = list[str](), 0
    for name, tensor in model.module.named_parameters():
        if tensor.is_meta:
            continue
        total = tensor.sum()  # one quick pass; only a sum that is not finite, or is 0, needs a second look
        if not torch.isfinite(total) and not torch.isfinite(tensor).all():
            raise UserError(
                f"the weights of {model.id} hold NaN or infinity (first in {name}); they cannot be profiled"
            )
        if tensor.dim() > 1 and min(tensor.shape) > 1:  # a table of one row, as of token types, is often all 0
            matrices += 1
            empty += [name] if total == 0 and not tensor.any() else []
    if empty and len(empty) == matrices:
        raise UserError(
            f"all weight matrices of {model.id} hold nothing but 0, so there is nothing to measure; "
            "fetch the weights again"
        )
    if not empty:
        return model
    note = f"{len(empty)} of {matrices} weight matrices hold nothing but 0; the first is {empty[0]}."
    return replace(model, notes=(*model.notes, note))


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device(
            "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        )
    try:
        with warnings.catch_warnings(action="ignore"):
            device = torch.zeros(1, device=name).add(1).device
    except Exception as error:  # torch raises a different error for every kind of missing device
        raise UserError(
            f"the device {name!r} cannot be used ({_reason(error)[:120]}); try --device auto or cpu"
        ) from None
    if device.type == "meta":
        raise UserError("the device 'meta' cannot be used (it holds no numbers); try --device auto or cpu")
    return device
