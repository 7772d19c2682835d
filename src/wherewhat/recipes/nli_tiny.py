"""NLI tiny: a small encoder with a learned table of positions that tells what follows from a sentence."""

from wherewhat.nets.config import NetConfig
from wherewhat.training.classification import ClassifierSettings


def nli_tiny() -> ClassifierSettings:
    """Who does it to whom? Pairs of sentences of a grammar in which the words alone do not say it."""
    return ClassifierSettings(
        net=NetConfig(
            vocabulary=1,  # follows the words that are read
            length=32,
            width=64,
            layers=2,
            heads=4,
            kind="encoder",
            encoding="learned",
        ),
        question="roles",
        train=12_000,
        valid=300,
        steps=3000,
        batch=64,
        learning_rate=2e-3,
        warmup=100,
        evaluate_every=200,
        evaluate_samples=900,
    )
