"""Read texts from a data set of the Hub, through the optional package `datasets`."""

from collections.abc import Iterator

from wherewhat.errors import UserError
from wherewhat.tables.texts import Text


def dataset_texts(name: str, *, split: str, column: str) -> Iterator[Text]:
    """Yield a column of a data set, fetched row by row as far as it is read. `NAME:CONFIG` names a configuration."""
    try:
        import datasets
    except ImportError:
        raise UserError("--dataset needs an extra package; install it with: pip install 'wherewhat[data]'") from None
    path, _, config = name.partition(":")
    try:
        rows = iter(datasets.load_dataset(path, config or None, split=split, streaming=True))
        first = next(rows, None)
    except Exception as error:  # every kind of failure of a network, a parser or a script of somebody else
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"the data set '{name}' could not be read: {reason}") from error
    if first is None:
        raise UserError(f"the data set '{name}' has no rows in '{split}'; choose another --split")
    if not isinstance(first.get(column), str):
        raise UserError(
            f"the data set '{name}' has no text in column '{column}'; it has: {', '.join(first)} (--column)"
        )
    return _rows(name, first, rows, column)


def _rows(name: str, first: dict[str, str], rows: Iterator[dict[str, str]], column: str) -> Iterator[Text]:
    yield Text(first[column], f"{name} row 0")
    for number, row in enumerate(rows, start=1):
        if row[column].strip():
            yield Text(row[column], f"{name} row {number}")
