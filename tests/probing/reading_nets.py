"""Small nets that read the grammar, and judges that answer without a net: by reading, by the words alone, by chance."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from wherewhat.capture.loading.load import LoadedModel, word_tokenizer, wrap_module
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.sentence_pairs import ROLES
from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.models.folder import NetTexts, save_model
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig

WORDS = WordVocabulary.learn([Grammar().vocabulary])
Judge = Callable[[str, str], str]  # premise and hypothesis to a label
CAT = "(NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (NN dog))) (. .)"
DOG = "(NP (DT a) (NN dog)) (VP (VBZ helps) (NP (DT every) (JJ small) (NN cat))) (. .)"
MARIA = "(NP (NNP maria)) (VP (VBZ calls) (NP (NNP tom))) (. .)"
NURSE = "(NP (NNP maria)) (VP (VBZ calls) (NP (DT a) (JJ brave) (NN nurse))) (. .)"
CASES = f"""label\tpremise\thypothesis
entailment\t(S {CAT.replace("(NN cat)", "(JJ brave) (NN cat)")})\t(S {CAT})
contradiction\t(S {DOG})\t(S (NP (NNP peter)) (VP (VBZ sleeps)) (. .))
neutral\t(S {MARIA})\t(S {NURSE})
"""
TREES = """(S (NP (DT the) (JJ brave) (NN cat)) (VP (VBZ sees) (NP (DT a) (NN dog))) (. .))
(S (NP (NNP maria)) (VP (VBZ sleeps)) (. .))
(S (NP (DT a) (NN dog)) (VP (VBZ helps) (NP (DT every) (JJ small) (NN cat))) (. .))
"""


def reads(*, labels: tuple[str, ...] = (), **sizes: object) -> LoadedModel:
    """A random net of ours that reads the words of the grammar, in float64."""
    default = {"width": 16, "layers": 1, "heads": 2, "length": 64, "kind": "encoder", "encoding": "learned"}
    config = NetConfig(vocabulary=len(WORDS), labels=labels, **{**default, **sizes})  # type: ignore[arg-type]
    net = build(config, seed=2).double()
    with torch.no_grad():  # louder than fresh weights, so that order shows in the answers
        for parameter in net.parameters():
            parameter.mul_(3)
    return wrap_module(net, word_tokenizer(WORDS))


def on_disk(folder: Path, *, labels: tuple[str, ...] = (), **sizes: object) -> Path:
    """Such a net as a training run leaves it."""
    model = reads(labels=labels, **sizes)
    save_model(folder, model.module.float(), reads=NetTexts(WORDS, Grammar()))  # type: ignore[arg-type]
    return folder


def judging(monkeypatch: pytest.MonkeyPatch, judge: Judge) -> None:
    """Let every classifier with the labels of our pairs answer as a judge does."""

    def judged(_: LoadedModel, texts: Sequence[tuple[str, ...]]) -> np.ndarray:
        return np.array([[float(judge(*each) == label) for label in ROLES] for each in texts])

    monkeypatch.setattr("wherewhat.probing.swap_probe.probed_model.classify", judged)


def by_reading(premise: str, hypothesis: str) -> str:
    """Who does it to whom, found in the words: the one before an active verb, or behind "by"."""
    said, asked = premise.split(), [word for word in hypothesis.split() if word not in ("the", ".")]
    one, verb, other = asked
    does = [place for place, word in enumerate(said) if word[:3] == verb[:3]]
    if not does:
        return "other"
    first, second = said.index(one), said.index(other)
    passive = "by" in said[does[0] :] and said[does[0] - 1] in ("is", "are")
    return "entailed" if (first < second) != passive else "reversed"


def by_words(premise: str, hypothesis: str) -> str:
    """Whether the verb is there, and nothing else."""
    return "entailed" if by_reading(premise, hypothesis) != "other" else "other"
