"""What the claims about attribution make of tables."""

import pytest

from wherewhat.studies.attribution.claims import CLAIMS
from wherewhat.studies.attribution.names import (
    ATTNLRP,
    CP_LRP,
    EVEN,
    INDEX,
    ON_SLOT,
    ORDER,
    POSITION,
    POSITION_SHARE,
    POSITIVE,
    RANDOM,
    RELEASED,
    RETRIEVAL,
    ROLLOUT,
    SIGNED,
    SLOTS,
    against,
)
from wherewhat.studies.attribution.settings import SCALES, conditions
from wherewhat.studies.engine.results import ResultTable, Row, table_of

SCALE = SCALES["tiny"]
Ends = tuple[float, float, float]
BETTER, WORSE, OPEN = (0.05, 0.01, 0.09), (-0.05, -0.09, -0.01), (0.01, -0.02, 0.04)


def world(
    gains: dict[str, Ends], *, slots: dict[str, tuple[Ends, Ends]] | None = None, pairs: float = 0.02
) -> ResultTable:
    """A study in which a method exceeds AttnLRP by so much on all texts, and all exceed random orders but rollout's."""
    rows: list[Row] = []
    for condition in conditions(SCALE):
        name = condition.name
        for method, ends in {
            SIGNED: OPEN,
            POSITIVE: OPEN,
            POSITION: OPEN,
            CP_LRP: WORSE,
            ROLLOUT: WORSE,
            **gains,
        }.items():
            for measure in ("abpc", "miou"):
                own = gains.get(f"{method} {name} {measure}", gains.get(f"{method} {name}", ends))
                rows.append((against(ATTNLRP), name, method, None, None, measure, *own))
        for method in (ATTNLRP, POSITION, ROLLOUT):
            for measure in ("abpc", "miou"):
                ends = gains.get(f"{method} above random", (0.7, 0.6, 0.8))
                rows.append((against(RANDOM), name, method, None, None, measure, *ends))
        rows.append((ORDER, name, SIGNED, None, None, "texts", float(pairs > 0), None, None))
        rows.append((ORDER, name, SIGNED, None, None, "pairs", pairs, None, None))
    for task, (size, on_slot) in (slots or {}).items():
        for measure, ends in ((POSITION_SHARE, size), (ON_SLOT, on_slot), (EVEN, (0.04, None, None))):
            rows.append((SLOTS, task, "", None, None, measure, *ends))  # type: ignore[arg-type]
    return table_of(rows, conditions(SCALE), SCALE)


def around(value: float) -> Ends:
    return value, value - 0.02, value + 0.02


EXPECTED = {INDEX: (around(0.6), around(0.5)), RETRIEVAL: (around(0.2), around(0.2))}


def verdicts(table: ResultTable) -> dict[str, str]:
    return {name: claim.test(table).verdict for name, claim in CLAIMS.items()}


def test_the_expected_table_agrees() -> None:
    assert verdicts(world({RELEASED: BETTER}, slots=EXPECTED)) == {
        "order": "agrees",
        "segments": "agrees",
        "random": "agrees",
        "constant attention": "agrees",
        "rollout": "agrees",
        "positions alone": "seen",
        "slot": "seen",
        "other order": "seen",
    }


@pytest.mark.parametrize(
    ("gains", "expected"),
    [
        ({RELEASED: BETTER, f"{RELEASED} {INDEX}": OPEN}, "in part"),
        ({RELEASED: OPEN, f"{RELEASED} {INDEX}": WORSE}, "disagrees"),
        ({RELEASED: OPEN}, "unknown"),
        ({RELEASED: WORSE}, "disagrees"),
    ],
)
def test_the_released_scores_decide_whether_positions_help(gains: dict[str, Ends], expected: str) -> None:
    table = world(gains)
    assert verdicts(table)["order"] == verdicts(table)["segments"] == expected


def test_curves_and_segments_are_judged_apart() -> None:
    gains = {RELEASED: BETTER, **{f"{RELEASED} {each.name} miou": OPEN for each in conditions(SCALE)}}
    assert (verdicts(world(gains))["order"], verdicts(world(gains))["segments"]) == ("agrees", "unknown")


def test_other_ways_of_scoring_are_listed() -> None:
    verdict = CLAIMS["order"].test(world({RELEASED: OPEN, SIGNED: WORSE, f"{SIGNED} {INDEX}": BETTER}))
    assert "signed: better on index, worse on retrieval, number and letter" in verdict.ours
    assert verdict.ours.endswith("positive: no clear difference") and "signed" not in verdict.short


def test_a_method_no_better_than_random_is_told() -> None:
    gains = {RELEASED: OPEN, f"{ATTNLRP} above random": OPEN, f"{POSITION} above random": WORSE}
    assert verdicts(world(gains))["random"] == "unknown" and verdicts(world(gains))["positions alone"] == "not seen"


def test_rollout_has_to_be_between() -> None:
    assert verdicts(world({RELEASED: OPEN, ROLLOUT: BETTER}))["rollout"] == "in part"
    assert verdicts(world({RELEASED: OPEN, ROLLOUT: OPEN, f"{ROLLOUT} above random": OPEN}))["rollout"] == "unknown"


@pytest.mark.parametrize(
    ("slots", "expected"),
    [
        ({**EXPECTED, RETRIEVAL: (around(0.6), around(0.2))}, "in part"),  # as much positional relevance
        ({INDEX: (around(0.2), around(0.04)), RETRIEVAL: (around(0.6), around(0.5))}, "not seen"),
        ({INDEX: EXPECTED[INDEX]}, "unknown"),
        ({}, "unknown"),
    ],
)
def test_positions_have_to_fall_on_the_slot(slots: dict[str, tuple[Ends, Ends]], expected: str) -> None:
    assert verdicts(world({RELEASED: OPEN}, slots=slots))["slot"] == expected


def test_scores_that_only_shrink_do_not_reorder() -> None:
    assert verdicts(world({RELEASED: OPEN}, pairs=0.0))["other order"] == "not seen"


def test_an_empty_table_decides_nothing() -> None:
    assert set(verdicts(table_of([], conditions(SCALE), SCALE)).values()) == {"unknown"}
