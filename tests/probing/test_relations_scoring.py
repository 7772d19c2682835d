"""How heads do: known answers of heads that look where they are told, and plain loops beside every formula."""

from itertools import product

import numpy as np
import pytest
from relations import Head, at, at_random, governor, looked, of_grammar, ready, scoring, sentence

from wherewhat.probing.dependencies.attention_targets import AttentionTargets
from wherewhat.probing.dependencies.head_selection import SELECTIONS, half_of, score
from wherewhat.probing.dependencies.manifest import dropped_relations
from wherewhat.probing.dependencies.scoring import OFFSET, UNIFORM, RelationGroup, RelationScorer
from wherewhat.probing.dependencies.settings import ALL, SIDES, TO_DEPENDENT, TO_HEAD
from wherewhat.probing.dependencies.table_rows import (
    ProbeRow,
    fixed_offsets,
    held_out_rows,
    order_rows,
    p_value_rows,
    share_rows,
)
from wherewhat.probing.dependencies.treebanks import EncodedSentence
from wherewhat.stats.estimate import Estimate

SENTENCES = of_grammar(60)


def whole(found: RelationScorer, item: str = ALL, side: str = TO_HEAD, distance: str = ALL) -> RelationGroup:
    return next(one for one in found.groups if (one.item, one.side, one.distance) == (item, side, distance))


def value(found: RelationScorer, kind: str, **where: str) -> float:
    return found.accuracy(found.held_out(whole(found, **where))[kind]).value


def test_a_head_built_from_gold_finds_every_governor():
    found = scoring(SENTENCES, looked(SENTENCES, full=[at(-1), governor, at(1)]))
    for item in (ALL, *found.relations):
        if any(group.item == item for group in found.groups):
            assert value(found, "full", item=item) == 1.0
            assert found.targets.names(found.held_out(whole(found, item=item))["full"].chosen)[0] in ("L0H1", "L0H2")
    assert found.targets.names(found.held_out(whole(found))["full"].chosen) == ["L0H1", "L0H1"]


def test_a_head_built_from_gold_finds_the_only_dependent():
    """From a governor to a word that depends on it, a head can look at one of them only."""
    chain = [
        ready(sentence("a b c d", "X X X X", "0 1 2 3", "root x x x", f"s{number}"), number) for number in range(8)
    ]
    heads: list[Head] = [lambda one: [1, 2, 3, 0]]
    found = scoring(chain, looked(chain, full=heads))
    assert value(found, "full", side=TO_DEPENDENT) == 1.0
    two = [ready(sentence("a b c", "X X X", "2 0 2", "x root x", f"s{number}"), number) for number in range(8)]
    heads = [lambda one: [1, 0, 1]]
    assert value(scoring(two, looked(two, full=heads)), "full", side=TO_DEPENDENT) == 0.5


@pytest.mark.parametrize("offset", [-2, 1])
def test_the_best_offset_is_a_head_that_always_looks_there(offset: int):
    found = scoring(SENTENCES, looked(SENTENCES, full=[at(offset)]), offsets=(offset, offset))
    assert len(found.groups) > 20
    for group in found.groups:
        held = found.held_out(group)
        np.testing.assert_array_equal(held["full"].value_N, held[OFFSET].value_N)
        assert found.difference(held["full"], held[OFFSET]).value == 0


def test_shuffled_gold_gives_chance():
    """Governors drawn among the other words are found as often as by guessing, by a head that knows the right ones."""
    rng = np.random.default_rng(0)

    def permuted(one: EncodedSentence) -> list[int]:
        return [
            int(rng.choice([other for other in range(len(one.kept)) if other != word])) for word in range(len(one.kept))
        ]

    found = scoring(SENTENCES, looked(SENTENCES, full=[permuted]))
    for side in SIDES:
        held = found.held_out(whole(found, side=side))
        sure, chance = found.accuracy(held["full"]), held[UNIFORM].value_N.mean()
        assert sure.low < chance < sure.high
        assert sure.value == pytest.approx(chance, abs=0.05)


def test_each_half_is_scored_by_what_the_other_chose():
    rng = np.random.default_rng(1)
    hit_NC, half_N = rng.random((50, 7)) < 0.4, rng.integers(0, 2, 50)
    chosen = SELECTIONS["halves"](hit_NC, half_N)
    hit_N = score(chosen, hit_NC, half_N)
    for half in (0, 1):
        others = [row for row in range(50) if half_N[row] != half]
        counts = [sum(bool(hit_NC[row, column]) for row in others) for column in range(7)]
        assert chosen[half] == counts.index(max(counts))
    for row in range(50):
        assert hit_N[row] == hit_NC[row, chosen[half_N[row]]]


def test_the_same_rows_may_choose_if_that_is_asked():
    rng = np.random.default_rng(2)
    hit_NC, half_N = rng.random((40, 9)) < 0.3, rng.integers(0, 2, 40)
    chosen = SELECTIONS["same"](hit_NC, half_N)
    assert chosen == (int(hit_NC.sum(0).argmax()),)
    assert score(chosen, hit_NC, half_N).mean() == hit_NC.mean(0).max()


