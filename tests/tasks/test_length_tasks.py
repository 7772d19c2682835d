"""The seventeen tasks of length generalisation: published samples, examples by hand, and solvers of their own."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from length_oracles import DRAWS, ORACLES, actions, draw_pcfg

from wherewhat.errors import UserError
from wherewhat.tasks.pcfg import MOST_OUTPUT
from wherewhat.tasks.registry import TASKS, any_task
from wherewhat.tasks.scan import Scan, commands
from wherewhat.tasks.sequence import SequenceTask, label
from wherewhat.tasks.stream import Stream, Streams, fnv

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "tasks.json").read_text())
NAMES = [name for name, entry in TASKS.items() if issubclass(entry.cls, SequenceTask)]
every_task = pytest.mark.parametrize("name", NAMES)
SPLITS = ("train", "valid", "test")

# By hand: task, compact input, compact output, prompt with separator, target.
WALK = "Left Jump Left Jump Left Jump Left Jump Walk"
EXAMPLES = [
    ("copy_repeat", "k k k", "k k k", "Copy: k k k [SEP] ", "k k k"),
    ("copy_repeat2x", "k k", "k k k k", "Copy: k k [SEP] ", "k k k k"),
    ("copy_replace", "k 7 k k k", "7 7 7", "Replace k with 7 in k k k [SEP] ", "7 7 7"),
    ("copy_random", "4 x B", "4 x B", "Copy: 4 x B [SEP] ", "4 x B"),
    ("copy_random2x", "4 x B", "4 x B [NEXT] 4 x B", "Copy: 4 x B [SEP] ", "4 x B [NEXT] 4 x B"),
    ("reverse", "4 x B", "B x 4", "Reverse: 4 x B [SEP] ", "B x 4"),
    ("reverse2x", "4 x B", "B x 4 [NEXT] B x 4", "Reverse: 4 x B [SEP] ", "B x 4 [NEXT] B x 4"),
    ("reverse_copy", "4 x B", "B x 4 [NEXT] 4 x B", "Reverse: 4 x B [SEP] ", "B x 4 [NEXT] 4 x B"),
    ("addition", "5 7 + 8", "6 5", "Compute 5 7 + 8 ? ", "The answer is 6 5."),
    (
        "poly",
        "- 1 : 3 x2 + - 2 x3",
        "5",
        "Evaluate at x = - 1 in 3 * x ** 2 + - 2 * x ** 3 ? ",
        "The answer is 5.",
    ),
    (
        "sort_single",
        "c 3 7",
        "3 7 c",
        "Sort the following list [ c, 3, 7 ]. ",
        "The sorted list is [ 3, 7, c ].",
    ),
    (
        "sort_multi",
        "2 4 6 8 , 8 8 , 4 1 2",
        "8 8 , 4 1 2 , 2 4 6 8",
        "Sort the following list [ 2 4 6 8, 8 8, 4 1 2 ]. ",
        "The sorted list is [ 8 8, 4 1 2, 2 4 6 8 ].",
    ),
    ("sum", "9 5 6", "0", "Compute: 9 + 5 + 6 .[SEP] ", "The answer is 0 ."),
    (
        "parity",
        "1 0 1",
        "Yes",
        "Is the number of 1's even in the sequence [ 1, 0, 1 ] ? ",
        "The answer is Yes.",
    ),
    (
        "lego",
        "x - 1 , b - x , m + b ? b",
        "+1",
        "If x = -1, b = - x, m = + b. Then, what is the value of b? ",
        "The answer is +1.",
    ),
    ("scan", "jump around left and walk", WALK, "Solve: jump around left and walk[SEP] ", WALK),
    (
        "pcfg",
        "repeat prepend shift A1 B2 C3 , echo D4",
        "D4 D4 B2 C3 A1 D4 D4 B2 C3 A1",
        "Solve: repeat prepend shift A1 B2 C3 , echo D4[SEP] ",
        "D4 D4 B2 C3 A1 D4 D4 B2 C3 A1",
    ),
]
every_example = pytest.mark.parametrize(
    ("name", "input", "output", "prompt", "target"), EXAMPLES, ids=[example[0] for example in EXAMPLES]
)


def sequence_task(name: str, **sizes: Any) -> SequenceTask:
    made = any_task(name, **sizes)
    assert isinstance(made, SequenceTask)
    return made


def solved(task: SequenceTask, tokens: Sequence[str]) -> list[str]:
    """The output for an input, both in the tokens of the task's form."""
    ids = task.solve(task.ids(["<bos>", *tokens, "<sep>"]))
    return [task.token(id) for id in ids[:-1]]


