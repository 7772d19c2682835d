"""A Hub that does not answer is told from one that does, and quickly."""

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import huggingface_hub
import pytest
from folders import save_model

from wherewhat import hub
from wherewhat.cli.main import main
from wherewhat.cli.options import ModelOptions
from wherewhat.errors import UserError
from wherewhat.tables.texts import dataset_texts

CLOSED = "http://127.0.0.1:9"  # nothing listens there


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Hub may be asked; it is not the real one."""
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)  # read once, when it was imported
    monkeypatch.delenv("HF_HUB_ETAG_TIMEOUT", raising=False)
    monkeypatch.setenv("HF_ENDPOINT", CLOSED)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes every connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


class Refusing(BaseHTTPRequestHandler):
    """Answers everything with 403."""

    def do_HEAD(self) -> None:
        self.send_error(403)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.mark.usefixtures("asking")
def test_nobody_there_is_unreachable():
    assert hub.unreachable()


@pytest.mark.usefixtures("asking")
def test_a_server_that_never_answers_is_unreachable_within_seconds(silent: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HF_ENDPOINT", silent)
    began = time.perf_counter()
    assert hub.unreachable()
    assert time.perf_counter() - began < 5


@pytest.mark.usefixtures("asking")
def test_a_server_that_refuses_is_there(monkeypatch: pytest.MonkeyPatch):
    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        assert not hub.unreachable()


def test_nothing_is_asked_where_the_environment_forbids_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_ENDPOINT", CLOSED)
    assert not hub.unreachable()


@pytest.mark.parametrize("name", ["x" * 5000, "../no/such/folder", "a b"])
def test_what_cannot_be_a_name_on_the_hub_is_not_looked_for_there(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hub, "unreachable", lambda: pytest.fail("the network was asked"))
    assert not hub.must_be_cached(name)


@pytest.mark.usefixtures("asking")
@pytest.mark.parametrize(
    "command", [["heads"], ["edit", "--drop", "high:0.5"], ["compare"], ["probe", "words"], ["probe", "dependencies"]]
)
def test_a_command_says_at_once_that_the_hub_is_out_of_reach(command: list[str], capsys, tmp_path: Path):
    assert main([*command, "some/model", "--out", str(tmp_path / "out"), "--quiet"]) == 2
    said = capsys.readouterr().err
    assert said == (
        f"wherewhat: 'some/model' is not on this machine and the Hub ({CLOSED}) cannot be reached; check the network, "
        "or name a local folder or a built-in model (tiny)\n"
    )


@pytest.mark.parametrize(
    ("options", "forbids", "why"), [(["--offline"], "0", "--offline"), ([], "1", "HF_HUB_OFFLINE is set")]
)
def test_offline_a_model_that_is_not_here_is_refused_before_torch_is_imported(
    options: list[str], forbids: str, why: str, tmp_path: Path
):
    script = """if True:
        import sys
        from wherewhat.cli.main import main
        code = main(sys.argv[1:])
        print(code, "torch" in sys.modules, "transformers" in sys.modules)
    """
    ran = subprocess.run(
        [sys.executable, "-c", script, "heads", "some/model", "--quiet", *options],
        cwd=tmp_path,
        env={**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": forbids, "HF_ENDPOINT": CLOSED},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.stdout == "2 False False\n"
    assert ran.stderr == (
        f"wherewhat: there is no model 'some/model' on this machine, and the Hub must not be contacted ({why}); check "
        "the name, or name a local folder or a built-in model (tiny)\n"
    )


@pytest.mark.usefixtures("asking")
def test_offline_holds_for_a_client_that_was_imported_before(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    ModelOptions(dtype="float32", device="cpu", offline=True).settings("tiny")
    assert huggingface_hub.constants.HF_HUB_OFFLINE and os.environ["HF_HUB_OFFLINE"] == "1"


@pytest.mark.usefixtures("asking")
def test_a_hub_out_of_reach_is_not_blamed_on_an_option_that_nobody_gave(monkeypatch: pytest.MonkeyPatch):
    from wherewhat.capture.loading.load import LoadSettings, load_by_name

    monkeypatch.setattr(hub, "_cached", lambda *_: True)  # its config; the weights are missing
    with pytest.raises(UserError, match="it was not found in the local cache; check the name") as raised:
        load_by_name("some/model", LoadSettings())
    assert "offline" not in str(raised.value)


@pytest.mark.usefixtures("asking")
def test_python_and_data_sets_are_told_the_same(monkeypatch: pytest.MonkeyPatch):
    import wherewhat as ww

    with pytest.raises(UserError, match="'some/model' is not on this machine and the Hub .* cannot be reached"):
        ww.profile("some/model", ww.read_texts("letters"))
    monkeypatch.setitem(sys.modules, "datasets", object())
    with pytest.raises(UserError, match="the dataset 'some/set' is on the Hub, which cannot be reached"):
        dataset_texts("some/set", split="test", column="text")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["heads", "some/model", "--text", "nowhere.txt"], "there is no text file nowhere.txt"),
        (["edit", "some/model", "--drop", "all", "--text", "nowhere.txt"], "there is no text file nowhere.txt"),
        (["compare", "some/model", "--text", "nowhere.txt"], "there is no text file nowhere.txt"),
        (["reproduce", "control", "--model", "some/model", "--text", "nowhere.txt"], "there is no text file"),
        (["train", "bert_tiny", "--text", "nowhere.txt"], "there is no text file nowhere.txt"),
        (["probe", "words", "some/model", "--treebank", "nowhere.conllu"], "there is no file nowhere.conllu"),
    ],
)
def test_files_are_looked_for_before_the_network(command: list[str], expected: str, capsys, monkeypatch):
    monkeypatch.setattr(hub, "unreachable", lambda: pytest.fail("the network was asked"))
    assert main(command) == 2
    assert expected in capsys.readouterr().err


def test_a_model_in_the_cache_is_profiled_without_the_network(tmp_path: Path):
    """In a process of its own: where the cache lies is read once."""
    snapshot = tmp_path / "hub" / "models--some--model" / "snapshots" / ("0" * 40)
    shutil.copytree(save_model(tmp_path / "model"), snapshot)
    (tmp_path / "hub" / "models--some--model" / "refs").mkdir()
    (tmp_path / "hub" / "models--some--model" / "refs" / "main").write_text("0" * 40)
    (tmp_path / "texts.txt").write_text("a b c d e f\n")
    environment = {name: value for name, value in os.environ.items() if name != "HF_HUB_OFFLINE"}
    environment |= {"HF_HOME": str(tmp_path), "HF_ENDPOINT": CLOSED, "no_proxy": "127.0.0.1"}
    command = ["heads", "some/model", "--text", "texts.txt", "--no-untrained", "--out", "run"]
    ran = subprocess.run(
        [sys.executable, "-m", "wherewhat", *command],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    assert "Retrying" not in ran.stderr
    assert (tmp_path / "run" / "report.html").is_file()
