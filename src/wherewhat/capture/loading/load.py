"""Find a model by name: built in, a training run's folder, a local transformers folder, or an id on the Hub."""

import hashlib
import os
import re
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerFast
from transformers.utils import cached_file

from wherewhat.capture.loading.config import CONFIG, check_config, layers_in, why_not_built
from wherewhat.corpora.base import Corpus
from wherewhat.corpora.words import MASK, PAD, UNKNOWN, Words
from wherewhat.errors import UserError, suggests_fields
from wherewhat.hub import HUB_ID, must_be_cached
from wherewhat.models.folder import Model, load_model, net_folder
from wherewhat.models.registry import MODELS
from wherewhat.models.stored import LONGEST_NAME, Stored, stored_in
from wherewhat.names import look_up, suggestion
from wherewhat.nets.trunk import Trunk
from wherewhat.tasks.base import Task
from wherewhat.tasks.mixture import Mixture

POSITION_TABLE = re.compile(r"(^|\.)(position_embeddings?|wpe|embed_positions)$")
OTHER_SENSES = re.compile(r"vision|visual|image|audio|speech")  # towers whose positions are not the text's
LENGTH_FIELDS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16, "float64": torch.float64}
TOKENIZER_FILES = ("tokenizer*", "vocab*", "*.model", "merges.txt", "*.tiktoken")
LEAST_SHARE = 10  # a tokenizer with fewer entries than a tenth of the model's vocabulary is not the model's
LONGEST_PATH = 4095  # bytes of a file's name with all folders above it, on Linux; elsewhere it is less
SAMPLED = 1024  # evenly spaced values of each tensor that enter the fingerprint

Reading = Callable[..., tuple[Any, dict[str, Any]]]  # as transformers' from_pretrained: the model, and what was missing


@suggests_fields
@dataclass(frozen=True)
class LoadSettings:
    """How a model is to be loaded. Nothing but safetensors and the library's own code unless asked for."""

    dtype: str = "float32"
    device: str = "auto"
    device_map: str | None = None
    revision: str | None = None
    offline: bool = False
    trust_remote_code: bool = False
    allow_pickle: bool = False


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to be studied, and what has to be known to feed it."""

    id: str
    module: nn.Module
    tokenizer: Any = None  # of transformers
    task: Task | None = None  # what a net of ours was trained on: it can write its own texts
    corpus: Corpus | None = None  # what a net of ours has read or was asked: it has sentences never learnt from
    revision: str | None = None
    path: str | None = None  # where it was found, if that was on this machine
    notes: tuple[str, ...] = ()  # what whoever reads a result should know of how it was loaded
    unread: str | None = None  # why its tokenizer could not be read, if there is one that could not

    @property
    def family(self) -> str:
        """transformers' name of the architecture, or what our own net is."""
        if isinstance(self.module, Trunk):
            return f"{self.module.config.called} {self.module.config.kind}"
        return str(getattr(getattr(self.module, "config", None), "model_type", type(self.module).__name__))

    @property
    def net(self) -> dict[str, Any] | None:
        """How to build it again, if it is a net of ours."""
        return self.module.config.to_dict() if isinstance(self.module, Trunk) else None

    @property
    def no_tokenizer(self) -> str:
        """What is wrong with the tokenizer where there is none, as the beginning of a sentence."""
        if self.unread is None:
            return f"{self.id} has no tokenizer"
        return f"the tokenizer files of {self.id} cannot be used ({self.unread})"

    @property
    def vocabulary(self) -> int:
        """How many token ids the model knows."""
        if isinstance(self.module, Trunk):
            return self.module.config.vocabulary
        embedding: Any = self.module.get_input_embeddings()  # type: ignore[operator]
        return int(embedding.weight.shape[0])

    @property
    def table(self) -> int | None:
        """How many positions a learned table holds, if there is one: no text may be longer."""
        if isinstance(self.module, Trunk):
            return self.module.encoding(0).max_length
        named = [(name, module) for name, module in self.module.named_modules() if POSITION_TABLE.search(name)]
        tables = (module for name, module in named if not OTHER_SENSES.search(name))
        return min((size for size in map(_positions_in, tables) if size is not None), default=None)

    @property
    def layers(self) -> int | None:
        """How many layers a model of one stack says it has."""
        config: Any = getattr(self.module, "config", None)
        if isinstance(self.module, Trunk):
            return self.module.config.layers
        stated = getattr(config.get_text_config(), "num_hidden_layers", None)
        return stated if isinstance(stated, int) and not getattr(config, "is_encoder_decoder", False) else None

    @property
    def context(self) -> int | None:
        """How many tokens the model was made for, as far as it says."""
        config: Any = getattr(self.module, "config", None)
        config = config.get_text_config() if hasattr(config, "get_text_config") else config
        stated = [getattr(config, name, None) for name in (*LENGTH_FIELDS, "length")]
        stated += [self.table, getattr(self.tokenizer, "model_max_length", None)]
        return min((size for size in stated if isinstance(size, int) and 0 < size < 10**6), default=None)


