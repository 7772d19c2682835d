"""What tables of the simulated network show of its modules, and what was added to them does.

Without SciPy, so that the page reads it too.
"""

from math import isnan

from wherewhat.stats.verdict import sign_of
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.latin_square.names import ADDED, ADDED_BOUND, MODULES, NETWORK, chance, modules_cell, name_of


def module_contrasts(table: ResultTable) -> dict[str, float]:
    """By arm, how much more rows of nodes resemble each other inside modules than across."""
    contrasts = {arm: table.value(name_of(NETWORK, arm), modules_cell()) for arm in table.scale.network_arms}
    return {arm: value for arm, value in contrasts.items() if not isnan(value)}


def shows_modules(table: ResultTable, arm: str) -> int:
    """1 if rows of nodes are clearly more alike inside modules than in random tables, -1 if clearly not, else 0.

    By the interval over seeds; a single seed has none, and says by its value what became of its own table.
    """
    row, random = table.row(name_of(NETWORK, arm), modules_cell()), table.row("", chance(MODULES))
    if row is None or random is None:
        return 0
    low, high = (row["value"] if row[end] is None else row[end] for end in ("low", "high"))
    return sign_of(low - random["high"], high - random["high"])


def added_modules(table: ResultTable, arm: str) -> tuple[float, float] | None:
    """The contrast of what a table has added to its start, and the bound of its shuffles; None where not measured."""
    value, bound = (table.value(name_of(NETWORK, arm), modules_cell(measure)) for measure in (ADDED, ADDED_BOUND))
    return None if isnan(value) or isnan(bound) else (value, bound)