def test_there_are_seventeen_each_with_an_example_and_an_oracle() -> None:
    assert len(NAMES) == 17
    assert [example[0] for example in EXAMPLES] == NAMES
    assert ORACLES.keys() == set(NAMES) == {*DRAWS, "scan", "pcfg"}


@every_example
def test_every_example_in_both_forms(name: str, input: str, output: str, prompt: str, target: str) -> None:
    compact, text = sequence_task(name), sequence_task(name, form="text")
    assert solved(compact, input.split()) == output.split()
    assert "".join(solved(text, prompt)) == target
    assert compact.prompt(input.split()) == prompt and compact.target(output.split()) == target
    assert compact.read_prompt(prompt) == input.split() and compact.read_target(target) == output.split()
    assert compact.answer(output.split()) == text.answer(target) == output.split()
    assert ORACLES[name](prompt) == target


def record(task: SequenceTask, split: str, length: Any, number: int) -> dict[str, Any]:
    """A sample with the fields of the published ones."""
    (tokens,) = task.draw(Streams(1, [task.name, split, label(length)], np.array([number])), length)
    output = task.output(tokens)
    prompt = task.prompt(tokens)
    separator = "[SEP] " if prompt.endswith("[SEP] ") else ""
    target, answer = task.target(output), " ".join(output)
    values: dict[str, Any] = {
        **dict.fromkeys(("sum", "poly", "addition"), lambda: int("".join(output))),
        "sort_single": lambda: output,
        "sort_multi": lambda: [int(number.replace(" ", "")) for number in answer.split(",")],
    }
    return {
        "task": task.name,
        "length": list(length) if isinstance(length, tuple) else length,
        "prompt": prompt.removesuffix(separator),
        "sep": separator,
        "target": target,
        "inp": tokens,
        "out": output,
        "answer": values.get(task.name, lambda: answer)(),
    }


