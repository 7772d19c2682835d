"""A net as a folder: `model.safetensors` and `config.json`, which says how to build it and what it learnt.

One that reads words has its vocabulary beside it, `tokenizer.json`.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from wherewhat.corpora.base import Corpus
from wherewhat.corpora.examples import Examples, examples_from
from wherewhat.corpora.registry import corpus_from
from wherewhat.corpora.words import Words
from wherewhat.errors import UserError
from wherewhat.models.stored import WEIGHTS, Stored, read_json, read_stored
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk
from wherewhat.tables.files import recover, write_run
from wherewhat.tasks.base import Balanced
from wherewhat.tasks.mixture import Mixture
from wherewhat.tasks.registry import task

CONFIG, TOKENIZER = "config.json", "tokenizer.json"
FILES = (WEIGHTS, CONFIG, TOKENIZER)
AGAIN = "train again or copy the folder anew"
SMALL = 1 << 10  # a size below this is harmless even if no tensor has it
FORMAT = 1  # of the folder; `wherewhat_net` in config.json holds it and marks the folder as ours


Learnt = TypeVar("Learnt")


@dataclass(frozen=True)
class Reads:
    """What a net that reads words has beside it."""

    words: Words
    corpus: Corpus | None = None  # what it has read
    asked: Examples | None = None  # what it was asked, if it learnt to answer a question


@dataclass(frozen=True)
class Model:
    """A net read from a folder."""

    net: Trunk
    tasks: tuple[Balanced, ...]  # what it learnt, so that it can make its own texts
    extra: dict[str, Any]  # whatever else its config.json holds
    words: Words | None = None  # the vocabulary of one that reads words
    corpus: Corpus | None = None  # what that one has read
    asked: Examples | None = None  # what that one was asked

    @property
    def question(self) -> str | None:
        """The question that it learnt to answer, if it did."""
        return None if self.asked is None else self.asked.question


def save_model(
    folder: Path,
    net: Trunk,
    *,
    tasks: Sequence[Balanced] = (),
    reads: Reads | None = None,
    extra: Mapping[str, Any] | None = None,
) -> None:
    """Write a net and what it learnt in one step: a kill leaves the net that was there before, or this one."""
    write_run(folder, model_files(net, tasks=tasks, reads=reads, extra=extra), earlier=FILES)


def model_files(
    net: Trunk,
    *,
    tasks: Sequence[Balanced] = (),
    reads: Reads | None = None,
    extra: Mapping[str, Any] | None = None,
) -> dict[str, bytes]:
    """The files of a net's folder, by their names."""
    # Cloned, because a part that several blocks share has several names and the file wants each name's own numbers.
    weights = {name: tensor.detach().clone() for name, tensor in net.state_dict().items()}
    config = {"wherewhat_net": FORMAT, "net": net.config.to_dict(), "tasks": tasks_to_list(tasks)}
    config |= {"reads": reads is not None}
    files = {WEIGHTS: save(weights, metadata={"format": "pt"})}
    if reads is not None:
        config |= {} if reads.corpus is None else {"corpus": reads.corpus.plain()}
        config |= {} if reads.asked is None else {"question": reads.asked.plain()}
        files[TOKENIZER] = reads.words.json().encode()
    return {**files, CONFIG: (json.dumps({**config, **(extra or {})}, indent=2) + "\n").encode()}


def load_model(folder: Path) -> Model:
    """Read a net back, ready to run. Every way in which the folder can be broken has its sentence."""
    config, path = _read_config(folder), folder / CONFIG
    _check_sizes(config["net"], read_stored(folder / WEIGHTS, AGAIN), path)
    net = build(NetConfig.from_dict(config.pop("net")))
    tasks = _read_tasks(config.pop("tasks"), net.config, path)
    corpus = _read_learnt(config.pop("corpus", None), corpus_from, f"the corpus in {path}")
    asked = _read_learnt(config.pop("question", None), examples_from, f"the question in {path}")
    reads = config.pop("reads", corpus is not None)
    if not isinstance(reads, bool):
        raise UserError(f"{path} gives reads as {reads!r}; it must be true or false")
    words = _read_words(folder / TOKENIZER, net) if reads else None
    _fill(net, _read_weights(folder / WEIGHTS), folder / WEIGHTS)
    return Model(net.eval(), tasks, config, words, corpus, asked)


def holds_net(folder: Path) -> bool:
    """Whether the folder holds one of our nets, rather than someone else's model or nothing."""
    try:
        return "wherewhat_net" in json.loads((folder / CONFIG).read_text())
    except (OSError, ValueError, TypeError, RecursionError):
        return False


def net_folder(name: str | Path) -> Path | None:
    """Where a net of ours lies in a folder: in itself, or in its model folder if it is that of a training run."""
    if Path(name).is_dir():
        recover(Path(name))
    return next((folder for folder in (Path(name), Path(name) / "model") if holds_net(folder)), None)


def tasks_to_list(tasks: Sequence[Balanced]) -> list[dict[str, Any]]:
    """Tasks as plain values, ready for JSON: name and sizes."""
    listed: list[dict[str, Any]] = json.loads(json.dumps([{"name": each.name, **each.sizes()} for each in tasks]))
    return listed


