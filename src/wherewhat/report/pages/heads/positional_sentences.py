"""What the numbers say about the positional part of attention, in sentences."""

from collections.abc import Sequence

from wherewhat.formatting import count, listed, percent, short
from wherewhat.report.pages.heads.positional_maps import GAMMA, SOURCES
from wherewhat.report.pages.heads.positional_tables import THIN, PositionalResults, SourceMeans

LOCAL = (  # by excess locality, from this value on
    (0.3, "strongly local"),
    (0.1, "clearly local"),
    (0.02, "slightly local"),
    (-0.02, "hardly more local than uniform attention"),
    (-1.0, "less local than uniform attention"),
)
LITTLE = 0.02  # of excess locality: below it, attention is nearly uniform
ALIKE = 0.8  # of balance: from here on, left and right count as equal
CANCELS = 0.1  # of balance: how much more balanced the mean matrix must be than its heads
BIASED = 0.05  # of left/right bias
FAR = 0.25  # of the largest: sources that differ by less agree
MASKED = (
    "Under a causal mask, the keys to the right of a query are hidden, so symmetry, balance and left/right bias mean "
    "nothing there; they are measured with the mask removed."
)


def sentences_about(results: PositionalResults, part: str) -> list[str]:
    """The sentences about one part of a model, the most important first."""
    sources = [source for name in SOURCES if (source := results.source(name, part))]
    main = next((source for source in sources if source.heads.get("excess") is not None), None)
    if main is None:
        return []
    both_sides = next((source for source in sources if "balance" in source.scores), None)
    hidden = "balance" not in main.scores and bool(main.masks - {""})
    sentences = [
        how_local(main),
        MASKED if hidden else "",
        how_symmetric(both_sides, hidden=hidden) if both_sides else "",
        how_sources_agree(sources),
        what_content_adds(main, results.source(main.source + GAMMA, part)),
        most_local_layer(results, main),
    ]
    return [sentence for sentence in sentences if sentence]


def how_local(source: SourceMeans) -> str:
    """How near heads attend by position alone."""
    excess, locality, even = source.heads.get("excess"), source.heads.get("locality"), source.chance.get("locality")
    if excess is None or locality is None:
        return ""
    word = next((word for least, word in LOCAL if excess >= least), LOCAL[-1][1])
    against = f", compared with {short(even)} for uniform attention" if even is not None else ""
    way = f" ({percent(excess)} of the way from there to attention to itself only)" if excess >= LITTLE and even else ""
    nearer, known = source.clear
    are = f"{count(known, 'head')} {'is' if nearer == 1 else 'are'}"
    heads = f" {nearer} of {are} clearly more local than uniform attention." if known and even is not None else ""
    return f"By position alone, heads are {word}: mean locality is {short(locality)}{against}{way}.{heads}"


def how_symmetric(source: SourceMeans, *, hidden: bool = False) -> str:
    """Whether single heads, or only all of them together, attend equally left and right; `hidden`: without a mask."""
    single, whole, random = source.heads.get("balance"), source.together.get("balance"), source.chance.get("balance")
    if single is None:
        return ""
    mean = f"mean balance is {short(single)}{f' (random logits: {short(random)})' if random is not None else ''}"
    also = "" if whole is None else f", and {short(whole)} for the mean matrix of a layer's heads"
    if single >= ALIKE and (source.heads.get("excess") or 0.0) < LITTLE:
        return f"Heads attend equally left and right: {mean}{also}. But so does any nearly uniform attention."
    if single >= ALIKE:
        return f"Single heads attend equally left and right: {mean}{also}."
    if whole is not None and whole >= single + CANCELS and whole >= ALIKE:
        return (
            f"Single heads are not symmetric: {mean}. But their biases cancel: balance is {short(whole)} for the mean "
            "matrix of a layer's heads, so the layers are symmetric here, not their heads."
        )
    cancel = ""
    if whole is not None:
        less = "their biases cancel in part" if whole >= single + CANCELS else "they are no more symmetric"
        cancel = f" In the mean matrix of a layer's heads {less}: balance is {short(whole)}."
    return f"Single heads are not symmetric: {mean}.{cancel}{_left_or_right(source, hidden=hidden)}"


def _left_or_right(source: SourceMeans, *, hidden: bool) -> str:
    """To which side heads are biased on average, or would be without the mask."""
    bias = source.heads.get("left_right_bias")
    if bias is None:
        return ""
    if abs(bias) < BIASED:
        return f" On average they favour neither side (left/right bias {short(bias)})."
    if hidden:
        return (
            f" Without the mask, the logits would favour {'earlier' if bias > 0 else 'later'} keys (left/right bias "
            f"{short(bias)}); the model was never trained without it."
        )
    return f" On average they favour the {'left' if bias > 0 else 'right'} (left/right bias {short(bias)})."


