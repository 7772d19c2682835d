"""Compare interventions: the harm of each cell, its excess over the controls, and differences between cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wherewhat.editing.abilities import Ability
from wherewhat.stats.estimate import Estimate
from wherewhat.studies.control.contrast import WORSE, Term, contrast, excess_over_controls, level, measures_of
from wherewhat.studies.control.interventions import CellResult
from wherewhat.studies.control.settings import CONTROLS

PERCENT = 100.0
CellKey = tuple[str, str]  # kind of heads, side of their frequencies
ControlKey = tuple[CellKey, str]  # a cell and a kind of control
CellPair = tuple[CellKey, CellKey]
Measures = Mapping[str, Estimate]  # by name of the measure


@dataclass(frozen=True)
class BandEffects:
    """The effects of one operation on bands of one size. Every estimate is of harm: above 0 is worse."""

    operation: str
    share: float
    harm: Mapping[CellKey, Measures]
    excess: Mapping[ControlKey, Measures]  # harm of a cell minus that of its controls
    less_harmful: Mapping[ControlKey, Mapping[str, tuple[int, int]]]  # draws that did less harm, of how many
    norm_match: Mapping[ControlKey, str]  # how the norms of the controls compare with the cell's
    difference: Mapping[CellPair, Measures]  # harm of one cell minus that of another
    per_norm: Mapping[CellPair, Measures]  # the same, per percent of the model's norm


def compare_cells(results: Sequence[CellResult], before: Ability, *, seed: int) -> BandEffects:
    """Compare the four cells of one operation and one band size."""
    by_key = {(result.cell.kind, result.cell.side): result for result in results}
    control_keys = [(key, control) for key in by_key for control in CONTROLS]
    pairs = [(first, second) for first in by_key for second in by_key if first != second]

    def harm(*terms: Term) -> Measures:
        return {measure: as_harm(contrast(terms, measure, seed=seed), measure) for measure in measures_of(before)}

    def excess(result: CellResult, control: str) -> Measures:
        own, equal = result.ability, result.equal(control)
        return {
            measure: as_harm(excess_over_controls(own, equal, measure, seed=seed), measure)
            for measure in measures_of(own)
        }

    def per_norm(first: CellResult, second: CellResult) -> Measures:
        """The weights differ, so the abilities before the intervention do not cancel."""
        weight, other = (1 / (PERCENT * result.cell.mask.norm) for result in (first, second))
        return harm(Term(weight, first.ability), Term(-other, second.ability), Term(other - weight, before))

    return BandEffects(
        operation=results[0].operation,
        share=results[0].cell.share,
        harm={key: harm(Term(1, result.ability), Term(-1, before)) for key, result in by_key.items()},
        excess={(key, control): excess(by_key[key], control) for key, control in control_keys},
        less_harmful={(key, control): _less_harmful(by_key[key], control) for key, control in control_keys},
        norm_match={(key, control): by_key[key].cell.norm_match(control) for key, control in control_keys},
        difference={
            (first, second): harm(Term(1, by_key[first].ability), Term(-1, by_key[second].ability))
            for first, second in pairs
        },
        per_norm={pair: per_norm(*(by_key[key] for key in pair)) for pair in pairs},
    )


def as_harm(change: Estimate, measure: str) -> Estimate:
    """A change of a measure as harm, or harm as a change: less copying is harm above 0."""
    if WORSE[measure] > 0:
        return change
    return Estimate(0.0 - change.value, 0.0 - change.high, 0.0 - change.low)  # never -0


def _less_harmful(result: CellResult, control: str) -> dict[str, tuple[int, int]]:
    """By measure, how many draws did less harm than the cell, of how many."""
    counts = {}
    for measure in measures_of(result.ability):
        own = WORSE[measure] * level(result.ability, measure)
        levels = [WORSE[measure] * level(ability, measure) for ability in result.equal(control)]
        counts[measure] = (sum(other < own for other in levels), len(levels))
    return counts
