"""Every encoding of the registry in every kind of net: relevance adds up, and so do its parts."""

from functools import partial

import pytest
import torch
from torch import Tensor

from wherewhat.attribution.attribute import attribute
from wherewhat.attribution.details import position_by_frequency, position_by_head
from wherewhat.attribution.explain import explain
from wherewhat.attribution.relevance import Relevance, Watched
from wherewhat.attribution.sources import watched_net
from wherewhat.encodings.registry import ENCODINGS
from wherewhat.errors import UserError
from wherewhat.nets.build import build
from wherewhat.nets.config import KINDS, NetConfig
from wherewhat.nets.trunk import Trunk

IDS = torch.tensor([[1, 4, 2, 8, 5, 7, 1]])
BY_RULES = ("pa-lrp", "attnlrp", "cp-lrp")
SCORE_LEVEL = set(ENCODINGS) - {"none", "sinusoidal", "learned", "urpe"}  # act before the softmax, or on nothing at all
WITHOUT = {"none", "rollpe"}  # no tensor that holds position


def config_of(encoding: str, kind: str, **more: object) -> NetConfig | None:
    """A small net, or None where the encoding does not allow its kind."""
    sizes = {"vocabulary": 11, "width": 16, "layers": 3, "heads": 2, "length": 16, "kernel": 3, **more}
    try:
        return NetConfig(encoding=encoding, kind=kind, **sizes)
    except UserError:
        return None


def net_of(config: NetConfig, seed: int = 0) -> Trunk:
    """A net in float64 whose weights and biases are all far from where they start."""
    net = build(config, seed=1).double().eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype))
        for name, statistics in net.named_buffers():
            if name.endswith("running_mean"):
                statistics.add_(torch.randn(statistics.shape, generator=generator, dtype=statistics.dtype))
    return net


def watched(net: Trunk, slot: int = -1, real_BT: Tensor | None = None) -> Watched:
    return Watched(net, net.tokens, lambda: net(IDS, real_BT)[0, slot], partial(watched_net, net), length=IDS.shape[1])


def largest(logits_C: Tensor) -> int:
    return int(logits_C.argmax())


CASES = [
    pytest.param(config, id=f"{encoding} {kind}")
    for encoding in ENCODINGS
    for kind in KINDS
    if (config := config_of(encoding, kind)) is not None
]


@pytest.mark.parametrize("config", CASES)
def test_the_ledger_balances_and_the_output_stays(config: NetConfig):
    net = net_of(config)
    with torch.no_grad():
        plain_C = net(IDS)[0, -1]
    for method in BY_RULES:
        relevance = explain(watched(net), largest, method=method)
        torch.testing.assert_close(relevance.logits_C, plain_C, rtol=0, atol=1e-13)
        assert abs(relevance.ledger.rest) < 1e-13 * relevance.ledger.flow, method
        assert relevance.ledger.dtype == torch.float64 and relevance.ledger.biases and relevance.ledger.tokens
        check_parts(relevance)
    assert all(parameter.requires_grad and parameter.grad is None for parameter in net.parameters())


def check_parts(relevance: Relevance) -> None:
    """Slots, heads and frequencies are sums of the same sources."""
    total = relevance.ledger.positions
    assert float(relevance.position_T.sum()) == pytest.approx(total, abs=1e-13)
    with_heads = [source for source in relevance.sources if source.name != "table"]
    by_head = sum(position_by_head(relevance).values())
    assert by_head == pytest.approx(sum(float(each.relevance().sum()) for each in with_heads), abs=1e-13)
    rotary = [source for source in relevance.sources if source.name in ("cos", "sin")]
    by_frequency = sum(row.relevance for row in position_by_frequency(relevance))
    assert by_frequency == pytest.approx(sum(float(each.relevance().sum()) for each in rotary), abs=1e-13)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_shows_where_position_enters(encoding: str):
    relevance = explain(watched(net_of(config_of(encoding, "decoder"))), largest)
    assert bool(relevance.sources) == (encoding not in WITHOUT)
    assert bool(relevance.position_T.any()) == (encoding not in WITHOUT)
    layers = {source.layer for source in relevance.sources}
    assert layers <= {0, 1, 2} and (encoding in WITHOUT or 0 in layers)


@pytest.mark.parametrize("encoding", sorted(SCORE_LEVEL))
def test_frozen_attention_is_blind_to_what_acts_on_scores(encoding: str):
    relevance = explain(watched(net_of(config_of(encoding, "decoder"))), largest, method="cp-lrp")
    assert not relevance.position_T.any() and relevance.ledger.softmax == 0


