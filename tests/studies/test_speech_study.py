"""The study of speech: what its runs measure, what a step costs, and what its claims make of tables."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
import torch

from wherewhat.cli.main import main
from wherewhat.corpora.speech.splits import LEADING, NEW_SPEAKER, TEST
from wherewhat.corpora.speech.tones import TouchTones, tone
from wherewhat.corpora.speech.waves import write_wave
from wherewhat.errors import UserError
from wherewhat.jobs.job import JobContext
from wherewhat.nets.build import build
from wherewhat.nets.trunk import Trunk
from wherewhat.report.core.render import render
from wherewhat.runs.registry import StudyRun
from wherewhat.stats.bootstrap import draws
from wherewhat.stats.intervals import student
from wherewhat.studies.engine.results import ResultTable, Row, table_of
from wherewhat.studies.engine.study import Request
from wherewhat.studies.pages import page_of_study
from wherewhat.studies.reproduce import reproduce
from wherewhat.studies.speech.claims import CLAIMS
from wherewhat.studies.speech.cost import activation_bytes, interleaved, parameters
from wherewhat.studies.speech.measures import (
    TOKENS_LATER,
    attention_of,
    error_rows,
    picture_number,
    picture_rows,
    reach_of,
    rows_of_tests,
)
from wherewhat.studies.speech.names import (
    COST,
    EARLY,
    ERROR,
    LATER,
    LONGEST,
    MEMORY,
    NONE,
    PARAMETERS,
    REACH,
    RELATIVE,
    ROPE,
    SINUSOIDS,
    TIME,
    TIME_RATIO,
    TRAINING_BATCH,
    UNIFORM,
    difference,
)
from wherewhat.studies.speech.pictures import decoded_rows
from wherewhat.studies.speech.run import STUDY, difference_rows, run
from wherewhat.studies.speech.settings import ARMS, SCALES, SpeechCondition, SpeechScale, prepare
from wherewhat.training.speech_training import ErrorCount, ctc, error_rate, recognise, utterances

MICRO = SpeechScale(
    recorded=False,
    arms=(ROPE, RELATIVE, NONE),
    width=16,
    layers=2,
    heads=2,
    steps=3,
    batch=4,
    warmup=1,
    samples=6,
    long_samples=4,
    texts=3,
    rounds=2,
    seeds=1,
)


def net_of(arm: str = ROPE) -> Trunk:
    return build(MICRO.training(arm, 0).net, seed=0).eval()


def rows_of(arm: str, tmp_path: Path) -> list[Row]:
    return run(SpeechCondition(arm), MICRO, 3, JobContext(tmp_path, lambda *_, **__: None))


def test_the_rows_tell_errors_heads_and_pictures(tmp_path: Path) -> None:
    rows = rows_of(ROPE, tmp_path)
    parts = {row[0] for row in rows}
    assert parts == {"error", "utterance", "heads", "frequencies", "decoded", "attention"}
    assert {row[2] for row in rows if row[0] == "error"} == {TEST, LEADING, LATER, "10 digits", "15 digits", LONGEST}
    edits, words = (
        sum(row[6] or 0 for row in rows if row[:3] == ("utterance", ROPE, TEST) and row[5] == measure)
        for measure in ("edits", "words")
    )
    (rate,) = (row[6] for row in rows if row[0] == "error" and row[2] == TEST and row[5] == ERROR)
    assert rate == pytest.approx(edits / words)
    reach = {row[2]: row[6] for row in rows if row[0] == "heads" and row[5] == REACH}
    assert reach.keys() == {"L0H0", "L0H1", "L1H0", "L1H1", UNIFORM}


def test_errors_are_those_of_recognition() -> None:
    net, corpus = net_of(), TouchTones()
    counts = recognise(net, corpus, TEST, seed=2, samples=6)
    rows = list(rows_of_tests(net, corpus, {TEST: 6}, seed=2))
    assert rows[0][4] == pytest.approx(error_rate(counts))
    assert [row[4] for row in rows if row[3] == "edits"] == [count.edits for count in counts]


def test_the_interval_of_an_error_rate_resamples_whole_utterances() -> None:
    counts = [ErrorCount(edits, words) for edits, words in ((0, 1), (3, 3), (0, 5), (1, 4), (0, 2), (2, 5))]
    (_, _, _, _, rate, low, high), *_ = error_rows(counts, TEST, 7)
    assert rate == pytest.approx(6 / 20)
    rates = []
    for times_N in draws(6, 7):
        drawn = [count for count, times in zip(counts, times_N, strict=True) for _ in range(times)]
        rates.append(sum(count.edits for count in drawn) / sum(count.words for count in drawn))
    assert (low, high) == pytest.approx(tuple(np.quantile(rates, [0.025, 0.975])))
    (_, _, _, _, rate, low, high), *_ = error_rows([ErrorCount(0, 3)] * 10, TEST, 7)
    assert (rate, low, high) == pytest.approx((0, 0, 3 / 30))  # of none of 30 words, not of none at all


@pytest.mark.parametrize("arm", list(ARMS))
def test_later_positions_change_what_depends_on_where_an_utterance_begins(arm: str) -> None:
    net, batch = net_of(arm).double(), utterances(TouchTones(), 1, TEST, range(4))
    with torch.no_grad():
        plain, later = (net.hidden(batch.frames_BTG.double(), batch.real_BT, first=at) for at in (0, TOKENS_LATER))
    moved = (plain - later)[batch.real_BT].abs().max()
    assert moved < 1e-4 if ARMS[arm].shifts else moved > 1e-2  # rotary angles are float32
    rows = list(rows_of_tests(net.float(), TouchTones(), {TEST: 4, LATER: 4}, seed=2))
    rates = [row[4] for row in rows if row[3] == ERROR]
    assert len(rates) == 2 and (rates[0] == rates[1] or not ARMS[arm].shifts)


@torch.no_grad()
def test_reach_is_the_mean_distance_weighed_by_attention() -> None:
    net, corpus = net_of(), TouchTones()
    frames_BTG = utterances(corpus, 1, TEST, [0]).frames_BTG
    layers, plain = attention_of(net, frames_BTG), net.hidden(frames_BTG)
    assert torch.equal(net.hidden(frames_BTG), plain)  # it is as it was
    assert all(torch.allclose(layer.sum(-1), torch.ones(())) for layer in layers)
    attention_QK, total = layers[1][0], 0.0
    for query, row in enumerate(attention_QK.tolist()):
        total += sum(weight * 40 * abs(query - key) for key, weight in enumerate(row)) / len(attention_QK)
    assert float(reach_of(layers[1])[0]) == pytest.approx(total, rel=1e-5)


def test_pictures_show_one_utterance() -> None:
    rows = list(picture_rows(net_of(), TouchTones()))
    by_token: dict[float, float] = {}
    for part, _, at, _, value, _, _ in rows:
        if part == "decoded":
            by_token[at or 0.0] = by_token.get(at or 0.0, 0.0) + (value or 0.0)
    assert all(0.85 < total < 1.01 for total in by_token.values())
    (name,) = {row[3] for row in rows if row[0] == "attention"}
    frames_BTG = utterances(TouchTones(), 1, TEST, [picture_number(TouchTones())]).frames_BTG
    maps = {
        f"L{layer}H{head}": attention_QK
        for layer, attention_HQK in enumerate(attention_of(net_of(), frames_BTG))
        for head, attention_QK in enumerate(attention_HQK)
    }
    assert name == min(maps, key=lambda each: torch.special.entr(maps[each]).sum(-1).mean().item())
    for part, query, at, _, value, _, _ in rows:
        if part == "attention":
            slots = (round(float(query) / 0.04), round((at or 0.0) / 0.04))
            assert value == pytest.approx(maps[name][slots].item(), abs=1e-4)


def test_relative_positions_have_the_weights_that_were_published_and_keep_more() -> None:
    rope, relative = (build(MICRO.training(arm, 0).net, seed=0).train() for arm in (ROPE, RELATIVE))
    assert parameters(relative) - parameters(rope) == MICRO.layers * (16 * 16 + 2 * 16)
    batch = utterances(TouchTones(), 1, LONGEST, range(2))
    assert activation_bytes(rope, batch) == activation_bytes(rope, batch) < activation_bytes(relative, batch)
    times = interleaved({ROPE: rope, RELATIVE: relative}, batch, rounds=2, steps=1)
    assert [len(rounds) for rounds in times] == [2, 2] and min(map(min, times)) > 0


@pytest.mark.parametrize("arm", [ROPE, RELATIVE])
def test_memory_is_the_peak_of_a_step_by_the_profiler(arm: str) -> None:
    """Of a net as wide as those of the study: in a narrow one, a convolution's backward pass needs more."""
    net = build(SCALES["tiny"].training(arm, 0).net, seed=0).train()
    batch = utterances(TouchTones(), 1, LONGEST, range(4))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as watch:
        ctc(net(batch.frames_BTG, batch.real_BT), batch).backward()
    events = [event for event in watch.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = np.cumsum([event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())])
    assert activation_bytes(net, batch) == pytest.approx(int(held.max()), rel=0.05)


