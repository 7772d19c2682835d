"""Many profiles at once: in which order they are compared, how many run at once, and with how many threads."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from made_up import at, profile

from wherewhat.comparing import profile_many
from wherewhat.comparing.checkpoints import Checkpoint
from wherewhat.comparing.model_state import ModelState, same_training, step_in
from wherewhat.comparing.profile_many import by_step, default_workers


def state(path: str | None, revision: str | None = None, name: str = "org/model") -> ModelState:
    run = profile(name, {"locality": at(0.1)}, about={"path": path})
    settings = {**run.manifest.settings, "revision": revision}
    return ModelState(revision or str(path), run.heads, replace(run.manifest, settings=settings))


def test_states_of_one_training_run_come_in_its_order():
    globbed = [state(f"/out/checkpoint-{step}") for step in (1000, 1500, 500)]
    assert [each.step for each in by_step(globbed)] == [500, 1000, 1500] and same_training(globbed)
    of_two_runs = [state("/b/checkpoint-10"), state("/a/checkpoint-5")]
    assert by_step(of_two_runs) == of_two_runs and not same_training(of_two_runs)
    assert by_step([globbed[0], state("/out/final")])[0] is globbed[0]


def test_revisions_on_the_hub_are_states_of_one_run_if_they_name_steps():
    steps = [state(None, f"step{step}") for step in (512, 0, 1000)]
    assert [each.step for each in by_step(steps)] == [0, 512, 1000] and same_training(steps)
    assert not same_training([state(None, "step1"), state(None, "step2", name="org/other")])
    assert not same_training([state(None, "main"), state(None, "other")])
    assert step_in("stage1-step3000-tokens12B") == 3000 and step_in("two-step2vec") is None


def checkpoint(weights: int | None) -> Checkpoint:
    return Checkpoint("a", "a", identity="known", weights=weights)


def test_as_many_at_once_as_the_memory_holds(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(profile_many, "processors", lambda: 8)
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 4_000_000, "SC_PAGE_SIZE": 4000}.__getitem__)  # 16 GB
    assert default_workers([checkpoint(10**6)] * 20, "cpu") == 8
    assert default_workers([checkpoint(10**6)] * 3, "cpu") == 3, "one each"
    assert default_workers([checkpoint(10**6), *[checkpoint(10**9)] * 20], "cpu") == 3
    assert default_workers([checkpoint(10**10)] * 20, "cpu") == 1
    assert default_workers([checkpoint(None)] * 20, "cpu") == 1, "nothing is known of its size"
    assert default_workers([checkpoint(10**6)] * 20, "cuda") == 1, "an accelerator is there once"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert default_workers([checkpoint(10**6)] * 20, "auto") == 1
    broken = Checkpoint("b", "b")
    assert default_workers([checkpoint(10**6), broken, broken], "cpu") == 3, "a folder without files takes no memory"


@pytest.mark.parametrize(
    ("given", "workers", "threads"),
    [(None, 3, "2"), (None, 1, None), (None, 20, "1"), ("1", 2, "1"), ("8", 2, "4"), ("8", 1, "8"), ("4,2", 2, "4,2")],
)
def test_processes_share_the_processors(
    given: str | None, workers: int, threads: str | None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(profile_many, "processors", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS")
    if given is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", given)
    with profile_many._shared_processors(workers):
        assert os.environ.get("OMP_NUM_THREADS") == threads
    assert os.environ.get("OMP_NUM_THREADS") == given, "and is as it was"


def test_a_profile_that_lost_a_file_is_forgotten(tmp_path: Path):
    place = tmp_path / "a"
    profile("a", {"locality": at(0.1)}).save(place)
    for name in ("job.json", "result.json"):
        (place / name).write_text("{}")
    profile_many._forget_incomplete(place)
    assert place.exists()
    (place / "heads.parquet").unlink()
    profile_many._forget_incomplete(place)
    assert not place.exists()
