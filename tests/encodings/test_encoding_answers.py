"""What each encoding is known to do, by hand and by algebra."""

import pytest
import torch
from torch import Tensor

from wherewhat.encodings.alibi import Alibi
from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.learned import Learned
from wherewhat.encodings.none import NoPosition
from wherewhat.encodings.sinusoidal import Sinusoidal
from wherewhat.nets.attention import attend, attention_rows

T, H, C = 9, 3, 8


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def all_rows(encoding: Encoding, q_BHTC: Tensor, k_BHTC: Tensor, *, causal: bool) -> Tensor:
    context = Context.of(q_BHTC.shape[2], causal=causal)
    return attention_rows(encoding, q_BHTC, k_BHTC, context, torch.arange(q_BHTC.shape[2]))


def same(left: Tensor, right: Tensor) -> bool:
    return torch.allclose(left, right, rtol=0, atol=1e-12)


def test_without_position_a_text_is_a_bag() -> None:
    q, k, v = (random(1, H, T, C, seed=seed) for seed in range(3))
    order_T = torch.randperm(T, generator=torch.Generator().manual_seed(3))
    context = Context.of(T, causal=False)
    out_BHTC = attend(NoPosition(), q, k, v, context)
    shuffled_BHTC = attend(NoPosition(), q[:, :, order_T], k[:, :, order_T], v[:, :, order_T], context)
    assert same(out_BHTC[:, :, order_T], shuffled_BHTC)


def test_without_position_equal_keys_share_attention() -> None:
    same_BHTC = random(1, H, 1, C).expand(1, H, T, C)
    attention_BHQK = all_rows(NoPosition(), same_BHTC, same_BHTC, causal=True)
    assert same(attention_BHQK[0, 0], torch.ones(T, T).tril().double() / torch.arange(1, T + 1)[:, None])


@pytest.mark.parametrize("layout", ["interleaved", "concat"])
def test_sinusoids_meet_by_distance_alone(layout: str) -> None:
    table_TD = Sinusoidal(16, layout=layout).table(torch.arange(40)[None], torch.float64)[0]
    products_TT = table_TD @ table_TD.T
    assert same(products_TT.diagonal(), torch.full((40,), 8.0, dtype=torch.float64))
    assert same(products_TT[:-7, :-7], products_TT[7:, 7:])


def test_sinusoids_act_once() -> None:
    x_BTD, positions_BT = random(1, T, 16), torch.arange(T)[None]
    assert torch.equal(Sinusoidal(16).on_tokens(x_BTD, positions_BT, 1), x_BTD)


def test_a_learned_table_of_zeros_is_no_position() -> None:
    x_BTD = random(1, T, 16)
    encoding = Learned(16, length=T, sigma=0.0).double()
    assert torch.equal(encoding.on_tokens(x_BTD, torch.arange(T)[None], 0), x_BTD)


def test_a_learned_table_of_sinusoids_is_sinusoidal() -> None:
    x_BTD, positions_BT = random(1, T, 16), torch.arange(T)[None]
    learned, sinusoidal = Learned(16, length=T).double(), Sinusoidal(16)
    learned.table_SD.data = sinusoidal.table(positions_BT, torch.float64)[0]
    assert torch.equal(learned.on_tokens(x_BTD, positions_BT, 0), sinusoidal.on_tokens(x_BTD, positions_BT, 0))


def test_a_learned_table_starts_as_wide_as_asked_without_the_global_generator() -> None:
    before = torch.random.get_rng_state()
    table_SD = Learned(64, length=512, sigma=0.5).table_SD
    assert table_SD.std().item() == pytest.approx(0.5, rel=0.02)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(table_SD, Learned(64, length=512, sigma=0.5).table_SD)


def test_alibi_of_equal_tokens_falls_with_distance() -> None:
    zeros_BHTC = torch.zeros(1, 4, T, C, dtype=torch.float64)
    logs_BHQK = all_rows(Alibi(4), zeros_BHTC, zeros_BHTC, causal=True).log()
    steps_H = (logs_BHQK[0, :, -1, 1:] - logs_BHQK[0, :, -1, :-1]).mean(-1)
    assert same(steps_H, torch.tensor([0.25, 0.0625, 0.015625, 0.00390625], dtype=torch.float64))


def test_causal_alibi_is_a_bias_on_the_key_alone() -> None:
    class ByKey(Alibi):
        def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
            return torch.tensor(self.slopes).double()[:, None, None] * context.key_positions_BK[:, None, None, :]

    q, k = random(1, H, T, C), random(1, H, T, C, seed=1)
    assert same(all_rows(Alibi(H), q, k, causal=True), all_rows(ByKey(H), q, k, causal=True))


def test_flat_alibi_is_no_position() -> None:
    q, k, flat = random(1, H, T, C), random(1, H, T, C, seed=1), Alibi(H)
    flat.slopes = [0.0] * H
    assert same(all_rows(flat, q, k, causal=False), all_rows(NoPosition(), q, k, causal=False))


def test_alibi_is_as_exact_as_its_queries() -> None:
    x_BHTC, context = random(1, 3, 2, C), Context.of(2, causal=True)
    assert Alibi(3).bias(x_BHTC, x_BHTC, context)[0, :, 1, 0].tolist() == [-(2**-4), -(2**-8), -(2**-2)]
    x_BHTC = random(1, 12, 2, C)
    assert Alibi(12).bias(x_BHTC, x_BHTC, context)[0, 8, 1, 0].item() == pytest.approx(-(2**-0.5), rel=1e-12)
