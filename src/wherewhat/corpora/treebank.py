"""Universal Dependencies as a corpus: CoNLL-U files with tags and dependencies made by people, and roles if marked."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from wherewhat.corpora.arcs import circle
from wherewhat.corpora.base import Files
from wherewhat.corpora.files import numbered_lines
from wherewhat.corpora.propositions import Syntax, marks_of, predicates_of_words
from wherewhat.corpora.sentence import Annotation, Sentence
from wherewhat.errors import UserError

COLUMNS = 10
MISSING = "_"  # what nobody told; of the word "_" it is the lemma
NUMBERS = {"Sing": "sg", "Plur": "pl"}
Token = dict[str, Any]


@dataclass(frozen=True)
class Treebank(Files):
    """Sentences of CoNLL-U files. A word is a syntactic word ("do", "n't"); empty nodes are left out.

    Roles are known where a file of Universal Propositions marks them.
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
    """How to read a line, by its number; what cannot be read is named by it."""
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
    lines: list[tuple[int, Token]] = field(default_factory=list)  # number, and what the line says
    id: str = ""

    def note(self, comment: str) -> None:
        """Take down what the sentence is called."""
        key, _, value = comment[1:].partition("=")
        if key.strip() == "sent_id":
            self.id = value.strip()

    def sentence(self) -> Sentence:
        """The sentence, after a check that its words are counted and hang together in a tree."""
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
        self._check_arcs(words)
        self._check_columns(words)
        # A blank inside a word (some languages have them) would make two words of it when the sentence is read as text.
        forms = tuple("_".join(token["form"].split()) for _, token in words)
        work_out = partial(_annotation, [token for _, token in self.lines], self.id)
        return Sentence(forms, f"{self.path.name} line {words[0][0]}", work_out)

    def _check_written(self, size: int) -> None:
        """Every word is written somehow, and ranges ("12-13") hold words that follow them, none twice."""
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
                told = f"has the range {id[0]}-{id[2]} after word {word} of {size}"
                raise UserError(f"{where} {told}; let ranges stand before their first word and end with their last")
            else:
                inside = id[2]

    def _check_arcs(self, words: Sequence[tuple[int, Token]]) -> None:
        if around := circle([token["head"] for _, token in words]):
            path = " to ".join(str(place + 1) for place in [*around, around[0]])
            number = words[around[0]][0]
            raise UserError(f"line {number} of {self.path} has a head that leads back to it ({path}); mend the line")

    def _check_columns(self, words: Sequence[tuple[int, Token]]) -> None:
        columns = [(number, len(token["cells"])) for number, token in words]
        first, most = columns[0]
        for number, others in columns:
            if others != most:
                told = f"has {others} columns and the first word of its sentence {most}"
                raise UserError(f"line {number} of {self.path} {told}; mend the line")
        if most > COLUMNS and marks_of([token for _, token in words]) is None:
            told = f"begins a sentence with {most} columns, and CoNLL-U has {COLUMNS} and then one for every predicate"
            raise UserError(f"line {first} of {self.path} {told}; mend the lines")


def _annotation(tokens: list[Token], id: str) -> Annotation:
    words = [token for token in tokens if isinstance(token["id"], int)]
    raw, places = _written(tokens)
    syntax = _syntax(words)
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


def _syntax(words: Sequence[Token]) -> Syntax:
    of = {name: [word[name] for word in words] for name in ("upos", "head", "deprel")}
    lemma = ["" if word["lemma"] == MISSING != word["form"] else word["lemma"] for word in words]
    return Syntax(**of, lemma=lemma, passive=[(word["feats"] or {}).get("Voice") == "Pass" for word in words])


def _written(tokens: list[Token]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The text as it was written, and from where to where each word stands in it.

    A range line ("12-13 don't") says how its members are written together: they share its place.
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
