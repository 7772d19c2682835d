"""What the page of locality and symmetry says: the study's answers and no other, in numbers that both write alike."""

import re
from html import unescape
from typing import Any

import pytest
from dict_manifests import page_of_locality
from synthetic_locality import ASKED, HELPS, HURTS, locality_run

from wherewhat.report.blocks.numbers import plain, points, side
from wherewhat.report.core.page import Chart, Page
from wherewhat.stats.estimate import Estimate
from wherewhat.studies.locality.claims import CLAIMS

WHERE = {"locality": "answer", "symmetry": "answer", "decoder": "decoders", "leaning": "leaning"}
ENDS = ((0.0312, -0.004, 0.066), (0.01, 0.0002, 0.02), (-0.00004, -0.02, -0.000001), (0.5, 0.5, 0.5), (0.0, -0.1, 0.1),
        (0.02, 1e-12, 0.04), (-0.3, -0.5, -0.1), (0.02, None, None), (0.0, 0.0, 0.0))  # fmt: skip
Row = dict[str, Any]


def page(answers: object, world: Any = HELPS) -> Page:
    result, manifest = locality_run(world)
    return page_of_locality(result, {**manifest, "about": {**manifest["about"], "answers": answers}})


def section(page: Page, name: str) -> str:
    (its,) = (one for one in page.sections if one.name == name)
    return f"{its.lede}\n{unescape(re.sub(r'<[^>]+>', ' ', str(its.body)))}"


def row(numbers: tuple[float | None, ...]) -> Row:
    return dict(zip(("value", "low", "high"), numbers, strict=True))


@pytest.mark.parametrize("name", ASKED)
def test_answers_are_those_of_the_study_word_for_word(name: str) -> None:
    told = {one: {"lead": f"Lead {one} & so", "rest": f"Rest {one} < 3."} for one in ASKED}
    made = section(page(told), WHERE.get(name, name))
    assert f"Lead {name} & so." in made.partition("\n")[0]  # before anything else
    assert f"Rest {name} < 3." in made


def test_the_same_answers_are_printed_whatever_the_numbers_are() -> None:
    told = {one: {"lead": "Nothing can be told.", "rest": "Too few."} for one in ASKED}
    for world in (HELPS, HURTS):
        for name in ("answer", "decoders", "leaning", "stability"):
            words = section(page(told, world), name)
            assert not re.search(r"\b(helps|hurts|clearly)\b", words), words


@pytest.mark.parametrize("answers", [None, {}])
def test_without_answers_there_are_charts_alone(answers: object) -> None:
    made = page(answers)
    for name in ("answer", "decoders", "leaning", "stability"):
        words = section(made, name)
        assert not re.search(r"\b(helps|hurts|clearly|Some of it)\b", words) and words.partition("\n")[0]
    assert isinstance(made.chart("lines"), Chart)


@pytest.mark.parametrize("numbers", ENDS)
def test_page_and_study_write_a_number_alike(numbers: tuple[float, float | None, float | None]) -> None:
    theirs = Estimate(*(number for number in numbers if number is not None))
    ours = row(numbers)
    assert points(ours) == theirs.points() and plain(ours) == theirs.plain()
    assert side(ours) == {1: "above", -1: "below", 0: "unclear"}[theirs.side]


@pytest.mark.parametrize("numbers", [ends for ends in ENDS if ends[1] is not None])
def test_no_end_is_rounded_onto_nothing_or_across(numbers: tuple[float, float, float]) -> None:
    for told in (points(row(numbers)), plain(row(numbers))):
        written = [float(one.replace("−", "-")) for one in re.findall(r"[+−]?\d+\.\d+", told)]
        for number, seen in zip(numbers, written, strict=False):
            assert (seen > 0) == (number > 1e-9) and (seen < 0) == (number < -1e-9), told


def test_page_and_study_agree_on_what_they_call_things() -> None:
    assert {name for name, claim in CLAIMS.items() if claim.answers} == set(ASKED)


def test_a_full_stop_of_an_older_run_is_not_doubled() -> None:
    told = {one: {"lead": f"Lead {one}.", "rest": ""} for one in ASKED}
    assert section(page(told), "decoders").startswith("Lead decoder.\n")
