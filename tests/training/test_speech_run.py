"""Training on speech: the loss over alignments, what is said, and what a run leaves behind."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from wherewhat.corpora.speech.base import Utterance
from wherewhat.corpora.speech.features import as_tokens
from wherewhat.corpora.speech.tones import TouchTones
from wherewhat.errors import UserError
from wherewhat.models.folder import load_model
from wherewhat.nets.build import build
from wherewhat.recipes.conformer_digits import conformer_digits
from wherewhat.training.loop import train
from wherewhat.training.settings import changed
from wherewhat.training.speech_training import (
    ErrorCount,
    SpeechBatch,
    ctc,
    error_rate,
    recognise,
    utterances,
)
from wherewhat.training.transcripts import collapsed, edit_distance, frames_needed

SMALL = replace(
    conformer_digits(),
    net=replace(conformer_digits().net, width=16, layers=1, heads=2, kernel=3),
    steps=3,
    batch=4,
    warmup=1,
    evaluate_samples=6,
)


def test_the_loss_of_the_worked_example() -> None:
    batch = SpeechBatch(torch.zeros(1, 2, 160), torch.ones(1, 2, dtype=torch.bool), ([1],))
    assert ctc(torch.zeros(1, 2, 2), batch).item() == pytest.approx(-np.log(0.75), abs=1e-6)


def test_the_loss_is_the_sum_over_all_alignments() -> None:
    logits_TV = torch.randn(5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    labels = [2, 2, 3]
    total = sum(
        float(np.exp(sum(logits_TV.log_softmax(-1)[t, number].item() for t, number in enumerate(path))))
        for path in product(range(4), repeat=5)
        if collapsed(path) == labels
    )
    batch = SpeechBatch(torch.zeros(1, 5, 160), torch.ones(1, 5, dtype=torch.bool), (labels,))
    assert ctc(logits_TV[None], batch).item() == pytest.approx(-np.log(total) / 3, abs=1e-9)


def test_edits_by_recursion() -> None:
    def plain(a: tuple[int, ...], b: tuple[int, ...]) -> int:
        if not a or not b:
            return len(a) + len(b)
        return min(plain(a[1:], b) + 1, plain(a, b[1:]) + 1, plain(a[1:], b[1:]) + (a[0] != b[0]))

    numbers = np.random.default_rng(0)
    for _ in range(60):
        a, b = (tuple(numbers.integers(0, 3, numbers.integers(0, 6)).tolist()) for _ in range(2))
        assert edit_distance(a, b) == plain(a, b)
    assert frames_needed([4, 4, 4, 4, 4]) == 9 and frames_needed([]) == 0
    assert error_rate([ErrorCount(1, 3), ErrorCount(2, 1)]) == 0.75


def test_a_batch_is_its_utterances_with_padding_after_them() -> None:
    corpus = TouchTones()
    batch = utterances(corpus, 1, "train", [0, 3])
    for row, index in enumerate([0, 3]):
        alone = utterances(corpus, 1, "train", [index])
        tokens = int(batch.tokens_B[row])
        assert torch.equal(batch.frames_BTG[row, :tokens], alone.frames_BTG[0]) and alone.real_BT.all()
        assert not batch.frames_BTG[row, tokens:].any() and batch.labels[row] == alone.labels[0]
    assert as_tokens(np.ones((5, 40), np.float32)).shape == (2, 160)


def test_what_is_recognised_does_not_depend_on_the_batch() -> None:
    net = build(SMALL.net, seed=3)
    corpus = SMALL.speech
    together = recognise(net, corpus, "test", seed=1, samples=5)
    batch = utterances(corpus, 1, "test", [4])
    said = collapsed(net.eval()(batch.frames_BTG, batch.real_BT)[0].argmax(-1).tolist())
    assert together[4] == ErrorCount(edit_distance(said, batch.labels[0]), len(batch.labels[0]))


def test_masks_hide_neighbouring_bands_and_frames_of_training_alone() -> None:
    objective = SMALL.objective()
    batch = utterances(SMALL.speech, 1, "train", range(6))
    masked, again = objective.masked(batch, 5), objective.masked(batch, 5)
    assert torch.equal(masked, again) and not torch.equal(masked, objective.masked(batch, 6))
    hidden = (masked != batch.frames_BTG).view(6, -1, 40)
    assert hidden.any() and not hidden.all()
    assert torch.equal(replace(SMALL, mask_bands=0, mask_frames=0).objective().masked(batch, 5), batch.frames_BTG)


def test_a_run_is_stored_and_resumed(tmp_path: Path) -> None:
    run = train(SMALL, out=tmp_path)
    stored = load_model(tmp_path / "model")
    assert stored.speech == SMALL.speech and stored.tasks == ()
    assert train(SMALL, out=tmp_path, resume=True).curve.equals(run.curve)
    half = tmp_path / "half"
    train(replace(SMALL, checkpoint_every=1), out=half)
    assert "recognised wrongly" in run.settings.ending({"error": 0.5})
    assert changed(SMALL, ["longest=3"]).speech == TouchTones(longest=3)


def test_an_utterance_too_short_for_its_words_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    short = Utterance(np.zeros(800), ("7",) * 5)
    monkeypatch.setattr(TouchTones, "utterance", lambda *_: short)
    with pytest.raises(UserError, match="utterance 0 of train has 2 tokens of 40 ms, and its words take at least 9"):
        utterances(TouchTones(), 1, "train", [0], check=True)


def test_settings_that_cannot_be() -> None:
    with pytest.raises(UserError, match="mask_bands cannot be 40; give from 0 to 39"):
        replace(SMALL, mask_bands=40)
    with pytest.raises(UserError, match="features cannot be set; it follows from how recordings are heard"):
        changed(SMALL, ["features=8"])
    with pytest.raises(UserError, match="unknown speech corpus 'tone'; did you mean 'tones'"):
        changed(SMALL, ["speech=tone"])
