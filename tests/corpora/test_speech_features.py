"""What a net hears: the worked numbers, and a plain transform beside ours."""

import numpy as np
import pytest

from wherewhat.corpora.speech.features import (
    FILTERS,
    HOP,
    POINTS,
    RATE,
    WINDOW,
    centres,
    features,
    filters,
    frame_count,
    log_energies,
)
from wherewhat.errors import UserError


def test_filters_are_the_worked_ones() -> None:
    peaks = {0: 53.711, 1: 89.000, 19: 1097.956, 39: 3789.785}
    sums = {0: 1.0847, 1: 1.1460, 20: 2.7673, 39: 6.5563}
    assert {number: round(float(centres()[number + 1]), 3) for number in peaks} == peaks
    assert {number: round(float(filters()[number].sum()), 4) for number in sums} == sums


def test_a_sine_is_heard_in_its_band() -> None:
    sine = np.sin(2 * np.pi * 1000 * np.arange(WINDOW) / RATE)
    (energies_F,) = log_energies(sine)
    assert energies_F.argmax() == 18
    assert energies_F[18] == pytest.approx(8.0908, abs=5e-5) and energies_F[0] == pytest.approx(-12.2668, abs=5e-5)


def test_energies_by_loops() -> None:
    samples = np.random.default_rng(3).normal(size=WINDOW + 3 * HOP + 17) / 5
    energies_TF = log_energies(samples)
    assert energies_TF.shape == (4, FILTERS)
    for frame in range(4):
        heard = samples[frame * HOP : frame * HOP + WINDOW]
        heard = [x * (0.5 - 0.5 * np.cos(2 * np.pi * n / WINDOW)) for n, x in enumerate(heard)]
        power = [
            abs(sum(x * np.exp(-2j * np.pi * k * n / POINTS) for n, x in enumerate(heard))) ** 2
            for k in range(POINTS // 2 + 1)
        ]
        for band in range(FILTERS):
            low, peak, high = centres()[band : band + 3]
            total = 0.0
            for k, energy in enumerate(power):
                hertz = k * RATE / POINTS
                rising, falling = (hertz - low) / (peak - low), (high - hertz) / (high - peak)
                total += max(0.0, min(rising, falling)) * energy
            assert energies_TF[frame, band] == pytest.approx(np.log(total + 1e-6), abs=1e-9)


def test_every_band_is_normalised_over_the_recording() -> None:
    heard_TF = features(np.random.default_rng(0).normal(size=RATE))
    assert heard_TF.shape == (frame_count(RATE), FILTERS) and heard_TF.dtype == np.float32
    assert np.abs(heard_TF.mean(0)).max() < 1e-5 and np.abs(heard_TF.std(0) - 1).max() < 1e-5
    assert np.isfinite(features(np.zeros(RATE))).all()


def test_a_recording_shorter_than_a_window_is_refused() -> None:
    with pytest.raises(UserError, match="a recording of 12 ms is shorter than a window of 25 ms; leave it out"):
        features(np.zeros(100))
