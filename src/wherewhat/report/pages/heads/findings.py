"""What a profile found, in a few plain sentences: the finding, its number with the interval, and what that is based on.

Every sentence follows from the table alone, so a command can print it and a page can begin with it.
"""

from collections.abc import Sequence
from statistics import fmean

import polars as pl

from wherewhat.formatting import count, interval, short
from wherewhat.report.blocks.numbers import capital
from wherewhat.report.pages.heads.head_table import SINK, HeadScore, HeadTable, ScoreView, read_head_table
from wherewhat.report.pages.heads.notable_heads import BY_CONTENT, BY_POSITION, farthest_heads, leading_heads
from wherewhat.report.pages.heads.positional_maps import SOURCES
from wherewhat.report.pages.heads.shares import HALF, VERDICTS, HeadView, contradictions, triples, verdict_of
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
    single = {counts.texts for score in run.answered for counts in score.rests} == {1}
    last = ["All of this is based on one text, so there are no intervals; give two texts or more."] if single else []
    sentences = dict.fromkeys(sentence for finding in FINDINGS for sentence in finding(run))
    return [*list(sentences)[: MOST - len(last)], *last]


def _flat(run: HeadTable) -> list[str]:
    """That all heads spread their attention nearly uniformly, so that there is little to report."""
    for score in run.find("entropy"):
        values = [head.value for head in run.scored(score)]
        if min(values) >= FLAT:
            span = short(values[0]) if len(values) == 1 else f"{short(min(values))} to {short(max(values))}"
            which = f"all {_heads(run, len(values))}" if len(values) > 1 else "this head"
            return [f"Attention is nearly uniform in {which}: entropy {span}, where 1 is uniform ({_rests(score)})."]
    return []


def _awake(run: HeadTable, triple: HeadView) -> list[tuple[HeadScore, ...]]:
    """The three shares of every head that is no attention sink."""
    return [shares for shares in run.together(triple.scores) if shares[0].sink is None]


def _decided(run: HeadTable) -> list[str]:
    """What decides where most heads attend."""
    if not (measured := triples(run)):
        return []
    triple = measured[0]
    by_head = _awake(run, triple)
    if len(by_head) < 2:
        return [_decided_alone(run, triple, shares) for shares in by_head]
    names = ("position", "content", triple.corners[2][0])
    above = [sum(share.exceeds(HALF) for share in shares) for shares in zip(*by_head, strict=True)]
    decide = {name: "decide" if name.startswith("both") else "decides" for name in names}
    (most, first), *others = sorted(zip(above, names, strict=True), key=lambda counted: -counted[0])
    (condition, what), basis = DECIDES[triple.name], _criterion(run, triple.scores[0])
    clearly = "clearly " if basis.startswith(WHOLE) else ""
    heads = f"{_heads(run, len(by_head))}{' that are not attention sinks' if run.sinks else ''}"
    if most:
        clauses = [f"{condition}{first} {clearly}{decide[first]} {what.format(f'{most} of {heads}')}"]
        clauses += [f"{name} {decide[name]} {many or 'none'}" for many, name in others if many or name != names[2]]
        left = len(by_head) - sum(above)
        clauses += [f"in {left} no share {clearly}exceeds one half"] if left else []
    else:
        clauses = [f"{condition}neither position nor content {clearly}decides {what.format(f'any of the {heads}')}"]
        clauses += [f"no share {clearly}exceeds one half"]
    return [f"{capital('; '.join(clauses))} ({basis})."]


def _decided_alone(run: HeadTable, triple: HeadView, shares: Sequence[HeadScore]) -> str:
    """What decides where the only head attends that is not an attention sink."""
    verdict = VERDICTS[verdict_of(shares)].format(triple.corners[2][0])
    alone = verdict.removeprefix("Attention ") if " is " in verdict else "is dominated by neither position nor content"
    of = f", one of the model's {run.total:,} heads," if run.total is not None and run.total > 1 else ""
    logits = triple.name == "shares"
    subject = f"{DECIDES[triple.name][0]}the {'logits' if logits else 'attention'} of {shares[0].name}{of}"
    predicate = alone.replace("is ", "are ", 1) if logits else alone
    numbers = f"position share {_number(shares[0])}; content share {_number(shares[1])}"
    return f"{capital(subject)} {predicate}: {numbers} ({shares[0].rests})."


