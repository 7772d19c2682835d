"""A folder of recordings, `ID.wav`, and `transcripts.tsv` with what is said in each."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

from wherewhat.corpora.speech.base import SpeechCorpus, Utterance, tokens_needed
from wherewhat.corpora.speech.features import TOKEN_MS, token_count
from wherewhat.corpora.speech.splits import TRAIN
from wherewhat.corpora.speech.waves import digest_of, open_wave, read_wave
from wherewhat.errors import UserError
from wherewhat.names import look_up

TRANSCRIPTS = "transcripts.tsv"
UNITS = {"characters": "every character is a word", "words": "words between blanks"}


@dataclass(frozen=True)
class RecordedSpeech(SpeechCorpus):
    """Recordings with transcripts, one per line: ID, split and text with tabs between them."""

    folder: str
    units: str = "characters"
    name: ClassVar[str] = "recordings"

    def __post_init__(self) -> None:
        look_up("unit", self.units, UNITS)

    def check(self) -> None:
        """Refuse a folder without training or testing, and a file that is of no use, before anything is learnt."""
        vocabulary_of.cache_clear()
        transcripts.cache_clear()  # the folder may have changed since it was last read
        path = Path(self.folder) / TRANSCRIPTS
        if TRAIN not in self.splits:
            raise UserError(f"{path} has no line of the split {TRAIN}; mark some as such")
        if not self.tests:
            raise UserError(f"every line of {path} is of the split {TRAIN}; mark some as test")
        for id, (_, text) in transcripts(self.folder).items():
            tokens = token_count(open_wave(self._path(id)).samples)
            if tokens < max(1, needed := tokens_needed(words_of(text, self.units))):
                raise UserError(
                    f"{self._path(id)} has {tokens} tokens of {TOKEN_MS} ms, and its words take at least {needed}; "
                    "leave it out"
                )

    def digest(self) -> str:
        return digest_of([Path(self.folder) / TRANSCRIPTS, *map(self._path, transcripts(self.folder))])

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return vocabulary_of(self.folder, self.units)

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(sorted({split for split, _ in transcripts(self.folder).values()}))

    def size(self, split: str) -> int | None:
        return len(self._ids(split))

    def utterance(self, seed: int, split: str, index: int) -> Utterance:
        ids = self._ids(split)
        if not 0 <= index < len(ids):
            raise UserError(f"the split {split} of {self.folder} has {len(ids)} recordings and got number {index}")
        text = transcripts(self.folder)[ids[index]][1]
        return Utterance(read_wave(self._path(ids[index])), words_of(text, self.units))

    def _path(self, id: str) -> Path:
        return Path(self.folder) / f"{id}.wav"

    def _ids(self, split: str) -> list[str]:
        look_up("split", split, dict.fromkeys(self.splits))
        return [id for id, (of, _) in transcripts(self.folder).items() if of == split]


def words_of(text: str, units: str) -> tuple[str, ...]:
    """What counts as a word of a text.

    >>> words_of("no cat", "words"), words_of("no", "characters")
    (('no', 'cat'), ('n', 'o'))
    """
    return tuple(text) if units == "characters" else tuple(text.split())


@cache
def vocabulary_of(folder: str, units: str) -> tuple[str, ...]:
    """All words of the transcripts of a folder."""
    texts = (text for _, text in transcripts(folder).values())
    return tuple(sorted({word for text in texts for word in words_of(text, units)}))


@cache
def transcripts(folder: str) -> dict[str, tuple[str, str]]:
    """Split and text of every recording by its ID; every line has a file and every file a line."""
    path = Path(folder) / TRANSCRIPTS
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); write one line per recording into it") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text; save it as UTF-8") from error
    known: dict[str, tuple[str, str]] = {}
    for number, line in enumerate(lines, start=1):
        cells = line.split("\t")
        if len(cells) != 3 or not all(cell.strip() for cell in cells):
            raise UserError(
                f"line {number} of {path} is '{line[:60]}'; write ID, split and text with tabs between them"
            )
        if cells[0] in known:
            raise UserError(f"line {number} of {path} names {cells[0]} once more; give every recording one line")
        known[cells[0]] = (cells[1], cells[2])
    files = {file.stem for file in Path(folder).glob("*.wav")}
    if missing := sorted(set(known) - files):
        raise UserError(f"{path} names {missing[0]}, and there is no {missing[0]}.wav; add it or take out the line")
    if unnamed := sorted(files - set(known)):
        raise UserError(
            f"{folder} has {unnamed[0]}.wav, and {TRANSCRIPTS} does not name it; add a line or move it away"
        )
    return known
