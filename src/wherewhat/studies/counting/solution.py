"""How nets count, in words: the finding first, then what it rests on. Torch-free."""

from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from wherewhat.formatting import listed, percent
from wherewhat.studies.counting.biases import (
    BRACKETS,
    CLOSED,
    ENCODED,
    HELD,
    INERT,
    MATTER,
    NO_ONES,
    OPENED,
    PARTLY,
    RUNNING,
    UNCLEAR,
    LearntRegion,
)
from wherewhat.studies.counting.names import (
    CAUSAL,
    CLOSING,
    FROM_BRACKETS,
    KEPT,
    MOVED,
    OPENING,
    OWN,
    SUBTRACTED,
    TOKEN_TYPES,
    TOP_1,
    TRAINED,
)
from wherewhat.studies.engine.results import Cell, ResultTable

ATTENDED = 0.1  # of the attention of brackets in the encoder, from which a kind of token is named
SINGULAR = {"hold": "holds", "matter": "matters", "have": "has", "states": "state"}


def way(region: LearntRegion) -> str:
    """How a region is counted, as a clause."""
    if region.states == RUNNING:
        return "brackets hold running counts, of which the read-out takes the difference"
    if region.states in ENCODED:
        holder = _holder(region)
        return f"{holder} {_agree(holder, 'hold')} the count"
    if region.has_bias:
        return f"ones are compared with {region.by_mass}, a bias token"
    if region.states == INERT:
        return f"ones seem to be compared with {region.by_mass}, but slopes on other sizes do not fit"
    if region.states == UNCLEAR:
        hardly = region.by_mass == NO_ONES
        return f"it is unclear how, as {'the query attends to hardly any ones' if hardly else 'attention is spread'}"
    matter = f"{_agree(region.by_mass, 'matter')}{' in part' if region.states == PARTLY else ''}"
    return f"the {_agree(region.by_mass, 'states')} of {region.by_mass} {matter}"


def _agree(name: str, word: str) -> str:
    """A word in the number of the tokens that it is about: there is one BOS, and several of all others.

    >>> _agree("zeros", "hold"), _agree("BOS", "hold")
    ('hold', 'holds')
    """
    return SINGULAR[word] if name == "BOS" else word


def ways(regions: Sequence[LearntRegion]) -> str:
    """In how many regions states hold the count or matter, and in how many there is a bias token.

    >>> shares = {("zeros", "own count"): 0.95}
    >>> regions = [LearntRegion("causal rope", 0, at, "zeros", ("zeros",), "zeros", shares) for at in (0, 1)]
    >>> ways([*regions, regions[0]._replace(by_slopes=())])
    'ones are compared with a bias token in 2 (zeros 2) and no way is clear in 1'
    """
    groups = {
        "states hold the count": [_holder(each) for each in regions if each.states in ENCODED],
        "states matter": [each.kind for each in regions if each.states == MATTER],
        "ones are compared with a bias token": [each.by_mass for each in regions if each.has_bias],
    }
    known = [
        f"{what} in {len(names)} ({', '.join(f'{name} {number}' for name, number in Counter(names).most_common())})"
        for what, names in groups.items()
        if names
    ]
    rest = len(regions) - sum(map(len, groups.values()))
    return listed([*known, *([f"no way is clear in {rest}"] if rest else [])])


def _holder(region: LearntRegion) -> str:
    """Which tokens hold the count, in a list."""
    if region.states == HELD:
        return "both brackets together" if region.kind == BRACKETS else region.kind
    return {RUNNING: "both brackets as running counts", OPENED: OPENING, CLOSED: CLOSING}[region.states]


