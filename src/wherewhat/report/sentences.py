"""What a profile found, in a few plain sentences: the finding, its number with the interval, and what that rests on.

Every sentence follows from the table alone, so that it can be printed by a command and stand at the top of a page.
"""

from collections.abc import Callable, Sequence
from statistics import fmean

import polars as pl

from wherewhat.report.kinds import SOURCES
from wherewhat.report.measured import Manifest, Measured, Score, fresh_windows, measured
from wherewhat.report.numbers import count, interval, short
from wherewhat.report.shares import Triple, pairs, triples
from wherewhat.report.striking import BY_CONTENT, BY_PLACE, Notice, leaders, leading, notices
from wherewhat.report.views import HALF, SINK, VERDICTS, contradictions, sinks, verdicts, views

MOST = 5
FLAT = 0.9  # of the widest possible entropy, in every head
WHOLE = "with the whole 95\N{NO-BREAK SPACE}% interval; "
MOVED = 0.1  # nearer to fresh weights than this, nothing is said of what training changed
DOES = {  # what a head that is far above chance in a score does much of, or far below little of
    "locality": "looking near (locality)",
    "offset_peak": "looking hardest at one and the same offset",
    "self": "attention to the token itself",
    "previous": "attention to the token before",
    "next": "attention to the token after",
    "entropy": "the spread of its attention (entropy)",
    "sink": "attention to the first token",
    "duplicate": "attention to earlier copies of its token",
    "induction": "attention to what followed an earlier copy of its token",
}
DECIDES = {  # by the name of the shares: what place and content decide of a head
    "attended": ("", "where {} look"),
    "shares": ("With all keys counted alike, ", "the logits of {}"),
    "input": ("When tokens trade places at the input, ", "where {} look"),
    "shift": ("When the text is shifted at the input, ", "where {} look"),
}


def findings(heads: pl.DataFrame, manifest: Manifest) -> list[str]:
    """Three to five sentences about the heads of one run, the most telling first; fewer where little was asked."""
    run = measured(heads, manifest)
    single = _single(run)
    told: list[str] = []
    for finding in FINDINGS:
        told += [sentence for sentence in finding(run) if sentence not in told]
    return [*told[: MOST - len(single)], *single]


def _decided(run: Measured) -> list[str]:
    """By what most heads go."""
    if not (found := triples(run)):
        return []
    triple, resting = found[0], sinks(run)
    rows = [row for row in _rows(run, triple.scores) if run.heads["name"][row] not in resting]
    if len(rows) < 2:
        return [_alone(run, triple, row) for row in rows]
    names = ("place", "content", triple.corners[2][0])
    counts = [
        (sum(_above(run, score, row, HALF) for row in rows), name)
        for score, name in zip(triple.scores, names, strict=True)
    ]
    (most, first), *others = sorted(counts, key=lambda counted: -counted[0])
    before, what = DECIDES[triple.name]
    awake = " that do not rest on the first token" if resting else ""
    sure = "" if _without_intervals(run, triple.scores[0]) else "clearly "
    decide = f"{before}{first} {sure}decides {what.format(f'{most} of {_heads(run, len(rows))}{awake}')}"
    second = [f"{name} {many or 'none'}" for many, name in others if many or name != names[2]]
    left = len(rows) - sum(many for many, _ in counts)
    none = f"; in {left} no share is {sure}more than half" if left else ""
    return [f"{decide[:1].upper()}{decide[1:]}, {', '.join(second)}{none} ({_criterion(run, triple.scores[0])})."]


def _alone(run: Measured, triple: Triple, row: int) -> str:
    """By what the only head goes that there is to tell of."""
    before, _ = DECIDES[triple.name]
    verdict = VERDICTS[verdicts(run, [triple])[row]].format(triple.corners[2][0])
    says = (
        f"{verdict[:1].lower()}{verdict[1:]}"
        if verdict.startswith("Looks")
        else "goes by neither place nor content alone"
    )
    head = run.heads["name"][row]
    of = f", one of the model's {run.total:,} heads," if run.total is not None and run.total > 1 else ""
    shares = [
        f"{word} {_number(notice)}"
        for word, score in zip(("place", "content"), triple.scores, strict=False)
        for notice in notices(score, run)
        if notice.name == head
    ]
    return f"{before}{head}{of} {says}: {'; '.join(shares)} ({run.rests(triple.scores[0], row)})."


