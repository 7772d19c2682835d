"""Plain text files as a corpus: one sentence per line."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from wherewhat.corpora.base import FileCorpus
from wherewhat.corpora.files import numbered_lines
from wherewhat.corpora.sentence import Sentence
from wherewhat.corpora.vocabulary import split_words


@dataclass(frozen=True)
class PlainText(FileCorpus):
    """Lines of text, cut into words in lower case. Blank lines are skipped; there is no annotation."""

    files: tuple[str, ...]
    name: ClassVar[str] = "text"

    def read(self, path: Path) -> Iterator[Sentence]:
        """One sentence per line."""
        for number, line in numbered_lines(path):
            if words := split_words(line):
                yield Sentence(words, f"{path.name} line {number}")