def test_choosing_on_the_same_rows_flatters_heads_that_know_nothing():
    heads = [at_random(seed) for seed in range(60)]
    flattered, honest = (
        scoring(SENTENCES, looked(SENTENCES, full=heads), selection=selection) for selection in ("same", "halves")
    )
    item = next(one for one in honest.relations if 20 < len(honest.rows.where(one, TO_HEAD)) < 90)
    assert value(flattered, "full", item=item) > value(honest, "full", item=item) + 0.03
    chance = honest.rows.chance_N[honest.rows.where(ALL, TO_HEAD)].mean()
    assert value(honest, "full") == pytest.approx(chance, abs=0.05)


def test_halves_are_those_of_texts_or_ids():
    found = scoring(SENTENCES, looked(SENTENCES, full=[governor]))
    for row in range(len(found.rows)):
        one = SENTENCES[int(found.rows.sentence_N[row])]
        assert found.rows.half_N[row] == half_of(one.units.raw)
    named = ready(sentence("a b", "X X", "2 0", "x root", id="n01-7"))
    assert scoring([named], looked([named], full=[governor])).rows.half_N[0] == half_of("n01-7")
    assert 20 < sum(half_of(one.key) for one in SENTENCES) < 40


def test_relations_with_few_rows_are_dropped_and_named():
    found = scoring(SENTENCES, looked(SENTENCES, full=[governor]), least=20)
    dropped = {(one.item, one.side): one.rows for one in dropped_relations(found)}
    for item, side in product(found.relations, SIDES):
        rows = len(found.rows.where(item, side))
        assert ((item, side) in dropped) == (rows < 20)
        assert dropped.get((item, side), rows) == rows
    assert all(len(group.rows_N) >= 20 for group in found.groups)


def test_a_shuffled_sentence_is_read_by_heads_chosen_as_it_is():
    found = scoring(SENTENCES, looked(SENTENCES, full=[governor, at(1)], shuffled=[at(-1), governor]))
    held = found.held_out(whole(found))
    assert held["shuffled"].chosen == held["full"].chosen == (0, 0)
    assert held["shuffled"].value_N.mean() < 0.9
    alone = scoring(SENTENCES, looked(SENTENCES, shuffled=[at(-1), governor]))
    assert alone.held_out(whole(alone))["shuffled"].chosen == (1, 1)


def causal(sentences: list[EncodedSentence], place_W: np.ndarray) -> AttentionTargets:
    made = looked(sentences, part="decoder", full=[governor], shuffled=[governor])
    return AttentionTargets(made.layers, made.heads, made.targets, None, {}, place_W=place_W)


def test_under_a_mask_a_shuffled_sentence_is_asked_only_what_it_sees():
    one = ready(sentence("a b c d", "X X X X", "0 1 1 1", "root x x x", "w0"))
    other = ready(sentence("a b c d", "X X X X", "0 1 1 1", "root x x x", "w1"), 1)
    assert {half_of("w0"), half_of("w1")} == {0, 1}
    # the first sentence is turned round, so that no governor is seen; the second stays
    found = scoring([one, other], causal([one, other], np.array([3, 2, 1, 0, 0, 1, 2, 3])))
    assert found.rows.side_N.tolist() == [TO_HEAD] * 6
    assert found.visible_when_shuffled.tolist() == [False] * 3 + [True] * 3
    assert value(found, "full") == 1.0
    assert not {"shuffled", "uniform shuffled"} & set(found.held_out(whole(found)))  # only one half is left
    accuracy = found.of_heads("shuffled", whole(found))[0]
    assert (accuracy.value, accuracy.count) == (1.0, 3)


def test_even_attention_beside_a_shuffled_sentence_is_of_its_rows_and_its_order():
    """Plainly: of every row whose partner still stands before, one over how many words stand before in that order."""
    rng = np.random.default_rng(6)
    order = [rng.permutation(len(one.kept)) for one in SENTENCES]  # of every word its new place
    found = scoring(SENTENCES, causal(SENTENCES, np.concatenate(order) * 2 + 1))  # tokens may stand between words
    first = np.cumsum([0, *map(len, order)])
    held = found.held_out(whole(found))
    theirs, chances = [], []
    for row in whole(found).rows_N:
        number = int(found.rows.sentence_N[row])
        here, there = order[number][found.rows.from_N[row] - first[number]], order[number][found.rows.to_N[row]]
        if there < here:
            theirs.append(int(row))
            chances.append(1 / sum(place < here for place in order[number]))
    even = held["uniform shuffled"]
    assert even.rows_N.tolist() == held["shuffled"].rows_N.tolist() == theirs
    assert even.value_N.tolist() == pytest.approx(chances)
    assert len(theirs) < len(held["uniform"].rows_N) and even.value_N.mean() != held["uniform"].value_N.mean()
    both = scoring(SENTENCES, looked(SENTENCES, full=[governor], shuffled=[governor]))
    held = both.held_out(whole(both))
    assert held["uniform shuffled"].value_N.tolist() == held["uniform"].value_N.tolist()


