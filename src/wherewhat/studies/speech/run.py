"""The study: do rotary positions recognise as well as relative ones, faster and with fewer weights?"""

from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl

from wherewhat.corpora.speech.tones import LEADING
from wherewhat.jobs.job import JobContext
from wherewhat.stats.bootstrap import draws, quantiles, ratio
from wherewhat.stats.intervals import with_rule_of_three
from wherewhat.studies.engine.lengths import mean_rows
from wherewhat.studies.engine.results import ResultTable, Row
from wherewhat.studies.engine.study import Study
from wherewhat.studies.engine.train_job import train_in_job
from wherewhat.studies.speech.claims import CLAIMS
from wherewhat.studies.speech.cost import cost_rows
from wherewhat.studies.speech.measures import head_rows, picture_rows, rows_of_tests, spectrogram_rows
from wherewhat.studies.speech.names import COST, NONE, RELATIVE, ROPE, TEST
from wherewhat.studies.speech.notes import describe, notes_of
from wherewhat.studies.speech.settings import SCALES, SpeechCondition, SpeechScale, conditions, prepare
from wherewhat.training.loop import threads

RESAMPLED = 0  # the seed of resampled utterances


def run(condition: SpeechCondition, scale: SpeechScale, seed: int, context: JobContext) -> list[Row]:
    """Train a conformer and test it, or measure what a step of training costs."""
    with threads(1):
        if condition.arm == COST:
            return [_row(arm, seed, *measured) for arm, measured in cost_rows(scale, seed)]
        corpus = scale.corpus
        net = train_in_job(scale.training(condition.arm, seed), context).net.eval()
        rows = [
            *rows_of_tests(net, corpus, scale.tests, seed=seed + 1, samples=scale.samples),
            *head_rows(net, corpus, seed=seed + 1, samples=scale.texts),
            *picture_rows(net, corpus),
        ]
    return [_row(condition.name, seed, *measured) for measured in rows]


def _row(subject: str, seed: int | None, part: str, item: str, at: float | None, *numbers: object) -> Row:
    return (part, subject, item, at, seed, *numbers)  # type: ignore[return-value]


def before(table: ResultTable) -> list[Row]:
    """The spectrogram of the utterance that is drawn."""
    return [_row("", None, *measured) for measured in spectrogram_rows(table.scale.corpus)]


def summarise(table: ResultTable) -> list[Row]:
    """Means over seeds, and differences of error rates over the same utterances."""
    parts = pl.col("part")
    shares = table.rows.filter(parts.is_in(["error", "frequencies"])).rows()
    others = table.rows.filter(parts.is_in(["heads", "cost"])).rows()
    return [*mean_rows(shares), *mean_rows(others, within=(0.0, float("inf"))), *difference_rows(table)]


def difference_rows(table: ResultTable) -> Iterator[Row]:
    """By how much every arm errs more than others in each test, and more with leading silence than without."""
    arms = [arm for arm in table.scale.arms if arm != COST]
    for arm in arms:
        for other in (each for each in (ROPE, RELATIVE, NONE) if each in arms and each != arm):
            for test in table.scale.tests:
                yield from _difference(table, (arm, test), (other, test), f"minus {other}")
        if LEADING in table.scale.tests:
            yield from _difference(table, (arm, LEADING), (arm, TEST), f"minus {TEST}")


def _difference(table: ResultTable, first: tuple[str, str], second: tuple[str, str], measure: str) -> Iterable[Row]:
    """The difference of two error rates, paired by utterance, with its interval over utterances."""
    edits_N, words_N = _counts(table, *first)
    other_edits_N, other_words_N = _counts(table, *second)
    if len(edits_N) < 2 or len(edits_N) != len(other_edits_N):
        return
    drawn_RN = draws(len(edits_N), RESAMPLED)
    value = float(edits_N.sum() / words_N.sum() - other_edits_N.sum() / other_words_N.sum())
    low, high = quantiles(ratio(drawn_RN, edits_N, words_N) - ratio(drawn_RN, other_edits_N, other_words_N))
    low, high = with_rule_of_three(low, high, int(words_N.sum()))
    yield "difference", first[0], first[1], None, None, measure, value, low, high


def _counts(table: ResultTable, arm: str, test: str) -> list["np.ndarray[tuple[int], np.dtype[np.float64]]"]:
    """Edits and words of every utterance of all seeds, in order."""
    rows = table.where(part="utterance", subject=arm, item=test).sort("seed", "at")
    return [rows.filter(measure=measure)["value"].to_numpy() for measure in ("edits", "words")]


STUDY = Study(
    name="speech",
    about="Which digits are said? Rotary against relative positions in a conformer: as good, faster, smaller?",
    paper="arXiv 2107.05907, 2501.06051",
    scales=SCALES,
    conditions=conditions,
    run=run,
    condition_class=SpeechCondition,
    scale_class=SpeechScale,
    claims=CLAIMS,
    decides=(
        *("capture", "corpora/speech", "encodings", "logits", "nets", "profiling", "recipes/conformer_digits.py"),
        *("scores", "stats", "studies/engine/lengths.py", "studies/speech/cost.py", "studies/speech/measures.py"),
        *("studies/speech/settings.py", "tables/schema.py", "tasks/stream.py", "training"),
    ),
    takes=("--speech",),
    prepare=prepare,
    before=before,
    summarise=summarise,
    notes=lambda table: notes_of(table.scale),
    describe=describe,
    fewest=1,
)
