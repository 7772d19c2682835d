"""How the best net counts: the finding first, then what it rests on. Torch-free."""

from statistics import fmean

from wherewhat.formatting import listed, percent
from wherewhat.studies.counting.biases import HELD, INERT, NO_ONES, UNCLEAR, LearntRegion
from wherewhat.studies.counting.names import OWN, TOP_1, TRAINED
from wherewhat.studies.engine.results import Cell, ResultTable


def solution(table: ResultTable, learnt: list[LearntRegion]) -> str:
    """How the run with the best regions counts: by attention, slopes on other sizes and an intervention."""
    if not learnt:
        return "No net has learnt a region well enough to say how it counts."
    runs = dict.fromkeys((each.net, each.seed) for each in learnt)
    best = max(runs, key=lambda run: _mean_accuracy(table, *run))
    own = [each for each in learnt if (each.net, each.seed) == best]
    ways = dict.fromkeys((each.by_mass, each.states, each.has_bias) for each in own)
    name = f"{best[0]}, seed {best[1]}" if len(table.seeds) > 1 else best[0]
    parts = [
        _describe(table, [each for each in own if (each.by_mass, each.states, each.has_bias) == way]) for way in ways
    ]
    return f"The best net is {name}. {' '.join(parts)}"


def _mean_accuracy(table: ResultTable, net: str, seed: int) -> float:
    points = table.where(part="accuracy", subject=net, item=TRAINED, measure=TOP_1, seed=seed)
    return fmean(points["value"].to_list())


def _describe(table: ResultTable, own: list[LearntRegion]) -> str:
    """How some regions of one net are counted, and the evidence for it."""
    first, numbers = own[0], listed([str(each.region) for each in own])
    which = f"{'region' if len(own) == 1 else 'regions'} {numbers}"
    ones = percent(fmean(mass(table, each, f"1{OWN}") for each in own))
    others = percent(fmean(mass(table, each, kind) for each in own for kind in ("0", "[", "]", "BOS")) * 4)
    looks = f"{ones} of attention is on the ones of the region and {others} on tokens other than ones"
    kept, moved = (percent(fmean(values)) for values in zip(*((each.kept, each.moved) for each in own), strict=True))
    swapped = f"with the states of {first.kind} from another sequence, {kept} of right answers stay right"
    swapped += f" and {moved} become that sequence's count"
    evidence = f"{looks}; {swapped}."
    if first.states == HELD:
        return f"In {which}, the states of {first.kind} hold the count: {evidence}"
    if first.states == UNCLEAR:
        why = "its query attends to hardly any ones" if first.by_mass == NO_ONES else "attention names no bias token"
        return f"How it counts {which} is unclear: {why}; {swapped}."
    if first.has_bias:
        return f"In {which} it compares ones with {first.by_mass}, a bias token; slopes on other sizes fit: {evidence}"
    if first.states == INERT:
        return f"In {which} it attends to ones and {first.by_mass}, but slopes on other sizes do not fit: {evidence}"
    return f"In {which} it attends to ones and {first.by_mass}, whose states matter: {evidence}"


def mass(table: ResultTable, of: LearntRegion, kind: str) -> float:
    """How much of the attention of a region's query goes to a kind of token."""
    return table.value(of.net, Cell("attention", "mass", kind, float(of.region)), of.seed)