def _most(run: HeadTable) -> list[str]:
    """The most positional and the most content-based head; a head without a clear side is neither."""
    measured = triples(run)
    if not measured or len(_awake(run, measured[0])) < 2:
        return []
    leading = leading_heads(run)
    clauses = [f"{head.name} is the {head.lead} head: share {_number(head)}" for head in leading]
    sides = {BY_POSITION: "position over content", BY_CONTENT: "content over position"}
    left = [words for lead, words in sides.items() if lead not in {head.lead for head in leading}]
    nobody = "apart from attention sinks, no head" if run.sinks else "no head"
    clauses += [f"{nobody} clearly favours {' or '.join(left)}"] if left else []
    return [f"{capital('; '.join(clauses))} ({_rests(leading[0].score if leading else measured[0].scores[0])})."]


def _sinks(run: HeadTable) -> list[str]:
    """How many heads are attention sinks on the first token."""
    if not run.sinks:
        return []
    score = run.find("sink")[0]
    scored = run.scored(score)
    most = max(scored, key=lambda head: head.value)
    if len(run.heads["name"]) == 1:
        return [f"{most.name} is an attention sink: attention to the first token {_number(most)} ({most.rests})."]
    are = "is an attention sink" if len(run.sinks) == 1 else "are attention sinks"
    many = f"{len(run.sinks)} of {_heads(run, len(scored))} {are}"
    level = f"at least {short(SINK)} of their attention on the first token"
    return [f"{many} ({level}), {most.name} most: {_number(most)} ({_rests(score)})."]


def _learned(run: HeadTable) -> list[str]:
    """How the heads differ from untrained weights in position and content, the larger increase of the two."""
    changes = []
    for triple in triples(run)[:1]:
        words = ("position", "positional"), ("content", "content-based")
        for (word, adjective), score in zip(words, triple.scores[:2], strict=True):
            heads = [(head, head.untrained) for head in run.scored(score) if head.untrained is not None]
            if len(heads) < 2:
                continue
            trained, untrained = fmean(head.value for head, _ in heads), fmean(level for _, level in heads)
            if abs(trained - untrained) >= MOVED:
                above = sum(head.exceeds(level) for head, level in heads), "more"
                below = sum(head.falls_below(level) for head, level in heads), "less"
                (clear, way), (other, back) = (above, below) if trained > untrained else (below, above)
                split = f", {other} {'is' if other == 1 else 'are'} {back} so" if other else ""
                are, than = "is" if clear == 1 else "are", "than untrained weights of the same architecture"
                many = f"{clear} of {_heads(run, len(heads))} {are} {way} {adjective} {than}{split}"
                means = f"the mean {word} share is {short(trained)}, untrained {short(untrained)}"
                basis = f"{_criterion(run, score)}; untrained: {run.untrained_windows}"
                changes.append((trained - untrained, f"{many}: {means} ({basis})."))
    return [max(changes)[1]] if changes else []


def _disagreeing(run: HeadTable) -> list[str]:
    """On how many heads the measurements contradict each other, with an example."""
    mixed, heads = contradictions(run), len(run.heads["name"])
    for name, (how, why) in list(mixed.items())[:1]:
        where = f" on {len(mixed)} of {_heads(run, heads)}, for example {name}" if heads > 1 else ""
        return [f"The measurements of position against content disagree{where}. {how} {why}"]
    return []


def _by_position_alone(run: HeadTable) -> list[str]:
    """The head whose positional part is the most local."""
    for score in (score for source in SOURCES for score in run.find(f"{source}.locality")):
        if clear := [head for head in run.scored(score) if head.clear and head.above]:
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
    for score in run.answered[:3]:
        ordered = sorted(run.scored(score), key=lambda head: head.value)
        if len(ordered) == 1:
            sentences.append(f"{ordered[0].name} has {score.name} {_number(ordered[0])} ({ordered[0].rests}).")
        else:
            ends = " to ".join(f"{short(head.value)} ({head.name})" for head in (ordered[0], ordered[-1]))
            sentences.append(f"Over {_heads(run, len(ordered))}, {score.name} ranges from {ends} ({_rests(score)}).")
    return sentences


FINDINGS = (_flat, _decided, _most, _sinks, _learned, _disagreeing, _by_position_alone, _farthest, _ranges)


def _criterion(run: HeadTable, score: ScoreView) -> str:
    """What a count of heads is based on."""
    return f"{'' if set(run.column(score, 'low')) == {None} else WHOLE}{_rests(score)}"


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
    return f"{count(many, 'profiled head')} ({run.total:,} in the model)" if run.partial else count(many, "head")
