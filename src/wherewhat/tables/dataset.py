"""Read texts from a data set of the Hub, through the optional package `datasets`."""

from collections.abc import Iterator
from pathlib import Path

from wherewhat.errors import UserError
from wherewhat.hub import unreachable
from wherewhat.tables.texts import Text


def dataset_texts(name: str, *, split: str, column: str) -> Iterator[Text]:
    """A column of a data set, fetched row by row as far as it is read. `NAME:CONFIG` names a configuration.

    Refused here, before any text is taken, where the package is missing or the Hub cannot be reached.
    """
    try:
        import datasets  # noqa: F401  # only asked whether it is there
    except ImportError:
        raise UserError("--dataset needs an extra package; install it with: pip install 'wherewhat[data]'") from None
    if not Path(name.partition(":")[0]).exists() and unreachable():
        raise UserError(
            f"the data set '{name}' is on the Hub, which cannot be reached; check the network, or give --text"
        )
    return _rows(name, split, column)


def _rows(name: str, split: str, column: str) -> Iterator[Text]:
    import datasets

    path, _, config = name.partition(":")
    found = 0
    try:
        for number, row in enumerate(datasets.load_dataset(path, config or None, split=split, streaming=True)):
            if column not in row:
                columns = ", ".join(map(str, row))
                raise UserError(f"the data set '{name}' has no column '{column}'; it has: {columns} (--column)")
            if isinstance(row[column], str) and row[column].strip():
                found += 1
                yield Text(row[column], f"{name} row {number}")
    except UserError:
        raise
    except Exception as error:  # every kind of failure of a network, a parser or a script of somebody else
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"the data set '{name}' could not be read: {reason}") from error
    if not found:
        raise UserError(f"the data set '{name}' has no text in '{split}'; choose another --split or --column")
