"""One run: pre-train a net, measure the positional part of its attention, then fine-tune and probe it on questions."""

from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean
from typing import Any

from wherewhat.capture.loading.load import wrap_module
from wherewhat.corpora.questions import QUESTIONS
from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.jobs.job import JobContext
from wherewhat.nets.trunk import Trunk
from wherewhat.profiling.positional_part.repeated_word import prepare_probe
from wherewhat.profiling.settings import PositionalSettings
from wherewhat.scores.positional_part import MEASURES
from wherewhat.studies.engine.encodings import EncodingCondition, attention_measures, bias_rows, curve_measures
from wherewhat.studies.engine.results import ResultTable, Row
from wherewhat.studies.engine.study import Study
from wherewhat.studies.locality.claims import CLAIMS
from wherewhat.studies.locality.notes import notes_of
from wherewhat.studies.locality.sets import ALL, with_notes
from wherewhat.studies.locality.settings import FAMILIES, SCALES, LocalityScale, unknown_words, with_files
from wherewhat.studies.locality.summaries import CONTRASTS, PREDICTORS, summarise
from wherewhat.tables.manifest.decode import encode
from wherewhat.training.finetune import finetune, probe_frozen
from wherewhat.training.language_modelling import word_losses
from wherewhat.training.loop import threads, train

REPORT_EVERY = 20  # steps between two reports of progress


def run(condition: EncodingCondition, scale: LocalityScale, seed: int, context: JobContext) -> list[Row]:
    """All measurements of one condition from one seed. They do not depend on the number of threads."""
    values: dict[tuple[str, str, str], float] = {}  # by part, question and measure
    with threads(1):
        training = scale.training_settings(condition, scale.texts, seed)
        trained = train(training, on_step=lambda step, _: None if step % REPORT_EVERY else context.step(step))
        net, words = trained.net, trained.words
        assert words is not None
        before = _word_loss(scale, net, words, seed)
        values |= {("run", "", "word loss"): before, ("run", "", "word accuracy"): trained.accuracy}
        values |= {("encoding", "", name): value for name, value in attention_of(scale, net, words, seed)}
        for number, question in enumerate(scale.questions, start=1):
            dataset = scale.dataset(question, seed)
            tuned = finetune(net, words, dataset, replace(scale.tuning, seed=seed))
            after = _word_loss(scale, tuned.net, words, seed)
            measured = {
                "accuracy": tuned.accuracy,
                "valid accuracy": tuned.valid,
                "frozen accuracy": probe_frozen(net, words, dataset).accuracy,
                "word loss after": after,
                "forgetting": after - before,
                "unknown words": unknown_words(words, dataset),
            }
            values |= {("run", question, measure): value for measure, value in measured.items()}
            context.step(scale.steps + (scale.run_steps - scale.steps) * number // len(scale.questions))
    return [
        (part, condition.name, item, None, seed, measure, float(value), None, None)
        for (part, item, measure), value in values.items()
    ]


def attention_of(scale: LocalityScale, net: Trunk, words: WordVocabulary, seed: int) -> Iterator[tuple[str, float]]:
    """Locality and symmetry of attention over copies of one word: heads of the first layer, and of all layers."""
    probe = prepare_probe(wrap_module(net), PositionalSettings(length=scale.n, words=scale.copied, seed=seed))
    probe = replace(probe, words_W=probe.words_W[probe.words_W > words.mask])  # special tokens come first
    layers = attention_measures(probe)
    for name in MEASURES:
        if by_layer := [layer[name] for layer in layers if name in layer]:
            yield f"attention.{name}", by_layer[0]
            yield f"attention.{name} all", fmean(by_layer)


def _word_loss(scale: LocalityScale, net: Trunk, words: WordVocabulary, seed: int) -> float:
    """The mean loss on hidden words of held-out sentences, always the same words."""
    return fmean(word_losses(net, words, scale.unseen, seed=seed))


def describe(table: ResultTable) -> dict[str, Any]:
    """What the page needs besides the rows, and what the names in the table stand for."""
    scale: LocalityScale = table.scale
    asks = {name: f"the labels of {name}" for name in scale.questions}
    asks |= {name: question.asks for name, question in QUESTIONS.items()}
    counted = table.notes["items"].get(ALL, ())
    return {
        "n": scale.n,
        "uniform": curve_measures(0.0, 1.0, n=scale.n)["locality"],
        "families": FAMILIES,
        "subjects": [{**encode(condition), "mirrored": condition.mirrored} for condition in table.conditions],
        "questions": [
            {"name": name, "asks": asks[name], "chance": chance, "counted": name in counted}
            for name, chance in table.notes["chances"].items()
        ],
        "axes": {name: f"{own} over {conditions}" for name, (conditions, own, _) in PREDICTORS.items()},
        "contrasts": {name: f"{first} compared with {second}" for name, (first, second) in CONTRASTS.items()},
    }


STUDY = Study(
    name="locality",
    about="Locality and symmetry of the encoding set by hand: what does a small language model then do well?",
    paper="arXiv 2310.12864",
    takes=("--text", "--task"),
    scales=SCALES,
    scale_class=LocalityScale,
    condition_class=EncodingCondition,
    conditions=LocalityScale.conditions,
    prepare=with_files,
    run=run,
    steps=lambda scale: int(scale.run_steps),
    before=lambda table: bias_rows(table.conditions, table.scale.n),
    summarise=summarise,
    results=with_notes,
    claims=CLAIMS,
    notes=notes_of,
    describe=describe,
    decides=(*("capture", "corpora", "encodings", "logits", "nets", "profiling", "scores", "tasks", "training"),),
)
