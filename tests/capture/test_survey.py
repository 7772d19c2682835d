"""What a survey finds: every attention under the number that profiles give it, and its frequencies."""

from typing import Any

import pytest
import torch
from families import FAMILIES, Family

from wherewhat.capture.editing.survey import survey
from wherewhat.errors import UserError
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig

BY_NAME = {family.name: family for family in FAMILIES}
LADDER = 10_000.0 ** (-torch.arange(0, 8, 2, dtype=torch.float64) / 8)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_attention_is_found_under_its_number(family: Family):
    layers = survey(family.build())
    parts = [part for part, count in family.parts.items() for _ in range(count)]
    assert [layer.part for layer in layers] == parts
    assert [layer.number for layer in layers] == list(range(len(parts)))
    assert all(layer.heads == 4 for layer in layers)
    assert any(layer.theta_F is not None for layer in layers) == ("rotary" in family.position)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_frequencies_are_those_of_the_config(dtype: torch.dtype):
    for layer in survey(BY_NAME["llama"].build().to(dtype)):
        torch.testing.assert_close(layer.theta_F, LADDER, rtol=1e-6, atol=0)


def test_only_pairs_that_turn_are_counted():
    phi = survey(BY_NAME["phi"].build())[0]  # half of its channels turn
    torch.testing.assert_close(
        phi.theta_F, 10_000.0 ** (-torch.arange(0, 4, 2, dtype=torch.float64) / 4), rtol=1e-6, atol=0
    )
    assert [layer.theta_F is None for layer in survey(BY_NAME["smollm3"].build())] == [False, True]


def test_layers_may_turn_at_different_speeds():
    rope = {"sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
            "full_attention": {"rope_type": "default", "rope_theta": 10_000.0}}  # fmt: skip
    local, full = survey(BY_NAME["gemma3"].build(rope_parameters=rope))
    torch.testing.assert_close(local.theta_F, LADDER.sqrt(), rtol=1e-6, atol=0)
    torch.testing.assert_close(full.theta_F, LADDER, rtol=1e-6, atol=0)


def test_where_nothing_turns_it_is_said_what_there_is():
    assert survey(BY_NAME["bert"].build())[0].no_rotation_reason == "position, if any, comes in with the hidden state"
    assert (
        survey(BY_NAME["bloom"].build())[0].no_rotation_reason
        == "position enters the logits by other means than rotation"
    )


@pytest.mark.parametrize(
    ("encoding", "options", "expected"),
    [
        ("rope", {}, LADDER),
        ("rope", {"layout": "interleaved", "rotary_dim": 4}, 10_000.0 ** (-torch.arange(0, 4, 2).double() / 4)),
        ("band_rope", {"keep": "low:0.5"}, LADDER[2:]),
        ("xpos", {}, LADDER),
    ],
)
def test_nets_of_ours_are_asked_themselves(encoding: str, options: dict[str, Any], expected: torch.Tensor):
    config = NetConfig(vocabulary=7, width=32, layers=3, heads=4, encoding=encoding, encoding_options=options, length=9)
    layers = survey(build(config, seed=0))
    assert [(layer.number, layer.module, layer.heads) for layer in layers] == [
        (number, f"blocks.{number}.attention", 4) for number in range(3)
    ]
    for layer in layers:
        torch.testing.assert_close(layer.theta_F, expected, rtol=1e-6, atol=0)


def test_a_survey_leaves_a_model_in_the_mode_it_is_in():
    net = build(NetConfig(vocabulary=7, width=32, layers=1, heads=4, kind="conformer"), seed=0).train()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    survey(net)
    assert net.training and all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


def test_a_module_that_attends_twice_at_once_is_refused():
    sizes = {"num_key_value_heads": 2}
    model = Family("diffllama", "DiffLlamaConfig", "DiffLlamaModel", "rotary", "softmax", sizes).build()
    with pytest.raises(UserError) as raised:
        survey(model)
    assert str(raised.value) == (
        "layers.0.self_attn of DiffLlamaModel attends more than once in a layer; it cannot be edited"
    )