def test_the_cost_is_measured_in_one_run(tmp_path: Path) -> None:
    rows = rows_of(COST, tmp_path)
    measures = {(row[1], row[2], row[5]) for row in rows}
    for batch in (TRAINING_BATCH, LONGEST):
        assert {(arm, batch, measure) for arm in (ROPE, RELATIVE) for measure in (TIME, MEMORY)} <= measures
        assert (ROPE, batch, TIME_RATIO) in measures
    assert {(arm, TRAINING_BATCH, PARAMETERS) for arm in (ROPE, RELATIVE)} <= measures


@pytest.fixture(scope="module")
def study_run() -> StudyRun:
    SCALES["micro"] = MICRO
    try:
        return reproduce("speech", scale="micro", engine="inline")
    finally:
        del SCALES["micro"]


def test_the_study_runs_to_its_page(study_run: StudyRun) -> None:
    manifest = study_run.manifest
    assert len(manifest.claims) == len(CLAIMS) and list(manifest.about.arms) == [ROPE, RELATIVE, NONE]
    page = page_of_study(study_run.result, manifest)
    assert [section.name for section in page.sections][:3] == ["answer", "picture", "longer"]
    assert "RoPE" in render(page) and page.title == "Rotary positions for speech"


def test_words_are_said_where_they_begin() -> None:
    likeliest = ["", "3", "3", "", "3", "7", "7", ""]
    rows: list[Row] = [("decoded", ROPE, word, 0.04 * number, 0, "probability", 0.9, None, None)
                       for number, word in enumerate(likeliest)]  # fmt: skip
    rows += [("decoded", ROPE, "9", 0.04 * number, 0, "probability", 0.06, None, None) for number in range(8)]
    shown = [(row["at"], row["says"]) for row in decoded_rows(table_of(rows), ROPE) if row["says"]]
    assert [word for _, word in shown] == ["3", "3", "7"] and [at for at, _ in shown] == pytest.approx(
        [0.04, 0.16, 0.2]
    )


