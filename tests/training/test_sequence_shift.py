"""Positions that are counted from a random number at each training step: who notices, and who has no room for it."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from precision import rounding

from wherewhat.encodings.registry import ENCODINGS
from wherewhat.errors import UserError
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk
from wherewhat.recipes.length import LengthRun, arm, sized_task
from wherewhat.tasks.copying import CopyRandom
from wherewhat.tasks.stream import Stream
from wherewhat.training.loop import train
from wherewhat.training.sequence_training import output_loss
from wherewhat.training.settings import changed
from wherewhat.training.task_training import TaskSettings, answer_logits

COPY = CopyRandom(shortest=1, train_length=3, test_length=5, alphabet=4)
RELATIVE, ABSOLUTE = ("none", "rope", "alibi", "t5_bias"), ("sinusoidal", "learned")
OFFSETS = (0, 1, 7, 40)


def net_of(encoding: str, length: int = COPY.length + max(OFFSETS)) -> Trunk:
    """A net in which attention and positions matter."""
    config = NetConfig(vocabulary=COPY.vocabulary, length=length, width=16, layers=2, heads=2, encoding=encoding)
    net = build(config, seed=3).eval()
    with torch.no_grad():
        net.tokens.weight /= net.tokens.weight.std()
        for block in net.blocks:
            block.attention.out.weight *= 8  # type: ignore[operator, union-attr]
        for name, parameter in net.encodings.named_parameters():
            if name.endswith("table_SD"):
                parameter.div_(parameter.std())
    return net


def losses(encoding: str) -> list[float]:
    net, batch = net_of(encoding), COPY.batch(1, "train", np.arange(24))
    with torch.no_grad():
        return [output_loss(net, batch, first=first).item() for first in OFFSETS]


# An angle grows with the position, and its rounding with it: the largest position is the size of what is rounded.
TOLERANCE = rounding(torch.float32, COPY.length + max(OFFSETS))


@pytest.mark.parametrize("encoding", RELATIVE)
def test_relative_encodings_do_not_notice(encoding: str) -> None:
    assert losses(encoding) == pytest.approx([losses(encoding)[0]] * len(OFFSETS), rel=TOLERANCE)


@pytest.mark.parametrize("encoding", ABSOLUTE)
def test_absolute_encodings_do(encoding: str) -> None:
    still, *moved = losses(encoding)
    assert all(abs(loss - still) > 10 * TOLERANCE * still for loss in moved)


def test_every_encoding_says_of_itself_whether_it_notices() -> None:
    for name in (*RELATIVE, *ABSOLUTE):
        assert net_of(name).encoding(0).shift_invariant == (name in RELATIVE)
    assert set(RELATIVE + ABSOLUTE) <= set(ENCODINGS)


@pytest.mark.parametrize("encoding", [*RELATIVE, *ABSOLUTE])
def test_a_step_is_read_from_its_own_first_position(copier: TaskSettings, encoding: str) -> None:
    shifted = changed(copier, [f"encoding={encoding}", "shift=6"])
    assert shifted.net.length == COPY.length + 6
    net = build(shifted.net, seed=0)
    for step in (1, 2, 9):
        first = Stream(shifted.data_seed, "shift", step).below(7)
        assert shifted.first_position(step) == first
        batch = COPY.batch(shifted.data_seed, "train", COPY.step_indices(step, shifted.batch))
        assert shifted.objective().loss(net, step).item() == output_loss(net, batch, first=first).item()


def test_first_positions_go_from_zero_to_the_shift_and_depend_on_the_step_alone(copier: TaskSettings) -> None:
    shifted = changed(copier, ["shift=6"])
    drawn = [shifted.first_position(step) for step in range(1, 400)]
    assert set(drawn) == set(range(7)) and drawn == [shifted.first_position(step) for step in range(1, 400)]
    assert drawn != [replace(shifted, data_seed=9).first_position(step) for step in range(1, 400)]


def test_no_shift_is_what_it_was(copier: TaskSettings) -> None:
    """Positions are counted from 0, with nothing to set, and settings from before there were shifts are read."""
    assert copier.shift == 0 and {copier.first_position(step) for step in range(1, 50)} == {0}
    net = build(replace(copier.net, encoding="learned"), seed=0)
    batch = COPY.batch(1, "train", COPY.step_indices(2, 6))
    ids_BT, predicted_BT = torch.from_numpy(batch.ids_NT), torch.from_numpy(batch.predicted_NT)
    logits_GV = net(ids_BT[:, :-1])[predicted_BT[:, 1:]]
    theirs = torch.nn.functional.cross_entropy(logits_GV, ids_BT[predicted_BT])
    assert copier.objective().loss(net, 2).item() == pytest.approx(theirs.item(), rel=rounding(torch.float32))
    plain = json.loads(json.dumps(copier.to_dict()))
    del plain["shift"]
    assert TaskSettings.from_dict(plain) == copier


def test_tasks_with_one_answer_are_shifted_too(brief: TaskSettings) -> None:
    shifted = changed(brief, ["encoding=learned", "shift=4"])
    net = build(shifted.net, seed=0)
    step = next(step for step in range(1, 50) if shifted.first_position(step) == 4)
    batch = shifted.task.batch(1, "train", np.arange((step - 1) * 6, step * 6))
    input_NT, target_N = torch.from_numpy(batch.input_NT), torch.from_numpy(batch.target_N)  # type: ignore[union-attr]
    with torch.no_grad():
        theirs = torch.nn.functional.cross_entropy(answer_logits(net, input_NT, first=4), target_N)
        assert shifted.objective().loss(net, step).item() == theirs.item()
        assert not torch.equal(answer_logits(net, input_NT, first=4), answer_logits(net, input_NT))


def test_a_shifted_run_is_trained_and_read_back(copier: TaskSettings) -> None:
    plain, shifted = (changed(copier, ["encoding=sinusoidal", f"shift={shift}"]) for shift in (0, 6))
    first, second = train(plain), train(shifted)
    assert first.curve["measure"].to_list() == second.curve["measure"].to_list()
    assert not torch.equal(first.net.tokens.weight, second.net.tokens.weight)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (["shift=-1"], "shift cannot be -1; give at least 0"),
        (["shift=5", "length=12"], "the net's length 12 is too small; the tasks need 17"),
        (["encoding=learned", "shift=5", "length=16"], "the net's length 16 is too small; the tasks need 17"),
    ],
)
def test_shifts_that_do_not_fit(copier: TaskSettings, changes: list[str], sentence: str) -> None:
    with pytest.raises(UserError) as error:
        changed(copier, changes)
    assert sentence in str(error.value)


def test_a_table_refuses_positions_behind_its_end() -> None:
    net, batch = net_of("learned", length=COPY.length), COPY.batch(1, "test", [1])
    output_loss(net, batch)
    with pytest.raises(UserError) as error:
        output_loss(net, batch, first=1)
    assert "12" in str(error.value) and "13" in str(error.value)


def test_the_recipe_makes_room_for_its_shift() -> None:
    task = sized_task("copy_repeat", "short")
    settings = LengthRun(shift=9).settings(task, arm("learned"), 0)
    assert settings.shift == 9 and settings.net.length == task.length + 9
