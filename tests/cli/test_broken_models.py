"""Broken models, made by the hundred: one sentence that names what is wrong, exit code 2, quickly, and no traceback."""

import copy
import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from folders import save_model, save_tokenizer
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, LlamaForCausalLM, Qwen2Config, Qwen2Model

from wherewhat.capture.loading import from_transformers, load
from wherewhat.cli.main import main
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.question_corpus import QuestionCorpus
from wherewhat.errors import UserError
from wherewhat.models.folder import NetTexts, load_model
from wherewhat.models.folder import save_model as save_net
from wherewhat.models.registry import MODELS
from wherewhat.models.stored import stored_in
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig

SLOWEST = 10  # seconds
NAN, INFINITY = float("nan"), float("inf")
BAD = [None, "x", "32", 2.5, 0, -1, 7, 10**9, 10**30, NAN, INFINITY, [1], {"a": 1}, True]
DEEP = json.loads('{"a":' * 100 + "1" + "}" * 100)
# Every family with those of its fields that decide what is built; with each of them, values that may be so.
SIZES: dict[str, dict[str, list[Any]]] = {
    "llama": {
        "hidden_size": [],
        "num_hidden_layers": [],
        "num_attention_heads": [],
        "num_key_value_heads": [],
        "vocab_size": [],
        "intermediate_size": [],
        "head_dim": [None],  # follows from the others
    },
    "gpt2": {"n_embd": [], "n_layer": [], "n_head": [], "n_positions": [None], "vocab_size": []},
    "bert": {
        "hidden_size": [],
        "num_hidden_layers": [],
        "num_attention_heads": [],
        "vocab_size": [],
        "max_position_embeddings": [],
        "hidden_dropout_prob": [0, True],
    },
    "t5": {"d_model": [], "num_layers": [], "num_heads": [], "d_kv": [], "d_ff": [], "vocab_size": []},
    "gemma3_text": {
        "hidden_size": [],
        "num_hidden_layers": [],
        "num_attention_heads": [7],
        "head_dim": [],
        "rms_norm_eps": [2.5, INFINITY],
    },
    "albert": {"num_hidden_layers": [7], "embedding_size": [], "intermediate_size": []},
}
OTHERS = {  # fields of any family that are no sizes
    "model_type": BAD,
    "architectures": [each for each in BAD if each is not None],
    "dtype": [each for each in BAD if each is not None and not isinstance(each, dict)],
    "pad_token_id": ["x", 2.5, -7, 10**9, 10**30, NAN, [1], True],
    "max_position_embeddings": ["x", 2.5, 0, -1, 10**9, 10**30, NAN, [1], True],
    "rms_norm_eps": [None, "x", 0, NAN, [1], True],
    "hidden_act": BAD,
    "attention_dropout": ["x", 2.5, -1, NAN, [1], True],
    "rope_parameters": ["x", 2.5, 7, [1], DEEP],
    "id2label": ["x", 7, [1]],
    "num_labels": ["x", 0, -1, 10**9],
    "anything": [DEEP, NAN, 10**30],
}
BROKEN_FILES = {
    "nothing": b"",
    "half of it": b'{"model_type',
    "a list": b"[]",
    "null": b"null",
    "no text": b"\xff\xfe\x00",
    "depths": b"[" * 5000 + b"]" * 5000,
}

Say = Callable[..., tuple[int, str]]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: Path) -> Say:
    """Profile a model as a user would; give back the exit code and what was said, which must have come soon."""

    def run(model: object, *more: str) -> tuple[int, str]:
        words = [] if model == "tiny" or "--own" in more else ["--text", str(text)]
        more = tuple(each for each in more if each != "--own")
        quick = ["--scores", "locality", "--no-untrained", "--max-texts", "2", "--quiet"]
        capsys.readouterr()  # what making the model said
        began = time.process_time()  # of this process: other work on the machine does not count
        code = main(["heads", str(model), *words, *quick, "--out", str(tmp_path / "out"), "--overwrite", *more])
        assert time.process_time() - began < SLOWEST
        return code, capsys.readouterr().err

    return run


def faults(code: int, err: str, name: str) -> str | None:
    """What is wrong with how a case was refused."""
    if code != 2:
        return f"exit {code}: {err[-300:]}"
    if "Traceback" in err or err.count("\n") != 1 or not err.startswith("wherewhat: "):
        return f"not one sentence: {err[-300:]}"
    return None if name in err else f"does not name {name}: {err}"


def short(value: object) -> str:
    return repr(value)[:20]


def same(value: object, other: object) -> bool:
    return type(value) is type(other) and value == other


def config_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "config.json").read_text())


