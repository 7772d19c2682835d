"""What biases of distance are known to do, by hand, by plain loops and by their simpler kin."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import softplus

from wherewhat.encodings.alibi import Alibi, slopes
from wherewhat.encodings.attenuated import Attenuated
from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.bells import LearnedBell, TableBell
from wherewhat.encodings.fire import Fire
from wherewhat.encodings.kerple import KINDS, Kerple
from wherewhat.encodings.none import NoPosition
from wherewhat.encodings.registry import Shape, encoding, encoding_for
from wherewhat.encodings.sinusoidal import Sinusoidal
from wherewhat.encodings.t5_bias import T5Bias, bucket
from wherewhat.encodings.toeplitz import Toeplitz
from wherewhat.errors import UserError
from wherewhat.nets.attention import attend, attention_rows
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig

T, H, C = 9, 3, 8
both_directions = pytest.mark.parametrize("causal", [True, False], ids=["causal", "both ways"])


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def all_rows(encoding: Encoding, q_BHTC: Tensor, k_BHTC: Tensor, *, causal: bool) -> Tensor:
    context = Context.of(q_BHTC.shape[2], causal=causal)
    return attention_rows(encoding, q_BHTC, k_BHTC, context, torch.arange(q_BHTC.shape[2]))


def biases(encoding: Encoding, context: Context) -> Tensor:
    x_BHTC = torch.zeros(1, H, context.length, C, dtype=torch.float64)
    bias_BHQK = encoding.bias(x_BHTC, x_BHTC, context)
    assert bias_BHQK is not None
    return bias_BHQK.detach().expand(-1, H, -1, -1)


def looped(context: Context, at: Callable[[int, int, int], float]) -> Tensor:
    """bias_BHQK by plain numbers: `at` a head, a query's and a key's position. Forbidden keys get 0."""
    positions = context.key_positions_BK[0].tolist()
    rows = [[[at(head, i, j) for j in positions] for i in positions] for head in range(H)]
    return torch.tensor([rows], dtype=torch.float64).masked_fill(~context.allowed_BHQK, 0)


def assert_biases(encoding: Encoding, at: Callable[[int, int, int], float], *, causal: bool, length: int = 40) -> None:
    context = Context.of(length, causal=causal)
    assert same(biases(encoding, context).masked_fill(~context.allowed_BHQK, 0), looped(context, at))


def same(left: Tensor, right: Tensor, tolerance: float = 1e-12) -> bool:
    return torch.allclose(left, right, rtol=0, atol=tolerance)


def same_attention(left: Encoding, right: Encoding, *, causal: bool, tolerance: float = 1e-12) -> bool:
    q, k = random(1, H, T, C), random(1, H, T, C, seed=1)
    return same(all_rows(left, q, k, causal=causal), all_rows(right, q, k, causal=causal), tolerance)


# Buckets


@both_directions
def test_t5s_bias_by_plain_numbers(causal: bool) -> None:
    t5 = T5Bias(width=4, heads=H, buckets=8, max_distance=20).double()

    def at(head: int, i: int, j: int) -> float:
        side, far = (8, abs(i - j)) if causal else (4, abs(i - j))
        alone = side // 2
        within = far
        if far >= alone:
            within = min(side - 1, alone + math.floor(math.log(far / alone) / math.log(20 / alone) * (side - alone)))
        return t5.table_RH[within + (0 if causal or j <= i else side), head].item()

    assert_biases(t5, at, causal=causal)


@both_directions
def test_equal_buckets_are_no_position(causal: bool) -> None:
    t5 = T5Bias(width=4, heads=H).double()
    t5.table_RH.data[:] = random(1, H)
    assert same_attention(t5, NoPosition(), causal=causal)


def test_every_bucket_is_used_and_they_follow_one_another() -> None:
    behind = bucket(torch.arange(200), causal=True, buckets=32, max_distance=128)
    assert behind.unique().tolist() == list(range(32)) and (behind.diff() >= 0).all()
    both = bucket(torch.arange(-200, 201), causal=False, buckets=32, max_distance=128)
    assert sorted(both.unique().tolist()) == [each for each in range(32) if each != 16]  # 16: itself, but after itself


def test_a_t5_table_starts_as_wide_as_its_net_asks() -> None:
    assert T5Bias(width=100, heads=400).table_RH.std().item() == pytest.approx(0.1, rel=0.02)
    assert Toeplitz(heads=40, length=200).table_OH.std().item() == pytest.approx(0.02, rel=0.02)


def test_scale_is_the_encodings_own() -> None:
    assert (T5Bias(4, 2).scale, T5Bias(4, 2, scale=1.0).scale) == (None, 1.0)
    q, k = random(1, H, T, C), random(1, H, T, C, seed=1)
    unscaled, scaled = T5Bias(4, H, scale=1.0).double(), T5Bias(4, H).double()
    assert same(all_rows(unscaled, q, k, causal=True), all_rows(scaled, C**0.5 * q, k, causal=True))


# Free biases


@both_directions
def test_a_free_bias_by_plain_numbers(causal: bool) -> None:
    free = Toeplitz(heads=H, length=50, sigma=1.0).double()
    assert_biases(free, lambda head, i, j: free.table_OH[j - i + 49, head].item(), causal=causal)


@both_directions
def test_a_free_bias_can_be_any_of_the_others(causal: bool) -> None:
    free = Toeplitz(heads=H, length=T).double()
    assert free.max_length == T
    offsets_O = torch.arange(1 - T, T).double()
    free.table_OH.data = -offsets_O[:, None].abs() * torch.tensor(slopes(H))
    assert same_attention(free, Alibi(H), causal=causal)


def test_a_free_bias_refuses_what_it_has_no_number_for() -> None:
    x_BHTC = torch.zeros(1, H, 6, C)
    with pytest.raises(UserError, match="toeplitz tells at most 5 tokens apart and got 6"):
        Toeplitz(heads=H, length=5).bias(x_BHTC, x_BHTC, Context.of(6, causal=False))


# Kernels


CURVES: dict[str, Callable[[float, float, int], float]] = {
    "log": lambda a, p, distance: -p * math.log(1 + a * distance),
    "power": lambda a, p, distance: -a * distance**p,
}


@both_directions
@pytest.mark.parametrize("kind", CURVES)
def test_kernels_by_plain_numbers(kind: str, causal: bool) -> None:
    a, p, curve = (0.3, 1.0, 1.9), (1.5, 0.02, 1.98), CURVES[kind]
    kerple = Kerple(heads=H, kind=kind).double()
    kerple.start(*(torch.tensor(each, dtype=torch.float64) for each in (a, p)))
    context = Context.of(40, causal=causal)
    ours = biases(kerple, context).masked_fill(~context.allowed_BHQK, 0)
    plain = looped(context, lambda head, i, j: curve(a[head], p[head], abs(i - j)))
    torch.testing.assert_close(ours, plain, rtol=1e-12, atol=1e-12)


@both_directions
def test_a_straight_power_is_alibi(causal: bool) -> None:
    kerple = Kerple(heads=H, kind="power").double()
    kerple.start(torch.tensor(slopes(H), dtype=torch.float64), torch.ones(H, dtype=torch.float64))
    assert same_attention(kerple, Alibi(H), causal=causal)


@both_directions
@pytest.mark.parametrize(("kind", "a", "p"), [("log", 1e-12, 1.0), ("power", 1e-12, 1.0), ("log", 1.0, 1e-12)], ids=str)
def test_a_flat_kernel_is_no_position(kind: str, a: float, p: float, causal: bool) -> None:
    kerple = Kerple(heads=H, kind=kind).double()
    kerple.start(*(torch.full((H,), value, dtype=torch.float64) for value in (a, p)))
    assert same_attention(kerple, NoPosition(), causal=causal, tolerance=1e-9)


@pytest.mark.parametrize("kind", CURVES)
def test_kernels_start_within_their_bounds(kind: str) -> None:
    kerple = Kerple(heads=2000, kind=kind).double()
    kerple.reset_parameters(torch.Generator().manual_seed(1))
    a_H, p_H = softplus(kerple.free_a_H), KINDS[kerple.kind].hold(kerple.free_p_H)
    for each_H, top in ((a_H, 1.0), (p_H, 1.99)):
        assert each_H.min().item() == pytest.approx(0.01) and top - 0.01 < each_H.max().item() < top + 1e-9
        assert each_H.mean().item() == pytest.approx(top / 2, rel=0.05)


def test_a_query_and_itself_are_no_distance_apart_whatever_the_power() -> None:
    kerple = Kerple(heads=H, kind="power").double()
    x_BHTC = torch.zeros(1, H, T, C, dtype=torch.float64)
    bias_BHQK = kerple.bias(x_BHTC, x_BHTC, Context.of(T, causal=False))
    assert not bias_BHQK.diagonal(dim1=-2, dim2=-1).any()
    bias_BHQK.sum().backward()
    for free_H in (kerple.free_a_H, kerple.free_p_H):
        assert free_H.grad is not None and free_H.grad.isfinite().all() and free_H.grad.all()


# Shares of how far a query could look


def drawn_fire(threshold: float) -> Fire:
    fire = Fire(heads=H, hidden=5, threshold=threshold).double()
    fire.reset_parameters(torch.Generator().manual_seed(3))
    fire.c.data[:], fire.factor.data[:] = 0.7, -1.5  # either may change its sign
    return fire


@pytest.mark.parametrize("threshold", [8.0, 1000.0], ids=["beyond", "within"])
def test_fire_by_plain_numbers(threshold: float) -> None:
    fire = drawn_fire(threshold)
    inner, outer = ((layer.weight.tolist(), layer.bias.tolist()) for layer in (fire.inner, fire.outer))

    def psi(t: float) -> float:
        return math.log(0.7 * t + 1)

    def at(head: int, i: int, j: int) -> float:
        share = psi(abs(i - j)) / (psi(max(1.5 * threshold, i)) + 1e-6)
        units = [max(0.0, weight * share + bias) for (weight,), bias in zip(*inner, strict=True)]
        return sum(w * unit for w, unit in zip(outer[0][head], units, strict=True)) + outer[1][head]

    assert_biases(fire, at, causal=True)


def test_fire_learns_the_same_whether_or_not_a_query_lies_beyond_its_threshold() -> None:
    fire, x_BHTC = drawn_fire(20.0), torch.zeros(1, H, 32, C, dtype=torch.float64)  # the last near position is 30
    grads = []
    for length in (31, 32):
        context = Context.of(length, causal=True)
        bias_BHQK = fire.bias(x_BHTC[:, :, :length], x_BHTC[:, :, :length], context)[:, :, :31, :31]
        bias_BHQK.tril().square().sum().backward()
        grads.append([each.grad.clone() for each in fire.parameters() if each.grad is not None])
        fire.zero_grad()
    assert len(grads[0]) == 6
    for left, right in zip(*grads, strict=True):
        torch.testing.assert_close(left, right, rtol=1e-10, atol=1e-10)


def test_a_share_lies_between_0_and_1() -> None:
    slots = torch.arange(2000)
    share_QK = drawn_fire(300.0).share(slots[:, None] - slots, slots[:, None], torch.float64).tril()
    assert share_QK.min() == 0 and 0.99 < share_QK.max() < 1


def test_fire_whose_last_layer_is_silent_is_no_position() -> None:
    fire = drawn_fire(5.0)
    fire.outer.weight.data.zero_()
    assert same_attention(fire, NoPosition(), causal=True)


def test_fire_feels_only_distances_up_to_its_threshold() -> None:
    here = biases(drawn_fire(20.0), Context.of(5, causal=True)).tril()  # the last near position is 30
    for start, moved in ((26, False), (27, True)):
        there = Context(torch.arange(start, start + 5)[None], causal=True)
        assert same(biases(drawn_fire(20.0), there).tril(), here) != moved


def test_fire_has_as_many_parameters_as_it_says() -> None:
    assert sum(each.numel() for each in Fire(heads=12).parameters()) == 462


# Bell curves


FORMS: list[dict[str, Any]] = [{}, {"w": 0.1}, {"s": 0.25}, {"w": 0.2, "s": 0.0}, {"s": 3.0}]
every_form = pytest.mark.parametrize("options", FORMS, ids=str)


def bell(i: int, j: int, *, w: float = 0.5, s: float = 1.0) -> float:
    return -w * (i - j) ** 2 if j < i else -s * w * (i - j) ** 2


@both_directions
@every_form
def test_bell_curves_by_plain_numbers(options: dict[str, Any], causal: bool) -> None:
    log = Attenuated(heads=H, inject="log", **options)
    assert_biases(log, lambda head, i, j: bell(i, j, **options), causal=causal)

    def share(head: int, i: int, j: int) -> float:
        seen = range(i + 1) if causal else range(40)
        return math.exp(bell(i, j, **options)) / math.fsum(math.exp(bell(i, key, **options)) for key in seen)

    assert_biases(Attenuated(heads=H, **options), share, causal=causal)


@both_directions
@every_form
def test_attention_without_content_is_the_curve(options: dict[str, Any], causal: bool) -> None:
    nothing_BHTC = torch.zeros(1, H, T, C, dtype=torch.float64)
    attention_BHQK = all_rows(Attenuated(H, inject="log", **options), nothing_BHTC, nothing_BHTC, causal=causal)
    assert same(attention_BHQK, biases(Attenuated(H, **options), Context.of(T, causal=causal)))


@both_directions
@pytest.mark.parametrize("inject", ["raw", "log"])
def test_a_flat_curve_is_no_position(inject: str, causal: bool) -> None:
    assert same_attention(Attenuated(H, w=0.0, inject=inject), NoPosition(), causal=causal)


@every_form
def test_a_decoders_share_is_an_encoders_cut_and_made_whole_again(options: dict[str, Any]) -> None:
    both, back = (biases(Attenuated(H, **options), Context.of(T, causal=causal)) for causal in (False, True))
    assert same(both.tril() / both.tril().sum(-1, keepdim=True), back)


@both_directions
def test_shares_are_of_real_keys(causal: bool) -> None:
    real_BK = torch.tensor([[False] * 3 + [True] * T])
    padded = biases(Attenuated(H), Context.of(T + 3, causal=causal, real_BK=real_BK))
    assert same(padded[:, :, 3:, 3:], biases(Attenuated(H), Context.of(T, causal=causal)))
    assert not padded[..., :3].any() and padded.isfinite().all()


def test_raw_injection_is_nearly_inert() -> None:
    inside = biases(Attenuated(H), Context.of(64, causal=False))
    assert inside[0, 0, 32].max().item() == pytest.approx(0.399, abs=5e-4)
    assert inside.max().item() == pytest.approx(0.570, abs=5e-4)


@both_directions
@pytest.mark.parametrize("inject", ["raw", "log"])
@pytest.mark.parametrize("each", ["head", "block"])
def test_a_table_is_added_as_it_is(each: str, inject: str, causal: bool) -> None:
    encoding = Attenuated(H, inject=inject, learn="table", each=each, length=50).double()
    assert isinstance(encoding.bell, TableBell)
    table_HS = encoding.bell.table_HS
    table_HS.data = random(*table_HS.shape)
    assert_biases(encoding, lambda head, i, j: table_HS[head % len(table_HS), abs(i - j)].item(), causal=causal)


@both_directions
def test_a_table_of_logarithms_starts_as_the_fixed_curve(causal: bool) -> None:
    table = Attenuated(H, inject="log", learn="table", length=T).double()
    assert same_attention(table, Attenuated(H, inject="log"), causal=causal)


@both_directions
@pytest.mark.parametrize("inject", ["raw", "log"])
@pytest.mark.parametrize("each", ["head", "block"])
def test_learned_w_and_s_start_as_the_fixed_ones_and_learn(each: str, inject: str, causal: bool) -> None:
    fixed = Attenuated(H, w=0.3, s=0.25, inject=inject)
    learned = Attenuated(H, w=0.3, s=0.25, inject=inject, learn="ws", each=each).double()
    learned.reset_parameters(torch.Generator())
    assert same_attention(learned, fixed, causal=causal)
    q, k, v = (random(1, H, T, C, seed=seed) for seed in range(3))
    attend(learned, q, k, v, Context.of(T, causal=causal)).square().sum().backward()
    assert isinstance(learned.bell, LearnedBell)
    w_grad, s_grad = learned.bell.free_w_H.grad, learned.bell.free_s_H.grad
    assert w_grad is not None and s_grad is not None
    assert len(w_grad) == len(s_grad) == (H if each == "head" else 1)
    assert w_grad.all() and (s_grad == 0).all() == causal  # a decoder never sees the side that s bends


def test_learned_w_and_s_bend_each_head_alone() -> None:
    learned = Attenuated(H, inject="log", learn="ws").double()
    before = biases(learned, Context.of(T, causal=False))
    assert isinstance(learned.bell, LearnedBell)
    learned.bell.free_w_H.data[1] += 1.0
    changed = (biases(learned, Context.of(T, causal=False)) != before).flatten(2).any(-1)
    assert changed.tolist() == [[False, True, False]]


@pytest.mark.parametrize(("each", "numbers"), [("head", 73_728), ("block", 6_144)], ids=["each head", "each block"])
def test_tables_of_a_whole_net(each: str, numbers: int) -> None:
    shape = Shape(width=768, heads=12, head_dim=64, length=512)
    table = encoding_for(shape, "attenuated", {"learn": "table", "each": each})
    assert not table.shared and table.max_length == 512
    assert 12 * sum(parameter.numel() for parameter in table.parameters()) == numbers


def test_a_released_start_sums_to_more_than_one() -> None:
    for start, total in (("two-sided", 1.0), ("released", 1.4297)):
        table = Attenuated(1, learn="table", start=start)
        assert isinstance(table.bell, TableBell)
        half_S = table.bell.table_HS[0]
        assert (2 * half_S.sum() - half_S[0]).item() == pytest.approx(total, abs=5e-5)


def test_what_is_fixed_serves_all_blocks_and_what_is_learned_belongs_to_each() -> None:
    for options, objects in (({}, 1), ({"learn": "ws"}, 3), ({"learn": "table"}, 3)):
        assert len(built("attenuated", options).encodings) == objects
    for name, objects in (("t5_bias", 1), ("kerple", 1), ("toeplitz", 1), ("fire", 3)):
        assert len(built(name, {}).encodings) == objects


def built(name: str, options: dict[str, Any]) -> Any:
    return build(
        NetConfig(vocabulary=5, width=8, layers=3, heads=2, length=16, encoding=name, encoding_options=options)
    )


def test_mirrors() -> None:
    assert Attenuated(H).mirror_invariant and Attenuated(H, learn="table").mirror_invariant
    assert not Attenuated(H, s=0.5).mirror_invariant
    assert not Attenuated(H, learn="ws").mirror_invariant  # nothing keeps its s at 1


# A grid


def test_a_grid_tells_column_and_row_apart() -> None:
    grid, line = Sinusoidal(16, grid=(5, 7)), Sinusoidal(8)
    table_TD = grid.table(torch.arange(35)[None], torch.float64)[0]
    column_TD, row_TD = (line.table(place[None], torch.float64)[0] for place in (torch.arange(7), torch.arange(5)))
    assert same(table_TD, torch.cat((column_TD.repeat(5, 1), row_TD.repeat_interleave(7, 0)), dim=-1))


def test_a_token_beyond_the_grid_is_refused() -> None:
    grid = Sinusoidal(8, grid=(2, 3))
    grid.on_tokens(torch.zeros(1, 1, 8), torch.tensor([[5]]), 0)
    with pytest.raises(UserError, match="sinusoidal tells at most 6 tokens apart and got 7"):
        grid.on_tokens(torch.zeros(1, 1, 8), torch.tensor([[6]]), 0)


def test_sinusoids_can_be_added_in_every_block() -> None:
    x_BTD, positions_BT = torch.ones(1, 3, 8, dtype=torch.float64), torch.arange(3)[None]
    once, again = (Sinusoidal(8, token_scale=2.0, place=place) for place in ("input", "block"))
    table_BTD = once.table(positions_BT, torch.float64)
    for sinusoids in (once, again):
        assert same(sinusoids.on_tokens(x_BTD, positions_BT, 0), 2 * x_BTD + table_BTD)
    assert same(once.on_tokens(x_BTD, positions_BT, 1), x_BTD)
    assert same(again.on_tokens(x_BTD, positions_BT, 1), x_BTD + table_BTD)  # what is scaled are tokens, at the input
    with pytest.raises(UserError, match="unknown place 'blok'; did you mean 'block'"):
        Sinusoidal(8, place="blok")


# Refusals


REFUSALS: list[tuple[str, dict[str, Any], str]] = [
    (
        "t5_bias",
        {"width": 8, "heads": 0},
        "t5_bias needs a width and at least one head, got width 8 and 0 heads",
    ),
    *(
        (
            "t5_bias",
            {"width": 8, "heads": 2, "buckets": buckets},
            f"buckets must be even and at least 4, half of them for each side; got {buckets}",
        )
        for buckets in (2, 7)
    ),
    (
        "t5_bias",
        {"width": 8, "heads": 2, "max_distance": 16},
        "max_distance 16 leaves nothing for half of the 32 buckets; make it larger than 16",
    ),
    ("kerple", {"heads": 0}, "kerple needs at least one head, got 0"),
    (
        "kerple",
        {"heads": 2, "kind": "powers"},
        "unknown kind of kerple 'powers'; did you mean 'power'? known: log, power",
    ),
    *(
        (
            "fire",
            {"heads": 2, "threshold": threshold, "eps": eps},
            "fire needs at least one head and one hidden unit and a threshold and an eps above 0; "
            f"got 2 heads, hidden 32, threshold {threshold}, eps {eps}",
        )
        for threshold, eps in ((0.0, 1e-6), (-1.0, 1e-6), (4.0, 0.0))
    ),
    (
        "fire",
        {"heads": 2, "hidden": 0},
        "fire needs at least one head and one hidden unit and a threshold and an eps above 0; "
        "got 2 heads, hidden 0, threshold 512.0, eps 1e-06",
    ),
    (
        "toeplitz",
        {"heads": 2, "length": 0},
        "toeplitz needs at least one head, a length of at least 1 and a sigma of at least 0; "
        "got 2 heads, length 0, sigma 0.02",
    ),
    *(
        (
            "attenuated",
            {"heads": 2, "w": w, "s": s},
            "attenuated needs at least one head, a length of at least 1, and w and s of at least 0; "
            f"got 2 heads, length 512, w {w}, s {s}",
        )
        for w, s in ((-1.0, 1.0), (0.5, -0.1))
    ),
    (
        "attenuated",
        {"heads": 2, "inject": "logs"},
        "unknown injection 'logs'; did you mean 'log'? known: log, raw",
    ),
    (
        "attenuated",
        {"heads": 2, "learn": "tables"},
        "unknown way to learn 'tables'; did you mean 'table'? known: none, table, ws",
    ),
    ("attenuated", {"heads": 2, "each": "layer"}, "unknown learner 'layer'; known: block, head"),
    (
        "attenuated",
        {"heads": 2, "start": "two-side"},
        "unknown start 'two-side'; did you mean 'two-sided'? known: released, two-sided",
    ),
    (
        "attenuated",
        {"heads": 2, "learn": "ws", "s": 0.0},
        "w and s that are learned start above 0, got w 0.5 and s 0.0; a small number will do",
    ),
    (
        "attenuated",
        {"heads": 2, "learn": "table", "s": 0.5},
        "a table knows distances but no sides, and got s 0.5; leave s at 1, or use learn='ws'",
    ),
    *(
        (
            "sinusoidal",
            {"width": 8, "grid": grid},
            f"a grid has whole numbers of rows and columns, at least 1 each; got {grid}; write grid=[4,4]",
        )
        for grid in ([3], [3, 0], [2, 2.5], [True, 3], "4,4")  # the last as `--set` hands it over
    ),
    (
        "sinusoidal",
        {"width": 6, "grid": [2, 2]},
        "a grid needs a width that is a multiple of 4, half of it for rows and columns; got 6",
    ),
]


@pytest.mark.parametrize(("name", "options", "sentence"), REFUSALS, ids=[sentence for _, _, sentence in REFUSALS])
def test_refusals(name: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as refusal:
        encoding(name, **options)
    assert str(refusal.value) == sentence
