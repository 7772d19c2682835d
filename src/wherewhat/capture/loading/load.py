"""Load a model by name: built in, a training run's folder, a local transformers folder, or an id on the Hub."""

import hashlib
import os
import re
import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from wherewhat.corpora.base import Corpus
from wherewhat.corpora.speech.base import SpeechCorpus
from wherewhat.corpora.vocabulary import MASK, PAD, UNKNOWN, WordVocabulary
from wherewhat.errors import UserError, suggests_fields
from wherewhat.models.folder import StoredNet, load_model, net_folder
from wherewhat.models.registry import MODELS
from wherewhat.models.stored import LONGEST_NAME
from wherewhat.names import look_up
from wherewhat.nets.build import build
from wherewhat.nets.trunk import Trunk
from wherewhat.tasks.base import Task
from wherewhat.tasks.mixture import Mixture
from wherewhat.tasks.registry import AloneTask

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

POSITION_TABLE = re.compile(r"(^|\.)(position_embeddings?|wpe|embed_positions)$")
OTHER_MODALITIES = re.compile(r"vision|visual|image|audio|speech")  # modules whose positions are not the text's
LENGTH_FIELDS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16, "float64": torch.float64}
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
    task: Task | AloneTask | None = None  # what one of our nets was trained on: a source of texts
    corpus: Corpus | None = None  # what one of our nets was trained on, with sentences it was not trained on
    speech: SpeechCorpus | None = None  # what one of our nets was trained on, if it hears
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
    def hears(self) -> bool:
        """Whether it is one of our nets that hear speech, whose tokens are stretches of a recording."""
        return isinstance(self.module, Trunk) and bool(self.module.config.features)

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


def load_by_name(name: str, loading: LoadSettings, *, from_pretrained: FromPretrained | None = None) -> LoadedModel:
    """Load the model called `name` on the requested device and in the requested type, and check its weights.

    `from_pretrained` loads models of transformers: their bodies, unless another one is given.
    """
    dtype = look_up("dtype", loading.dtype, DTYPES)
    device = _device(loading.device)
    _check_request(name, loading)
    if (folder := MODELS[name].folder if name in MODELS else net_folder(name)) is not None:
        stored = load_model(folder)
        model = replace(_own(stored), id=short_name(name), path=None if name in MODELS else name)
        model = replace(model, module=stored.net.to(device=device, dtype=dtype))
    else:
        from wherewhat.capture.loading.from_transformers import load_from_transformers  # slow; our nets do without

        model = load_from_transformers(name, loading, dtype, from_pretrained=from_pretrained)
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
    if isinstance(module, Trunk):
        return
    from transformers import PreTrainedModel  # takes a second or two, and our own nets do without

    if not isinstance(module, PreTrainedModel):
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
    task: Task | AloneTask | None = Mixture(stored.tasks) if stored.tasks else stored.alone
    size = stored.net.config.vocabulary
    notes: tuple[str, ...] = ()
    if task is not None and task.vocabulary != size:
        notes = (
            f"The tasks in the net's config.json use {task.vocabulary} of the {size} token ids in its vocabulary: "
            "they may not be those that it was trained on.",
        )
    tokenizer = None if stored.words is None else word_tokenizer(stored.words)
    corpus = stored.question_corpus or stored.corpus
    return LoadedModel("", stored.net, tokenizer, task, corpus, stored.speech, notes=notes)


def word_tokenizer(words: WordVocabulary) -> "PreTrainedTokenizerFast":
    """A vocabulary of whole words as a transformers tokenizer that adds no special tokens."""
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=words.tokenizer, pad_token=PAD, unk_token=UNKNOWN, mask_token=MASK)


def reason_of(error: Exception) -> str:
    """What an error says, in one line."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


def short_name(name: str) -> str:
    """The name of a model in results: the last part of a folder's path; a Hub id or a built-in name as it is.

    >>> short_name("openai-community/gpt2")
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
            f"the device {name!r} cannot be used ({reason_of(error)[:120]}); try --device auto or cpu"
        ) from None
    if device.type == "meta":
        raise UserError("the device 'meta' cannot be used (it holds no numbers); try --device auto or cpu")
    return device
