"""What every task of length generalisation promises, in both forms and with every format of scratchpad."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from wherewhat.tasks.forms import FORMS
from wherewhat.tasks.registry import TASKS, any_task
from wherewhat.tasks.scan import Scan, commands
from wherewhat.tasks.scratchpad import FORMATS, NONE, read_steps
from wherewhat.tasks.sequence import BOS, EOS, PAD, SEP, SPECIAL, SequenceTask, label

SPLITS = ("train", "valid", "test")
SIZES: dict[str, dict[str, int]] = {
    "addition": {"train_length": 2, "test_length": 4},
    "scan": {"train_length": 4, "test_length": 11},
    "pcfg": {"train_length": 3, "test_length": 6},
    "parity": {"train_length": 5, "test_length": 7},
    "lego": {"train_length": 5, "test_length": 7},
}


def cases() -> Iterator[SequenceTask]:
    """Every task in both forms, without a scratchpad and with each that it has."""
    for (name, entry), form in product(TASKS.items(), FORMS):
        if issubclass(entry.cls, SequenceTask):
            for scratchpad in FORMATS:
                gone = scratchpad.removeprefix("no_")
                if scratchpad == NONE or (entry.cls.parts and gone in {scratchpad, *entry.cls.parts}):
                    sizes: dict[str, Any] = SIZES.get(name, {"train_length": 4, "test_length": 7})
                    made = any_task(name, form=form, scratchpad=scratchpad, **sizes)
                    assert isinstance(made, SequenceTask)
                    yield made


CASES = list(cases())
every_case = pytest.mark.parametrize("task", CASES, ids=lambda task: f"{task.name} {task.form} {task.scratchpad}")
every_plain_case = pytest.mark.parametrize(
    "task", [task for task in CASES if task.scratchpad == NONE], ids=lambda task: f"{task.name} {task.form}"
)


def test_all_cases_are_here() -> None:
    with_variables, without = 4, 3  # of the seven tasks with a scratchpad
    assert len(CASES) == 2 * (17 + with_variables * 7 + without * 6)


@every_case
def test_a_batch_is_its_samples(task: SequenceTask) -> None:
    generator = np.random.default_rng(0)
    for split in SPLITS:
        seed, indices = int(generator.integers(2**40)), generator.integers(0, 10**6, size=7).tolist()
        batch, records = task.batch(seed, split, indices), [task.sample(seed, split, index) for index in indices]
        longest = max(len(record["tokens"]) for record in records)
        assert batch.ids_NT.shape == (7, longest)
        for row, record in enumerate(records):
            whole = record["input"] + record["target"]
            assert batch.ids_NT[row].tolist() == whole + [PAD] * (longest - len(whole))
            assert (batch.prompt_N[row], batch.tokens_N[row]) == (len(record["input"]), len(whole))
            assert task.groups[batch.group_N[row]] == f"length {label(record['length'])}"


@every_case
def test_a_sample_is_solved_from_its_input_and_its_answer_is_read_back(task: SequenceTask) -> None:
    plain = replace(task, form="compact", scratchpad=NONE)
    for split, index in product(SPLITS, range(60)):
        record = task.sample(2, split, index)
        assert task.solve(record["input"]) == record["target"]
        assert (record["input"][0], record["input"][-1], record["target"][-1]) == (BOS, SEP, EOS)
        assert all(len(SPECIAL) <= id < task.vocabulary for id in record["input"][1:-1] + record["target"][:-1])
        assert [task.token(id) for id in record["input"] + record["target"]] == record["tokens"]
        output = record["tokens"][len(record["input"]) : -1]
        compact = plain.sample(2, split, index)
        assert task.answer(output) == compact["tokens"][len(compact["input"]) : -1], "the same in every form"
        if task.scratchpad_parts:
            steps = read_steps(task.thoughts(output), task.scratchpad_parts)
            assert steps and all(step is not None and tuple(step) == task.scratchpad_parts for step in steps)


@every_case
def test_no_sample_is_longer_than_said_and_the_longest_is_as_long(task: SequenceTask) -> None:
    lengths = {split: task.lengths(split) for split in SPLITS}
    said = {length: task.most_tokens(length) for each in lengths.values() for length in each}
    assert task.length == max(said.values()) + 2
    for split, index in product(SPLITS, range(150)):
        record = task.sample(3, split, index)
        assert len(record["tokens"]) - 3 <= said[record["length"]]
    if task.name == "pcfg":
        return  # an upper bound: few inputs with so many tokens have so long a value
    for length in said:
        written = [task.write(tokens) for tokens in task.longest(length)]
        assert max(len(input) + len(output) for input, output in written) == said[length]
        for tokens in task.longest(length):
            assert task.answer(task.write(tokens)[1]) == task.output(tokens)


EVERY_INPUT: dict[str, dict[Any, Iterator[str] | list[str]]] = {
    "sum": {3: [" ".join(each) for each in product("123456789", repeat=3)]},
    "parity": {4: [" ".join(each) for each in product("01", repeat=4)]},
    "addition": {
        (1, 1): [f"{a} + {b}" for a, b in product(range(10), repeat=2)],
        (2, 1): [f"{' '.join(str(a))} + {b}" for a, b in product(range(10, 100), range(10))],
        (1, 2): [f"{b} + {' '.join(str(a))}" for a, b in product(range(10, 100), range(10))],
    },
    "poly": {
        1: [
            f"{' '.join(str(x))} : {' '.join(str(a))} x{degree}"
            for x, a, degree in product(range(-2, 3), range(-3, 4), range(4))
        ],
    },
    "sort_multi": {
        2: [" , ".join(map(" ".join, each)) for each in product(("10", "99", "100", "999", "1234"), repeat=2)]
    },
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("name", "scratchpad"),
    [each for each in product(EVERY_INPUT, FORMATS) if each != ("sort_multi", "no_variables")],
)
def test_of_all_inputs_the_longest_is_the_longest(name: str, form: str, scratchpad: str) -> None:
    task = any_task(name, shortest=1, form=form, scratchpad=scratchpad)
    assert isinstance(task, SequenceTask)
    for length, inputs in EVERY_INPUT[name].items():
        sizes = [sum(map(len, task.write(input.split()))) for input in inputs]
        assert max(sizes) == task.most_tokens(length)


def test_long_sums_are_never_longer_than_nines() -> None:
    """Running sums have one digit at least every tenth step; nines have no more of these than they must."""
    task = any_task("sum", train_length=30, test_length=31, scratchpad="full")
    assert isinstance(task, SequenceTask)
    generator = np.random.default_rng(0)
    for _ in range(300):
        digits = [str(digit) for digit in generator.integers(7, 10, size=25)]
        assert sum(map(len, task.write(digits))) <= task.most_tokens(25)


@pytest.mark.parametrize("form", FORMS)
def test_no_command_is_longer_than_said(form: str) -> None:
    task, sizes = Scan(form=form), dict[int, int]()
    for command, actions in commands().items():
        size = sum(map(len, task.write(command.split())))
        sizes[len(actions)] = max(sizes.get(len(actions), 0), size)
    assert sizes == {length: task.most_tokens(length) for split in SPLITS for length in task.lengths(split)}


@every_plain_case
def test_lengths_come_equally_often(task: SequenceTask) -> None:
    if task.name == "scan":
        return  # goes through its commands instead
    for split in SPLITS:
        lengths = task.lengths(split)
        counts = Counter(task.batch(1, split, range(6 * len(lengths))).group_N.tolist())
        first = len(task.lengths("train")) if split == "test" else 0
        assert counts == {first + which: 6 for which in range(len(lengths))}


@every_plain_case
def test_a_training_step_has_samples_of_one_length_and_each_sample_comes_once(task: SequenceTask) -> None:
    steps = 3 * len(task.lengths("train"))
    asked = [task.step_indices(step, 8) for step in range(1, steps + 1)]
    assert sorted(np.concatenate(asked).tolist()) == list(range(8 * steps))
    if task.name != "scan":
        assert all(len(set(task.batch(1, "train", indices).group_N.tolist())) == 1 for indices in asked)


@every_plain_case
def test_splits_and_seeds_are_apart(task: SequenceTask) -> None:
    """The same numbers of another split or seed are other samples, wherever there are many to choose from."""
    rows = {
        key: [tuple(text_T.tolist()) for text_T in task.texts(*key, range(60))]
        for key in ((1, "train"), (1, "valid"), (2, "train"), (2, "valid"))
    }
    for first, second in product(rows, repeat=2):
        if first != second:
            assert sum(a != b for a, b in zip(rows[first], rows[second], strict=True)) > 30
    longer = {tuple(text_T.tolist()) for text_T in task.texts(1, "test", range(60))}
    assert not longer & {row for each in rows.values() for row in each}, "test inputs are longer than any other"


@every_case
def test_every_token_has_a_name_of_its_own_and_comes_back(task: SequenceTask) -> None:
    names = [task.token(id) for id in range(task.vocabulary)]
    assert tuple(names[: len(SPECIAL)]) == SPECIAL and len(set(names)) == task.vocabulary
    assert task.ids(names) == list(range(task.vocabulary))
    assert any_task(task.name, **task.sizes()) == task
