"""Why no head is notable, in a sentence that names the cause."""

import polars as pl
import pytest
from dict_manifests import read_head_table
from test_report_where import table

from wherewhat.report.pages.heads.notable_heads import notable_heads, why_no_head_is_notable

NEAR = (
    "No head is far from chance: where an interval excludes chance, the head differs from it by less than 5 % of the "
    "score's range."
)
UNCLEAR = "No head's interval excludes chance in any score of attention; more texts would narrow the intervals."
NONE = "No head is singled out: none of the chosen scores has a chance level to compare with."
SINGLE = "No head is singled out: without intervals, nothing says how reliable a number is. Give two texts or more."


@pytest.mark.parametrize(
    ("heads", "sentence"),
    [
        (table(locality=[(0.52, 0.5), (0.5, 0.5)]), NEAR),
        (table(locality=[(0.505, 0.5), (0.5, 0.5)]), UNCLEAR),
        (table(locality=[(0.9, None), (0.5, None)]), NONE),
        (table(positional=[(0.2, 1.0)]), NONE),
        (
            table(locality=[(0.9, 0.5)]).with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64)),
            SINGLE,
        ),
    ],
)
def test_the_sentence_names_the_cause(heads: pl.DataFrame, sentence: str):
    run = read_head_table(heads, {"scores": {"positional": {"kind": "Published scores"}}})
    assert notable_heads(run) == []
    assert why_no_head_is_notable(run) == sentence
