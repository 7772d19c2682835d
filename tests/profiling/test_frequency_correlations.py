"""Does behaviour go with speed? Known answers for the correlations of a run."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

from wherewhat.profiling.tables import frequency_correlations
from wherewhat.tables.manifest.scores import CorrespondenceSection
from wherewhat.tables.schema import FREQUENCIES, HEADS, frame


def tables(behave, *, layers: int = 2, heads: int = 6, planes: int = 5) -> tuple[pl.DataFrame, pl.DataFrame]:
    rows = [
        ("m", layer, head, f, 0.5**f, "positional", behave(layer, head, f))
        for layer in range(layers)
        for head in range(heads)
        for f in range(planes)
    ]
    still = [("m", 0, 0, planes, 0.0, "positional", -5.0)]
    scores = [
        {"model": "m", "layer": layer, "head": head, "score": name, "value": value}
        for layer in range(layers)
        for head in range(heads)
        for name, value in (("mean_frequency", float(head)), ("position_share", 1 / (head + 2)))
    ]
    return frame(rows + still, FREQUENCIES), pl.DataFrame(scores, schema=HEADS)


def line(found: list[CorrespondenceSection], **wanted: object) -> CorrespondenceSection:
    return next(entry for entry in found if all(getattr(entry, key) == value for key, value in wanted.items()))


def test_behaviour_that_follows_speed_correlates_fully_in_every_layer():
    found = frequency_correlations(*tables(lambda layer, head, f: -float(f)), seed=0)
    assert [entry.layer for entry in found if entry.x == "theta"] == [None, 0, 1]
    for entry in found:
        if entry.x == "theta":
            assert (entry.rho, entry.low, entry.high) == (1.0, 1.0, 1.0)
    assert line(found, x="theta", layer=None).points == 60, "channels that do not turn have no speed"


def test_layers_may_differ():
    found = frequency_correlations(*tables(lambda layer, head, f: float(f) * (1 - 2 * layer)), seed=0)
    assert line(found, layer=0).rho == -1 and line(found, layer=1).rho == 1


def test_it_is_spearman_s_correlation_and_the_same_seed_gives_the_same_interval():
    noise = np.random.default_rng(3).normal(size=(2, 6, 5))
    frequencies, heads = tables(lambda layer, head, f: noise[layer, head, f] - f)
    ours = line(frequency_correlations(frequencies, heads, seed=0), layer=None, x="theta")
    turning = frequencies.filter(pl.col("theta") > 0)
    theirs = spearmanr(turning["theta"], turning["value"]).statistic
    assert abs(ours.rho - theirs) < 1e-6
    assert ours.low < ours.rho < ours.high
    assert frequency_correlations(frequencies, heads, seed=0) == frequency_correlations(frequencies, heads, seed=0)


def test_heads_are_compared_by_the_frequency_they_rely_on():
    frequencies, heads = tables(lambda layer, head, f: 0.0)
    found = frequency_correlations(frequencies, heads, seed=0)
    wide = heads.pivot("score", index=["layer", "head"], values="value")
    theirs = spearmanr(-wide["mean_frequency"], wide["position_share"]).statistic
    assert line(found, x="mean_speed", y="position_share").rho == pytest.approx(theirs) == pytest.approx(1)
    assert line(found, x="theta", layer=None).rho is None, "what never changes goes with nothing"


def test_more_of_it_where_frequencies_are_faster_is_positive_of_planes_and_of_heads_alike():
    site, rows = [1.0, 0.6, 0.2, 0.1, 0.0], []
    for head in range(6):  # head 0 uses fast frequencies most, head 5 slow ones; the fast ones tell places apart
        rows += [("m", 0, head, f, 0.5**f, "position_part", site[f]) for f in range(5)]
    scores = [
        {"model": "m", "layer": 0, "head": head, "score": name, "value": value}
        for head in range(6)
        for name, value in (("mean_frequency", 0.6 * head), ("position_share", 1 - 0.1 * head))
    ]
    found = frequency_correlations(frame(rows, FREQUENCIES), pl.DataFrame(scores, schema=HEADS), seed=0)
    assert {entry.x: entry.rho for entry in found if entry.layer is None} == {"theta": 1, "mean_speed": 1}


def test_without_frequencies_there_is_nothing_to_compare():
    assert frequency_correlations(pl.DataFrame(schema=FREQUENCIES), tables(lambda *_: 0.0)[1], seed=0) == []
