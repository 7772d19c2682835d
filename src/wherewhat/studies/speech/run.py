"""The study: do rotary positions recognise as well as relative ones, faster and with fewer weights?"""

from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wherewhat.corpora.speech.splits import LEADING, TEST
from wherewhat.jobs.job import JobContext
from wherewhat.stats.bootstrap import draws, quantiles, ratio
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import over_seeds, with_rule_of_three
from wherewhat.studies.engine.lengths import mean_rows
from wherewhat.studies.engine.results import ResultTable, Row
from wherewhat.studies.engine.study import Study
from wherewhat.studies.engine.train_job import train_in_job
from wherewhat.studies.speech.claims import CLAIMS
from wherewhat.studies.speech.cost import cost_rows
from wherewhat.studies.speech.measures import head_rows, picture_rows, rows_of_tests, spectrogram_rows
from wherewhat.studies.speech.names import COST, LATER, NONE, RELATIVE, ROPE
from wherewhat.studies.speech.notes import describe, notes_of
from wherewhat.studies.speech.settings import SCALES, SpeechCondition, SpeechScale, conditions, prepare
from wherewhat.training.loop import threads

RESAMPLED = 0  # the seed of resampled utterances
Counts = NDArray[np.float64]


def run(condition: SpeechCondition, scale: SpeechScale, seed: int, context: JobContext) -> list[Row]:
    """Train a conformer and test it, or measure what a step of training costs."""
    with threads(1):
        if condition.arm == COST:
            return [_row(arm, seed, *measured) for arm, measured in cost_rows(scale, seed)]
        corpus = scale.corpus
        net = train_in_job(scale.training(condition.arm, seed), context).net.eval()
        rows = [
            *rows_of_tests(net, corpus, scale.samples_by_test, seed=seed + 1),
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
    """By how much every arm errs more than others in each test, and more after silence or with later positions."""
    arms = [arm for arm in table.scale.arms if arm != COST]
    for arm in arms:
        for other in (each for each in (ROPE, RELATIVE, NONE) if each in arms and each != arm):
            for test in table.scale.tests:
                yield from _difference(table, (arm, test), (other, test), f"minus {other}")
        for test in (each for each in (LEADING, LATER) if each in table.scale.tests):
            yield from _difference(table, (arm, test), (arm, TEST), f"minus {TEST}")


def _difference(table: ResultTable, first: tuple[str, str], second: tuple[str, str], measure: str) -> Iterable[Row]:
    """The difference of two error rates over the same utterances: of every seed, and its mean over seeds.

    Several seeds have Student's interval over seeds, each of which has its own weights, training data and test
    utterances; a single one has the interval over its utterances, which does not know how other runs would differ.
    """
    pairs = {seed: (_counts(table, *first, seed), _counts(table, *second, seed)) for seed in table.seeds}
    pairs = {seed: pair for seed, pair in pairs.items() if len(pair[0]) > 1 and len(pair[0]) == len(pair[1])}
    if not pairs:
        return
    gaps = {seed: _rate(ours_N2) - _rate(theirs_N2) for seed, (ours_N2, theirs_N2) in pairs.items()}
    for seed, gap in gaps.items():
        yield "difference", first[0], first[1], None, seed, measure, gap, None, None
    several = len(gaps) > 1
    mean = over_seeds(list(gaps.values())) if several else _over_utterances(*next(iter(pairs.values())))
    low, high = with_rule_of_three(mean.low, mean.high, int(sum(ours_N2[:, 1].sum() for ours_N2, _ in pairs.values())))
    yield "difference", first[0], first[1], None, None, measure, mean.value, low, high


def _counts(table: ResultTable, arm: str, test: str, seed: int) -> Counts:
    """counts_N2: edits and words of every utterance of a run, in order."""
    rows = table.where(part="utterance", subject=arm, item=test, seed=seed).sort("at")
    return np.stack([rows.filter(measure=measure)["value"].to_numpy() for measure in ("edits", "words")], 1)


def _rate(counts_N2: Counts) -> float:
    edits, words = counts_N2.sum(0)
    return float(edits / words)


def _over_utterances(ours_N2: Counts, theirs_N2: Counts) -> Estimate:
    """The difference of two error rates with its interval over utterances, which are drawn in pairs."""
    drawn_RN = draws(len(ours_N2), RESAMPLED)
    low, high = quantiles(ratio(drawn_RN, *ours_N2.T) - ratio(drawn_RN, *theirs_N2.T))
    return Estimate(_rate(ours_N2) - _rate(theirs_N2), low, high)


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
        *("scores", "stats", "studies/engine/attention.py", "studies/engine/lengths.py", "studies/speech/cost.py"),
        *(f"studies/speech/{file}.py" for file in ("measures", "names", "settings")),
        *("tables/schema.py", "tasks/stream.py", "training"),
    ),
    takes=("--speech",),
    prepare=prepare,
    before=before,
    summarise=summarise,
    notes=lambda table: notes_of(table.scale),
    describe=describe,
    fewest=1,  # the claims count seeds themselves
)
