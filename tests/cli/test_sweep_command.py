"""`wherewhat sweep`: what it writes and prints, what it refuses, and how it stops."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from wherewhat.cli.main import main
from wherewhat.jobs.locks import only_parent

SMALL = [f"--set={each}" for each in ("width=16", "layers=1", "heads=2", "batch=4", "evaluate_samples=8")]
QUICK = [*SMALL, "--set=steps=6", "--set=evaluate_every=3"]


def sweep(*arguments: object) -> int:
    return main(["sweep", "tiny", *map(str, arguments)])


def test_a_sweep_ends_with_its_table_and_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "sweep"
    assert sweep(*QUICK, "--over", "encoding=rope,alibi", "--seeds", "0,1", "--engine", "inline", "--out", out) == 0
    printed = capsys.readouterr()
    assert printed.out == f"4 of 4 runs are finished; open {out / 'report.html'}\n"
    assert "4 done of 4 runs" in printed.err
    assert {path.name for path in out.iterdir()} == {
        *("runs", "sweep.json", "sweep.parquet", "manifest.json", "report.html")
    }
    assert "encoding=alibi" in (out / "report.html").read_text()
    (out / "report.html").unlink()
    assert main(["report", str(out)]) == 0 and (out / "report.html").exists()


def test_the_result_as_json_names_what_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    over = ("--over", "learning_rate=1e30,0.001", "--seeds", "0", "--engine", "inline", "--out", tmp_path / "a")
    assert sweep(*QUICK, *over, "--json", "--quiet") == 2
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    assert result["runs"] == {"failed": 1, "done": 1}
    assert "lower learning_rate" in result["failures"]["learning_rate=1e30,seed=0"]
    assert "learning_rate=1e30,seed=0 failed: training stopped at step" in printed.err
    assert "with --resume tries the failed runs again" in printed.err


def test_commands_are_printed_for_other_schedulers_and_train_the_same_nets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert sweep(*QUICK, "--over", "encoding=rope", "--seeds", "3", "--out", "s", "--print-commands") == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("wherewhat train tiny ") and line.endswith("--seed 3 --out s/runs/encoding-rope-seed-3")
    assert not (tmp_path / "s").exists()
    assert main([*line.split()[1:], "--quiet"]) == 0
    assert sweep(*QUICK, "--over", "encoding=rope", "--seeds", "3", "--out", "t", "--engine", "inline", "--quiet") == 0
    alone, swept = (next((tmp_path / name).glob("runs/*/model/*.safetensors")).read_bytes() for name in "st")
    assert alone == swept


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--over", "encodign=rope"], "unknown setting 'encodign'; did you mean 'encoding'?"),
        (["--over", "heads=3,4"], "1 of 2 points are impossible, so nothing was run: heads=3: "),
        (["--over", "encoding=rope", "--set", "encoding=none"], "encoding is given by --set and changes in the grid"),
        (["--set", "seed=3"], "seeds are given by --seeds 0,1,2; leave seed out of --set"),
        (["--seeds", "a,b"], "--seeds is 'a,b'; give whole numbers with commas between them, such as 0,1,2"),
        (["--overwrite", "--resume"], "both --overwrite and --resume were given"),
        (["--engine", "rya"], "unknown engine 'rya'; did you mean 'ray'?"),
        (["--workers", "0"], "--workers is 0; give at least 1"),
        (["--address", "127.0.0.1:1"], "--address"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(
    arguments: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert sweep(*arguments, "--out", tmp_path / "out", "--quiet") == 2
    printed = capsys.readouterr()
    assert sentence in printed.err and printed.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("engine", ["local", "inline"])
def test_ctrl_c_lets_every_run_write_a_checkpoint(tmp_path: Path, engine: str):
    """The checkpoint is from the step at which the run was stopped, not from the last one that was due."""
    out, seeds = tmp_path / "stopped", [0, 1] if engine == "local" else [0]
    steps = [f"--set={name}=4000" for name in ("steps", "evaluate_every", "checkpoint_every")]
    settings = [*SMALL, *steps, "--seeds", ",".join(map(str, seeds)), "--engine", engine, "--out", str(out)]
    command = [sys.executable, "-m", "wherewhat", "sweep", "tiny", *settings]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    logs = [out / "runs" / f"seed-{seed}" / "progress.jsonl" for seed in seeds]
    until = time.monotonic() + 120
    while not all(log.exists() and '"step": 1' in log.read_text() for log in logs):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    begun = f"{len(seeds)} more begun; the same command with --resume goes on from there"
    assert f"0 of {len(seeds)} runs in" in stderr and begun in stderr and "Traceback" not in stderr
    assert not (out / "runs" / ".stop").exists()
    stopped = [json.loads(log.read_text().splitlines()[-1])["step"] for log in logs]
    for folder, step in zip(sorted((out / "runs").iterdir()), stopped, strict=True):
        assert _checkpoint_step(folder) >= step > 0


def _checkpoint_step(folder: Path) -> int:
    from safetensors import safe_open

    with safe_open(folder / "checkpoint.safetensors", framework="numpy") as file:
        (notes,) = file.metadata().values()
    return int(json.loads(notes)["progress"]["step"])


def test_killed_and_resumed_the_weights_are_those_of_an_undisturbed_sweep(tmp_path: Path):
    settings = [*SMALL, "--set=steps=60", "--set=evaluate_every=20", "--set=checkpoint_every=5", "--seeds=0,1"]
    arguments = [*settings, "--workers", "2", "--quiet"]
    command = [sys.executable, "-m", "wherewhat", "sweep", "tiny", *arguments, "--out", str(tmp_path / "killed")]
    process = subprocess.Popen(command)
    until = time.monotonic() + 120
    while not list((tmp_path / "killed").glob("runs/*/checkpoint.safetensors")):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert sweep(*arguments, "--resume", "--out", tmp_path / "killed") == 0
    assert sweep(*settings, "--engine", "inline", "--quiet", "--out", tmp_path / "whole") == 0
    killed, whole = (
        [path.read_bytes() for path in sorted((tmp_path / name).glob("runs/*/model/*.safetensors"))]
        for name in ("killed", "whole")
    )
    assert killed == whole and len(whole) == 2
    tables = [pl.read_parquet(tmp_path / name / "sweep.parquet") for name in ("killed", "whole")]
    assert tables[0].drop("seconds", "attempts").equals(tables[1].drop("seconds", "attempts"))


def test_a_second_sweep_in_the_same_folder_is_told_who_holds_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with only_parent(tmp_path / "runs"):
        assert sweep(*QUICK, "--resume", "--quiet", "--out", tmp_path) == 2
    holder = f"process {os.getpid()} on {socket.gethostname()}"
    assert f"{tmp_path / 'runs'} is in use by {holder}; wait until it ends" in capsys.readouterr().err
    assert not (tmp_path / "sweep.json").exists()


def test_a_net_that_answers_with_sequences_is_trained_and_profiled(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    small = ("steps=3", "width=16", "layers=1", "heads=2", "batch=4", "evaluate_samples=4", "test_length=12")
    change = [part for each in small for part in ("--set", each)]
    assert main(["train", "copy_tiny", *change, "--out", str(tmp_path / "net"), "--quiet"]) == 0
    options = ["--max-texts", "4", "--no-untrained", "--quiet", "--out", str(tmp_path / "heads")]
    assert main(["heads", str(tmp_path / "net"), *options]) == 0
    assert pl.read_parquet(tmp_path / "heads" / "heads.parquet").height > 0
    assert main(["edit", str(tmp_path / "net"), "--ablate", "L0H0", "--quiet", "--out", str(tmp_path / "edit")]) == 2
    assert "answers with a sequence, and only single answers are evaluated here" in capsys.readouterr().err