def _learned(run: Measured) -> list[str]:
    """How the heads differ from fresh weights in what they go by: what they do more of, if there is such a thing."""
    if not (found := triples(run)):
        return []
    told = []
    for word, score in zip(("place", "content"), found[0].scores[:2], strict=True):
        rows = [row for row in _rows(run, [score]) if run.heads[f"untrained_{score.key}"][row] is not None]
        if len(rows) < 2:
            continue
        trained, fresh = (
            fmean(run.heads[f"{name}_{score.key}"][row] for row in rows) for name in ("value", "untrained")
        )
        if abs(trained - fresh) >= MOVED:
            told.append((trained - fresh, _against_fresh(run, score, word, rows, (trained, fresh))))
    return [max(told)[1]] if told else []


def _against_fresh(run: Measured, score: Score, word: str, rows: Sequence[int], means: tuple[float, float]) -> str:
    trained, fresh = means
    up = trained > fresh
    baseline = run.heads[f"untrained_{score.key}"]
    above, below = (sum(side(run, score, row, baseline[row]) for row in rows) for side in (_above, _below))
    (clear, way), (other, against) = [(above, "more"), (below, "less")][:: 1 if up else -1]
    heads = f"{clear} of {_heads(run, len(rows))}"
    split = f", {other} {'go' if other > 1 else 'goes'} {against}" if other else ""
    way = f"{way} by {word} than fresh weights of the same architecture{split}"
    return (
        f"{heads} go {way}: a share of {short(trained)} on average against {short(fresh)} ({_criterion(run, score)}; "
        f"fresh weights, {fresh_windows(run.manifest)})."
    )


def _most(run: Measured) -> list[str]:
    """Which head goes most by place, which most by content; a head that takes no clear side is neither."""
    most, found, resting = leading(run), triples(run), sinks(run)
    awake = [row for row in _rows(run, found[0].scores) if run.heads["name"][row] not in resting] if found else []
    if len(awake) < 2:
        return []
    told = [f"{notice.name} {notice.lead}: {_number(notice)}" for notice in most]
    nobody = "of those that do not rest on the first token none" if resting else "no head"
    sides = {BY_PLACE: "by place than by content", BY_CONTENT: "by content than by place"}
    left = [words for lead, words in sides.items() if lead not in {notice.lead for notice in most}]
    told += [f"{nobody} clearly goes more {' or more '.join(left)}"] if left else []
    said = "; ".join(told)
    return [f"{said[:1].upper()}{said[1:]} ({_rests(most[0].score if most else found[0].scores[0])})."]


def _resting(run: Measured) -> list[str]:
    """How many heads rest on the first token."""
    resting = sinks(run)
    if not resting:
        return []
    score = run.find("sink")[0]
    most = max(notices(score, run), key=lambda notice: notice.value)
    if len(run.heads["name"]) == 1:
        return [f"{most.name} rests on the first token, which of its attention gets {_number(most)} ({most.rests})."]
    many = f"{len(resting)} of {_heads(run, len(_rows(run, [score])))}"
    most_of_all = f"{most.name} most: {_number(most)} ({_rests(score)})"
    return [f"{many} rest on the first token, giving it {short(SINK)} of their attention or more, {most_of_all}."]


def _flat(run: Measured) -> list[str]:
    """That there is little to tell where all heads look everywhere."""
    score = next(iter(run.find("entropy")), None)
    if score is None:
        return []
    values = [notice.value for notice in notices(score, run)]
    if min(values) < FLAT:
        return []
    spread = (
        f"entropy {short(min(values))} to {short(max(values))}" if len(values) > 1 else f"entropy {short(values[0])}"
    )
    which = f"all {_heads(run, len(values))}" if len(values) > 1 else "this head"
    return [f"Attention is nearly even in {which}: {spread}, where 1 is even ({_rests(score)})."]


def _disagreeing(run: Measured) -> list[str]:
    """On how many heads the views contradict each other, with an example."""
    mixed = contradictions(run, views(triples(run), pairs(run), pairs(run, "input.")))
    if not mixed["name"]:
        return []
    many = f"{len(mixed['name'])} of {_heads(run, len(run.heads['name']))}"
    if len(run.heads["name"]) == 1:
        return [f"The views of where against what disagree. {mixed['how'][0]} {mixed['why'][0]}"]
    first = f"{mixed['name'][0]}. {mixed['how'][0]} {mixed['why'][0]}"
    return [f"The views of where against what disagree on {many}, such as {first}"]


