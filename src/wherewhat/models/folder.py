"""A net as a folder: `model.safetensors` and `config.json`, with its architecture and what it was trained on.

A net that reads words also has its vocabulary, `tokenizer.json`.
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

from wherewhat.corpora.base import Corpus
from wherewhat.corpora.question_corpus import QuestionCorpus, question_corpus_from
from wherewhat.corpora.registry import corpus_from
from wherewhat.corpora.speech.base import SpeechCorpus
from wherewhat.corpora.speech.registry import speech_corpus_from
from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.errors import UserError
from wherewhat.models.stored import WEIGHTS, StoredTensor, read_json, read_stored
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk
from wherewhat.tables.files import recover, write_run
from wherewhat.tasks.base import Balanced
from wherewhat.tasks.mixture import combined
from wherewhat.tasks.registry import AloneTask, AnyTask, any_task

CONFIG, TOKENIZER = "config.json", "tokenizer.json"
FILES = (WEIGHTS, CONFIG, TOKENIZER)
AGAIN = "train again or copy the folder again"
SMALL = 1 << 10  # a size below this is harmless even if no tensor has it
FORMAT = 1  # version of the folder; `wherewhat_net` in config.json holds it and marks the folder as ours


Learnt = TypeVar("Learnt")


@dataclass(frozen=True)
class NetTexts:
    """What is stored beside a net that reads words."""

    words: WordVocabulary
    corpus: Corpus | None = None  # what it was trained on
    question_corpus: QuestionCorpus | None = None  # the examples of its question, if it is a classifier


@dataclass(frozen=True)
class StoredNet:
    """A net loaded from a folder, with what it was trained on."""

    net: Trunk
    tasks: tuple[Balanced, ...]  # what it was trained on, so that texts can be drawn from them
    extra: dict[str, Any]  # everything else in its config.json
    words: WordVocabulary | None = None  # of a net that reads words
    corpus: Corpus | None = None  # that it was trained on
    question_corpus: QuestionCorpus | None = None  # that it was trained on
    speech: SpeechCorpus | None = None  # that it was trained on
    alone: AloneTask | None = None  # the task that it was trained on, in place of `tasks`, if that is learnt alone

    @property
    def question(self) -> str | None:
        """The question that it was trained to answer, if any."""
        return None if self.question_corpus is None else self.question_corpus.question


def save_model(
    folder: Path,
    net: Trunk,
    *,
    tasks: Sequence[AnyTask] = (),
    reads: NetTexts | None = None,
    speech: SpeechCorpus | None = None,
    extra: Mapping[str, Any] | None = None,
) -> None:
    """Write a net and what it was trained on atomically: a kill leaves the earlier net, or this one."""
    write_run(folder, model_files(net, tasks=tasks, reads=reads, speech=speech, extra=extra), earlier=FILES)


def model_files(
    net: Trunk,
    *,
    tasks: Sequence[AnyTask] = (),
    reads: NetTexts | None = None,
    speech: SpeechCorpus | None = None,
    extra: Mapping[str, Any] | None = None,
) -> dict[str, bytes]:
    """The files of a net's folder, by their names."""
    # Cloned: a module that several blocks share has several names, and the file needs separate tensors.
    weights = {name: tensor.detach().clone() for name, tensor in net.state_dict().items()}
    config = {"wherewhat_net": FORMAT, "net": net.config.to_dict(), "tasks": tasks_to_list(tasks)}
    config |= {"reads": reads is not None} | ({} if speech is None else {"speech": speech.plain()})
    files = {WEIGHTS: save(weights, metadata={"format": "pt"})}
    if reads is not None:
        config |= {} if reads.corpus is None else {"corpus": reads.corpus.plain()}
        config |= {} if reads.question_corpus is None else {"question": reads.question_corpus.plain()}
        files[TOKENIZER] = reads.words.json().encode()
    return {**files, CONFIG: (json.dumps({**config, **(extra or {})}, indent=2) + "\n").encode()}


def load_model(folder: Path) -> StoredNet:
    """Load a net, ready to run; a damaged folder is refused with the reason."""
    config, path = _read_config(folder), folder / CONFIG
    _check_sizes(config["net"], read_stored(folder / WEIGHTS, AGAIN), path)
    net = build(NetConfig.from_dict(config.pop("net")))
    tasks = _read_tasks(config.pop("tasks"), net.config, path)
    corpus = _read_learnt(config.pop("corpus", None), corpus_from, f"the corpus in {path}")
    question_corpus = _read_learnt(config.pop("question", None), question_corpus_from, f"the question in {path}")
    speech = _read_learnt(config.pop("speech", None), speech_corpus_from, f"the speech in {path}")
    reads = config.pop("reads", corpus is not None)
    if not isinstance(reads, bool):
        raise UserError(f"{path} gives reads as {reads!r}; it must be true or false")
    words = _read_words(folder / TOKENIZER, net) if reads else None
    _fill(net, folder / WEIGHTS)
    answering = tuple(each for each in tasks if isinstance(each, Balanced))
    alone = next((each for each in tasks if not isinstance(each, Balanced)), None)
    return StoredNet(net.eval(), answering, config, words, corpus, question_corpus, speech, alone)


def holds_net(folder: Path) -> bool:
    """Whether the folder holds one of our nets, rather than someone else's model or nothing."""
    try:
        return "wherewhat_net" in json.loads((folder / CONFIG).read_text())
    except (OSError, ValueError, TypeError, RecursionError):
        return False


