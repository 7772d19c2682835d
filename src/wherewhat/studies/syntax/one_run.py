"""One run: a net is probed for relations as it starts, learns to read, and is probed again."""

from collections.abc import Callable, Iterator
from statistics import fmean
from time import perf_counter

from wherewhat.capture.loading.load import LoadedModel, word_tokenizer, wrap_module
from wherewhat.nets.trunk import Trunk
from wherewhat.probing.dependencies.gold import ALL, SIDES
from wherewhat.probing.dependencies.looking import look
from wherewhat.probing.dependencies.scoring import Scoring
from wherewhat.probing.dependencies.sentences import made_ready
from wherewhat.profiling.positional_part.copies import prepare, read_copies
from wherewhat.profiling.positional_part.measures import measures
from wherewhat.profiling.positional_part.probing import Probing
from wherewhat.studies.locality.evidence import Row
from wherewhat.studies.syntax.evidence import ATTENTION, STATES
from wherewhat.studies.syntax.halves import Asked, shares
from wherewhat.studies.syntax.job import Job
from wherewhat.training.loop import train
from wherewhat.training.threads import threads

OFTEN = 20  # steps from one word about progress to the next
Tell = Callable[[int], None]  # takes how many steps are done


def timed_run(job: Job, tell: Tell) -> tuple[list[Row], float]:
    """A run, and how many seconds it took."""
    began = perf_counter()
    return run(job, tell), perf_counter() - began


def run(job: Job, tell: Tell) -> list[Row]:
    """Everything that is measured of one encoding from one seed. It does not depend on the machine's threads."""
    reading, rows = job.reading(), list[Row]()
    assert reading.words is not None
    tokenizer = word_tokenizer(reading.words)

    def on_net(step: int, net: Trunk) -> None:
        trained = step == job.scale.steps
        rows.extend(relation_rows(job, wrap_module(net, tokenizer), STATES[0] if trained else STATES[1]))

    with threads(1):
        done = train(reading, on_step=lambda step, found: None if step % OFTEN else tell(step), on_net=on_net)
        rows += [job.row("run", "", None, f"word {name}", value) for name, value in done.ends.items()]
        rows.append(job.row("encoding", "", None, ATTENTION, attention_locality(job, wrap_module(done.net, tokenizer))))
    tell(job.steps)
    return rows


def relation_rows(job: Job, model: LoadedModel, state: str) -> Iterator[Row]:
    """What heads find of every relation, from both sides."""
    sentences = made_ready(model, list(enumerate(job.sentences())), "grammar", "grammar").sentences
    asking = job.asking()
    scoring = Scoring(sentences, look(model, sentences, asking), asking, job.scale.fewest)
    asked = Asked(scoring.rows, scoring.hits)
    for side in SIDES:
        of_side = asked.take(scoring.rows.where(ALL, side))
        for item, at, kind, value in shares(of_side, fewest=job.scale.fewest):
            yield job.row(state, item, at, f"{side}: {kind}", value)


def attention_locality(job: Job, model: LoadedModel) -> float:
    """How local attention to copies of one word is, over all heads."""
    probe = prepare(model, Probing(length=job.scale.n, words=job.scale.copies, seed=job.seed))
    matrices = [sums.matrix() for sums in read_copies(probe).identical.values()]
    return fmean(float(measures(one.attention_HTT, one.allowed_TT)["locality"].mean()) for one in matrices)