def digest(records: list[dict[str, Any]]) -> str:
    text = json.dumps(records, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("name", VECTORS["lengen"])
def test_published_samples_and_digest(name: str) -> None:
    vector, task = VECTORS["lengen"][name], sequence_task(name)
    lengths: list[Any] = [2, 3, 8, 9, 16]
    if name == "addition":
        lengths = [(first, second) for first in (1, 2, 8) for second in (1, 3, 16)]
    published = vector["sample"]["length"]
    length = tuple(published) if isinstance(published, list) else published
    sample = record(task, "train", length, 0)
    assert sample == vector["sample"]
    assert sample["prompt"] + sample["sep"] + sample["target"] == vector["full_text"]
    assert digest([record(task, "train", each, number) for each in lengths for number in range(8)]) == vector["sha256"]


def test_published_expressions() -> None:
    vector, task = VECTORS["pcfg"], sequence_task("pcfg")
    for sample in vector["samples"]:
        assert any(record(task, "train", sample["length"], number) == sample for number in range(8))
    records = [record(task, "train", functions, number) for functions in range(1, 13) for number in range(8)]
    assert digest(records) == vector["sha256"]
    assert task.output(vector["eval_example"]["inp"].split()) == vector["eval_example"]["out"]


def test_all_commands_and_their_actions() -> None:
    vector, counts = VECTORS["scan"], Counter(len(each) for each in commands().values())
    lines = sorted(f"{command}\t{' '.join(each)}" for command, each in commands().items())
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == vector["sha256_sorted_lines"]
    assert (counts.total(), min(counts), max(counts)) == (vector["total"], vector["min"], vector["max"])
    for over in (22, 25):
        assert sum(count for length, count in counts.items() if length > over) == vector[f"over_{over}"]
    for command, shown in vector["examples"].items():
        assert " ".join(commands()[command]) == shown
    assert all(actions(command) == list(each) for command, each in commands().items())


def test_each_split_goes_through_its_commands_and_then_through_them_again() -> None:
    """Longer commands are tested; of the others, one in ten is held out by its hash."""
    task, short = Scan(), [command for command, each in commands().items() if len(each) <= 25]
    expected = {
        "train": {command for command in short if fnv(command) % 10},
        "valid": {command for command in short if fnv(command) % 10 == 0},
        "test": set(commands()) - set(short),
    }
    for split, found in expected.items():
        batch = task.batch(1, split, range(2 * len(found)))
        rows = zip(batch.ids_NT.tolist(), batch.prompt_N.tolist(), strict=True)
        texts = [" ".join(task.token(id) for id in ids[1 : prompt - 1]) for ids, prompt in rows]
        first, second = texts[: len(found)], texts[len(found) :]
        assert set(first) == found and len(set(first)) == len(first) and first == second
        assert task.sample(2, split, 0) != task.sample(1, split, 0) or task.sample(2, split, 1) != task.sample(
            1, split, 1
        )
    assert len(expected["test"]) == 3136


@pytest.mark.parametrize(("train", "test"), [(25, 48), (12, 24), (33, 48), (1, 2), (22, 23 + 1), (40, 60)])
def test_the_lengths_of_commands_go_from_short_to_long(train: int, test: int) -> None:
    task = Scan(train_length=train, test_length=test)
    for split in SPLITS:
        lengths = task.lengths(split)
        assert list(lengths) == sorted(set(lengths)) and lengths
        for index in range(0, 3000, 101):
            sample = task.sample(1, split, index)
            assert sample["length"] == len(sample["target"]) - 1
    assert max(task.lengths("train")) <= train < min(task.lengths("test")) <= max(task.lengths("test")) <= test


@every_task
@pytest.mark.parametrize("seed", [1, 7])
def test_an_independent_solver_agrees_in_all_splits(name: str, seed: int) -> None:
    compact, text = sequence_task(name), sequence_task(name, form="text")
    for split in SPLITS:
        for index in range(0, 1200, 11):
            tokens = text.sample(seed, split, index)["tokens"]
            middle = tokens.index("<sep>")
            prompt, target = "".join(tokens[1:middle]), "".join(tokens[middle + 1 : -1])
            assert target == ORACLES[name](prompt)
            shown = compact.sample(seed, split, index)["tokens"]
            middle = shown.index("<sep>")
            assert compact.prompt(shown[1:middle]) == prompt and compact.target(shown[middle + 1 : -1]) == target


@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_those_of_one_stream_per_sample(name: str) -> None:
    """Task, split, length and number name the stream; what is drawn from it, one after the other, is the input."""
    task = sequence_task(name)
    for split in SPLITS:
        lengths = task.lengths(split)
        for index in range(0, 40 * len(lengths), 7):
            length, number = lengths[index % len(lengths)], index // len(lengths)
            stream = Stream(3, name, split, label(length), number)
            tokens = task.sample(3, split, index)["tokens"]
            assert " ".join(tokens[1 : tokens.index("<sep>")]) == DRAWS[name](stream, length)


def test_draws_of_expressions() -> None:
    task = sequence_task("pcfg")
    for split in SPLITS:
        lengths = task.lengths(split)
        for index in range(0, 10 * len(lengths), 3):
            tokens = task.sample(3, split, index)["tokens"]
            drawn = draw_pcfg(3, split, lengths[index % len(lengths)], index // len(lengths))
            assert " ".join(tokens[1 : tokens.index("<sep>")]) == drawn
            assert len(tokens) - tokens.index("<sep>") - 2 <= MOST_OUTPUT


@pytest.mark.parametrize(
    ("name", "sizes", "sentence"),
    [
        ("lego", {"shortest": 1}, "the lego task cannot have shortest = 1; give a whole number of at least 2"),
        ("lego", {"test_length": 27}, "cannot have test_length = 27; variables are letters, give at most 26"),
        ("pcfg", {"test_length": 201}, "the pcfg task cannot have test_length = 201; give at most 200"),
        ("copy_replace", {"alphabet": 80}, "the copy_replace task cannot have alphabet = 80; give at most 79"),
        (
            "scan",
            {"train_length": 22, "test_length": 23},
            "no command of the scan task has 23 to 23 actions, and these are to be tested; commands have 1, 2, 3",
        ),
        (
            "scan",
            {"shortest": 49, "train_length": 50, "test_length": 60},
            "no command of the scan task has 49 to 50 actions, and these are to be trained on; commands have 1, 2",
        ),
        ("sum", {"form": "txt"}, "unknown form 'txt'; did you mean 'text'? known: compact, text"),
        ("sum", {"form": 3}, "unknown form '3'; known: compact, text"),
    ],
)
def test_sizes_that_make_no_sense(name: str, sizes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as error:
        any_task(name, **sizes)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("name", "input", "sentence"),
    [
        ("addition", "5 7 8", "the addition task cannot answer '5 7 8'; give an input such as '"),
        ("addition", "+ 8", "the addition task cannot answer '+ 8'; give an input such as '"),
        ("copy_replace", "k", "the copy_replace task cannot answer 'k'; give an input such as '"),
        ("poly", ": 3 x2", "the poly task cannot answer ': 3 x2'; give an input such as '"),
        ("sort_multi", ", 8", "the sort_multi task cannot answer ', 8'; give an input such as '"),
        ("parity", "1 0 Yes", "the parity task cannot answer '1 0 Yes'; give an input such as '"),
        ("lego", "x - 1 , b - x ? m", "the lego task cannot answer 'x - 1 , b - x ? m'; give an input such as '"),
        ("lego", "x - 1 b ? x", "the lego task cannot answer 'x - 1 b ? x'; give an input such as '"),
        ("scan", "jump walk", "the scan task cannot answer 'jump walk'; give an input such as '"),
        ("pcfg", "append A1 B2", "the pcfg task cannot answer 'append A1 B2'; give an input such as '"),
        ("pcfg", "append A1 copy B2", "the pcfg task cannot answer 'append A1 copy B2'; give an input such as '"),
        ("pcfg", "copy A1 , B2", "the pcfg task cannot answer 'copy A1 , B2'; give an input such as '"),
        ("pcfg", "append , A1", "the pcfg task cannot answer 'append , A1'; give an input such as '"),
    ],
)
def test_inputs_that_have_no_answer(name: str, input: str, sentence: str) -> None:
    task = sequence_task(name)
    with pytest.raises(UserError) as error:
        solved(task, input.split())
    assert sentence in str(error.value)
    example = str(error.value).split("such as '")[1].removesuffix("'")
    assert solved(task, example.split()), "the input that the sentence suggests has an answer"


@every_task
def test_a_text_that_states_nothing_is_refused_or_has_no_answer(name: str) -> None:
    text = sequence_task(name, form="text")
    with pytest.raises(UserError, match=f"the {name} task cannot answer 'Say , hello'; give an input such as '"):
        solved(text, "Say , hello")
    with pytest.raises(UserError, match=f"the {name} task in its text form has no token 'é'; use only 0 1 2 3"):
        text.ids("Copy: é")
    assert text.answer("") == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("copy_random", "Copy: abc x [SEP] "),
        ("copy_random", "Copy:  a x [SEP] "),
        ("sort_single", "Sort the following list [ ab, c ]. "),
        ("sum", "Compute: 9 + 5 + 16 .[SEP] "),
        ("poly", "Evaluate at x = - 1 in 3 * x ** 9 ? "),
    ],
)
def test_a_text_that_is_nearly_one_of_the_task_is_refused(name: str, text: str) -> None:
    with pytest.raises(UserError, match=f"the {name} task cannot answer '"):
        solved(sequence_task(name, form="text"), text)


