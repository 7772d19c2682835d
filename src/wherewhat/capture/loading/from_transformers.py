"""Load a model of transformers, from a folder or the Hub, and refuse what cannot be loaded in one sentence.

Importing transformers takes a second or two, so `load` imports this file only for a model that is not one of our nets.
"""

import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoModel, AutoTokenizer
from transformers.utils import cached_file, logging

from wherewhat.capture.loading.check_config import CONFIG, check_config, layers_in, why_not_built
from wherewhat.capture.loading.load import FromPretrained, LoadedModel, LoadSettings, reason_of, short_name
from wherewhat.errors import UserError
from wherewhat.hub import HUB_ID, must_be_cached
from wherewhat.models.registry import MODELS
from wherewhat.models.stored import StoredTensor, stored_in
from wherewhat.names import suggestion

TOKENIZER_FILES = ("tokenizer*", "vocab*", "*.model", "merges.txt", "*.tiktoken")
LEAST_SHARE = 10  # a tokenizer with less than a tenth of the model's vocabulary does not belong to the model


def load_from_transformers(
    name: str, loading: LoadSettings, dtype: torch.dtype, *, from_pretrained: FromPretrained | None = None
) -> LoadedModel:
    """Load a model with its tokenizer, on the CPU or as its device map says.

    `from_pretrained` is transformers' for the model's body unless another is given.
    """
    _check_request(name, loading)
    if must_be_cached(name, loading.revision, offline=loading.offline, built_in=MODELS):
        loading = replace(loading, offline=True)
    source = {"revision": loading.revision, "local_files_only": loading.offline or Path(name).is_dir()}
    shared = {**source, "trust_remote_code": loading.trust_remote_code}
    with _sentences_for(name, loading), _quiet():
        folder = Path(cached_file(name, CONFIG, **source)).parent
    stored = stored_in(folder, cached=not Path(name).is_dir())
    check_config(folder / CONFIG, stored)
    with _sentences_for(name, loading, (folder, stored)), _quiet():
        model, loading_info = (from_pretrained or AutoModel.from_pretrained)(
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
        short_name(name),
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
        raise UserError(f"the tokenizer of {name} needs a package that is not installed: {reason_of(error)}") from error
    except Exception as error:  # damaged files can raise anything
        return None, reason_of(error)
    return (tokenizer, None) if known * LEAST_SHARE >= vocabulary else (None, None)


def _check_request(name: str, loading: LoadSettings) -> None:
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
        why = reason_of(error) if held is None else why_not_built(error, *held, trust=loading.trust_remote_code)
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
    logs: Any = logging
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