def tasks_from_list(values: Sequence[Mapping[str, Any]]) -> tuple[Balanced, ...]:
    """Back from plain values."""
    return tuple(task(**each) for each in values)


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    if not path.is_file():
        raise UserError(f"{folder} holds no net: {path} cannot be read; give the model folder of a training run")
    config = read_json(path, AGAIN)
    if not {"wherewhat_net", "net", "tasks"} <= set(config):
        raise UserError(f"{path} does not describe a net of ours; give the model folder of a training run")
    for name in ("training", "read"):
        if not isinstance(config.get(name, {}), dict):
            raise UserError(f"{path} gives {name} as {config[name]!r:.40}; it must be names with values; {AGAIN}")
    version = config.pop("wherewhat_net")
    if version != FORMAT or isinstance(version, bool):
        raise UserError(
            f"{path} is of format {version} and this wherewhat reads format {FORMAT}; install the other version"
        )
    return config


def _check_sizes(net: Any, stored: Mapping[str, Stored], path: Path) -> None:
    """Compare a config with what the weights' header says, before anything of its sizes is made."""
    if not isinstance(net, dict):
        raise UserError(f"{path} gives net as {net!r:.40}; it must be names with values: width, layers, heads, ...")
    tokens = stored.get("tokens.weight")
    if tokens is None or len(tokens.shape) != 2:
        raise UserError(f"{path.parent / WEIGHTS} holds no table of tokens, so it is not a net's; copy the folder anew")
    blocks = [int(block[1]) for name in stored if (block := re.match(r"blocks\.(\d{1,9})\.", name))]
    held = {"vocabulary": tokens.shape[0], "width": tokens.shape[1], "layers": max(blocks, default=-1) + 1}
    for name, size in held.items():
        asked = net.get(name, size)
        if isinstance(asked, int) and asked != size and asked > 0:  # what is no size at all, a net's config refuses
            raise UserError(f"{path} gives {name} as {asked!r:.40} and its weights have {size}; copy both files anew")
    largest = max(max(each.shape, default=1) for each in stored.values())
    for name, times in (("mlp", held["width"]), ("kernel", 1)):
        asked = net.get(name)
        if isinstance(asked, int) and asked * times > max(largest, SMALL):
            raise UserError(
                f"{path} gives {name} as {asked!r:.40}, which its weights cannot fill; copy both files anew"
            )


def _read_tasks(given: Any, net: NetConfig, path: Path) -> tuple[Balanced, ...]:
    """What the net learnt, if the net can read it."""
    if not isinstance(given, list) or not all(isinstance(each, dict) and "name" in each for each in given):
        raise UserError(
            f"{path} gives tasks as {given!r:.40}; it must be a list of tasks, each with its name and sizes"
        )
    tasks = tasks_from_list(given)
    if not tasks:
        return tasks
    both = Mixture(tasks)
    for size, needed in (("vocabulary", both.vocabulary), ("length", both.length)):
        if getattr(net, size) < needed:
            raise UserError(
                f"the tasks in {path} do not fit its net: they need a {size} of {needed:,} and the net's is "
                f"{getattr(net, size):,}; copy the folder anew"
            )
    return tasks


def _read_learnt(given: Any, make: Callable[[Mapping[str, Any]], Learnt], what: str) -> Learnt | None:
    """A corpus or a question, made again from plain values."""
    if given is None:
        return None
    if not isinstance(given, dict):
        raise UserError(f"{what} is {given!r:.40}; it must be names with values")
    return make(given)


def _read_words(path: Path, net: Trunk) -> Words:
    try:
        words = Words.from_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); {AGAIN}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text; {AGAIN}") from error
    if len(words) != net.config.vocabulary:
        raise UserError(
            f"{path} has {len(words)} entries and the net knows {net.config.vocabulary}; copy the folder anew"
        )
    return words


def _read_weights(path: Path) -> dict[str, Tensor]:
    try:
        return load(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); {AGAIN}") from error
    except SafetensorError as error:
        raise UserError(f"{path} is damaged or cut short ({error}); {AGAIN}") from error


def _fill(net: Trunk, weights: Mapping[str, Tensor], path: Path) -> None:
    """Copy weights into the net, after making sure that they are this net's and all finite."""
    wanted = {name: tensor.shape for name, tensor in net.state_dict().items()}
    found = {name: tensor.shape for name, tensor in weights.items()}
    if wanted != found:
        odd = next(name for name in [*wanted, *found] if wanted.get(name) != found.get(name))
        raise UserError(f"{path} does not fit its config.json: {odd} differs; copy both files anew")
    for name, tensor in weights.items():
        if tensor.is_floating_point() != net.state_dict()[name].is_floating_point():
            raise UserError(f"{path} holds {str(tensor.dtype).removeprefix('torch.')} in {name}, which is no weight")
        if not torch.isfinite(tensor).all():
            raise UserError(f"{path} has values in {name} that are not finite; train again with a lower learning rate")
    net.load_state_dict(dict(weights))
