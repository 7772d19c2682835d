"""What runs and rows of the table are called. Torch-free, so that the page knows them too."""

from wherewhat.studies.engine.results import Cell

TEST, TRAIN = Cell("overall", "exact", "test"), Cell("overall", "exact", "train")
LEARNT = 0.75  # accuracy at training lengths below which claims leave a run out
WITHOUT = "none"  # the format that is compared with: no scratchpad


def name_of(task: str, format_name: str, encoding: str) -> str:
    """What the run of a task with a format and an encoding is called.

    >>> name_of("sum", "full", "rope")
    'sum, full, rope'
    """
    return f"{task}, {format_name}, {encoding}"
