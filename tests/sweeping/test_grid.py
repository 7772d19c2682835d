"""The grid of a sweep: all combinations in order, and everything impossible refused before anything is run."""

import pytest

from wherewhat.errors import UserError
from wherewhat.recipes.registry import recipe
from wherewhat.sweeping.grid import Grid, parse_over


def grid(*over: str, seeds: tuple[int, ...] = ()) -> Grid:
    return Grid.of("tiny", recipe("tiny"), parse_over(over), seeds)


def test_points_are_all_combinations_the_last_field_fastest_and_seeds_fastest_of_all():
    points = grid("encoding=rope,alibi", "steps=10,20", seeds=(0, 1)).points
    assert [point.name for point in points[:5]] == [
        "encoding=rope,steps=10,seed=0",
        "encoding=rope,steps=10,seed=1",
        "encoding=rope,steps=20,seed=0",
        "encoding=rope,steps=20,seed=1",
        "encoding=alibi,steps=10,seed=0",
    ]
    last = points[-1].settings
    assert (last.net.encoding, last.steps, last.seed) == ("alibi", 20, 1)


def test_without_anything_to_change_the_recipe_itself_is_run_from_its_own_seed():
    (point,) = grid().points
    assert point.name == "seed=2" and point.settings == recipe("tiny")


def test_brackets_hold_a_value_with_commas():
    assert parse_over(["tasks=[number,letter],number", 'encoding_options={"base":1,"x":[1,2]},{}']) == {
        "tasks": ["number,letter", "number"],
        "encoding_options": ['{"base":1,"x":[1,2]}', "{}"],
    }
    assert [len(point.settings.tasks) for point in grid("tasks=[number,letter],number").points] == [2, 1]


@pytest.mark.parametrize(
    ("over", "sentence"),
    [
        (["encoding"], "--over encoding names no values; write it as field=a,b,c"),
        (["encoding="], "names no values"),
        (["steps=1,,2"], "--over steps=1,,2 has an empty value; write it as steps=a,b,c"),
        (["steps=1", "steps=2"], "--over names steps twice; give all its values at once, as steps=a,b,c"),
        (["steps=1,1"], "--over names steps=1 twice; name each value once"),
        (["seed=1,2"], "seeds are given by --seeds 0,1,2"),
        (["learning_rate=0.001,1e-3"], r"learning_rate=0.001,seed=2 and learning_rate=1e-3,seed=2 are the same run"),
    ],
)
def test_a_grid_that_says_a_thing_twice_or_not_at_all_is_refused(over: list[str], sentence: str):
    with pytest.raises(UserError, match=sentence):
        grid(*over)


def test_all_impossible_points_are_named_together_with_their_reasons():
    with pytest.raises(UserError) as refused:
        grid("heads=3,4", "encoding=rope,roppe", seeds=(0, 1))
    sentence = str(refused.value)
    assert sentence.startswith("6 of 8 points are impossible, so nothing was run: heads=3,encoding=rope, heads=3,")
    assert "encoding=rope, heads=3,encoding=roppe: width 64 cannot be " in sentence
    assert "; heads=4,encoding=roppe: unknown encoding 'roppe'; did you mean 'rope'?" in sentence


def test_a_seed_is_named_only_where_others_are_possible():
    with pytest.raises(
        UserError, match=r"^2 of 4 points are impossible.*: heads=2,seed=-1, heads=4,seed=-1: seed cannot"
    ):
        grid("heads=2,4", seeds=(0, -1))


def test_of_very_many_impossible_points_the_first_are_named():
    with pytest.raises(UserError) as refused:
        grid("heads=4", f"batch={','.join(map(str, range(-30, 2)))}")
    assert str(refused.value).endswith("; and 11 more") and str(refused.value).count("batch=") == 20


def test_an_unknown_field_is_one_sentence_not_one_per_point():
    with pytest.raises(UserError, match=r"^unknown setting 'encodign'; did you mean 'encoding'\?"):
        grid("encodign=rope,alibi", seeds=(0, 1, 2))


def test_a_seed_is_named_once():
    with pytest.raises(UserError, match="--seeds names 1 twice"):
        grid(seeds=(0, 1, 1))
