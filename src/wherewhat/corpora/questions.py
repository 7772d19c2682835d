"""Questions whose answer is a label of a whole sentence: built-in ones about the grammar, and those of a file."""

from collections.abc import Callable, Container
from dataclasses import dataclass
from heapq import nsmallest
from pathlib import Path

from wherewhat.corpora.acceptability import ACCEPTABLE, draw_acceptable
from wherewhat.corpora.base import TENTHS, file_split_of
from wherewhat.corpora.files import numbered_lines
from wherewhat.corpora.main_clause import NUMBER, TENSE, VOICE
from wherewhat.corpora.minimal_pairs import DOERS, GENDERS, all_names, draw_agent, draw_names
from wherewhat.corpora.sentence import Sentence
from wherewhat.corpora.sentence_pairs import CONTENT, ROLES, draw_content, draw_roles
from wherewhat.corpora.vocabulary import split_words
from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.tasks.base import SPLITS
from wherewhat.tasks.stream import Stream, fnv, mix


@dataclass(frozen=True)
class Example:
    """The words of a sentence and its label."""

    words: tuple[str, ...]
    label: str


@dataclass(frozen=True)
class LabelledDataset:
    """A question with its examples. No sentence is in two splits."""

    name: str
    labels: tuple[str, ...]
    train: tuple[Example, ...]
    valid: tuple[Example, ...]
    test: tuple[Example, ...]


@dataclass(frozen=True)
class SentenceQuestion:
    """A question about sentences of the grammar.

    `draw(seed, split, unit, taken)` returns one sentence per label, in the order of the labels: any number of units is
    exactly balanced. None is among the texts that are `taken`. `units` is the number of units of a split, if it is
    limited.
    """

    name: str
    asks: str  # one line, for someone new
    labels: tuple[str, ...]
    draw: Callable[[int, str, int, Container[str]], tuple[Sentence, ...]]
    units: Callable[[str], int] | None = None


QUESTIONS: dict[str, SentenceQuestion] = {
    question.name: question
    for question in [
        SentenceQuestion("number", "Is the main subject singular or plural?", NUMBER.labels, NUMBER.draw),
        SentenceQuestion("tense", "Is the main clause in the present or in the past tense?", TENSE.labels, TENSE.draw),
        SentenceQuestion("voice", "Is the main clause active or passive?", VOICE.labels, VOICE.draw),
        SentenceQuestion("agent", "Is the agent an animal or a person?", DOERS, draw_agent),
        SentenceQuestion(
            "acceptable", "Is it a sentence, or were two of its words swapped?", ACCEPTABLE, draw_acceptable
        ),
        SentenceQuestion(
            "names",
            "In three words like 'maria sees peter', is the agent a woman or a man?",
            GENDERS,
            draw_names,
            lambda split: len(all_names(split)),
        ),
        SentenceQuestion(
            "roles",
            "Does the second sentence have the roles of the first, swapped roles, or another verb?",
            ROLES,
            draw_roles,
        ),
        SentenceQuestion(
            "content",
            "Does the second sentence have the words of the first, another noun, or another verb?",
            CONTENT,
            draw_content,
        ),
    ]
}


def labelled(name: str, *, seed: int, train: int, valid: int, test: int) -> LabelledDataset:
    """Examples of a built-in question, so many or all if there are fewer.

    >>> labelled("names", seed=1, train=2, valid=2, test=2).train[0].words
    ('maria', 'chases', 'peter')
    """
    question = look_up("question", name, QUESTIONS)
    sizes = dict(zip(SPLITS, (train, valid, test), strict=True))
    return LabelledDataset(
        name, question.labels, **{split: _examples(question, seed, split, n) for split, n in sizes.items()}
    )


def _examples(question: SentenceQuestion, seed: int, split: str, size: int) -> tuple[Example, ...]:
    """Examples of one split, none twice. A larger number begins with the same ones."""
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
        pairs = zip(sentences, question.labels, strict=True)
        unit_examples = [Example(sentence.words, label) for sentence, label in pairs]
        # In a random order, so that the place of an example does not reveal its label.
        examples += Stream(seed, "order", question.name, split, unit).shuffle(unit_examples)
    return tuple(examples)


def read_labelled(path: Path, *, limit: int | None = None) -> LabelledDataset:
    """Read a question from a file: a label, a tab and a text on every line.

    A first line that says "label" is a heading. Of more than `limit` lines some are kept, chosen by their text alone:
    files are often sorted, so the first ones would be a biased sample.
    """
    if limit is not None and limit < 1:
        raise UserError(f"{limit} lines of {path} are too few; keep at least 1")
    filled = ((number, line) for number, line in numbered_lines(path) if line.strip())
    lines = [(number, *_read(line, f"line {number} of {path}")) for number, line in filled]
    if lines and lines[0][0] == 1 and lines[0][1].lower() == "label":
        lines = lines[1:]
    if limit is not None:
        lines = sorted(nsmallest(limit, lines, key=lambda line: mix(fnv(" ".join(line[2])))))
    if not lines:
        raise UserError(f"{path} holds no sentences; write label<TAB>text, one per line")
    labels = tuple(sorted({label for _, label, _ in lines}))
    if len(labels) == 1:
        raise UserError(f"every line of {path} has the label '{labels[0]}'; a question needs at least two")
    splits: dict[str, list[Example]] = {split: [] for split in SPLITS}
    for _, label, words in lines:
        splits[file_split_of(" ".join(words))].append(Example(words, label))
    for split, examples in splits.items():
        if not examples:
            raise UserError(f"none of the {len(lines)} lines of {path} is of the {split} split; {TENTHS}")
    learnt = {example.label for example in splits["train"]}
    for label in labels:
        if label not in learnt:
            raise UserError(f"no training line of {path} has the label '{label}'; give more lines with it")
    return LabelledDataset(path.stem, labels, **{split: tuple(examples) for split, examples in splits.items()})


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
