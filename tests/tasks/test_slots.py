"""Tasks with an answer in every slot: the worked samples, and what each slot answers."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wherewhat.errors import UserError
from wherewhat.tasks.mixture import combined
from wherewhat.tasks.registry import any_task, task
from wherewhat.tasks.slots import EvenTask, PositionTask, SlotTask

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "tasks.json").read_text())
SMALL = [PositionTask(tokens=6, n_tok=3), EvenTask(tokens=6, n_tok=4)]


@pytest.mark.parametrize("name", ["position", "position_small", "even", "even_small"])
def test_samples_are_the_known_ones(name: str) -> None:
    known = VECTORS[name]
    sizes = {"tokens" if size == "length" else size: value for size, value in known["config"].items()}
    made = any_task(name.removesuffix("_small"), **sizes)
    records = [made.sample(known["seed"], known["split"], index) for index in range(known["n"])]
    written = json.dumps(records, sort_keys=True, separators=(",", ":")).encode()
    assert hashlib.sha256(written).hexdigest() == known["sha256"]
    assert records[: len(known["samples"])] == known["samples"]


@pytest.mark.parametrize("one", SMALL, ids=lambda one: one.name)
def test_a_batch_is_its_samples_and_each_is_solved(one: SlotTask) -> None:
    batch = one.batch(3, "test", [0, 7, 10**6])
    for row, index in enumerate([0, 7, 10**6]):
        record = one.sample(3, "test", index)
        assert batch.input_NT[row].tolist() == record["input"] and batch.target_NT[row].tolist() == record["target"]
        assert one.solve(record["input"]) == record["target"]
        assert max(record["input"]) < one.n_tok and max(record["target"]) < one.classes <= one.vocabulary
    assert [ids.tolist() for ids in one.texts(3, "test", [0, 7])] == batch.input_NT[:2].tolist()
    assert type(one)(**json.loads(json.dumps(one.sizes()))) == one


def test_every_slot_answers_with_its_number_or_with_a_token_at_an_even_place() -> None:
    position, even = SMALL
    ids = [2, 0, 1, 1, 0, 2]
    assert position.solve(ids) == [0, 1, 2, 3, 4, 5] and position.groups == ()
    assert even.solve(ids) == [0, 1, 2, 4, 4, 4]
    assert even.groups == ("first half", "second half") and even.group_T.tolist() == [0, 0, 0, 1, 1, 1]
    assert [even.token(id) for id in range(5)] == ["a", "b", "c", "d", "."]


def test_tokens_are_drawn_evenly_and_splits_apart() -> None:
    one = EvenTask(tokens=8, n_tok=4)
    train, test = (one.batch(1, split, range(500)).input_NT for split in ("train", "test"))
    counts = np.bincount(train.ravel(), minlength=4)
    assert counts.min() > 900 and not np.array_equal(train, test)


@pytest.mark.parametrize(
    ("name", "sizes", "sentence"),
    [
        ("even", {"tokens": 7}, "the even task cannot have tokens = 7; give an even number"),
        ("position", {"tokens": 1}, "the position task cannot have tokens = 1; give a whole number of at least 2"),
        ("position", {"n_tok": 1}, "the position task cannot have n_tok = 1; give a whole number of at least 2"),
        ("even", {"token": 7}, "unknown size of the even task 'token'; did you mean 'tokens'?"),
    ],
    ids=str,
)
def test_impossible_sizes(name: str, sizes: dict[str, int], sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        any_task(name, **sizes)
    assert sentence in str(refused.value)


def test_such_a_task_is_learnt_alone() -> None:
    with pytest.raises(UserError, match="the even task answers in every slot where one answer is needed; choose ano"):
        task("even")
    with pytest.raises(UserError, match="the even task answers in every slot and is learnt alone; name no other task"):
        combined([task("letter"), EvenTask()])
    assert combined([EvenTask()]) == EvenTask()
