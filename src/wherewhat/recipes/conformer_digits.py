"""Conformer digits: a small conformer that learns to recognise strings of digits."""

from wherewhat.corpora.speech.base import SpeechCorpus
from wherewhat.corpora.speech.tones import TouchTones
from wherewhat.nets.config import NetConfig
from wherewhat.training.speech_training import TOKEN_VALUES, SpeechSettings

LONGEST = 1000  # tokens of 40 ms that a net is made for


def conformer_digits(speech: SpeechCorpus | None = None) -> SpeechSettings:
    """Touch tones, or spoken digits with `--set speech=digits=FOLDER`; about five minutes on one core for digits.

    Measured after fewer steps (seed 0): on touch tones 1 to 2 % of the digits of fresh utterances are wrong after 300
    steps, half a minute on one core; on spoken digits 22 % after 200 steps and 1.6 % after 800, and 13 % by a
    speaker who is not in training.
    """
    corpus = TouchTones() if speech is None else speech
    net = NetConfig(
        vocabulary=len(corpus.vocabulary) + 1,
        features=TOKEN_VALUES,
        length=LONGEST,
        width=96,
        layers=4,
        heads=4,
        kind="conformer",
        kernel=15,
        encoding="rope",
    )
    return SpeechSettings(
        net=net,
        speech=corpus,
        steps=2500,
        batch=16,
        learning_rate=1e-3,
        warmup=300,
        clip=5.0,
        evaluate_every=500,
        evaluate_samples=200,
        mask_bands=8,
        mask_frames=20,
    )
