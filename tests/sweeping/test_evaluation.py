"""What the measures of a run rest on: counted test samples, and what guessing would give."""

import numpy as np
import pytest

from wherewhat.recipes.registry import recipe
from wherewhat.sweeping.evaluation import Evaluation, evaluation_of
from wherewhat.training.settings import changed


def test_answers_are_guessed_among_those_of_the_task():
    settings = changed(recipe("tiny"), ["evaluate_samples=60", "number.n_letters=20", "letter.n_int=4"])
    found = evaluation_of([settings])
    assert found.samples["accuracy"] == 60 == sum(count for name, count in found.samples.items() if " " in name)
    assert found.chance["accuracy number 1 hop"] == pytest.approx(1 / 20)
    assert found.chance["accuracy letter 2 hops"] == pytest.approx(1 / 32)  # eight letters with four integers each
    assert found.chance["accuracy"] == pytest.approx((1 / 20 + 1 / 32) / 2)


def test_the_measures_are_those_of_the_run():
    from wherewhat.training.loop import train

    for name, task in (("tiny", "number,letter"), ("copy_tiny", "parity")):
        small = ("steps=1", "width=16", "layers=1", "heads=2", "batch=2", "evaluate_samples=30", f"tasks={task}")
        settings = changed(recipe(name), small)
        measured, found = set(train(settings).curve["measure"]), evaluation_of([settings])
        assert found.samples.keys() | found.chance.keys() <= measured
        assert {each for each in measured if each.startswith(("accuracy", "exact"))} == found.samples.keys()


def test_whole_outputs_are_guessed_only_where_there_are_few():
    parity = evaluation_of([changed(recipe("copy_tiny"), ["tasks=parity", "evaluate_samples=100"])])
    assert set(parity.chance.values()) == {0.5} and {"exact", "exact valid"} < parity.chance.keys()
    assert parity.samples["exact"] == 100
    copy = evaluation_of([recipe("copy_tiny")])
    assert copy.chance == {} and copy.samples["exact"] == recipe("copy_tiny").evaluate_samples


def test_classes_are_equally_likely():
    assert evaluation_of([recipe("nli_tiny")]).chance == {"accuracy valid": 1 / 3, "accuracy test": 1 / 3}


def test_what_differs_between_points_is_left_out():
    settings = [changed(recipe("tiny"), [f"number.n_letters={letters}"]) for letters in (20, 30)]
    found = evaluation_of(settings)
    assert "accuracy" not in found.chance and "accuracy letter 1 hop" in found.chance
    assert found.samples["accuracy"] == 1000 and "accuracy number 1 hop" not in found.samples  # which are drawn


def test_a_run_on_text_has_neither():
    assert evaluation_of([recipe("bert_tiny")]) == Evaluation()


def test_a_thousand_points_of_one_task_are_looked_at_once(monkeypatch: pytest.MonkeyPatch):
    calls = []
    monkeypatch.setattr(np, "unique", lambda *parts, own=np.unique, **named: calls.append(0) or own(*parts, **named))
    evaluation_of([changed(recipe("tiny"), [f"seed={seed}"]) for seed in range(20)])
    assert len(calls) < 20