def net_folder(name: str | Path) -> Path | None:
    """The folder of one of our nets: this one, or `model` in a training run's folder; None if there is none."""
    if Path(name).is_dir():
        recover(Path(name))
    return next((folder for folder in (Path(name), Path(name) / "model") if holds_net(folder)), None)


def tasks_to_list(tasks: Sequence[AnyTask]) -> list[dict[str, Any]]:
    """Tasks as plain values, ready for JSON: name and sizes."""
    listed: list[dict[str, Any]] = json.loads(json.dumps([{"name": each.name, **each.sizes()} for each in tasks]))
    return listed


def tasks_from_list(values: Sequence[Mapping[str, Any]]) -> tuple[AnyTask, ...]:
    """Back from plain values."""
    return tuple(any_task(**each) for each in values)


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    if not path.is_file():
        raise UserError(f"{folder} holds no net: {path} cannot be read; give the model folder of a training run")
    config = read_json(path, AGAIN)
    if not {"wherewhat_net", "net", "tasks"} <= set(config):
        raise UserError(f"{path} does not describe a wherewhat net; give the model folder of a training run")
    for name in ("training", "read"):
        if not isinstance(config.get(name, {}), dict):
            raise UserError(f"{path} gives {name} as {config[name]!r:.40}; it must be an object; {AGAIN}")
    version = config.pop("wherewhat_net")
    if version != FORMAT or isinstance(version, bool):
        raise UserError(
            f"{path} is of format {version} and this wherewhat reads format {FORMAT}; install the other version"
        )
    return config


def _check_sizes(net: Any, stored: Mapping[str, StoredTensor], path: Path) -> None:
    """Compare a config with the header of the weights, before anything is allocated."""
    if not isinstance(net, dict):
        raise UserError(f"{path} gives net as {net!r:.40}; it must be an object with width, layers, heads, ...")
    tokens = stored.get("tokens.weight")
    if tokens is None or len(tokens.shape) != 2:
        raise UserError(f"{path.parent / WEIGHTS} holds no token embeddings, so it is not a net; copy the folder again")
    blocks = [int(block[1]) for name in stored if (block := re.match(r"blocks\.(\d{1,9})\.", name))]
    held = {"vocabulary": tokens.shape[0], "width": tokens.shape[1], "layers": max(blocks, default=-1) + 1}
    for name, size in held.items():
        given = net.get(name, size)
        if isinstance(given, int) and given != size and given > 0:  # what is not a size is refused by NetConfig
            raise UserError(f"{path} gives {name} as {given!r:.40} and its weights have {size}; copy both files again")
    largest = max(max(each.shape, default=1) for each in stored.values())
    for name, times in (
        ("mlp", held["width"]),
        ("kernel", 1),
        ("readout_queries", 1),
        ("readout_classes", 1),
        ("readout_mlp", held["width"]),
        ("features", 1),
    ):
        given = net.get(name)
        if isinstance(given, int) and given * times > max(largest, SMALL):
            raise UserError(
                f"{path} gives {name} as {given!r:.40}, which does not fit its weights; copy both files again"
            )


def _read_tasks(given: Any, net: NetConfig, path: Path) -> tuple[AnyTask, ...]:
    """The tasks of a net, if the net can read them."""
    if not isinstance(given, list) or not all(isinstance(each, dict) and "name" in each for each in given):
        raise UserError(
            f"{path} gives tasks as {given!r:.40}; it must be a list of tasks, each with its name and sizes"
        )
    tasks = tasks_from_list(given)
    if not tasks:
        return tasks
    both = combined(tasks)
    for size, needed in (("vocabulary", both.vocabulary), ("length", both.length)):
        if getattr(net, size) < needed:
            raise UserError(
                f"the tasks in {path} do not fit its net: they need a {size} of {needed:,} and the net's is "
                f"{getattr(net, size):,}; copy the folder again"
            )
    return tasks


def _read_learnt(given: Any, make: Callable[[Mapping[str, Any]], Learnt], what: str) -> Learnt | None:
    """A corpus or a question, restored from plain values."""
    if given is None:
        return None
    if not isinstance(given, dict):
        raise UserError(f"{what} is {given!r:.40}; it must be an object")
    return make(given)


def _read_words(path: Path, net: Trunk) -> WordVocabulary:
    try:
        words = WordVocabulary.from_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); {AGAIN}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text; {AGAIN}") from error
    if len(words) != net.config.vocabulary:
        raise UserError(
            f"{path} has {len(words)} entries and the net knows {net.config.vocabulary}; copy the folder again"
        )
    return words


def _fill(net: Trunk, path: Path) -> None:
    """Copy stored weights into the net, after checking that they fit and are finite."""
    try:
        weights = load(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); {AGAIN}") from error
    except SafetensorError as error:
        raise UserError(f"{path} is damaged or cut short ({error}); {AGAIN}") from error
    built = {name: tensor.shape for name, tensor in net.state_dict().items()}
    stored = {name: tensor.shape for name, tensor in weights.items()}
    if built != stored:
        different = next(name for name in [*built, *stored] if built.get(name) != stored.get(name))
        raise UserError(f"{path} does not fit its config.json: {different} differs; copy both files again")
    for name, tensor in weights.items():
        if tensor.is_floating_point() != net.state_dict()[name].is_floating_point():
            raise UserError(f"{path} holds {str(tensor.dtype).removeprefix('torch.')} in {name}, which is no weight")
        if not torch.isfinite(tensor).all():
            raise UserError(f"{path} has values in {name} that are not finite; train again with a lower learning rate")
    net.load_state_dict(dict(weights))
