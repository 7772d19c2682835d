"""What the numbers say of the positional part of attention, in sentences that follow from them."""

from collections.abc import Sequence

from wherewhat.report.kinds import SOURCES
from wherewhat.report.numbers import count, percent, short
from wherewhat.report.positional_maps import GAMMA
from wherewhat.report.positional_tables import Positional, Reading

LOCAL = (  # by excess locality, from this on
    (0.3, "strongly local"),
    (0.1, "clearly local"),
    (0.02, "a little local"),
    (-0.02, "hardly more local than even attention"),
    (-1.0, "less local than even attention"),
)
LITTLE = 0.02  # of excess locality: below it, attention is nearly even
ALIKE = 0.8  # of balance: from here on, left and right count alike
CANCELS = 0.1  # of balance: by so much the mean matrix must be more balanced than its heads
LEANS = 0.05
HALF = 0.5
FAR = 0.25  # of the largest: ways that lie nearer to each other agree


def said_of(found: Positional, part: str) -> list[str]:
    """The sentences about one part of a model, the most important first."""
    main = _main(found, part)
    if main is None:
        return []
    both_sides = next((one for one in _readings(found, part) if "balance" in one.scores), None)
    told = [
        how_local(main),
        "" if "balance" in main.scores else MASKED,
        how_even(both_sides) if both_sides else "",
        with_sources(_readings(found, part)),
        with_content(main, found.reading(main.source + GAMMA, part)),
        strongest_layer(found, main),
    ]
    return [sentence for sentence in told if sentence]


MASKED = (
    "Under a causal mask nothing right of a query is seen, so symmetry, balance and lean say nothing there; they are "
    "read with the mask taken away."
)


def _readings(found: Positional, part: str) -> list[Reading]:
    """What was read of position alone in one part, in reading order."""
    readings = [found.reading(source, part) for source in SOURCES]
    return [one for one in readings if one is not None]


def _main(found: Positional, part: str) -> Reading | None:
    """The reading that is told first: identical words, or the next that was measured."""
    return next((one for one in _readings(found, part) if one.heads.get("excess") is not None), None)


def how_local(one: Reading) -> str:
    """How near heads look by place alone."""
    excess, locality, even = one.heads.get("excess"), one.heads.get("locality"), one.chance.get("locality")
    if excess is None or locality is None:
        return ""
    word = next(word for least, word in LOCAL if excess >= least or least == LOCAL[-1][0])
    against = f", where even attention gets {short(even)}" if even is not None else ""
    way = f", {percent(excess)} of the way from there to looking at itself alone" if excess >= LITTLE and even else ""
    nearer, told = one.clear
    heads = (
        f" {nearer} of {count(told, 'head')} are clearly nearer than even attention."
        if told and even is not None
        else ""
    )
    return f"By place alone, heads are {word}: locality is {short(locality)} on average{against}{way}.{heads}"


def how_even(one: Reading) -> str:
    """Whether single heads, or only all of them together, look left and right alike."""
    single, whole, random = one.heads.get("balance"), one.together.get("balance"), one.chance.get("balance")
    if single is None:
        return ""
    beside = f" (random logits: {short(random)})" if random is not None else ""
    both = f"balance {short(single)} on average{beside}"
    also = "" if whole is None else f", and {short(whole)} of the mean matrix of a layer's heads"
    if single >= ALIKE and (one.heads.get("excess") or 0.0) < LITTLE:
        return f"Left and right count alike, {both}{also}; but so they do wherever attention is nearly even."
    if single >= ALIKE:
        return f"Single heads look left and right alike: {both}{also}."
    if whole is not None and whole >= single + CANCELS and whole >= ALIKE:
        return (
            f"Single heads are not symmetric: {both}. But their leanings cancel: the mean matrix of a layer's heads "
            f"has {short(whole)}, so symmetry is true of the layers here, not of their heads."
        )
    if whole is None:
        return f"Single heads are not symmetric: {both}.{leaning(one)}"
    less = "their leanings cancel in part" if whole >= single + CANCELS else "they are no more so"
    return f"Single heads are not symmetric: {both}. Together {less}: {short(whole)}.{leaning(one)}"


