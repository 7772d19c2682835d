"""One run: a net is probed for relations before training, trained, and probed again."""

from collections.abc import Callable, Iterator
from statistics import fmean

from wherewhat.capture.loading.load import LoadedModel, word_tokenizer, wrap_module
from wherewhat.nets.trunk import Trunk
from wherewhat.probing.dependencies.collect_targets import collect_targets
from wherewhat.probing.dependencies.relation_rows import ALL, SIDES
from wherewhat.probing.dependencies.scoring import RelationScorer
from wherewhat.probing.dependencies.treebanks import encode_treebank
from wherewhat.profiling.positional_part.repeated_word import prepare_probe, read_repeated_words
from wherewhat.profiling.settings import PositionalSettings
from wherewhat.scores.positional_part import measures
from wherewhat.studies.finished_runs import Row
from wherewhat.studies.syntax.job import SyntaxJob
from wherewhat.studies.syntax.results import ATTENTION, STATES
from wherewhat.studies.syntax.split_half_scores import ScoredRows, shares
from wherewhat.training.loop import threads, train

REPORT_EVERY = 20  # steps between two reports of progress
OnSteps = Callable[[int], None]  # called with the number of steps done


def run(job: SyntaxJob, on_steps: OnSteps) -> list[Row]:
    """All measurements of one condition from one seed. They do not depend on the number of threads."""
    settings, rows = job.training_settings(), list[Row]()
    assert settings.words is not None
    tokenizer = word_tokenizer(settings.words)

    def on_step(step: int, measured: object) -> None:
        if step % REPORT_EVERY == 0:
            on_steps(step)

    def on_net(step: int, net: Trunk) -> None:
        trained = step == job.scale.steps
        rows.extend(relation_rows(job, wrap_module(net, tokenizer), STATES[0] if trained else STATES[1]))

    with threads(1):
        done = train(settings, on_step=on_step, on_net=on_net)
        rows += [job.row("run", "", None, f"word {name}", value) for name, value in done.ends.items()]
        rows.append(job.row("encoding", "", None, ATTENTION, attention_locality(job, wrap_module(done.net, tokenizer))))
    on_steps(job.steps)
    return rows


def relation_rows(job: SyntaxJob, model: LoadedModel, state: str) -> Iterator[Row]:
    """The share of every relation that heads find, in both directions."""
    sentences = encode_treebank(model, list(enumerate(job.sentences())), "grammar", "grammar").sentences
    settings = job.probe_settings()
    scoring = RelationScorer(sentences, collect_targets(model, sentences, settings), settings, job.scale.fewest)
    scored = ScoredRows(scoring.rows, scoring.hits)
    for side in SIDES:
        of_side = scored.take(scoring.rows.where(ALL, side))
        for item, at, kind, value in shares(of_side, fewest=job.scale.fewest):
            yield job.row(state, item, at, f"{side}: {kind}", value)


def attention_locality(job: SyntaxJob, model: LoadedModel) -> float:
    """The locality of attention over copies of one word, the mean over all heads."""
    probe = prepare_probe(model, PositionalSettings(length=job.scale.n, words=job.scale.copies, seed=job.seed))
    matrices = [sums.mean() for sums in read_repeated_words(probe).identical.values()]
    return fmean(float(measures(matrix.attention_HTT, matrix.allowed_TT)["locality"].mean()) for matrix in matrices)
