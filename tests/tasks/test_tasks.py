"""Every task gives the published samples, whole batches equal single samples, and every sample can be solved."""

import hashlib
import json
from collections import Counter
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wherewhat.errors import UserError
from wherewhat.tasks.base import Balanced, Task
from wherewhat.tasks.mixture import Mixture
from wherewhat.tasks.registry import TASKS, task

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "tasks.json").read_text())
NAMES = ["index", "retrieval", "induction", "number", "letter", "number_small", "letter_small"]


def of_vector(name: str) -> Balanced:
    known = {"induction": "partial_induction"}  # samples were numbered before the task had the name it has here
    return task(known.get(name, name.removesuffix("_small")), **VECTORS[name]["config"])


def small_tasks() -> list[Task]:
    hops: dict[str, Any] = {"window": 3, "pre": 4, "hops": [1, 2, 5]}
    number, letter = task("number", n_letters=4, **hops), task("letter", n_letters=6, n_int=2, **hops)
    index, retrieval = task("index", context=7, n_symbols=3), task("retrieval", context=7, n_symbols=3, n_int=4)
    induction = task("partial_induction", context=7, n_symbols=3, n_int=4)
    singles = [index, retrieval, induction, number, letter]
    return [*singles, task("number", window=1, pre=0, hops=[1]), Mixture(tuple(singles)), Mixture((letter, number))]


SMALL = small_tasks()
any_small = pytest.mark.parametrize("one", SMALL, ids=lambda one: one.name)
any_task = pytest.mark.parametrize("name", NAMES)


