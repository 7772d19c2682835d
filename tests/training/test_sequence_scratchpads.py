"""Runs with scratchpads: what is measured of the steps before an answer, part by part."""

import numpy as np
import pytest
import torch
from torch import Tensor

from wherewhat.encodings.registry import ENCODINGS
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk
from wherewhat.tasks.arithmetic import Sum
from wherewhat.tasks.lego import Lego
from wherewhat.tasks.scratchpad import PARTS
from wherewhat.tasks.sequence import EOS, PAD, SequenceTask
from wherewhat.training import sequence_training
from wherewhat.training.loop import train
from wherewhat.training.sequence_training import evaluate_outputs, sample_measures
from wherewhat.training.task_training import TaskSettings

SUM = Sum(train_length=3, test_length=4, scratchpad="full")
STEPS = [f"step {part}" for part in PARTS]


def net_of(task: SequenceTask, encoding: str = "none") -> Trunk:
    config = NetConfig(
        vocabulary=task.vocabulary, length=task.length, width=8, layers=1, heads=2, mlp=1, encoding=encoding
    )
    return build(config, seed=0)


def decoded_with(task: SequenceTask, monkeypatch: pytest.MonkeyPatch, *changes: dict[str, str] | None) -> None:
    """Let decoding give correct outputs, those of sample n with some tokens replaced as changes[n] says."""
    asked = 0

    def decode(net: Trunk, prompt_BT: Tensor, *, most: int) -> Tensor:
        nonlocal asked
        rows = []
        for prompt in prompt_BT.tolist():
            change = changes[asked % len(changes)]
            tokens = [task.token(id) for id in task.solve(prompt)]
            asked += 1
            if change is None:  # never ends
                rows.append(task.ids(tokens[:-1])[:most])
                continue
            kept = [change.get(token, token) for token in tokens[:-1]]
            rows.append([*task.ids([token for token in kept if token])[: most - 1], EOS])
        return torch.tensor([row + [PAD] * (most - len(row)) for row in rows])

    monkeypatch.setattr(sequence_training, "decode", decode)


@pytest.mark.parametrize("form", ["compact", "text"])
def test_correct_outputs_are_right_in_every_part(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    task = Sum(train_length=3, test_length=4, scratchpad="full", form=form)
    decoded_with(task, monkeypatch, {})
    measured = evaluate_outputs(net_of(task), task, seed=1, samples=6)
    for part in ("", " valid", " length 4"):
        assert [measured[f"{name}{part}"] for name in STEPS] == [1.0] * 5
        assert (measured[f"exact{part}"], measured[f"unreadable steps{part}"]) == (1.0, 0.0)
    assert set(STEPS) | {"exact", "token accuracy", "unreadable steps"} <= measured.keys()


def test_mistakes_are_counted_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sample each: correct, without a marker, without what comes before the answer, without an end."""
    batch = SUM.batch(1, "test", [0, 1, 2, 3])
    changes: list[dict[str, str] | None] = [{}, {"comp": ""}, {"<thus>": ""}, None]
    decoded_with(SUM, monkeypatch, *changes)
    measured = sample_measures(net_of(SUM), SUM, batch)
    assert measured["exact"].tolist() == [1, 1, 0, 0], "the answer behind wrong steps can be right"
    assert measured["unreadable steps"].tolist() == [0, 1, 1, 0]
    for part in STEPS:
        assert measured[part].tolist() == [1, 0, 0, 1]


def test_a_wrong_part_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded_with(SUM, monkeypatch, {":": "="})
    measured = sample_measures(net_of(SUM), SUM, SUM.batch(1, "test", [0, 1]))
    assert measured["step variables"].tolist() == [0, 0] and measured["exact"].tolist() == [1, 1]
    assert all(measured[f"step {part}"].tolist() == [1, 1] for part in PARTS if part != "variables")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_decoding_stays_within_what_a_net_can_read(encoding: str) -> None:
    """There is room for an output that is longer than the correct one, but never beyond the length of the net."""
    net = net_of(SUM, encoding)
    with torch.no_grad():
        net.head.bias[EOS] = -100.0  # never ends
    measured = evaluate_outputs(net, SUM, seed=1, samples=4)
    assert measured["exact"] == 0.0


def test_a_longer_scratchpad_may_be_written_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, decode = dict[int, int](), sequence_training.decode

    def listen(net: Trunk, prompt_BT: Tensor, *, most: int) -> Tensor:
        asked[prompt_BT.shape[1]] = most
        return decode(net, prompt_BT, most=most)

    monkeypatch.setattr(sequence_training, "decode", listen)
    net = net_of(SUM)
    for length in (2, 4):
        batch = SUM.batch(1, "valid" if length == 2 else "test", np.arange(1))
        sample_measures(net, SUM, batch)
        prompt, output = int(batch.prompt_N[0]), int(batch.tokens_N[0] - batch.prompt_N[0])
        assert asked[prompt] == min(int(1.25 * output), SUM.length + 1 - prompt)
        assert output <= asked[prompt]


def test_a_run_keeps_the_parts_in_its_curve() -> None:
    task = Lego(shortest=2, train_length=2, test_length=3, scratchpad="minimal")
    settings = TaskSettings(
        net=net_of(task, "learned").config,
        tasks=(task,),
        steps=3,
        batch=4,
        learning_rate=1e-3,
        warmup=1,
        evaluate_samples=4,
    )
    measures = set(train(settings).curve["measure"])
    assert {"step computation", "step output valid", "unreadable steps length 3"} <= measures
    assert "step rest" not in measures