def test_the_page_is_drawn_without_torch(study_run: StudyRun, tmp_path: Path) -> None:
    study_run.save(tmp_path / "run")
    words = ["report", str(tmp_path / "run")]
    script = f"import sys, wherewhat.cli.main as m; m.main({words!r}); print({{'torch', 'numpy'}} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout.strip().endswith("set()")


def test_a_table_without_errors_is_refused(study_run: StudyRun) -> None:
    with pytest.raises(UserError, match="has no net that was tested; run `wherewhat reproduce speech` again"):
        page_of_study(study_run.result.filter(pl.col("part") != "error"), study_run.manifest)


# Verdicts on made-up tables.


def made_up(
    rates: Mapping[tuple[str, str], tuple[int, ...]],
    more: tuple[Row, ...] = (),
    arms: tuple[str, ...] = (ROPE, RELATIVE),
    seeds: int = 1,
) -> ResultTable:
    """A table from the edits of utterances of ten words each, by arm and test; every seed has its part of them."""
    rows: list[Row] = []
    for (arm, test), edits in rates.items():
        rows.append(("error", arm, test, None, None, ERROR, sum(edits) / (10 * len(edits)), None, None))
        for number, edit in enumerate(edits):
            seed = number * seeds // len(edits)
            rows.append(("utterance", arm, test, float(number), seed, "edits", float(edit), None, None))
            rows.append(("utterance", arm, test, float(number), seed, "words", 10.0, None, None))
    scale = SimpleNamespace(arms=arms, tests=list(dict.fromkeys(test for _, test in rates)) or [TEST])
    table = table_of([*rows, *more], scale=scale)
    return table.extended(difference_rows(table))


