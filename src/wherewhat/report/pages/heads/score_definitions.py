"""What every score measures, its range, its chance level and what it is based on; and why a score has no value."""

from collections.abc import Iterable

from wherewhat.formatting import listed, short
from wherewhat.report.blocks.layout import definitions
from wherewhat.report.blocks.numbers import capital
from wherewhat.report.core.html import Html, join, prose, tag
from wherewhat.report.core.page import Section
from wherewhat.report.pages.heads.head_table import KINDS, POSITIONAL, PUBLISHED, HeadTable, ScoreView
from wherewhat.report.pages.heads.positional import definitions_by_source
from wherewhat.report.pages.heads.where_or_what import swap_settings

CHANCE = {
    "uniform": "Uniform attention over the same rows",
    "random logits": "Attention of random logits on the same rows",
    "one part": "A table of random logits over the same slots and contents",
    "left over": "A table of random logits over the same slots and contents",
    "half": "Neither outweighs the other",
    "as peaked": "A random head that is equally peaked: the logits of each row in random order",
    "flat": "Attention that is the same everywhere",
}


def in_order(kinds: Iterable[str]) -> list[str]:
    """Each kind once, in reading order; those that no page knows come last, in the order they came.

    >>> in_order(["Attention", "Lately added", "Where or what", "Attention"])
    ['Where or what', 'Attention', 'Lately added']
    """
    distinct = list(dict.fromkeys(kinds))
    return [kind for kind in KINDS if kind in distinct] + [kind for kind in distinct if kind not in KINDS]


def score_definitions(run: HeadTable) -> Section:
    """What each score measures, kind by kind; a score at several temperatures is defined once."""
    names = {score.name for score in run.scores}
    scores = [score for score in run.scores if "@" not in score.name or score.name.partition("@")[0] not in names]
    kinds = in_order(score.kind for score in scores)
    lede = (
        "A score is averaged over the rows of a window, then over windows, all with equal weight. Only the plain and "
        "the `input` shares weight rows and windows by their variance. Chance is the score of an uninformed head on "
        "the same rows. Untrained is the score of random weights of the same architecture, averaged over the heads of "
        f"a layer ({run.untrained_windows})."
    )
    body = []
    for kind in kinds:
        mine = [score for score in scores if score.kind == kind]
        body.append(tag("h3", kind, class_="of-kind") if len(kinds) > 1 else "")
        if kind == POSITIONAL:
            body.append(definitions_by_source(mine, _definition))
        else:
            swaps = swap_settings(run.manifest.swaps) if kind == PUBLISHED else ""
            body += [swaps, tag("div", *map(_definition, mine), class_="words")]
    return Section("scores", "What each score measures", lede, join(*body), short="Scores")


def _definition(score: ScoreView) -> Html:
    bounds = (score.ends[0], score.low, "lower end", "lower"), (score.ends[1], score.high, "upper end", "higher")
    facts: list[tuple[str, object]] = [_end(*bound) for bound in bounds]
    if score.chance:
        facts.append(("chance", CHANCE.get(score.chance) or prose(capital(score.chance))))
    if score.untrained is not None:
        mean = f"Untrained weights of the same architecture: {short(score.untrained)} on average over heads"
        facts.append(("untrained", mean))
    by_size = sorted(score.rests, key=lambda its: tuple(number or 0 for number in (its.texts, its.windows, its.rows)))
    if rests := [str(counts) for counts in by_size if str(counts)]:
        few = "; few, so read it with care" if any(counts.few for counts in score.rests) else ""
        span = rests[0] if len(rests) == 1 else f"{rests[0]} to {rests[-1]}, depending on the head"
        facts.append(("based on", span + few))
    if score.paper:
        facts.append(("from", score.paper))
    missing = "No head has a value; the note under the maps says why."
    return tag(
        "article",
        tag("h3", tag("code", score.name)),
        tag("p", prose(capital(score.asks)), class_="asks") if score.asks else "",
        "" if score.answered else tag("p", missing, class_="note"),
        definitions(facts),
    )


def _end(end: float | None, words: str, name: str, way: str) -> tuple[str, Html]:
    """What one end of a range means, or that the range has no such end."""
    meaning = prose(capital(words))
    if end is None:
        return way, join(meaning, " " if words else "", f"(no {name})")
    return f"{end:g}".replace("-", "−"), meaning or join(name)


def missing_value_notes(run: HeadTable) -> list[str]:
    """One sentence per reason, naming the scores that have no value because of it."""
    by_reason: dict[tuple[str, bool], list[str]] = {}
    for score in run.scores:
        if not score.answered:
            two_sided = score.name in run.manifest.scores and run.manifest.scores[score.name].sides
            right = two_sided or score.name.rpartition(".")[2] in ("next", "symmetry", "balance")
            reason = "these texts contain nothing to measure it on"
            if right and "encoder" not in run.parts:
                reason = "a causal mask hides the keys to the right of a query"
            elif score.name == "offset_peak":
                reason = "too few rows per text were sampled to compare them"
            by_reason.setdefault((reason, two_sided), []).append(f"`{score.name}`")
    sentences = []
    for (reason, two_sided), names in by_reason.items():
        several = len(names) > 1
        verb = ("are" if several else "is") if two_sided else ("have" if several else "has")
        sentences.append(f"{listed(names)} {verb} {'left out here' if two_sided else 'no value'}: {reason}.")
    return sentences
