"""A net with labels judges whole texts; one without is in every byte what it was."""

import json
from dataclasses import replace

import pytest
import torch

from wherewhat.errors import UserError
from wherewhat.nets.build import build
from wherewhat.nets.config import KINDS, NetConfig

CONFIG = NetConfig(vocabulary=20, width=8, layers=2, heads=2, kind="encoder", encoding="learned", length=9)
LABELS = ("entailed", "reversed", "other")
IDS, REAL = torch.tensor([[3, 4, 5, 6, 7], [8, 9, 10, 0, 0]]), torch.tensor([[True] * 5, [True] * 3 + [False] * 2])


def test_a_net_without_labels_knows_nothing_of_them() -> None:
    assert "labels" not in CONFIG.to_dict() and NetConfig.from_dict(CONFIG.to_dict()).labels == ()
    assert not [name for name in build(CONFIG).state_dict() if "label" in name]


def test_labels_survive_json() -> None:
    asked = replace(CONFIG, labels=LABELS)
    told = json.loads(json.dumps(asked.to_dict()))
    assert told["labels"] == list(LABELS) and NetConfig.from_dict(told) == asked


def test_nets_with_one_seed_differ_in_nothing_but_what_they_are_asked() -> None:
    plain, asked = build(CONFIG, seed=5), build(replace(CONFIG, labels=LABELS), seed=5)
    assert asked.state_dict().keys() - plain.state_dict().keys() == {"labeller.weight", "labeller.bias"}
    assert all(torch.equal(tensor, asked.state_dict()[name]) for name, tensor in plain.state_dict().items())
    assert not torch.equal(asked.labeller.weight, build(asked.config, seed=6).labeller.weight)


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
def test_a_label_is_read_from_the_mean_of_real_hidden_states(kind: str) -> None:
    net = build(replace(CONFIG, labels=LABELS, kind=kind, encoding="rope"), seed=1).double().eval()
    ours_BA = net.label_logits(IDS, REAL)
    for row, length in ((0, 5), (1, 3)):
        states_TD = [net.hidden(IDS[row : row + 1, :length])[0, slot] for slot in range(length)]
        mean_D = sum(states_TD) / length
        by_hand = [float(mean_D @ weight_D + bias) for weight_D, bias in zip(*net.labeller.parameters(), strict=True)]
        assert ours_BA[row].tolist() == pytest.approx(by_hand, abs=1e-12)
    assert torch.equal(net.label_logits(IDS[:1]), net.label_logits(IDS[:1], REAL[:1]))


def test_a_net_may_be_asked_something_else() -> None:
    net = build(CONFIG, seed=1).double()
    for labels in (LABELS, ("yes", "no")):
        net.add_label_layer(labels, generator=torch.Generator().manual_seed(0))
        assert net.config == replace(CONFIG, labels=labels) and net.label_logits(IDS).shape == (2, len(labels))
        assert net.labeller.weight.dtype == torch.float64 and not net.labeller.bias.any()
    twin = build(CONFIG, seed=2)
    twin.add_label_layer(("yes", "no"), generator=torch.Generator().manual_seed(0))
    assert torch.equal(twin.labeller.weight.double(), net.labeller.weight), "drawn from the generator alone"


def test_a_net_without_labels_cannot_judge() -> None:
    with pytest.raises(UserError, match=r"this net has no labels, so it cannot judge a text; fine-tune it on a questi"):
        build(CONFIG).label_logits(IDS)


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (("yes",), "a net's labels must be at least 2, all different, or none; got yes"),
        (("yes", "no", "yes"), "a net's labels must be at least 2, all different, or none; got yes, no, yes"),
        ("yes", "a net's labels must be names in a row, got 'yes'"),
        ((1, 2), "a net's labels must be names in a row, got (1, 2)"),
        (3, "a net's labels must be names in a row, got 3"),
    ],
)
def test_labels_that_do_not_fit(labels: object, sentence: str) -> None:
    with pytest.raises(UserError) as refusal:
        replace(CONFIG, labels=labels)
    assert str(refusal.value) == sentence
