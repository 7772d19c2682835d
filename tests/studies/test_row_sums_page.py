"""The page of row sums: what its charts and tables show of a table made by hand."""

import re
from dataclasses import replace

import polars as pl

from wherewhat.studies.engine.results import ResultTable, Row, table_of
from wherewhat.studies.row_sums import page as page_module
from wherewhat.studies.row_sums.halves import filler_sentence, halves_answer
from wherewhat.studies.row_sums.names import (
    ALL,
    BOUND,
    DISTANCE,
    ENTROPY,
    EQUAL,
    FILLER,
    FIRST_HALF,
    FREE,
    LINEAR_FIT,
    LONGER,
    ORDER,
    name_of,
)
from wherewhat.tables.manifest.study import LongAnswer, RowSumsSection

ABOUT = RowSumsSection(
    encodings=("toeplitz", "urpe over toeplitz"),
    kinds={"toeplitz": BOUND, "urpe over toeplitz": FREE},
    tokens={"position": 8, "even": 8},
)


def page_rows() -> ResultTable:
    """A made-up table of two encodings and two seeds, and the means over them."""
    rows: list[Row] = [("baseline", "", "", None, None, "accuracy", 0.2, None, None)]
    for number, name in enumerate(ABOUT.encodings):
        subject = name_of("position", name)
        for seed in (0, 1, None):
            value = 0.1 + 0.5 * number
            rows.append(("accuracy", subject, ALL, None, seed, "accuracy", value, value - 0.05, value + 0.05))
            rows.append(("accuracy", subject, EQUAL, None, seed, "accuracy", 0.125, 0.1, 0.15))
            rows.append(("slot", subject, "", 3.0, seed, "accuracy", 0.3 if seed is None else 0.9, 0.2, 0.4))
        for seed, entropy in ((0, 0.2), (1, 0.6)):
            rows.append(("heads", subject, "L0H0", None, seed, "entropy", entropy, None, None))
    subject = name_of("position", "urpe over toeplitz")
    rows.append(("row sums", subject, "L0H0", None, 0, LINEAR_FIT, 0.97, None, None))
    rows.append(("row sums", subject, "L0H0", None, 1, LINEAR_FIT, 0.11, None, None))
    rows.append(("row sums", subject, "L0H0", None, 0, ENTROPY, 0.99, None, None))
    rows.append((ORDER.part, subject, "", None, None, ORDER.measure, -0.31, -0.4, -0.2))
    rows.append(("refused", subject, LONGER, None, None, "refused", 1.0, None, None))
    even = name_of("even", "toeplitz")
    rows.append(("accuracy", even, FIRST_HALF, None, None, "accuracy", 0.3, 0.2, 0.4))
    rows.append(("accuracy", even, EQUAL, None, None, "accuracy", 0.25, 0.2, 0.4))
    return table_of(rows)


def test_the_chart_of_answers_has_equal_tokens_published_numbers_and_baselines() -> None:
    position, even = (
        [
            (row["mark"], row.get("name"), row["value"])
            for row in page_module.answer_rows(page_rows(), ABOUT, task, item)
        ]
        for task, item in (("position", ALL), ("even", FIRST_HALF))
    )
    assert position == [
        ("chance", None, 1 / 8),
        ("ours", "toeplitz", 0.1),
        ("equal", "toeplitz", 0.125),
        ("published", "toeplitz", 0.1),
        ("ours", "urpe over toeplitz", 0.6),
        ("equal", "urpe over toeplitz", 0.125),
        ("published", "urpe over toeplitz", 1.0),
    ]
    assert even == [("chance", None, 0.2), ("ours", "toeplitz", 0.3)]  # equal tokens are scored in both halves


def test_slots_are_those_of_the_mean_over_seeds() -> None:
    rows = list(page_module.slot_rows(page_rows(), ABOUT, "position"))
    assert rows == [{"name": name, "at": 3.0, "value": 0.3, "low": 0.2, "high": 0.4} for name in ABOUT.encodings]


