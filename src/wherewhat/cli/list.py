"""`wherewhat list`: everything there is by name, in a line or two, with details of an encoding, a task or a recipe."""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib import import_module
from textwrap import wrap
from typing import Annotated, Any

import typer

from wherewhat.cli.options import Json
from wherewhat.names import look_up

OF_CONFORMERS = ("kernel", "chunk", "features", "pre_projection")  # fields that other nets do not have
Entry = str | dict[str, Any]  # one line, or facts by name


def list_(
    what: Annotated[
        str,
        typer.Argument(
            help="models, encodings, scores, probes, methods (of attribution), aggregates, tasks, corpora, speech, "
            "questions, texts, recipes or reproductions."
        ),
    ],
    name: Annotated[str | None, typer.Argument(help="Only this one, with its options, sizes or settings.")] = None,
    *,
    as_json: Json = False,
) -> None:
    """List everything of one kind; with a name, its options, sizes or settings.

    Try: `wherewhat list encodings` · `wherewhat list recipes tiny`
    """
    module, registry, describe = look_up("list", what, LISTS)
    records = getattr(import_module(f"wherewhat.{module}"), registry)
    if name is not None:
        records = {
            name: look_up(
                {"corpora": "corpus", "speech": "speech corpus"}.get(what, what.removesuffix("s")), name, records
            )
        }
        describe = _recipe if what == "recipes" else describe
    entries: Mapping[str, Entry] = {key: describe(key, record) for key, record in records.items()}
    if as_json:
        print(json.dumps(entries, ensure_ascii=False))
        return
    indent = max(map(len, entries)) + 2
    columns = max(20, min(shutil.get_terminal_size((120, 24)).columns, 140) - indent)
    for key, entry in entries.items():
        lines = [entry] if isinstance(entry, str) else _lines(entry, explained=name is not None)
        if len(lines) > 1:  # as wide as the terminal; a single line is left to it
            lines = [piece for line in lines for piece in wrap(line, columns, subsequent_indent="  ")]
        print(f"{key:<{indent}}" + ("\n" + " " * indent).join(lines))


def _lines(facts: dict[str, Any], *, explained: bool) -> list[str]:
    """What helps to choose an encoding or a task, or the settings of a recipe as they are typed after --set."""
    lines = [facts["about"]]
    if "settings" in facts:
        for part, settings in facts["settings"].items():
            typed = {name: ",".join(map(str, x)) if isinstance(x, list) else x for name, x in settings.items()}
            lines.append(f"{part}: {' '.join(f'{name}={value}' for name, value in typed.items())}")
        return [*lines, "change any of them with --set, such as --set steps=200"]
    if "example" in facts:
        typed = {name: ",".join(map(str, x)) if isinstance(x, tuple) else x for name, x in facts["sizes"].items()}
        sizes = " ".join(f"{name}={value}" for name, value in typed.items())
        return [f"{facts['about']} ({facts['paper']})", facts["example"], *([f"sizes: {sizes}"] if explained else [])]
    for group in (("acts", "learns"), ("direction", "attention"), ("growth", "paper")):
        lines.append(" · ".join(f"{name}: {facts[name]}" for name in group))
    options = {name: f"{name}={option['default']}" for name, option in facts["options"].items()}
    if explained and options:
        return lines + [f"{typed}: {facts['options'][name]['means']}" for name, typed in options.items()]
    return [*lines, f"options: {', '.join(options.values()) or 'none'}"]


def _about(name: str, record: Any) -> Entry:
    return str(record.about)


def _question(name: str, record: Any) -> Entry:
    return f"{record.asks} ({record.paper})"


def _task(name: str, record: Any) -> Entry:
    sizes = {field.name: field.default for field in fields(record.cls)}
    return {"about": record.asks, "example": record.example, "sizes": sizes, "paper": record.paper}


def _encoding(name: str, record: Any) -> Entry:
    from wherewhat.encodings.registry import choices_of

    defaults = choices_of(name)
    return {
        "about": record.about,
        "acts": record.acts,
        "learns": record.parameters,
        "direction": record.direction,
        "attention": record.kernel,
        "growth": record.growth,
        "options": {key: {"default": value, "means": record.options[key]} for key, value in defaults.items()},
        "paper": record.paper,
    }


def _recipe(name: str, record: Any) -> Entry:
    """A recipe with everything that decides the outcome of its run, grouped by what it belongs to."""
    settings = record.settings()
    plain = settings.to_dict()
    sizes = {part: {key: value for key, value in of.items() if key != "name"} for part, of in settings.parts(plain)}
    fixed = {*settings.decided, *(() if settings.net.kind == "conformer" else OF_CONFORMERS)}
    net = {key: value for key, value in plain.pop("net").items() if key not in fixed}
    learnt = plain.pop(settings.learns)
    names = [
        part["name"] if isinstance(part, dict) else part for part in (learnt if isinstance(learnt, list) else [learnt])
    ]
    run = {settings.learns: ",".join(map(str, names)), **plain}
    return {"about": record.about, "settings": {"run": run, "net": net, **sizes}}


LISTS: dict[str, tuple[str, str, Callable[[str, Any], Entry]]] = {
    "models": ("models.registry", "MODELS", _about),
    "encodings": ("encodings.registry", "ENCODINGS", _encoding),
    "scores": ("scores.registry", "SCORES", _question),
    "probes": ("probing.registry", "PROBES", _question),
    "methods": ("attribution.explain", "METHODS", _about),
    "aggregates": ("attribution.result", "AGGREGATES", _about),
    "tasks": ("tasks.registry", "TASKS", _task),
    "corpora": ("corpora.registry", "CORPORA", _about),
    "speech": ("corpora.speech.registry", "SPEECH", _about),
    "questions": (
        "corpora.questions",
        "QUESTIONS",
        lambda name, question: f"{question.asks} ({', '.join(question.labels)})",
    ),
    "texts": ("tables.texts", "TEXTS", _about),
    "recipes": ("recipes.registry", "RECIPES", _about),
    "reproductions": ("studies.registry", "STUDIES", lambda name, study: f"{study.about} ({study.paper})"),
}
