"""What is said of shuffled words: verdicts by their intervals and by what the words alone tell, and one line."""

from dataclasses import replace

import pytest

from wherewhat.probing.swap_probe.datasets import ProbeDataset
from wherewhat.probing.swap_probe.estimates import ProbeEstimate, ProbeEstimates
from wherewhat.probing.word_claims import claims_of, summary_of

FEW = ProbeDataset("few", "few", ())
NONE = float("nan")  # no interval


def made_up(kind: str, measure: str, value: float, reach: float, count: int = 500) -> list[ProbeEstimate]:
    """The same number for two sizes."""
    return [ProbeEstimate(size, None, kind, measure, value, value - reach, value + reach, count) for size in ("3", "4")]


@pytest.mark.parametrize(
    ("measure", "kind", "value", "reach", "verdict"),
    [
        ("accuracy", "change", -0.004, 0.005, "agrees"),
        ("accuracy", "change", -0.2, 0.05, "disagrees"),
        ("accuracy", "change", -0.02, 0.01, "unknown"),
        ("accuracy", "change", 0.0, 0.0, "agrees"),
        ("kept", "swapped", 0.97, 0.01, "seen"),
        ("kept", "swapped", 0.5, 0.1, "not seen"),
        ("nats", "change", 0.5, 0.1, "seen"),
        ("nats", "change", 0.0, 0.0, "not seen"),
        ("nats", "change", 0.1, 0.2, "unknown"),
        ("distance", "swapped", 0.1, 0.05, "seen"),
        ("distance", "swapped", 0.9, 0.05, "not seen"),
    ],
)
def test_what_a_shuffle_does_is_judged_by_its_interval(measure, kind, value, reach, verdict):
    rows = made_up(kind, measure, value, reach) + made_up("original", measure, 2.0, 0.1)
    claim = claims_of(FEW, ProbeEstimates(tuple(rows)), ("3", "4", "whole"))[0]
    assert claim.verdict == verdict and claim.ours.startswith("3-word constituents ") and claim.about["data"] == "few"


@pytest.mark.parametrize("kind", ["against whole", "beyond control"])
@pytest.mark.parametrize(("measure", "better"), [("accuracy", 1), ("kept", 1), ("nats", -1), ("distance", -1)])
def test_less_harm_than_another_shuffle_is_judged_either_way(kind: str, measure: str, better: int):
    words = {"agrees", "seen"}, {"disagrees", "not seen"}
    for value, verdicts in ((0.3 * better, words[0]), (-0.3 * better, words[1]), (0.0, words[1])):
        rows = made_up(kind, measure, value, 0.001) + made_up("original", measure, 2.0, 0.1)
        assert claims_of(FEW, ProbeEstimates(tuple(rows)), ("3", "4"))[0].verdict in verdicts


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.03, 0.0098, "unknown"),  # it holds nought, though less than a point above it
        (-0.009, 0.0098, "disagrees"),
        (-0.03, -0.001, "disagrees"),
        (0.001, 0.03, "agrees"),
    ],
)
def test_only_intervals_without_nought_or_close_around_it_say_no(low: float, high: float, verdict: str):
    rows = [ProbeEstimate("3", None, "against whole", "accuracy", (low + high) / 2, low, high, 500)]
    assert claims_of(FEW, ProbeEstimates(tuple(rows)), ("3",))[0].verdict == verdict
    less = [ProbeEstimate("3", None, "against whole", "distance", -(low + high) / 2, -high, -low, 500)]
    words = {"agrees": "seen", "disagrees": "not seen"}
    assert claims_of(FEW, ProbeEstimates(tuple(less)), ("3",))[0].verdict == words.get(verdict, verdict)


def test_a_size_that_says_no_beside_one_that_cannot_tell_is_no_verdict():
    bad, wide = made_up("change", "accuracy", -0.3, 0.01)[0], made_up("change", "accuracy", -0.02, 0.1)[1]
    claim = claims_of(replace(FEW, question="roles"), ProbeEstimates((bad, wide)), ("3", "4"))[0]
    assert claim.verdict == "unknown"
    assert claim.why.startswith(
        "It does not hold for: 3-word constituents; it is open for: 4-word constituents. Here word order"
    )


def learnt(right: float) -> tuple[ProbeEstimate, ...]:
    """A model that loses much by shuffles, and as it is has so many right answers where words alone give 2 in 3."""
    rows = made_up("change", "accuracy", -0.3, 0.01) + made_up("original", "accuracy", right, 0.04)
    return (*rows, *made_up("words alone", "accuracy", 2 / 3, NONE), *made_up("one answer", "accuracy", 1 / 3, NONE))


def test_a_model_that_tells_no_more_than_the_words_alone_gets_no_verdict():
    data = replace(FEW, question="roles")
    claim = claims_of(data, ProbeEstimates(learnt(0.8)), ("3", "4"))[0]
    assert claim.verdict == "disagrees" and claim.why.startswith("Here word order decides the label")
    claim = claims_of(data, ProbeEstimates(learnt(0.69)), ("3", "4"))[0]
    assert claim.verdict == "unknown" and claim.why == (
        "Before the swap, 69.0 % (65.0 to 73.0) of the answers are right, not clearly more than by a guess from the "
        "words in any order (66.7 %); a swap cannot take away what was not learnt."
    )


def test_where_words_decide_all_a_model_has_to_beat_one_answer_to_everything():
    sure = made_up("words alone", "accuracy", 1.0, NONE)
    for right, verdict in ((0.35, "unknown"), (0.8, "disagrees")):
        rows = [row for row in learnt(right) if row.kind != "words alone"] + sure
        claim = claims_of(FEW, ProbeEstimates(tuple(rows)), ("3", "4"))[0]
        assert claim.verdict == verdict and ("by giving one answer to everything (33.3 %)" in claim.why) == (
            right < 0.5
        )


def test_every_change_is_told_from_where_its_own_sentences_began():
    rows = [ProbeEstimate("3", None, "original", "accuracy", 0.9, 0.8, 1.0, 50)]
    rows += [ProbeEstimate("whole", None, "original", "accuracy", 0.7, 0.6, 0.8, 500)]
    rows += [ProbeEstimate(size, None, "change", "accuracy", -0.1, -0.2, 0.0, 50) for size in ("3", "whole")]
    assert summary_of(FEW, ProbeEstimates(tuple(rows)), ("3", "whole")) == (
        "few: accuracy 3-word constituents −10.0 points (−20.0 to 0.0) from 90.0 %, "
        "whole sentence −10.0 points (−20.0 to 0.0) from 70.0 %"
    )


def test_sizes_that_disagree_hold_in_part_and_few_cases_say_nothing():
    good, bad = made_up("change", "accuracy", 0.0, 0.001)[0], made_up("change", "accuracy", -0.3, 0.01)[1]
    claim = claims_of(FEW, ProbeEstimates((good, bad)), ("3", "4"))[0]
    assert claim.verdict == "in part"
    few = made_up("change", "accuracy", -0.3, 0.01, count=29)[1]
    claim = claims_of(FEW, ProbeEstimates((good, few)), ("3", "4"))[0]
    assert claim.verdict == "agrees" and claim.why.endswith("with fewer than 30 examples: 4-word constituents.")
    assert claims_of(FEW, ProbeEstimates((few,)), ("3", "4"))[0].verdict == "unknown"
    unmoved = made_up("change", "accuracy", 0.0, 0.0, count=40)[0]
    assert claims_of(FEW, ProbeEstimates((unmoved,)), ("3",))[0].verdict == "unknown", "3 in 40 may still change"
