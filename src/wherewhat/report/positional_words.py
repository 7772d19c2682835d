"""What the numbers say of the positional part of attention, in sentences that follow from them."""

from collections.abc import Sequence

from wherewhat.report.kinds import SOURCES
from wherewhat.report.numbers import count, percent, short
from wherewhat.report.positional_maps import GAMMA
from wherewhat.report.positional_tables import THIN, Positional, Reading

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
    hidden = "balance" not in main.scores and bool(main.masks - {""})
    told = [
        how_local(main),
        MASKED if hidden else "",
        how_even(both_sides, hidden=hidden) if both_sides else "",
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


def how_even(one: Reading, *, hidden: bool = False) -> str:
    """Whether single heads, or only all of them together, look left and right alike; hidden: once a mask is gone."""
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
        return f"Single heads are not symmetric: {both}.{leaning(one, hidden=hidden)}"
    less = "their leanings cancel in part" if whole >= single + CANCELS else "they are no more so"
    return f"Single heads are not symmetric: {both}. Together {less}: {short(whole)}.{leaning(one, hidden=hidden)}"


def leaning(one: Reading, *, hidden: bool) -> str:
    """To which side heads lean on the whole, or would if they could see it."""
    lean = one.heads.get("lean")
    if lean is None:
        return ""
    if abs(lean) < LEANS:
        return f" On the whole they lean to neither side (lean {short(lean)})."
    if hidden:
        return (
            f" With the mask taken away the logits would favour {'earlier' if lean > 0 else 'later'} keys "
            f"(lean {short(lean)}); nothing in training ever saw that."
        )
    return f" On the whole they lean to the {'left' if lean > 0 else 'right'} (lean {short(lean)})."


def with_sources(readings: Sequence[Reading]) -> str:
    """Whether the ways of finding the positional part agree: those under the same masks, over slots that all have."""
    groups = [[one for one in readings if one.masks == masks] for masks in dict.fromkeys(one.masks for one in readings)]
    alike = max(groups, key=len, default=[])
    n = min((one.n for one in alike if one.n is not None), default=None)
    told = [(one.title, value) for one in alike if (value := one.over(n).get("excess")) is not None]
    if len(told) < 2:
        return ""
    where = f" over the first {n} slots" if any(one.n != n for one in alike) else ""
    values = [value for _, value in told]
    largest = max(abs(value) for value in values)
    agree = largest < LITTLE or max(values) - min(values) <= FAR * largest
    listed = _listed([f"{short(value)} by {name[:1].lower()}{name[1:]}" for name, value in told])
    return f"The ways to find it {'agree' if agree else 'differ'}: excess locality{where} is {listed}."


def with_content(main: Reading, beside: Reading | None) -> str:
    """What is left of locality once the positional part is divided out of attention on the texts."""
    if beside is None or beside.masks != main.masks:
        return ""
    place, content = main.over(beside.n).get("excess"), beside.heads.get("excess")
    if place is None or content is None:
        return ""
    where = f" over the first {beside.n} slots" if beside.n != main.n else ""
    numbers = f"excess locality {short(content)} against {short(place)}{where}"
    if max(place, content) < LITTLE:
        return f"Nor is what content adds, γ, local: {numbers}."
    if content > place:
        return f"What content adds, γ, is more local than place: {numbers}."
    if content <= HALF * place:
        return f"Locality is mostly a matter of place: what content adds, γ, keeps {numbers}."
    return f"Place and content are both local: γ, what content adds, has {numbers}."


def strongest_layer(found: Positional, main: Reading) -> str:
    """Which layer is the most local, and which the least, if all see alike."""
    names = ("layer", "part", "source", "series", "measure", "value")
    rows = zip(*(found.by_layer[name] for name in names), strict=True)
    its = {layer: value for layer, *which, value in rows if which == [main.part, main.base, "heads", "excess"]}
    if len(its) < 2 or len(main.masks) > 1 or max(its.values()) - min(its.values()) < LITTLE:
        return ""
    most, least = max(its, key=lambda layer: its[layer]), min(its, key=lambda layer: its[layer])
    return f"Layer {most} is the most local (excess {short(its[most])}), layer {least} the least ({short(its[least])})."


def warnings_of(found: Positional) -> list[str]:
    """What to mind before comparing these numbers with any other."""
    n = found.n
    even = {name: levels.get("locality") for name, levels in found.baselines.items() if name.endswith("uniform")}
    masks = {name: name.removesuffix("uniform").strip() for name in even}
    levels = [f"{short(even[name])}{mask and f' under the mask: {mask}'}" for name, mask in masks.items()]
    told = [
        f"Locality and its excess depend on the number of slots, here n = {n}"
        f"{f': even attention gets {_listed(levels)}' if levels else ''}. Compare only what has the same n.",
        "What the same net gets before it has learnt anything comes from "
        "`wherewhat compare MODEL --untrained --positional`.",
    ]
    differ = sorted((one for one in found.readings if one.n not in (None, n)), key=lambda one: one.contextual)
    others = {("γ" if one.contextual else one.title): one.n for one in differ}
    for size in dict.fromkeys(others.values()):
        which = _listed([title for title, its in others.items() if its == size])
        told.append(f"{which} {'are' if ' and ' in which else 'is'} over n = {size}, as far as the texts go.")
    drawn = [found.baselines.get(name, {}).get("symmetry") for name in ("random .02", "random 1")]
    noise = [level for level in drawn if level is not None]
    for one in found.readings:
        few, of = one.thin
        if few:
            told.append(
                f"{one.title}: balance and lean of {few} of {count(of, 'head')} rest on less than {percent(THIN)} of "
                "attention, as all else has no counterpart at the same distance on the other side."
            )
    if noise:
        between = " to ".join(dict.fromkeys(short(level) for level in noise))
        told.append(
            f"Symmetry as published is stretched row by row and grows as attention gets peaked: random logits get "
            f"{between} here. Read balance, which is 1 where left and right are the same and 0 on one side only."
        )
    return told


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