def test_a_share_counts_only_what_stays_sure_after_correction():
    def line(item: str, measure: str, value: float, low: float = 0.0) -> ProbeRow:
        return ProbeRow(item, TO_HEAD, "full", measure, Estimate(value, low, 1.0, count=200))

    told = [line("a", "beyond offset", 0.3, 0.2), line("b", "beyond offset", 0.1, 0.01)]
    told += [line("c", "beyond offset", 0.1, -0.1), line("all", "beyond offset", 0.3, 0.2)]
    told += [line("a", "p", 0.001), line("b", "p", 0.2), line("c", "p", 0.01)]
    (share,) = share_rows(told)
    assert share.value == pytest.approx(1 / 3) and share.estimate.count == 3


def test_heads_by_themselves_are_counted_plainly():
    heads = [at(1), governor, at_random(5)]
    found = scoring(SENTENCES, looked(SENTENCES, full=heads))
    for group in [one for one in found.groups if one.item in (ALL, "det")]:
        ours = found.of_heads("full", group)
        rows = found.rows.take(group.rows_N)
        for head in range(3):
            hits = [found.targets.targets["full"][a, head] == b for a, b in zip(rows.from_N, rows.to_N, strict=True)]
            assert ours[head].value == pytest.approx(sum(hits) / len(hits))
            assert np.isnan(ours[head].low) == (group.distance != ALL)


def test_the_offset_that_a_head_always_looks_at():
    found = scoring(SENTENCES, looked(SENTENCES, full=[at(2), lambda one: [0] * len(one.kept)]))
    (offset, share, words), (_, other, _) = fixed_offsets(found)
    assert offset == 2 and words == sum(len(one.kept) for one in SENTENCES)
    inside = sum(max(0, len(one.kept) - 2) for one in SENTENCES)
    assert inside / words <= share < 1 and other < 0.3


def test_word_order_is_counted_plainly():
    found = scoring(SENTENCES, looked(SENTENCES, full=[governor]))
    lines = {(line.item, line.measure): line for line in order_rows(found) if line.side is None}
    for item in ("det", "obj", ALL):
        offsets = [
            int(one.head_words[word]) - word
            for one in SENTENCES
            for word, relation in enumerate(one.relations)
            if one.head_words[word] >= 0 and (item == ALL or relation.split(":")[0] == item)
        ]
        assert lines[item, "left"].value == pytest.approx(np.mean([offset < 0 for offset in offsets]))
        assert lines[item, "distance"].value == pytest.approx(np.mean(np.abs(offsets)))
        assert lines[item, "median"].value == np.median(np.abs(offsets))
        assert lines[item, "rows"].value == lines[item, "rows"].estimate.count == len(offsets)
    assert lines["det", "left"].value == 0 and lines["obj", "left"].value > 0.8


def test_under_a_mask_distances_are_of_the_rows_that_are_asked():
    found = scoring(SENTENCES, looked(SENTENCES, part="decoder", full=[governor]), least=10)
    lines = {(line.item, line.side, line.measure): line.value for line in order_rows(found)}
    for side, sign in ((TO_HEAD, -1), (TO_DEPENDENT, 1)):
        offsets = [
            int(governor) - word
            for one in SENTENCES
            for word, governor in enumerate(one.head_words)
            if governor >= 0 and sign * (governor - word) > 0
        ]
        assert lines[ALL, side, "rows"] == len(offsets)
        assert lines[ALL, side, "distance"] == pytest.approx(np.mean(np.abs(offsets)))
        assert lines[ALL, side, "median"] == np.median(np.abs(offsets))
    assert lines[ALL, None, "rows"] == sum(lines[ALL, side, "rows"] for side in SIDES)


def test_differences_to_the_offset_and_their_share():
    found = scoring(SENTENCES, looked(SENTENCES, full=[governor], positional=[at(1)]), least=20)
    held = [found.held_out(group) for group in found.groups]
    lines = {
        (line.item, line.kind, line.distance, line.measure): line
        for line in held_out_rows(found, found.held_out(whole(found)))
    }
    full, offset = lines[ALL, "full", ALL, "accuracy"], lines[ALL, "offset", ALL, "accuracy"]
    beyond = lines[ALL, "full", ALL, "beyond offset"]
    assert beyond.value == pytest.approx(full.value - offset.value) and 0 < beyond.estimate.low < beyond.value
    assert (ALL, "shuffled", ALL, "beyond offset") not in lines
    told = [line for one in held for line in held_out_rows(found, one)] + list(p_value_rows(found, held))
    shares = {(line.kind, line.side): line for line in share_rows(told)}
    never_fixed = [one for one in found.relations if value_or_none(found, one) is not None]
    assert shares["full", TO_HEAD].estimate.count == len(never_fixed)
    assert shares["full", TO_HEAD].value > shares["positional", TO_HEAD].value == 0
    chances = {(line.item, line.side): line.value for line in p_value_rows(found, held) if line.kind == "full"}
    assert chances["obj", TO_HEAD] < 0.001 and chances["amod", TO_HEAD] == 1.0  # always the next word


def value_or_none(found: RelationScorer, item: str) -> RelationGroup | None:
    return next((one for one in found.groups if (one.item, one.side, one.distance) == (item, TO_HEAD, ALL)), None)
