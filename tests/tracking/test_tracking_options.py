"""How a tracker is chosen: what was misspelt or is not installed is refused before the first run."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tracking_fakes import Recorder, fake_tensorboard, fake_trackio, fake_wandb, install

from wherewhat.errors import UserError
from wherewhat.tracking.registry import TRACKERS, tracker

ROOT = Path(__file__).resolve().parents[2]
FIRST_IMPORT = {
    "trackio": "trackio",
    "wandb": "wandb",
    "mlflow": "mlflow",
    "tensorboard": "tensorboard.compat.proto.event_pb2",
}


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    record = Recorder()
    install(monkeypatch, {"trackio": fake_trackio(record), "wandb": fake_wandb(record), **fake_tensorboard(record)})
    return record


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("trakio", "unknown tracker 'trakio'; did you mean 'trackio'? known: mlflow, tensorboard, trackio, wandb"),
        ("", "unknown tracker ''; known: mlflow, tensorboard, trackio, wandb"),
        (
            "tensorboard:logdir=x",
            "--track tensorboard has no key 'logdir'; did you mean 'log_dir'? known: log_dir",
        ),
        (
            "tensorboard:runs/tb",
            "--track tensorboard cannot read 'runs/tb'; write it as tensorboard:key=value,key=value",
        ),
        ("trackio:project=", "--track trackio cannot read 'project='; write it as trackio:key=value,key=value"),
        ("trackio:project=a,project=b", "--track trackio has the key 'project' twice; give it once"),
        ("wandb:mode=ofline", "unknown mode of wandb 'ofline'; did you mean 'offline'? known: disabled, offline, "),
    ],
)
def test_what_is_misspelt_is_refused_in_a_sentence(fakes: Recorder, tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(UserError) as refusal:
        tracker(text, tmp_path)
    assert str(refusal.value).startswith(sentence)
    assert not fakes.calls


def test_values_may_have_commas_and_colons(fakes: Recorder, tmp_path: Path) -> None:
    chosen = tracker(" trackio: project=a,b , server_url=http://127.0.0.1:7860/?x=1 ", tmp_path)
    assert (vars(chosen)["project"], vars(chosen)["server_url"]) == ("a,b", "http://127.0.0.1:7860/?x=1")


@pytest.mark.parametrize("name", TRACKERS)
def test_what_is_not_installed_is_refused_with_how_to_install_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, {FIRST_IMPORT[name]: None})
    with pytest.raises(UserError, match=rf"^--track {name} needs a package .*; pip install 'wherewhat\[{name}\]'$"):
        tracker(name, tmp_path)
    assert not [*tmp_path.iterdir()]


def test_what_cannot_be_loaded_is_refused_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wandb.py").write_text("raise TypeError('descriptors cannot be created')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    with pytest.raises(UserError, match=r"cannot be loaded \(TypeError: descriptors cannot be created\); install it"):
        tracker("wandb", tmp_path)


@pytest.mark.parametrize("kind", TRACKERS.values(), ids=TRACKERS)
def test_every_tracker_has_an_extra_and_a_line(kind) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert kind.name == kind.extra and extras[kind.extra][0].startswith(f"{kind.name}>=")
    assert kind.description and "\n" not in kind.description and all(kind.keys.values())


def test_a_tool_is_loaded_only_when_it_is_chosen() -> None:
    code = (
        "import sys, wherewhat.tracking.listener; "
        "print([n for n in ('trackio', 'wandb', 'mlflow', 'tensorboard', 'torch') if n in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