def how_sources_agree(sources: Sequence[SourceMeans]) -> str:
    """Whether the sources agree: those under the same masks, over the slots that all of them have."""
    masks = dict.fromkeys(source.masks for source in sources)
    alike = max(([source for source in sources if source.masks == mask] for mask in masks), key=len, default=[])
    n = min((source.n for source in alike if source.n is not None), default=None)
    by_title = {source.title: value for source in alike if (value := source.over(n).get("excess")) is not None}
    if len(by_title) < 2:
        return ""
    where = f" over the first {n} slots" if any(source.n != n for source in alike) else ""
    values = list(by_title.values())
    largest = max(abs(value) for value in values)
    agree = largest < LITTLE or max(values) - min(values) <= FAR * largest
    numbers = listed([f"{short(value)} by {title[:1].lower()}{title[1:]}" for title, value in by_title.items()])
    return f"The sources {'agree' if agree else 'differ'}: excess locality{where} is {numbers}."


def what_content_adds(main: SourceMeans, gamma: SourceMeans | None) -> str:
    """The locality that remains once the positional part is divided out of attention on the texts."""
    if gamma is None or gamma.masks != main.masks:
        return ""
    position, content = main.over(gamma.n).get("excess"), gamma.heads.get("excess")
    if position is None or content is None:
        return ""
    where = f" over the first {gamma.n} slots" if gamma.n != main.n else ""
    numbers = f"excess locality{where} is {short(content)} for γ and {short(position)} for position"
    if max(position, content) < LITTLE:
        return f"What content adds, γ, is not local either: {numbers}."
    if content > position:
        return f"What content adds, γ, is more local than position: {numbers}."
    if content <= position / 2:
        return f"Locality is mostly due to position, not to what content adds, γ: {numbers}."
    return f"Position and what content adds, γ, are both local: {numbers}."


def most_local_layer(results: PositionalResults, main: SourceMeans) -> str:
    """The most and the least local layer, if all layers have the same mask."""
    which = {"part": main.part, "source": main.base, "series": "heads", "measure": "excess"}
    excess = {row["layer"]: row["value"] for row in results.by_layer if which.items() <= row.items()}
    if len(excess) < 2 or len(main.masks) > 1 or max(excess.values()) - min(excess.values()) < LITTLE:
        return ""
    most, least = max(excess, key=lambda layer: excess[layer]), min(excess, key=lambda layer: excess[layer])
    high, low = short(excess[most]), short(excess[least])
    return f"Layer {most} is the most local (excess locality {high}), layer {least} the least ({low})."


def warnings_about(results: PositionalResults) -> list[str]:
    """What to know before comparing these numbers with others."""
    n, levels = results.n, []
    for name, its in results.baselines.items():
        if name.endswith("uniform"):
            mask = name.removesuffix("uniform").strip()
            levels.append(f"{short(its.get('locality'))}{mask and f' under the mask “{mask}”'}")
    warnings = [
        f"Locality and excess locality depend on the number of slots, here n = {n}"
        f"{f': uniform attention has locality {listed(levels)}' if levels else ''}. Compare only results with equal n.",
        "For the same model before training, run `wherewhat compare MODEL --untrained --positional`.",
    ]
    differ = sorted((source for source in results.sources if source.n not in (None, n)), key=lambda s: s.contextual)
    others = {("γ" if source.contextual else source.title): source.n for source in differ}
    for size in dict.fromkeys(others.values()):
        which = listed([title for title, slots in others.items() if slots == size])
        cover = "cover" if " and " in which else "covers"
        warnings.append(f"{which} {cover} n = {size} slots, the length of the texts.")
    for source in results.sources:
        few, of = source.thin
        if few:
            warnings.append(
                f"{source.title}: balance and left/right bias of {few} of {count(of, 'head')} are based on less than "
                f"{percent(THIN)} of attention; the rest has no counterpart at the same distance on the other side."
            )
    drawn = [results.baselines.get(name, {}).get("symmetry") for name in ("random .02", "random 1")]
    if noise := dict.fromkeys(short(level) for level in drawn if level is not None):
        warnings.append(
            "Symmetry as published is rescaled row by row and grows as attention becomes more peaked: random logits "
            f"have {' to '.join(noise)} here. Prefer balance, which is 1 if left and right are the same and 0 on one "
            "side only."
        )
    return warnings
