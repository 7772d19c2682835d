"""What `wherewhat list tasks` shows: of each task a short example that is true, on one line of a terminal."""

import json
from dataclasses import fields
from typing import Any

import pytest

from wherewhat.cli.main import main
from wherewhat.tasks.counting import TOKENS, CountingTask
from wherewhat.tasks.registry import TASKS, any_task, task
from wherewhat.tasks.sequence import SequenceTask
from wherewhat.tasks.slots import SlotTask

SIZES: dict[str, dict[str, Any]] = {
    "index": {"context": 5, "n_symbols": 4},
    "retrieval": {"context": 4, "n_symbols": 4, "n_int": 4},
    "partial_induction": {"context": 4, "n_symbols": 4, "n_int": 4},
    "number": {"window": 4, "pre": 4, "n_letters": 6, "hops": [1, 2]},
    "letter": {"window": 4, "pre": 4, "n_letters": 4, "n_int": 3, "hops": [1, 2]},
}
PAIRS = ("retrieval", "partial_induction")  # answered with the integer of a pair, which is no token of the input


@pytest.mark.parametrize("name", TASKS)
def test_every_example_is_true(name: str) -> None:
    input, output = TASKS[name].example.split(" -> ")
    made = any_task(name, **SIZES.get(name, {}))
    if isinstance(made, SequenceTask):
        ids = made.solve(made.ids(["<bos>", *input.split(), "<sep>"]))
        assert [made.token(id) for id in ids[:-1]] == output.split()
        return
    if isinstance(made, SlotTask):
        tokens = input.split()
        small = any_task(name, tokens=len(tokens), n_tok=9)
        assert isinstance(small, SlotTask)
        answers = small.solve([ord(token) - ord("a") for token in tokens])
        assert [str(each) if name == "position" else small.token(each) for each in answers] == output.split()
        return
    if isinstance(made, CountingTask):
        ids = [TOKENS.index(token) for token in input.split()]
        assert " ".join(map(str, made.solve(ids))) == output
        return
    one = task(name, **SIZES.get(name, {}))
    samples = [one.sample(1, "train", index)["input"] for index in range(8)]
    shown = {" ".join(map(one.token, ids)): one.solve(ids) for ids in samples}
    assert output == (str(shown[input]) if name in PAIRS else one.token(shown[input]))


def test_a_task_takes_two_lines_and_its_example_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["list", "tasks"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 * len(TASKS) and max(map(len, lines)) <= 100
    for (name, entry), question, example in zip(TASKS.items(), lines[::2], lines[1::2], strict=True):
        assert question.split(None, 1) == [name, f"{entry.asks} ({entry.paper})"]
        assert example.strip() == entry.example


def test_a_single_task_is_shown_with_its_sizes_as_they_are_set(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["list", "tasks", "lego"]) == 0
    sizes = "sizes: shortest=4 train_length=8 test_length=16 form=compact scratchpad=none"
    assert capsys.readouterr().out.splitlines()[-1].strip() == sizes
    assert main(["list", "tasks", "number"]) == 0
    assert " hops=1,2,3,4 " in capsys.readouterr().out
    assert main(["list", "tasks", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert list(facts) == list(TASKS)
    for name, told in facts.items():
        assert told["example"] == TASKS[name].example and told["about"] == TASKS[name].asks
        assert list(told["sizes"]) == [field.name for field in fields(TASKS[name].cls)]  # type: ignore[arg-type]
        assert any_task(name, **told["sizes"]) == any_task(name)
