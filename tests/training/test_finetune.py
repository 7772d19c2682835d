"""A fine-tuned net is a changed copy, learns what can be learnt and nothing else, and is chosen fairly."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from wherewhat.corpora.questions import Example, LabelledDataset
from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.errors import UserError
from wherewhat.models.folder import NetTexts, load_model, save_model
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk
from wherewhat.training.finetune import FinetuneSettings, LabelledSentences, answered, finetune, probe_frozen, ridge
from wherewhat.training.language_modelling import encode_words

NAMES, VERBS = ("anna", "ben", "carl", "dora"), ("sees", "helps", "calls")
WORDS = WordVocabulary.learn([NAMES, VERBS, ("today",)])
HOW = FinetuneSettings(steps=40, batch=16, learning_rates=(1e-2,), warmup=5)


def net_of(encoding: str = "learned", kind: str = "encoder", **options: object) -> Trunk:
    sizes = {"vocabulary": len(WORDS), "length": 8, "width": 16, "layers": 2, "heads": 2, "mlp": 2}
    return build(NetConfig(**sizes, kind=kind, encoding=encoding, encoding_options=options), seed=1)


def examples(label: object, count: int, seed: int) -> tuple[Example, ...]:
    """Sentences of three or four words; `label` says what each is called."""
    rng, made = np.random.default_rng(seed), []
    for _ in range(count):
        a, b = rng.choice(NAMES, 2, replace=False)
        words = (str(a), str(rng.choice(VERBS)), str(b), *(["today"] if rng.random() < 0.5 else []))
        made.append(Example(words, label(words, rng)))  # type: ignore[operator]
    return tuple(made)


def asked(label: object) -> LabelledDataset:
    return LabelledDataset("made up", ("no", "yes"), *(examples(label, 80, seed) for seed in (0, 1, 2)))


def has_anna(words: tuple[str, ...], rng: np.random.Generator) -> str:
    return "yes" if "anna" in words else "no"


def by_chance(words: tuple[str, ...], rng: np.random.Generator) -> str:
    return "yes" if rng.random() < 0.5 else "no"


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_what_words_say_is_learnt_tuned_and_frozen(kind: str) -> None:
    net, told = net_of(kind=kind), asked(has_anna)
    tuned, frozen = finetune(net, WORDS, told, HOW), probe_frozen(net, WORDS, told)
    for ours in (tuned, frozen):
        assert ours.accuracy == np.mean(ours.right_N) > 0.75
        assert ours.valid > 0.75 and len(ours.right_N) == 80
    assert tuned.accuracy > 0.85


def test_what_is_left_to_chance_is_not() -> None:
    net, told = net_of(), asked(by_chance)
    for ours in (finetune(net, WORDS, told, HOW), probe_frozen(net, WORDS, told)):
        assert 0.3 < ours.accuracy < 0.7


def test_the_net_that_is_handed_in_stays_as_it_was() -> None:
    net = net_of()
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    tuned = finetune(net, WORDS, asked(has_anna), HOW)
    frozen = probe_frozen(net, WORDS, asked(has_anna))
    assert all(torch.equal(tensor, before[name]) for name, tensor in net.state_dict().items())
    assert net.training and not tuned.net.training
    assert frozen.net is net and tuned.net is not net
    after = tuned.net.state_dict()
    assert after.keys() - before.keys() == {"labeller.weight", "labeller.bias"}
    assert (net.config.labels, tuned.net.config.labels) == ((), ("no", "yes"))
    changed = [name for name in before if not torch.equal(after[name], before[name])]
    assert "tokens.weight" in changed and "encodings.0.table_SD" in changed and "head.weight" not in changed


def test_a_tuned_net_judges_by_itself_and_from_its_folder(tmp_path: Path) -> None:
    told = asked(has_anna)
    tuned = finetune(net_of(), WORDS, told, HOW)
    save_model(tmp_path, tuned.net, reads=NetTexts(WORDS))
    sentences = [one.words for one in told.test]
    for net in (tuned.net, load_model(tmp_path).net):
        logits_NA = answered(net, WORDS, sentences)
        said = [net.config.labels[int(number)] for number in logits_NA.argmax(-1)]
        assert tuple(one.label == label for one, label in zip(told.test, said, strict=True)) == tuned.right_N
        alone_A = net.label_logits(torch.tensor([WORDS.ids(sentences[7])]))[0].detach()
        assert torch.allclose(logits_NA[7], alone_A, atol=1e-5), "in the order of the sentences"


def test_the_same_seed_gives_the_same_answers() -> None:
    one, same = (finetune(net_of(), WORDS, asked(has_anna), replace(HOW, steps=8)) for _ in range(2))
    assert one.right_N == same.right_N
    assert all(torch.equal(a, b) for a, b in zip(one.net.parameters(), same.net.parameters(), strict=True))
    other = finetune(net_of(), WORDS, asked(has_anna), replace(HOW, steps=8, seed=1))
    assert not torch.equal(one.net.tokens.weight, other.net.tokens.weight)


def test_the_learning_rate_is_chosen_by_the_valid_split() -> None:
    """Where valid says one thing and test the opposite, valid decides."""

    def opposite(words: tuple[str, ...], rng: np.random.Generator) -> str:
        return "no" if "anna" in words else "yes"

    rates = replace(HOW, learning_rates=(1e-9, 1e-2))
    told = asked(has_anna)
    turned = replace(told, test=examples(opposite, 80, 2))
    assert finetune(net_of(), WORDS, told, rates).rate == 1e-2
    worse = finetune(net_of(), WORDS, turned, rates)
    assert worse.rate == 1e-2 and worse.accuracy < 0.05
    assert finetune(net_of(), WORDS, replace(told, valid=examples(opposite, 80, 1)), rates).rate == 1e-9


@pytest.mark.parametrize("encoding", ["learned", "alibi", "none"])
def test_a_sentence_is_the_mean_of_its_own_hidden_states(encoding: str) -> None:
    net = net_of(encoding).double()
    told = [("anna", "sees", "ben"), ("ben", "calls", "carl", "today"), ("dora",)]
    ids_BT, real_BT = map(torch.from_numpy, encode_words(net.config, WORDS, told).rows(np.array([2, 0, 1])))
    ours = net.mean_hidden(ids_BT, real_BT)
    alone = [net.hidden(torch.tensor([WORDS.ids(words)])).mean(1)[0] for words in (told[2], told[0], told[1])]
    assert torch.allclose(ours, torch.stack(alone), atol=1e-12)


def test_reversed_sentences_are_one_where_the_encoding_knows_no_side() -> None:
    """anna sees ben and ben sees anna: told apart by an encoding that has sides, and by no other."""
    twins = [("anna", "sees", "ben"), ("ben", "sees", "anna")]
    for encoding, options, same in (("attenuated", {"s": 1.0}, True), ("attenuated", {"s": 0.0}, False)):
        net = net_of(encoding, **options).double()
        one, other = net.mean_hidden(torch.tensor([WORDS.ids(words) for words in twins]))
        assert torch.allclose(one, other, atol=1e-12) == same


def test_the_layer_that_learns_alone_has_the_least_squares() -> None:
    """Worked out apart: penalty and intercept as further rows and a further column of an ordinary least-squares fit."""
    rng, penalty = np.random.default_rng(0), 0.3
    x_ND, told_NV = rng.normal(size=(50, 4)), np.eye(3)[rng.integers(0, 3, 50)]
    x_ND -= x_ND.mean(0)
    weight_DV, bias_V = ridge(torch.from_numpy(x_ND), torch.from_numpy(told_NV), penalty)
    rows = np.block([[x_ND, np.ones((50, 1))], [np.sqrt(50 * penalty) * np.eye(4), np.zeros((4, 1))]])
    wanted = np.linalg.lstsq(rows, np.vstack([told_NV, np.zeros((4, 3))]))[0]
    assert np.allclose(weight_DV, wanted[:4], atol=1e-12) and np.allclose(bias_V, wanted[4], atol=1e-12)


def test_the_penalty_is_chosen_by_the_valid_split() -> None:
    """Only what valid says decides, and every number of the probe follows from the examples alone."""
    net, told = net_of(), asked(has_anna)
    one = probe_frozen(net, WORDS, told)
    assert one == probe_frozen(net, WORDS, told)
    turned = probe_frozen(net, WORDS, replace(told, test=tuple(reversed(told.test))))
    assert (turned.rate, turned.valid) == (one.rate, one.valid) and turned.right_N == one.right_N[::-1]


def test_labels_keep_their_numbers() -> None:
    net = net_of()
    ours = LabelledSentences.of(net.config, WORDS, [Example(("anna",), "yes"), Example(("ben",), "no")], ("no", "yes"))
    assert ours.label_N.tolist() == [1, 0]
    net.add_label_layer(("no", "yes"), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        net.labeller.weight.zero_()
        net.labeller.bias.copy_(torch.tensor([0.0, 1.0]))
    assert ours.loss(net, np.array([0])).item() < ours.loss(net, np.array([1])).item(), "it says yes to everything"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"labels": ("yes",)}, "made up has the label yes only; give examples of at least 2"),
        ({"valid": ()}, "made up has no valid examples; give more, a tenth each is valid and test"),
        ({"test": ()}, "made up has no test examples; give more, a tenth each is valid and test"),
        ({"test": (Example(("anna",), "yess"),)}, "unknown label 'yess'; did you mean 'yes'? known: no, yes"),
        ({"train": (Example((), "yes"),)}, "sentence 0 has 0 word(s); give sentences of at least 1"),
    ],
)
def test_examples_that_cannot_be_learnt_from(change: dict[str, object], sentence: str) -> None:
    net, told = net_of(), replace(asked(has_anna), **change)  # type: ignore[arg-type]
    for learn in (partial(finetune, how=HOW), probe_frozen):
        with pytest.raises(UserError) as error:
            learn(net, WORDS, told)
        assert sentence in str(error.value)


def test_words_of_another_net() -> None:
    with pytest.raises(UserError, match=r"the net has 11 token ids and the vocabulary 4; use the vocabulary that the"):
        finetune(net_of(), WordVocabulary.learn([["a"]]), asked(has_anna), HOW)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"steps": 0}, "fine-tuning cannot have steps 0; give at least 1"),
        ({"learning_rates": ()}, "fine-tuning cannot have learning rates (); give one or more above 0"),
        ({"learning_rates": (0.0,)}, "fine-tuning cannot have learning rates (0.0,); give one or more above 0"),
    ],
)
def test_fine_tuning_that_cannot_be_done(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(UserError) as error:
        replace(HOW, **change)  # type: ignore[arg-type]
    assert sentence in str(error.value)
