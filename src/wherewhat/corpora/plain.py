"""Plain text files as a corpus: a line is a sentence."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from wherewhat.corpora.base import Files
from wherewhat.corpora.files import numbered_lines
from wherewhat.corpora.sentence import Sentence
from wherewhat.corpora.words import split_words


@dataclass(frozen=True)
class PlainText(Files):
    """Lines of text, cut into words in lower case. Blank lines are skipped; nothing is known of the words."""

    files: tuple[str, ...]
    name: ClassVar[str] = "text"

    def read(self, path: Path) -> Iterator[Sentence]:
        """One sentence a line."""
        for number, line in numbered_lines(path):
            if words := split_words(line):
                yield Sentence(words, f"{path.name} line {number}")
