"""Universal Dependencies as a corpus: CoNLL-U files with gold tags and dependencies, and roles if annotated."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from wherewhat.corpora.base import FileCorpus
from wherewhat.corpora.dependency_tree import find_cycle
from wherewhat.corpora.files import numbered_lines
from wherewhat.corpora.propositions import RoleSyntax, marks_of, predicates_of_words
from wherewhat.corpora.sentence import Annotation, Sentence
from wherewhat.errors import UserError

COLUMNS = 10
MISSING = "_"  # a value that is not given; it is also the lemma of the word "_"
NUMBERS = {"Sing": "sg", "Plur": "pl"}
Token = dict[str, Any]


@dataclass(frozen=True)
class Treebank(FileCorpus):
    """Sentences of CoNLL-U files. A word is a syntactic word ("do", "n't"); empty nodes are left out.

    Roles are read from files of Universal Propositions.
    """

    files: tuple[str, ...]
    name: ClassVar[str] = "treebank"

    def read(self, path: Path) -> Iterator[Sentence]:
        """The sentences between blank lines."""
        parse = _parser(path)
        block = _Block(path)
        for number, line in numbered_lines(path):
            if line.startswith("#"):
                block.note(line)
            elif line.strip():
                block.lines.append((number, parse(number, line)))
            elif block.lines:
                yield block.sentence()
                block = _Block(path)
        if block.lines:
            yield block.sentence()


def _parser(path: Path) -> Callable[[int, str], Token]:
    """A function that parses a line, and names its number if it cannot."""
    try:
        from conllu.exceptions import ParseException
        from conllu.parser import DEFAULT_FIELDS, parse_line
    except ImportError:
        raise UserError(f"{path} needs the conllu library; run: pip install 'wherewhat[data]'") from None

    def parse(number: int, line: str) -> Token:
        where = f"line {number} of {path}"
        cells = line.split("\t")
        if len(cells) < COLUMNS:
            raise UserError(f"{where} has {len(cells)} columns and CoNLL-U has {COLUMNS}; mend the line")
        try:
            token: Token = parse_line("\t".join(cells[:COLUMNS]), DEFAULT_FIELDS)
        except ParseException as error:
            raise UserError(f"{where} is not CoNLL-U ({str(error).rstrip('.')}); mend the line") from None
        token["cells"] = cells
        return token

    return parse


@dataclass
class _Block:
    """One sentence while it is read."""

    path: Path
    lines: list[tuple[int, Token]] = field(default_factory=list)  # number, and the parsed line
    id: str = ""

    def note(self, comment: str) -> None:
        """Read the sentence id from a comment."""
        key, _, value = comment[1:].partition("=")
        if key.strip() == "sent_id":
            self.id = value.strip()

    def sentence(self) -> Sentence:
        """The sentence, after a check that its words are numbered and form a tree."""
        words = [(number, token) for number, token in self.lines if isinstance(token["id"], int)]
        if not words:
            raise UserError(f"line {self.lines[0][0]} of {self.path} begins a sentence without words; mend the lines")
        for place, (number, token) in enumerate(words, start=1):
            where = f"line {number} of {self.path}"
            if token["id"] != place:
                raise UserError(f"{where} should be word {place} and is word {token['id']}; mend the line")
            if token["head"] is None or not 0 <= token["head"] <= len(words):
                raise UserError(f"{where} has no head among the {len(words)} words of its sentence; mend the line")
        self._check_written(len(words))
        if cycle := find_cycle([token["head"] for _, token in words]):
            places, number = " to ".join(str(place + 1) for place in [*cycle, cycle[0]]), words[cycle[0]][0]
            raise UserError(f"line {number} of {self.path} has a head that leads back to it ({places}); mend the line")
        self._check_columns(words)
        # A blank inside a word (some languages have them) would make two words of it when the sentence is read as text.
        forms = tuple("_".join(token["form"].split()) for _, token in words)
        annotate = partial(_annotation, [token for _, token in self.lines], self.id)
        return Sentence(forms, f"{self.path.name} line {words[0][0]}", annotate)

    def _check_written(self, size: int) -> None:
        """Every word has a form, and ranges ("12-13") come before their words and do not overlap."""
        word = inside = 0
        for number, token in self.lines:
            where, id = f"line {number} of {self.path}", token["id"]
            if isinstance(id, tuple) and id[1] == ".":
                continue  # an empty node: not written
            if not token["form"].strip():
                raise UserError(f"{where} has no form (its second column is empty); mend the line")
            if isinstance(id, int):
                word = id
            elif id[0] != word + 1 or id[0] <= inside or id[2] > size:
                wrong = f"has the range {id[0]}-{id[2]} after word {word} of {size}"
                raise UserError(f"{where} {wrong}; put a range before its first word, and end it with its last")
            else:
                inside = id[2]

    def _check_columns(self, words: Sequence[tuple[int, Token]]) -> None:
        columns = [(number, len(token["cells"])) for number, token in words]
        first, most = columns[0]
        for number, others in columns:
            if others != most:
                sizes = f"has {others} columns and the first word of its sentence {most}"
                raise UserError(f"line {number} of {self.path} {sizes}; mend the line")
        if most > COLUMNS and marks_of([token for _, token in words]) is None:
            sizes = f"begins a sentence with {most} columns, and CoNLL-U has {COLUMNS} and then one per predicate"
            raise UserError(f"line {first} of {self.path} {sizes}; mend the lines")


def _annotation(tokens: list[Token], id: str) -> Annotation:
    words = [token for token in tokens if isinstance(token["id"], int)]
    raw, places = _written(tokens)
    syntax = RoleSyntax(
        **{name: [word[name] for word in words] for name in ("upos", "head", "deprel")},
        lemma=["" if word["lemma"] == MISSING != word["form"] else word["lemma"] for word in words],
        passive=[(word["feats"] or {}).get("Voice") == "Pass" for word in words],
    )
    return Annotation(
        lemma=tuple(syntax.lemma),
        upos=tuple(syntax.upos),
        xpos=tuple(word["xpos"] for word in words),
        number=tuple(NUMBERS.get((word["feats"] or {}).get("Number", "")) for word in words),
        case=tuple((word["feats"] or {}).get("Case") for word in words),
        head=tuple(syntax.head),
        deprel=tuple(syntax.deprel),
        preds=predicates_of_words(marks_of(words) or [], syntax),
        id=id,
        raw=raw,
        places=places,
    )


def _written(tokens: list[Token]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The text as it was written, and the place of each word in it.

    A range line ("12-13 don't") says how its words are written together: they share its place.
    """
    raw, places, inside = "", [], 0
    for token in tokens:
        id = token["id"]
        if isinstance(id, tuple) and id[1] == ".":
            continue  # an empty node: not written
        if not isinstance(id, int) or id > inside:
            places_now = (len(raw), len(raw) + len(token["form"]))
            raw += token["form"] + ("" if (token["misc"] or {}).get("SpaceAfter") == "No" else " ")
        if isinstance(id, int):
            places.append(places_now)
        else:
            inside = id[2]
    return raw.rstrip(), tuple(places)
