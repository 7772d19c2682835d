"""A net learns words: what is hidden, what is asked, what the loss is, and a run that can be broken off."""

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
import torch

from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.vocabulary import SPECIAL, WordVocabulary
from wherewhat.errors import UserError
from wherewhat.models.folder import load_model
from wherewhat.nets.build import build
from wherewhat.nets.trunk import Trunk
from wherewhat.recipes.registry import recipe
from wherewhat.training.encoded_corpus import TRAINING
from wherewhat.training.language_modelling import (
    LanguageModelSettings,
    WordObjective,
    WordTargets,
    encode_words,
    masked_words,
    next_words,
    predictions,
    targets_for,
    word_losses,
)
from wherewhat.training.loop import train
from wherewhat.training.run_folder import CHECKPOINT
from wherewhat.training.settings import changed

KINDS = pytest.mark.parametrize("kind", ["encoder", "decoder"])
WORDS = WordVocabulary.learn([["a", "b", "c", "d", "e", "f", "g"]])


class PowerCutError(Exception):
    """What ends a run before its time."""


def files(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


def padded(lengths: list[int], width: int) -> tuple[np.ndarray, np.ndarray]:
    real_BT = np.arange(width) < np.array(lengths)[:, None]
    drawn_BT = np.random.default_rng(5).integers(len(SPECIAL), len(WORDS), real_BT.shape)
    return np.where(real_BT, drawn_BT, 0), real_BT


@pytest.mark.parametrize("length", [2, 3, 7, 9, 10, 13, 20])
def test_15_per_cent_are_hidden_whatever_the_length_and_at_least_one(length: int) -> None:
    ids_BT, real_BT = padded([length] * 4000, 20)
    guess = masked_words(ids_BT, real_BT, WORDS, np.random.default_rng(1))
    counts_B = np.bincount(guess.slots_G.numpy() // 20, minlength=4000)
    assert counts_B.min() >= 1 and counts_B.max() - counts_B.min() <= 1
    assert counts_B.mean() / length == pytest.approx(max(0.15, 1 / length), abs=0.005)
    assert real_BT.ravel()[guess.slots_G.numpy()].all()
    assert guess.target_G.tolist() == ids_BT.ravel()[guess.slots_G.numpy()].tolist()


def test_unknown_words_are_never_asked_for() -> None:
    ids_BT, real_BT = padded([2, 5, 9, 20] * 50, 20)
    ids_BT[real_BT & (np.random.default_rng(3).random(ids_BT.shape) < 0.6)] = WORDS.unknown
    for ask in (masked_words, next_words):
        guess = ask(ids_BT, real_BT, WORDS, np.random.default_rng(0))
        assert len(guess.target_G) and WORDS.unknown not in guess.target_G and WORDS.pad not in guess.target_G


def test_hidden_words_are_masked_exchanged_or_left() -> None:
    ids_BT, real_BT = padded([20] * 4000, 20)
    guess = masked_words(ids_BT, real_BT, WORDS, np.random.default_rng(1))
    input_G = guess.input_BT.flatten()[guess.slots_G]
    masked, kept = (input_G == WORDS.mask), (input_G == guess.target_G)
    others = ~masked & ~kept
    assert float(masked.double().mean()) == pytest.approx(0.8, abs=0.01)
    assert float(kept.double().mean()) == pytest.approx(0.1 + 0.1 / 7, abs=0.01)  # of 7 words one is the same again
    assert set(input_G[others].tolist()) == set(range(len(SPECIAL), len(WORDS)))
    untouched_BT = torch.ones(ids_BT.size, dtype=torch.bool)
    untouched_BT[guess.slots_G] = False
    assert torch.equal(guess.input_BT.flatten()[untouched_BT], torch.from_numpy(ids_BT).flatten()[untouched_BT])
    assert guess.real_BT is None


def test_every_slot_is_hidden_as_often_as_every_other() -> None:
    ids_BT, real_BT = padded([10] * 5000, 10)
    guess = masked_words(ids_BT, real_BT, WORDS, np.random.default_rng(2))
    share_T = np.bincount(guess.slots_G.numpy() % 10) / 5000
    assert share_T == pytest.approx(np.full(10, 0.15), abs=0.03)


def test_the_next_word_is_asked_of_every_word_but_the_last() -> None:
    ids_BT, real_BT = np.array([[5, 6, 7, 8], [4, 9, 0, 0]]), np.array([[1, 1, 1, 1], [1, 1, 0, 0]], dtype=bool)
    guess = next_words(ids_BT, real_BT, WORDS, np.random.default_rng(0))
    assert guess.input_BT.tolist() == [[5, 6, 7], [4, 9, 0]]
    assert guess.real_BT is not None and guess.real_BT.tolist() == [[True] * 3, [True, True, False]]
    assert (guess.slots_G.tolist(), guess.target_G.tolist()) == ([0, 1, 2, 3], [6, 7, 8, 9])


@torch.no_grad()
def one_by_one(net: Trunk, guess: WordTargets) -> list[float]:
    """nats of every word to be guessed: each sentence alone, without padding, all logits, in float64."""
    net, width, nats = net.double(), guess.input_BT.shape[1], []
    for slot, target in zip(guess.slots_G.tolist(), guess.target_G.tolist(), strict=True):
        row, place = divmod(slot, width)
        length = width if guess.real_BT is None else int(guess.real_BT[row].sum())
        logits_V = net(guess.input_BT[row : row + 1, :length])[0, place]
        nats.append(float(logits_V.logsumexp(-1) - logits_V[target]))
    return nats


@KINDS
def test_the_loss_is_that_of_each_sentence_alone(reader: LanguageModelSettings, kind: str) -> None:
    ready = replace(reader, net=replace(reader.net, kind=kind)).ready()
    objective, net = ready.objective(), build(ready.net, seed=3)
    assert isinstance(objective, WordObjective)
    rows = {step: objective.texts.train.rows(objective.order.rows(step)) for step in range(1, 8)}
    step = next(step for step, (_, real_BT) in rows.items() if not real_BT[:, :-1].all())
    rng = np.random.default_rng([1, TRAINING, step])
    guess = targets_for(rows[step], objective.texts.words, rng, causal=kind == "decoder")
    assert guess.real_BT is not None
    ours = objective.loss(net, step).item()
    assert ours == pytest.approx(fmean(one_by_one(net, guess)), abs=1e-5)


@KINDS
def test_logits_are_worked_out_only_where_a_word_is_guessed(reader: LanguageModelSettings, kind: str) -> None:
    ready = replace(reader, net=replace(reader.net, kind=kind)).ready()
    objective, net, seen = ready.objective(), build(ready.net), []
    net.head.register_forward_hook(lambda head, given, made: seen.append(tuple(made.shape)))
    objective.loss(net, 1)
    lengths_B = ready.texts.train.lengths_N[objective.order.rows(1)]
    most = (lengths_B - 1).sum() if kind == "decoder" else np.maximum(1, np.ceil(0.15 * lengths_B)).sum()
    assert len(seen) == 1 and seen[0][0] <= most and seen[0][1] == ready.net.vocabulary


@KINDS
def test_losses_of_sentences(reader: LanguageModelSettings, kind: str) -> None:
    ready = replace(reader, net=replace(reader.net, kind=kind)).ready()
    net, told = build(ready.net, seed=2), [one.words for one in islice(Grammar().sentences("test"), 7)]
    ours = word_losses(net, ready.words, told, seed=4)
    assert ours == word_losses(net, ready.words, told, seed=4)
    assert (ours == word_losses(net, ready.words, told, seed=5)) == (kind == "decoder")
    rows = {}
    for rows_B, guess, _ in predictions(net, ready.words, encode_words(net.config, ready.words, told), seed=4):
        nats, width = one_by_one(net, guess), guess.input_BT.shape[1]
        for place, row in enumerate(rows_B.tolist()):
            mine = [one for one, slot in zip(nats, guess.slots_G.tolist(), strict=True) if slot // width == place]
            rows[row] = fmean(mine)
    assert ours == pytest.approx([rows[row] for row in range(7)], abs=1e-5)


def test_losses_of_sentences_that_cannot_be_had(reader: LanguageModelSettings) -> None:
    ready = reader.ready()
    net = build(ready.net)
    with pytest.raises(UserError, match=r"^sentence 1 has 1 word\(s\); give sentences of at least 2$"):
        word_losses(net, ready.words, [("the", "dog"), ("dog",)], seed=0)
    with pytest.raises(UserError, match="^there is no sentence to read; give at least one$"):
        word_losses(net, ready.words, [], seed=0)
    with pytest.raises(UserError, match=r"^the net has \d+ token ids and the vocabulary 10; use the vocabulary that"):
        word_losses(net, WORDS, [("a", "b")], seed=0)


def test_a_run_leaves_its_words_and_its_corpus(reader: LanguageModelSettings, tmp_path: Path) -> None:
    run = train(reader, out=tmp_path)
    assert set(files(tmp_path)) == {
        "curve.parquet",
        "model/config.json",
        "model/model.safetensors",
        "model/tokenizer.json",
    }
    assert run.curve["measure"].to_list() == ["loss", "loss valid", "accuracy valid"] * 3
    assert run.ends == {"accuracy": run.final("accuracy valid"), "loss": run.final("loss valid")}
    model = load_model(tmp_path / "model")
    assert model.corpus == reader.corpus and model.words.names == run.words.names
    assert run.settings.net.vocabulary == len(run.words) == model.net.config.vocabulary
    told = [("the", "dog", "sees", "the", "cat", ".")]
    assert word_losses(model.net, model.words, told, seed=0) == word_losses(run.net, run.words, told, seed=0)


@KINDS
def test_the_curve_says_how_well_words_are_guessed(reader: LanguageModelSettings, kind: str) -> None:
    run = train(replace(reader, net=replace(reader.net, kind=kind)))
    texts = run.settings.texts
    nats, right = [], []
    for _, guess, logits_GV in predictions(run.net, run.words, texts.valid, seed=reader.data_seed):
        nats += one_by_one(run.net.double(), guess)
        right += (logits_GV.argmax(-1) == guess.target_G).tolist()
    assert run.final("loss valid") == pytest.approx(fmean(nats), abs=1e-5)
    assert run.accuracy == pytest.approx(fmean(right))


def test_the_same_settings_give_the_same_bytes(reader: LanguageModelSettings, tmp_path: Path) -> None:
    train(reader, out=tmp_path / "a")
    train(reader.ready(), out=tmp_path / "b")
    train(replace(reader, data_seed=2), out=tmp_path / "c")
    one, same, other = (files(tmp_path / name) for name in "abc")
    assert one == same
    assert one["model/model.safetensors"] != other["model/model.safetensors"]


@KINDS
@pytest.mark.parametrize("last", [1, 7, 11])
def test_an_interrupted_run_ends_as_an_unbroken_one(
    reader: LanguageModelSettings, tmp_path: Path, kind: str, last: int
) -> None:
    settings = replace(reader, net=replace(reader.net, kind=kind), keep_every=5)

    def cut(step: int, measured: Mapping[str, float]) -> None:
        if step == last:
            raise PowerCutError

    train(settings, out=tmp_path / "whole")
    with pytest.raises(PowerCutError):
        train(settings, out=tmp_path / "cut", on_step=cut)
    assert (tmp_path / "cut" / CHECKPOINT).exists()
    train(settings, out=tmp_path / "cut", resume=True)
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


def test_a_finished_run_is_read_and_not_run_again(reader: LanguageModelSettings, tmp_path: Path) -> None:
    run, steps = train(reader, out=tmp_path), list[int]()
    again = train(reader, out=tmp_path, resume=True, on_step=lambda step, measured: steps.append(step))
    assert steps == [] and again.curve.equals(run.curve)
    assert again.words.names == run.words.names and again.settings == run.settings
    with pytest.raises(UserError, match=r"other settings: corpus.seed was 1 and is 2; resume with the settings it"):
        train(changed(reader, ["corpus.seed=2"]), out=tmp_path, resume=True)


def test_snapshots_are_model_folders_that_stay(reader: LanguageModelSettings, tmp_path: Path) -> None:
    settings = replace(reader, keep_every=4, evaluate_every=4)
    train(settings, out=tmp_path)
    folders = sorted(path.name for path in (tmp_path / "snapshots").iterdir())
    assert folders == ["step-000000", "step-000004", "step-000008"]
    first = load_model(tmp_path / "snapshots" / "step-000000")
    fresh = build(first.net.config, seed=settings.seed)
    assert all(torch.equal(a, b) for a, b in zip(first.net.parameters(), fresh.parameters(), strict=True))
    assert first.extra["step"] == 0 and first.words is not None and first.corpus == reader.corpus
    later = load_model(tmp_path / "snapshots" / "step-000008")
    assert not torch.equal(later.net.head.weight, first.net.head.weight)
    train(replace(settings, keep_every=0), out=tmp_path)  # another run in the same place keeps none
    assert not list((tmp_path / "snapshots").iterdir())


def test_the_net_that_is_kept_is_the_one_that_learns(reader: LanguageModelSettings, tmp_path: Path) -> None:
    train(replace(reader, keep_every=11), out=tmp_path)
    kept = files(tmp_path)
    assert kept["snapshots/step-000011/model.safetensors"] == kept["model/model.safetensors"]


@KINDS
def test_a_small_net_learns_the_grammar(reader: LanguageModelSettings, kind: str) -> None:
    """Beyond how often words come: a net that knows only that stays at their entropy."""
    net = replace(reader.net, width=32, heads=4, layers=1, kind=kind, length=32)
    settings = replace(reader, net=net, sentences=600, longest=32, steps=120, batch=32, evaluate_every=120)
    run = train(replace(settings, evaluate_samples=100))
    share_V = np.bincount(run.settings.texts.train.ids) / len(run.settings.texts.train.ids)
    entropy = -sum(share * np.log(share) for share in share_V[share_V > 0])
    assert run.final("loss valid") < entropy - 0.2


def test_settings_survive_json(reader: LanguageModelSettings) -> None:
    assert LanguageModelSettings.from_dict(json.loads(json.dumps(reader.ready().to_dict()))) == reader.ready()
    assert "texts" not in reader.ready().to_dict()


def test_changes_find_their_place(reader: LanguageModelSettings) -> None:
    ours = changed(
        reader, ["corpus.seed=2", "sentences=5000", "encoding=alibi", "kind=decoder", "past=false", "seed=7"]
    )
    net = replace(reader.net, encoding="alibi", kind="decoder")
    assert ours == replace(reader, net=net, corpus=Grammar(seed=2), sentences=5000, seed=7)
    assert changed(reader, ["longest=9"]).net.length == 9
    assert changed(reader, ["longest=9", "length=20"]).net.length == 20
    assert changed(reader, ["corpus=grammar"]) == reader


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("longest=1", "longest cannot be 1; give at least 2"),
        ("sentences=0", "sentences cannot be 0; give at least 1"),
        ("most_words=1", "most_words cannot be 1; give at least 2"),
        ("keep_every=-1", "keep_every cannot be -1; give at least 0"),
        ("length=9", "the net's length 9 is too small; sentences have up to 12 words"),
        ("encoding=path", "path only looks back and got a net that looks both ways; use it in a decoder"),
        ("past=maybe", "past cannot be 'maybe'; give true or false, such as past=True"),
        ("corpus=text", "the corpus text consists of files; name them with --text FILE"),
        ("corpus=gramar", "unknown corpus 'gramar'; did you mean 'grammar'?"),
        ("corpus.seed=-1", "the grammar's seed cannot be -1; give a whole number from 0 to"),
        ("vocabulary=50", "vocabulary cannot be set; it follows the words that are learnt, give most_words"),
        ("net.vocabulary=50", "vocabulary cannot be set; it follows the words that are learnt, give most_words"),
        ("kernel=5", "kernel is for conformers, and the net is of kind encoder; leave it out"),
        ("corpus.sead=1", "unknown setting 'corpus.sead'; did you mean 'corpus.seed'?"),
    ],
)
def test_changes_that_cannot_be_made(reader: LanguageModelSettings, change: str, sentence: str) -> None:
    with pytest.raises(UserError) as error:
        changed(reader, [change])
    assert sentence in str(error.value)


def test_bert_tiny_is_of_the_size_that_is_said() -> None:
    settings = recipe("bert_tiny")
    words = len(SPECIAL) + len(Grammar(past=True).vocabulary)
    net = build(replace(settings.net, vocabulary=words))
    assert sum(parameter.numel() for parameter in net.parameters()) == 1_310_941
    assert settings.net.kind == "encoder" and settings.net.encoding == "learned"
    assert settings.corpus == Grammar(past=True)


def test_all_encodings_of_both_directions_read(reader: LanguageModelSettings) -> None:
    ready = reader.ready()
    for name in ("none", "rope", "t5_bias", "deberta", "attenuated"):
        for kind in ("encoder", "decoder"):
            run = train(replace(ready, net=replace(ready.net, encoding=name, kind=kind), steps=2))
            assert np.isfinite(run.final("loss valid"))
