"""BERT tiny: a small encoder with a learned table of positions that fills in hidden words, as BERT was trained."""

from wherewhat.corpora.grammar import Grammar
from wherewhat.nets.config import NetConfig
from wherewhat.training.language_modelling import LanguageModelSettings


def bert_tiny() -> LanguageModelSettings:
    """Sentences of a grammar, in which words agree over distances. `--text` reads files in its place."""
    return LanguageModelSettings(
        net=NetConfig(
            vocabulary=1,  # follows the words that are learnt
            length=32,
            width=160,
            layers=4,
            heads=5,
            kind="encoder",
            encoding="learned",
        ),
        corpus=Grammar(past=True),
        sentences=50_000,
        longest=32,
        steps=2000,
        batch=64,
        learning_rate=1e-3,
        warmup=200,
        evaluate_every=200,
        evaluate_samples=2000,
    )
