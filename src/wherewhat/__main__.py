"""`python -m wherewhat` is the same as `wherewhat`."""

from wherewhat.cli.main import run

if __name__ == "__main__":
    run()
