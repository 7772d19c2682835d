"""`wherewhat list`: what there is, one line each."""

import json
from collections.abc import Callable
from typing import Annotated

import typer

from wherewhat.cli.options import Json
from wherewhat.names import look_up

Lines = dict[str, str]


def list_(
    what: Annotated[str, typer.Argument(help="models, encodings, scores, tasks or recipes.")],
    *,
    as_json: Json = False,
) -> None:
    """Say what there is, one line each: models, encodings, scores, tasks, recipes."""
    lines = look_up("list", what, LISTS)()
    if as_json:
        print(json.dumps(lines))
        return
    width = max(map(len, lines))
    for name, line in lines.items():
        print(f"{name:<{width}}  {line}")


def _models() -> Lines:
    from wherewhat.models.registry import MODELS

    return {name: model.about for name, model in MODELS.items()}


def _encodings() -> Lines:
    from wherewhat.encodings.registry import ENCODINGS

    return {name: f"{encoding.about} ({encoding.paper})" for name, encoding in ENCODINGS.items()}


def _scores() -> Lines:
    from wherewhat.asking import INSIDE
    from wherewhat.scores.registry import SCORES

    inside = {name: f"{about['asks']} ({about['paper']})" for name, about in INSIDE.items()}
    return {name: f"{score.asks} ({score.paper})" for name, score in SCORES.items()} | inside


def _tasks() -> Lines:
    from wherewhat.tasks.registry import TASKS

    return {name: f"{task.asks} ({task.paper})" for name, task in TASKS.items()}


def _recipes() -> Lines:
    from wherewhat.recipes.registry import RECIPES

    return {name: recipe.about for name, recipe in RECIPES.items()}


LISTS: dict[str, Callable[[], Lines]] = {
    "models": _models,
    "encodings": _encodings,
    "scores": _scores,
    "tasks": _tasks,
    "recipes": _recipes,
}
