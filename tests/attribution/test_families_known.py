"""What must hold in every family: frozen attention, shifted positions, one layer, and tokens that are hidden."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from head_models import BY_NAME, IDS, with_head
from precision import rounding
from test_encodings_ledger import config_of, net_of
from test_families_ledger import state_of
from torch import Tensor

from wherewhat.attribution.attribute import attribute, watched
from wherewhat.attribution.explain import explain
from wherewhat.attribution.outputs import choose_output
from wherewhat.attribution.relevance import Relevance
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.encodings.base import Encoding
from wherewhat.errors import UserError

ROTARY = [name for name, family in BY_NAME.items() if "rotary" in family.position]
DECODERS = [name for name, family in BY_NAME.items() if "decoder" in family.parts and "cross" not in family.parts]
ENCODERS = [name for name, family in BY_NAME.items() if family.parts.keys() == {"encoder"}]


def without_biases(name: str, **more: Any) -> LoadedModel:
    """A family that adds nothing to content but positions, so that they and tokens share all that softmaxes leave."""
    model = with_head(BY_NAME[name], **more)
    with torch.no_grad():
        for parameter_name, parameter in model.module.named_parameters():
            if parameter_name.endswith(("bias", "token_type_embeddings.weight")):
                parameter.zero_()
    return model


def one_layer(name: str) -> LoadedModel:
    single = {"n_layer": 1, "layer_types": ["full_attention"], "no_rope_layers": [1]}
    more = {key: value for key, value in single.items() if key in BY_NAME[name].sizes}
    return without_biases(name, num_hidden_layers=1, **more)


def explained(model: LoadedModel, slot: int, **inputs: Tensor) -> Relevance:
    """The likeliest token at a slot, with further inputs of the model."""

    def logits() -> Tensor:
        output: Any = model.module(input_ids=torch.tensor([IDS]), use_cache=False, **inputs)
        logits_C: Tensor = output.logits[0, slot]
        return logits_C

    choice = replace(choose_output(model, IDS, ""), logits=logits)
    return explain(watched(model, choice), lambda logits_C: int(logits_C.argmax()))


@pytest.mark.parametrize("name", BY_NAME)
def test_frozen_attention_keeps_everything_and_is_blind_to_scores(name: str):
    attribution = attribute(without_biases(name), IDS, method="cp-lrp")
    ledger, tables = attribution.ledger, 0.0
    for (source, _), part_T in attribution.parts.items():
        assert source == "table" or not part_T.any(), source
        tables += float(part_T.sum()) if source == "table" else 0.0
    assert ledger.softmax == 0
    together = ledger.tokens + tables + ledger.others + ledger.biases
    assert together == pytest.approx(ledger.logit, abs=rounding(ledger.dtype, ledger.flow))


@pytest.mark.parametrize("name", ROTARY)
def test_in_one_layer_tokens_and_positions_are_what_attnlrp_gives_tokens(name: str):
    model = one_layer(name)
    ours, plain = attribute(model, IDS), attribute(model, IDS, method="attnlrp")
    close = rounding(torch.float32, ours.ledger.flow)
    torch.testing.assert_close(ours.token_T + ours.position_T, plain.token_T, rtol=0, atol=close)
    assert ours.position_T.abs().max() > 10 * close and not plain.position_T.any()


@pytest.mark.parametrize("name", [name for name in ROTARY if name not in ("esm", "nomic_bert", "modernbert")])
def test_moving_all_positions_changes_no_relevance(name: str):
    model = with_head(BY_NAME[name])
    position_BT = torch.arange(len(IDS))[None]
    ours, moved = (explained(model, -1, position_ids=position_BT + first) for first in (0, 7))
    close = rounding(torch.float32, ours.ledger.flow)  # in which cosines and sines are computed
    torch.testing.assert_close(ours.logits_C, moved.logits_C, rtol=0, atol=close)
    torch.testing.assert_close(ours.token_T, moved.token_T, rtol=0, atol=close)
    torch.testing.assert_close(ours.position_T, moved.position_T, rtol=0, atol=close)
    cos, other = ours.sources[0].relevance().sum(), moved.sources[0].relevance().sum()
    assert abs(float(cos - other)) > close, "what cosines had is with sines"


@pytest.mark.parametrize("name", DECODERS)
def test_later_tokens_get_exactly_nothing(name: str):
    relevance = explained(with_head(BY_NAME[name]), 4)
    assert not relevance.token_TD[5:].any() and relevance.token_TD[:5].any()
    assert not relevance.position_T[5:].any() and relevance.position_T[:5].any()


@pytest.mark.parametrize("name", [name for name in ENCODERS if name != "xlnet"])
def test_padding_gets_exactly_nothing(name: str):
    mask_BT = torch.tensor([[1] * 6 + [0] * 3])
    relevance = explained(with_head(BY_NAME[name]), 4, attention_mask=mask_BT)
    assert not relevance.token_TD[6:].any() and relevance.token_TD[:6].any()
    assert not relevance.position_T[6:].any() and relevance.ledger.balances()


@pytest.mark.parametrize("name", BY_NAME)
def test_a_model_that_fails_is_left_as_it_was(name: str):
    model = with_head(BY_NAME[name])
    before = state_of(model.module)
    head = [module for module in model.module.modules() if isinstance(module, torch.nn.Linear)][-1]

    def fail(*_: object) -> None:
        raise ValueError("no more memory for this")

    hook = head.register_forward_hook(fail)
    with pytest.raises(UserError, match="could not be run on these texts: no more memory for this"):
        attribute(model, IDS)
    hook.remove()
    assert state_of(model.module) == before
    assert attribute(model, IDS).ledger.balances()


def test_a_net_that_fails_is_left_as_it_was():
    net = net_of(config_of("rope", "decoder"))
    attends = [block.attention.attend for block in net.blocks]
    hook = net.head.register_forward_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        attribute(net, [1, 2, 3])
    hook.remove()
    assert [block.attention.attend for block in net.blocks] == attends
    assert all(encoding.watch is None for encoding in net.modules() if isinstance(encoding, Encoding))
    assert all(parameter.requires_grad and parameter.grad is None for parameter in net.parameters())
