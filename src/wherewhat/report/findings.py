"""What a profile found, in a few plain sentences: the finding, its number with the interval, and what that is based on.

Every sentence follows from the table alone, so a command can print it and a page can begin with it.
"""

from collections.abc import Callable, Sequence
from statistics import fmean

import polars as pl

from wherewhat.formatting import count, interval, short
from wherewhat.report.head_table import HeadTable, ScoreView, read_head_table, untrained_windows
from wherewhat.report.kinds import SOURCES
from wherewhat.report.notable_heads import (
    BY_CONTENT,
    BY_POSITION,
    HeadScore,
    farthest_heads,
    head_scores,
    leading_heads,
)
from wherewhat.report.shares import ShareTriple, pairs, triples
from wherewhat.report.verdicts import HALF, SINK, VERDICTS, contradictions, sinks, verdicts, views
from wherewhat.tables.manifest.scores import ProfileManifest

MOST = 5  # sentences
FLAT = 0.9  # entropy, as a share of its maximum; attention is nearly uniform if no head has less
WHOLE = "whole 95\N{NO-BREAK SPACE}% interval; "
MOVED = 0.1  # a smaller difference from untrained weights is not reported
DOES = {  # by score: what a head far above chance does a lot, and one far below does little
    "locality": "attention to nearby tokens (locality)",
    "offset_peak": "attending most to one fixed offset",
    "self": "attention to the token itself",
    "previous": "attention to the previous token",
    "next": "attention to the next token",
    "entropy": "the spread of its attention (entropy)",
    "sink": "attention to the first token",
    "duplicate": "attention to earlier copies of its token",
    "induction": "attention to what followed an earlier copy of its token",
}
DECIDES = {  # by the name of the shares: the condition, and what position and content decide
    "attended": ("", "where {} attend"),
    "shares": ("With all keys counted equally, ", "the logits of {}"),
    "input": ("When tokens are permuted at the input, ", "where {} attend"),
    "shift": ("When the text is shifted at the input, ", "where {} attend"),
}


def findings(heads: pl.DataFrame, manifest: ProfileManifest) -> list[str]:
    """Three to five sentences about the heads of one run, the most important first; fewer where little was measured."""
    run = read_head_table(heads, manifest)
    last = _single_text(run)
    sentences: list[str] = []
    for finding in FINDINGS:
        sentences += [sentence for sentence in finding(run) if sentence not in sentences]
    return [*sentences[: MOST - len(last)], *last]


def _flat(run: HeadTable) -> list[str]:
    """That all heads spread their attention nearly uniformly, so that there is little to report."""
    score = next(iter(run.find("entropy")), None)
    if score is None:
        return []
    values = [head.value for head in head_scores(score, run)]
    if min(values) < FLAT:
        return []
    span = short(values[0]) if len(values) == 1 else f"{short(min(values))} to {short(max(values))}"
    which = f"all {_heads(run, len(values))}" if len(values) > 1 else "this head"
    return [f"Attention is nearly uniform in {which}: entropy {span}, where 1 is uniform ({_rests(score)})."]


def _decided(run: HeadTable) -> list[str]:
    """What decides where most heads attend."""
    if not (shares := triples(run)):
        return []
    triple, resting = shares[0], sinks(run)
    rows = [row for row in _rows(run, triple.scores) if run.heads["name"][row] not in resting]
    if len(rows) < 2:
        return [_decided_alone(run, triple, row) for row in rows]
    names = ("position", "content", triple.corners[2][0])
    counts = [
        (sum(_above(run, score, row, HALF) for row in rows), name)
        for score, name in zip(triple.scores, names, strict=True)
    ]
    (most, first), *others = sorted(counts, key=lambda counted: -counted[0])
    condition, what = DECIDES[triple.name]
    clearly = "" if _without_intervals(run, triple.scores[0]) else "clearly "
    heads = f"{_heads(run, len(rows))}{' that are not attention sinks' if resting else ''}"
    if most:
        clauses = [f"{condition}{first} {clearly}{_decide(first)} {what.format(f'{most} of {heads}')}"]
        clauses += [f"{name} {_decide(name)} {many or 'none'}" for many, name in others if many or name != names[2]]
        left = len(rows) - sum(many for many, _ in counts)
        clauses += [f"in {left} no share {clearly}exceeds one half"] if left else []
    else:
        clauses = [f"{condition}neither position nor content {clearly}decides {what.format(f'any of the {heads}')}"]
        clauses += [f"no share {clearly}exceeds one half"]
    return [f"{_capital('; '.join(clauses))} ({_criterion(run, triple.scores[0])})."]


def _decide(name: str) -> str:
    return "decide" if name.startswith("both") else "decides"


