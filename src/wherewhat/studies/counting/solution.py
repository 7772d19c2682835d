"""How the best net counts, in one sentence that rests on what was measured. Torch-free."""

from statistics import fmean

from wherewhat.formatting import percent
from wherewhat.studies.counting.biases import HELD, MATTER, UNCLEAR, LearntRegion
from wherewhat.studies.counting.names import OWN, TOP_1, TRAINED
from wherewhat.studies.engine.results import Cell, ResultTable


def solution(table: ResultTable, learnt: list[LearntRegion]) -> str:
    """How the run with the best regions counts: by attention, slopes on other sizes and an intervention."""
    if not learnt:
        return "No net has learnt a region well enough to say how it counts."
    runs = dict.fromkeys((each.net, each.seed) for each in learnt)
    best = max(runs, key=lambda run: _mean_accuracy(table, *run))
    own = [each for each in learnt if (each.net, each.seed) == best]
    ways = dict.fromkeys(each.way for each in own)
    parts = [_describe_way(table, way, [each for each in own if each.way == way]) for way in ways]
    name = f"{best[0]}, seed {best[1]}" if len(table.seeds) > 1 else best[0]
    return f"How the best net, {name}, counts: {'; '.join(parts)}."


def _mean_accuracy(table: ResultTable, net: str, seed: int) -> float:
    points = table.where(part="accuracy", subject=net, item=TRAINED, measure=TOP_1, seed=seed)
    return fmean(points["value"].to_list())


def _describe_way(table: ResultTable, way: str, own: list[LearntRegion]) -> str:
    """How some regions of one net are counted, and the evidence for it."""
    which = f"{'region' if len(own) == 1 else 'regions'} {', '.join(str(each.region) for each in own)}"
    if way == UNCLEAR:
        fitting = {each.by_slopes for each in own}
        named = f", slopes on other sizes fit {' or '.join(*fitting)}" if len(fitting) == 1 and all(fitting) else ""
        return f"{which}: neither attention nor an intervention tells{named}"
    ones, opening, closing = (fmean(mass(table, each, f"{kind}{OWN}") for each in own) for kind in "1[]")
    attention = f"{percent(ones)} of attention on the ones of the region, {percent(opening + closing)} on its brackets"
    kept, moved = fmean(each.kept for each in own), fmean(each.moved for each in own)
    swapped = f"with the states of another sequence's brackets, {percent(kept)} of predictions are unchanged"
    swapped += f" and {percent(moved)} become its count"
    if way == HELD:
        return f"{which} by brackets that hold the count ({attention}; {swapped})"
    if way == MATTER:
        return f"{which} by brackets whose states matter without holding the count alone ({attention}; {swapped})"
    fit = f"slopes on other sizes fit in {sum(each.agree for each in own)} of {len(own)}"
    return f"{which} by comparing ones with {way} ({percent(ones)} of attention on the ones of the region; {fit})"


def mass(table: ResultTable, of: LearntRegion, kind: str) -> float:
    """How much of the attention of a region's query goes to a kind of token."""
    return table.value(of.net, Cell("attention", "mass", kind, float(of.region)), of.seed)
