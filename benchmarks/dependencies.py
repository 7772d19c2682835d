"""All heads of a model of base shape read for relations, against its plain fused forward over the same sentences."""

from collections.abc import Callable, Iterator

import torch
from transformers import BertConfig, BertModel

from benchmarks.measurement import Measurement, side_by_side
from wherewhat.capture.capture import inputs_for
from wherewhat.capture.loading.load import LoadedModel, word_tokenizer
from wherewhat.capture.tokens.batch import ALL, batches
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.probing.dependencies.collect_targets import collect_targets
from wherewhat.probing.dependencies.probe import probe_dependencies
from wherewhat.probing.dependencies.settings import DependencySettings
from wherewhat.probing.dependencies.treebanks import load_treebanks

SENTENCES = 200
FEW = 40  # for the whole command, which reads every sentence some twenty times
BOUND = 2.0


def bert() -> LoadedModel:
    """12 layers × 12 heads, width 768, random weights, with the words of the grammar."""
    torch.manual_seed(0)
    words = WordVocabulary.learn([Grammar().vocabulary])
    model = BertModel(BertConfig(vocab_size=len(words))).eval()
    return LoadedModel("random BERT", model, word_tokenizer(words))


def forward(model: LoadedModel, sentences: int) -> Callable[[], None]:
    """The model alone: fused attention, the same batches."""
    (bank,) = load_treebanks(model, [], DependencySettings(max_sentences=sentences))
    ids = [one.aligned.ids_T for one in bank.sentences]

    def run() -> None:
        with torch.no_grad():
            for batch in batches(ids, queries=ALL, seed=0, tokens=DependencySettings().batch_tokens):
                model.module(**inputs_for(model.module, batch))

    return run


def measure(repeats: int) -> Iterator[Measurement]:
    """Reading where all heads look, with the bound; and the whole command, which reads far more than the sentences."""
    model = bert()
    (bank,) = load_treebanks(model, [], DependencySettings(max_sentences=SENTENCES))
    only = DependencySettings(parts=("full",))
    plain = forward(model, SENTENCES)
    pairs = side_by_side(lambda: collect_targets(model, bank.sentences, only), plain, repeats=repeats)
    name = f"dependencies, {SENTENCES} sentences, 12 × 12 heads: over plain forward"
    yield Measurement(name, tuple(ours / theirs for ours, theirs in pairs), BOUND)
    pairs = side_by_side(
        lambda: probe_dependencies(model, parts=("full",), max_sentences=SENTENCES),
        forward(model, SENTENCES),
        repeats=repeats,
    )
    ratios = tuple(ours / theirs for ours, theirs in pairs)
    yield Measurement("dependencies, the same with all scores and intervals", ratios, BOUND)
    pairs = side_by_side(
        lambda: probe_dependencies(model, max_sentences=FEW), forward(model, FEW), repeats=max(1, repeats // 2)
    )
    read = f"{FEW} sentences, 16 orders of each and 32 words at every length"
    yield Measurement("dependencies, all parts", tuple(ours / theirs for ours, theirs in pairs), None, note=read)