SAME = (0, 1, 0, 0) * 50
WORSE = (1, 2, 1, 1) * 50


@pytest.mark.parametrize(
    ("rope", "relative", "verdict"),
    [
        (SAME, SAME, "agrees"),
        (WORSE, SAME, "disagrees"),
        (SAME, WORSE, "agrees"),
        ((0, 1, 0, 0, 1, 0, 0, 0) * 2, (0, 0, 0, 1, 0, 1, 0, 0) * 2, "unknown"),
        ((6,) * 40, SAME[:40], "unknown"),
        ((0,) * 190 + (1,) * 10, (0,) * 200, "in part"),
    ],
    ids=["same", "worse", "better", "few", "unlearnt", "slightly"],
)
def test_as_good_can_fail(rope: tuple[int, ...], relative: tuple[int, ...], verdict: str) -> None:
    table = made_up({(ROPE, TEST): rope, (RELATIVE, TEST): relative})
    assert CLAIMS["as good"].test(table).verdict == verdict


@pytest.mark.parametrize(
    ("new", "verdict"),
    [(SAME, "agrees"), (WORSE, "in part"), (((0,) * 3 + (1,)) * 5, "in part")],
    ids=["also", "not", "open"],
)
def test_as_good_is_also_asked_of_a_new_speaker(new: tuple[int, ...], verdict: str) -> None:
    rates = {(arm, test): SAME for arm in (ROPE, RELATIVE) for test in (TEST, NEW_SPEAKER)}
    rates[RELATIVE, NEW_SPEAKER] = SAME[: len(new)]
    table = made_up({**rates, (ROPE, NEW_SPEAKER): new})
    result = CLAIMS["as good"].test(table)
    assert result.verdict == verdict and result.why.startswith("Intervals are over utterances of one training run")
    word = "worse" if new == WORSE else "open"
    assert result.because == ("" if verdict == "agrees" else f"as well in test, {word} in new speaker")


def test_several_seeds_decide_by_how_much_they_differ() -> None:
    """The same utterances say more in one run than in three that contradict each other."""
    rope = (1,) * 60 + (0,) * 60 + (0,) * 60
    table, runs = (made_up({(ROPE, TEST): rope, (RELATIVE, TEST): (0,) * 180}, seeds=seeds) for seeds in (1, 3))
    assert CLAIMS["as good"].test(table).verdict == "disagrees" and CLAIMS["as good"].test(runs).verdict == "unknown"
    assert CLAIMS["as good"].test(runs).why == ""
    by_seed = [0.1, 0.0, 0.0]
    gap = runs.estimate(ROPE, difference(TEST, RELATIVE))
    assert [runs.value(ROPE, difference(TEST, RELATIVE), seed) for seed in range(3)] == pytest.approx(by_seed)
    assert (gap.value, gap.low, gap.high) == pytest.approx(student(by_seed))


