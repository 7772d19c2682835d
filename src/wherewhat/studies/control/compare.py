"""From what was tried to what is compared: harm of cells, beyond their controls, and of one cell beyond another."""

from collections.abc import Mapping, Sequence

from wherewhat.editing.abilities import Ability
from wherewhat.editing.measures import Interval
from wherewhat.studies.control.claims import AttentionSite, Outcome
from wherewhat.studies.control.contrast import WORSE, Term, beyond, contrast, level, measured
from wherewhat.studies.control.settings import CONTROLS
from wherewhat.studies.control.trying import Tried

PERCENT = 100.0


def outcome(found: Sequence[Tried], before: Ability, *, seed: int) -> Outcome:
    """Compare the four cells of one operation and one size of band."""
    by_place = {(one.cell.kind, one.cell.side): one for one in found}
    both = [(site, control) for site in by_place for control in CONTROLS]
    pairs = [(one, other) for one in by_place for other in by_place if one != other]
    return Outcome(
        operation=found[0].operation,
        share=found[0].cell.share,
        harm={site: _harm(_change(one, before), before, seed) for site, one in by_place.items()},
        above={key: _above(by_place[key[0]], key[1], seed) for key in both},
        beaten={key: _beaten(by_place[key[0]], key[1]) for key in both},
        standing={(site, control): by_place[site].cell.standing(control) for site, control in both},
        against={pair: _harm(_versus(by_place, pair), before, seed) for pair in pairs},
        per_norm={pair: _harm(_each(by_place, pair, before), before, seed) for pair in pairs},
    )


def _harm(terms: Sequence[Term], before: Ability, seed: int) -> dict[str, Interval]:
    """By measure, above 0 where it is worse."""
    return {measure: worse(contrast(terms, measure, seed=seed), measure) for measure in measured(before)}


def _above(one: Tried, control: str, seed: int) -> dict[str, Interval]:
    """By measure, the harm of a cell beyond that of its controls."""
    return {
        measure: worse(beyond(one.ability, one.equal(control), measure, seed=seed), measure)
        for measure in measured(one.ability)
    }


def worse(change: Interval, measure: str) -> Interval:
    """A change of a measure as harm, or harm as a change: less copying is harm above 0."""
    if WORSE[measure] > 0:
        return change
    return Interval(0.0 - change.value, 0.0 - change.high, 0.0 - change.low)  # never -0


def _change(one: Tried, before: Ability) -> list[Term]:
    return [Term(1, one.ability), Term(-1, before)]


def _versus(by_place: Mapping[AttentionSite, Tried], pair: tuple[AttentionSite, AttentionSite]) -> list[Term]:
    return [Term(1, by_place[pair[0]].ability), Term(-1, by_place[pair[1]].ability)]


def _each(
    by_place: Mapping[AttentionSite, Tried], pair: tuple[AttentionSite, AttentionSite], before: Ability
) -> list[Term]:
    """For each percent of the model's norm, so that what is before does not fall out."""
    one, other = (1 / (PERCENT * by_place[site].cell.change.norm) for site in pair)
    return [
        Term(one, by_place[pair[0]].ability),
        Term(-other, by_place[pair[1]].ability),
        Term(other - one, before),
    ]


def _beaten(one: Tried, control: str) -> dict[str, tuple[int, int]]:
    """By measure, how many draws did less harm than the cell, of how many."""
    found = {}
    for measure, way in ((name, WORSE[name]) for name in measured(one.ability)):
        own = way * level(one.ability, measure)
        levels = [way * level(ability, measure) for ability in one.equal(control)]
        found[measure] = (sum(other < own for other in levels), len(levels))
    return found