def leaning(one: Reading) -> str:
    """To which side heads lean on the whole."""
    lean = one.heads.get("lean")
    if lean is None:
        return ""
    if abs(lean) < LEANS:
        return f" On the whole they lean to neither side (lean {short(lean)})."
    return f" On the whole they lean to the {'left' if lean > 0 else 'right'} (lean {short(lean)})."


def with_sources(readings: Sequence[Reading]) -> str:
    """Whether the ways of finding the positional part agree; those that see both sides, if there are several."""
    known = [one for one in readings if one.heads.get("excess") is not None]
    alike = [one for one in known if "balance" in one.scores]
    told = [(one.title, one.heads["excess"] or 0.0) for one in (alike if len(alike) > 1 else known)]
    if len(told) < 2 or (len(alike) < 2 and alike):
        return ""
    values = [value for _, value in told]
    largest = max(abs(value) for value in values)
    agree = largest < LITTLE or max(values) - min(values) <= FAR * largest
    listed = _listed([f"{short(value)} by {name[:1].lower()}{name[1:]}" for name, value in told])
    return f"The ways to find it {'agree' if agree else 'differ'}: excess locality is {listed}."


def with_content(main: Reading, beside: Reading | None) -> str:
    """What is left of locality once the positional part is divided out of attention on the texts."""
    place = main.heads.get("excess")
    content = beside.heads.get("excess") if beside else None
    if place is None or content is None:
        return ""
    numbers = f"excess locality {short(content)} against {short(place)}"
    if max(place, content) < LITTLE:
        return f"Nor is what content adds, γ, local: {numbers}."
    if content > place:
        return f"What content adds, γ, is more local than place: {numbers}."
    if content <= HALF * place:
        return f"Locality is mostly a matter of place: what content adds, γ, keeps {numbers}."
    return f"Place and content are both local: γ, what content adds, has {numbers}."


def strongest_layer(found: Positional, main: Reading) -> str:
    """Which layer is the most local, and which the least."""
    names = ("layer", "part", "source", "series", "measure", "value")
    rows = zip(*(found.by_layer[name] for name in names), strict=True)
    its = {layer: value for layer, *which, value in rows if which == [main.part, main.base, "heads", "excess"]}
    if len(its) < 2 or max(its.values()) - min(its.values()) < LITTLE:
        return ""
    most, least = max(its, key=lambda layer: its[layer]), min(its, key=lambda layer: its[layer])
    return f"Layer {most} is the most local (excess {short(its[most])}), layer {least} the least ({short(its[least])})."


def warnings_of(found: Positional) -> list[str]:
    """What to mind before comparing these numbers with any other."""
    n, other = found.n, max(4, found.n // 4)
    masked = ""
    if "causal uniform" in found.baselines:
        masked = f", under a causal mask {short(even_causal(n))} and {short(even_causal(other))}"
    told = [
        f"Locality depends on the number of slots, here n = {n}: even attention gets {short(even_locality(n))} at "
        f"n = {n} and {short(even_locality(other))} at n = {other}{masked}. "
        "Compare only what has the same n, or the excess."
    ]
    differ = sorted((one for one in found.readings if one.n not in (None, n)), key=lambda one: one.contextual)
    others = {("γ" if one.contextual else one.title): one.n for one in differ}
    for size in dict.fromkeys(others.values()):
        which = _listed([title for title, its in others.items() if its == size])
        told.append(f"{which} {'are' if ' and ' in which else 'is'} over n = {size}, as far as the texts go.")
    drawn = [found.baselines.get(name, {}).get("symmetry") for name in ("random .02", "random 1")]
    levels = [level for level in drawn if level is not None]
    if levels:
        between = " to ".join(dict.fromkeys(short(level) for level in levels))
        told.append(
            f"Symmetry as published is stretched row by row and grows as attention gets peaked: random logits get "
            f"{between} here. Read balance, which is 1 where left and right are the same and 0 on one side only."
        )
    return told


def even_locality(n: int) -> float:
    """The locality of even attention over n slots, both sides seen.

    >>> round(even_locality(64), 6)
    0.045898
    """
    return float((3 * n - 4 + 2.0 ** (2 - n)) / n**2)


def even_causal(n: int) -> float:
    """The same under a causal mask.

    >>> round(even_causal(64), 6)
    0.126586
    """
    return float(sum((2 - 2.0**-slot) / (slot + 1) for slot in range(n)) / n)


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
