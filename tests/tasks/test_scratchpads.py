"""Scratchpads: their exact texts, how they are read back, how they are scored, and who has none."""

from itertools import product
from typing import Any

import pytest

from wherewhat.errors import UserError
from wherewhat.tasks.forms import FORMS
from wherewhat.tasks.registry import TASKS, any_task
from wherewhat.tasks.scratchpad import FORMATS, MARKERS, PARTS, read_step, read_steps, scored, text_of, tokens_of
from wherewhat.tasks.sequence import SequenceTask

MINIMUM = "comp The minimum of the unsorted portion"
# Task and compact input; the released steps in the full format, step by step and part by part, and the answer.
FULL: dict[str, tuple[str, list[list[str]], str]] = {
    "addition": (
        "5 7 + 8",
        [
            ["in 7, 8", "comp 7 + 8 + carry = 15 + 0 = 15", "out 5", "[ carry: 1 ]", "re 5 + 0 "],
            ["in 5, 0", "comp 5 + 0 + carry = 5 + 1 = 6", "out 6", "[ carry: 0 ]", "re  +  "],
        ],
        "The answer is 6 5.",
    ),
    "sum": (
        "9 5 6",
        [
            ["in 9", "comp 9 + sum = 9 + 0 =", "out 9", "[ sum: 9 = 9 ]", "re 5 + 6 "],
            ["in 5", "comp 5 + sum = 5 + 9 =", "out 1 4", "[ sum: 1 4 = 4 ]", "re 6 "],
            ["in 6", "comp 6 + sum = 6 + 4 =", "out 1 0", "[ sum: 1 0 = 0 ]", "re  "],
        ],
        "The answer is 0 .",
    ),
    "parity": (
        "1 0 1",
        [
            ["in 1", "comp 1 ** par = 1 ** 0", "out 1", "[ par: 1 ]", "re [ 0, 1 ] "],
            ["in 0", "comp 0 ** par = 0 ** 1", "out 1", "[ par: 1 ]", "re [ 1 ] "],
            ["in 1", "comp 1 ** par = 1 ** 1", "out 0", "[ par: 0 ]", "re [  ] "],
        ],
        "The answer is Yes.",
    ),
    "poly": (
        "- 1 : 3 x2 + - 2 x3",
        [
            ["in 3 * x ** 2", "comp 3 * - 1 ** 2 = 3 * 1", "out 3", "[ sum: 0 + 3 = 3 ]", "re - 2 * x ** 3 "],
            ["in - 2 * x ** 3", "comp - 2 * - 1 ** 3 = - 2 * - 1", "out 2", "[ sum: 3 + 2 = 5 ]", "re  "],
        ],
        "The answer is 5.",
    ),
    "sort_single": (
        "c 3 7",
        [
            ["in c", MINIMUM, "out 3", "", "re [ c, 7 ] "],
            ["in c", MINIMUM, "out 7", "", "re [ c ] "],
            ["in c", MINIMUM, "out c", "", "re [  ] "],
        ],
        "The sorted list is [ 3, 7, c ].",
    ),
    "sort_multi": (
        "2 4 6 8 , 8 8 , 4 1 2",
        [
            ["in 2 4 6 8", MINIMUM, "out 8 8", "", "re [ 2 4 6 8, 4 1 2 ] "],
            ["in 2 4 6 8", MINIMUM, "out 4 1 2", "", "re [ 2 4 6 8 ] "],
            ["in 2 4 6 8", MINIMUM, "out 2 4 6 8", "", "re [  ] "],
        ],
        "The sorted list is [ 8 8, 4 1 2, 2 4 6 8 ].",
    ),
    "lego": (
        "x - 1 , b - x , m + b ? b",
        [
            ["in x", "comp ", "out -1", "", "re b = - x, m = + b "],
            ["in b", "comp - x = - -1", "out +1", "", "re m = + b "],
        ],
        "The answer is +1.",
    ),
}
# The whole text of the full format, as released but for blanks at the end.
RELEASED = {
    "addition": "in 7, 8 comp 7 + 8 + carry = 15 + 0 = 15 out 5 [ carry: 1 ] re 5 + 0  # "
    "in 5, 0 comp 5 + 0 + carry = 5 + 1 = 6 out 6 [ carry: 0 ] re  +",
    "sum": "in 9 comp 9 + sum = 9 + 0 = out 9 [ sum: 9 = 9 ] re 5 + 6  # in 5 comp 5 + sum = 5 + 9 = out 1 4 "
    "[ sum: 1 4 = 4 ] re 6  # in 6 comp 6 + sum = 6 + 4 = out 1 0 [ sum: 1 0 = 0 ] re",
    "parity": "in 1 comp 1 ** par = 1 ** 0 out 1 [ par: 1 ] re [ 0, 1 ]  # in 0 comp 0 ** par = 0 ** 1 out 1 "
    "[ par: 1 ] re [ 1 ]  # in 1 comp 1 ** par = 1 ** 1 out 0 [ par: 0 ] re [  ]",
    "poly": "in 3 * x ** 2 comp 3 * - 1 ** 2 = 3 * 1 out 3 [ sum: 0 + 3 = 3 ] re - 2 * x ** 3  # "
    "in - 2 * x ** 3 comp - 2 * - 1 ** 3 = - 2 * - 1 out 2 [ sum: 3 + 2 = 5 ] re",
    "sort_single": "in c comp The minimum of the unsorted portion out 3 re [ c, 7 ]  # in c comp The minimum of the "
    "unsorted portion out 7 re [ c ]  # in c comp The minimum of the unsorted portion out c re [  ]",
    "lego": "in x comp  out -1 re b = - x, m = + b  # in b comp - x = - -1 out +1 re m = + b",
}
MATHS = list(FULL)
WITHOUT_VARIABLES = ("sort_single", "sort_multi", "lego")