def _decided_alone(run: HeadTable, triple: ShareTriple, row: int) -> str:
    """What decides where the only head attends that is not an attention sink."""
    verdict = VERDICTS[verdicts(run, [triple])[row]].format(triple.corners[2][0])
    singular = (
        verdict.removeprefix("Attention ") if " is " in verdict else "is dominated by neither position nor content"
    )
    head = run.heads["name"][row]
    of = f", one of the model's {run.total:,} heads," if run.total is not None and run.total > 1 else ""
    shares = [
        f"{word} share {_number(scored)}"
        for word, score in zip(("position", "content"), triple.scores, strict=False)
        for scored in head_scores(score, run)
        if scored.name == head
    ]
    subject = f"{DECIDES[triple.name][0]}the {'logits' if triple.name == 'shares' else 'attention'} of {head}{of}"
    predicate = singular.replace("is ", "are ", 1) if triple.name == "shares" else singular
    return f"{_capital(subject)} {predicate}: {'; '.join(shares)} ({run.rests(triple.scores[0], row)})."


def _most(run: HeadTable) -> list[str]:
    """The most positional and the most content-based head; a head without a clear side is neither."""
    leading, shares, resting = leading_heads(run), triples(run), sinks(run)
    rows = [row for row in _rows(run, shares[0].scores) if run.heads["name"][row] not in resting] if shares else []
    if len(rows) < 2:
        return []
    clauses = [f"{head.name} is the {head.lead} head: share {_number(head)}" for head in leading]
    sides = {BY_POSITION: "position over content", BY_CONTENT: "content over position"}
    left = [words for lead, words in sides.items() if lead not in {head.lead for head in leading}]
    nobody = "apart from attention sinks, no head" if resting else "no head"
    clauses += [f"{nobody} clearly favours {' or '.join(left)}"] if left else []
    return [f"{_capital('; '.join(clauses))} ({_rests(leading[0].score if leading else shares[0].scores[0])})."]


def _sinks(run: HeadTable) -> list[str]:
    """How many heads are attention sinks on the first token."""
    resting = sinks(run)
    if not resting:
        return []
    score = run.find("sink")[0]
    most = max(head_scores(score, run), key=lambda head: head.value)
    if len(run.heads["name"]) == 1:
        return [f"{most.name} is an attention sink: attention to the first token {_number(most)} ({most.rests})."]
    are = "is an attention sink" if len(resting) == 1 else "are attention sinks"
    many = f"{len(resting)} of {_heads(run, len(_rows(run, [score])))} {are}"
    level = f"at least {short(SINK)} of their attention on the first token"
    return [f"{many} ({level}), {most.name} most: {_number(most)} ({_rests(score)})."]


def _learned(run: HeadTable) -> list[str]:
    """How the heads differ from untrained weights in position and content, the larger increase of the two."""
    if not (shares := triples(run)):
        return []
    changes = []
    for word, score in zip(("position", "content"), shares[0].scores[:2], strict=True):
        baseline = run.heads[f"untrained_{score.key}"]
        rows = [row for row in _rows(run, [score]) if baseline[row] is not None]
        if len(rows) < 2:
            continue
        trained, untrained = (
            fmean(run.heads[f"{name}_{score.key}"][row] for row in rows) for name in ("value", "untrained")
        )
        if abs(trained - untrained) >= MOVED:
            above, below = (sum(side(run, score, row, baseline[row]) for row in rows) for side in (_above, _below))
            means = f"the mean {word} share is {short(trained)}, untrained {short(untrained)}"
            adjective = {"position": "positional", "content": "content-based"}[word]
            clear = _more_or_less(run, adjective, (above, below), of=len(rows), up=trained > untrained)
            basis = f"{_criterion(run, score)}; untrained: {untrained_windows(run.manifest)}"
            changes.append((trained - untrained, f"{clear}: {means} ({basis})."))
    return [max(changes)[1]] if changes else []


def _more_or_less(run: HeadTable, adjective: str, sides: tuple[int, int], *, of: int, up: bool) -> str:
    """How many heads are clearly above or below untrained weights, the way of the mean first."""
    (clear, way), (other, back) = list(zip(sides, ("more", "less"), strict=True))[:: 1 if up else -1]
    split = f", {other} {'is' if other == 1 else 'are'} {back} so" if other else ""
    are = "is" if clear == 1 else "are"
    return (
        f"{clear} of {_heads(run, of)} {are} {way} {adjective} than untrained weights of the same architecture{split}"
    )


def _disagreeing(run: HeadTable) -> list[str]:
    """On how many heads the measurements contradict each other, with an example."""
    mixed = contradictions(run, views(triples(run), pairs(run), pairs(run, "input.")))
    if not mixed["name"]:
        return []
    subject, example = "The measurements of position against content disagree", f"{mixed['how'][0]} {mixed['why'][0]}"
    if len(run.heads["name"]) == 1:
        return [f"{subject}. {example}"]
    many = f"{len(mixed['name'])} of {_heads(run, len(run.heads['name']))}"
    return [f"{subject} on {many}, for example {mixed['name'][0]}. {example}"]


