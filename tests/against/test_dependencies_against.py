"""Where heads look, against a plain loop over transformers' own attentions, in float64."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from dependencies_oracle import correlations, kept_of, looks, reordered, words_of
from families import FAMILIES
from precision import rounding
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.corpora.sentence import Annotation, Sentence
from wherewhat.probing.dependencies.attention_targets import AttentionTargets
from wherewhat.probing.dependencies.collect_targets import collect_targets
from wherewhat.probing.dependencies.repeated_word import words_to_repeat
from wherewhat.probing.dependencies.settings import CONTEXTUAL, FULL, POSITIONAL, SHUFFLED, DependencySettings
from wherewhat.probing.dependencies.treebanks import EncodedSentence, encode_treebank
from wherewhat.tasks.stream import Stream

BY_NAME = {family.name: family for family in FAMILIES}
LETTERS = "abcdefghijklmnopqrstuvwxyz,."
NAMES = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
# words, tags, governors (counted from 1), relations: words of several letters are several pieces
TOLD = [
    ("ab c def , g .", "X X X PUNCT X PUNCT", "2 0 2 3 3 2", "det root obj punct amod punct"),
    ("a bc", "X X", "2 0", "nsubj root"),
    ("fgh i j a bc .", "X X X X X PUNCT", "2 4 2 0 4 4", "a b c root d punct"),
    ("c c c c c c c c", "X X X X X X X X", "2 0 2 2 2 2 2 2", "a root b c d e f g"),
]


def sentence(words: str, tags: str, head: str, deprel: str) -> Sentence:
    known = Annotation(upos=tuple(tags.split()), head=tuple(map(int, head.split())), deprel=tuple(deprel.split()))
    return Sentence(tuple(words.split()), "", lambda: known)


def tokenizer(*, special: bool) -> PreTrainedTokenizerFast:
    found = Tokenizer(WordPiece({name: id for id, name in enumerate(NAMES)}, unk_token="[UNK]"))
    found.pre_tokenizer = BertPreTokenizer()
    if special:
        found.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return PreTrainedTokenizerFast(
        tokenizer_object=found, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )


def loaded_model(family: str, *, special: bool = True) -> LoadedModel:
    return LoadedModel(family, BY_NAME[family].build().double(), tokenizer(special=special))


def ready(one: LoadedModel) -> tuple[EncodedSentence, ...]:
    return encode_treebank(one, enumerate(sentence(*told) for told in TOLD), "told", "here").sentences


def looked_words(found: AttentionTargets, part: str, sentences: Sequence[EncodedSentence], number: int) -> np.ndarray:
    first = sum(len(one.kept) for one in sentences[:number])
    return found.targets[part][first : first + len(sentences[number].kept)]


@pytest.mark.parametrize("family", ["bert", "deberta-v2", "xlnet", "t5", "llama", "gpt2", "bloom"])
@pytest.mark.parametrize(("tokens", "entries"), [(40, 1 << 21), (2048, 500)], ids=["small batches", "few rows at once"])
def test_heads_look_where_a_plain_loop_says(family: str, tokens: int, entries: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("wherewhat.capture.hooks.reader.CHUNK_ENTRIES", entries)
    model = loaded_model(family, special=family != "llama")
    sentences = ready(model)
    asking = DependencySettings(permutations=3, copies=4, seed=5, batch_tokens=tokens)
    ours = collect_targets(model, sentences, asking)
    copied = words_to_repeat(model, sentences, asking)
    assert len(ours.heads) == 8 and ours.repeated == tuple(copied)
    for number, one in enumerate(sentences):
        theirs = plainly(model, one, asking, copied, causal=ours.causal)
        for part in (FULL, POSITIONAL, CONTEXTUAL, SHUFFLED):
            np.testing.assert_array_equal(looked_words(ours, part, sentences, number), theirs[part], err_msg=part)
        np.testing.assert_allclose(ours.confidence_SH[number], theirs["confidence"], atol=rounding(torch.float32))
        for part in (POSITIONAL, CONTEXTUAL):
            np.testing.assert_allclose(ours.correlations[part][number], theirs[f"with {part}"], atol=1e-5)


def filled(units: Sequence[int], word: int, special: Sequence[int]) -> list[int]:
    """A word wherever there is one; the tokenizer's own tokens in their order."""
    waiting = iter(special)
    return [next(waiting) if unit == -1 else word for unit in units]


def plainly(
    model: LoadedModel, one: EncodedSentence, asking: DependencySettings, copied: Sequence[int], *, causal: bool
) -> dict:
    kept, unit_of = kept_of(one), one.aligned.unit_of_T.tolist()
    net, n = model.module, len(kept_of(one))
    full = words_of(net, one.aligned.ids_T.tolist(), unit_of, kept)
    one_each = [unit for slot, unit in enumerate(unit_of) if unit == -1 or unit not in unit_of[:slot]]
    special = one.aligned.ids_T[one.aligned.unit_of_T == -1].tolist()
    texts = [filled(one_each, word, special) for word in copied]
    positional = np.mean([words_of(net, text, one_each, kept) for text in texts], axis=0)
    orders = [
        Stream(asking.seed, "dependencies", one.number, k).shuffle(range(len(one.units.words)))
        for k in range(asking.permutations)
    ]
    others = [words_of(net, *reordered(one, order), kept) for order in orders]
    stands = [[[unit for unit in order if unit in kept].index(unit) for unit in kept] for order in orders]
    seen = np.array([[[not causal or (at[j] < at[i]) for j in range(n)] for i in range(n)] for at in stands])
    contextual = np.sum(others, axis=0) / np.maximum(seen.sum(0), 1)
    if causal:
        contextual = contextual * np.tri(n, k=-1)
    in_order = [kept.index(unit) for unit in orders[0] if unit in kept]
    return {
        FULL: looks(full),
        POSITIONAL: looks(positional),
        CONTEXTUAL: looks(contextual),
        SHUFFLED: looks(others[0], in_order),
        "confidence": full.max(-1).mean(-1).ravel(),
        "with positional": correlations(full, positional, causal),
        "with contextual": correlations(full, contextual, causal),
    }
