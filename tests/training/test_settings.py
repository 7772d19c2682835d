"""Answering survive JSON, and changes from texts end where they were meant to."""

import json
from dataclasses import replace
from typing import Any

import pytest

from wherewhat.errors import UserError
from wherewhat.recipes.registry import RECIPES, recipe
from wherewhat.tasks.registry import task
from wherewhat.training.settings import changed
from wherewhat.training.task_training import TaskSettings


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_survive_json(name: str) -> None:
    settings = RECIPES[name].settings()
    assert type(settings).from_dict(json.loads(json.dumps(settings.to_dict()))) == settings
    assert RECIPES[name].name == name


def test_a_field_of_the_run_of_the_net_and_of_the_tasks(brief: TaskSettings) -> None:
    ours = changed(brief, ["steps=200", "net.width=32", "heads=4", "learning_rate=3e-4", "betas=0.8,0.95", "seed = 7"])
    theirs = replace(brief, steps=200, learning_rate=3e-4, betas=(0.8, 0.95), seed=7)
    assert ours == replace(theirs, net=replace(brief.net, width=32, heads=4))
    wider = changed(brief, ["window=5", "letter.n_int=7", "hops=1,2,3"])
    assert [each.sizes()["window"] for each in wider.tasks] == [5, 5]
    assert [each.sizes()["hops"] for each in wider.tasks] == [(1, 2, 3), (1, 2, 3)]
    assert wider.tasks[1].sizes()["n_int"] == 7


def test_the_net_follows_its_tasks(brief: TaskSettings) -> None:
    wider = changed(brief, ["number.window=6", "letter.window=6"])
    assert (wider.net.vocabulary, wider.net.length) == (wider.task.vocabulary, 11)
    told = changed(brief, ["window=6", "vocabulary=400", "net.length=64"])
    assert (told.net.vocabulary, told.net.length) == (400, 64)


def test_another_encoding_leaves_the_old_options_behind(brief: TaskSettings) -> None:
    turned = changed(brief, ['encoding_options={"base": 500.0}'])
    assert turned.net.encoding_options == {"base": 500.0}
    assert changed(turned, ["steps=20"]).net.encoding_options == {"base": 500.0}
    assert changed(turned, ["encoding=alibi"]).net.encoding_options == {}


def test_one_option_of_the_encoding_is_set_by_its_name(brief: TaskSettings) -> None:
    turned = changed(brief, ["encoding.base=500", "encoding.layout=interleaved"])
    assert turned.net.encoding_options == {"base": 500, "layout": "interleaved"}
    assert changed(turned, ["encoding.base=9"]).net.encoding_options == {"base": 9, "layout": "interleaved"}
    learned = changed(turned, ["encoding.place=block", "encoding=learned"])
    assert learned.net.encoding_options == {"place": "block"}
    wrapped = changed(brief, ["encoding=dape", "encoding.over=rope", "encoding.over_options.base=9"])
    assert wrapped.net.encoding_options == {"over": "rope", "over_options": {"base": 9}}
    with pytest.raises(UserError, match="the encoding's over is 'rope' and has no base of its own"):
        changed(wrapped, ["encoding.over.base=9"])
    with pytest.raises(UserError, match="encoding 'rope' takes no option 'bass'; did you mean 'base'?"):
        changed(brief, ["encoding.bass=9"])


def test_tasks_by_name_keep_their_sizes(brief: TaskSettings) -> None:
    assert changed(brief, ["tasks=letter"]).tasks == (brief.tasks[1],)
    assert changed(brief, ["tasks=index", "context=5"]).tasks == (task("index", context=5),)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("stesp=3", "unknown setting 'stesp'; did you mean 'steps'? known: "),
        ("net.widht=3", "unknown setting 'net.widht'; did you mean 'net.width'? known: "),
        ("letter.n_letter=3", "unknown setting 'letter.n_letter'; did you mean 'letter.n_letters'? known: "),
        ("steps", "'steps' changes nothing; write it as field=value, such as steps=200"),
        ("steps=many", "steps cannot be 'many'; give a whole number, such as steps=11"),
        ("steps=2.5", "steps cannot be '2.5'; give a whole number, such as steps=11"),
        ("learning_rate=fast", "learning_rate cannot be 'fast'; give a number, such as learning_rate=0.01"),
        ("hops=1,two", "hops cannot be '1,two'; give numbers with commas between them, such as hops=1,2"),
        ("encoding_options=base", "encoding_options cannot be 'base'; give a JSON object, such as"),
        ("steps=0", "steps cannot be 0; give at least 1"),
        ("threads=0", "threads cannot be 0; give at least 1"),
        ("warmup=-1", "warmup cannot be -1; give at least 0"),
        ("learning_rate=nan", "learning_rate cannot be nan; give above 0, such as 0.001"),
        ("weight_decay=-1", "weight_decay cannot be -1.0; give at least 0"),
        ("clip=-1", "clip cannot be -1.0; give above 0, such as 1.0, or 0 for no limit"),
        ("clip=inf", "clip cannot be inf; give above 0, such as 1.0, or 0 for no limit"),
        ("betas=0.9,1", "betas cannot be (0.9, 1.0); give two numbers from 0 to below 1"),
        ("vocabulary=7", "the net's vocabulary 7 is too small; the tasks need"),
        ("length=3", "the net's length 3 is too small; the tasks need 9"),
        ("number.window=7", "tasks learnt together must be equally long and these are not: number 12, letter 9 tokens"),
        ("encoding=ropy", "unknown encoding 'ropy'; did you mean 'rope'?"),
        ("tasks=leter", "unknown task 'leter'; did you mean 'letter'?"),
        ("heads=3", "width 8 cannot be shared by 3 heads"),
    ],
)
def test_changes_that_cannot_be_made(brief: TaskSettings, change: str, sentence: str) -> None:
    with pytest.raises(UserError) as error:
        changed(brief, [change])
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        ({"stepz": 1}, "unknown setting 'stepz'; did you mean 'steps'?"),
        ({"steps": None}, "the settings lack steps; give a value for each"),
    ],
)
def test_settings_from_a_broken_file(brief: TaskSettings, edit: dict[str, Any], sentence: str) -> None:
    plain = {name: value for name, value in {**brief.to_dict(), **edit}.items() if value is not None}
    with pytest.raises(UserError) as error:
        TaskSettings.from_dict(plain)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("encoding_options=null", "encoding_options cannot be 'null'; give a JSON object"),
        ("encoding_options=[]", "encoding_options cannot be '[]'; give a JSON object"),
        ("threads=100000", "threads cannot be 100000; give at most 256"),
        ("seed=99999999999999999999999", "give a whole number from 0 to 2147483647"),
        ("data_seed=-1", "data_seed cannot be -1"),
    ],
)
def test_values_that_would_crash_are_refused(change: str, sentence: str):
    with pytest.raises(UserError) as error:
        changed(recipe("tiny"), [change])
    assert sentence in str(error.value)
