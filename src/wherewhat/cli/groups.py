"""Groups of options: a command takes one object per group, and the command line one option per field of it."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

MODEL, TEXTS, MEASURE, OUTPUT, ADVANCED = "Model", "Texts", "What to measure", "Output", "Advanced"
PANELS = (MODEL, TEXTS, MEASURE, OUTPUT, ADVANCED)  # of --help, in this order; a panel of a command's own comes first


def option(panel: str, metavar: str | None, help: str, *names: str, parser: Callable[[str], Any] | None = None) -> Any:
    """Declare an option: its panel in --help, and the placeholder for its value there; None for a flag."""
    return typer.Option(*names, help=help, metavar=metavar or "", rich_help_panel=panel, parser=parser)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command for typer, with every parameter that is a group replaced by the options in it.

    The default of a group is an instance, and its fields are the defaults of the options.
    """
    flattened: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        if not is_dataclass(parameter.annotation):
            flattened.append(parameter)
            continue
        groups[parameter.name] = group = parameter.annotation
        hints = get_type_hints(group, include_extras=True)
        flattened += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=getattr(parameter.default, field.name),
                annotation=hints[field.name],
            )
            for field in fields(group)
        ]

    @wraps(command)
    def flat(**values: Any) -> None:
        objects = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**values, **objects)

    flattened.sort(key=lambda parameter: (parameter.kind, _panel(parameter)))
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in flattened}
    flat.__signature__ = inspect.Signature(flattened)  # type: ignore[attr-defined]
    del flat.__wrapped__  # typer would read the parameters of the wrapped function
    return flat


def _panel(parameter: inspect.Parameter) -> int:
    """The index of the panel that an option is shown in; -1 for a panel of a command's own."""
    panels = [getattr(extra, "rich_help_panel", None) for extra in get_args(parameter.annotation)[1:]]
    return next((PANELS.index(panel) for panel in panels if panel in PANELS), -1)


class Command(TyperCommand):
    """A command whose --help is shown as the flag that it is, in the last panel."""

    def get_help_option(self, ctx: Any) -> Any:
        return _as_flag(super().get_help_option(ctx))


class Group(TyperGroup):
    """The same for a group of commands."""

    def get_help_option(self, ctx: Any) -> Any:
        return _as_flag(super().get_help_option(ctx))


def _as_flag(help_option: Any) -> Any:
    if help_option is not None:
        help_option.metavar, help_option.rich_help_panel = "", ADVANCED
    return help_option
