"""The Latin square: the worked puzzles, their three classes, and splits that share no square."""

import hashlib
import json
from collections import Counter
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wherewhat.errors import UserError
from wherewhat.tasks.latin import BLANK, CLASSES, HELD_OUT, QUERY, LatinSquare, class_of, squares

KNOWN: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "tasks.json").read_text())["latin"]
TASK = LatinSquare()


def brute_force(puzzle: str) -> tuple[str | None, set[int]]:
    """Class and answers of a puzzle by going through all grids, cell by cell."""
    target, given = puzzle.index("5"), {n: int(c) for n, c in enumerate(puzzle) if c in "1234"}
    row, column = target // 4, target % 4
    in_row = {given[n] for n in given if n // 4 == row}
    in_column = {given[n] for n in given if n % 4 == column}
    answers = set()
    for grid in product(permutations((1, 2, 3, 4)), repeat=4):
        cells = [symbol for line in grid for symbol in line]
        if all(len(set(line)) == 4 for line in zip(*grid, strict=True)) and all(cells[n] == given[n] for n in given):
            answers.add(cells[target])
    if 3 in (len(in_row), len(in_column)):
        return "binary", answers
    if len(in_row | in_column) == 3:
        return "ternary", answers
    return ("quaternary" if len(answers) == 1 else None), answers


def test_the_squares_are_the_known_ones() -> None:
    assert len(squares()) == KNOWN["squares"]
    for number in (0, 575):
        assert "".join(map(str, squares()[number])) == KNOWN[f"square_{number}"]


@pytest.mark.parametrize(("split", "digest"), [("train", "sha256"), ("test", "test_sha256")])
def test_the_first_block_is_the_known_one(split: str, digest: str) -> None:
    records = [TASK.sample(KNOWN["seed"], split, index) for index in range(KNOWN["n"])]
    written = json.dumps(records, sort_keys=True, separators=(",", ":")).encode()
    assert hashlib.sha256(written).hexdigest() == KNOWN[digest]
    if split == "train":
        assert records[:4] == KNOWN["samples"]


@pytest.mark.parametrize(("puzzle", "name"), KNOWN["class_examples"].items())
def test_classes_of_known_puzzles(puzzle: str, name: str | None) -> None:
    cells = np.array([[0 if symbol == "5" else int(symbol) for symbol in puzzle]])
    number = int(class_of(cells, np.array([puzzle.index("5")]))[0])
    assert (None if number < 0 else CLASSES[number]) == name == brute_force(puzzle)[0]


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_a_batch_is_its_samples_and_each_is_solved(split: str) -> None:
    records = [TASK.sample(7, split, index) for index in (0, 5, 190, 400)]
    batch = TASK.batch(7, split, [0, 5, 190, 400])
    assert batch.input_NT.tolist() == [record["input"] for record in records]
    assert batch.target_N.tolist() == [record["target"] for record in records]
    assert batch.labels["square"].tolist() == [record["square"] for record in records]
    for record, group in zip(records, batch.group_N, strict=True):
        name, answers = brute_force(record["puzzle"])
        assert (name, answers) == (record["cls"], {record["target"]}) and TASK.groups[group] == name
        assert TASK.solve(record["input"]) == record["target"]


def test_classes_answers_and_cells_come_equally_often_and_test_squares_are_not_seen() -> None:
    batches = {split: TASK.batch(1, split, range(3 * 192)) for split in ("train", "test")}
    for split, batch in batches.items():
        assert set(Counter(batch.group_N.tolist()).values()) == {192}
        assert set(Counter(batch.target_N.tolist()).values()) == {144}
        assert set(Counter(batch.labels["target_cell"].tolist()).values()) == {36}
        given_N = ((batch.input_NT != BLANK) & (batch.input_NT != QUERY)).sum(1)
        assert given_N.min() >= 3 and given_N.max() <= 11
        assert ((batch.labels["square"] % HELD_OUT == 0) == (split == "test")).all()


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [
        ([1] * 16, "has one cell to fill in, with id 5"),
        ([5, *[0] * 15], "this puzzle of the latin task has 4 answers; give more cells"),
        ([5, 1, 1, *[0] * 13], "this puzzle of the latin task has 0 answers; give more cells"),
        ([0] * 15, "the latin task reads 16 tokens and got 15"),
    ],
    ids=str,
)
def test_puzzles_without_one_answer_are_refused(ids: list[int], sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        TASK.solve(ids)
    assert sentence in str(refused.value)


def test_tokens_are_what_people_read() -> None:
    assert "".join(TASK.token(id) for id in KNOWN["samples"][0]["input"]) == "4..12.34?4121..."
