"""Which heads count as positional and which as symbolic, by a rule fixed before anything was measured."""

from collections.abc import Mapping
from dataclasses import dataclass

from wherewhat.errors import UserError
from wherewhat.studies.control.settings import ControlSettings

LEAST = 3  # heads: one of each kind, and one to draw controls from

Shares = Mapping[str, tuple[float, float]]  # by head: position share and symbol share


@dataclass(frozen=True)
class HeadSelection:
    """As many positional heads as symbolic ones, the purest first."""

    positional: tuple[str, ...]
    symbolic: tuple[str, ...]
    pure: bool  # whether each of them has more than half of its variance on its side
    rule: str  # a sentence

    def of(self, kind: str) -> tuple[str, ...]:
        """The heads of one kind."""
        return self.positional if kind == "positional" else self.symbolic

    def kind(self, name: str) -> str:
        """What a head was selected as, or `other`."""
        return "positional" if name in self.positional else "symbolic" if name in self.symbolic else "other"


def select_heads(shares: Shares, settings: ControlSettings) -> HeadSelection:
    """Take equally many heads from both ends of the ranking by position share minus symbol share.

    As many as have more than half of their variance on their side, at most a third of all heads. If too few have, the
    outer thirds of the ranking.
    """
    if len(shares) < LEAST:
        raise UserError(
            f"the shares of {len(shares)} head(s) could be measured; comparing positional with symbolic heads "
            f"and with others takes at least {LEAST}; name a larger model"
        )
    ranked = sorted(shares, key=lambda name: shares[name][1] - shares[name][0])  # sorting is stable: ties keep order
    most = max(1, int(len(ranked) * settings.most_of_heads))
    clear = [sum(pair[side] > settings.more_than for pair in shares.values()) for side in (0, 1)]
    pure = min(clear) >= max(1, len(ranked) * settings.enough)
    count = min(most, *clear) if pure else most
    by_difference = (
        f"Of {len(ranked)} heads the {count} most positional and the {count} most symbolic, by position share minus "
        "symbol share: "
    )
    reason = (
        "as many of each kind as have more than half of their variance there, at most a third of all."
        if pure
        else "the outer thirds, because too few heads of one kind have more than half of their variance on their side."
    )
    return HeadSelection(tuple(ranked[:count]), tuple(ranked[::-1][:count]), pure, by_difference + reason)
