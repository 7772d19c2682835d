"""Training on speech: the loss over alignments, what is said, and what a run leaves behind."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from wherewhat.corpora.speech.base import Utterance, tokens_needed
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
    SpeechObjective,
    ctc,
    error_rate,
    recognise,
    utterances,
)
from wherewhat.training.transcripts import collapsed, edit_distance

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
    assert tokens_needed([4, 4, 4, 4, 4]) == 9 and tokens_needed([]) == 0
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
    net, corpus = build(SMALL.net, seed=3), SMALL.speech
    with torch.no_grad():
        net.head.bias.zero_()  # it would say the same word everywhere
        for row in net.head.weight:
            row -= row.mean()
    together = recognise(net, corpus, "test", seed=1, samples=20)
    spoken = []
    for number, counted in enumerate(together):
        batch = utterances(corpus, 1, "test", [number])
        spoken.append(collapsed(net.eval()(batch.frames_BTG)[0].argmax(-1).tolist()))
        assert counted == ErrorCount(edit_distance(spoken[-1], batch.labels[0]), len(batch.labels[0]))
    assert len(set(map(tuple, spoken))) > 10


def objective_of(**changes: int) -> SpeechObjective:
    return replace(SMALL, **changes).objective()


def test_masks_hide_neighbouring_bands_and_frames_of_training_alone() -> None:
    objective = SMALL.objective()
    batch = utterances(SMALL.speech, 1, "train", range(6))
    masked, again = objective.masked(batch, 5), objective.masked(batch, 5)
    assert torch.equal(masked, again) and not torch.equal(masked, objective.masked(batch, 6))
    bands, frames = (
        objective_of(**{other: 0}).masked(batch, 5).view(6, -1, 40) for other in ("mask_frames", "mask_bands")
    )
    for number, frames_TF in enumerate(batch.frames_BTG.view(6, -1, 40)):
        told_TF = frames_TF != 0
        for masked_TF, other, most in ((bands[number], 0, 8), (frames[number], 1, 20)):
            hidden = ((masked_TF == 0) & told_TF).any(other).nonzero().flatten()
            whole = (((masked_TF == 0) | ~told_TF).all(other)).nonzero().flatten()
            assert len(hidden) <= most and set(hidden.tolist()) <= set(whole.tolist())
            assert not len(hidden) or len(hidden) == hidden[-1] - hidden[0] + 1
    assert not torch.equal(bands, frames) and (bands == 0).sum() > (batch.frames_BTG == 0).sum()
    assert torch.equal(replace(SMALL, mask_bands=0, mask_frames=0).objective().masked(batch, 5), batch.frames_BTG)


def test_a_run_is_stored_and_resumed(tmp_path: Path) -> None:
    run = train(SMALL, out=tmp_path)
    stored = load_model(tmp_path / "model")
    assert stored.speech == SMALL.speech and stored.tasks == ()
    assert train(SMALL, out=tmp_path, resume=True).curve.equals(run.curve)
    assert "recognised wrongly" in run.settings.ending({"error": 0.5})
    assert changed(SMALL, ["longest=3"]).speech == TouchTones(longest=3)


@pytest.mark.parametrize("arm", ["transformer_xl", "alibi", "t5_bias"])
def test_every_bias_learns_without_exploding(arm: str) -> None:
    """Biases that are added to logits made the loss of others explode after some steps."""
    settings = replace(SMALL, net=replace(SMALL.net, encoding=arm), steps=200, batch=8, warmup=20, evaluate_every=200)
    losses: list[float] = []
    train(settings, on_step=lambda _, measured: losses.append(measured["loss"]))
    assert len(losses) == 200 and np.isfinite(losses).all() and np.mean(losses[-20:]) < 0.8 * np.mean(losses[:5])


@pytest.mark.parametrize("arm", ["rope", "transformer_xl"])
def test_a_killed_and_resumed_run_ends_with_the_same_weights(arm: str, tmp_path: Path) -> None:
    settings = replace(SMALL, net=replace(SMALL.net, encoding=arm), steps=5, checkpoint_every=2)

    def killed(step: int, _: object) -> None:
        if step == 3:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        train(settings, out=tmp_path, on_step=killed)
    steps: list[int] = []
    resumed = train(settings, out=tmp_path, resume=True, on_step=lambda step, _: steps.append(step))
    whole = train(settings)
    assert steps == [3, 4, 5] and resumed.curve.equals(whole.curve)
    theirs = whole.net.state_dict()  # with the running means of batch norm
    assert all(torch.equal(value, theirs[name]) for name, value in resumed.net.state_dict().items())


def test_an_utterance_too_short_for_its_words_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    short = Utterance(np.zeros(800), ("7",) * 5)
    monkeypatch.setattr(TouchTones, "utterance", lambda *_: short)
    with pytest.raises(
        UserError, match="an utterance of 5 words has 2 tokens of 40 ms, and they take at least 9; leave"
    ):
        SMALL.objective().loss(build(SMALL.net, seed=0), 1)


def test_settings_that_cannot_be() -> None:
    with pytest.raises(UserError, match="mask_bands cannot be 40; give from 0 to 39"):
        replace(SMALL, mask_bands=40)
    with pytest.raises(UserError, match="features cannot be set; it follows from how recordings are heard"):
        changed(SMALL, ["features=8"])
    with pytest.raises(UserError, match="unknown speech corpus 'tone'; did you mean 'tones'"):
        changed(SMALL, ["speech=tone"])
