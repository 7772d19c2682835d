"""Cases: trees with their labels, as SNLI has them or in columns, and what is said of lines that are none."""

import json
from collections import Counter
from pathlib import Path

import pytest

from wherewhat.corpora.annotated_examples import NO_LABEL, read_annotated_examples
from wherewhat.errors import UserError

PREMISE = "(ROOT (S (NP (DT A) (NN man)) (VP (VBZ sleeps)) (. .)))"
OTHER = "(ROOT (S (NP (DT Nobody)) (VP (VBZ sleeps))))"
PAIR = {"gold_label": "contradiction", "sentence1_parse": PREMISE, "sentence2_parse": OTHER, "captionID": "1"}


def file(folder: Path, *lines: str) -> Path:
    path = folder / "snli.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_pairs_are_read_and_those_without_an_agreed_label_are_counted(tmp_path: Path):
    undecided = json.dumps(PAIR | {"gold_label": "-"})
    skipped: Counter[str] = Counter()
    path = file(tmp_path, undecided, json.dumps(PAIR), "", undecided, json.dumps(PAIR | {"gold_label": "neutral"}))
    first, second = read_annotated_examples(path, skipped=skipped)
    assert skipped == {NO_LABEL: 2}
    assert (first.label, first.where, second.label) == ("contradiction", "snli.jsonl line 2", "neutral")
    assert [one.text for one in first.sentences] == ["A man sleeps .", "Nobody sleeps"]
    assert first.sentences[0].spans[2] == ("NP", 0, 2) and first.sentences[1].where == "snli.jsonl line 2"
    assert len(read_annotated_examples(path)) == 2


def test_columns_hold_one_tree_or_two(tmp_path: Path):
    found = read_annotated_examples(file(tmp_path, "label\ttree", f"good\t{PREMISE}", f"bad\t{PREMISE}\t{OTHER}\t"))
    assert [(one.label, len(one.sentences)) for one in found] == [("good", 1), ("bad", 2)]


def without(name: str) -> str:
    return json.dumps({field: value for field, value in PAIR.items() if field != name})


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"gold_label": ', r"line 2 of .*snli.jsonl is not JSON \(Expecting value at column 16\); mend the line"),
        (without("gold_label"), "line 2 of .*snli.jsonl has no gold_label; lines of SNLI have gold_label, sentence1"),
        (without("sentence2_parse"), "line 2 of .*snli.jsonl has no sentence2_parse; lines of SNLI"),
        (json.dumps(PAIR | {"sentence1_parse": 3}), "line 2 of .*snli.jsonl has no sentence1_parse"),
        (json.dumps(PAIR | {"sentence1_parse": "(S (NN a)"}), "sentence1_parse of line 2 of .* is never closed"),
        (
            json.dumps(PAIR | {"sentence1_parse": "( ( The cat ) ( is ( asleep . ) ) )"}),
            "sentence1_parse of line 2 of .*snli.jsonl has brackets without labels inside it",
        ),
        ("good", r"line 2 of .*snli.jsonl has 0 tree\(s\) after its label; write label<TAB>\(S ...\)"),
        (f"good\t{OTHER}\t{OTHER}\t{OTHER}", r"line 2 of .*snli.jsonl has 3 tree\(s\) after its label"),
        (f"\t{OTHER}", "line 2 of .*snli.jsonl has no label; write"),
        ("good\ta dog", "the first tree of line 2 of .*snli.jsonl is not a bracketed tree"),
        (f"good\t{OTHER}\t(S (NP))", "the second tree of line 2 of .*snli.jsonl has a bracket with nothing but 'NP'"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str, says: str):
    with pytest.raises(UserError, match=says):
        read_annotated_examples(file(tmp_path, json.dumps(PAIR), line))


def test_a_file_without_cases_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match="snli.jsonl holds no examples; write label"):
        read_annotated_examples(file(tmp_path, "", "label\ttree"))
    with pytest.raises(UserError, match="none of the 2 lines of .*snli.jsonl has a label; write label"):
        read_annotated_examples(file(tmp_path, *[json.dumps(PAIR | {"gold_label": "-"})] * 2))