def words(text: str) -> list[str]:
    return text.split()


def sequence_task(name: str, **sizes: Any) -> SequenceTask:
    made = any_task(name, **sizes)
    assert isinstance(made, SequenceTask)
    return made


def pads() -> list[tuple[str, str]]:
    """Every task with a scratchpad, and each of its formats."""
    return [
        (name, scratchpad)
        for name, scratchpad in product(MATHS, FORMATS)
        if scratchpad != "none" and not (scratchpad == "no_variables" and name in WITHOUT_VARIABLES)
    ]


every_pad = pytest.mark.parametrize(("name", "scratchpad"), pads(), ids=[" ".join(each) for each in pads()])


def expected_steps(name: str, scratchpad: str) -> str:
    """The released text of the steps of the example, by hand."""
    numbers = {"minimal": [1, 2], "full": [0, 1, 2, 3, 4]}
    numbers |= {f"no_{part}": [n for n in range(5) if n != gone] for gone, part in enumerate(PARTS)}
    steps = [" ".join(step[number] for number in numbers[scratchpad] if step[number]) for step in FULL[name][1]]
    return " # ".join(steps)


def test_formats_and_who_has_which_parts() -> None:
    assert list(FORMATS) == ["none", "minimal", "full", *(f"no_{part}" for part in PARTS)]
    having = {name: entry.cls.parts for name, entry in TASKS.items() if issubclass(entry.cls, SequenceTask)}
    assert {name for name, parts in having.items() if parts} == set(MATHS)
    for name in MATHS:
        assert ("variables" not in having[name]) == (name in WITHOUT_VARIABLES)
    assert len(pads()) == 4 * 7 + 3 * 6


@pytest.mark.parametrize("name", RELEASED)
def test_the_full_format_is_the_released_text(name: str) -> None:
    assert expected_steps(name, "full").rstrip() == RELEASED[name]


@every_pad
def test_the_text_form_is_exact(name: str, scratchpad: str) -> None:
    task, (input, _, answer) = sequence_task(name, form="text", scratchpad=scratchpad), FULL[name]
    prompt, output = task.write(input.split())
    assert "".join(prompt) == task.prompt(input.split()), "a scratchpad leaves the prompt alone"
    steps = expected_steps(name, scratchpad)
    assert "".join(output) == f"Thinking step by step:  {steps}  . Thus,  {answer}"


@every_pad
def test_the_compact_form_has_one_token_per_digit_letter_sign_and_marker(name: str, scratchpad: str) -> None:
    task, (input, _, _) = sequence_task(name, scratchpad=scratchpad), FULL[name]
    words = expected_steps(name, scratchpad).replace("The minimum of the unsorted portion", "min")
    tokens = list[str]()
    for word in words.replace(",", " , ").replace(":", " : ").split():
        tokens += list(word) if word.isdigit() else [word]
    prompt, output = task.write(input.split())
    assert prompt == input.split()
    assert output == ["<think>", *tokens, "<thus>", *task.output(input.split())]
    assert task.answer(output) == task.output(input.split()) and task.thoughts(output) == tokens


def test_a_carry_that_is_left_makes_a_last_step() -> None:
    steps = sequence_task("addition").steps(words("9 6 + 7"))
    text = text_of(steps, PARTS)
    assert text.rstrip().endswith(" # in 0, 0 comp 0 + 0 + carry = 0 + 1 = 1 out 1 [ carry: 0 ] re  +")
    assert len(steps) == 3 and len(sequence_task("addition").steps(words("5 7 + 8"))) == 2


def test_sums_stay_modulo_ten_and_negative_terms_keep_their_sign() -> None:
    steps = sequence_task("poly").steps(words("- 2 : - 3 x2 + 3 x3 + 0 x0"))
    assert [step["output"] for step in steps] == ["- 1 2", "- 2 4", "0"]
    assert [step["variables"] for step in steps] == ["sum: 0 + - 1 2 = 8", "sum: 8 + - 2 4 = 4", "sum: 4 + 0 = 4"]
    assert steps[0]["computation"] == "- 3 * - 2 ** 2 = - 3 * 4"


def test_selection_sort_exchanges_and_the_first_of_equals_goes_first() -> None:
    steps = sequence_task("sort_single").steps(words("b a c a"))
    assert [(step["input"], step["output"], step["rest"]) for step in steps] == [
        ("b", "a", "[ b, c, a ]"),
        ("b", "a", "[ c, b ]"),
        ("c", "b", "[ c ]"),
        ("c", "c", "[  ]"),
    ]


