"""A run gives the same weights every time, also in pieces, and says clearly when it cannot go on."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from precision import assert_same
from torch import Tensor, nn

from wherewhat.errors import UserError
from wherewhat.models.folder import load_model
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk
from wherewhat.tasks.base import TaskBatch
from wherewhat.tasks.mixture import Mixture
from wherewhat.tasks.registry import task
from wherewhat.tasks.stream import Ints
from wherewhat.training.loop import flushes, rate_at, threads, train
from wherewhat.training.run_folder import CHECKPOINT
from wherewhat.training.settings import changed
from wherewhat.training.task_training import TaskSettings, evaluate


class PowerCutError(Exception):
    """What ends a run before its time."""


def cut_at(last: int) -> object:
    def on_step(step: int, measured: Mapping[str, float]) -> None:
        if step == last:
            raise PowerCutError

    return on_step


def files(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


def test_a_run_leaves_its_curve_and_its_model(brief: TaskSettings, tmp_path: Path) -> None:
    run = train(brief, out=tmp_path)
    assert set(files(tmp_path)) == {"curve.parquet", "model/config.json", "model/model.safetensors"}
    assert pl.read_parquet(tmp_path / "curve.parquet").equals(run.curve)
    assert run.curve.schema == {"step": pl.Int64, "measure": pl.String, "value": pl.Float64}
    measures = ["loss", "accuracy", *(f"accuracy {group}" for group in brief.task.groups)]
    assert run.curve["measure"].to_list() == measures * 3
    assert run.curve["step"].unique(maintain_order=True).to_list() == [4, 8, 11]
    model = load_model(tmp_path / "model")
    assert model.tasks == brief.tasks
    ids_BT = torch.from_numpy(brief.task.batch(1, "test", range(3)).input_NT)
    assert all(torch.equal(weight, model.net.state_dict()[name]) for name, weight in run.net.state_dict().items())
    assert_same(model.net(ids_BT), run.net(ids_BT))
    assert run.accuracy == evaluate(run.net, brief.task, seed=1, samples=50)["accuracy"]


def test_the_curve_averages_the_loss_of_every_step(brief: TaskSettings) -> None:
    heard: dict[int, Mapping[str, float]] = {}
    run = train(brief, on_step=heard.__setitem__)
    assert list(heard) == list(range(1, 12))
    losses = run.curve.filter(pl.col("measure") == "loss")["value"].to_list()
    parts = [heard[1]["loss"], *(heard[step]["loss"] for step in range(2, 12))]
    assert losses == pytest.approx([np.mean(parts[:4]), np.mean(parts[4:8]), np.mean(parts[8:])])
    assert "accuracy number 1 hop" in heard[8]
    assert "accuracy" not in heard[9]


def test_the_same_settings_give_the_same_bytes(brief: TaskSettings, tmp_path: Path) -> None:
    torch.manual_seed(1)
    train(brief, out=tmp_path / "a")
    torch.manual_seed(2)
    train(brief, out=tmp_path / "b")
    train(replace(brief, seed=1), out=tmp_path / "c")
    train(replace(brief, data_seed=2), out=tmp_path / "d")
    one, same, other_weights, other_data = (files(tmp_path / name) for name in "abcd")
    assert one == same
    weights = "model/model.safetensors"
    assert len({one[weights], other_weights[weights], other_data[weights]}) == 3


def test_every_step_learns_from_fresh_sequences(brief: TaskSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, str, int]] = []
    batch = Mixture.batch

    def listen(task: Mixture, seed: int, split: str, indices: Ints) -> TaskBatch:
        asked.extend((seed, split, index) for index in indices.tolist())
        return batch(task, seed, split, indices)

    monkeypatch.setattr(Mixture, "batch", listen)
    train(replace(brief, data_seed=5))
    assert [key for key in asked if key[1] != "test"] == [(5, "train", index) for index in range(11 * 6)]
    assert {key for key in asked if key[1] == "test"} == {(5, "test", index) for index in range(50)}


def test_the_machine_s_threads_do_not_matter_and_stay_as_they_were(brief: TaskSettings, tmp_path: Path) -> None:
    inside: set[int] = set()
    torch.set_num_threads(2)
    train(replace(brief, threads=3), on_step=lambda step, measured: inside.add(torch.get_num_threads()))
    assert inside == {3}
    assert torch.get_num_threads() == 2
    with pytest.raises(PowerCutError):
        train(brief, on_step=cut_at(1))  # type: ignore[arg-type]
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("last", [1, 3, 5, 9, 11])
def test_an_interrupted_run_ends_as_an_unbroken_one(brief: TaskSettings, tmp_path: Path, last: int) -> None:
    train(brief, out=tmp_path / "whole")
    with pytest.raises(PowerCutError):
        train(brief, out=tmp_path / "cut", on_step=cut_at(last))  # type: ignore[arg-type]
    assert set(files(tmp_path / "cut")) == {CHECKPOINT}
    train(brief, out=tmp_path / "cut", resume=True)
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


def test_resume_goes_on_from_the_checkpoint(brief: TaskSettings, tmp_path: Path) -> None:
    with pytest.raises(PowerCutError):
        train(brief, out=tmp_path, on_step=cut_at(8))  # type: ignore[arg-type]
    steps: list[int] = []
    train(brief, out=tmp_path, resume=True, on_step=lambda step, measured: steps.append(step))
    assert steps == list(range(7, 12))


def test_someone_may_look_at_the_net_where_it_is_evaluated(brief: TaskSettings) -> None:
    heard: list[int] = []

    def look(step: int, net: Trunk) -> None:
        heard.append(step)
        assert not net.training and not torch.is_grad_enabled()

    modes: set[bool] = set()
    run = train(brief, on_net=look, on_step=lambda step, measured: modes.add(torch.is_grad_enabled()))
    assert heard == [0, 4, 8, 11]
    assert modes == {True}
    assert run.curve["step"].unique(maintain_order=True).to_list() == [4, 8, 11]


def test_the_net_that_is_looked_at_is_the_one_that_learns(brief: TaskSettings) -> None:
    seen: dict[int, float] = {}

    def look(step: int, net: Trunk) -> None:
        seen[step] = evaluate(net, brief.task, seed=1, samples=50)["accuracy"]

    run = train(brief, on_net=look)
    accuracies = run.curve.filter(pl.col("measure") == "accuracy")["value"].to_list()
    assert [seen[step] for step in (4, 8, 11)] == accuracies
    first = evaluate(build(brief.net, seed=brief.seed), brief.task, seed=1, samples=50)["accuracy"]
    assert seen[0] == first


def test_a_run_that_is_looked_at_ends_as_one_that_is_not(brief: TaskSettings, tmp_path: Path) -> None:
    def look(step: int, net: Trunk) -> None:
        torch.manual_seed(step)
        evaluate(net, brief.task, seed=9, samples=20)
        torch.rand(3)

    train(brief, out=tmp_path / "alone")
    train(brief, out=tmp_path / "seen", on_net=look)
    assert files(tmp_path / "seen") == files(tmp_path / "alone")
    with pytest.raises(PowerCutError):
        train(brief, out=tmp_path / "cut", on_net=look, on_step=cut_at(7))  # type: ignore[arg-type]
    train(brief, out=tmp_path / "cut", resume=True, on_net=look)
    assert files(tmp_path / "cut") == files(tmp_path / "alone")


def test_a_resumed_run_shows_the_net_from_there_on(brief: TaskSettings, tmp_path: Path) -> None:
    with pytest.raises(PowerCutError):
        train(brief, out=tmp_path, on_step=cut_at(7))  # type: ignore[arg-type]
    heard: list[int] = []
    train(brief, out=tmp_path, resume=True, on_net=lambda step, net: heard.append(step))
    assert heard == [8, 11]
    train(brief, out=tmp_path, resume=True, on_net=lambda step, net: heard.append(step))
    assert heard == [8, 11]  # a finished run is read, not shown


def test_one_who_looks_and_stumbles_leaves_the_net_learning(brief: TaskSettings) -> None:
    nets: list[Trunk] = []

    def look(step: int, net: Trunk) -> None:
        nets.append(net)
        raise PowerCutError

    with pytest.raises(PowerCutError):
        train(brief, on_net=look)
    assert nets[0].training


def test_resuming_a_finished_run_reads_it(brief: TaskSettings, tmp_path: Path) -> None:
    run = train(brief, out=tmp_path)
    steps: list[int] = []
    again = train(brief, out=tmp_path, resume=True, on_step=lambda step, measured: steps.append(step))
    assert steps == []
    assert again.curve.equals(run.curve)
    assert all(torch.equal(a, b) for a, b in zip(again.net.parameters(), run.net.parameters(), strict=True))


def test_a_new_run_does_not_take_up_an_old_checkpoint(brief: TaskSettings, tmp_path: Path) -> None:
    with pytest.raises(PowerCutError):
        train(brief, out=tmp_path, on_step=cut_at(7))  # type: ignore[arg-type]
    with pytest.raises(PowerCutError):
        train(replace(brief, seed=3), out=tmp_path, on_step=cut_at(1))  # type: ignore[arg-type]
    train(replace(brief, seed=3), out=tmp_path, resume=True)
    train(replace(brief, seed=3), out=tmp_path / "whole")
    weights = "model/model.safetensors"
    assert files(tmp_path)[weights] == files(tmp_path / "whole")[weights]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("net.width=16", "net.width was 8 and is 16"),
        ("steps=12", "steps was 11 and is 12"),
        ("letter.n_int=4", "letter.n_int was 3 and is 4"),
        ("tasks=letter", "tasks was number, letter and is letter"),
    ],
)
@pytest.mark.parametrize("finished", [False, True])
def test_resuming_with_other_settings(
    brief: TaskSettings, tmp_path: Path, change: str, sentence: str, finished: bool
) -> None:
    if finished:
        train(brief, out=tmp_path)
    else:
        with pytest.raises(PowerCutError):
            train(brief, out=tmp_path, on_step=cut_at(1))  # type: ignore[arg-type]
    before = files(tmp_path)
    with pytest.raises(UserError) as error:
        train(changed(brief, [change]), out=tmp_path, resume=True)
    assert f"belongs to a run with other settings: {sentence}; resume with the settings it began with" in str(
        error.value
    )
    assert files(tmp_path) == before


@pytest.mark.parametrize("keep", [0, 4, 100, -1])
def test_a_checkpoint_that_is_cut_short(brief: TaskSettings, tmp_path: Path, keep: int) -> None:
    with pytest.raises(PowerCutError):
        train(brief, out=tmp_path, on_step=cut_at(4))  # type: ignore[arg-type]
    path = tmp_path / CHECKPOINT
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(UserError, match=r"checkpoint.safetensors is damaged or cut short \(.+\); delete it, or start"):
        train(brief, out=tmp_path, resume=True)


def test_another_file_in_the_checkpoint_s_place(brief: TaskSettings, tmp_path: Path) -> None:
    train(brief, out=tmp_path)
    (tmp_path / "model" / "model.safetensors").rename(tmp_path / CHECKPOINT)
    with pytest.raises(UserError, match=r"checkpoint.safetensors is no checkpoint of a training run"):
        train(brief, out=tmp_path, resume=True)


def test_a_loss_that_is_no_number_stops_the_run(brief: TaskSettings) -> None:
    wild = replace(brief, learning_rate=1e38)
    with pytest.raises(
        UserError, match=r"training stopped at step \d+: the loss became (nan|inf); lower learning_rate"
    ):
        train(wild)


def test_the_learning_rate_rises_and_falls() -> None:
    rates = [rate_at(step, peak=1.0, warmup=4, steps=10) for step in range(1, 11)]
    assert rates == pytest.approx([0.25 * 0.9, 0.5 * 0.8, 0.75 * 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0])
    assert rate_at(1, peak=1.0, warmup=0, steps=10) == pytest.approx(0.9)


class Oracle(nn.Module):
    """A net that answers exactly, but only the letter task."""

    def __init__(self, settings: TaskSettings) -> None:
        super().__init__()
        self.task = settings.task

    def last_hidden(self, ids_BT: Tensor, *, first: int) -> Tensor:
        answers = [self.task.solve(row) * (row[0] >= self.task.first_ids[1]) for row in ids_BT.tolist()]
        hidden_BV = torch.zeros(len(ids_BT), self.task.vocabulary)
        hidden_BV[torch.arange(len(answers)), torch.tensor(answers)] = 1.0
        return hidden_BV

    def head(self, hidden_BV: Tensor) -> Tensor:
        return hidden_BV


def test_evaluation_counts_exact_answers_of_each_kind(brief: TaskSettings) -> None:
    measured = evaluate(Oracle(brief), brief.task, seed=1, samples=1300)  # type: ignore[arg-type]
    assert measured == {
        "accuracy": 0.5,
        "accuracy number 1 hop": 0.0,
        "accuracy number 2 hops": 0.0,
        "accuracy letter 1 hop": 1.0,
        "accuracy letter 2 hops": 1.0,
    }


def test_a_small_net_learns_a_small_task() -> None:
    retrieval = task("retrieval", context=3, n_symbols=4, n_int=4)
    settings = TaskSettings(
        net=NetConfig(vocabulary=retrieval.vocabulary, length=4, width=32, layers=2, heads=2, mlp=2),
        tasks=(retrieval,),
        steps=300,
        batch=64,
        learning_rate=5e-3,
        warmup=20,
    )
    run = train(settings)
    assert run.accuracy > 0.9
    assert run.final("loss") < run.curve.filter(pl.col("measure") == "loss")["value"][0]


def test_a_run_puts_threads_and_small_numbers_back(brief: TaskSettings) -> None:
    before = torch.get_num_threads()
    with threads(2):
        assert torch.get_num_threads() == 2 and flushes()
    assert torch.get_num_threads() == before and not flushes()