def test_recordings_with_other_tests_are_compared_in_all_of_them() -> None:
    rates = {(arm, test): SAME for arm in (ROPE, RELATIVE) for test in ("garden", "kitchen")}
    assert CLAIMS["as good"].test(made_up(rates)).verdict == "agrees"
    assert "kitchen: RoPE 2.5" in CLAIMS["as good"].test(made_up(rates)).ours
    alone = made_up({(ROPE, "garden"): SAME}, arms=(ROPE,))
    assert CLAIMS["as good"].test(alone).ours == "No net was trained with relative"


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [((0.85, 0.8, 0.9), "agrees"), ((1.1, 1.05, 1.15), "disagrees"), ((0.98, 0.9, 1.06), "unknown")],
    ids=["faster", "slower", "open"],
)
def test_faster_can_fail(ratio: tuple[float, float, float], verdict: str) -> None:
    rows: list[Row] = [("cost", ROPE, TRAINING_BATCH, None, None, TIME_RATIO, *ratio)]
    rows += [("cost", arm, TRAINING_BATCH, None, None, TIME, 100.0, None, None) for arm in (ROPE, RELATIVE)]
    assert CLAIMS["faster"].test(made_up({}, tuple(rows))).verdict == verdict


@pytest.mark.parametrize(("ours", "verdict"), [(90.0, "agrees"), (110.0, "disagrees")])
def test_smaller_can_fail(ours: float, verdict: str) -> None:
    rows: list[Row] = [("cost", arm, TRAINING_BATCH, None, None, PARAMETERS, value, None, None)
                       for arm, value in ((ROPE, ours), (RELATIVE, 100.0))]  # fmt: skip
    assert CLAIMS["smaller"].test(made_up({}, tuple(rows))).verdict == verdict
    memory: list[Row] = [(*row[:5], MEMORY, *row[6:]) for row in rows]  # type: ignore[misc]
    assert CLAIMS["lighter"].test(made_up({}, tuple(memory))).verdict == {"agrees": "seen"}.get(verdict, "not seen")


@pytest.mark.parametrize(
    ("rope", "relative", "verdict"),
    [
        (WORSE, SAME, "seen"),
        (SAME, WORSE, "not seen"),
        (SAME, SAME, "unknown"),
    ],
    ids=["more", "less", "same"],
)
def test_longer_utterances(rope: tuple[int, ...], relative: tuple[int, ...], verdict: str) -> None:
    easy = {(arm, TEST): SAME for arm in (ROPE, RELATIVE)}
    table = made_up({**easy, (ROPE, LONGEST): rope, (RELATIVE, LONGEST): relative})
    result, untested = CLAIMS["longer"].test(table), CLAIMS["longer"].test(made_up(easy))
    assert result.verdict == verdict and ("do not clearly differ" in result.answer) == (verdict == "unknown")
    assert untested.verdict == "unknown" and not untested.answer  # it is open, which is not the same as no difference


def test_silence_moves_no_encoding_that_ignores_where_an_utterance_begins() -> None:
    rates = {(arm, TEST): SAME for arm in (ROPE, SINUSOIDS)}
    arms = (ROPE, SINUSOIDS)
    still = made_up({**rates, (ROPE, LEADING): SAME, (SINUSOIDS, LEADING): WORSE}, arms=arms)
    assert CLAIMS["leading silence"].test(still).verdict == "seen"
    moved = {**rates, (ROPE, LEADING): WORSE, (SINUSOIDS, LEADING): SAME, (SINUSOIDS, LATER): WORSE}
    result = CLAIMS["leading silence"].test(made_up({**moved, (ROPE, LATER): SAME}, arms=arms))
    assert result.verdict == "not seen" and "so the cause is what is heard" in result.why
    for later in ({}, {(ROPE, LATER): WORSE}):  # not measured, or positions do matter
        result = CLAIMS["leading silence"].test(made_up({**moved, **later}, arms=arms))
        assert result.verdict == "not seen" and "the cause" not in result.why