@any_task
def test_published_samples_and_digest(name: str) -> None:
    vector, one = VECTORS[name], of_vector(name)
    records = [one.sample(vector["seed"], vector["split"], index) for index in range(vector["n"])]
    assert records[: len(vector["samples"])] == vector["samples"]
    text = json.dumps(records, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    assert hashlib.sha256(text.encode()).hexdigest() == vector["sha256"]


@any_task
def test_published_batch(name: str) -> None:
    vector, one = VECTORS[name], of_vector(name)
    batch = one.batch(vector["seed"], vector["split"], range(vector["n"]))
    records = [one.sample(vector["seed"], vector["split"], index) for index in range(vector["n"])]
    assert batch.input_NT.tolist() == [record["input"] for record in records]
    assert batch.target_N.tolist() == [record["target"] for record in records]


@any_task
def test_every_cell_comes_once_a_block(name: str) -> None:
    one = of_vector(name)
    cells, size = Counter[tuple[int, ...]](), prod(one.cells)
    batch = one.batch(5, "test", range(2 * size))
    shown = [batch.target_N, *(batch.labels[label] for label in ("answer_pos", "hops") if label in batch.labels)]
    if name in ("retrieval", "induction"):  # balanced over the symbol asked for; the integer is free
        shown[0] = batch.labels["target_pair"] // task("retrieval").sizes()["n_int"]
    cells.update(zip(*(values.tolist() for values in shown), strict=True))
    assert len(cells) == size
    assert set(cells.values()) == {2}


@any_small
@settings(max_examples=30, deadline=None)
@given(st.integers(min_value=-5, max_value=2**64), st.lists(st.integers(min_value=0, max_value=10**9), max_size=8))
def test_a_batch_is_its_samples(one: Task, seed: int, indices: list[int]) -> None:
    batch = one.batch(seed, "valid", indices)
    assert batch.input_NT.shape == (len(indices), one.length)
    for row, index in enumerate(indices):
        record = one.sample(seed, "valid", index)
        assert batch.input_NT[row].tolist() == record["input"]
        assert batch.target_N[row] == record["target"]
        for label in set(batch.labels) & set(record) - {"task"}:
            assert batch.labels[label][row] == record[label]
        assert one.groups[batch.group_N[row]].startswith(record.get("task", one.name))
        if "hops" in record:
            assert one.groups[batch.group_N[row]].split()[1] == str(record["hops"])
            assert record["path"][-1] == batch.labels.get("answer_pos", {row: record["path"][-1]})[row]


@any_small
def test_every_sample_is_solved_from_its_tokens(one: Task) -> None:
    for index in range(300):
        record = one.sample(2, "train", index)
        assert one.solve(record["input"]) == record["target"]
        assert all(0 <= id < one.vocabulary for id in [*record["input"], record["target"]])


@any_task
def test_the_path_follows_from_the_tokens(name: str) -> None:
    one = of_vector(name)
    for index in range(200):
        record = one.sample(4, "test", index)
        if "path" in record:
            assert one.path(record["input"]) == record["path"]  # type: ignore[attr-defined]
            assert len(record["path"]) == record["hops"] + 1


def test_retrieval_names_its_symbol_once_and_index_its_slot() -> None:
    retrieval, index = task("retrieval"), task("index")
    for k in range(100):
        *pairs, query = retrieval.sample(1, "valid", k)["input"]
        assert sum(pair // 32 == query - 512 for pair in pairs) == 1
        record = index.sample(1, "valid", k)
        assert record["input"][record["input"][32] - 16] == record["target"]


@any_small
def test_splits_seeds_and_indices_are_apart(one: Task) -> None:
    rows = [one.batch(seed, split, range(200)).input_NT for seed in (1, 2) for split in ("train", "valid", "test")]
    for i, first in enumerate(rows):
        for second in rows[i + 1 :]:
            assert (first != second).any()


def test_no_sequence_of_test_is_one_of_train() -> None:
    one = Mixture((task("number"), task("letter")))
    train, test = (one.batch(1, split, range(4000)).input_NT for split in ("train", "test"))
    assert not {tuple(row) for row in train.tolist()} & {tuple(row) for row in test.tolist()}


@any_small
def test_a_sample_depends_on_nothing_but_its_key(one: Task) -> None:
    alone = one.batch(1, "train", [37])
    among = one.batch(1, "train", [5, 37, 2, 900])
    one.sample(9, "test", 3)
    assert alone.input_NT[0].tolist() == among.input_NT[1].tolist() == one.sample(1, "train", 37)["input"]


def test_a_mixture_takes_turns_and_keeps_ids_apart() -> None:
    number, letter = task("number", n_letters=26), task("letter")
    both = Mixture((number, letter))
    assert both.name == "number+letter"
    assert both.vocabulary == number.vocabulary + letter.vocabulary
    for k in range(20):
        record = both.sample(1, "train", k)
        part, first = (letter, number.vocabulary) if k % 2 else (number, 0)
        own = part.sample(1, "train", k // 2)
        assert record["task"] == part.name
        assert record["input"] == [first + id for id in own["input"]]
        assert [both.token(id) for id in record["input"]] == own["tokens"]
    batch = both.batch(1, "train", range(20))
    assert batch.labels["task"].tolist() == [0, 1] * 10
    assert both.groups[:5] == ("number 1 hop", "number 2 hops", "number 3 hops", "number 4 hops", "letter 1 hop")


@any_small
def test_every_id_has_a_name(one: Task) -> None:
    names = [one.token(id) for id in range(one.vocabulary)]
    assert all(names)
    if not isinstance(one, Mixture):
        assert len(set(names)) == one.vocabulary


def test_sizes_make_the_task_again() -> None:
    for one in SMALL:
        if isinstance(one, Balanced):
            assert task(one.name, **one.sizes()) == one
            assert task(one.name, **json.loads(json.dumps(one.sizes()))) == one


def test_the_registry_is_keyed_by_name() -> None:
    assert {name: entry.cls.name for name, entry in TASKS.items()} == {name: name for name in TASKS}
    assert all(entry.asks.endswith("?") and entry.paper.startswith("arXiv") for entry in TASKS.values())


@pytest.mark.parametrize(
    ("name", "sizes", "sentence"),
    [
        ("nubmer", {}, "unknown task 'nubmer'; did you mean 'number'?"),
        ("number", {"widow": 4}, "unknown size of the number task 'widow'; did you mean 'window'?"),
        ("number", {"window": 0}, "the number task cannot have window = 0; give a whole number of at least 1"),
        (
            "number",
            {"pre": 2},
            "the number task cannot make 4 hops over pre = 2 stepping stones; give pre at least 3 or",
        ),
        ("letter", {"hops": [2, 1]}, "the letter task cannot have hops = (2, 1); give different numbers from 1 up"),
        ("letter", {"hops": [0, 1]}, "the letter task cannot have hops = (0, 1); give different numbers from 1 up"),
        ("letter", {"hops": []}, "the letter task cannot have hops = (); give different numbers from 1 up"),
        ("letter", {"hops": 2}, "the letter task cannot have hops = 2; give different numbers from 1 up"),
        ("letter", {"n_letters": 4}, "the letter task cannot have n_letters = 4; give a whole number of at least 5"),
        ("number", {"n_letters": 1}, "the number task cannot have n_letters = 1; give a whole number of at least 2"),
        ("index", {"context": "long"}, "the index task cannot have context = long; give a whole number of at least 1"),
        (
            "retrieval",
            {"n_symbols": 1},
            "the retrieval task cannot have n_symbols = 1; give a whole number of at least 2",
        ),
    ],
)
def test_sizes_that_make_no_sense(name: str, sizes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as error:
        task(name, **sizes)
    assert sentence in str(error.value)


def test_mixtures_that_make_no_sense() -> None:
    with pytest.raises(UserError, match="must be equally long and these are not: number 17, index 33 tokens"):
        Mixture((task("number"), task("index")))
    with pytest.raises(UserError, match=r"the tasks number\+number are not all different; name each task once"):
        Mixture((task("number"), task("number", n_letters=5)))
    with pytest.raises(UserError, match="there is no task to learn; name at least one"):
        Mixture(())


@any_small
def test_splits_and_indices_that_do_not_exist(one: Task) -> None:
    for ask in (lambda *key: one.sample(*key), lambda seed, split, index: one.batch(seed, split, [index])):
        with pytest.raises(UserError, match="unknown split 'tran'; did you mean 'train'"):
            ask(1, "tran", 0)
        with pytest.raises(UserError, match=r"sample index -[0-9]+ does not exist; count samples from 0"):
            ask(1, "train", -7)


def test_sequences_that_no_task_made() -> None:
    number, letter = task("number"), task("letter")
    with pytest.raises(UserError, match="the number task reads 17 tokens and got 2; give one whole sequence"):
        number.solve([1, 2])
    with pytest.raises(UserError, match="the number task has ids 0 to 136 and got 137"):
        number.solve([137] * 17)
    with pytest.raises(UserError, match="slot 16 says to step back by 0, which leads nowhere"):
        number.solve([0] * 17)
    for two_matches_or_a_circle in ([65] * 17, [*([1] * 15), 74, 66], [*([9] * 2), *([74] * 14), 66]):
        with pytest.raises(
            UserError, match=r"the second letter in slot 1[56] does not lead to exactly one earlier pair"
        ):
            letter.solve(two_matches_or_a_circle)


@any_small
def test_batches_are_whole_numbers(one: Task) -> None:
    batch = one.batch(1, "train", np.arange(4))
    arrays = [batch.input_NT, batch.target_N, batch.group_N, *batch.labels.values()]
    assert {array.dtype for array in arrays} == {np.dtype(np.int64)}
