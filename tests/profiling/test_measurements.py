"""The kinds of measurement: one registry of scores, each measured by one of them, and room for one more."""

import math
from collections import Counter
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch

import wherewhat as ww
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.profiling import settings
from wherewhat.profiling.accumulate import Summary
from wherewhat.profiling.measurements.base import Measurement, MeasurementResult, ProfileContext
from wherewhat.profiling.measurements.registry import MEASUREMENTS
from wherewhat.profiling.profile import profile
from wherewhat.profiling.settings import ProfileOptions, ProfileSettings
from wherewhat.scores.base import KINDS, RowScore, Score
from wherewhat.scores.registry import ROW_SCORES, SCORES, scores_at
from wherewhat.tables.manifest.scores import ProfileManifest

LENGTH = Score(
    name="toy.length",
    kind="Toy",
    asks="How many tokens has the longest text?",
    low="None.",
    high="Many.",
    paper="wherewhat",
    range=(0.0, math.inf),
)


def net() -> torch.nn.Module:
    return build(NetConfig(vocabulary=40, width=16, layers=2, heads=2, length=32, encoding="rope"), seed=3)


def test_every_score_is_known_to_exactly_one_measurement():
    owners = Counter(kind for measurement in MEASUREMENTS.values() for kind in measurement.kinds)
    assert owners.keys() == {score.kind for score in SCORES.values()} >= set(KINDS) and set(owners.values()) == {1}
    assert all(name == score.name for name, score in SCORES.items()) and ww.SCORES is SCORES
    assert {name for name, score in SCORES.items() if isinstance(score, RowScore)} == set(ROW_SCORES)


@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
def test_every_score_explains_itself(score: Score):
    assert "?" in score.asks and score.low and score.high and score.paper and score.kind
    assert score.range[0] < score.range[1]


def test_options_are_the_fields_of_the_settings():
    assert {field.name for field in fields(ProfileSettings)} == ProfileOptions.__optional_keys__


def test_settings_and_single_options_come_to_the_same():
    texts = [torch.arange(12), torch.arange(3, 20)]
    chosen = ProfileSettings(queries=4, seed=1, untrained=False)
    whole = profile(net(), texts, settings=chosen)
    assert whole.heads.equals(profile(net(), texts, queries=4, seed=1, untrained=False).heads)
    changed = profile(net(), texts, settings=chosen, scores=("sink",))
    assert set(changed.heads["score"]) == {"sink"} and changed.manifest.settings["queries"] == 4


def test_a_measurement_needs_its_records_and_a_place_in_the_registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def measure(context: ProfileContext) -> MeasurementResult:
        longest, known = np.full(2, float(max(map(len, context.ids)))), np.full(2, np.nan)
        summary = Summary(longest, known, known, known, np.ones(2), np.ones(2), np.zeros(2))
        assert context.attention is not None
        sites = context.attention.sites
        return MeasurementResult({site: {LENGTH.name: summary} for site in sites}, {LENGTH.name: LENGTH}, ["A toy."])

    toy = Measurement(
        name="toy",
        phase="toy",
        kinds=("Toy",),
        is_wanted=lambda context: bool(context.settings.named("Toy")),
        work=lambda context: 1,
        measure=measure,
    )
    monkeypatch.setattr(settings, "scores_at", lambda taus: {**scores_at(taus), LENGTH.name: LENGTH})
    monkeypatch.setitem(MEASUREMENTS, "toy", toy)
    made = profile(net(), [torch.arange(12), torch.arange(3, 20)], scores=("toy.length", "sink"))
    assert isinstance(made.manifest, ProfileManifest) and made.manifest.scores["toy.length"].kind == "Toy"
    assert set(made.heads["score"]) == {"toy.length", "sink"} and "A toy." in made.manifest.notes
    assert made.heads.filter(score="toy.length")["value"].to_list() == [17.0] * 4
    assert "toy.length" in made.report(tmp_path / "report.html").read_text()
    assert set(profile(net(), [torch.arange(12)], scores=("sink",)).heads["score"]) == {"sink"}