def test_positions_that_are_missing_or_too_early() -> None:
    arms = (ROPE, NONE, EARLY)
    rates = {(arm, TEST): SAME for arm in arms}
    table = made_up({**rates, (ROPE, LONGEST): SAME, (EARLY, LONGEST): WORSE}, arms=arms)
    assert CLAIMS["without positions"].test(table).verdict == "seen"
    assert CLAIMS["rotated early"].test(table).verdict == "seen"
    assert CLAIMS["rotated early"].test(made_up(rates)).verdict == "unknown"
    worse = made_up({**rates, (NONE, TEST): WORSE}, arms=arms)
    assert CLAIMS["without positions"].test(worse).verdict == "not seen"


def test_heads_that_look_near() -> None:
    rows: list[Row] = [("heads", ROPE, f"L0H{number}", None, seed, REACH, value, None, None)
                       for seed in (0, 1)
                       for number, value in enumerate((40.0, 80.0, 90.0, 400.0))]  # fmt: skip
    rows += [
        ("heads", ROPE, UNIFORM, None, seed, REACH, uniform, None, None) for seed, uniform in ((0, 300.0), (1, 410.0))
    ]
    rates = {(ROPE, TEST): SAME}
    near = CLAIMS["near heads"].test(made_up(rates, tuple(rows), (ROPE,)))
    assert near.verdict == "seen" and "40 to 400 ms, 88\N{NO-BREAK SPACE}% of heads below uniform (355)" in near.ours
    far: list[Row] = [(*row[:6], 30.0, None, None) if row[2] == UNIFORM else row for row in rows]
    assert CLAIMS["near heads"].test(made_up(rates, tuple(far), (ROPE,))).verdict == "not seen"


def test_differences_are_paired_by_utterance() -> None:
    numbers = np.random.default_rng(0).integers(0, 4, 80)
    edits = tuple(int(number) for number in numbers)
    table = made_up({(ROPE, TEST): tuple(edit + 1 for edit in edits), (RELATIVE, TEST): edits})
    gap = table.where(part="difference", subject=ROPE, item=TEST, measure=f"minus {RELATIVE}", seed=None)
    assert gap["value"].item() == pytest.approx(0.1) and gap["high"].item() - gap["low"].item() < 0.08


# What a user can give.


def test_recordings_are_asked_for_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["reproduce", "speech", "--out", str(tmp_path / "run"), "--quiet"]
    assert main([*words, "--scale", "small"]) == 2
    shown = capsys.readouterr().err
    assert "needs recordings of spoken digits; give --speech DIR with files such as" in shown
    assert "Free Spoken Digit Dataset" in shown
    assert main([*words, "--scale", "small", "--speech", str(tmp_path)]) == 2
    assert "has no recordings such as 7_george_12.wav" in capsys.readouterr().err
    assert main(["reproduce", "canonical", "--speech", str(tmp_path), "--out", str(tmp_path / "run")]) == 2
    assert "canonical hears no recordings; leave --speech out (speech hears yours)" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_recordings_of_digits_have_a_new_speaker(tmp_path: Path) -> None:
    for digit in range(10):
        for speaker in ("ada", "lucas"):
            for number in range(6):
                write_wave(tmp_path / f"{digit}_{speaker}_{number}.wav", tone(str(digit), 60 + 10 * number))
    scale = prepare(replace(MICRO, recorded=True), Request(speech=tmp_path))
    assert scale.tests == [TEST, NEW_SPEAKER, LEADING, LATER, "10 digits", "15 digits", LONGEST]
    job = STUDY.job(SpeechCondition(ROPE), scale, 0)
    assert job.settings["scale"]["folder"] == str(tmp_path)
    write_wave(tmp_path / "3_ada_5.wav", tone("4", 100))
    other = prepare(replace(MICRO, recorded=True), Request(speech=tmp_path))
    assert STUDY.job(SpeechCondition(ROPE), other, 0).settings != job.settings  # finished runs are of other recordings


def test_recordings_with_transcripts_have_their_own_tests(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_wave(tmp_path / f"{name}.wav", tone("1", 400))
    (tmp_path / "transcripts.tsv").write_text("a\ttrain\tno\nb\tkitchen\tno\n")
    scale = prepare(MICRO, Request(speech=tmp_path))
    assert scale.tests == ["kitchen"] and set(ARMS) >= set(scale.arms)
