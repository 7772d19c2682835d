"""Sentences with the right answer beside them: one or two trees and a label, as classifiers are judged by."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wherewhat.corpora.brackets import read_tree
from wherewhat.corpora.files import numbered_lines
from wherewhat.corpora.sentence import Sentence
from wherewhat.errors import UserError

PARSES = ("sentence1_parse", "sentence2_parse")
LABEL = "gold_label"
UNDECIDED = "-"  # the label of pairs that people did not agree on
NO_LABEL = "people did not agree on the label"
LINE = "write label<TAB>(S ...), and for a pair a second tree after another tab"
FIELDS = f"lines of SNLI have {LABEL}, {PARSES[0]} and {PARSES[1]}"


@dataclass(frozen=True)
class Case:
    """One sentence, or a premise and what may follow from it, and the right answer."""

    sentences: tuple[Sentence, ...]
    label: str
    where: str = ""  # file and line, or split and number


def read_cases(path: Path, *, skipped: Counter[str] | None = None) -> list[Case]:
    """The cases of a file: JSON lines as SNLI and MultiNLI have them, or lines of a label and one tree or two.

    Pairs without a label that people agreed on are left out, and counted in `skipped`.
    """
    skipped = Counter() if skipped is None else skipped
    cases, filled = list[Case](), 0
    for number, line in numbered_lines(path):
        if line.strip() and not (not filled and _is_heading(line)):
            filled += 1
            label, trees = _told(line, f"line {number} of {path}")
            if label == UNDECIDED:
                skipped[NO_LABEL] += 1
            else:
                cases.append(_case(label, trees, path, number))
    if not cases:
        what = f"every one of the {filled} lines of {path} is without a label" if filled else f"{path} holds no cases"
        raise UserError(f"{what}; {LINE}, or give a .jsonl file of SNLI")
    return cases


def _is_heading(line: str) -> bool:
    return line.partition("\t")[0].strip().lower() == "label"


def _case(label: str, trees: Mapping[str, str], path: Path, number: int) -> Case:
    where = f"{path.name} line {number}"
    read = [read_tree(text, f"{which} of line {number} of {path}") for which, text in trees.items()]
    return Case(tuple(tree.sentence(where) for tree in read), label, where)


def _told(line: str, where: str) -> tuple[str, Mapping[str, str]]:
    """A label, and trees by what to call them."""
    return _of_json(line, where) if line.lstrip().startswith("{") else _of_columns(line, where)


def _of_json(line: str, where: str) -> tuple[str, Mapping[str, str]]:
    try:
        fields: dict[str, Any] = json.loads(line)
    except json.JSONDecodeError as error:
        raise UserError(f"{where} is not JSON ({error.msg} at column {error.colno}); mend the line") from None
    for name in (LABEL, *PARSES):
        if not isinstance(fields.get(name), str) or not fields[name].strip():
            raise UserError(f"{where} has no {name}; {FIELDS}")
    return fields[LABEL], {name: fields[name] for name in PARSES}


def _of_columns(line: str, where: str) -> tuple[str, Mapping[str, str]]:
    label, *trees = (cell.strip() for cell in line.rstrip("\t").split("\t"))
    if not label or not 1 <= len(trees) <= 2:
        what = f"{len(trees)} tree(s) behind its label" if label else "no label"
        raise UserError(f"{where} has {what}; {LINE}")
    return label, dict(zip(("the first tree", "the second tree"), trees, strict=False))
