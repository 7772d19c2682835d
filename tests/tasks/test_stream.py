"""Streams give the published numbers, and many at once give the same as one at a time."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wherewhat.tasks.cells import block_order, cells_of, factors
from wherewhat.tasks.stream import Stream, Streams, fnv

PRNG = json.loads((Path(__file__).parents[1] / "vectors" / "tasks.json").read_text())["prng"]
seeds = st.integers(min_value=-(2**63), max_value=2**64 - 1)
numbers = st.lists(st.integers(min_value=0, max_value=10**12), min_size=1, max_size=6)


def test_splitmix_from_state_zero() -> None:
    stream = Stream(0)
    stream.state = 0
    assert [f"{stream.next():016x}" for _ in range(3)] == PRNG["splitmix_state0"]


@pytest.mark.parametrize("text", PRNG["fnv1a"])
def test_fnv(text: str) -> None:
    assert f"{fnv(text):016x}" == PRNG["fnv1a"][text]


def test_every_call_of_one_stream() -> None:
    stream, expected = Stream(1, "demo"), PRNG["stream_seed1_demo"]
    assert [stream.below(10) for _ in range(12)] == expected["below10"]
    assert stream.shuffle(range(8)) == expected["shuffle8"]
    assert stream.sample(range(8), 3) == expected["sample3of8"]
    assert [stream.weighted([("a", 1), ("b", 2), ("c", 5)]) for _ in range(8)] == expected["weighted"]


def test_pick_and_between_are_below_in_other_words() -> None:
    one, other = Stream(3, "x"), Stream(3, "x")
    assert [one.pick("abcde") for _ in range(20)] == ["abcde"[other.below(5)] for _ in range(20)]
    drawn = [one.between(-2, 2) for _ in range(200)]
    assert drawn == [other.below(5) - 2 for _ in range(200)]
    assert set(drawn) == {-2, -1, 0, 1, 2}


def test_block_order() -> None:
    block = PRNG["block"]
    order = block_order(block["seed"], block["task"], block["split"], 0, block["cells"])
    assert list(order[:8]) == block["first8"]
    assert sorted(order) == list(range(block["cells"]))


@settings(max_examples=50, deadline=None)
@given(seeds, numbers, st.integers(min_value=1, max_value=2**32 - 1))
def test_many_streams_equal_one_at_a_time(seed: int, names: list[int], n: int) -> None:
    ours = Streams(seed, ["task", "train"], np.array(names)).below(n, draws=4)
    theirs = [[stream.below(n) for _ in range(4)] for stream in (Stream(seed, "task", "train", k) for k in names)]
    assert ours.tolist() == theirs


@settings(max_examples=50, deadline=None)
@given(seeds, st.lists(st.integers(min_value=0, max_value=5), min_size=1, max_size=6))
def test_rows_that_draw_less_stay_exact(seed: int, wanted: list[int]) -> None:
    k_N = np.array(wanted)
    rows_N = np.arange(len(wanted))
    streams = Streams(seed, ["x"], rows_N)
    sampled = streams.sample(np.tile(np.arange(10, 16), (len(wanted), 1)), k_N)
    after_N = streams.below(1000, draws=1)[:, 0]
    for row, k in zip(rows_N, wanted, strict=True):
        stream = Stream(seed, "x", row)
        assert [value for value in sampled[row] if value >= 0] == stream.sample(range(10, 16), k)
        assert after_N[row] == stream.below(1000)


@given(st.lists(st.integers(min_value=0, max_value=10**6), min_size=1, max_size=20))
def test_cells_of_many_samples(indices: list[int]) -> None:
    ours = cells_of(1, "t", "test", np.array(indices), 6)
    assert ours.tolist() == [block_order(1, "t", "test", k // 6, 6)[k % 6] for k in indices]


def test_factors_count_like_digits() -> None:
    grid = [factors(cell, [2, 3, 4]) for cell in range(24)]
    assert grid == [[a, b, c] for a in range(2) for b in range(3) for c in range(4)]
    many = factors(np.arange(24), [2, 3, 4])
    assert np.column_stack(many).tolist() == grid
