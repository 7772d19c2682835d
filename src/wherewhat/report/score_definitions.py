"""The section that defines every score: what it measures, its range, its chance level and what it is based on."""

from collections.abc import Sequence

from wherewhat.formatting import short
from wherewhat.report.head_table import Counts, ScoreView, untrained_windows
from wherewhat.report.heads_data import HeadsPageData
from wherewhat.report.kinds import POSITIONAL, PUBLISHED, in_order
from wherewhat.report.page import Section
from wherewhat.report.positional import positional_definitions
from wherewhat.report.tags import Html, join, prose, tag
from wherewhat.report.where_or_what import swap_settings

CHANCE = {
    "uniform": "Uniform attention over the same rows",
    "random logits": "Attention of random logits on the same rows",
    "one part": "A table of random logits over the same slots and contents",
    "left over": "A table of random logits over the same slots and contents",
    "half": "Neither outweighs the other",
    "as peaked": "A random head that is equally peaked: the logits of each row in random order",
    "flat": "Attention that is the same everywhere",
}


def score_definitions(data: HeadsPageData) -> Section:
    """What each score measures, kind by kind; a score at several temperatures is defined once."""
    names = {score.name for score in data.run.scores}
    scores = [score for score in data.run.scores if "@" not in score.name or score.name.partition("@")[0] not in names]
    kinds = in_order(score.kind for score in scores)
    lede = (
        "A score is averaged over the rows of a window, then over windows, all with equal weight. Only the plain and "
        "the `input` shares weight rows and windows by their variance. Chance is the score of an uninformed head on "
        "the same rows. Untrained is the score of random weights of the same architecture, averaged over the heads of "
        f"a layer ({untrained_windows(data.run.manifest)})."
    )
    body = join(*(_of_kind(kind, scores, data, heading=len(kinds) > 1) for kind in kinds))
    return Section("scores", "What each score measures", lede, body, short="Scores")


def _of_kind(kind: str, scores: Sequence[ScoreView], data: HeadsPageData, *, heading: bool) -> Html:
    title = tag("h3", kind, class_="of-kind") if heading else ""
    mine = [score for score in scores if score.kind == kind]
    if kind == POSITIONAL:
        return join(title, positional_definitions(mine, _definition))
    swaps = swap_settings(data.run.manifest.swaps) if kind == PUBLISHED else ""
    return join(title, swaps, tag("div", *map(_definition, mine), class_="words"))


def _definition(score: ScoreView) -> Html:
    ends = [
        _end(score.ends[0], score.low, "lower end", "lower"),
        _end(score.ends[1], score.high, "upper end", "higher"),
    ]
    if score.chance:
        ends.append(tag("div", tag("dt", "chance"), tag("dd", CHANCE.get(score.chance, _sentence(score.chance)))))
    if score.untrained is not None:
        mean = f"Untrained weights of the same architecture: {short(score.untrained)} on average over heads"
        ends.append(tag("div", tag("dt", "untrained"), tag("dd", mean)))
    if rests := [str(counts) for counts in sorted(score.rests, key=_size) if str(counts)]:
        few = "; few, so read it with care" if any(counts.few for counts in score.rests) else ""
        span = rests[0] if len(rests) == 1 else f"{rests[0]} to {rests[-1]}, depending on the head"
        ends.append(tag("div", tag("dt", "based on"), tag("dd", span + few)))
    if score.paper:
        ends.append(tag("div", tag("dt", "from"), tag("dd", score.paper)))
    missing = "No head has a value; the note under the maps says why."
    return tag(
        "article",
        tag("h3", tag("code", score.name)),
        tag("p", _sentence(score.asks), class_="asks") if score.asks else "",
        "" if score.answered else tag("p", missing, class_="note"),
        tag("dl", *ends),
    )


def _size(counts: Counts) -> tuple[int, ...]:
    return tuple(number or 0 for number in (counts.texts, counts.windows, counts.rows))


def _end(end: float | None, words: str, name: str, way: str) -> Html:
    """What one end of a range means, or that the range has no such end."""
    if end is None:
        return tag("div", tag("dt", way), tag("dd", _sentence(words), " " if words else "", f"(no {name})"))
    return tag("div", tag("dt", f"{end:g}".replace("-", "−")), tag("dd", _sentence(words) or name))


def _sentence(words: str) -> Html:
    """Words with a capital at the start, and names in backquotes as code."""
    return prose(words[:1].upper() + words[1:])
