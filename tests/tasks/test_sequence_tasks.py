"""Tasks whose answer is a sequence: the same samples every time, solved from their tokens, longer in the test split."""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wherewhat.errors import UserError
from wherewhat.tasks.arithmetic import Addition
from wherewhat.tasks.copying import ALPHABET, CopyRandom
from wherewhat.tasks.mixture import combined
from wherewhat.tasks.registry import TASKS, any_task, task
from wherewhat.tasks.sequence import BOS, EOS, PAD, SEP, SPECIAL, SequenceTask

COPY = CopyRandom(shortest=1, train_length=3, test_length=5, alphabet=4)
SMALL = [COPY, Addition(train_length=2, test_length=3), CopyRandom()]
any_small = pytest.mark.parametrize("one", SMALL, ids=lambda one: f"{one.name} {one.test_length}")
SPLITS = ("train", "valid", "test")


def test_the_stream_of_a_sample_is_named_by_task_split_length_and_number() -> None:
    """A published sample of random copying: seed 1, train, length 5, number 0."""

    published = CopyRandom(alphabet=62)
    which = published.lengths("train").index(5)
    assert " ".join(published.sample(1, "train", which)["tokens"]) == "<bos> I Y j k M <sep> I Y j k M <eos>"


@any_small
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(-5, 2**64), split=st.sampled_from(SPLITS), indices=st.lists(st.integers(0, 10**9), max_size=6))
def test_a_batch_is_its_samples(one: SequenceTask, seed: int, split: str, indices: list[int]) -> None:
    batch = one.batch(seed, split, indices)
    records = [one.sample(seed, split, index) for index in indices]
    longest = max((len(record["input"] + record["target"]) for record in records), default=0)
    assert batch.ids_NT.shape == (len(indices), longest)
    for row, record in enumerate(records):
        whole = record["input"] + record["target"]
        assert batch.ids_NT[row].tolist() == whole + [PAD] * (longest - len(whole))
        assert (batch.prompt_N[row], batch.tokens_N[row]) == (len(record["input"]), len(whole))
        assert batch.ids_NT[row][batch.predicted_NT[row]].tolist() == record["target"]
        assert [one.token(id) for id in whole] == record["tokens"]
        label = "x".join(map(str, record["length"])) if isinstance(record["length"], tuple) else record["length"]
        assert one.groups[batch.group_N[row]] == f"length {label}"
    assert {array.dtype for array in (batch.ids_NT, batch.prompt_N, batch.tokens_N, batch.group_N)} == {
        np.dtype("int64")
    }
    assert [text_T.tolist() for text_T in one.texts(seed, split, indices)] == [
        record["input"] + record["target"][:-1] for record in records
    ]


@any_small
def test_some_rows_of_a_batch_are_a_smaller_batch(one: SequenceTask) -> None:
    whole, rows_B = one.batch(1, "test", range(12)), np.array([7, 0, 1])
    some, alone = whole.rows(rows_B), one.batch(1, "test", rows_B)
    for name in ("ids_NT", "prompt_N", "tokens_N", "group_N"):
        assert np.array_equal(getattr(some, name), getattr(alone, name))


@any_small
def test_every_sample_is_solved_from_its_tokens(one: SequenceTask) -> None:
    for split in SPLITS:
        for index in range(150):
            record = one.sample(2, split, index)
            assert one.solve(record["input"]) == record["target"]
            assert (record["input"][0], record["input"][-1], record["target"][-1]) == (BOS, SEP, EOS)
            inner = record["input"][1:-1] + record["target"][:-1]
            assert all(len(SPECIAL) <= id < one.vocabulary for id in inner)
            assert len(record["input"] + record["target"]) - 1 <= one.length


@any_small
def test_lengths_come_equally_often_and_the_longest_sample_is_as_long_as_said(one: SequenceTask) -> None:
    reads = 0
    for split in SPLITS:
        lengths = one.lengths(split)
        records = [one.sample(3, split, index) for index in range(40 * len(lengths))]
        assert Counter(record["length"] for record in records) == dict.fromkeys(lengths, 40)
        reads = max(reads, *(len(record["tokens"]) - 1 for record in records))
    assert reads == one.length
    assert one.lengths("train") == one.lengths("valid") and not set(one.lengths("train")) & set(one.lengths("test"))
    assert len(one.groups) == len(set(one.groups)) == len(one.lengths("train")) + len(one.lengths("test"))


