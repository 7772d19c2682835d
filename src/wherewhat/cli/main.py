"""The program `wherewhat`: its commands, and what becomes of an error."""

import errno
import sys
import traceback

import typer

from wherewhat.cli import clock
from wherewhat.cli.attribute import attribute
from wherewhat.cli.compare import compare
from wherewhat.cli.edit import edit
from wherewhat.cli.groups import Command, Group
from wherewhat.cli.heads import heads
from wherewhat.cli.interrupts import Interrupted, interruptible
from wherewhat.cli.list import list_
from wherewhat.cli.probe import probe
from wherewhat.cli.report import report
from wherewhat.cli.reproduce import reproduce
from wherewhat.cli.sweep import sweep
from wherewhat.cli.train import train
from wherewhat.errors import UserError

app = typer.Typer(
    cls=Group,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Does an attention head look at a token because of **where** it stands or because of **what** it says?",
)
app.command(cls=Command)(heads)
app.command(cls=Command)(compare)
app.command(cls=Command)(edit)
app.add_typer(probe)
app.command(cls=Command)(attribute)
app.command(cls=Command)(train)
app.command(cls=Command)(sweep)
app.command(cls=Command)(reproduce)
app.command(cls=Command)(report)
app.command("list", cls=Command)(list_)


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", metavar="", help="Show the version and exit.")) -> None:
    if version:
        from importlib.metadata import version as installed

        print(f"wherewhat {installed('wherewhat')}")
        raise typer.Exit


def main(arguments: list[str] | None = None, *, fresh: bool = False) -> int:
    """Run a command and return its exit code: 0 done, 1 a bug of ours, 2 an error the user can mend, 130 interrupted.

    `fresh` means that the process was started for this command, so that its start-up time counts as well.
    """
    if not fresh:
        clock.restart()
    try:
        with interruptible():
            app(arguments)
        return 0
    except SystemExit as end:  # how typer ends, well or after saying what is wrong with the arguments
        return end.code if isinstance(end.code, int) else 0
    except Interrupted as stop:
        return _say(str(stop), stop.code)
    except UserError as error:
        return _say(error.typed, 2)
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:  # no file or folder can be called so
            return _say(
                f"the name '{str(error.filename)[:40]}...' is longer than a file's may be; give a shorter one", 2
            )
        traceback.print_exc()
        return _say("this is a bug in wherewhat, not a mistake of yours; please report the lines above", 1)


def _say(sentence: str, code: int) -> int:
    print(f"wherewhat: {sentence}", file=sys.stderr)
    return code


def run() -> None:
    """The program, in a process of its own."""
    sys.exit(main(fresh=True))