def _by_position_alone(run: HeadTable) -> list[str]:
    """The head whose positional part is the most local."""
    for source in SOURCES:
        for score in run.find(f"{source}.locality"):
            clear = [head for head in head_scores(score, run) if head.clear and head.above]
            if clear:
                most = max(clear, key=lambda head: head.strength)
                numbers = f"{score.name} {_number(most)} ({most.rests})"
                return [f"By position alone, {most.name} is the most local head: {numbers}."]
    return []


def _farthest(run: HeadTable) -> list[str]:
    """The heads farthest from chance, score by score."""
    sentences = []
    for head in farthest_heads(run):
        side = f"{'' if len(run.heads['name']) == 1 else 'farthest '}{'above' if head.above else 'below'}"
        what = DOES.get(head.score.name, head.score.name)
        sentences.append(f"{head.name} is {side} chance in {what}: {_number(head)} ({head.rests}).")
    return sentences


def _ranges(run: HeadTable) -> list[str]:
    """The range of a score over heads, where there is nothing else to report."""
    sentences = []
    for score in run.answered:
        ordered = sorted(head_scores(score, run), key=lambda head: head.value)
        if len(ordered) == 1:
            sentences.append(f"{ordered[0].name} has {score.name} {_number(ordered[0])} ({ordered[0].rests}).")
        else:
            ends = " to ".join(f"{short(head.value)} ({head.name})" for head in (ordered[0], ordered[-1]))
            sentences.append(f"Over {_heads(run, len(ordered))}, {score.name} ranges from {ends} ({_rests(score)}).")
    return sentences[:3]


FINDINGS: Sequence[Callable[[HeadTable], list[str]]] = (
    *(_flat, _decided, _most, _sinks, _learned, _disagreeing, _by_position_alone),
    *(_farthest, _ranges),
)


def _single_text(run: HeadTable) -> list[str]:
    """That nothing has an interval, if there is only one text."""
    texts = {counts.texts for score in run.answered for counts in score.rests}
    note = "All of this is based on one text, so there are no intervals; give two texts or more."
    return [note] if texts == {1} else []


def _criterion(run: HeadTable, score: ScoreView) -> str:
    """What a count of heads is based on."""
    return f"{'' if _without_intervals(run, score) else WHOLE}{_rests(score)}"


def _without_intervals(run: HeadTable, score: ScoreView) -> bool:
    return all(low is None for low in run.heads[f"low_{score.key}"])


def _rests(score: ScoreView) -> str:
    """What a score is based on over all heads."""
    if len(score.rests) == 1:
        return f"{'only ' if score.rests[0].few else ''}{score.rests[0]}" or "texts not counted"
    spans = [
        (min(known), max(known), word)
        for word in ("text", "row")
        if (known := [number for counts in score.rests if (number := getattr(counts, f"{word}s")) is not None])
    ]
    counted = [count(low, word) if low == high else f"{low:,} to {count(high, word)}" for low, high, word in spans]
    return ", ".join(counted) or "texts not counted"


def _number(head: HeadScore) -> str:
    """A value with its interval, chance and the value of untrained weights."""
    between = interval(head.low, head.high)
    levels = [f"chance {short(head.chance)}"] if head.chance is not None else []
    levels += [f"untrained {short(head.untrained)}"] if head.untrained is not None else []
    return ", ".join([f"{short(head.value)}{f' ({between})' if between else ''}", *levels])


def _heads(run: HeadTable, many: int) -> str:
    """A number of heads, and how many the model has if the run profiled only some."""
    if run.total is None or run.total <= len(run.heads["name"]):
        return count(many, "head")
    return f"{count(many, 'profiled head')} ({run.total:,} in the model)"


def _capital(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}"


def _rows(run: HeadTable, scores: Sequence[ScoreView]) -> list[int]:
    """The heads that have a value of every one of some scores."""
    columns = [run.heads[f"value_{score.key}"] for score in scores]
    return [row for row in range(len(run.heads["name"])) if all(column[row] is not None for column in columns)]


def _above(run: HeadTable, score: ScoreView, row: int, level: float) -> bool:
    """Whether a head's whole interval, or its value where there is none, is above a level."""
    low, value = (run.heads[f"{name}_{score.key}"][row] for name in ("low", "value"))
    return bool((value if low is None else low) > level)


def _below(run: HeadTable, score: ScoreView, row: int, level: float) -> bool:
    """Whether a head's whole interval, or its value where there is none, is below a level."""
    high, value = (run.heads[f"{name}_{score.key}"][row] for name in ("high", "value"))
    return bool((value if high is None else high) < level)
