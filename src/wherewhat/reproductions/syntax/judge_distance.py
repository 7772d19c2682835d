"""Judged here is what was published: near words are found by position, far ones by content, some need content."""

from wherewhat.probes.dependencies.gold import TO_DEPENDENT, TO_HEAD
from wherewhat.report.published_heads import ANCHORS
from wherewhat.reproductions.locality.estimate import Estimate
from wherewhat.reproductions.locality.judging import Judged, published_verdict
from wherewhat.reproductions.syntax.evidence import EVERY, FREE, Evidence, What
from wherewhat.reproductions.syntax.halves import DISTANCES
from wherewhat.reproductions.syntax.judging import listed, over_relations

SHORT, LONG = (1, 2), (3, 6)  # distances by their first number
CONTENT = ("nsubj", "obj")  # relations that are said to need content


def short(seen: Evidence) -> Judged:
    """Is the positional part above the contextual one at distances 1 and 2?"""
    return _by_distance(seen, SHORT, "positional", "contextual")


def long(seen: Evidence) -> Judged:
    """Is the contextual part above the positional one from distance 3 on?"""
    return _by_distance(seen, LONG, "contextual", "positional")


def _by_distance(seen: Evidence, distances: tuple[int, ...], one: str, other: str) -> Judged:
    gaps = {at: gap_at(seen, FREE, at, one, other) for at in distances}
    told = ", ".join(f"{gap.points()} at distance {said(at)}" for at, gap in gaps.items())
    others = ", ".join(
        f"{gap_at(seen, FREE, at, one, other, side=TO_DEPENDENT).points()} at {said(at)}" for at in distances
    )
    every = ", ".join(f"{gap_at(seen, EVERY, at, one, other).points()} at {said(at)}" for at in distances)
    return Judged(
        f"From a word to its governor, the {one} part is above the {other} one by {told}. From the governor to the "
        f"word: {others}. Over all encodings: {every}.",
        published_verdict([gap.side for gap in gaps.values()]),
        "Heads are chosen for a relation whatever its distance, in the half of the sentences that they are not scored "
        f"on. What counts are {names(seen, FREE)}, where heads may look to either side; the others have the same "
        "positional part in all heads, by construction.",
        short=f"From a word to its governor the {one} part is above the {other} one by {told}.",
    )


def gap_at(seen: Evidence, group: str, at: int, one: str, other: str, *, side: str = TO_HEAD) -> Estimate:
    """How far one part is above another at a distance."""
    above, below = (What(kind, at=at, side=side) for kind in (one, other))
    return seen.gap(seen.group(group), above, below)


def said(at: int) -> str:
    """A distance for reading."""
    return DISTANCES[at].replace("-", "–")


def names(seen: Evidence, group: str) -> str:
    """The encodings of a group."""
    return ", ".join(trial.name for trial in seen.group(group)) or "no encodings"


def content(seen: Evidence) -> Judged:
    """Is full attention above the best fixed offset where content is said to be needed?"""
    gaps = beyond_offset(seen, CONTENT)
    alone = {name: seen.gap(seen.group(FREE), What("contextual", name), What("offset", name)) for name in gaps}
    return Judged(
        f"The best head's full attention against the best fixed offset: {listed(gaps)}. The contextual part by itself: "
        f"{listed(alone)}.",
        published_verdict([gap.side for gap in gaps.values()]),
        "The publication's own figures are unknown; those named are of BERT-base, on other text with other labels. In "
        "the grammar a subject often stands right before its verb, so that a fixed offset finds most of them.",
    )


def anchors(seen: Evidence) -> Judged:
    """Is the best head above the best fixed offset on the relations that BERT-base was asked about?"""
    gaps = {name: gap for name, gap in beyond_offset(seen, tuple(ANCHORS)).items() if gap.known}
    told = "; ".join(f"{name} {_pair(seen, name)}" for name in gaps)
    return Judged(
        f"Best head / best offset in %: {told}. {over_relations(gaps)}",
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
    return "; ".join(f"{theirs} {head:g} / {offset:g}" for theirs, head, offset in ANCHORS.values())