def test_copying_copies_random_characters() -> None:
    assert COPY.lengths("train") == (1, 2, 3) and COPY.lengths("test") == (4, 5)
    assert COPY.groups == tuple(f"length {length}" for length in range(1, 6))
    assert (COPY.vocabulary, COPY.length) == (8, 12)
    shown = Counter[str]()
    for index in range(600):
        record = COPY.sample(1, "train", index)
        tokens = record["tokens"][1:-1]
        half = record["length"]
        assert tokens[half] == "<sep>" and tokens[:half] == tokens[half + 1 :] and len(tokens) == 2 * half + 1
        shown.update(tokens[:half])
    assert set(shown) == set(ALPHABET[:4]) and min(shown.values()) > 200


def test_a_sample_depends_on_its_own_length_only() -> None:
    longer = replace(COPY, test_length=9)
    for number in range(5):
        for length in COPY.lengths("test"):
            index, later = (2 * number + length - 4, 6 * number + length - 4)
            assert COPY.sample(1, "test", index) == longer.sample(1, "test", later)
            assert COPY.sample(1, "test", index)["length"] == length


@any_small
def test_splits_and_seeds_are_apart(one: SequenceTask) -> None:
    train, valid, other = (one.batch(*key, range(200)).ids_NT for key in ((1, "train"), (1, "valid"), (2, "train")))
    for first, second in ((train, valid), (train, other), (valid, other)):
        assert first.shape != second.shape or (first != second).any()


@any_small
def test_every_id_has_a_name_of_its_own(one: SequenceTask) -> None:
    names = [one.token(id) for id in range(one.vocabulary)]
    assert names[:4] == ["<pad>", "<bos>", "<sep>", "<eos>"] and len(set(names)) == one.vocabulary
    assert one.ids(names) == list(range(one.vocabulary))


def test_sizes_make_the_task_again() -> None:
    assert any_task("copy_random", **json.loads(json.dumps(COPY.sizes()))) == COPY
    assert TASKS["copy_random"].cls is CopyRandom


@pytest.mark.parametrize(
    ("sizes", "sentence"),
    [
        ({"tran_length": 4}, "unknown size of the copy_random task 'tran_length'; did you mean 'train_length'?"),
        ({"shortest": 0}, "the copy_random task cannot have shortest = 0; give a whole number of at least 1"),
        ({"shortest": 30}, "the copy_random task cannot have train_length = 20; give a whole number of at least 30"),
        ({"test_length": 20}, "the copy_random task cannot have test_length = 20; give a whole number of at least 21"),
        (
            {"test_length": "long"},
            "the copy_random task cannot have test_length = long; give a whole number of at least 21",
        ),
        ({"alphabet": 1}, "the copy_random task cannot have alphabet = 1; give a whole number of at least 2"),
        ({"alphabet": 80}, "the copy_random task cannot have alphabet = 80; give at most 79"),
    ],
)
def test_sizes_that_make_no_sense(sizes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as error:
        any_task("copy_random", **sizes)
    assert sentence in str(error.value)


def test_where_one_answer_is_needed_a_sequence_is_refused() -> None:
    with pytest.raises(
        UserError, match="the copy_random task answers with a sequence where one answer is needed; choose"
    ):
        task("copy_random")
    with pytest.raises(
        UserError, match="the copy_random task answers with a sequence and is learnt alone; name no other"
    ):
        combined([task("letter"), COPY])
    with pytest.raises(UserError, match="there is no task to learn; name at least one"):
        combined([])
    assert combined([COPY]) is COPY


@any_small
def test_splits_and_indices_that_do_not_exist(one: SequenceTask) -> None:
    for ask in (lambda *key: one.sample(*key), lambda seed, split, index: one.batch(seed, split, [index])):
        with pytest.raises(UserError, match="unknown split 'tran'; did you mean 'train'"):
            ask(1, "tran", 0)
        with pytest.raises(UserError, match="sample index -7 does not exist; count samples from 0"):
            ask(1, "train", -7)


@pytest.mark.parametrize("ids", [[], [1, 2], [4, 5, 2], [1, 4, 3], [1, 4, 0, 2], [1, 4, 8, 2]], ids=str)
def test_inputs_that_no_task_made(ids: list[int]) -> None:
    with pytest.raises(
        UserError, match=r"the copy_random task reads 1 \(<bos>\), ids from 4 to 7 and 2 \(<sep>\); got"
    ):
        COPY.solve(ids)
