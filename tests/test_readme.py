"""The README's examples run as they are written; models of the Hub are replaced by small ones of the same families."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
import transformers
import typer.main
from folders import save_tokenizer

from wherewhat.cli.main import app, main
from wherewhat.tables.texts import read_texts

README = (Path(__file__).resolve().parents[1] / "README.md").read_text()
SHELL = "\n".join(re.findall(r"```sh\n(.*?)```", README, re.DOTALL))
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
LINES = [command.strip() for line in SHELL.splitlines() for command in line.partition("# ")[0].split("&&")]
COMMANDS = [shlex.split(line)[1:] for line in LINES if line.startswith("wherewhat ")]
HUB = {
    "openai-community/gpt2": (transformers.GPT2LMHeadModel, transformers.GPT2Config, {"n_embd": 32, "n_layer": 2}),
    "HuggingFaceTB/SmolLM2-135M": (
        transformers.LlamaForCausalLM,
        transformers.LlamaConfig,
        {"hidden_size": 72, "intermediate_size": 64, "num_hidden_layers": 4, "num_key_value_heads": 3},
    ),
    "google-bert/bert-base-uncased": (
        transformers.BertForMaskedLM,
        transformers.BertConfig,
        {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2},
    ),
}
HEADS = {"openai-community/gpt2": {"n_head": 4}, "HuggingFaceTB/SmolLM2-135M": {"num_attention_heads": 9}}
MINUTES = {"train", "sweep", "reproduce", "probe"}  # learn for minutes, or read a thousand sentences; others run here
MADE = {"runs/kerple", "runs/bert"}  # by a training run before them


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the names of Hub models are folders: small models that know the words of the built-in texts."""
    folder = tmp_path_factory.mktemp("readme")
    words = sorted(
        {word for name in ("letters", "harbour") for text in read_texts(name) for word in text.content.split()}
    )
    for name, (model, config, sizes) in HUB.items():
        size = {"vocab_size": len(words) + 1, **sizes, **HEADS.get(name, {"num_attention_heads": 4})}
        model(config(**size, bos_token_id=1, eos_token_id=2)).save_pretrained(folder / name)
        save_tokenizer(folder / name, ["[UNK]", *words])
    return folder


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_command_is_understood(arguments: list[str], hub: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(hub)
    command, rest = typer.main.get_command(app), arguments
    while hasattr(command, "resolve_command"):
        _, command, rest = command.resolve_command(typer.Context(command), rest)
    context = command.make_context(command.name, list(rest))  # ends the process where it is not understood
    assert context.params


def test_commands_run_one_after_the_other(hub: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.chdir(hub)
    ran = [arguments for arguments in COMMANDS if arguments[0] not in MINUTES and arguments[1] not in MADE]
    assert [arguments[0] for arguments in ran] == ["heads", "heads", "attribute", "edit", "report"]
    for arguments in ran:
        assert main(arguments) == 0, capsys.readouterr().err
    assert {path.name for path in (hub / "runs").iterdir()} >= {"gpt2", "smol", "attribute", "edit"}
    assert list((hub / "figures").glob("*.png"))


@pytest.mark.parametrize("code", PYTHON)
def test_python_runs(code: str, hub: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(hub)
    shutil.rmtree(hub / "runs" / "smol-letters", ignore_errors=True)
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    columns = re.search(r"profile.heads  # polars: (.*)", code)
    assert columns[1].split(", ") == names["profile"].heads.columns
    assert (hub / "runs" / "smol-letters" / "report.html").is_file()
