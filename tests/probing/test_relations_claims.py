"""Claims and what treebanks have in common: both outcomes, and what cannot be told."""

from typing import Any

import numpy as np
import pytest
from relations import Head, at, at_random, governor, looked, of_grammar, ready, scoring, sentence

from wherewhat.probing.dependencies.claims import basis_of_claims, claims_of
from wherewhat.probing.dependencies.scoring import EACH, RelationScorer, each_by_its_own_head
from wherewhat.probing.dependencies.settings import DISTANCES, SIDES
from wherewhat.probing.dependencies.table_rows import CORRELATIONS, Numbers, correlation_rows
from wherewhat.probing.dependencies.treebanks import EncodedSentence

SENTENCES = of_grammar(300)


def only(distance: tuple[int, int], otherwise: Head) -> Head:
    """A head that knows governors at some distances, and looks elsewhere at others."""

    def head(one: EncodedSentence) -> list[int]:
        elsewhere = otherwise(one)
        pairs = enumerate(one.head_words.tolist())
        return [g if g >= 0 and distance[0] <= abs(g - w) <= distance[1] else elsewhere[w] for w, g in pairs]

    return head


def claims(found: RelationScorer, data: str = "grammar") -> list[dict[str, Any]]:
    each = each_by_its_own_head(found, [found.held_out(group) for group in found.groups])
    return [claim.entry for claim in claims_of(found, each, data)]


def verdicts(positional: Head, content: Head, **more: str) -> dict[str, str]:
    found = scoring(SENTENCES, looked(SENTENCES, positional=[positional], contextual=[content], **more), least=10)  # type: ignore[arg-type]
    return {claim["id"]: claim["verdict"] for claim in claims(found) if claim["side"] == SIDES[0]}


def test_position_for_near_and_content_for_far():
    found = verdicts(only((1, 2), at_random(1)), only((3, 99), at_random(2)))
    assert found == {"near": "agrees", "far": "agrees", "crossing": "agrees"}


def test_the_other_way_round():
    found = verdicts(only((3, 99), at_random(1)), only((1, 2), at_random(2)))
    assert found == {"near": "disagrees", "far": "disagrees", "crossing": "disagrees"}


def test_equal_heads_tell_nothing():
    found = verdicts(only((1, 2), at(1)), only((1, 2), at(1)))
    assert found == {"near": "unknown", "far": "unknown", "crossing": "unknown"}


def test_position_ahead_everywhere_is_no_crossing():
    assert verdicts(governor, at_random(1)) | {"crossing": ""} == {"near": "agrees", "far": "disagrees", "crossing": ""}


def test_of_models_that_see_one_side_nothing_was_published():
    assert verdicts(only((1, 1), at_random(1)), only((2, 99), at_random(2)), part="decoder")["near"] == "seen"
    assert verdicts(only((2, 99), at_random(1)), only((1, 1), at_random(2)), part="decoder")["near"] == "not seen"


def test_what_is_said_is_what_was_counted():
    found = scoring(SENTENCES, looked(SENTENCES, positional=[governor, at(1)], contextual=[at(9), at(8)]), least=10)
    claim = claims(found)[0]
    assert claim["side"] == "to head" and claim["data"] == "grammar"
    assert claim["ours"].startswith("place 100.0 %, content ") and "difference +" in claim["ours"]
    assert claim["value"] == pytest.approx((claim["low"] + claim["high"]) / 2, abs=0.1)
    assert claim["published"] == "yes, in words; numbers are not known (arXiv 2310.12864)"
    assert claim["why"] == "" and "chosen on other sentences" in basis_of_claims(found)
    same = scoring(SENTENCES, looked(SENTENCES, positional=[at(1)], contextual=[at(2)]), selection="same")
    assert "chosen on the same sentences" in basis_of_claims(same)


