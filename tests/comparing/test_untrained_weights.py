"""Untrained weights are what training starts from: seeded, finite, of the same shapes, and nothing else is touched."""

import pytest
import torch
from families import FAMILIES, Family

from wherewhat.capture.loading.load import LoadSettings, load_by_name, untrained_copy, wrap_module

SOME = [
    family for family in FAMILIES if family.name in ("bert", "albert", "xlnet", "deberta-v2", "llama", "t5", "gpt2")
]


def weights(model: torch.nn.Module) -> list[torch.Tensor]:
    return [parameter.detach() for parameter in model.parameters()]


@pytest.mark.parametrize("family", SOME, ids=lambda family: family.name)
def test_a_model_of_others_starts_as_its_library_starts_it(family: Family):
    model = wrap_module(family.build())
    trained = [weight.clone() for weight in weights(model.module)]
    torch.manual_seed(99)
    before = torch.get_rng_state()
    one, again, other = (untrained_copy(model, seed=seed).module for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before), "the global generator is left as it was"
    assert all(map(torch.equal, weights(one), weights(again)))
    assert not all(map(torch.equal, weights(one), weights(other)))
    assert [weight.shape for weight in weights(one)] == [weight.shape for weight in trained]
    assert all(map(torch.equal, weights(model.module), trained)), "the trained model is not touched"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        theirs = type(model.module)(model.module.config)
    assert all(map(torch.equal, weights(one), weights(theirs)))
    assert not one.training and type(one) is type(model.module)


def test_a_bert_starts_with_the_spread_that_its_config_states():
    bert = next(family for family in FAMILIES if family.name == "bert")
    model = untrained_copy(
        wrap_module(bert.build()), seed=0
    ).module  # trained, in the sense of these tests, means a spread of 0.3
    table = model.embeddings.position_embeddings.weight.detach()
    assert float(table.std()) == pytest.approx(model.config.initializer_range, rel=0.1)


def test_a_net_of_ours_is_built_anew():
    model = load_by_name("tiny", LoadSettings(dtype="float64", device="cpu"))
    one, again, other = (untrained_copy(model, seed=seed) for seed in (3, 3, 4))
    assert all(map(torch.equal, weights(one.module), weights(again.module)))
    assert not all(map(torch.equal, weights(one.module), weights(other.module)))
    assert not all(map(torch.equal, weights(one.module), weights(model.module)))
    assert {weight.dtype for weight in weights(one.module)} == {torch.float64}
    assert one.id == "tiny, untrained" and one.path is None and one.task is model.task and one.family == model.family
