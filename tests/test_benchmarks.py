"""Benchmarks keep whole files, and leave committed ones alone unless they are told to record. Nothing is timed here."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from wherewhat.encodings.registry import ENCODINGS

ROOT = Path(__file__).resolve().parents[1]
OLD = '{"encodings": "as they were"}\n'
ROW = {"parameters": 3, "training 512": [1.0, 1.5, 2.0]}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The benchmarks, which measure nothing and write elsewhere."""
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import __main__ as bench

    (tmp_path / "encodings.json").write_text(OLD)
    monkeypatch.setattr(bench, "LATEST", tmp_path / "latest.json")
    monkeypatch.setattr(bench.encodings, "FILE", tmp_path / "encodings.json")
    monkeypatch.setattr(bench.encodings, "_row", lambda name, repeats: ROW)
    monkeypatch.setattr(bench.encodings.torch, "set_flush_denormal", lambda mode: True)
    return bench


def kept(tmp_path: Path) -> dict[str, Any]:
    return {one["name"]: one["ratio"] for one in json.loads((tmp_path / "latest.json").read_text())}


def test_measuring_leaves_the_committed_figures_alone(bench: ModuleType, tmp_path: Path):
    bench.main(["encodings"])
    assert (tmp_path / "encodings.json").read_text() == OLD
    assert len(kept(tmp_path)) == len(ENCODINGS) and set(kept(tmp_path).values()) == {1.5}


def test_recording_renews_them_with_every_encoding(bench: ModuleType, tmp_path: Path):
    bench.main(["encodings", "--record"])
    recorded, committed = (json.loads((at / "encodings.json").read_text()) for at in (tmp_path, ROOT / "benchmarks"))
    assert recorded["encodings"] == dict.fromkeys(ENCODINGS, ROW)
    assert recorded["conditions"].keys() == committed["conditions"].keys()
    assert recorded["encodings"].keys() == committed["encodings"].keys()


@pytest.mark.parametrize("more", [[], ["--record"]], ids=["measuring", "recording"])
def test_an_interrupted_run_keeps_what_it_measured_and_the_old_figures(
    bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str]
):
    rows: Iterator[dict[str, Any]] = iter([ROW, ROW])

    def interrupted(name: str, repeats: int) -> dict[str, Any]:
        for row in rows:
            return row
        raise KeyboardInterrupt

    monkeypatch.setattr(bench.encodings, "_row", interrupted)
    (tmp_path / "latest.json").write_text(json.dumps([{"name": "of another day", "ratio": 7.0}]))
    with pytest.raises(KeyboardInterrupt):
        bench.main(["encodings", *more])
    assert (tmp_path / "encodings.json").read_text() == OLD
    assert list(kept(tmp_path).values()) == [7.0, 1.5, 1.5]


def test_a_kill_while_writing_leaves_the_old_file(bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def killed(self: Path, target: Path) -> None:
        raise SystemExit("killed before the rename")

    monkeypatch.setattr(Path, "replace", killed)
    (tmp_path / "latest.json").write_text("[]")
    with pytest.raises(SystemExit, match="before the rename"):
        bench.main(["encodings", "--record"])
    assert (tmp_path / "encodings.json").read_text() == OLD and kept(tmp_path) == {}


def test_names_that_do_not_exist_and_nothing_to_record_are_refused(
    bench: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(bench.ROOMS, "heads", SimpleNamespace(measure=lambda repeats: pytest.fail("measured")))
    for arguments, sentence in (
        (["heads", "encoding"], "there is no benchmark encoding; there are heads, memory"),
        (["heads", "--record"], "--record renews what the benchmark 'encodings' found; name it too"),
    ):
        with pytest.raises(SystemExit) as refused:
            bench.main(arguments)
        assert refused.value.code == 2 and sentence in capsys.readouterr().err


def test_lengths_compare_every_task_and_decode_the_same_with_and_without_a_cache(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bench.length, "side_by_side", lambda ours, theirs, *, repeats: ((1.0, 20.0),) * repeats)
    monkeypatch.setattr(bench.length, "SAMPLES", 3)
    batches, decoding = bench.length.measure(2)
    assert batches.figures == dict.fromkeys(bench.length.LENGTH_TASKS, 0.05) and batches.ratios == (0.05, 0.05)
    assert (batches.bound, batches.met, decoding.bound, decoding.met) == (0.1, True, 5.0, True)
    assert decoding.note == "100.0% of outputs the same"


def test_attribution_is_compared_with_a_backward_pass_of_the_same_output(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    def both(ours: Callable[[], None], theirs: Callable[[], None], *, repeats: int) -> tuple[tuple[float, float], ...]:
        ours(), theirs()
        return ((3.0, 2.0),) * repeats

    monkeypatch.setattr(bench.attribution, "side_by_side", both)
    monkeypatch.setattr(bench.attribution, "fitting", lambda work, length: 3 if "explained" in work.__name__ else 2)
    monkeypatch.setattr(bench.attribution, "LENGTH", 8)
    results = list(bench.attribution.measure(2))
    assert all(result.ratios == (1.5, 1.5) for result in results)
    assert [result.bound for result in results] == [4.0, None, None, None, 1.5, None]
