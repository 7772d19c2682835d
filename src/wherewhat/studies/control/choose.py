"""Which heads count as positional and which as symbolic: a rule that was fixed before anything was measured."""

from collections.abc import Mapping
from dataclasses import dataclass

from wherewhat.errors import UserError
from wherewhat.studies.control.settings import Settings

LEAST = 3  # heads: one of each kind, and one to draw controls from

Shares = Mapping[str, tuple[float, float]]  # by head: position share and symbol share


@dataclass(frozen=True)
class Chosen:
    """As many positional heads as symbolic ones, the purest first."""

    positional: tuple[str, ...]
    symbolic: tuple[str, ...]
    pure: bool  # whether each of them has more than half of its variance on its side
    rule: str  # a sentence

    def of(self, kind: str) -> tuple[str, ...]:
        """The heads of one kind."""
        return self.positional if kind == "positional" else self.symbolic

    def kind(self, name: str) -> str:
        """What a head was chosen as, or `other`."""
        return "positional" if name in self.positional else "symbolic" if name in self.symbolic else "other"


def choose(shares: Shares, settings: Settings) -> Chosen:
    """Take the heads at both ends of position share minus symbol share, as many at one as at the other.

    So many as have more than half of their variance on their side, at most a third of all; where hardly any have, the
    outer thirds by rank alone.
    """
    if len(shares) < LEAST:
        raise UserError(
            f"the shares of {len(shares)} head(s) could be measured; comparing positional with symbolic heads "
            f"and with others takes at least {LEAST}; name a larger model"
        )
    ranked = sorted(shares, key=lambda name: shares[name][1] - shares[name][0])  # sorting is stable: ties by place
    most = max(1, int(len(ranked) * settings.most_of_heads))
    clear = [sum(pair[side] > settings.more_than for pair in shares.values()) for side in (0, 1)]
    pure = min(clear) >= max(1, len(ranked) * settings.enough)
    many = min(most, *clear) if pure else most
    return Chosen(tuple(ranked[:many]), tuple(ranked[::-1][:many]), pure, _rule(many, len(ranked), pure))


def _rule(many: int, of: int, pure: bool) -> str:
    if pure:
        return (
            f"Of {of} heads the {many} most positional and the {many} most symbolic, by position share minus symbol "
            "share: as many of each as have more than half of their variance there, at most a third of all."
        )
    return (
        f"Of {of} heads the {many} most positional and the {many} most symbolic, by position share minus symbol share: "
        "the outer thirds, because too few heads of one kind have more than half of their variance on their side."
    )
