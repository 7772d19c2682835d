"""Questions that a whole sentence answers with a label: our own about the grammar, and those of a file."""

from collections import Counter
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from pathlib import Path

from wherewhat.corpora.base import TENTHS, file_split_of
from wherewhat.corpora.clauses import NUMBER, TENSE, VOICE
from wherewhat.corpora.corrupting import ACCEPTABLE, draw_acceptable
from wherewhat.corpora.files import numbered_lines
from wherewhat.corpora.pairs import CONTENT, ROLES, draw_content, draw_roles
from wherewhat.corpora.sentence import Sentence
from wherewhat.corpora.twins import DOERS, GENDERS, all_names, draw_agent, draw_names
from wherewhat.corpora.words import split_words
from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.tasks.base import SPLITS
from wherewhat.tasks.stream import Stream, fnv, mix


@dataclass(frozen=True)
class Example:
    """The words of a sentence and the right answer."""

    words: tuple[str, ...]
    label: str


@dataclass(frozen=True)
class Labelled:
    """A question with its examples. No sentence is in two splits."""

    name: str
    labels: tuple[str, ...]
    train: tuple[Example, ...]
    valid: tuple[Example, ...]
    test: tuple[Example, ...]


@dataclass(frozen=True)
class Question:
    """Something to ask of sentences of the grammar.

    `draw(seed, split, unit, taken)` gives one sentence for every label, in the order of the labels: any number of units
    is exactly balanced. None is among the texts that are `taken`. `units` says how many units a split has, where they
    come to an end.
    """

    name: str
    asks: str  # one line, for someone new
    labels: tuple[str, ...]
    draw: Callable[[int, str, int, Container[str]], tuple[Sentence, ...]]
    units: Callable[[str], int] | None = None


QUESTIONS: dict[str, Question] = {
    question.name: question
    for question in [
        Question("number", "Is the main subject one or several?", NUMBER.labels, NUMBER.draw),
        Question("tense", "Is the main clause about now or about the past?", TENSE.labels, TENSE.draw),
        Question("voice", "Does the main subject do something, or is it done to it?", VOICE.labels, VOICE.draw),
        Question("agent", "Of an animal and a person, which one does it to the other?", DOERS, draw_agent),
        Question("acceptable", "Is it a sentence, or were two words exchanged?", ACCEPTABLE, draw_acceptable),
        Question(
            "names",
            "In three words like 'maria sees peter', is it a woman or a man who does it?",
            GENDERS,
            draw_names,
            lambda split: len(all_names(split)),
        ),
        Question(
            "roles",
            "Does one do to the other what the sentence before says, or the other to the one?",
            ROLES,
            draw_roles,
        ),
        Question(
            "content", "Does the sentence before speak of the same two, and of the same deed?", CONTENT, draw_content
        ),
    ]
}


def labelled(name: str, *, seed: int, train: int, valid: int, test: int) -> Labelled:
    """Examples of one of our own questions, as many as asked for, or all if there are fewer.

    >>> labelled("names", seed=1, train=2, valid=2, test=2).train[0].words
    ('maria', 'chases', 'peter')
    """
    question = look_up("question", name, QUESTIONS)
    sizes = dict(zip(SPLITS, (train, valid, test), strict=True))
    return Labelled(name, question.labels, **{split: _examples(question, seed, split, n) for split, n in sizes.items()})


def _examples(question: Question, seed: int, split: str, size: int) -> tuple[Example, ...]:
    """Examples of one split, none twice. More of them begin with the same ones."""
    ways = len(question.labels)
    if size < ways or size % ways:
        raise UserError(f"{size} {split} sentences cannot be shared evenly by {ways} labels; give a multiple of {ways}")
    units = size // ways
    if question.units is not None:
        units = min(units, question.units(split))
    examples, taken = list[Example](), set[str]()
    for unit in range(units):
        sentences = question.draw(seed, split, unit, taken)
        taken.update(sentence.text for sentence in sentences)
        unit_examples = [Example(one.words, label) for one, label in zip(sentences, question.labels, strict=True)]
        # In a random order, so that the place of an example does not tell its label.
        examples += Stream(seed, "order", question.name, split, unit).shuffle(unit_examples)
    return tuple(examples)


def read_labelled(path: Path, *, limit: int | None = None) -> Labelled:
    """Read a question from a file: a label, a tab and a text on every line.

    A first line that says "label" is a heading. Of more than `limit` lines some are kept, chosen by their text alone:
    files are often sorted, so the first ones would not do.
    """
    if limit is not None and limit < 1:
        raise UserError(f"{limit} lines of {path} are too few; keep at least 1")
    filled = ((number, line) for number, line in numbered_lines(path) if line.strip())
    lines = [(number, *_read(line, f"line {number} of {path}")) for number, line in filled]
    if lines and lines[0][0] == 1 and lines[0][1].lower() == "label":
        lines = lines[1:]
    if limit is not None:
        lines = sorted(nsmallest(limit, lines, key=lambda line: mix(fnv(" ".join(line[2])))))
    examples = [Example(words, label) for _, label, words in lines]
    labels = tuple(sorted({example.label for example in examples}))
    _check_labels(path, examples, labels)
    splits = {split: tuple(one for one in examples if file_split_of(" ".join(one.words)) == split) for split in SPLITS}
    _check_splits(path, splits, labels)
    return Labelled(path.stem, labels, **splits)


def _read(line: str, where: str) -> tuple[str, tuple[str, ...]]:
    label, tab, text = line.partition("\t")
    if not tab:
        raise UserError(f"{where} has no tab; write label<TAB>text")
    if not label.strip():
        raise UserError(f"{where} has no label before the tab; write label<TAB>text")
    words = split_words(text)
    if not words:
        raise UserError(f"{where} has no text after the tab; write label<TAB>text")
    return label.strip(), words


def _check_labels(path: Path, examples: Sequence[Example], labels: Sequence[str]) -> None:
    if not examples:
        raise UserError(f"{path} holds no sentences; write label<TAB>text, one a line")
    if len(labels) == 1:
        raise UserError(f"every line of {path} has the label '{labels[0]}'; a question needs at least two")


def _check_splits(path: Path, splits: dict[str, tuple[Example, ...]], labels: Sequence[str]) -> None:
    """Every split holds something, and everything that is asked was there to learn."""
    total = sum(map(len, splits.values()))
    for split, examples in splits.items():
        if not examples:
            raise UserError(f"none of the {total} lines of {path} is of the {split} split; {TENTHS}")
    seen = Counter(example.label for example in splits["train"])
    for label in labels:
        if not seen[label]:
            raise UserError(f"no training line of {path} has the label '{label}'; give more lines with it")
