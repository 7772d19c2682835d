"""What path and path_fox are known to do: three equal forms, and the simpler encodings inside them."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, normalize

from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.householder import Reflections, blockwise, change, recurrent
from wherewhat.encodings.none import NoPosition
from wherewhat.encodings.path import Path
from wherewhat.encodings.path_fox import PathFox
from wherewhat.encodings.reflecting import MOST_BETA, Reflecting
from wherewhat.errors import UserError
from wherewhat.nets.attention import attend, attention_rows

H, C, WIDTH = 2, 8, 16
Inputs = tuple[Tensor, Tensor, Tensor, Reflections]
with_and_without_gate = pytest.mark.parametrize("gate", [False, True], ids=["path", "path_fox"])


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def inputs(tokens: int, *, gate: bool, batch: int = 1, dtype: torch.dtype = torch.float64) -> Inputs:
    """Reflections of every strength from 0 to 2, both ends and the singular middle among them."""
    q, k, v, w = (random(batch, H, tokens, C, seed=seed) for seed in range(4))
    beta = 2 * random(batch, H, tokens, seed=4).sigmoid()
    beta[..., ::7], beta[..., 1::7], beta[..., 2::7] = 0, 1, 2
    log_forget = logsigmoid(random(batch, H, tokens, seed=5)).to(dtype) if gate else None
    return (
        q.to(dtype),
        k.to(dtype),
        v.to(dtype),
        Reflections(normalize(w, dim=-1).to(dtype), beta.to(dtype), log_forget),
    )


def by_matrices(q: Tensor, k: Tensor, v: Tensor, reflections: Reflections) -> Tensor:
    """The definition as it is written: a product of matrices for every query and key."""
    out = torch.zeros_like(v)
    for head in range(H):
        for i in range(q.shape[2]):
            logits, product, kept = [], torch.eye(C, dtype=q.dtype), 0.0
            for j in range(i, -1, -1):
                logits.append(q[0, head, i] @ product @ k[0, head, j] + kept)
                w, beta = reflections.w_BHKC[0, head, j], reflections.beta_BHK[0, head, j]
                product = product @ (torch.eye(C, dtype=q.dtype) - beta * torch.outer(w, w))
                kept += 0.0 if reflections.log_forget_BHK is None else reflections.log_forget_BHK[0, head, j]
            out[0, head, i] = torch.stack(logits).softmax(0) @ v[0, head, : i + 1].flip(0)
    return out


def as_a_bias(q: Tensor, k: Tensor, v: Tensor, reflections: Reflections) -> Tensor:
    slots_K = torch.arange(k.shape[2])
    logits = q @ k.mT + change(q, k, reflections, slots_K)
    return logits.masked_fill(slots_K > slots_K[:, None], -torch.inf).softmax(-1) @ v


def in_blocks(chunk: int) -> Callable[..., Tensor]:
    return lambda q, k, v, reflections: blockwise(q, k, v, reflections, chunk=chunk, real_BK=None)


def assert_same(ours: Tensor, theirs: Tensor, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(ours.double(), theirs.double(), rtol=0, atol=tolerance)


@with_and_without_gate
def test_the_definition_is_a_product_of_matrices(gate: bool) -> None:
    given = inputs(13, gate=gate)
    assert_same(recurrent(*given), by_matrices(*given), 1e-12)


@with_and_without_gate
@pytest.mark.parametrize("tokens", [1, 2, 64, 150])
def test_the_three_forms_agree(gate: bool, tokens: int) -> None:
    given = inputs(tokens, gate=gate, batch=2)
    known = recurrent(*given)
    assert_same(as_a_bias(*given), known)
    for chunk in (1, 7, 32, 64, 200):  # most of them do not divide the tokens, one is longer than all
        assert_same(in_blocks(chunk)(*given), known)


@with_and_without_gate
def test_long_texts_lose_nothing_in_float32(gate: bool) -> None:
    exact, rounded = inputs(1024, gate=gate), inputs(1024, gate=gate, dtype=torch.float32)
    known = recurrent(*exact)
    for form in (in_blocks(64), in_blocks(37), as_a_bias):
        assert_same(form(*exact), known)
        assert_same(form(*rounded), known, 1e-5)


def test_a_gate_that_has_forgotten_much_still_tells_near_keys_apart() -> None:
    q, k, v, reflections = inputs(600, gate=True)
    closed = reflections.log_forget_BHK - 20.0 * (torch.arange(600) % 100 < 50)  # G passes -6,000
    exact = (q, k, v, replace(reflections, log_forget_BHK=closed))
    rounded = (q.float(), k.float(), v.float(), Reflections(*(each.float() for each in vars(exact[3]).values())))
    for form in (in_blocks(64), as_a_bias):
        assert_same(form(*rounded), recurrent(*exact), 5e-5)
    gradient = gradients(in_blocks(64), rounded)
    assert all(each.isfinite().all() for each in gradient)


@with_and_without_gate
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-4)])
def test_gradients_are_those_of_the_bias(gate: bool, dtype: torch.dtype, tolerance: float) -> None:
    known = gradients(as_a_bias, inputs(200, gate=gate))
    for chunk in (16, 37):
        ours = gradients(in_blocks(chunk), inputs(200, gate=gate, dtype=dtype))
        for each, other in zip(ours, known, strict=True):
            assert_same(each / other.abs().max(), other / other.abs().max(), tolerance)


def gradients(form: Callable[..., Tensor], given: Inputs) -> list[Tensor]:
    q, k, v, reflections = given
    leaves = [each.clone().requires_grad_() for each in (q, k, v, *vars(reflections).values()) if each is not None]
    out = form(*leaves[:3], Reflections(*leaves[3:]))
    (out * random(*out.shape, seed=9)).sum().backward()
    return [leaf.grad for leaf in leaves if leaf.grad is not None]


def test_learning_does_not_remember_the_walk() -> None:
    kept: list[int] = []

    def keep(each: Tensor) -> Tensor:
        kept.append(each.numel())
        return each

    q, k, v, reflections = inputs(512, gate=False)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda each: each):
        out = in_blocks(16)(q.requires_grad_(), k, v, reflections)
    assert out.requires_grad
    assert max(kept) < H * 512 * 512 / 8  # no matrix of logits, not even of a group


@with_and_without_gate
@pytest.mark.parametrize("last", [1, 5, 16, 17, 40])
def test_the_last_queries_are_those_of_all(gate: bool, last: int) -> None:
    q, k, v, reflections = inputs(40, gate=gate)
    ours = in_blocks(16)(q[:, :, -last:], k, v, reflections)
    assert_same(ours, recurrent(q, k, v, reflections)[:, :, -last:])


def make(gate: bool, **options: int) -> Reflecting:
    encoding = (PathFox if gate else Path)(WIDTH, H, C, **options).double()
    for seed, parameter in enumerate(encoding.parameters()):
        parameter.data = random(*parameter.shape, seed=20 + seed)
    return encoding


def noted(encoding: Reflecting, x_BTD: Tensor, real_BT: Tensor | None = None) -> Context:
    context = Context.of(x_BTD.shape[1], causal=True, real_BK=real_BT)
    return replace(context, notes=encoding.observe(x_BTD, real_BT))


def q_k_v(tokens: int, batch: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    q, k, v = (random(batch, H, tokens, C, seed=seed) for seed in range(3))
    return q, k, v


def with_notes(context: Context, **notes: Tensor) -> Context:
    return replace(context, notes={**context.notes, **notes})


def both_ways(encoding: Encoding, tokens: int, context: Context) -> list[Tensor]:
    q, k, v = q_k_v(tokens)
    rows_Q = torch.arange(tokens)
    return [attend(encoding, q, k, v, context), attention_rows(encoding, q, k, context, rows_Q) @ v]


def test_without_strength_there_is_no_position() -> None:
    encoding, x_BTD = make(False, chunk=4), random(1, 11, WIDTH, seed=7)
    context = noted(encoding, x_BTD)
    still = with_notes(context, beta=torch.zeros_like(context.notes["beta"]))
    plain, _ = both_ways(NoPosition(), 11, Context.of(11, causal=True))
    for ours, moved in zip(both_ways(encoding, 11, still), both_ways(encoding, 11, context), strict=True):
        assert_same(ours, plain, 1e-12)
        assert (moved - plain).abs().max() > 1e-2


def test_open_gates_leave_path() -> None:
    fox, x_BTD = make(True, chunk=4), random(1, 11, WIDTH, seed=7)
    context = noted(fox, x_BTD)
    opened = with_notes(context, log_forget=torch.zeros_like(context.notes["log_forget"]))
    for ours, theirs in zip(both_ways(fox, 11, opened), both_ways(make(False), 11, context), strict=True):
        assert_same(ours, theirs, 1e-12)


@pytest.mark.parametrize("gate_scaled", [False, True])
def test_gates_without_reflections_are_the_forgetting_transformer(gate_scaled: bool) -> None:
    fox = PathFox(WIDTH, H, C, chunk=4, gate_scaled=gate_scaled).double()
    context = noted(fox, random(1, 11, WIDTH, seed=7))
    log_forget = logsigmoid(random(1, H, 11, seed=8))
    context = with_notes(context, beta=torch.zeros_like(log_forget), log_forget=log_forget)
    q, k, v = q_k_v(11)
    known = torch.zeros_like(v)
    for head in range(H):
        for i in range(11):
            kept = torch.stack([log_forget[0, head, j + 1 : i + 1].sum() for j in range(i + 1)])
            kept = kept * C**-0.5 if gate_scaled else kept
            logits = k[0, head, : i + 1] @ q[0, head, i] * C**-0.5 + kept
            known[0, head, i] = logits.softmax(0) @ v[0, head, : i + 1]
    for ours in both_ways(fox, 11, context):
        assert_same(ours, known, 1e-12)


@with_and_without_gate
def test_nothing_stands_between_a_query_and_its_own_key(gate: bool) -> None:
    encoding, (q, k, _) = make(gate), q_k_v(11)
    bias_BHQK = encoding.bias(q, k, noted(encoding, random(1, 11, WIDTH, seed=7)))
    assert_same(bias_BHQK.diagonal(dim1=-2, dim2=-1), torch.zeros(1, H, 11), 1e-12)
    assert bias_BHQK.tril(-1).abs().max() > 0.1


@with_and_without_gate
@pytest.mark.parametrize("rows", [[7, 0, 10, 3], [10], [9, 10], [10, 9]], ids=str)
def test_some_queries_in_any_order(gate: bool, rows: list[int]) -> None:
    encoding, (q, k, v) = make(gate, chunk=4), q_k_v(11)
    context, rows_Q = noted(encoding, random(1, 11, WIDTH, seed=7)), torch.tensor(rows)
    everything = attend(encoding, q, k, v, context)
    assert_same(attend(encoding, q[:, :, rows_Q], k, v, context.rows(rows_Q)), everything[:, :, rows_Q])
    assert_same(attention_rows(encoding, q, k, context, rows_Q) @ v, everything[:, :, rows_Q])


def test_only_the_last_queries_in_order_take_the_blocks() -> None:
    encoding, (q, k, v) = make(False), q_k_v(11)
    context = noted(encoding, random(1, 11, WIDTH, seed=7))
    taken = {(9, 10): True, (10,): True, (10, 9): False, (0, 1): False}
    for rows, own in taken.items():
        rows_Q = torch.tensor(rows)
        out = encoding.attend(q[:, :, rows_Q], k, v, context.rows(rows_Q))
        assert (out is not None) is own


@with_and_without_gate
def test_padding_anywhere_is_as_if_it_were_not_there(gate: bool) -> None:
    encoding, x_BTD = make(gate, chunk=4), random(2, 14, WIDTH, seed=7)
    real_BT = torch.ones(2, 14, dtype=torch.bool)
    real_BT[0, :6], real_BT[1, 9:] = False, False  # more than a whole block on the left
    q, k, v = q_k_v(14, batch=2)
    padded = attend(encoding, q, k, v, noted(encoding, x_BTD, real_BT))
    for text, real in ((0, slice(6, 14)), (1, slice(0, 9))):
        alone = noted(encoding, x_BTD[text : text + 1, real])
        one = slice(text, text + 1)
        assert_same(padded[one, :, real], attend(encoding, q[one, :, real], k[one, :, real], v[one, :, real], alone))
    assert not padded[0, :, :6].any()


def test_padding_writes_down_nothing() -> None:
    encoding, real_BT = make(True), torch.tensor([[False, False, True, True, False]])
    notes = encoding.observe(random(1, 5, WIDTH), real_BT)
    for name in ("u", "beta", "log_forget"):
        assert not notes[name][:, :, ~real_BT[0]].any()
        assert notes[name][:, :, real_BT[0]].all()


@pytest.mark.parametrize("conv", [1, 2, 3, 5])
def test_notes_go_on_where_the_past_ended(conv: int) -> None:
    encoding, x_BTD = make(True, conv=conv), random(2, 9, WIDTH)
    whole, past = encoding.observe(x_BTD), encoding.observe(x_BTD[:, :1], past={})
    for piece in (slice(1, 2), slice(2, 6), slice(6, 9)):
        new = encoding.observe(x_BTD[:, piece], past=past)
        past = {name: torch.cat((past[name], note), dim=2) for name, note in new.items()}
    for name, note in whole.items():
        assert_same(past[name], note, 1e-12)


@with_and_without_gate
def test_notes_of_half_precision_are_float32(gate: bool) -> None:
    encoding = (PathFox if gate else Path)(WIDTH, H, C).to(torch.bfloat16)
    x_BTD = random(1, 20, WIDTH).to(torch.bfloat16)
    context = noted(encoding, x_BTD)
    assert {note.dtype for note in context.notes.values()} == {torch.float32, torch.bool}
    q, k, v = (each.to(torch.bfloat16) for each in q_k_v(20))
    out = attend(encoding, q, k, v, context)
    assert out.dtype == torch.bfloat16
    exact = attend(encoding, q.double(), k.double(), v.double(), context)
    assert_same(out, exact, 2**-7)


def test_directions_have_length_one_and_strength_stays_below_two() -> None:
    encoding = make(False)
    encoding.beta.bias.data[:] = 100.0
    notes = encoding.observe(random(1, 9, WIDTH))
    assert_same(notes["w"].norm(dim=-1), torch.ones(1, H, 9), 1e-12)
    assert (notes["beta"] == MOST_BETA).all()
    assert 2 - 2e-5 < torch.tensor(MOST_BETA, dtype=torch.float32).item() < 2


def test_parameters_start_as_said() -> None:
    encoding = PathFox(256, 4, 64, rank=32)
    weights = torch.cat(
        [part.weight.flatten() for part in (encoding.down, encoding.up, encoding.beta, encoding.forget)]
    )
    assert weights.std().item() == pytest.approx(0.02, rel=0.03)
    assert not encoding.beta.bias.any() and not encoding.forget.bias.any()
    assert encoding.taps_HRC.abs().max().item() == pytest.approx(3**-0.5, rel=0.02)
    path, fox = Path(768, 12, 64), PathFox(768, 12, 64)
    assert sum(each.numel() for each in path.parameters()) == 60_684
    assert sum(each.numel() for each in fox.parameters()) == 69_912


def test_every_block_has_its_own_and_looks_back() -> None:
    for encoding in (Path(WIDTH, H, C), PathFox(WIDTH, H, C)):
        assert encoding.causal_only and not encoding.shared


@pytest.mark.parametrize("option", ["rank", "conv", "chunk"])
def test_nothing_is_refused(option: str) -> None:
    sentence = f"a path of reflections needs {option} of at least 1 and got 0; give a larger one"
    for made in (Path, PathFox):
        with pytest.raises(UserError, match=f"^{re.escape(sentence)}$"):
            made(WIDTH, H, C, **{option: 0})
