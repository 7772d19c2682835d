"""The headline of a comparison: the spread of heads and the layers that changed before their mean."""

import numpy as np
import polars as pl
from made_up import profile

from wherewhat.comparing.compare import compare


def split(layer: int, head: int) -> float:
    """Layer 0 goes to one end and layer 1 to the other: the mean stays."""
    return 0.95 if layer == 0 else 0.05


def middling(layer: int, head: int) -> float:
    return 0.5 + 0.004 * (head - 1)


def test_heads_that_split_to_both_ends_are_the_headline_though_their_mean_stays():
    found = compare([profile("before", {"position_share": middling}), profile("after", {"position_share": split})])
    (sentence,) = found.sentences
    assert sentence.startswith("heads split by position share: 3 of 6 heads clearly up and 3 clearly down, most in ")
    assert "layer 0 (+0.450)" in sentence and "layer 1 (−0.450)" in sentence
    assert "they spread apart (half of them 0.50 to 0.50 → 0.050 to 0.95)" in sentence
    assert "mean 0.50 → 0.50, no clear change (" in sentence


def test_heads_that_all_go_one_way_are_called_by_it():
    found = compare([profile("before", {"locality": middling}), profile("after", {"locality": lambda *at: 0.9})])
    (sentence,) = found.sentences
    assert sentence.startswith("more local (locality): 6 of 6 heads clearly up and 0 clearly down, most in layer 0 (+")


def test_heads_that_hardly_move_are_not_said_to_spread():
    found = compare([profile("before", {"locality": middling}), profile("after", {"locality": middling})])
    (sentence,) = found.sentences
    assert sentence.startswith("no clear change of locality") and "their spread is about the same" in sentence
    assert "none of 6 heads clearly up or down" in sentence
    assert "most in" not in sentence


def test_without_intervals_nothing_is_called_clear():
    made = []
    for name, value in (("before", middling), ("after", split)):
        one = profile(name, {"locality": value})
        bare = one.heads.with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64))
        made.append(type(one)(bare, one.offsets, one.frequencies, one.manifest))
    (sentence,) = compare(made).sentences
    assert "no head has an interval" in sentence and "without an interval" in sentence


def test_what_weights_decide_is_exact_and_counts():
    found = compare([profile("a", {"delta.locality": middling}), profile("b", {"delta.locality": split})])
    (sentence,) = found.sentences
    assert "3 of 6 heads up and 3 down" in sentence and np.isclose(found.leading[0]["change"], 0)