@pytest.mark.parametrize("form", FORMS)
@every_pad
def test_every_part_of_every_step_is_read_back(name: str, scratchpad: str, form: str) -> None:
    task = sequence_task(name, form=form, scratchpad=scratchpad)
    parts = task.scratchpad_parts
    for split, index in product(("train", "test"), range(40)):
        tokens = task.sample(1, split, index)["tokens"]
        middle = tokens.index("<sep>")
        input, output = tokens[1:middle], tokens[middle + 1 : -1]
        symbols = task.read_prompt("".join(input)) if form == "text" else input
        written = [{part: tuple(tokens_of(step[part])) for part in parts} for step in task.steps(symbols)]
        assert read_steps(task.thoughts(output), parts) == written
        score = scored(task.thoughts(output), task.thoughts(output), parts)
        assert score.parts == dict.fromkeys(parts, 1.0) and score.unreadable == 0


STEPS = "in 1 comp 1 ** par = 1 ** 0 out 1 [ par : 1 ] re [ 0 ] # in 0 comp 0 ** par = 0 ** 1 out 1 [ par : 1 ] re [ ]"


@pytest.mark.parametrize(
    ("written", "right", "unreadable"),
    [
        (STEPS, (1, 1, 1, 1, 1), 0),
        (STEPS.replace("in 0", "in 1"), (0.5, 1, 1, 1, 1), 0),
        (STEPS.replace("0 ** 1 out 1", "0 ** 1 out 0"), (1, 1, 0.5, 1, 1), 0),
        (STEPS.replace("par : 1", "par : 0"), (1, 1, 1, 0, 1), 0),
        (STEPS.replace("re [ 0 ]", "re [ 1 ]"), (1, 1, 1, 1, 0.5), 0),
        (STEPS.replace("par =", "carry ="), (1, 0, 1, 1, 1), 0),
        (STEPS.split(" # ")[0], (0, 0, 0, 0, 0), 0),
        (f"{STEPS} # {STEPS}", (0, 0, 0, 0, 0), 0),
        (STEPS.replace("comp 0", "0"), (0, 0, 0, 0, 0), 0.5),
        (STEPS.replace("in 1", "1"), (0, 0, 0, 0, 0), 0.5),
        (STEPS.replace("1 ] re", "1 re"), (0, 0, 0, 0, 0), 1),
        (STEPS.replace(" # ", " # # "), (0, 0, 0, 0, 0), 1 / 3),
        (f"{STEPS} #", (0, 0, 0, 0, 0), 1 / 3),
        ("", (0, 0, 0, 0, 0), 1),
        ("in comp out", (0, 0, 0, 0, 0), 1),
    ],
)
def test_scores_by_part(written: str, right: tuple[float, ...], unreadable: float) -> None:
    """No part of any step is right if their number is wrong or one of them cannot be read."""
    score = scored(written.split(), STEPS.split(), PARTS)
    assert score.parts == dict(zip(PARTS, right, strict=True)) and score.unreadable == unreadable


def test_a_step_has_its_parts_once_and_in_their_order() -> None:
    step = words("in 1 comp 2 out 3 [ 4 ] re 5")
    assert read_step(step, PARTS) == {part: (str(number),) for number, part in enumerate(PARTS, 1)}
    for gone in MARKERS.values():
        assert read_step([token for token in step if token != gone], PARTS) is None
    assert read_step(words("comp 2 in 1 out 3 [ 4 ] re 5"), PARTS) is None
    assert read_step(step[:-2], [part for part in PARTS if part != "rest"]) is not None
    assert read_step([], PARTS) is None


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("output", ["", "5", "<think> in 1", "Thinking step by step:  in 1", "in 1 <thus> 5"])
def test_an_output_without_a_whole_scratchpad_has_no_answer(form: str, output: str) -> None:
    task = sequence_task("sum", form=form, scratchpad="full")
    tokens = list(output) if form == "text" else output.split()
    assert task.answer(tokens) == [] == task.thoughts(tokens)


@pytest.mark.parametrize(
    ("name", "scratchpad", "sentence"),
    [
        *(
            (
                name,
                "full",
                f"the {name} task has no scratchpad and got 'full'; leave scratchpad out",
            )
            for name in ("copy_random", "reverse2x", "scan", "pcfg")
        ),
        ("scan", "no_variables", "the scan task has no scratchpad and got 'no_variables'; leave scratchpad out"),
        *(
            (
                name,
                "no_variables",
                f"the scratchpad of the {name} task has no variables to leave out; give scratchpad=full",
            )
            for name in WITHOUT_VARIABLES
        ),
        ("sum", "fulll", "unknown scratchpad format 'fulll'; did you mean 'full'? known: full, minimal, no_comp"),
        ("sum", "no_carry", "unknown scratchpad format 'no_carry'; "),
    ],
)
def test_scratchpads_that_there_are_not(name: str, scratchpad: str, sentence: str) -> None:
    with pytest.raises(UserError) as error:
        any_task(name, scratchpad=scratchpad)
    assert sentence in str(error.value)
