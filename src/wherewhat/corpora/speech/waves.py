"""Read and write recordings as WAV files of 16 bits per sample."""

import hashlib
import wave
from collections.abc import Iterable
from math import ceil, gcd
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wherewhat.corpora.speech.features import RATE, Samples
from wherewhat.errors import UserError

BYTES = 2  # per sample
LOUDEST = 2**15
RATES = (4000, 192_000)  # samples per second that are believed


class WaveContent(NamedTuple):
    """What a file holds: 16-bit samples of all channels in turn, and how many per second."""

    content: bytes
    channels: int
    rate: int

    @property
    def samples(self) -> int:
        """How many samples each channel has at 8 kHz."""
        return ceil(len(self.content) // (self.channels * BYTES) * RATE / self.rate)


def open_wave(path: Path) -> WaveContent:
    """The content of a file as it is; a format that is not understood, or a file that is cut short, is refused."""
    try:
        with wave.open(str(path), "rb") as file:
            channels, width, rate, frames, *_ = file.getparams()
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
    if not RATES[0] <= rate <= RATES[1]:
        raise UserError(f"{path} has {rate:,} samples per second; give between {RATES[0]:,} and {RATES[1]:,}")
    return WaveContent(content, channels, rate)


def read_wave(path: Path) -> Samples:
    """The samples of a file at 8 kHz, several channels as their mean."""
    content, channels, rate = open_wave(path)
    samples: Samples = np.frombuffer(content, "<i2").reshape(-1, channels).mean(1) / LOUDEST
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


def digest_of(paths: Iterable[Path]) -> str:
    """A hash of files: of their names and all that they hold."""
    total = hashlib.sha256()
    for path in paths:
        total.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        total.update(path.read_bytes())
    return total.hexdigest()