@pytest.mark.parametrize(
    ("name", "target", "same", "different"),
    [
        ("addition", "The answer is 6 5.", ["The answer is 65.", "So: The answer is 6 5 ."], ["The answer is 5 6."]),
        ("sort_multi", "The sorted list is [ 8 8, 4 1 2 ].", ["List [ 88, 412 ]."], ["[ 8, 8, 4 1 2 ]."]),
        ("sort_single", "The sorted list is [ 3, c ].", ["[ a ] [ 3, c ]."], ["[ 3, c", "[ c, 3 ].", "[ 3 c ]."]),
        ("lego", "The answer is +1.", ["The answer is + 1."], ["The answer is -1.", "+1"]),
        ("parity", "The answer is Yes.", [], ["The answer is No.", "Yes", "The answer is Yes"]),
        ("copy_random", "4 x B", [], ["4 x B ", "4  x B", "4xB", "4 x", ""]),
        ("scan", "Left Jump", [], ["LeftJump", "Left  Jump", "Left Jump "]),
    ],
)
def test_what_counts_as_the_same_answer(name: str, target: str, same: list[str], different: list[str]) -> None:
    """The whole target, or where it is a sentence, the answer in it; blanks between digits do not count."""
    text = sequence_task(name, form="text")
    assert all(text.answer(each) == text.answer(target) != [] for each in same)
    assert all(text.answer(each) != text.answer(target) for each in different)
    assert text.answer([*target, "<eos>"]) != text.answer(target), "an output that does not end is wrong"
