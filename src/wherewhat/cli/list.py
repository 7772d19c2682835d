"""`wherewhat list`: what there is, one line each; of encodings also what to know before choosing one."""

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
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
        typer.Argument(
            help="models, encodings, scores, probes, tasks, corpora, questions, texts, recipes or reproductions."
        ),
    ],
    name: Annotated[str | None, typer.Argument(help="Only this one, with its options or settings.")] = None,
    *,
    as_json: Json = False,
) -> None:
    """Say what there is, one line each; of encodings also what to know of them, of one recipe all its settings.

    Try: `wherewhat list encodings` · `wherewhat list recipes tiny`
    """
    lines = look_up("list", what, LISTS)()
    if name is not None:
        line = look_up(SINGULAR.get(what, what.removesuffix("s")), name, lines)
        lines = {name: _recipe(name) if what == "recipes" else line}
    if as_json:
        print(json.dumps(lines, ensure_ascii=False))
        return
    width = max(map(len, lines))
    for each, line in lines.items():
        facts: dict[str, Any] = {"about": line} if isinstance(line, str) else line
        if "settings" in facts:
            told = _lines_of_settings(facts["settings"])
        else:
            told = _lines_of_encoding(facts, explained=name is not None) if len(facts) > 1 else []
        print(f"{each:<{width}}  {_paragraph([facts['about'], *told], indent=width + 2) if told else facts['about']}")


def _paragraph(lines: Iterable[str], *, indent: int) -> str:
    """The line for someone new, and below it the others, as wide as the terminal."""
    columns = max(20, min(shutil.get_terminal_size((120, 24)).columns, 140) - indent)
    return ("\n" + " " * indent).join(line for each in lines for line in wrap(each, columns, subsequent_indent="  "))


def _lines_of_settings(settings: dict[str, dict[str, Any]]) -> list[str]:
    """What can be changed, each as it is written after --set."""
    lines = [
        f"{part}: {' '.join(f'{name}={_written(one)}' for name, one in of.items())}" for part, of in settings.items()
    ]
    return [*lines, "change any of them with --set, such as --set steps=200"]


def _lines_of_encoding(facts: dict[str, Any], *, explained: bool) -> list[str]:
    """The facts that help to choose one, each with its name."""
    lines: list[str] = []
    for group in (("acts", "learns"), ("direction", "attention"), ("growth", "paper")):
        lines.append(" · ".join(f"{name}: {facts[name]}" for name in group))
    options = {name: f"{name}={option['default']}" for name, option in facts["options"].items()}
    if explained and options:
        lines += [f"{written}: {facts['options'][name]['means']}" for name, written in options.items()]
    else:
        lines.append(f"options: {', '.join(options.values()) or 'none'}")
    return lines


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
    from wherewhat.profiling.positional_part.probing import Probing
    from wherewhat.profiling.positional_part.told import about, names
    from wherewhat.profiling.settings import INSIDE
    from wherewhat.scores.registry import SCORES

    others = INSIDE | {name: about(name, Probing().length) for name in names()}
    told = {name: f"{one['asks']} ({one['paper']})" for name, one in others.items()}
    return {name: f"{score.asks} ({score.paper})" for name, score in SCORES.items()} | told


def _probes() -> Lines:
    from wherewhat.probing.registry import PROBES

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


def _texts() -> Lines:
    from wherewhat.tables.builtin import TEXTS

    return {name: text.about for name, text in TEXTS.items()}


def _recipes() -> Lines:
    from wherewhat.recipes.registry import RECIPES

    return {name: recipe.about for name, recipe in RECIPES.items()}


def _recipe(name: str) -> dict[str, Any]:
    """One recipe with everything that decides how its run ends, by what it belongs to."""
    from wherewhat.recipes.registry import RECIPES

    settings = RECIPES[name].settings()
    plain = settings.to_dict()
    sizes = {part: {key: value for key, value in of.items() if key != "name"} for part, of in settings.parts(plain)}
    fixed = {*settings.decided, *(() if settings.net.kind == "conformer" else ("kernel",))}
    net = {key: value for key, value in plain.pop("net").items() if key not in fixed}
    run = {settings.learns: _learnt(plain.pop(settings.learns)), **plain}
    return {"about": RECIPES[name].about, "settings": {"run": run, "net": net, **sizes}}


def _learnt(learnt: Any) -> str:
    """What is learnt, by its names."""
    if isinstance(learnt, list):
        return ",".join(map(_learnt, learnt))
    return str(learnt["name"] if isinstance(learnt, dict) else learnt)


def _written(value: Any) -> str:
    """A value as it is written after --set."""
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _reproductions() -> Lines:
    from wherewhat.studies.registry import REPRODUCTIONS

    return {name: f"{one.about} ({one.paper})" for name, one in REPRODUCTIONS.items()}


LISTS: dict[str, Callable[[], Lines]] = {
    "models": _models,
    "encodings": _encodings,
    "scores": _scores,
    "probes": _probes,
    "tasks": _tasks,
    "corpora": _corpora,
    "questions": _questions,
    "texts": _texts,
    "recipes": _recipes,
    "reproductions": _reproductions,
}
