"""What shaw, transformer_xl, deberta and cope are known to do, by hand, by plain loops and by algebra."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.cope import Cope, counted
from wherewhat.encodings.deberta import Deberta, log_buckets
from wherewhat.encodings.none import NoPosition
from wherewhat.encodings.registry import encoding
from wherewhat.encodings.relative import Disentangled, index_by_lag, lags_of
from wherewhat.encodings.shaw import Shaw
from wherewhat.encodings.transformer_xl import TransformerXL
from wherewhat.errors import UserError
from wherewhat.models.folder import load_model, save_model
from wherewhat.nets.attention import attention_rows
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig

B, T, H, C = 2, 9, 3, 4
D = H * C

both_directions = pytest.mark.parametrize("causal", [True, False], ids=["causal", "both ways"])


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def q_and_k(length: int = T) -> tuple[Tensor, Tensor]:
    return random(B, H, length, C, seed=1), random(B, H, length, C, seed=2)


def all_rows(encoding: Encoding, q_BHTC: Tensor, k_BHTC: Tensor, *, causal: bool) -> Tensor:
    context = Context.of(q_BHTC.shape[2], causal=causal)
    return attention_rows(encoding, q_BHTC, k_BHTC, context, torch.arange(q_BHTC.shape[2]))


def same(left: Tensor, right: Tensor) -> bool:
    return torch.allclose(left, right, rtol=0, atol=1e-12)


def loop(term: Callable[[int, int, int, int], float], *, causal: bool, length: int = T) -> Tensor:
    """added_BHQK from a formula of text, head, query and key; 0 for keys that may not be seen."""
    added_BHQK = torch.zeros(B, H, length, length, dtype=torch.float64)
    for b in range(B):
        for h in range(H):
            for i in range(length):
                for j in range(i + 1 if causal else length):
                    added_BHQK[b, h, i, j] = term(b, h, i, j)
    return added_BHQK


def seen(added_BHQK: Tensor | None, *, causal: bool) -> Tensor:
    assert added_BHQK is not None
    return added_BHQK.tril() if causal else added_BHQK


# By plain loops


@both_directions
@pytest.mark.parametrize("clip", [1, 2, 20])
def test_shaw_by_a_loop(causal: bool, clip: int) -> None:
    (q, k), shaw = q_and_k(), Shaw(C, clip=clip, sigma=1.0).double()

    def term(b: int, h: int, i: int, j: int) -> float:
        row = min(max(j - i, -clip), clip) + clip
        return (q[b, h, i] @ shaw.table_RC[row]).item() / math.sqrt(C)

    ours = shaw.bias(q, k, Context.of(T, causal=causal))
    assert same(seen(ours, causal=causal), loop(term, causal=causal))


@both_directions
@pytest.mark.parametrize("layout", ["concat", "interleaved"])
def test_transformer_xl_by_a_loop(causal: bool, layout: str) -> None:
    (q, k), xl = q_and_k(), TransformerXL(D, H, C, layout=layout, base=100.0, sigma=0.5).double()

    def sinusoid(lag: int) -> Tensor:
        angle = [lag * 100.0 ** (-2 * m / D) for m in range(D // 2)]
        sines, cosines = [math.sin(a) for a in angle], [math.cos(a) for a in angle]
        pairs = zip(sines, cosines, strict=True)
        turns = sines + cosines if layout == "concat" else [each for pair in pairs for each in pair]
        return torch.tensor(turns, dtype=torch.float64)

    def term(b: int, h: int, i: int, j: int) -> float:
        slot_C = xl.project.weight[h * C : (h + 1) * C] @ sinusoid(i - j)
        return ((q[b, h, i] + xl.v_HC[h]) @ slot_C + xl.u_HC[h] @ k[b, h, j]).item() / math.sqrt(C)

    ours = xl.bias(q, k, Context.of(T, causal=causal))
    assert same(seen(ours, causal=causal), loop(term, causal=causal))


@both_directions
@pytest.mark.parametrize("sign", ["paper", "checkpoint"])
@pytest.mark.parametrize(("span", "buckets"), [(3, None), (20, None), (8, 4)])
def test_deberta_by_a_loop(causal: bool, sign: str, span: int, buckets: int | None) -> None:
    (q, k), reach = q_and_k(), buckets or span
    deberta = Deberta(D, H, C, span=span, sign=sign, buckets=buckets, sigma=0.7).double()
    deberta.query.bias.data = random(D, seed=3)

    def bucket(lag: int) -> int:
        if buckets is None or abs(lag) <= 2:
            return lag
        return round(math.copysign(math.ceil(math.log(abs(lag) / 2) / math.log((span - 1) / 2)) + 2, lag))

    def row(lag: int, projection: torch.nn.Linear) -> Tensor:
        index = min(max(bucket(lag) + reach, 0), 2 * reach - 1)
        return projection(deberta.table_RD[index]).view(H, C)

    def term(b: int, h: int, i: int, j: int) -> float:
        back = j - i if sign == "paper" else i - j
        asks = q[b, h, i] @ row(i - j, deberta.key)[h] + k[b, h, j] @ row(back, deberta.query)[h]
        return asks.item() / math.sqrt(3 * C)

    ours = deberta.bias(q, k, Context.of(T, causal=causal))
    assert same(seen(ours, causal=causal), loop(term, causal=causal))
    assert deberta.scale == pytest.approx(1 / math.sqrt(3 * C))


def test_cope_by_a_loop() -> None:
    (q, k), cope = q_and_k(), Cope(C, positions=4, sigma=1.0).double()
    logits_BHQK = q @ k.mT

    def term(b: int, h: int, i: int, j: int) -> float:
        gates = [1 / (1 + math.exp(-logits_BHQK[b, h, i, t].item())) for t in range(j, i + 1)]
        place = min(sum(gates), 3)
        low, high, f = math.floor(place), math.ceil(place), place - math.floor(place)
        worth_R = cope.table_RC @ q[b, h, i]
        return (logits_BHQK[b, h, i, j] + (1 - f) * worth_R[low] + f * worth_R[high]).item()

    ours = cope.on_logits(logits_BHQK, q, k, Context.of(T, causal=True)).tril()
    assert same(ours, loop(term, causal=True))


# What they come down to


@both_directions
def test_shaw_without_a_table_or_with_equal_rows_is_no_position(causal: bool) -> None:
    (q, k), shaw = q_and_k(), Shaw(C, clip=2).double()
    none_BHQK = all_rows(NoPosition(), q, k, causal=causal)
    shaw.table_RC.data = torch.zeros(5, C, dtype=torch.float64)
    assert torch.equal(all_rows(shaw, q, k, causal=causal), none_BHQK)
    shaw.table_RC.data = random(1, C).expand(5, C)
    assert same(all_rows(shaw, q, k, causal=causal), none_BHQK)


def test_shaw_cannot_tell_offsets_beyond_its_clip() -> None:
    q_BHTC, shaw = random(B, H, 1, C).expand(B, H, T, C), Shaw(C, clip=2, sigma=1.0).double()
    bias_BHQK = shaw.bias(q_BHTC, q_BHTC, Context.of(T, causal=False))
    of_table_R = shaw.table_RC @ q_BHTC[0, 0, 0] / C**0.5  # one entry per offset from -2 to 2
    assert len(of_table_R) == 5 and of_table_R.unique().numel() == 5
    for offset in range(-T + 1, T):
        bias_K = bias_BHQK.diagonal(offset, dim1=-2, dim2=-1)[0, 0]
        assert same(bias_K, of_table_R[max(-2, min(offset, 2)) + 2].expand_as(bias_K))


@both_directions
def test_transformer_xl_of_zeros_is_no_position(causal: bool) -> None:
    (q, k), xl = q_and_k(), TransformerXL(D, H, C, sigma=0.0).double()
    assert torch.equal(all_rows(xl, q, k, causal=causal), all_rows(NoPosition(), q, k, causal=causal))


def test_a_causal_transformer_xl_says_the_same_of_what_it_sees() -> None:
    (q, k), xl = q_and_k(), TransformerXL(D, H, C, sigma=0.5).double()
    causal_BHQK, both_BHQK = (xl.bias(q, k, Context.of(T, causal=causal)) for causal in (True, False))
    assert same(causal_BHQK.tril(), both_BHQK.tril())


def test_in_transformer_xl_u_asks_keys_and_v_asks_slots() -> None:
    (q, k), xl = q_and_k(), TransformerXL(D, H, C, bias_init="zeros", sigma=0.5).double()
    assert not xl.u_HC.any() and not xl.v_HC.any() and xl.project.weight.any()
    context = Context.of(T, causal=False)
    plain_BHQK = xl.bias(q, k, context)
    xl.u_HC.data = random(H, C)
    more_BHQK = xl.bias(q, k, context) - plain_BHQK
    assert same(more_BHQK, (k @ xl.u_HC[:, :, None] / math.sqrt(C)).mT.expand_as(more_BHQK))
    xl.u_HC.data, xl.v_HC.data = torch.zeros_like(xl.u_HC), random(H, C)
    moved_BHQK = xl.bias(q, k, context) - plain_BHQK
    assert same(moved_BHQK[..., 1:, 1:], moved_BHQK[..., :-1, :-1])
    assert same(xl.bias(q, k, context), xl.bias(q, 5 * k, context))
    assert same(xl.slot_part(q - xl.v_HC[:, None], context), plain_BHQK)


@pytest.mark.parametrize("sign", ["paper", "checkpoint"])
def test_deberta_without_a_table_is_no_position_at_its_own_scale(sign: str) -> None:
    (q, k), deberta = q_and_k(), Deberta(D, H, C, span=4, sign=sign).double()
    deberta.table_RD.data.zero_()
    ours = all_rows(deberta, q, k, causal=False)
    assert same(ours, (q @ k.mT / math.sqrt(3 * C)).softmax(-1))


def test_the_two_signs_are_one_encoding_with_the_table_mirrored() -> None:
    span = T  # every lag has a row of its own
    (q, k), paper = q_and_k(), Deberta(D, H, C, span=span, sign="paper").double()
    checkpoint = Deberta(D, H, C, span=span, sign="checkpoint").double()
    for each in (paper, checkpoint):
        each.key.weight.data.zero_()
    table_RD = random(2 * span, D)
    mirror_R = (2 * span - torch.arange(2 * span)) % (2 * span)
    paper.table_RD.data, checkpoint.table_RD.data = table_RD, table_RD[mirror_R]
    context = Context.of(T, causal=False)
    assert same(paper.bias(q, k, context), checkpoint.bias(q, k, context))
    checkpoint.table_RD.data = table_RD
    assert not same(paper.bias(q, k, context), checkpoint.bias(q, k, context))


def test_the_buckets_of_deberta_keep_near_lags_and_the_order_and_the_sign() -> None:
    lags_R = torch.arange(-2000, 2001)
    buckets_R = log_buckets(lags_R, buckets=32, span=128)
    near_R = lags_R.abs() <= 16
    assert torch.equal(buckets_R[near_R], lags_R[near_R])
    assert (buckets_R.diff() >= 0).all()
    assert torch.equal(buckets_R, -buckets_R.flip(0))
    assert buckets_R[lags_R == 127].item() == 31 and buckets_R[lags_R == 126].item() == 31
    assert buckets_R[lags_R == 128].item() == 32


def test_a_whole_number_of_steps_is_not_rounded_up() -> None:
    # log(2 · 8^p / 2) / log(16 / 2) is p, which floating point may miss by a hair.
    lags_R = torch.tensor([2 * 8**power for power in range(1, 8)])
    assert log_buckets(lags_R, buckets=4, span=17).tolist() == [3, 4, 5, 6, 7, 8, 9]


def test_cope_starts_as_no_position() -> None:
    q, k = q_and_k()
    ours = all_rows(Cope(C).double(), q, k, causal=True)
    assert torch.equal(ours, all_rows(NoPosition(), q, k, causal=True))


def test_cope_with_open_gates_counts_tokens() -> None:
    (q, k), cope = q_and_k(), Cope(C, positions=5, sigma=1.0).double()
    open_BHQK = torch.full((B, H, T, T), 800.0, dtype=torch.float64)
    added_BHQK = cope.on_logits(open_BHQK, q, k, Context.of(T, causal=True)) - 800
    lags_QK = torch.arange(T)[:, None] - torch.arange(T)
    known_BHQK = (q @ cope.table_RC.T)[..., torch.arange(T)[:, None], (lags_QK + 1).clamp(0, 4)]
    torch.testing.assert_close(added_BHQK.tril(), known_BHQK.tril(), rtol=0, atol=1e-11)


def test_cope_counts_itself_first_and_never_less_further_back() -> None:
    logits_BHQK = 3 * random(B, H, T, T)
    counted_BHQK = counted(logits_BHQK, Context.of(T, causal=True))
    diagonal = {"dim1": -2, "dim2": -1}
    assert same(counted_BHQK.diagonal(**diagonal), logits_BHQK.sigmoid().diagonal(**diagonal))
    assert (counted_BHQK.diff() <= 0).all()
    assert not counted_BHQK.triu(1).any()


def test_cope_does_not_count_padding() -> None:
    real_BK = torch.ones(B, T, dtype=torch.bool)
    real_BK[:, 3:5] = False
    counted_BHQK = counted(torch.zeros(B, H, T, T), Context.of(T, causal=True, real_BK=real_BK))
    assert counted_BHQK[0, 0, -1].tolist() == [3.5, 3.0, 2.5, 2.0, 2.0, 2.0, 1.5, 1.0, 0.5]


def test_cope_of_some_rows_is_the_same_as_of_all() -> None:
    (q, k), cope = q_and_k(40), Cope(C, positions=7, sigma=1.0).double()
    logits_BHQK, context = random(B, H, 40, 40), Context.of(40, causal=True)
    whole_BHQK = cope.on_logits(logits_BHQK, q, k, context)
    for rows_Q in torch.tensor([5, 39, 0, 17, 18, 2]).split(2):
        some_BHQK = cope.on_logits(logits_BHQK[:, :, rows_Q], q[:, :, rows_Q], k, context.rows(rows_Q))
        assert same(some_BHQK, whole_BHQK[:, :, rows_Q])


def test_cope_counts_many_tokens_in_half_precision() -> None:
    q = torch.ones(1, 1, 600, C, dtype=torch.bfloat16)
    cope = Cope(C, positions=601, sigma=1.0).bfloat16()
    rows_Q = torch.tensor([599])
    open_BHQK = torch.full((1, 1, 1, 600), 30.0, dtype=torch.bfloat16)
    context = Context.of(600, causal=True).rows(rows_Q)
    ours = cope.on_logits(open_BHQK, q[:, :, rows_Q], q, context).float()
    known_R = 30 + cope.table_RC.float().sum(-1)
    torch.testing.assert_close(ours[0, 0, 0], known_R[1:].flip(0), rtol=2**-7, atol=0.1)


# The two parts that a crossing adds

CROSSINGS: dict[str, Callable[[], Disentangled]] = {
    "transformer_xl": lambda: TransformerXL(D, H, C, sigma=0.5).double(),
    "deberta, paper": lambda: Deberta(D, H, C, span=5, sigma=0.5).double(),
    "deberta, checkpoint": lambda: Deberta(D, H, C, span=50, sign="checkpoint", sigma=0.5).double(),
    "deberta, buckets": lambda: Deberta(D, H, C, span=8, buckets=4, sigma=0.5).double(),
}


@pytest.mark.parametrize("name", CROSSINGS)
@both_directions
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("some", [False, True], ids=["all rows", "some rows"])
def test_a_crossing_is_the_sum_of_its_two_parts(name: str, causal: bool, padded: bool, some: bool) -> None:
    crossing, (q, k) = CROSSINGS[name](), q_and_k()
    real_BK = torch.arange(T) >= torch.tensor([[0], [3]]) if padded else None
    context, rows_Q = Context.of(T, causal=causal, real_BK=real_BK), torch.tensor([7, 2, 8])
    context, q = (context.rows(rows_Q), q[:, :, rows_Q]) if some else (context, q)
    position_query_HRC, index_BQK = crossing.position_queries(context, torch.float64), index_by_lag(context)
    assert position_query_HRC.dtype == torch.float64 and position_query_HRC.shape[1] in (1, len(lags_of(context)))
    index_BQK = index_BQK.clamp(max=position_query_HRC.shape[1] - 1)  # where there is one, it is for all
    asked_BHQK = torch.empty(B, H, q.shape[2], T, dtype=torch.float64)
    for b in range(B):
        toward_HQKC = position_query_HRC[:, index_BQK.expand(B, -1, -1)[b]]
        asked_BHQK[b] = (toward_HQKC * k[b][:, None]).sum(-1)
    known, seen = crossing.slot_part(q, context) + asked_BHQK, context.allowed_BHQK
    assert same(crossing.bias(q, k, context).where(seen, 0.0), known.where(seen, 0.0))
    assert crossing.slot_part(q, context).shape == asked_BHQK.shape
    assert crossing.bias(q, k, context).isfinite().all()


@pytest.mark.parametrize("name", CROSSINGS)
def test_a_slot_is_worth_the_same_whatever_stands_in_it(name: str) -> None:
    crossing, (q, k), context = CROSSINGS[name](), q_and_k(), Context.of(T, causal=False)
    assert same(crossing.bias(q, 0 * k, context), crossing.slot_part(q, context))


def test_transformer_xl_asks_the_same_of_every_slot() -> None:
    assert CROSSINGS["transformer_xl"]().position_queries(Context.of(T, causal=True), torch.float64).shape == (H, 1, C)


def test_deberta_asks_at_every_lag_there_is() -> None:
    for causal, sign, rows in ((True, "paper", T), (True, "checkpoint", T), (False, "paper", 2 * T - 1)):
        deberta = Deberta(D, H, C, span=300, sign=sign)
        assert deberta.position_queries(Context.of(T, causal=causal), torch.float32).shape == (H, rows, C)


@pytest.mark.parametrize("name", CROSSINGS)
def test_the_slot_part_keeps_the_dtype_of_its_queries(name: str) -> None:
    q, context = q_and_k()[0].bfloat16(), Context.of(T, causal=True)
    assert CROSSINGS[name]().bfloat16().slot_part(q, context).dtype == torch.bfloat16


# In a net


def test_blocks_share_the_table_of_deberta_and_nothing_else(tmp_path: Path) -> None:
    config = NetConfig(vocabulary=9, width=8, layers=3, heads=2, kind="encoder", encoding="deberta", mlp=0)
    net = build(config)
    save_model(tmp_path, net)
    for each in (net, load_model(tmp_path).net, net.double()):
        blocks = [each.encoding(number) for number in range(3)]
        assert all(isinstance(block, Deberta) and block.table_RD is blocks[0].table_RD for block in blocks)
        assert len({id(block.key.weight) for block in blocks}) == 3
        assert not torch.equal(blocks[0].key.weight, blocks[1].key.weight)
    assert sum(parameter.shape == (1024, 8) for parameter in net.parameters()) == 1


@pytest.mark.parametrize("name", ["shaw", "transformer_xl", "cope"])
def test_every_block_has_weights_of_its_own(name: str) -> None:
    net = build(NetConfig(vocabulary=9, width=8, layers=2, heads=2, encoding=name, encoding_options={"sigma": 0.5}))
    for first, second in zip(net.encoding(0).parameters(), net.encoding(1).parameters(), strict=True):
        assert not torch.equal(first, second)


@pytest.mark.parametrize("name", ["shaw", "transformer_xl", "deberta", "cope"])
def test_weights_start_as_wide_as_asked_without_the_global_generator(name: str) -> None:
    before, sizes = torch.random.get_rng_state(), {"head_dim": 32}
    sizes |= {"width": 64, "heads": 2} if name in ("transformer_xl", "deberta") else {}
    drawn = encoding(name, sigma=0.5, **sizes)
    assert torch.equal(torch.random.get_rng_state(), before)
    for parameter in drawn.parameters():
        if parameter is not getattr(getattr(drawn, "query", None), "bias", None):
            assert parameter.std().item() == pytest.approx(0.5, rel=0.2)
    again = encoding(name, sigma=0.5, **sizes)
    assert all(torch.equal(*pair) for pair in zip(drawn.parameters(), again.parameters(), strict=True))


def test_what_they_start_with_unless_told() -> None:
    assert Shaw(C).table_RC.shape == (33, C)
    assert Shaw(64).table_RC.std().item() == pytest.approx(0.02, rel=0.1)
    assert Cope(C).table_RC.shape == (64, C) and not Cope(C).table_RC.any()
    xl, deberta = TransformerXL(64, 4, 16), Deberta(64, 4, 16)
    for weight in (xl.project.weight, xl.u_HC, xl.v_HC, deberta.table_RD, deberta.key.weight, deberta.query.weight):
        assert weight.std().item() == pytest.approx(0.02, rel=0.2)
    assert deberta.table_RD.shape == (1024, 64) and not deberta.query.bias.any() and deberta.key.bias is None
    assert Deberta(64, 4, 16, buckets=256).table_RD.shape == (512, 64)


REFUSALS: list[tuple[str, dict[str, object], str]] = [
    (
        "shaw",
        {"head_dim": 4, "clip": 0},
        "shaw needs a head_dim and a clip of at least 1 and a sigma of at least 0; got head_dim 4, clip 0, sigma 0.02",
    ),
    (
        "transformer_xl",
        {"width": 7, "heads": 1, "head_dim": 7},
        "the width of a transformer_xl encoding must be even and at least 2, because channels come in pairs; got 7",
    ),
    (
        "transformer_xl",
        {"width": 8, "heads": 0, "head_dim": 4},
        "transformer_xl needs heads and a head_dim of at least 1 and a sigma of at least 0; "
        "got heads 0, head_dim 4, sigma 0.02",
    ),
    (
        "transformer_xl",
        {"width": 8, "heads": 2, "head_dim": 4, "layout": "half"},
        "unknown layout 'half'; known: concat, interleaved",
    ),
    (
        "transformer_xl",
        {"width": 8, "heads": 2, "head_dim": 4, "bias_init": "zero"},
        "unknown bias_init 'zero'; did you mean 'zeros'? known: normal, zeros",
    ),
    (
        "deberta",
        {"width": 8, "heads": 2, "head_dim": 4, "span": 0},
        "deberta needs a width, heads, a head_dim and a span of at least 1 and a sigma of at least 0; "
        "got width 8, heads 2, head_dim 4, span 0, sigma 0.02",
    ),
    (
        "deberta",
        {"width": 8, "heads": 2, "head_dim": 4, "sign": "papers"},
        "unknown sign 'papers'; did you mean 'paper'? known: checkpoint, paper",
    ),
    *(
        (
            "deberta",
            {"width": 8, "heads": 2, "head_dim": 4, "span": 9, "buckets": buckets},
            f"deberta's buckets must be even, at least 2, and half of them less than span - 1 = 8; got {buckets}",
        )
        for buckets in (0, 3, 16)
    ),
    (
        "cope",
        {"head_dim": 4, "positions": 0},
        "cope needs a head_dim and positions of at least 1 and a sigma of at least 0; "
        "got head_dim 4, positions 0, sigma 0.0",
    ),
]


@pytest.mark.parametrize(("name", "options", "sentence"), REFUSALS, ids=[sentence for _, _, sentence in REFUSALS])
def test_refusals(name: str, options: dict[str, object], sentence: str) -> None:
    with pytest.raises(UserError) as refusal:
        encoding(name, **options)
    assert str(refusal.value) == sentence


def test_cope_is_refused_both_ways() -> None:
    with pytest.raises(UserError) as refusal:
        all_rows(Cope(C).double(), *q_and_k(), causal=False)
    assert str(refusal.value) == "cope only looks back and got a net that looks both ways; use it in a decoder"
