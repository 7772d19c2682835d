"""Longer inputs: more tokens before the window; the answer, the path to it and every distance stay as they were."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wherewhat.encodings.base import Context
from wherewhat.errors import UserError
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.tasks.hops import Hops
from wherewhat.tasks.letter import LetterTask
from wherewhat.tasks.number import NumberTask
from wherewhat.tasks.registry import task
from wherewhat.training.task_training import evaluate

BOTH = [
    NumberTask(window=3, pre=4, hops=(1, 2, 5), n_letters=4),
    LetterTask(window=3, pre=4, hops=(1, 2, 5), n_letters=6, n_int=2),
    NumberTask(),
    LetterTask(),
]
either = pytest.mark.parametrize("one", BOTH, ids=lambda one: f"{one.name} {one.length}")


@either
@pytest.mark.parametrize("before", [1, 2, 30])
def test_without_its_first_tokens_a_longer_sample_is_the_shorter_one(one: Hops, before: int) -> None:
    longer = replace(one, before=before)
    assert longer.length == one.length + before
    for index in range(60):
        short, long = one.sample(3, "test", index), longer.sample(3, "test", index)
        assert long["input"][before:] == short["input"]
        assert long["tokens"][before:] == short["tokens"]
        assert [slot - before for slot in long["path"]] == short["path"]
        assert (long["target"], long["hops"]) == (short["target"], short["hops"])


@either
@settings(max_examples=15, deadline=None)
@given(before=st.integers(0, 40), seed=st.integers(0, 2**40), indices=st.lists(st.integers(0, 10**7), max_size=5))
def test_a_longer_batch_is_its_longer_samples(one: Hops, before: int, seed: int, indices: list[int]) -> None:
    longer = replace(one, before=before)
    batch, shorter = longer.batch(seed, "valid", indices), one.batch(seed, "valid", indices)
    assert batch.input_NT.shape == (len(indices), longer.length)
    assert np.array_equal(batch.input_NT[:, before:], shorter.input_NT)
    assert np.array_equal(batch.labels["answer_pos"] - before, shorter.labels["answer_pos"])
    for row, index in enumerate(indices):
        record = longer.sample(seed, "valid", index)
        assert batch.input_NT[row].tolist() == record["input"]
        assert batch.target_N[row] == record["target"]
        assert batch.labels["answer_pos"][row] == record["path"][-1]


@either
def test_a_longer_input_only_goes_on_at_its_left(one: Hops) -> None:
    long, longest = (replace(one, before=before).batch(1, "test", range(50)).input_NT for before in (5, 12))
    assert np.array_equal(long, longest[:, 7:])


@either
def test_longer_samples_are_solved_from_their_tokens_along_the_same_path(one: Hops) -> None:
    longer = replace(one, before=20)
    for index in range(150):
        record = longer.sample(4, "test", index)
        assert longer.path(record["input"]) == record["path"]
        assert longer.solve(record["input"]) == record["target"]
        assert all(slot >= longer.before for slot in record["path"])


@either
def test_what_is_put_before_is_of_the_window_s_kind_and_varied(one: Hops) -> None:
    longer = replace(one, before=200)
    extra = set(longer.batch(1, "train", range(200)).input_NT[:, :200].flatten().tolist())
    shown = set(one.batch(1, "train", range(4000)).input_NT[:, : one.window].flatten().tolist())
    assert extra == shown  # every letter or pair that a window can hold, and nothing else


def test_no_pair_put_before_begins_with_a_letter_of_the_path() -> None:
    longer = replace(LetterTask(), before=100)
    for index in range(50):
        record = longer.sample(2, "test", index)
        path = {record["tokens"][slot][0] for slot in record["path"][1:]}
        assert not path & {token[0] for token in record["tokens"][:100]}


def test_no_number_points_before_the_window() -> None:
    longer = replace(NumberTask(), before=50)
    for row in longer.batch(2, "test", range(300)).input_NT.tolist():
        assert all(slot - row[slot] >= 50 for slot in range(58, longer.length))


@either
def test_the_vocabulary_the_cells_and_the_kinds_do_not_grow(one: Hops) -> None:
    longer = replace(one, before=833)
    for same in ("vocabulary", "cells", "groups"):
        assert getattr(longer, same) == getattr(one, same)
    assert [longer.token(id) for id in range(one.vocabulary)] == [one.token(id) for id in range(one.vocabulary)]
    assert task(longer.name, **longer.sizes()) == longer


@pytest.mark.parametrize("before", [-1, 1.5, "long"])
@pytest.mark.parametrize("name", ["number", "letter"])
def test_lengths_that_make_no_sense(name: str, before: object) -> None:
    sentence = f"the {name} task cannot have before = {before}; give a whole number of at least 0"
    with pytest.raises(UserError) as error:
        task(name, before=before)
    assert str(error.value) == sentence


def test_a_rotary_net_reads_longer_inputs_than_it_was_made_for() -> None:
    one = NumberTask(window=3, pre=4, hops=(1, 2), n_letters=4)
    net = build(NetConfig(vocabulary=one.vocabulary, length=one.length, width=8, layers=1, heads=1))
    longer = replace(one, before=100)
    measured = evaluate(net, longer, seed=1, samples=30)
    assert set(measured) == {"accuracy", "accuracy number 1 hop", "accuracy number 2 hops"}
    net.encoding(0).check(length=longer.length, causal=True)  # and would say so if it could not
    assert net(torch.from_numpy(longer.batch(1, "test", range(2)).input_NT)).shape == (2, longer.length, one.vocabulary)
    assert Context.of(longer.length, causal=True).longest == longer.length
