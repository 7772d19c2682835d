"""One treebank: everything that is worked out of where heads looked on it."""

from dataclasses import dataclass

from wherewhat.errors import UserError
from wherewhat.probing.dependencies import lines
from wherewhat.probing.dependencies.gold import ALL, SIDES
from wherewhat.probing.dependencies.lines import Line
from wherewhat.probing.dependencies.own_heads import each_by_its_own
from wherewhat.probing.dependencies.scoring import Held, Scoring
from wherewhat.probing.dependencies.sentences import Treebank


@dataclass(frozen=True)
class Study:
    """A treebank and all that came of it."""

    treebank: Treebank
    scoring: Scoring
    held: tuple[dict[str, Held], ...]  # by group
    each: tuple[dict[str, Held], ...]  # all relations together, each by its own heads, by side and distance
    lines: tuple[Line, ...]


def studied(treebank: Treebank, scoring: Scoring) -> Study:
    """All numbers of a treebank."""
    if not scoring.groups:
        rows = max(len(scoring.rows.where(ALL, side)) for side in SIDES)
        few = f"{treebank.name} has {rows} rows to look for, and {scoring.least} in both halves are needed"
        raise UserError(f"{few}; give more sentences, or a smaller --least")
    held = list(scoring.all_held())
    each = each_by_its_own(scoring, held)
    found = [line for one in (*held, *each) for line in lines.of_held(scoring, one)]
    found += lines.of_chances(scoring, held)
    found += [*lines.of_shares(found), *lines.of_order(scoring)]
    found += [*lines.of_heads(scoring), *lines.of_heads_as_such(scoring)]
    return Study(treebank, scoring, tuple(held), tuple(each), tuple(found))
