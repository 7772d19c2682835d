"""Which heads are purely positional or purely symbolic, by the published scores and by exact shares."""

from collections.abc import Iterable, Mapping

from wherewhat.studies.dynamics.job import Row

GAMMAS = (0.1, 0.05)  # tolerance: how far from pure a head may be
RULES = ("scores", "shares")
KINDS = ("positional", "symbolic")
Scores = Mapping[str, float | None]


def kind_of(scores: Scores, rule: str, gamma: float) -> str | None:
    """Whether a head is purely positional or purely symbolic; None if neither.

    By the published scores, one must be at least 1 - γ and the other at most γ. By shares, the position share or the
    symbol share must be at least 1 - γ.

    >>> kind_of({"positional": 0.95, "symbolic": 0.2, "position_share": 0.97, "symbol_share": 0.0}, "scores", 0.1)
    >>> kind_of({"positional": 0.95, "symbolic": 0.2, "position_share": 0.97, "symbol_share": 0.0}, "shares", 0.1)
    'positional'
    """
    if rule == "scores":
        positional, symbolic = scores.get("positional"), scores.get("symbolic")
        if positional is None or symbolic is None:
            return None
        positional, symbolic = min(positional, 1 - symbolic), min(symbolic, 1 - positional)
    else:
        positional, symbolic = scores.get("position_share"), scores.get("symbol_share")
    for kind, value in zip(KINDS, (positional, symbolic), strict=True):
        if value is not None and value >= 1 - gamma:
            return kind
    return None


def measure_of(kind: str, rule: str, gamma: float) -> str:
    """The name of a count of pure heads.

    >>> measure_of("positional", "scores", 0.05)
    'positional by scores at 0.05'
    """
    return f"{kind} by {rule} at {gamma:g}"


def purity_rows(rows: Iterable[Row]) -> list[Row]:
    """How many heads are pure at every evaluation, in total and by layer."""
    heads: dict[tuple[str, float | None, int | None], dict[str, dict[str, float | None]]] = {}
    for part, task, head, step, seed, measure, value, _, _ in rows:
        if part == "heads":
            heads.setdefault((task, step, seed), {}).setdefault(head, {})[measure] = value
    counted: list[Row] = []
    for (task, step, seed), by_head in heads.items():
        for rule in RULES:
            for gamma in GAMMAS:
                kinds = {head: kind_of(scores, rule, gamma) for head, scores in by_head.items()}
                for kind in KINDS:
                    name = measure_of(kind, rule, gamma)
                    counts = _by_layer(kinds, kind)
                    counted += [("purity", task, item, step, seed, name, n, None, None) for item, n in counts.items()]
    return counted


def _by_layer(kinds: Mapping[str, str | None], kind: str) -> dict[str, float]:
    counts = {"all": 0.0} | {head.partition("H")[0]: 0.0 for head in kinds}
    for head, head_kind in kinds.items():
        counts["all"] += head_kind == kind
        counts[head.partition("H")[0]] += head_kind == kind
    return counts