def load_by_name(name: str, loading: LoadSettings, *, reading: Reading = AutoModel.from_pretrained) -> LoadedModel:
    """Load the model called `name`, on the device and in the type asked for, and make sure that it can be used.

    `reading` is how transformers is asked for a model that is not ours.
    """
    dtype = look_up("dtype", loading.dtype, DTYPES)
    device = _device(loading.device)
    _check_spelling(name)
    _check_revision(name, loading)
    if (folder := _own_folder(name)) is not None:
        stored = load_model(folder)
        model = replace(_own(stored), id=_short(name), path=None if name in MODELS else name)
        model = replace(model, module=stored.net.to(device=device, dtype=dtype))
    else:
        model = _from_transformers(name, loading, reading, dtype)
        model = model if loading.device_map else replace(model, module=model.module.to(device))
    return _checked(model)


def wrap_module(module: nn.Module, tokenizer: Any = None) -> LoadedModel:
    """A model that is already in memory."""
    config = getattr(module, "config", None)
    named = getattr(config, "name_or_path", "") or getattr(config, "model_type", "") or type(module).__name__
    model = LoadedModel(str(named), module, tokenizer)
    if not isinstance(module, Trunk | PreTrainedModel):
        raise UserError(
            f"{type(model).__name__} is neither a transformers model nor a wherewhat net, so its attention cannot be "
            "read; load it with transformers' AutoModel"
        )
    return _checked(model)


