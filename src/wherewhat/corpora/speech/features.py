"""What a net hears of a recording: the logarithm of the energy in forty bands, a hundred times a second."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from wherewhat.errors import UserError

Samples = NDArray[np.float64]  # of one channel, from -1 to 1
Frames = NDArray[np.float32]  # frames_TF

RATE = 8000  # samples per second that everything is brought to
WINDOW, HOP, POINTS = 200, 80, 256  # samples: 25 ms, 10 ms, and of the transform
FILTERS, LOWEST, HIGHEST = 40, 20.0, 4000.0  # bands, and the frequencies that they span
FLOOR = 1e-6  # added to energies, so that silence has a logarithm
FRAMES = 4  # that a net hears as one token
TOKEN_MS = FRAMES * HOP * 1000 // RATE


def mel(hertz: float | Samples) -> Samples:
    """Frequencies on the mel scale."""
    return np.asarray(2595 * np.log10(1 + np.asarray(hertz, dtype=np.float64) / 700))


def hertz(mels: Samples) -> Samples:
    """Back from the mel scale."""
    return np.asarray(700 * (10 ** (mels / 2595) - 1))


@cache
def centres() -> Samples:
    """The frequencies at which filters begin, peak and end: filter f peaks at number f + 1."""
    return hertz(np.linspace(mel(LOWEST), mel(HIGHEST), FILTERS + 2))


@cache
def filters() -> Samples:
    """filters_FK: triangles over the bins of the transform, linear in frequency, 1 at their peaks.

    >>> filters().shape
    (40, 129)
    """
    bins_K, edges = np.arange(POINTS // 2 + 1) * RATE / POINTS, centres()
    low_F1, peak_F1, high_F1 = (edges[start : start + FILTERS, None] for start in range(3))
    rising, falling = (bins_K - low_F1) / (peak_F1 - low_F1), (high_F1 - bins_K) / (high_F1 - peak_F1)
    return np.asarray(np.maximum(0, np.minimum(rising, falling)))


def frame_count(samples: int) -> int:
    """How many whole windows a recording has."""
    return 1 + (samples - WINDOW) // HOP if samples >= WINDOW else 0


def token_count(samples: int) -> int:
    """How many tokens a recording becomes."""
    return -(-frame_count(samples) // FRAMES)


def log_energies(samples: Samples) -> Samples:
    """energies_TF: the logarithm of the energy in each band, frame by frame."""
    frames = frame_count(len(samples))
    if frames == 0:
        raise UserError(
            f"a recording of {1000 * len(samples) / RATE:.0f} ms is shorter than a window of "
            f"{1000 * WINDOW // RATE} ms; leave it out"
        )
    windows_TW = np.lib.stride_tricks.sliding_window_view(samples, WINDOW)[::HOP][:frames]
    hann_W = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)
    power_TK = np.abs(np.fft.rfft(windows_TW * hann_W, POINTS)) ** 2
    return np.asarray(np.log(power_TK @ filters().T + FLOOR))


def features(samples: Samples) -> Frames:
    """frames_TF: log energies, each band with mean 0 and standard deviation 1 over the recording."""
    energies_TF = log_energies(samples)
    spread_F = energies_TF.std(0)
    frames_TF: Frames = ((energies_TF - energies_TF.mean(0)) / np.where(spread_F > 0, spread_F, 1)).astype(np.float32)
    return frames_TF


def tokens_of(samples: Samples) -> Frames:
    """tokens_TG: four frames each, the last one filled up with zeros."""
    return as_tokens(features(samples))


def as_tokens(frames_TF: Frames) -> Frames:
    """tokens_TG of frames."""
    padded_TF = np.pad(frames_TF, ((0, -len(frames_TF) % FRAMES), (0, 0)))
    return padded_TF.reshape(-1, FRAMES * frames_TF.shape[1])
