"""Rows that follow from those of the runs: how many heads are pure, and means over seeds. Torch-free."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from wherewhat.studies.engine.results import ResultTable, Row, over_seeds

RULES = ("scores", "shares")  # of purity: by the published scores, or by exact shares
KINDS = ("positional", "symbolic")
UNBOUNDED = ("loss", "mean_frequency")  # measures that may exceed 1, in addition to counts
ANY = ""  # the item of means over rows whose items differ, as the head of the margin does


def summary_rows(table: ResultTable) -> list[Row]:
    """Counts of pure heads, and means over seeds of all rows."""
    rows: list[Row] = table.rows.rows()
    pure = list(purity_rows(rows, table.scale.gamma))
    return [*pure, *mean_rows([*rows, *pure])]


def layer_of(head: str) -> int:
    """The layer of a head; every layer has only one.

    >>> layer_of("L12H0")
    12
    """
    return int(head.partition("H")[0][1:])


def kind_of(scores: Mapping[str, float | None], rule: str, gamma: float) -> str | None:
    """Whether a head is purely positional or purely symbolic; None if neither.

    By the published scores, one must be at least 1 - γ and the other at most γ. By shares, the position share or the
    symbol share must be at least 1 - γ.

    >>> kind_of({"positional": 0.95, "symbolic": 0.2, "position_share": 0.97, "symbol_share": 0.0}, "scores", 0.1)
    >>> kind_of({"positional": 0.95, "symbolic": 0.2, "position_share": 0.97, "symbol_share": 0.0}, "shares", 0.1)
    'positional'
    """
    names = KINDS if rule == "scores" else ("position_share", "symbol_share")
    positional, symbolic = (scores.get(name) for name in names)
    if positional is None or symbolic is None:
        return None
    if rule == "scores":
        positional, symbolic = min(positional, 1 - symbolic), min(symbolic, 1 - positional)
    return "positional" if positional >= 1 - gamma else "symbolic" if symbolic >= 1 - gamma else None


def measure_of(kind: str, rule: str, gamma: float) -> str:
    """The name of a count of pure heads.

    >>> measure_of("positional", "scores", 0.05)
    'positional by scores at 0.05'
    """
    return f"{kind} by {rule} at {gamma:g}"


def purity_rows(rows: Sequence[Row], gammas: Sequence[float]) -> Iterator[Row]:
    """How many heads are pure at every evaluation, in total and by layer."""
    heads: dict[tuple[str, float | None, int | None], dict[str, dict[str, float | None]]] = {}
    for part, task, head, step, seed, measure, value, _, _ in rows:
        if part == "heads":
            heads.setdefault((task, step, seed), {}).setdefault(head, {})[measure] = value
    for (task, step, seed), by_head in heads.items():
        for rule, gamma in product(RULES, gammas):
            kinds = {f"L{layer_of(head)}": kind_of(scores, rule, gamma) for head, scores in by_head.items()}
            for kind in KINDS:
                counts = {"all": list(kinds.values()).count(kind), **{layer: kinds[layer] == kind for layer in kinds}}
                for item, count in counts.items():
                    yield "purity", task, item, step, seed, measure_of(kind, rule, gamma), float(count), None, None


def mean_rows(rows: Sequence[Row]) -> Iterator[Row]:
    """Means over seeds: a single run keeps its own interval, several have one, cut off at the possible range."""
    groups: dict[tuple[str, str, str, float | None, str], list[Row]] = {}
    for row in rows:
        part, task, item, at, _, measure, value, _, _ = row
        if value is not None:
            groups.setdefault((part, task, ANY if part == "gap" else item, at, measure), []).append(row)
    for (part, task, item, at, measure), group in groups.items():
        most = float("inf") if part == "purity" or measure in UNBOUNDED else 1.0
        mean = over_seeds([row[6] for row in group if row[6] is not None], within=(0.0, most)).numbers
        yield part, task, item, at, None, measure, *(mean if len(group) > 1 else group[0][6:])
