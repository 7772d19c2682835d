"""`wherewhat probe`: what words in other places, exchanged roles and dependencies do to a model. One command each."""

import typer

from wherewhat.cli.options import Command, Group
from wherewhat.cli.probe_dependencies import dependencies
from wherewhat.cli.probe_roles import roles
from wherewhat.cli.probe_words import words

probe = typer.Typer(
    name="probe",
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Ask what position is for: shuffle words, exchange roles, look for dependencies in heads.",
)
probe.command(cls=Command)(words)
probe.command(cls=Command)(roles)
probe.command(cls=Command)(dependencies)