def cells(html: str) -> list[list[str]]:
    """The text of every cell of the body of a table, row by row."""
    body = html.split("<tbody", 1)[1]
    return [
        [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<t[hd][^>]*>.*?</t[hd]>", row, re.DOTALL)]
        for row in re.findall(r"<tr[^>]*>.*?</tr>", body, re.DOTALL)
    ]


def test_tables_of_the_page_have_published_numbers_and_heads() -> None:
    rows = cells(str(page_module.numbers(page_rows(), ABOUT).body))
    assert rows[0] == ["position, toeplitz", "10.0", "–", "–", "12.5", "–", "10.0", "–", "–", "0.40", "–", "–"]
    assert rows[1][5:8] == ["refused", "100.0", "−0.31"] and rows[2][6] == "55.0"
    heads = cells(str(page_module.head_table(page_rows(), ["urpe over toeplitz"])))
    assert heads == [["urpe over toeplitz, L0H0", "0.97", "0.99", "0.20", "–", "–"]]


def test_published_accuracies_stand_under_the_heading_of_accuracies() -> None:
    above, headings = re.findall(r"<tr[^>]*>.*?</tr>", str(page_module.numbers(page_rows(), ABOUT).body), re.DOTALL)[:2]
    wide = [int(number) for number in re.findall(r'colspan="(\d+)"', above)]
    names = [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<th[^>]*>.*?</th>", headings, re.DOTALL)]
    assert sum(wide) == len(names)
    assert names[wide[0] : wide[0] + wide[1]] == [
        *("all", "first half", "second half", "equal tokens", "longer inputs", "published"),
    ]


def even_rows(name: str, first: list[float], second: list[float], right: list[float], off: list[float]) -> list[Row]:
    """Answers of an encoding in the even task, by slot: shares of the filler, shares that are right, and distances."""
    subject, shares = name_of("even", name), [*first, *second]
    rows: list[Row] = [
        ("accuracy", subject, FIRST_HALF, None, None, "accuracy", sum(right) / len(right), None, None),
        *(
            (FILLER.part, subject, "", float(at), 0, FILLER.measure, share, None, None)
            for at, share in enumerate(shares)
        ),
        *((DISTANCE.part, subject, "", float(at), 0, DISTANCE.measure, far, None, None) for at, far in enumerate(off)),
    ]
    by_slot = enumerate([*right, *second])
    return [*rows, *(("slot", subject, "", float(at), None, "accuracy", share, None, None) for at, share in by_slot)]


def test_a_bias_that_tells_the_halves_apart_is_described_from_its_answers() -> None:
    table = table_of(
        [
            *even_rows("t5_bias", [0.0, 0.001, 0.0], [1.0, 1.0, 1.0], [0.35, 0.48, 1.0], [1.0, 0.0, 0.0]),
            *even_rows("toeplitz", [0.0, 0.04, 0.0], [1.0, 0.998, 1.0], [0.6, 0.5, 0.7], [3.0, 0.0, 0.0]),
            *even_rows("alibi", [1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0], []),
            *even_rows("none", [0.5, 0.5, 0.5], [0.5, 0.5, 0.5], [0.1, 0.1, 0.1], [1.0, 1.0, 1.0]),
            *even_rows("rope", [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0, 0.99, 1.0], [0.0, 0.0, 0.0]),
        ]
    )
    names = ["none", "t5_bias", "toeplitz", "rope", "alibi"]
    answer = halves_answer(table, 6, names)
    assert answer.lead == "In the even task, t5_bias and toeplitz tell the halves apart without solving the first"
    assert answer.rest == (
        "With t5_bias, the filler is at most 0.1 % of the answers in any slot of the first half, and all of them in "
        "every slot of the second. In the slot whose answer is the last token, 100\xa0% of answers are right. In the "
        "other slots of the first half, 35\xa0% to 48\xa0% of answers are right, and the most frequent answer is a "
        "token at most 1 slot from the right one. With toeplitz, the filler is at most 4.0 % of the answers in any "
        "slot of the first half, and at least 99.8 % in every slot of the second. In all slots of the first half, "
        "50\xa0% to 70\xa0% of answers are right, and the most frequent answer is a token at most 3 slots from the "
        "right one."
    )
    assert filler_sentence(table, 6, names) == (
        "Nets that do not tell the halves apart (alibi) lie below this guess: they answer with the filler everywhere, "
        "which is wrong in all of the first half and right in all of the second."
    )
    assert (halves_answer(table, 6, ["rope", "alibi"]), filler_sentence(table, 6, ["rope"])) == (LongAnswer(), "")


def test_the_page_says_what_biases_know_of_the_even_task_and_of_slots() -> None:
    rows = [
        *even_rows("toeplitz", [0.0, 0.0, 0.0, 0.0], [1.0] * 4, [0.3, 0.3, 0.3, 1.0], [0.0] * 4),
        *even_rows("none", [1.0] * 4, [1.0] * 4, [0.0] * 4, []),
    ]
    about = replace(
        ABOUT,
        encodings=(*ABOUT.encodings, "none"),
        kinds={**ABOUT.kinds, "none": BOUND},
        answers={"ends": LongAnswer(lead="Near the ends", rest="By so much.")},
    )
    table = page_rows().extended(rows)
    table = replace(table, rows=table.rows.filter(~((pl.col("item") == FIRST_HALF) & pl.col("low").is_not_null())))
    slots, answer = page_module.slots(table, about), page_module.answer(table, about)
    assert slots.lede == "Near the ends. In the even task, toeplitz tells the halves apart without solving the first."
    assert "By so much." in str(slots.body) and "the filler is at most 0.0 %" in str(slots.body)
    assert "do not tell the halves apart (none) lie below this guess" in str(answer.lede) + str(answer.body)
    guess = "the best guess of a net that knows which half it is in, and nothing else about positions"
    assert guess in str(answer.lede) + str(answer.body)


def test_scores_of_heads_with_urpe_are_explained_wherever_heads_are_shown() -> None:
    for section in (page_module.solution(page_rows(), ABOUT), page_module.numbers(page_rows(), ABOUT)):
        assert "Scores of heads with URPE" in f"{section.lede} {section.body}"


def test_heads_are_in_the_order_of_their_numbers_and_have_colours_of_their_own() -> None:
    subject, heads = name_of("position", "urpe over toeplitz"), [f"L0H{head}" for head in range(12)]
    rows: list[Row] = []
    for head in (*reversed(heads), "L10H0", "L2H0"):
        rows.append(("row sums", subject, head, None, 0, LINEAR_FIT, 0.5, None, None))
        rows += [("row sums", subject, head, float(at), 0, "sum", 1.0 + at, None, None) for at in (10, 2)]
    table = table_of(rows)
    written = [row[0].split(", ")[1] for row in cells(str(page_module.head_table(table, ["urpe over toeplitz"])))]
    assert written == [*heads, "L2H0", "L10H0"]
    of_sums = list(page_module.sum_rows(table, "urpe over toeplitz"))
    assert list(dict.fromkeys(row["name"] for row in of_sums)) == heads
    assert [row["at"] for row in of_sums[:2]] == [2.0, 10.0]
    assert len({str(tint) for tint in page_module.head_tints(heads).values()}) == 12