def solution(table: ResultTable, learnt: Sequence[LearntRegion]) -> str:
    """How the run with the best regions counts, in one sentence; then the attention and interventions behind it."""
    if not learnt:
        return "No net has learnt a region well enough to say how it counts."
    runs = dict.fromkeys((each.net, each.seed) for each in learnt)
    net, seed = max(runs, key=lambda run: _mean_accuracy(table, *run))
    own = [each for each in learnt if (each.net, each.seed) == (net, seed)]
    groups: dict[tuple[str, str], list[LearntRegion]] = {}
    for each in own:
        groups.setdefault((way(each), each.kind), []).append(each)
    name = f"{net}, seed {seed}" if len(table.seeds) > 1 else net
    clauses = "; ".join(f"in {_regions(its)}, {clause}" for (clause, _), its in groups.items())
    learns = f"The best net, {name}, is right in {percent(_mean_accuracy(table, net, seed))} of cases: {clauses}."
    parts = [f"In {_regions(its)}, {evidence(table, its)}." for its in groups.values()]
    return " ".join(filter(None, [learns, *parts, encoder_words(table, own)]))


def _mean_accuracy(table: ResultTable, net: str, seed: int) -> float:
    points = table.where(part="accuracy", subject=net, item=TRAINED, measure=TOP_1, seed=seed)
    return fmean(points["value"].to_list())


def _regions(own: Sequence[LearntRegion]) -> str:
    numbers = listed([str(each.region) for each in own])
    return f"{'region' if len(own) == 1 else 'regions'} {numbers}"


def evidence(table: ResultTable, own: Sequence[LearntRegion]) -> str:
    """What the way in which some regions of one net are counted rests on: means over these regions."""

    def moved(measure: str, kind: str | None = None) -> str:
        return percent(fmean(each.share(measure, kind) for each in own))

    first = own[0]
    if first.states == RUNNING:
        return (
            f"with the states that opening brackets have in another sequence, {moved(SUBTRACTED, OPENING)} of right "
            f"answers become the ones before the own closing bracket less those before the other opening one; likewise "
            f"{moved(SUBTRACTED, CLOSING)} with those of closing brackets, and with both, {moved(MOVED)} become the "
            "other sequence's count"
        )
    if first.states in (OPENED, CLOSED):
        holder, other = (OPENING, CLOSING) if first.states == OPENED else (CLOSING, OPENING)
        return (
            f"with the states that {holder} have in another sequence, {moved(MOVED, holder)} of right answers "
            f"become that sequence's count; with those of {other}, {moved(KEPT, other)} stay right"
        )
    states, have = _agree(first.kind, "states"), _agree(first.kind, "have")
    swapped = (
        f"with the {states} that {first.kind} {have} in another sequence, {moved(KEPT)} of right answers stay right"
    )
    if first.states == HELD:
        return f"{swapped} and {moved(MOVED)} become that sequence's count"
    ones = percent(fmean(mass(table, each, f"1{OWN}") for each in own))
    others = percent(fmean(sum(mass(table, each, kind) for kind in TOKEN_TYPES if kind != "1") for each in own))
    return f"{ones} of attention is on the ones of the region and {others} on tokens other than ones; {swapped}"


def encoder_words(table: ResultTable, own: Sequence[LearntRegion]) -> str:
    """What brackets that hold counts attend to in the encoder, besides ones; empty if none do."""
    if not any(each.kind == BRACKETS and each.states in ENCODED for each in own):
        return ""
    first = own[0]
    masses = {
        kind: table.value(first.net, Cell("encoder", FROM_BRACKETS, kind), first.seed)
        for kind in sorted(TOKEN_TYPES, key=lambda kind: kind != "1")
    }
    attended = {kind: share for kind, share in masses.items() if share >= ATTENDED}
    if "1" not in attended or len(attended) == 1:
        return ""
    words = listed([f"{percent(share)} on `{kind}`" for kind, share in attended.items()])
    fixed = "0" not in attended and first.net.startswith(CAUSAL)  # behind a causal mask, in sequences of any size
    others = listed([f"`{kind}`" for kind in attended if kind != "1"])
    same = f", and there are as many {others} before a region in sequences of any size" if fixed else ""
    return f"In its encoder, the attention of brackets is {words}{same}."


def mass(table: ResultTable, of: LearntRegion, kind: str) -> float:
    """How much of the attention of a region's query goes to a kind of token."""
    return table.value(of.net, Cell("attention", "mass", kind, float(of.region)), of.seed)