def write(folder: Path, config: dict[str, Any]) -> None:
    (folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize("family", SIZES)
def test_sizes_that_no_model_can_have(say: Say, tmp_path: Path, family: str):
    folder = save_model(tmp_path / "model", family.removesuffix("_text"))
    config, wrong = config_of(folder), {}
    assert config["model_type"] == family
    for name, fine in SIZES[family].items():
        for value in BAD:
            write(folder, {**config, name: value})
            code, err = say(folder)
            fault = faults(code, err, name)
            if fault and not (code == 0 and any(same(value, each) for each in fine)):
                wrong[name, short(value)] = fault
    assert not wrong


def test_fields_that_are_no_sizes(say: Say, tmp_path: Path):
    folder = save_model(tmp_path / "model")
    config, wrong = config_of(folder), {}
    for name, values in OTHERS.items():
        for value in values:
            write(folder, {**config, name: value})
            if fault := faults(*say(folder), name):
                wrong[name, short(value)] = fault
    assert not wrong


@pytest.mark.parametrize(
    "file", ["config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors.index.json"]
)
def test_files_that_are_not_what_they_should_be(say: Say, tmp_path: Path, file: str):
    folder = save_model(tmp_path / "model")
    if "index" in file:
        (folder / "model.safetensors").rename(folder / "part.safetensors")
    wrong = {}
    for what, content in BROKEN_FILES.items():
        (folder / file).write_bytes(content)
        if fault := faults(*say(folder), "tokenizer" if "tokenizer" in file else file):
            wrong[what] = fault
    assert not wrong


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ({}, "has no weight_map"),
        ({"weight_map": ["a"]}, "has no weight_map"),
        ({"weight_map": {"a": 5}}, "has no weight_map"),
        (
            {"weight_map": {"a": "../part.safetensors"}},
            "names '../part.safetensors', which is not a file in its folder",
        ),
        ({"weight_map": {"a": "b" * 300}}, "which is not a file in its folder"),
        ({"weight_map": {"a": "other.safetensors"}}, "names other.safetensors, which is not in the folder"),
        ({"weight_map": {"a": "part.safetensors"}, "metadata": 5}, "gives metadata as 5"),
    ],
)
def test_an_index_of_weights_that_leads_nowhere(say: Say, tmp_path: Path, index: dict[str, Any], said: str):
    folder = save_model(tmp_path / "model")
    (folder / "model.safetensors").rename(folder / "part.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert faults(*say(folder), said) is None


def test_weights_in_several_files_are_counted_together(say: Say, tmp_path: Path):
    folder = save_model(tmp_path / "model")
    weights = load_file(folder / "model.safetensors")
    parts = {name: f"part-{number % 2}.safetensors" for number, name in enumerate(weights)}
    for part in set(parts.values()):
        held = {name: weights[name] for name in weights if parts[name] == part}
        save_file(held, folder / part, metadata={"format": "pt"})
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": parts}))
    assert say(folder)[0] == 0
    write(folder, {**config_of(folder), "num_hidden_layers": 3})
    assert faults(*say(folder), "num_hidden_layers = 3, and the weights hold 2") is None


def test_null_where_the_config_fills_it_from_other_fields(say: Say, tmp_path: Path):
    config = Qwen2Config(
        vocab_size=40, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4
    )
    config.num_key_value_heads = 4
    Qwen2Model(config).save_pretrained(tmp_path / "model")
    save_tokenizer(tmp_path / "model")
    write(tmp_path / "model", {**config_of(tmp_path / "model"), "num_key_value_heads": None})
    assert say(tmp_path / "model")[0] == 0
    write(tmp_path / "model", {**config_of(tmp_path / "model"), "hidden_size": None})
    assert faults(*say(tmp_path / "model"), "hidden_size as null; it must be a number") is None


@pytest.mark.parametrize(("family", "code"), [("gpt2", 0), ("llama", 2)])
def test_padding_beyond_the_vocabulary_matters_only_where_it_is_embedded(
    say: Say, tmp_path: Path, family: str, code: int
):
    folder = save_model(tmp_path / "model", family)
    config = config_of(folder)
    write(folder, {**config, "pad_token_id": config["vocab_size"]})
    ended, err = say(folder)
    assert ended == code and (code == 0 or faults(ended, err, "pad_token_id in its config.json") is None)


def test_an_interrupted_download_is_not_damaged(tmp_path: Path):
    parts = {"a": "part-0.safetensors", "b": "part-1.safetensors"}
    save_file({"a": torch.ones(2)}, tmp_path / "part-0.safetensors")
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": parts}))
    assert stored_in(tmp_path, cached=True) is None
    with pytest.raises(UserError, match=r"names part-1\.safetensors, which is not in the folder"):
        stored_in(tmp_path)


def test_what_is_missing_in_the_cache_is_left_to_transformers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = save_model(tmp_path / "model")
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "part-0.safetensors"}}))
    monkeypatch.setattr(from_transformers, "must_be_cached", lambda *_, **__: False)
    monkeypatch.setattr(from_transformers, "cached_file", lambda *_, **__: str(folder / "config.json"))

    class AskedError(Exception):
        pass

    def reading(*_: Any, **__: Any) -> Any:
        raise AskedError

    with pytest.raises(Exception) as raised:
        load.load_by_name("some/model", load.LoadSettings(), from_pretrained=reading)
    assert isinstance(raised.value.__cause__ or raised.value, AskedError)


