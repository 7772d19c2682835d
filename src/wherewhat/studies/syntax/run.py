"""One run probes a net for relations, trains it, and probes it again; the study compares encodings of position."""

from collections.abc import Iterator
from statistics import fmean

from wherewhat.capture.loading.load import word_tokenizer, wrap_module
from wherewhat.corpora.registry import corpus_from
from wherewhat.jobs.job import JobContext
from wherewhat.nets.trunk import Trunk
from wherewhat.probing.dependencies.scoring import EACH as EACH_RELATION
from wherewhat.probing.dependencies.settings import DependencySettings
from wherewhat.probing.dependencies.split_half_scores import split_half_shares
from wherewhat.profiling.positional_part.repeated_word import prepare_probe
from wherewhat.profiling.settings import PositionalSettings
from wherewhat.studies.engine.encodings import EncodingCondition, attention_measures, bias_rows
from wherewhat.studies.engine.results import Cell, Row
from wherewhat.studies.engine.study import Study
from wherewhat.studies.syntax import results
from wherewhat.studies.syntax.claims import CLAIMS, notes, summarise
from wherewhat.studies.syntax.results import DISTANCES, EACH, TRAINED, UNTRAINED, share
from wherewhat.studies.syntax.settings import SCALES, SyntaxScale
from wherewhat.tables.manifest.decode import encode
from wherewhat.training.loop import threads, train

EVERY = 20  # steps between two reports of progress
AT = {name: at for at, name in DISTANCES.items()}


def run(condition: EncodingCondition, scale: SyntaxScale, seed: int, context: JobContext) -> Iterator[Row]:
    """All measurements of one condition from one seed. They do not depend on the number of threads."""
    corpus, measured = corpus_from(scale.corpus), list[tuple[Cell, float]]()
    settings, sentences = scale.training_settings(condition, corpus, seed), corpus.some("test", scale.probed, seed=seed)
    # Subtypes stay separate, as a passive subject has another position.
    probing = DependencySettings(
        permutations=scale.permutations, copies=scale.copies, least=scale.fewest, subtypes=True, seed=seed
    )
    assert settings.words is not None
    tokenizer = word_tokenizer(settings.words)

    def on_net(step: int, net: Trunk) -> None:
        state = TRAINED if step == scale.steps else UNTRAINED
        for side, item, distance, kind, value in split_half_shares(wrap_module(net, tokenizer), sentences, probing):
            own = EACH if item == EACH_RELATION else item
            measured.append((share(kind, own, at=AT.get(distance), side=side, part=state), value))

    with threads(1):
        done = train(settings, on_net=on_net, on_step=lambda step, _: None if step % EVERY else context.step(step))
        copies = PositionalSettings(length=scale.n, words=scale.copies, seed=seed)
        layers = attention_measures(prepare_probe(wrap_module(done.net, tokenizer), copies))
    measured += [(Cell("run", f"word {name}"), value) for name, value in done.ends.items()]
    measured.append((Cell("encoding", results.ATTENTION), fmean(layer["locality"] for layer in layers)))
    context.step(scale.steps)
    for cell, value in measured:
        yield cell.part, condition.name, cell.item, cell.at, seed, cell.measure, value, None, None


def groups_of(condition: EncodingCondition) -> list[str]:
    """Every group that a condition belongs to."""
    if condition.mirrored:
        return [results.EVEN]
    return [results.ONE_SIDED if condition.family == "log" else results.FREE, results.SIDED]


STUDY = Study(
    name="syntax",
    about="Dependency relations: do heads find near words by position and far ones by content?",
    paper="arXiv 2310.12864, 1906.04341",
    scales=SCALES,
    scale_class=SyntaxScale,
    condition_class=EncodingCondition,
    conditions=SyntaxScale.conditions,
    run=run,
    results=lambda table: results.grouped(table, {each.name: groups_of(each) for each in table.conditions}),
    before=lambda table: bias_rows(table.conditions, table.scale.n),
    summarise=summarise,
    claims=CLAIMS,
    notes=notes,
    describe=lambda table: {"subjects": [encode(each) | {"groups": groups_of(each)} for each in table.conditions]},
    decides=(
        *("capture", "corpora", "encodings", "logits", "nets", "probing/dependencies", "profiling", "scores", "tasks"),
        *("training", "studies/syntax/results.py"),
    ),
)