def _by_place_alone(run: Measured) -> list[str]:
    """The head that place alone makes look nearest."""
    for source in SOURCES:
        for score in run.find(f"{source}.locality"):
            clear = [notice for notice in notices(score, run) if notice.clear and notice.above]
            if clear:
                most = max(clear, key=lambda notice: notice.strength)
                return [f"By place alone {most.name} looks nearest: {score.name} {_number(most)} ({most.rests})."]
    return []


def _standing_out(run: Measured) -> list[str]:
    """The heads farthest from chance, score by score."""
    told = []
    for notice in leaders(run):
        side = "above" if notice.above else "below"
        what = DOES.get(notice.score.name, notice.score.name)
        side = side if len(run.heads["name"]) == 1 else f"farthest {side}"
        told.append(f"{notice.name} is {side} chance in {what}: {_number(notice)} ({notice.rests}).")
    return told


def _ranges(run: Measured) -> list[str]:
    """Where nothing else is to say: between which heads a score lies."""
    told = []
    for score in run.answered:
        ordered = sorted(notices(score, run), key=lambda notice: notice.value)
        if len(ordered) == 1:
            told.append(f"{ordered[0].name} has {score.name} {_number(ordered[0])} ({ordered[0].rests}).")
        else:
            ends = " to ".join(f"{short(notice.value)} ({notice.name})" for notice in (ordered[0], ordered[-1]))
            told.append(f"Over {_heads(run, len(ordered))} {score.name} goes from {ends} ({_rests(score)}).")
    return told[:3]


FINDINGS: Sequence[Callable[[Measured], list[str]]] = (
    *(_flat, _decided, _most, _resting, _learned, _disagreeing, _by_place_alone),
    *(_standing_out, _ranges),
)


def _single(run: Measured) -> list[str]:
    """That nothing has an interval, where there is but one text."""
    texts = {counts.texts for score in run.answered for counts in score.rests}
    return ["All of this rests on one text, so there are no intervals; give two texts or more."] if texts == {1} else []


def _criterion(run: Measured, score: Score) -> str:
    """What a count of heads rests on."""
    return f"{'' if _without_intervals(run, score) else WHOLE}{_rests(score)}"


def _without_intervals(run: Measured, score: Score) -> bool:
    return all(low is None for low in run.heads[f"low_{score.key}"])


def _rests(score: Score) -> str:
    """What a score rests on over all heads."""
    if len(score.rests) == 1:
        return f"{'only ' if score.rests[0].few else ''}{score.rests[0]}" or "texts not counted"
    spans = [
        (min(known), max(known), word)
        for word in ("text", "row")
        if (known := [number for counts in score.rests if (number := getattr(counts, f"{word}s")) is not None])
    ]
    said = [count(low, word) if low == high else f"{low:,} to {count(high, word)}" for low, high, word in spans]
    return ", ".join(said) or "texts not counted"


def _number(notice: Notice) -> str:
    """A value with its interval, and what knows nothing would get."""
    between = interval(notice.low, notice.high)
    levels = [f"chance {short(notice.chance)}"] if notice.chance is not None else []
    levels += [f"untrained {short(notice.untrained)}"] if notice.untrained is not None else []
    held = f", {', '.join(levels)}" if levels else ""
    return f"{short(notice.value)}{f' ({between})' if between else ''}{held}"


def _heads(run: Measured, many: int) -> str:
    """So many heads, and of how many the run had to choose from if it looked at some only."""
    measured_heads = len(run.heads["name"])
    said = count(many, "head")
    return said if run.total is None or run.total <= measured_heads else f"{said} looked at (of {run.total:,})"


def _rows(run: Measured, scores: Sequence[Score]) -> list[int]:
    """The heads that have a value in each of some scores."""
    columns = [run.heads[f"value_{score.key}"] for score in scores]
    return [row for row in range(len(run.heads["name"])) if all(column[row] is not None for column in columns)]


def _above(run: Measured, score: Score, row: int, level: float) -> bool:
    """Whether a head's whole interval, or its value where there is none, lies above a level."""
    low, value = (run.heads[f"{name}_{score.key}"][row] for name in ("low", "value"))
    return bool((value if low is None else low) > level)


def _below(run: Measured, score: Score, row: int, level: float) -> bool:
    high, value = (run.heads[f"{name}_{score.key}"][row] for name in ("high", "value"))
    return bool((value if high is None else high) < level)