def test_factors_after_the_softmax_are_seen_even_so():
    relevance = explain(watched(net_of(config_of("urpe", "decoder"))), largest, method="cp-lrp")
    (names,) = [{source.name for source in relevance.sources if source.relevance().any()}]
    assert names == {"factors"}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_what_content_and_position_add_to_logits_is_their_relevance(encoding: str):
    net = net_of(config_of(encoding, "decoder"))
    relevance = explain(watched(net), largest)
    assert [split.layer for split in relevance.splits] == [0, 1, 2]
    leaks = {entry.layer: entry for entry in relevance.ledger.entries if entry.node == "softmax"}
    assert leaks.keys() == {0, 1, 2}
    for split in relevance.splits:
        for part in (split.content, split.position):
            assert float(part.by_distance_HR.sum()) == pytest.approx(part.total, abs=1e-13)
            assert float(part.by_slot_T.sum()) == pytest.approx(part.total, abs=1e-13)
            assert not part.by_distance_HR[:, : IDS.shape[1] - 1].any()  # keys after the query
        if encoding in ("none", "sinusoidal", "learned", "urpe"):
            continue
        assert split.position.by_distance_HR.any()
    if encoding in ("alibi", "kerple", "toeplitz", "leaning"):
        for split in relevance.splits:
            (bias,) = [source for source in relevance.sources if source.layer == split.layer]
            assert split.position.total == pytest.approx(float(bias.relevance().sum()), abs=1e-12)


@pytest.mark.parametrize("encoding", ["rope", "alibi", "learned", "shaw", "xpos", "urpe", "path"])
def test_tokens_that_are_not_seen_get_exactly_nothing(encoding: str):
    net = net_of(config_of(encoding, "decoder"))
    early = explain(watched(net, slot=3), largest)
    assert not early.token_TD[4:].any() and not early.position_T[4:].any() and early.token_TD[:4].any()
    real_BT = torch.tensor([[True] * 5 + [False] * 2])
    padded = explain(watched(net, slot=4, real_BT=real_BT), largest)
    assert not padded.token_TD[5:].any() and padded.token_TD[:5].any()
    assert abs(padded.ledger.rest) < 1e-13 * padded.ledger.flow


@pytest.mark.parametrize("encoding", ["rope", "alibi", "deberta", "t5_bias"])
def test_padding_of_an_encoder_gets_exactly_nothing(encoding: str):
    real_BT = torch.tensor([[False] * 2 + [True] * 5])
    net = net_of(config_of(encoding, "encoder"))
    relevance = explain(watched(net, real_BT=real_BT), largest)
    assert not relevance.token_TD[:2].any() and relevance.token_TD[2:].any()
    assert abs(relevance.ledger.rest) < 1e-13 * relevance.ledger.flow


@pytest.mark.parametrize("encoding", ["rope", "learned", "alibi"])
@pytest.mark.parametrize("more", [{"block": "post_norm"}, {"mlp": 0}, {"layers": 1, "heads": 1}], ids=str)
def test_other_blocks_balance_too(encoding: str, more: dict[str, object]):
    relevance = explain(watched(net_of(config_of(encoding, "decoder", **more))), largest)
    assert abs(relevance.ledger.rest) < 1e-13 * relevance.ledger.flow


@pytest.mark.parametrize("kind", KINDS)
def test_a_label_is_explained_from_all_slots(kind: str):
    net = net_of(config_of("rope", kind, labels=("yes", "no", "unknown")))
    attribution = attribute(net, IDS[0], target="no")
    assert attribution.output.kind == "labels" and attribution.output.name == "no" and attribution.output.index == 1
    assert attribution.output.slot is None
    assert attribution.output.probability == pytest.approx(net.label_logits(IDS)[0].softmax(-1)[1].item())
    assert abs(attribution.ledger.rest) < 1e-13 * attribution.ledger.flow


def test_frequencies_are_those_of_the_encoding():
    for layout in ("half", "interleaved"):
        net = net_of(config_of("rope", "decoder", encoding_options={"layout": layout}))
        rows = position_by_frequency(explain(watched(net), largest))
        assert [(row.layer, row.frequency) for row in rows] == [(layer, f) for layer in range(3) for f in range(4)]
        assert [row.theta for row in rows[:4]] == pytest.approx([1, 0.1, 0.01, 0.001])
    content = position_by_frequency(explain(watched(net_of(config_of("carope", "decoder"))), largest))
    assert content[-1].theta is None  # which depends on the text


def test_frequencies_are_sums_over_their_pair_of_channels():
    net = net_of(config_of("rope", "decoder"))
    relevance = explain(watched(net), largest)
    of_layer_C = sum(source.relevance().sum((0, 1, 2)) for source in relevance.sources if source.layer == 1)
    rows = [row.relevance for row in position_by_frequency(relevance) if row.layer == 1]
    assert rows == pytest.approx((of_layer_C[:4] + of_layer_C[4:]).tolist(), abs=1e-15)