def test_few_rows_give_no_verdict():
    """Of 22 rows nothing is told, however clear they look; of 30 it is."""
    for many, verdict in ((22, "unknown"), (60, "agrees")):
        pairs = [ready(sentence("a b", "X X", "2 0", "x root", f"s{n}"), n) for n in range(many)]
        found = scoring(pairs, looked(pairs, positional=[governor], contextual=[lambda one: [0, 0]]), least=2)
        near = claims(found)[0]
        assert near["id"] == "near" and near["verdict"] == verdict
        assert near["why"] == ("22 rows are fewer than the 30 that a verdict takes." if many < 30 else "")


def test_rows_that_are_all_alike_have_an_interval_by_the_rule_of_three():
    pairs = [ready(sentence("a b", "X X", "2 0", "x root", f"s{n}"), n) for n in range(60)]
    found = scoring(pairs, looked(pairs, positional=[governor], contextual=[lambda one: [0, 0]]), least=2)
    near = claims(found)[0]
    assert (near["value"], near["low"], near["high"]) == (1.0, pytest.approx(0.95), pytest.approx(1.05))


def test_without_both_parts_nothing_is_claimed():
    assert claims(scoring(SENTENCES, looked(SENTENCES, full=[governor]))) == []


def test_every_relation_is_scored_by_its_own_heads():
    """Plainly: of every row, the hit of the head that its relation chose on the other half, over all distances."""
    heads = [at(1), at(-1), at(2), governor]
    found = scoring(SENTENCES, looked(SENTENCES, full=heads[:3], positional=heads[1:]), least=20)
    held = [found.held_out(group) for group in found.groups]
    for pooled in each_by_its_own_head(found, held):
        group, one = pooled["full"].group, pooled["full"]
        assert group.item == EACH
        theirs = {}
        for other in held:
            its = other["full"].group
            if its.item != "all" and its.distance == "all" and its.side == group.side:
                theirs |= dict(zip(other["full"].rows_N.tolist(), other["full"].value_N.tolist(), strict=True))
        low, high = DISTANCES[group.distance]
        wanted = {row: hit for row, hit in theirs.items() if low <= abs(found.rows.offset_N[row]) <= high}
        assert dict(zip(one.rows_N.tolist(), one.value_N.tolist(), strict=True)) == wanted
        assert one.rows_N.tolist() == sorted(wanted)
        assert pooled["positional"].value_N.mean() >= 0.4 or group.side != SIDES[0]


def numbers(offset: float, positional: float, contextual: float, distance: float) -> Numbers:
    found: dict = {}
    for side in SIDES:
        found |= {("all", side, "order", "distance"): distance, ("det", side, "order", "distance"): distance / 2}
        for item in ("all", "det"):
            scores = {"offset": offset, "positional": positional, "contextual": contextual}
            found |= {(item, side, kind, "accuracy"): value for kind, value in scores.items()}
    return found


def test_links_over_treebanks():
    made = [
        numbers(0.3, 0.2, 0.1, 2),
        numbers(0.5, 0.4, 0.4, 3),
        numbers(0.6, 0.6, 0.7, 3.5),
        numbers(0.9, 0.7, 0.9, 5),
    ]
    found = {(line.item, line.side): line for line in correlation_rows(made)}
    assert {item for item, _ in found} == set(CORRELATIONS) | {f"{name}, by relation" for name in CORRELATIONS}
    one = found["offset with positional", "to head"]
    theirs = np.corrcoef([0.3, 0.5, 0.6, 0.9], [0.2, 0.4, 0.6, 0.7])[0, 1]
    assert (
        one.value == pytest.approx(theirs)
        and one.estimate.low < one.value < one.estimate.high
        and one.estimate.count == 4
    )
    ahead = found["contextual beyond positional with distance", "to dependent"]
    assert ahead.value == pytest.approx(np.corrcoef([2, 3, 3.5, 5], [-0.1, 0, 0.1, 0.2])[0, 1])
    assert list(correlation_rows(made[:2])) == []


def test_a_treebank_without_a_part_is_no_point():
    made = [numbers(0.3, 0.2, 0.1, 2), numbers(0.5, 0.4, 0.4, 3), {}]
    assert (
        list(correlation_rows(made))
        == [line for line in correlation_rows(made) if line.item.endswith("by relation")]
        == []
    )
