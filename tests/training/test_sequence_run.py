"""A run on a task whose answer is a sequence: its loss, its two accuracies, its decoding and its folder."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from precision import rounding

from wherewhat.cli.main import main
from wherewhat.encodings.registry import ENCODINGS
from wherewhat.errors import UserError
from wherewhat.models.folder import load_model
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk
from wherewhat.recipes.registry import recipe
from wherewhat.tasks.base import Record
from wherewhat.tasks.copying import CopyRandom
from wherewhat.tasks.registry import task
from wherewhat.tasks.sequence import EOS, PAD, SequenceBatch, SequenceTask
from wherewhat.tasks.stream import Ints
from wherewhat.training.loop import train
from wherewhat.training.sequence_training import decode, evaluate_outputs, output_loss, sample_measures
from wherewhat.training.settings import changed
from wherewhat.training.task_training import TaskSettings

COPY = CopyRandom(shortest=1, train_length=3, test_length=5, alphabet=4)
every_encoding = pytest.mark.parametrize("encoding", ENCODINGS)  # all of them fit a decoder


class PowerCutError(Exception):
    """What ends a run before its time."""


def net_of(encoding: str) -> Trunk:
    """A net with strong attention, so that what it writes depends on what it reads."""
    config = NetConfig(vocabulary=8, length=12, width=16, layers=2, heads=2, encoding=encoding)
    net = build(config, seed=3).double().eval()
    with torch.no_grad():
        net.tokens.weight /= net.tokens.weight.std()
        for block in net.blocks:
            block.attention.out.weight *= 8
    return net


@pytest.fixture(scope="module")
def learner() -> Trunk:
    """A net that has learnt about half of what there is to learn, in float64."""
    settings = TaskSettings(
        net=NetConfig(vocabulary=8, length=12, width=16, layers=2, heads=2, mlp=2, encoding="alibi"),
        tasks=(COPY,),
        steps=140,
        batch=32,
        learning_rate=1e-2,
        warmup=20,
        evaluate_every=140,
        evaluate_samples=10,
    )
    return train(settings).net.double()


# What the numbers mean, in plain Python: one sample at a time, no padding, no cache.


def surprises(net: Trunk, record: Record) -> list[float]:
    """-log p of each target token, read from the whole sequence."""
    ids = record["input"] + record["target"]
    rows = net(torch.tensor([ids[:-1]]))[0].tolist()[len(record["input"]) - 1 :]
    return [
        math.log(sum(math.exp(logit) for logit in row)) - row[token]
        for row, token in zip(rows, record["target"], strict=True)
    ]


def hits(net: Trunk, record: Record) -> list[bool]:
    """Whether each target token has the largest logit."""
    ids = record["input"] + record["target"]
    rows = net(torch.tensor([ids[:-1]]))[0].tolist()[len(record["input"]) - 1 :]
    return [row.index(max(row)) == token for row, token in zip(rows, record["target"], strict=True)]


def written(net: Trunk, record: Record) -> list[int]:
    """What the net writes until `<eos>`, or until it is longer than the output."""
    ids = list(record["input"])
    for _ in record["target"]:
        row = net(torch.tensor([ids]))[0, -1].tolist()
        ids.append(row.index(max(row)))
        if ids[-1] == EOS:
            break
    return ids[len(record["input"]) :]


def samples(split: str, count: int, task: SequenceTask = COPY) -> list[Record]:
    return [task.sample(1, split, index) for index in range(count)]


def test_the_loss_is_the_mean_surprise_of_output_tokens_and_eos(copier: TaskSettings, learner: Trunk) -> None:
    for step, length, numbers in ((1, 1, range(0, 18, 3)), (3, 3, range(2, 20, 3)), (5, 2, range(19, 37, 3))):
        theirs = [each for number in numbers for each in surprises(learner, COPY.sample(1, "train", number))]
        assert len(theirs) == 6 * (length + 1), "lengths take turns, and those of one step are the same"
        ours = copier.objective().loss(learner, step).item()
        assert ours == pytest.approx(sum(theirs) / len(theirs), rel=rounding(torch.float64))


@every_encoding
def test_padding_changes_nothing(encoding: str) -> None:
    net, records, batch = net_of(encoding), samples("test", 4), COPY.batch(1, "test", range(4))
    assert (batch.ids_NT == PAD).any()
    apart = [each for record in records for each in surprises(net, record)]
    assert output_loss(net, batch).item() == pytest.approx(sum(apart) / len(apart), rel=1e-9)
    other_NT = np.where(batch.ids_NT == PAD, 5, batch.ids_NT)
    assert output_loss(net, replace(batch, ids_NT=other_NT)).item() == output_loss(net, batch).item()


@every_encoding
def test_decoding_with_the_cache_is_decoding_without(encoding: str) -> None:
    net, outputs = net_of(encoding), set[tuple[int, ...]]()
    for length in (4, 5):
        records = [record for record in samples("test", 24) if record["length"] == length]
        decoded_BT = decode(net, torch.tensor([record["input"] for record in records]), most=length + 1)
        for output_T, record in zip(decoded_BT.tolist(), records, strict=True):
            theirs = written(net, record)
            assert output_T == theirs + [PAD] * (length + 1 - len(theirs))
            outputs.add(tuple(theirs))
    assert len(outputs) > 3


def test_decoding_stops_at_the_end_of_every_output(learner: Trunk, monkeypatch: pytest.MonkeyPatch) -> None:
    read, hidden = list[int](), Trunk.hidden

    def listen(net: Trunk, ids_BT: torch.Tensor, *rest: object, **more: object) -> torch.Tensor:
        read.append(ids_BT.shape[1])
        return hidden(net, ids_BT, *rest, **more)

    monkeypatch.setattr(Trunk, "hidden", listen)
    prompt_BT = torch.tensor([COPY.sample(1, "train", 3 * number)["input"] for number in range(4)])
    output_BT = decode(learner, prompt_BT, most=50)
    ends = [row.index(EOS) + 1 for row in output_BT.tolist()]
    assert output_BT.shape == (4, 50) and read == [3] + [1] * (max(ends) - 1)


def test_both_accuracies_are_what_they_are_one_by_one(learner: Trunk) -> None:
    theirs, pooled = dict[str, float](), {"": samples("test", 60), " valid": samples("valid", 60)}
    lengths = {f" length {n}": [r for each in pooled.values() for r in each if r["length"] == n] for n in range(1, 6)}
    for name, records in {**pooled, **lengths}.items():
        theirs[f"exact{name}"] = np.mean([written(learner, record) == record["target"] for record in records])
        theirs[f"token accuracy{name}"] = np.mean([hit for record in records for hit in hits(learner, record)])
    ours = evaluate_outputs(learner, COPY, seed=1, samples=60)
    assert ours == pytest.approx(theirs, abs=1e-12) and ours.keys() == theirs.keys()
    assert 0 < ours["exact"] < ours["exact valid"] < 1, "some outputs are right and some are wrong"
    assert ours["exact"] < ours["token accuracy"] < 1


def test_a_part_without_samples_is_left_out(learner: Trunk) -> None:
    measured = evaluate_outputs(learner, COPY, seed=1, samples=1)
    assert {name for name in measured if name.startswith("exact")} == {
        "exact",
        "exact valid",
        "exact length 1",
        "exact length 4",
    }


def test_many_samples_are_decoded_in_parts(learner: Trunk, monkeypatch: pytest.MonkeyPatch) -> None:
    batch, counts = COPY.batch(1, "valid", range(30)), list[int]()

    def listen(net: Trunk, prompt_BT: torch.Tensor, *, most: int) -> torch.Tensor:
        counts.append(len(prompt_BT))
        return decode(net, prompt_BT, most=most)

    whole = sample_measures(learner, COPY, batch)
    monkeypatch.setattr("wherewhat.training.sequence_training.AT_ONCE", 4)
    monkeypatch.setattr("wherewhat.training.sequence_training.decode", listen)
    for measure, ours_N in sample_measures(learner, COPY, batch).items():
        assert np.array_equal(ours_N, whole[measure]) and len(set(ours_N.tolist())) > 1
    assert counts == [4, 4, 2] * 3


def files(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


def test_a_run_its_curve_and_its_folder(copier: TaskSettings, tmp_path: Path) -> None:
    run = train(copier, out=tmp_path)
    measures = [f"{kind}{part}" for part in ("", " valid") for kind in ("exact", "token accuracy")]
    measures += [f"{kind} length {n}" for n in range(1, 6) for kind in ("exact", "token accuracy")]
    assert run.curve["measure"].to_list() == ["loss", *measures] * 3
    assert run.ends == {"accuracy": run.final("exact"), "accuracy_valid": run.final("exact valid")}
    assert evaluate_outputs(run.net, COPY, seed=1, samples=20)["token accuracy"] == run.final("token accuracy")
    stored = load_model(tmp_path / "model")
    assert stored.alone == COPY and stored.tasks == ()
    again = train(copier, out=tmp_path, resume=True, on_step=lambda *_: pytest.fail("a finished run is read"))
    assert again.curve.equals(run.curve)
    with pytest.raises(
        UserError, match=r"with other settings: tasks.copy_random.alphabet was 4 and is 5|alphabet was 4 and"
    ):
        train(changed(copier, ["alphabet=5", "vocabulary=9"]), out=tmp_path, resume=True)


@pytest.mark.parametrize("last", [2, 3, 8])
def test_an_interrupted_run_ends_as_an_unbroken_one(copier: TaskSettings, tmp_path: Path, last: int) -> None:
    def cut(step: int, measured: Mapping[str, float]) -> None:
        if step == last:
            raise PowerCutError

    train(copier, out=tmp_path / "whole")
    with pytest.raises(PowerCutError):
        train(copier, out=tmp_path / "cut", on_step=cut)
    train(copier, out=tmp_path / "cut", resume=True)
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


def test_every_step_learns_from_fresh_samples_of_one_length(
    copier: TaskSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, batch = list[tuple[int, str, list[int]]](), CopyRandom.batch

    def listen(task: CopyRandom, seed: int, split: str, indices: Ints) -> SequenceBatch:
        asked.append((seed, split, list(indices)))
        return batch(task, seed, split, indices)

    monkeypatch.setattr(CopyRandom, "batch", listen)
    train(replace(copier, data_seed=5))
    assert {seed for seed, _, _ in asked} == {5}
    steps = [indices for _, split, indices in asked if split == "train"]
    assert [{index % 3 for index in indices} for indices in steps] == [{step % 3} for step in range(11)]
    assert sorted(index for indices in steps[:9] for index in indices) == list(range(9 * 6)), "each sample once"
    others = [(split, indices) for _, split, indices in asked if split != "train"]
    assert others == [("valid", list(range(20))), ("test", list(range(20)))] * 3


def test_the_net_follows_the_lengths_and_the_alphabet(copier: TaskSettings, brief: TaskSettings) -> None:
    longer = changed(copier, ["copy_random.test_length=40", "alphabet=10"])
    assert (longer.net.length, longer.net.vocabulary) == (82, 14)
    assert longer.tasks == (replace(COPY, test_length=40, alphabet=10),)
    chosen = changed(brief, ["tasks=copy_random", "train_length=4", "test_length=6"])
    assert chosen.tasks == (CopyRandom(train_length=4, test_length=6),) and chosen.net.length == 14
    assert changed(chosen, ["tasks=letter"]).tasks == (task("letter"),)
    assert TaskSettings.from_dict(json.loads(json.dumps(copier.to_dict()))) == copier


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            ["copy_random.tran_length=2"],
            "unknown setting 'copy_random.tran_length'; did you mean 'copy_random.train_length'?",
        ),
        (
            ["copy_random.train_length=5"],
            "the copy_random task cannot have test_length = 5; give a whole number of at least 6",
        ),
        (["length=11"], "length 11 is too small; the tasks need 12: give at least that, or leave it out"),
        (["test_length=9", "length=12"], "the net's length 12 is too small; the tasks need 20"),
        (["vocabulary=7"], "the net's vocabulary 7 is too small; the tasks need 8"),
        (
            ["tasks=copy_random,letter"],
            "the copy_random task answers with a sequence and is learnt alone; name no other task",
        ),
        (
            ["kind=encoder"],
            "the copy_random task is answered token by token, and the net is of kind encoder; give kind=dec",
        ),
    ],
)
def test_what_cannot_be_learnt(copier: TaskSettings, changes: list[str], sentence: str) -> None:
    with pytest.raises(UserError) as error:
        changed(copier, changes)
    assert sentence in str(error.value)


def test_a_stored_net_that_is_too_short_for_its_task(copier: TaskSettings, tmp_path: Path) -> None:
    train(replace(copier, steps=1), out=tmp_path)
    path = tmp_path / "model" / "config.json"
    config = json.loads(path.read_text())
    config["tasks"][0]["test_length"] = 30
    path.write_text(json.dumps(config))
    with pytest.raises(UserError, match=r"do not fit its net: they need a length of 62 and the net's is 12; copy"):
        load_model(tmp_path / "model")


BRIEF = ["steps=3", "evaluate_every=2", "evaluate_samples=20", "width=8", "heads=2", "layers=1"]


@pytest.mark.parametrize(
    "how", [["copy_tiny"], ["tiny", "--set", "tasks=copy_random", "--set", "test_length=22"]], ids=str
)
def test_the_command_and_what_it_says(how: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = [part for change in BRIEF for part in ("--set", change)]
    assert main(["train", *how, *sizes, "--out", str(tmp_path)]) == 0
    assert "% of longer test outputs decoded exactly, 0.0% at training lengths; `wherewhat" in capsys.readouterr().out
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert (
        manifest["settings"]["tasks"][0]["name"] == "copy_random" and {"accuracy", "accuracy_valid"} <= manifest.keys()
    )
    assert pl.read_parquet(tmp_path / "curve.parquet")["step"].unique().sort().to_list() == [2, 3]


def test_the_recipe_can_be_changed_by_all_its_names() -> None:
    settings = recipe("copy_tiny")
    for part, sizes in settings.parts(settings.to_dict()):
        for name, value in sizes.items():
            assert name == "name" or changed(settings, [f"{part}.{name}={value}"]) == settings
