"""What runs, rows and parts of the table are called. Torch-free, so that the page knows them too."""

from wherewhat.studies.engine.results import Cell

SCORES = ("entropy", "sink", "locality", "input.position_share", "input.symbol_share")  # of heads as the input grows
LEARNT, EASIER = 0.9, {"lego": 0.75, "poly": 0.75}  # accuracy at training lengths from which a task counts as learnt
TEST, TRAIN = Cell("overall", "exact", "test"), Cell("overall", "exact", "train")
ALL, PUBLISHED = "all", "published"  # ranks over tasks of every group; and only among the encodings of the publication


def name_of(task: str, encoding: str) -> str:
    """What the run of a task with an encoding is called.

    >>> name_of("reverse", "rope")
    'reverse, rope'
    """
    return f"{task}, {encoding}"
