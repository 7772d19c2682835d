"""Labelled examples with trees: one sentence or a pair, and its label, as classifiers are evaluated on."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wherewhat.corpora.bracketed_trees import read_tree
from wherewhat.corpora.files import numbered_lines
from wherewhat.corpora.sentence import Sentence
from wherewhat.errors import UserError

PARSES = ("sentence1_parse", "sentence2_parse")
LABEL = "gold_label"
UNDECIDED = "-"  # the label of pairs that annotators did not agree on
NO_LABEL = "annotators did not agree on the label"
LINE = "write label<TAB>(S ...), and for a pair a second tree after another tab"
FIELDS = f"lines of SNLI have {LABEL}, {PARSES[0]} and {PARSES[1]}"


@dataclass(frozen=True)
class AnnotatedExample:
    """One sentence, or a premise and a hypothesis, and the label."""

    sentences: tuple[Sentence, ...]
    label: str
    where: str = ""  # file and line, or split and number


def read_annotated_examples(path: Path, *, skipped: Counter[str] | None = None) -> list[AnnotatedExample]:
    """The examples of a file: JSON lines as SNLI and MultiNLI have them, or lines of a label and one tree or two.

    Pairs whose label annotators did not agree on are left out, and counted in `skipped`.
    """
    skipped = Counter() if skipped is None else skipped
    examples, filled = list[AnnotatedExample](), 0
    for number, line in numbered_lines(path):
        heading = not filled and line.partition("\t")[0].strip().lower() == "label"
        if not line.strip() or heading:
            continue
        filled += 1
        label, trees = _label_and_trees(line, f"line {number} of {path}")
        if label == UNDECIDED:
            skipped[NO_LABEL] += 1
            continue
        where = f"{path.name} line {number}"
        read = [read_tree(text, f"{which} of line {number} of {path}") for which, text in trees.items()]
        examples.append(AnnotatedExample(tuple(tree.sentence(where) for tree in read), label, where))
    if not examples:
        what = f"none of the {filled} lines of {path} has a label" if filled else f"{path} holds no examples"
        raise UserError(f"{what}; {LINE}, or give a .jsonl file of SNLI")
    return examples


def _label_and_trees(line: str, where: str) -> tuple[str, Mapping[str, str]]:
    """The label, and the trees by their names."""
    if not line.lstrip().startswith("{"):
        label, *trees = (cell.strip() for cell in line.rstrip("\t").split("\t"))
        if not label or not 1 <= len(trees) <= 2:
            what = f"{len(trees)} tree(s) after its label" if label else "no label"
            raise UserError(f"{where} has {what}; {LINE}")
        return label, dict(zip(("the first tree", "the second tree"), trees, strict=False))
    try:
        fields: dict[str, Any] = json.loads(line)
    except json.JSONDecodeError as error:
        raise UserError(f"{where} is not JSON ({error.msg} at column {error.colno}); mend the line") from None
    for name in (LABEL, *PARSES):
        if not isinstance(fields.get(name), str) or not fields[name].strip():
            raise UserError(f"{where} has no {name}; {FIELDS}")
    return fields[LABEL], {name: fields[name] for name in PARSES}
