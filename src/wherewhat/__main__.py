"""`python -m wherewhat` is the same as `wherewhat`: it listens to Ctrl-C before anything takes time."""

import sys

from wherewhat.cli import clock  # noqa: F401  # whose time begins here
from wherewhat.cli.interrupts import Interrupted, interruptible


def run() -> None:
    """The installed program."""
    try:
        with interruptible():
            from wherewhat.cli.main import main

            sys.exit(main(fresh=True))
    except Interrupted as stop:  # before or after a command
        sys.stderr.write(f"wherewhat: {stop}\n")
        sys.exit(stop.code)


if __name__ == "__main__":
    run()
