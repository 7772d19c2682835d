"""Read and write recordings as WAV files of 16 bits per sample."""

import wave
from math import gcd
from pathlib import Path

import numpy as np

from wherewhat.corpora.speech.features import RATE, Samples
from wherewhat.errors import UserError

BYTES = 2  # per sample
LOUDEST = 2**15
RATES = (4000, 192_000)  # samples per second that are believed


def read_wave(path: Path) -> Samples:
    """The samples of a file at 8 kHz, several channels as their mean."""
    try:
        with wave.open(str(path), "rb") as file:
            channels, width, rate, frames = (
                file.getnchannels(),
                file.getsampwidth(),
                file.getframerate(),
                file.getnframes(),
            )
            content = file.readframes(frames)
    except (wave.Error, EOFError) as error:
        raise UserError(
            f"{path} is no WAV file of plain samples ({error or 'it ends early'}); convert it to 16-bit PCM"
        ) from error
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); check the path") from error
    if width != BYTES:
        raise UserError(f"{path} has {8 * width} bits per sample; convert it to 16-bit PCM")
    if len(content) != frames * channels * BYTES:
        raise UserError(
            f"{path} is cut short: it has {len(content):,} bytes of {frames * channels * BYTES:,}; copy it again"
        )
    if not frames:
        raise UserError(f"{path} has no samples; leave it out")
    samples = np.frombuffer(content, "<i2").reshape(-1, channels).mean(1) / LOUDEST
    return resampled(samples, rate, str(path))


def resampled(samples: Samples, rate: int, what: str) -> Samples:
    """The same recording at 8 kHz."""
    if not RATES[0] <= rate <= RATES[1]:
        raise UserError(f"{what} has {rate:,} samples per second; give between {RATES[0]:,} and {RATES[1]:,}")
    if rate == RATE:
        return samples
    from scipy.signal import resample_poly  # takes a while to import

    common = gcd(rate, RATE)
    return np.asarray(resample_poly(samples, RATE // common, rate // common))


def write_wave(path: Path, samples: Samples) -> None:
    """Write samples at 8 kHz; what is louder than 1 is cut off."""
    whole = np.clip(np.round(samples * LOUDEST), -LOUDEST, LOUDEST - 1).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(BYTES)
        file.setframerate(RATE)
        file.writeframes(whole.tobytes())
