"""Which question a score belongs to, by its name, so that many scores stay easy to find."""

from collections.abc import Iterable

WHERE_OR_WHAT, ATTENTION, PUBLISHED, HIDDEN = "Where or what", "Attention", "Published scores", "Hidden state"
POSITIONAL, REPEATED = "Positional part", "Random tokens, said twice"
KINDS = (WHERE_OR_WHAT, ATTENTION, PUBLISHED, HIDDEN, POSITIONAL, REPEATED)  # in the order a reader meets them
SOURCES = ("identical", "unmasked", "delta", "mean")  # of the positional part
MEASURES = ("locality", "excess", "beyond", "symmetry", "balance", "lean")  # of each
SHARES = ("position_share", "symbol_share", "interaction_share")
EXCLUSION = ("exclusion_positional", "exclusion_symbolic", "logit_variance")
_OF_WHERE = frozenset({*SHARES, *EXCLUSION, "exclusion_ratio", "mean_frequency"})


def kind_of(name: str) -> str:
    """The question a score belongs to.

    >>> kind_of("position_share"), kind_of("symbolic@0.01"), kind_of("input.positional"), kind_of("locality")
    ('Where or what', 'Published scores', 'Hidden state', 'Attention')
    >>> kind_of("mean.position"), kind_of("mean.locality"), kind_of("delta.contextual.lean")
    ('Hidden state', 'Positional part', 'Positional part')
    >>> kind_of("random.induction.excess")
    'Random tokens, said twice'
    """
    bare = name.partition("@")[0]
    source, _, measure = bare.partition(".")
    if source in SOURCES and measure.removeprefix("contextual.") in MEASURES:
        return POSITIONAL
    if source == "random":
        return REPEATED
    if bare.startswith(("input.", "mean.")):
        return HIDDEN
    if bare.removeprefix("block.") in ("positional", "symbolic"):
        return PUBLISHED
    return WHERE_OR_WHAT if bare.removeprefix("attended.") in _OF_WHERE else ATTENTION


def in_order(kinds: Iterable[str]) -> list[str]:
    """Each kind once, in reading order."""
    there = set(kinds)
    return [kind for kind in KINDS if kind in there]
