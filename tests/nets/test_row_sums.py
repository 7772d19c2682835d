"""What rows that sum to one forbid: equal tokens have equal outputs wherever they stand (arXiv 2205.13401).

If position acts only on attention whose rows sum to one, equal values have the same mean in every row, whatever the
depth, the width, the causal mask or the rule by which content sets positions.
"""

import pytest
import torch
from torch import Tensor, nn

from wherewhat.encodings.base import Context
from wherewhat.encodings.none import NoPosition
from wherewhat.encodings.registry import ENCODINGS
from wherewhat.encodings.t5_bias import bucket
from wherewhat.encodings.urpe import Urpe
from wherewhat.nets.attention import attend
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk

T, LAYERS, KERNEL = 24, 3, 3
CHANGE_TOKENS = ("sinusoidal", "learned")
FREE_ROWS = ("urpe",)
KEEP_ROWS = [name for name in ENCODINGS if name not in (*CHANGE_TOKENS, *FREE_ROWS)]
BOTH = [name for name in KEEP_ROWS if ENCODINGS[name].direction != "causal only"]
WRAPPERS = ("dape over rope", "dape over t5_bias", "dape_v2 over rope", "dape_v2 over t5_bias")  # beside their default
ROUNDING = 1e-9  # of float64 through a few layers, relative to the size of what comes out


def net_of(encoding: str, kind: str, *, layers: int = LAYERS) -> Trunk:
    """A net in float64 whose encoding has large random parameters; all other weights are the same for all of them."""
    name, _, over = encoding.partition(" over ")
    config = NetConfig(
        vocabulary=7,
        width=16,
        layers=layers,
        heads=2,
        length=T,
        kind=kind,
        kernel=KERNEL,
        encoding=name,
        encoding_options={"over": over} if over else {},
        token_sigma=1.0,
    )
    net = build(config, seed=1).double().eval()
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for weight in net.encodings.parameters():
            weight += 0.5 * torch.randn(weight.shape, dtype=torch.float64, generator=generator).abs()
    return net


@torch.no_grad()
def spread(net: nn.Module, ids_T: list[int]) -> Tensor:
    """By slot, how far the output is from that of the slot in the middle."""
    logits_TV: Tensor = net(torch.tensor([ids_T]))[0]
    return (logits_TV - logits_TV[len(ids_T) // 2]).abs().amax(-1)


@pytest.mark.parametrize("kind", ["decoder", "encoder"])
@pytest.mark.parametrize("name", [*KEEP_ROWS, *WRAPPERS])
def test_equal_tokens_have_equal_outputs(name: str, kind: str) -> None:
    if kind == "encoder" and name not in (*BOTH, *WRAPPERS):
        pytest.skip("this encoding is for decoders")
    net = net_of(name, kind)
    assert spread(net, [3] * T).max() < 1e-9
    with_another = [3, 3, 5, *[3] * (T - 3)]  # by which equal tokens can be told apart, if the encoding acts
    bare_T = spread(net_of("none", kind), with_another)[3:]
    if name != "none":
        assert (spread(net, with_another)[3:] - bare_T).abs().max() > 1e-3
    elif kind == "encoder":
        assert bare_T.max() < 1e-9
    else:
        assert bare_T.max() > 1e-3  # the causal mask lets later slots see the other token among more equal ones


@pytest.mark.parametrize("kind", ["decoder", "encoder"])
@pytest.mark.parametrize("name", [*CHANGE_TOKENS, *FREE_ROWS, "urpe over alibi", "urpe over none"])
def test_tokens_with_a_position_or_rows_with_another_sum_lift_the_limit(name: str, kind: str) -> None:
    assert spread(net_of(name, kind), [3] * T).max() > 1e-3


def test_factors_of_one_keep_the_limit() -> None:
    net = net_of("urpe", "encoder")
    with torch.no_grad():
        for name, weight in net.encodings.named_parameters():
            if name.endswith("table_RH") and "over" not in name:
                weight.fill_(1.0)
    assert spread(net, [3] * T).max() < 1e-9


@pytest.mark.parametrize("name", BOTH)
def test_a_conformer_of_one_layer_has_equal_outputs_away_from_its_ends(name: str) -> None:
    spread_T = spread(net_of(name, "conformer", layers=1), [3] * T)
    reach = (KERNEL - 1) // 2
    assert spread_T[reach : T - reach].max() < 1e-9
    assert spread_T[:reach].min() > 1e-6 and spread_T[-reach:].min() > 1e-6


@torch.no_grad()
@pytest.mark.parametrize("name", [name for name in ENCODINGS if ENCODINGS[name].direction != "causal only"])
def test_a_deep_conformer_knows_its_ends_by_the_padding_of_its_convolution(name: str) -> None:
    """Without an encoding, attention spreads what the ends are to all slots alike; any other tells how far they are."""
    net = net_of(name, "conformer")
    size = float(net(torch.tensor([[3] * T])).abs().max())
    spread_T = spread(net, [3] * T) / size
    reach = (KERNEL - 1) // 2 * LAYERS
    assert spread_T[0] > ROUNDING and spread_T[-1] > ROUNDING
    assert (spread_T[reach : T - reach].max() < ROUNDING) == (name == "none")


@pytest.mark.parametrize("name", ["none", "rope", "alibi", "t5_bias"])
def test_a_causal_mask_and_another_first_token_lift_the_limit(name: str) -> None:
    net = net_of(name, "decoder")
    assert spread(net, [3] * T).max() < 1e-9
    assert spread(net, [1, *[3] * (T - 1)])[1:].max() > 1e-6


@pytest.mark.parametrize("kind", ["offset", "bucket"])
def test_factors_count_slots_in_one_layer(kind: str) -> None:
    """Uniform attention, value 1, and a factor of 1 for keys before the query: the output at slot i is i / L."""
    length = 32
    urpe = Urpe(NoPosition(), heads=1, length=length, kind=kind, buckets=4 * length).double()
    distances = torch.arange(1, length)
    buckets = bucket(distances, causal=False, buckets=4 * length, max_distance=8 * length)
    with torch.no_grad():  # offsets are in the order of j - i
        urpe.table_RH.zero_()
        urpe.table_RH[length - 1 - distances if kind == "offset" else buckets, 0] = 1.0
    zeros_BHTC = torch.zeros(1, 1, length, 1, dtype=torch.float64)  # queries and keys whose logits are all equal
    context = Context.of(length, causal=False)
    output_Q = attend(urpe, zeros_BHTC, zeros_BHTC, torch.ones_like(zeros_BHTC), context)[0, 0, :, 0]
    expected_Q = torch.arange(length, dtype=torch.float64) / length
    assert torch.allclose(output_Q, expected_Q, rtol=0, atol=1e-15)
