"""All heads of a model of base shape read for relations, against its plain fused forward over the same texts."""

from collections.abc import Callable, Iterator, Sequence

import torch
from transformers import BertConfig, BertModel

from benchmarks.measurement import Measurement, side_by_side
from wherewhat.capture.capture import inputs_for
from wherewhat.capture.loading.load import LoadedModel, word_tokenizer
from wherewhat.capture.tokens.batch import ALL, Batch, batches
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.probing.dependencies.collect_targets import collect_targets
from wherewhat.probing.dependencies.probe import probe_dependencies
from wherewhat.probing.dependencies.repeated_word import repeated_word_batches, words_to_repeat
from wherewhat.probing.dependencies.sentence_texts import SentenceTexts, sentence_groups
from wherewhat.probing.dependencies.settings import DependencySettings
from wherewhat.probing.dependencies.treebanks import load_treebanks

SENTENCES = 200
FEW = 40  # for the whole command, which reads every sentence some twenty times
BOUND = 2.0
BOUND_OF_ALL_PARTS = 1.5


def bert() -> LoadedModel:
    """12 layers × 12 heads, width 768, random weights, with the words of the grammar."""
    torch.manual_seed(0)
    words = WordVocabulary.learn([Grammar().vocabulary])
    model = BertModel(BertConfig(vocab_size=len(words))).eval()
    return LoadedModel("random BERT", model, word_tokenizer(words))


def forward(model: LoadedModel, read: Sequence[Batch]) -> Callable[[], None]:
    """The model alone: fused attention, and nothing is read from it."""

    def run() -> None:
        with torch.no_grad():
            for batch in read:
                model.module(**inputs_for(model.module, batch))

    return run


def plain_batches(model: LoadedModel, settings: DependencySettings) -> list[Batch]:
    """The sentences as they are."""
    (bank,) = load_treebanks(model, [], settings)
    ids = [one.aligned.ids_T for one in bank.sentences]
    return list(batches(ids, queries=ALL, seed=0, tokens=settings.batch_tokens))


def needed_batches(model: LoadedModel, settings: DependencySettings) -> list[Batch]:
    """Exactly what the probe reads: the sentences in all orders, and the repeated words."""
    (bank,) = load_treebanks(model, [], settings)
    texts = [SentenceTexts.of(one, settings) for one in bank.sentences]
    words = words_to_repeat(model, bank.sentences, settings)
    groups = sentence_groups(bank.sentences, texts, settings)
    return [one.batch for one in (*groups, *repeated_word_batches(bank.sentences, words, settings))]


def measure(repeats: int) -> Iterator[Measurement]:
    """Reading where all heads look, and the whole command; and all four parts, which read far more than sentences."""
    model, settings = bert(), DependencySettings(parts=("full",), max_sentences=SENTENCES)
    (bank,) = load_treebanks(model, [], settings)
    plain = forward(model, plain_batches(model, settings))
    pairs = side_by_side(lambda: collect_targets(model, bank.sentences, settings), plain, repeats=repeats)
    name = f"dependencies, {SENTENCES} sentences, 12 × 12 heads: over plain forward"
    yield Measurement(name, _ratios(pairs), BOUND)
    pairs = side_by_side(
        lambda: probe_dependencies(model, parts=("full",), max_sentences=SENTENCES), plain, repeats=repeats
    )
    yield Measurement("dependencies, the same with all scores and intervals", _ratios(pairs), BOUND)
    needed = forward(model, needed_batches(model, DependencySettings(max_sentences=FEW)))
    pairs = side_by_side(lambda: probe_dependencies(model, max_sentences=FEW), needed, repeats=repeats)
    name = "dependencies, all four parts: over the forward passes they need"
    read = f"{FEW} sentences, 16 orders of each and 32 words at every length"
    yield Measurement(name, _ratios(pairs), BOUND_OF_ALL_PARTS, note=read)


def _ratios(pairs: Sequence[tuple[float, float]]) -> tuple[float, ...]:
    return tuple(ours / theirs for ours, theirs in pairs)