@pytest.mark.parametrize("name", ["a" * 300, "é" * 200, "./" + "b" * 256, "a/" * 3000, "a\0b"])
def test_names_that_no_file_can_have(say: Say, name: str):
    assert faults(*say(name), "the model's name") is None


@pytest.mark.parametrize("option", ["--out", "--blocks"])
def test_other_names_that_no_file_can_have(say: Say, option: str):
    assert faults(*say("tiny", option, "n" * 300), "is longer than a file's may be") is None


# ---- our own nets


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The way to every value within a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inner:
        yield (*path, name)
        yield from places(each, (*path, name))


def changed(config: dict[str, Any], path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    found = copy.deepcopy(config)
    at: Any = found
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return found


def net_of(folder: Path, encoding: str = "rope", **options: Any) -> Path:
    """A net of each kind of belongings: tasks, or words with a corpus and a question."""
    words = QuestionCorpus("names").words()
    config = NetConfig(
        vocabulary=len(words), width=16, layers=2, heads=2, encoding=encoding, encoding_options=options, length=32
    )
    reads = NetTexts(words, Grammar(past=True), QuestionCorpus("names"))
    save_net(folder, build(config), reads=reads)
    return folder


FINE_IN_TINY = {  # other tasks than were learnt, or what only other kinds of nets look at
    "kernel": [7],
    "length": [10**9, 10**30],
    "hops": [[1]],
    "n_letters": [7],
    "n_int": [7],
    "training": [{"a": 1}],
    1: [7],
}


def test_a_net_of_tasks(say: Say, tmp_path: Path):
    folder = Path(shutil.copytree(MODELS["tiny"].folder, tmp_path / "net"))
    config, wrong = config_of(folder), {}
    within = list(places({name: value for name, value in config.items() if name != "training"}))
    for path in [*within, ("training",)]:
        for value in BAD:
            if any(same(value, fine) for fine in FINE_IN_TINY.get(path[-1], [])):
                continue
            write(folder, changed(config, path, value))
            name = next(step for step in reversed(path) if isinstance(step, str))
            named = {"wherewhat_net": "format", "encoding_options": "encoding"}.get(name, name)
            named = "task" if path[0] == "tasks" else named  # sizes of several tasks that do not go together
            if fault := faults(*say(folder, "--own"), named):
                wrong[path, short(value)] = fault
    assert not wrong


def test_a_net_of_words(tmp_path: Path):
    """Loaded alone: what it reads is made when it is read."""
    folder = net_of(tmp_path / "net", "learned", sigma=0.02)
    config, wrong, refused = config_of(folder), {}, 0
    load_model(folder)
    for path in places(config):
        for value in [*BAD, DEEP]:
            write(folder, changed(config, path, value))
            try:
                load_model(folder)
            except UserError as error:
                refused += 1
                assert "\n" not in str(error)
            except Exception as error:
                wrong[path, short(value)] = repr(error)
    assert not wrong
    assert refused > 200


def test_a_question_of_a_billion_examples(tmp_path: Path):
    folder = net_of(tmp_path / "net")
    write(folder, changed(config_of(folder), ("question", "test"), 10**9))
    with pytest.raises(UserError, match="a question cannot have 1000000000 examples of test"):
        load_model(folder)


def test_an_encoding_of_a_billion_tokens(tmp_path: Path):
    folder = net_of(tmp_path / "net", "learned")
    write(folder, changed(config_of(folder), ("net", "length"), 10**9))
    with pytest.raises(UserError, match="'learned' wants its length to be at most"):
        load_model(folder)


def test_integers_are_no_weights_of_a_net(say: Say, tmp_path: Path):
    folder = Path(shutil.copytree(MODELS["tiny"].folder, tmp_path / "net"))
    alter(folder, lambda weights: weights.update({"head.weight": weights["head.weight"].to(torch.int32)}))
    assert faults(*say(folder, "--own"), "holds int32 in head.weight") is None


@pytest.mark.parametrize("path", [("tasks", 0, "n_letters"), ("tasks", 1, "n_int")])
def test_a_task_that_does_not_fit_the_net(say: Say, tmp_path: Path, path: tuple[str, int, str]):
    folder = Path(shutil.copytree(MODELS["tiny"].folder, tmp_path / "net"))
    config = config_of(folder)
    write(folder, changed(config, path, 40))
    assert faults(*say(folder, "--own"), "do not fit its net: they need a vocabulary of") is None
    write(folder, changed(config, path, 7))
    assert say(folder, "--own")[0] == 0
    assert any("they may not be those that it was trained on" in note for note in notes(tmp_path))


def test_sequences_longer_than_the_net_reads(say: Say, tmp_path: Path):
    folder = Path(shutil.copytree(MODELS["tiny"].folder, tmp_path / "net"))
    write(folder, changed(config_of(folder), ("net", "length"), 7))
    assert faults(*say(folder, "--own"), "they need a length of 17 and the net's is 7") is None


# ---- what is said rather than accepted in silence


def alter(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def notes(tmp_path: Path) -> list[str]:
    found: list[str] = json.loads((tmp_path / "out" / "manifest.json").read_text())["notes"]
    return found


@pytest.mark.parametrize("family", ["llama", "bert"])
def test_weights_of_zeros(say: Say, tmp_path: Path, family: str):
    folder = save_model(tmp_path / "model", family)
    name = {"llama": "layers.1.mlp.up_proj.weight", "bert": "encoder.layer.1.output.dense.weight"}[family]
    alter(folder, lambda weights: weights[name].zero_())
    assert say(folder)[0] == 0
    assert any("hold nothing but 0; the first is " + name in note for note in notes(tmp_path))
    alter(folder, lambda weights: [tensor.zero_() for tensor in weights.values() if tensor.dim() > 1])
    assert faults(*say(folder), "hold nothing but 0, so there is nothing to measure") is None


def test_tensors_without_a_place_are_noted(capsys, tmp_path: Path, text: Path):
    folder = save_model(tmp_path / "model")
    alter(folder, lambda weights: weights.update({"layers.0.adapter.weight": torch.ones(2, 2)}))
    assert main(["heads", str(folder), "--text", str(text), "--no-untrained", "--out", str(tmp_path / "out")]) == 0
    said = "The weights hold 1 tensor that LlamaModel has no place for, such as layers.0.adapter.weight: not used."
    assert said in notes(tmp_path)
    assert f"wherewhat: {said}" in capsys.readouterr().err


def test_a_head_that_is_left_out_on_purpose_is_not_noted(say: Say, tmp_path: Path):
    folder = save_model(tmp_path / "model")
    LlamaForCausalLM(AutoConfig.from_pretrained(folder)).save_pretrained(folder)
    assert say(folder)[0] == 0
    assert not any("no place for" in note for note in notes(tmp_path))


def test_integers_are_no_weights(say: Say, tmp_path: Path):
    folder = save_model(tmp_path / "model")
    name = "layers.0.self_attn.q_proj.weight"
    alter(folder, lambda weights: weights.update({name: (weights[name] * 100).to(torch.int8)}))
    assert faults(*say(folder), f"hold integers in {name} (I8)") is None


@pytest.mark.parametrize(("family", "field"), [("llama", "num_hidden_layers"), ("gpt2", "n_layer")])
def test_fewer_layers_than_the_weights_hold(say: Say, tmp_path: Path, family: str, field: str):
    folder = save_model(tmp_path / "model", family)
    config = {name: value for name, value in config_of(folder).items() if name != "layer_types"}
    write(folder, {**config, field: 1})
    assert say(folder)[0] == 0
    assert "The config asks for 1 of the 2 layers that the weights hold; the others are not used." in notes(tmp_path)


def test_a_revision_of_what_has_none(say: Say, tmp_path: Path):
    folder = save_model(tmp_path / "model")
    assert faults(*say(folder, "--revision", "main"), "is a folder and has no revision 'main'") is None
    assert faults(*say("tiny", "--revision", "main"), "comes with the package and has no revision") is None


def test_a_mistake_of_ours_while_loading_stays_one(say: Say, tmp_path: Path, monkeypatch):
    folder = save_model(tmp_path / "model")
    monkeypatch.setattr("wherewhat.capture.loading.from_transformers._unused", lambda *args: 1 / 0)
    code, err = say(folder)
    assert code == 1 and "this is a bug in wherewhat" in err


def test_a_mistake_of_ours_while_choosing_a_head_stays_one(tmp_path: Path, monkeypatch):
    from wherewhat.capture.loading.load import LoadSettings
    from wherewhat.capture.outputs import language_model

    folder = save_model(tmp_path / "model")
    monkeypatch.setattr(language_model, "ENDINGS", None)
    with pytest.raises(AttributeError):
        language_model.load_language_model(str(folder), LoadSettings())
