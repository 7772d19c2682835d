"""Judged here is what was published: near words are found by position, far ones by content, some need content."""

from wherewhat.probing.dependencies.gold import TO_DEPENDENT, TO_HEAD
from wherewhat.report.published_heads import ANCHORS
from wherewhat.studies.locality.estimate import Estimate
from wherewhat.studies.locality.judging import Judged, published_verdict
from wherewhat.studies.syntax.evidence import FREE, SIDED, Evidence, What
from wherewhat.studies.syntax.halves import DISTANCES
from wherewhat.studies.syntax.judging import listed, names, over_relations, whole_verdict

SHORT, LONG = (1, 2), (3, 6)  # distances by their first number
CONTENT = {"nsubj": "subjects", "obj": "objects"}  # relations that are said to need content


def short(seen: Evidence) -> Judged:
    """Is the positional part above the contextual one at distances 1 and 2?"""
    return _by_distance(seen, SHORT, "positional", "contextual")


def short_sides(seen: Evidence) -> dict[str, int]:
    """By distance, whether the positional part is clearly above the contextual one, or below."""
    return {said(at): gap_at(seen, FREE, at, "positional", "contextual").side for at in SHORT}


def long(seen: Evidence) -> Judged:
    """Is the contextual part above the positional one from distance 3 on?"""
    return _by_distance(seen, LONG, "contextual", "positional")


def long_sides(seen: Evidence) -> dict[str, int]:
    """By distance, whether the contextual part is clearly above the positional one, or below."""
    return {said(at): gap_at(seen, FREE, at, "contextual", "positional").side for at in LONG}


def _by_distance(seen: Evidence, distances: tuple[int, ...], one: str, other: str) -> Judged:
    gaps = {at: gap_at(seen, FREE, at, one, other) for at in distances}
    told = ", ".join(f"{gap.points()} at distance {said(at)}" for at, gap in gaps.items())
    others = ", ".join(
        f"{gap_at(seen, FREE, at, one, other, side=TO_DEPENDENT).points()} at {said(at)}" for at in distances
    )
    every = ", ".join(f"{gap_at(seen, SIDED, at, one, other).points()} at {said(at)}" for at in distances)
    return Judged(
        f"Means over {names(seen)}: from a word to its governor, the {one} part is above the {other} one by {told}. "
        f"From the governor to the word: {others}. Over all encodings that tell the two sides apart: {every}.",
        whole_verdict([gap.side for gap in gaps.values()]),
        "Heads are chosen for a relation whatever its distance, in the half of the sentences that they are not scored "
        f"on. What counts are {names(seen)}, where heads may look to either side; curves have the same positional "
        "part in all heads, by construction. Symmetric encodings and none are in no mean: both neighbours weigh the "
        "same to them, and of two equal weights the one before counts.",
        short=f"Over {names(seen)}, from a word to its governor the {one} part is above the {other} one by {told}.",
    )


def gap_at(seen: Evidence, group: str, at: int, one: str, other: str, *, side: str = TO_HEAD) -> Estimate:
    """How far one part is above another at a distance."""
    above, below = (What(kind, at=at, side=side) for kind in (one, other))
    return seen.gap(seen.group(group), above, below)


def said(at: int) -> str:
    """A distance for reading."""
    return DISTANCES[at].replace("-", "–")


def content(seen: Evidence) -> Judged:
    """Is full attention above the best fixed offset where content is said to be needed?"""
    gaps = beyond_offset(seen, tuple(CONTENT))
    alone = {name: seen.gap(seen.group(FREE), What("contextual", name), What("offset", name)) for name in gaps}
    return Judged(
        f"Means over {names(seen)}: the best head's full attention against the best fixed offset, {listed(gaps)}. The "
        f"contextual part by itself: {listed(alone)}.",
        whole_verdict([gap.side for gap in gaps.values()]),
        "The publication's own figures are unknown; those named are of BERT-base, on other text with other labels. In "
        "the grammar a subject often stands right before its verb, so that a fixed offset finds most of them.",
    )


def content_sides(seen: Evidence) -> dict[str, int]:
    """Whether subjects, and whether objects, are clearly found more often than by the best fixed offset, or less."""
    return {CONTENT[name]: gap.side for name, gap in beyond_offset(seen, tuple(CONTENT)).items()}


def anchors(seen: Evidence) -> Judged:
    """Is the best head above the best fixed offset on the relations that BERT-base was asked about?"""
    gaps = {name: gap for name, gap in beyond_offset(seen, tuple(ANCHORS)).items() if gap.known}
    told = "; ".join(f"{name} {_pair(seen, name)}" for name in gaps)
    return Judged(
        f"Best head / best offset in %, means over {names(seen)}: {told}. {over_relations(gaps)}",
        published_verdict([gap.side for gap in gaps.values()]),
        "Other labels, other data and nets many times larger, whose head was chosen on the data that it was scored on: "
        "what can be compared is the pattern, that heads find more than any fixed offset does, and not the figures.",
    )


def beyond_offset(seen: Evidence, relations: tuple[str, ...]) -> dict[str, Estimate]:
    """By relation, how far full attention is above the best fixed offset."""
    return {name: seen.gap(seen.group(FREE), What("full", name), What("offset", name)) for name in relations}


def _pair(seen: Evidence, relation: str) -> str:
    full, offset = (seen.mean(seen.group(FREE), What(kind, relation)).value for kind in ("full", "offset"))
    return f"{100 * full:.1f} / {100 * offset:.1f}"


def anchors_told() -> str:
    """What was published of BERT-base."""
    return "; ".join(f"{theirs} {head:.1f} / {offset:.1f}" for theirs, head, offset in ANCHORS.values())
