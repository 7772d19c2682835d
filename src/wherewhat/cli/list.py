"""`wherewhat list`: what there is, one line each; of encodings also what to know before choosing one."""

import json
import shutil
from collections.abc import Callable, Mapping
from textwrap import wrap
from typing import Annotated, Any

import typer

from wherewhat.cli.options import Json
from wherewhat.names import look_up

SINGULAR = {"corpora": "corpus"}
Lines = Mapping[str, str | dict[str, Any]]  # what there is to say of each name: one line, or facts by their names


def list_(
    what: Annotated[
        str,
        typer.Argument(help="models, encodings, scores, probes, tasks, corpora, questions, recipes or reproductions."),
    ],
    name: Annotated[str | None, typer.Argument(help="Only this one; an encoding's options are then explained.")] = None,
    *,
    as_json: Json = False,
) -> None:
    """Say what there is, one line each; of encodings also what to know of them."""
    lines = look_up("list", what, LISTS)()
    if name is not None:
        lines = {name: look_up(SINGULAR.get(what, what.removesuffix("s")), name, lines)}
    if as_json:
        print(json.dumps(lines, ensure_ascii=False))
        return
    width = max(map(len, lines))
    for each, line in lines.items():
        told = line if isinstance(line, str) else _paragraph(line, indent=width + 2, explained=name is not None)
        print(f"{each:<{width}}  {told}")


def _paragraph(facts: dict[str, Any], *, indent: int, explained: bool) -> str:
    """The line for someone new, and below it the other facts, each with its name, as wide as the terminal."""
    columns = max(20, min(shutil.get_terminal_size((120, 24)).columns, 140) - indent)
    lines = [facts["about"]]
    for group in (("acts", "learns"), ("direction", "attention"), ("growth", "paper")):
        lines.append(" · ".join(f"{name}: {facts[name]}" for name in group))
    options = {name: f"{name}={option['default']}" for name, option in facts["options"].items()}
    if explained and options:
        lines += [f"{written}: {facts['options'][name]['means']}" for name, written in options.items()]
    else:
        lines.append(f"options: {', '.join(options.values()) or 'none'}")
    return ("\n" + " " * indent).join(line for each in lines for line in wrap(each, columns, subsequent_indent="  "))


def _models() -> Lines:
    from wherewhat.models.registry import MODELS

    return {name: model.about for name, model in MODELS.items()}


def _encodings() -> Lines:
    from wherewhat.encodings.registry import ENCODINGS, choices_of

    return {
        name: {
            "about": record.about,
            "acts": record.acts,
            "learns": record.parameters,
            "direction": record.direction,
            "attention": record.kernel,
            "growth": record.growth,
            "options": {
                option: {"default": default, "means": record.options[option]}
                for option, default in choices_of(name).items()
            },
            "paper": record.paper,
        }
        for name, record in ENCODINGS.items()
    }


def _scores() -> Lines:
    from wherewhat.asking import INSIDE
    from wherewhat.positional.probing import Probing
    from wherewhat.positional.told import about, names
    from wherewhat.scores.registry import SCORES

    others = INSIDE | {name: about(name, Probing().length) for name in names()}
    told = {name: f"{one['asks']} ({one['paper']})" for name, one in others.items()}
    return {name: f"{score.asks} ({score.paper})" for name, score in SCORES.items()} | told


def _probes() -> Lines:
    from wherewhat.probes.registry import PROBES

    return {name: f"{probe.asks} ({probe.paper})" for name, probe in PROBES.items()}


def _tasks() -> Lines:
    from wherewhat.tasks.registry import TASKS

    return {name: f"{task.asks} ({task.paper})" for name, task in TASKS.items()}


def _corpora() -> Lines:
    from wherewhat.corpora.registry import CORPORA

    return {name: corpus.about for name, corpus in CORPORA.items()}


def _questions() -> Lines:
    from wherewhat.corpora.questions import QUESTIONS

    return {name: f"{question.asks} ({', '.join(question.labels)})" for name, question in QUESTIONS.items()}


def _recipes() -> Lines:
    from wherewhat.recipes.registry import RECIPES

    return {name: recipe.about for name, recipe in RECIPES.items()}


def _reproductions() -> Lines:
    from wherewhat.reproductions.registry import REPRODUCTIONS

    return {name: f"{one.about} ({one.paper})" for name, one in REPRODUCTIONS.items()}


LISTS: dict[str, Callable[[], Lines]] = {
    "models": _models,
    "encodings": _encodings,
    "scores": _scores,
    "probes": _probes,
    "tasks": _tasks,
    "corpora": _corpora,
    "questions": _questions,
    "recipes": _recipes,
    "reproductions": _reproductions,
}