def fingerprint(model: nn.Module) -> str:
    """A hash of every weight's name, type, shape and some of its values: cheap, and another for any fine-tune."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        if tensor.is_meta:  # offloaded to disk by a device map
            continue
        flat = tensor.detach().flatten()
        step = max(1, flat.numel() // SAMPLED)
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(flat[::step].float().cpu().numpy().tobytes())
    return digest.hexdigest()


def _own_folder(name: str) -> Path | None:
    """Where a net of ours lies, if it is one: built in, the folder of a training run, or its model folder."""
    if name in MODELS:
        return MODELS[name].folder
    return net_folder(name)


def _own(stored: Model) -> LoadedModel:
    """A net of ours with what it learnt: a task, or its words and a corpus or a question."""
    task = Mixture(stored.tasks) if stored.tasks else None
    tokenizer = None if stored.words is None else word_tokenizer(stored.words)
    return LoadedModel(
        "", stored.net, tokenizer, task, stored.asked or stored.corpus, notes=_strange_task(stored, task)
    )


def _strange_task(stored: Model, task: Task | None) -> tuple[str, ...]:
    """Tasks that use fewer ids than the net knows are, as a rule, not those that it learnt."""
    known = stored.net.config.vocabulary
    if task is None or task.vocabulary == known:
        return ()
    return (
        f"The tasks in the net's config.json use {task.vocabulary} of the {known} token ids that it knows: "
        "they may not be those that it learnt.",
    )


def word_tokenizer(words: Words) -> PreTrainedTokenizerFast:
    """A vocabulary of whole words as transformers holds it; it adds no token of its own."""
    return PreTrainedTokenizerFast(tokenizer_object=words.tokenizer, pad_token=PAD, unk_token=UNKNOWN, mask_token=MASK)


def _from_transformers(name: str, loading: LoadSettings, reading: Reading, dtype: torch.dtype) -> LoadedModel:
    _check_name(name)
    _check_device_map(loading)
    if must_be_cached(name, loading.revision, offline=loading.offline, built_in=MODELS):
        loading = replace(loading, offline=True)
    shared = {"revision": loading.revision, "local_files_only": loading.offline or Path(name).is_dir()}
    shared = {**shared, "trust_remote_code": loading.trust_remote_code}
    with _sentences_for(name, loading), _quiet():
        folder = Path(
            cached_file(name, CONFIG, **{key: shared[key] for key in ("revision", "local_files_only")})
        ).parent
    stored = stored_in(folder, cached=not Path(name).is_dir())
    check_config(folder / CONFIG, stored)
    with _sentences_for(name, loading, (folder, stored)), _quiet():
        model, found = reading(
            name,
            dtype=dtype,
            use_safetensors=None if loading.allow_pickle else True,
            device_map=loading.device_map,
            output_loading_info=True,
            **shared,
        )
    _check_complete(name, found["missing_keys"])
    _check_reads_tokens(name, model)
    tokenizer, unread = _tokenizer(name, shared, int(model.get_input_embeddings().weight.shape[0]))
    revision, where = getattr(model.config, "_commit_hash", None), name if Path(name).is_dir() else None
    return LoadedModel(
        _short(name),
        model.eval(),
        tokenizer,
        revision=revision,
        path=where,
        notes=_unused(model, found["unexpected_keys"], stored or {}),
        unread=unread,
    )


def _unused(model: Any, unexpected: Any, stored: Mapping[str, Stored]) -> tuple[str, ...]:
    """What weights hold and the model has no place for; a head is left out on purpose where only the body is read."""
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
    """The model's tokenizer, or None, which is said when a text has to be read: token ids can do without.

    Where its files are there but cannot be read, the reason comes with it. Where they are missing, transformers makes
    an empty one up that calls every word unknown; it is told by having next to no entries for the size of the model's
    vocabulary, or by a folder without any such file.
    """
    if Path(name).is_dir() and not any(path for pattern in TOKENIZER_FILES for path in Path(name).glob(pattern)):
        return None, None
    try:
        with _quiet():
            tokenizer = AutoTokenizer.from_pretrained(name, **shared)
            known = len(tokenizer)
    except ImportError as error:
        raise UserError(f"the tokenizer of {name} needs a package that is not installed: {_reason(error)}") from error
    except Exception as error:  # whatever its files may make it raise
        return None, _reason(error)
    return (tokenizer, None) if known * LEAST_SHARE >= vocabulary else (None, None)


def _reason(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


def _short(name: str) -> str:
    """What to call a model: a folder by its own name, whatever lies above it; a Hub id or a built-in name as it is.

    >>> _short("openai-community/gpt2")
    'openai-community/gpt2'
    """
    folder = Path(name)
    if not folder.is_dir():
        return name
    return folder.resolve().parent.name if folder.name == "model" else folder.resolve().name


def _check_spelling(name: str) -> None:
    """No file, folder or Hub id is called so; asking the file system would fail in odd ways."""
    longest = max((len(os.fsencode(part)) for part in name.split("/")), default=0)
    if longest > LONGEST_NAME or len(os.fsencode(name)) > LONGEST_PATH or "\0" in name:
        what = "holds a NUL character" if "\0" in name else "is longer than any file's name"
        raise UserError(f"the model's name {name[:40]!r}... {what}; name a folder, a Hub id, or a built-in model")


def _check_revision(name: str, loading: LoadSettings) -> None:
    """Only the Hub keeps revisions: a folder is as it is, and whoever asks for one would get something else."""
    if loading.revision is not None and (name in MODELS or Path(name).is_dir()):
        kind = "comes with the package" if name in MODELS else "is a folder"
        raise UserError(
            f"{name} {kind} and has no revision '{loading.revision}'; leave --revision out, or give a Hub id"
        )


def _check_name(name: str) -> None:
    """Tell a mistyped path from a Hub id before the network is asked."""
    path = Path(name)
    if path.is_file():
        raise UserError(f"{name} is a file; name the folder that holds the model's config.json")
    if path.is_dir() and not (path / "config.json").is_file():
        raise UserError(f"the folder {name} holds no model (no config.json); name a model's or a training run's folder")
    if not path.exists() and not HUB_ID.fullmatch(name):
        raise UserError(f"there is no folder {name}; name a folder, a Hub id, or one of: {', '.join(sorted(MODELS))}")


def _check_device_map(loading: LoadSettings) -> None:
    if loading.device_map is None:
        return
    try:
        import accelerate  # noqa: F401  # only asked whether it is there
    except ImportError:
        raise UserError(
            "--device-map needs the package accelerate; install it with pip, or leave the option out"
        ) from None


@contextmanager
def _sentences_for(
    name: str, loading: LoadSettings, held: tuple[Path, Mapping[str, Stored] | None] | None = None
) -> Iterator[None]:
    """Turn what transformers raises while it loads into a sentence, whatever it is; mistakes of ours stay ours.

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
        if _raised_here(error):
            raise
        why = _reason(error) if held is None else why_not_built(error, *held, trust=loading.trust_remote_code)
        raise UserError(f"{name} could not be loaded: {why}") from error


