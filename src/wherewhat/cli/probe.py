"""`wherewhat probe`: shuffled words, swapped roles and dependency relations. One command each."""

import typer

from wherewhat.cli.groups import Command, Group
from wherewhat.cli.probe_dependencies import dependencies
from wherewhat.cli.probe_roles import roles
from wherewhat.cli.probe_words import words

probe = typer.Typer(
    name="probe",
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Probe what position is for: shuffle words, swap roles, find dependency relations in attention.",
)
probe.command(cls=Command)(words)
probe.command(cls=Command)(roles)
probe.command(cls=Command)(dependencies)
