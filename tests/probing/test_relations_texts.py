"""The texts that the probe of relations reads: all that are needed, each once, together with others of its length."""

from collections import Counter
from unittest import mock

import pytest
import torch
from reading_nets import reads
from relations import of_grammar, ready, sentence

from wherewhat.capture.capture import CaptureSession
from wherewhat.capture.tokens.batch import Batch
from wherewhat.corpora.grammar import Grammar
from wherewhat.probing.dependencies.collect_targets import collect_targets
from wherewhat.probing.dependencies.repeated_word import repeated_word_batches, shape_of, words_to_repeat
from wherewhat.probing.dependencies.sentence_texts import SentenceTexts, sentence_groups
from wherewhat.probing.dependencies.settings import PARTS, DependencySettings
from wherewhat.probing.dependencies.text_batches import PADDING, TOKENS_PER_PASS, runs_of
from wherewhat.probing.dependencies.treebanks import load_treebanks
from wherewhat.tasks.stream import Stream

SMALL = DependencySettings(max_sentences=30, permutations=4, copies=5, batch_tokens=200)


def texts_in(batches: list[Batch]) -> Counter[tuple[int, ...]]:
    """Every text, and how often it is there."""
    pairs = [pair for batch in batches for pair in zip(batch.ids_BT, batch.real_BT, strict=True)]
    return Counter(tuple(ids_T[real_T].tolist()) for ids_T, real_T in pairs)


@pytest.mark.parametrize("part", [None, *PARTS])
def test_exactly_the_planned_batches_are_read(part: str | None):
    model, read = reads(), list[Batch]()
    settings = DependencySettings(**{**vars(SMALL), "parts": SMALL.parts if part is None else (part,)})
    (bank,) = load_treebanks(model, [], settings)
    own = CaptureSession.read
    with mock.patch.object(CaptureSession, "read", lambda self, batch: (read.append(batch), own(self, batch))[1]):
        collect_targets(model, bank.sentences, settings)
    texts = [SentenceTexts.of(one, settings) for one in bank.sentences]
    planned = [group.batch for group in sentence_groups(bank.sentences, texts, settings)]
    if "positional" in settings.parts:
        words = words_to_repeat(model, bank.sentences, settings)
        planned += [some.batch for some in repeated_word_batches(bank.sentences, words, settings)]
    assert texts_in(read) == texts_in(planned) and len(read) == len(planned)


def test_every_order_is_the_permutation_of_its_stream():
    for one in of_grammar(20):
        texts = SentenceTexts.of(one, SMALL)
        orders = [
            Stream(SMALL.seed, "dependencies", one.number, k).shuffle(range(len(one.units.words))) for k in range(4)
        ]
        expected = [one.aligned, *(one.aligned.in_order(order) for order in orders)]
        for text, plain in zip(texts.text_R.tolist(), expected, strict=True):
            word_of = one.word_of(plain).tolist()
            assert texts.ids_BT[text].tolist() == plain.ids_T.tolist()
            assert texts.word_of_BT[text].tolist() == word_of
            assert texts.place_BU[text].tolist() == [word_of.index(word) for word in range(len(one.kept))]


def test_equal_orders_are_one_text():
    two = ready(sentence("a b", "X X", "2 0", "x root"))
    texts = SentenceTexts.of(two, DependencySettings(permutations=16))
    assert len(texts.ids_BT) == 2 and len(texts.text_R) == 17
    alike = SentenceTexts.of(ready(sentence("a a", "X X", "2 0", "x root")), DependencySettings(permutations=16))
    assert len(alike.ids_BT) == 2, "tokens may be equal, words are not"


def test_a_word_is_repeated_once_per_shape():
    sentences = of_grammar(40)
    batches = repeated_word_batches(sentences, [3, 4, 5], SMALL)
    lengths = {shape_of(one)[0] for one in sentences}
    assert texts_in([some.batch for some in batches]) == Counter((word,) * n for n in lengths for word in (3, 4, 5))
    assert sum(some.texts for some in batches) == 3 * len(lengths) > len(batches)


@pytest.mark.parametrize("tokens", [1, 300, 2048, 8192])
def test_batches_have_little_padding_and_leave_nothing_out(tokens: int):
    generator = torch.Generator().manual_seed(0)
    numbers = torch.randint(1, 40, (2, 200), generator=generator)
    sizes = sorted(zip(*numbers.tolist(), strict=True), key=lambda size: size[1])
    runs = [sizes[run] for run in runs_of(sizes, tokens)]
    assert [size for run in runs for size in run] == sizes
    for run in (run for run in runs if len(run) > 1):
        padded = sum(count for count, _ in run) * max(length for _, length in run)
        padding = padded - sum(count * length for count, length in run)
        assert padded <= tokens and padding <= max(TOKENS_PER_PASS, PADDING * padded)


def test_no_more_sentences_are_drawn_than_are_wanted():
    with mock.patch.object(Grammar, "some", autospec=True, side_effect=Grammar.some) as drawn:
        load_treebanks(reads(), [], SMALL)
    assert [call.args[2] for call in drawn.call_args_list] == [30]