def _raised_here(error: Exception) -> bool:
    """Whether it was our own code that failed, rather than what it called."""
    *_, last = traceback.walk_tb(error.__traceback__)
    return Path(last[0].f_code.co_filename).is_relative_to(Path(__file__).parents[1])


def _why_not_found(name: str, loading: LoadSettings, error: OSError) -> str:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    if Path(name).is_dir():
        safe = any(Path(name).glob("*.safetensors"))
        hint = (
            "" if safe or loading.allow_pickle else "; there are no safetensors, add --allow-pickle to read .bin files"
        )
        return f"{name} could not be loaded: {reason}{hint}"
    where = "in the local cache" if loading.offline else "on the Hub"
    return (
        f"there is no model '{name}' here, and it could not be had {where}; {suggestion(name, MODELS)}"
        f"check the name and the network, or name a local folder (built in: {', '.join(sorted(MODELS))})"
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers' log lines, warnings and bars off the screen: what matters is said in our own words."""
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


def _check_complete(name: str, missing: Any) -> None:
    """Weights that the file lacks are random; only a pooler, which attention never meets, may be."""
    lacking = sorted(key for key in missing if "pooler" not in key)
    if lacking:
        raise UserError(
            f"the weights of {name} lack {len(lacking)} tensor(s) that its config asks for, the first is {lacking[0]}; "
            "weights and config.json must belong together"
        )


def _check_reads_tokens(name: str, model: Any) -> None:
    if getattr(model, "main_input_name", "input_ids") != "input_ids":
        raise UserError(f"{name} reads {model.main_input_name}, not tokens; wherewhat profiles models of text")


def _checked(model: LoadedModel) -> LoadedModel:
    """The same, if its weights are numbers to work with; matrices of nothing but zeros are noted."""
    empty, matrices = list[str](), 0
    for name, tensor in model.module.named_parameters():
        if tensor.is_meta:
            continue
        total = tensor.sum()  # one quick pass; only a sum that overflowed, or is 0, has to be looked at again
        if not torch.isfinite(total) and not torch.isfinite(tensor).all():
            raise UserError(
                f"the weights of {model.id} hold NaN or infinity (first in {name}); they cannot be profiled"
            )
        if tensor.dim() > 1 and min(tensor.shape) > 1:  # a table of one row, as of token types, is often empty
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


def _positions_in(module: nn.Module) -> int | None:
    """Usable rows of a table of positions: some families keep its first rows for padding."""
    weight = getattr(module, "weight", None)
    if not isinstance(weight, Tensor):
        return None
    padding = getattr(module, "padding_idx", None)
    kept = getattr(module, "offset", 0 if padding is None else padding + 1)
    return int(weight.shape[0]) - int(kept)


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device(
            "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        )
    try:
        with warnings.catch_warnings(action="ignore"):
            device = torch.zeros(1, device=name).add(1).device
    except Exception as error:  # torch has an error of its own for every kind of device that is not there
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:120]
        raise UserError(f"the device {name!r} cannot be used ({reason}); try --device auto or cpu") from None
    if device.type == "meta":
        raise UserError("the device 'meta' cannot be used (it holds no numbers); try --device auto or cpu")
    return device
