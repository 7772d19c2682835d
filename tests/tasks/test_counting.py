"""Contextual counting: the worked samples, and what can be counted."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wherewhat.errors import UserError
from wherewhat.tasks.counting import BIT_ONE, BOS, CLOSE, OPEN, CountingTask
from wherewhat.tasks.mixture import combined
from wherewhat.tasks.registry import any_task, task

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "tasks.json").read_text())
SMALL = CountingTask(tokens=24, regions=3)


@pytest.mark.parametrize("name", ["counting", "counting_small"])
def test_samples_are_the_known_ones(name: str) -> None:
    known = VECTORS[name]
    sizes = {"tokens" if size == "length" else size: value for size, value in known["config"].items()}
    made = any_task("counting", **sizes)
    records = [made.sample(known["seed"], known["split"], index) for index in range(known["n"])]
    written = json.dumps(records, sort_keys=True, separators=(",", ":")).encode()
    assert hashlib.sha256(written).hexdigest() == known["sha256"]
    assert records[: len(known["samples"])] == known["samples"]


def test_regions_counted_by_hand() -> None:
    known = VECTORS["counting_hand"]
    made = CountingTask(tokens=len(known["input"]))
    assert " ".join(map(made.token, known["input"])) == known["text"]
    assert made.solve(known["input"]) == known["target"]


@pytest.mark.parametrize("bos", [False, True])
def test_a_batch_is_its_samples_and_each_is_solved(bos: bool) -> None:
    made = CountingTask(tokens=24, regions=3, bos=bos)
    batch = made.batch(3, "test", [0, 7, 10**6])
    for row, index in enumerate([0, 7, 10**6]):
        record = made.sample(3, "test", index)
        assert batch.input_NT[row].tolist() == record["input"] and batch.target_NR[row].tolist() == record["target"]
        assert made.solve(record["input"]) == record["target"]
        assert len(record["input"]) == made.length == 24 + bos and (record["input"][0] == BOS) == bos
        assert record["input"].count(OPEN) == record["input"].count(CLOSE) == 3
        assert max(record["input"]) < made.vocabulary and max(record["target"]) < made.classes
    assert [ids.tolist() for ids in made.texts(3, "test", [0, 7])] == batch.input_NT[:2].tolist()
    assert CountingTask(**json.loads(json.dumps(made.sizes()))) == made


def test_the_same_sample_with_bos_and_without() -> None:
    plain, begun = CountingTask(tokens=24), CountingTask(tokens=24, bos=True)
    first, second = plain.sample(1, "train", 5), begun.sample(1, "train", 5)
    assert second["input"] == [BOS, *first["input"]] and second["target"] == first["target"]
    assert begun.token(BOS) == "BOS" and begun.groups == ("region 0", "region 1", "region 2", "region 3")


def test_bits_are_fair_and_splits_apart() -> None:
    train, test = (SMALL.batch(1, split, range(500)).input_NT for split in ("train", "test"))
    bits = train[train <= BIT_ONE]
    assert abs(bits.mean() - 0.5) < 5 * 0.5 / bits.size**0.5 and not np.array_equal(train, test)


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [
        ([2, 2, 3, 3], "the counting task has regions one after the other, each with [ and ]; these are not"),
        ([3, 2], "the counting task has regions one after the other, each with [ and ]; these are not"),
        ([2, 1, 3, 2], "the counting task has 3 closed regions and got 2"),
        ([0, 1], "the counting task has 3 closed regions and got 0"),
    ],
    ids=str,
)
def test_what_cannot_be_counted(ids: list[int], sentence: str) -> None:
    with pytest.raises(UserError) as refusal:
        SMALL.solve(ids)
    assert str(refusal.value) == sentence


def test_impossible_sizes_and_company() -> None:
    with pytest.raises(UserError, match="the counting task cannot have tokens = 8; give a whole number of at least 9"):
        CountingTask(tokens=8)
    with pytest.raises(UserError, match="the counting task answers once per region where one answer is needed"):
        task("counting")
    with pytest.raises(UserError, match="the counting task answers once per region and is learnt alone"):
        combined([task("letter"), SMALL])
