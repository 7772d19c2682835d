"""Why no head is worth a look, said as it is."""

import polars as pl
import pytest
from test_report_where import table

from wherewhat.report.measured import measured
from wherewhat.report.striking import nobody_stands_out, striking

NEAR = (
    "No head is far from chance: where an interval is clear of it, the head is nearer to it than 5 % of the score's "
    "range."
)
UNCLEAR = "No head's interval is clear of chance in any score of attention; more texts would narrow the intervals."
NONE = "None of the scores asked for has a chance level that heads could be held against."
SINGLE = "There are no intervals, so nothing says how sure a number is: give two texts or more."


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
    run = measured(heads, {})
    assert striking(run) == []
    assert nobody_stands_out(run) == sentence
