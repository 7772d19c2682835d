"""Every speech corpus by name."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from wherewhat.corpora.speech.base import SpeechCorpus
from wherewhat.corpora.speech.digits import SpokenDigits
from wherewhat.corpora.speech.recordings import RecordedSpeech
from wherewhat.corpora.speech.tones import TouchTones
from wherewhat.errors import UserError
from wherewhat.names import look_up


@dataclass(frozen=True)
class SpeechEntry:
    """A speech corpus and what to know before choosing it."""

    name: str
    about: str  # one line, for someone new
    cls: type[SpeechCorpus]


SPEECH: dict[str, SpeechEntry] = {
    entry.name: entry
    for entry in (
        SpeechEntry("tones", "Touch tones of a telephone, generated: every digit is two sines.", TouchTones),
        SpeechEntry("digits", "Strings of digits from recordings of single ones, 7_george_12.wav.", SpokenDigits),
        SpeechEntry("recordings", "A folder of WAV files with transcripts.tsv.", RecordedSpeech),
    )
}


def speech_corpus_from(values: Mapping[str, Any]) -> SpeechCorpus:
    """A speech corpus from plain values."""
    sizes = dict(values)
    cls = look_up("speech corpus", str(sizes.pop("name", "")), SPEECH).cls
    known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]  # every member is a dataclass
    for size in sizes:
        look_up(f"size of the {cls.name} corpus", size, known)
    try:
        return cls(**sizes)
    except TypeError as error:
        raise UserError(f"the {cls.name} corpus lacks what it is made from; give its folder") from error
