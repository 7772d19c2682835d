"""The study of row sums: what its runs measure slot by slot, and what its claims make of tables."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from wherewhat.errors import UserError
from wherewhat.jobs.job import JobContext
from wherewhat.runs.registry import StudyRun
from wherewhat.studies.engine.lengths import mean_rows
from wherewhat.studies.engine.results import ResultTable, Row, table_of
from wherewhat.studies.pages import page_of_study
from wherewhat.studies.reproduce import reproduce
from wherewhat.studies.row_sums.claims import CLAIMS
from wherewhat.studies.row_sums.names import ADDED, ALL, BOUND, FIRST_HALF, LONGER, TASKS, name_of
from wherewhat.studies.row_sums.run import run
from wherewhat.studies.row_sums.settings import ARMS, SCALES, RowSumCondition, RowSumScale, conditions
from wherewhat.tasks.slots import EvenTask, PositionTask
from wherewhat.training.loop import train
from wherewhat.training.slot_training import right_slots

MICRO = RowSumScale(
    position=PositionTask(tokens=8, n_tok=4),
    even=EvenTask(tokens=8, n_tok=4),
    encodings=("none", "rope", "urpe over t5_bias", "learned"),
    layers=1,
    width=8,
    heads=2,
    position_steps=2,
    even_steps=3,
    batch=4,
    learning_rate=1e-2,
    samples=30,
    texts=2,
    seeds=1,
)


def rows_of(condition: RowSumCondition, tmp_path: Path) -> list[Row]:
    return run(condition, MICRO, 3, JobContext(tmp_path, lambda *_, **__: None))


def test_the_rows_tell_which_slots_are_right(tmp_path: Path) -> None:
    condition = RowSumCondition("even", "urpe over t5_bias")
    rows = rows_of(condition, tmp_path)
    net = train(MICRO.training(condition, 3)).net
    right_NT = right_slots(net, MICRO.even, seed=4, samples=30)
    ours = {row[2]: row[6] for row in rows if row[0] == "accuracy"}
    assert ours[ALL] == pytest.approx(right_NT.mean()) and ours[FIRST_HALF] == pytest.approx(right_NT[:, :4].mean())
    by_slot = [row[6] for row in rows if row[0] == "slot"]
    assert by_slot == pytest.approx(right_NT.mean(0).tolist())
    longer_NT = right_slots(net, replace(MICRO.even, tokens=12), seed=4, samples=30)
    assert ours[LONGER] == pytest.approx(longer_NT[:, :4].mean())
    logits_TV = net(torch.zeros((1, 8), dtype=torch.int64))[0].detach().numpy()
    spread = np.abs(logits_TV - logits_TV.mean(0)).max() / np.abs(logits_TV).max()
    assert [row[6] for row in rows if row[0] == "constant"] == pytest.approx([spread], rel=1e-3, abs=1e-6)
    assert {row[5] for row in rows if row[0] == "heads"} >= {"entropy", "input.position_share"}


def test_an_encoding_that_knows_no_longer_inputs_refuses_them(tmp_path: Path) -> None:
    rows = rows_of(RowSumCondition("position", "learned"), tmp_path)
    assert [row[6] for row in rows if row[0] == "refused"] == [1.0]
    assert not [row for row in rows if row[2] == LONGER and row[0] == "accuracy"]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> StudyRun:
    before = SCALES["tiny"]
    SCALES["tiny"] = MICRO
    try:
        return reproduce("row-sums", folder=tmp_path_factory.mktemp("study") / "runs", engine="inline")
    finally:
        SCALES["tiny"] = before


def test_the_page_is_drawn_without_torch(outcome: StudyRun, tmp_path: Path) -> None:
    outcome.save(tmp_path / "out")
    code = (
        "import sys\nimport wherewhat as ww\n"
        f"ww.load({str(tmp_path / 'out')!r}).report({str(tmp_path / 'again.html')!r})\n"
        "assert 'torch' not in sys.modules, 'torch was imported'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    text = (tmp_path / "again.html").read_text()
    for words in ("What row sums forbid", "urpe over t5_bias", "refused", "No net with free factors has solved"):
        assert words in text


def test_a_table_without_tests_is_refused(outcome: StudyRun) -> None:
    with pytest.raises(
        UserError, match="the table has no task that was tested; run `wherewhat reproduce row-sums` again"
    ):
        page_of_study(outcome.result.clear(), outcome.manifest)


def test_every_kind_of_encoding_is_in_every_scale() -> None:
    for scale in SCALES.values():
        assert {ARMS[name].kind for name in scale.encodings} >= {BOUND, ADDED}
        for condition in conditions(scale)[:3]:
            scale.training(condition, 0)
    assert len(conditions(SCALES["small"])) == 18


# Claims ------------------------------------------------------------------------------------------------------------


def world(bound: float, free: float, added: float, *, spread: float = 1e-7, ends: float = 0.0) -> ResultTable:
    """A study in which encodings of each kind have these accuracies in both tasks."""
    rows: list[Row] = []
    scale = replace(SCALES["small"], position=PositionTask(tokens=16, n_tok=4))
    for task in TASKS:
        for name in scale.encodings:
            kind = ARMS[name].kind
            value = {BOUND: bound, ADDED: added}.get(kind, free)
            subject = name_of(task, name)
            for item in (ALL, FIRST_HALF):
                rows.append(("accuracy", subject, item, None, 0, "accuracy", value, value, value))
            rows.append(("constant", subject, "", None, 0, "spread", spread if kind == BOUND else 0.5, None, None))
            for slot in range(16):
                share = value + (ends if slot in (0, 1, 14, 15) else 0.0)
                rows.append(("slot", subject, "", float(slot), 0, "accuracy", share, None, None))
            if name == "urpe over t5_bias":
                rows.append(("accuracy", subject, LONGER, None, 0, "accuracy", free, free, free))
    table = table_of(rows, scale=scale)
    return table.extended(mean_rows(table.rows.rows()))


def verdicts(table: ResultTable) -> dict[str, str]:
    return {name: claim.test(table).verdict for name, claim in CLAIMS.items()}


def test_the_expected_table_agrees() -> None:
    assert verdicts(world(0.06, 1.0, 1.0, ends=0.1)) == {
        "equal tokens": "agrees",
        "which slot": "agrees",
        "even places": "agrees",
        "ends": "seen",
        "longer": "seen",
    }


def test_the_opposite_table_disagrees() -> None:
    table = verdicts(world(1.0, 0.2, 1.0, spread=0.5))
    assert {table[name] for name in ("equal tokens", "which slot", "even places")} == {"disagrees"}
    assert table["ends"] == "not seen"


def test_a_table_of_nothing_learnt_decides_nothing() -> None:
    table = verdicts(world(0.06, 0.06, 0.06))
    assert (table["which slot"], table["even places"], table["longer"]) == ("unknown", "unknown", "unknown")
    assert table["equal tokens"] == "agrees"  # that holds before training too
