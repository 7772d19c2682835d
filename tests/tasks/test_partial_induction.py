"""Partial induction: two pairs with the symbol asked for, the later one counts, and samples are as published."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from wherewhat.errors import UserError
from wherewhat.tasks.base import Balanced
from wherewhat.tasks.cells import FEW, block_order, cells_of
from wherewhat.tasks.queries import PartialInduction
from wherewhat.tasks.registry import TASKS, task

VECTOR = json.loads((Path(__file__).parents[1] / "vectors" / "tasks.json").read_text())["induction"]


def test_the_published_books_in_batches() -> None:
    batch = task("partial_induction").batch(VECTOR["seed"], VECTOR["split"], range(len(VECTOR["samples"])))
    for row, record in enumerate(VECTOR["samples"]):
        assert batch.input_NT[row].tolist() == record["input"]
        for label in ("target_pair", "answer_pos", "decoy_pos", "decoy"):
            assert batch.labels[label][row] == record[label]


def test_exactly_two_pairs_and_the_later_counts() -> None:
    one = task("partial_induction")
    for index in range(300):
        record = one.sample(3, "valid", index)
        *pairs, query = record["input"]
        slots = [slot for slot, pair in enumerate(pairs) if pair // 32 == query - 512]
        assert slots == [record["decoy_pos"], record["answer_pos"]]
        earlier, later = (pairs[slot] % 32 for slot in slots)
        assert (earlier, later) == (record["decoy"], record["target"])
        assert earlier != later
        assert record["target_pair"] == pairs[slots[1]]


def test_no_answer_stands_in_the_first_slot_and_all_others_come_alike() -> None:
    batch = task("partial_induction").batch(0, "train", range(496))
    assert Counter(batch.labels["answer_pos"].tolist()) == dict.fromkeys(range(1, 32), 16)
    assert (batch.labels["decoy_pos"] < batch.labels["answer_pos"]).all()


def test_any_number_of_earlier_pairs_leaves_the_last_as_the_answer() -> None:
    one = PartialInduction(context=4, n_symbols=2, n_int=3)
    assert one.solve([0, 1, 2, 5, 6]) == 2  # a0 a1 a2 b2 a?
    assert one.solve([2, 4, 3, 5, 6]) == 2


def test_sequences_and_sizes_that_make_no_sense() -> None:
    one = PartialInduction(context=3, n_symbols=2, n_int=3)
    with pytest.raises(
        UserError, match="no pair has the symbol that 'b\\?' asks for; give a sequence with one at least"
    ):
        one.solve([0, 1, 2, 7])
    with pytest.raises(UserError, match="cannot have context = 1; give a whole number of at least 2"):
        PartialInduction(context=1)


def test_its_streams_keep_the_name_that_samples_were_numbered_under() -> None:
    assert PartialInduction.streams == "induction"
    others = [entry.cls for name, entry in TASKS.items() if name != "partial_induction"]
    assert {cls.streams for cls in others if issubclass(cls, Balanced)} == {""}


def test_many_blocks_are_shuffled_as_each_alone() -> None:
    blocks = np.array([0, 3, 9, 10, 99, 100, 101, 999, 12345])
    assert len(blocks) > FEW
    ours = cells_of(7, "induction", "train", (62 * blocks[:, None] + np.arange(62)).ravel(), 62)
    theirs = [list(block_order(7, "induction", "train", int(block), 62)) for block in blocks]
    assert ours.reshape(-1, 62).tolist() == theirs
    indices = np.arange(62 * (FEW + 3))
    few = np.concatenate([cells_of(7, "induction", "train", some, 62) for some in np.split(indices, FEW + 3)])
    assert cells_of(7, "induction", "train", indices, 62).tolist() == few.tolist()
