"""Verdicts on what was published: near words by position, far ones by content, some relations need content."""

from wherewhat.probing.dependencies.relation_rows import TO_DEPENDENT, TO_HEAD
from wherewhat.published.relation_heads import ANCHORS
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.verdict import lenient_verdict, published_verdict
from wherewhat.studies.syntax.results import FREE, SIDED, Share, SyntaxResults
from wherewhat.studies.syntax.split_half_scores import DISTANCES
from wherewhat.studies.syntax.verdict_rules import free_encodings, list_gaps, over_relations
from wherewhat.studies.verdicts import ClaimVerdict

SHORT, LONG = (1, 2), (3, 6)  # distances, by the smallest of each group
CONTENT = {"nsubj": "subjects", "obj": "objects"}  # relations that are said to need content


def short(results: SyntaxResults) -> ClaimVerdict:
    """Does the positional part exceed the contextual one at distances 1 and 2?"""
    return _by_distance(results, SHORT, "positional", "contextual")


def short_sides(results: SyntaxResults) -> dict[str, int]:
    """By distance, whether the positional part is clearly above the contextual one, or below."""
    return {distance_label(at): gap_at(results, FREE, at, "positional", "contextual").side for at in SHORT}


def long(results: SyntaxResults) -> ClaimVerdict:
    """Does the contextual part exceed the positional one from distance 3 on?"""
    return _by_distance(results, LONG, "contextual", "positional")


def long_sides(results: SyntaxResults) -> dict[str, int]:
    """By distance, whether the contextual part is clearly above the positional one, or below."""
    return {distance_label(at): gap_at(results, FREE, at, "contextual", "positional").side for at in LONG}


def _by_distance(results: SyntaxResults, distances: tuple[int, ...], part: str, other: str) -> ClaimVerdict:
    gaps = {at: gap_at(results, FREE, at, part, other) for at in distances}
    gains = ", ".join(f"{gap.points()} at distance {distance_label(at)}" for at, gap in gaps.items())
    to_dependent = ", ".join(
        f"{gap_at(results, FREE, at, part, other, side=TO_DEPENDENT).points()} at {distance_label(at)}"
        for at in distances
    )
    sided = ", ".join(f"{gap_at(results, SIDED, at, part, other).points()} at {distance_label(at)}" for at in distances)
    encodings = free_encodings(results)
    return ClaimVerdict(
        f"Means over {encodings}: from a word to its head, the {part} part exceeds the {other} one by {gains}. "
        f"From the head to the word: {to_dependent}. Over all encodings that tell the two sides apart: {sided}.",
        lenient_verdict([gap.side for gap in gaps.values()]),
        "An attention head is chosen per relation, whatever the distance, on the half of the sentences that it is not "
        f"scored on. The verdict rests on {encodings}, whose heads may look to either side; a curve has the same "
        "positional part in all heads, by construction. Symmetric encodings and no encoding are in no mean: both "
        "neighbours have equal weight there, and ties go to the word before.",
        short=f"Over {encodings}, from a word to its head the {part} part exceeds the {other} one by {gains}.",
    )


def gap_at(results: SyntaxResults, group: str, at: int, part: str, other: str, *, side: str = TO_HEAD) -> Estimate:
    """By how much one part exceeds another at a distance."""
    above, below = (Share(kind, at=at, side=side) for kind in (part, other))
    return results.gap(results.group(group), above, below)


def distance_label(at: int) -> str:
    """The name of a group of distances."""
    return DISTANCES[at].replace("-", "–")


def content(results: SyntaxResults) -> ClaimVerdict:
    """Does full attention exceed the best fixed offset where content is said to be needed?"""
    gaps = beyond_offset(results, tuple(CONTENT))
    contextual = {
        name: results.gap(results.group(FREE), Share("contextual", name), Share("offset", name)) for name in gaps
    }
    return ClaimVerdict(
        f"Means over {free_encodings(results)}: the best head's full attention compared with the best fixed offset, "
        f"{list_gaps(gaps)}. The contextual part alone: {list_gaps(contextual)}.",
        lenient_verdict([gap.side for gap in gaps.values()]),
        "The publication's own figures are unknown; those given are for BERT-base, on other text with other labels. In "
        "the grammar a subject is often right before its verb, so that a fixed offset finds most of them.",
    )


def content_sides(results: SyntaxResults) -> dict[str, int]:
    """Whether heads clearly find more subjects, and more objects, than the best fixed offset, or fewer."""
    return {CONTENT[name]: gap.side for name, gap in beyond_offset(results, tuple(CONTENT)).items()}


def anchors(results: SyntaxResults) -> ClaimVerdict:
    """Does the best head exceed the best fixed offset on the relations published for BERT-base?"""
    gaps = {name: gap for name, gap in beyond_offset(results, tuple(ANCHORS)).items() if gap.known}
    pairs = "; ".join(f"{name} {_pair(results, name)}" for name in gaps)
    return ClaimVerdict(
        f"Best head / best offset in %, means over {free_encodings(results)}: {pairs}. {over_relations(gaps)}",
        published_verdict([gap.side for gap in gaps.values()]),
        "BERT-base had other labels and other data, is many times larger, and its head was chosen on the data that it "
        "was scored on. So the pattern can be compared, that heads find more than any fixed offset, but not the "
        "figures.",
    )


def beyond_offset(results: SyntaxResults, relations: tuple[str, ...]) -> dict[str, Estimate]:
    """By relation, by how much full attention exceeds the best fixed offset."""
    free = results.group(FREE)
    return {name: results.gap(free, Share("full", name), Share("offset", name)) for name in relations}


def _pair(results: SyntaxResults, relation: str) -> str:
    full, offset = (results.mean(results.group(FREE), Share(kind, relation)).value for kind in ("full", "offset"))
    return f"{100 * full:.1f} / {100 * offset:.1f}"


def published_anchors() -> str:
    """What was published for BERT-base."""
    return "; ".join(f"{relation} {head:.1f} / {offset:.1f}" for relation, head, offset in ANCHORS.values())
