"""Whoever interrupts a command hears what was kept and how to go on, and no traceback."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from wherewhat.cli.interrupts import NOTHING as NONE
from wherewhat.cli.interrupts import Interrupted, interrupt_message, interruptible
from wherewhat.cli.main import main
from wherewhat.signals import deferred_signals
from wherewhat.training import loop

NOTHING = "wherewhat: interrupted; nothing was written; run it again"
SIZES = ["--set", "steps=100000", "--set", "width=16", "--set", "layers=1", "--set", "checkpoint_every=1"]


def interrupted(*arguments: object, after: str, by: signal.Signals = signal.SIGINT) -> tuple[int, list[str]]:
    """Run a command, send it a signal once it has printed something; give its exit code and what it said since."""
    line = [sys.executable, "-u", "-m", "wherewhat", *map(str, arguments)]
    with subprocess.Popen(line, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        watch = threading.Timer(300, process.kill)  # a hang must not hold up the suite
        watch.start()
        for said in process.stderr:
            if after in said:
                break
        process.send_signal(by)
        rest = process.stderr.read().splitlines()
        watch.cancel()
    return process.returncode, rest


@pytest.mark.parametrize("after", ["loading", "reading texts"])
def test_a_profile_writes_nothing(after: str, tmp_path: Path):
    code, said = interrupted("heads", "--max-texts", "2000", "--out", tmp_path / "run", after=after)
    assert (code, said[-1]) == (130, NOTHING)
    assert not any("Traceback" in line for line in said) and not (tmp_path / "run").exists()


def test_a_kill_that_can_be_heard_is_answered_too(tmp_path: Path):
    line = ["heads", "--max-texts", "2000", "--out", tmp_path / "run"]
    code, said = interrupted(*line, after="reading texts", by=signal.SIGTERM)
    assert (code, said[-1]) == (143, NOTHING)


def test_training_keeps_its_checkpoint_and_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "run"
    code, said = interrupted("train", "tiny", *SIZES, "--out", out, after="step ")
    goes_on = f"{out} holds the last checkpoint; the same command with --resume goes on from there"
    assert (code, said[-1]) == (130, f"wherewhat: interrupted; {goes_on}")
    assert not any("Traceback" in line for line in said)
    assert main(["train", "tiny", *SIZES, "--out", str(out), "--quiet"]) == 2
    refusal = (
        f"wherewhat: {out} holds an unfinished run; add --resume to go on from there, or --overwrite to begin again"
    )
    assert capsys.readouterr().err.strip() == refusal


def test_a_command_that_began_again_goes_on_without_doing_so_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    stop = lambda number, measured: os.kill(os.getpid(), signal.SIGINT)  # noqa: E731
    monkeypatch.setattr(loop, "shown_by", lambda step, settings: stop)
    out = tmp_path / "run"
    assert main(["train", "tiny", *SIZES, "--overwrite", "--out", str(out), "--quiet"]) == 130
    goes_on = f"{out} holds the last checkpoint; the same command with --resume in place of --overwrite goes on"
    assert goes_on in capsys.readouterr().err


def test_what_is_kept_is_said_by_whoever_knows_most():
    for inside, said in (("one file is whole", "one file is whole"), (NONE, "two are")):
        with (
            pytest.raises(Interrupted) as stop,
            interruptible(),
            interrupt_message(lambda: "two are"),
            interrupt_message(lambda: inside),  # noqa: B023
        ):
            os.kill(os.getpid(), signal.SIGINT)
        assert stop.value.kept == said


def test_a_study_in_many_processes_ends_at_once(tmp_path: Path):
    code, said = interrupted("reproduce", "locality", "--out", tmp_path / "run", after="%")
    assert code == 130 and not any("Traceback" in line for line in said)
    assert said[-1].startswith("wherewhat: interrupted; ")


def test_what_belongs_together_is_finished_first():
    done = []
    with pytest.raises(Interrupted) as stop, interruptible(), interrupt_message(lambda: f"{len(done)} files are whole"):
        with deferred_signals():
            os.kill(os.getpid(), signal.SIGINT)
            done += ["one", "other"]
        done.append("never")
    assert str(stop.value) == "interrupted; 2 files are whole" and stop.value.code == 130


def test_signals_are_heard_as_before_afterwards():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(Interrupted), interruptible():
        os.kill(os.getpid(), signal.SIGTERM)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
