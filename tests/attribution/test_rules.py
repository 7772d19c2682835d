"""Every rule at its node: what goes in comes out, in the shares that the rule says, and no value changes."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from precision import assert_same
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.functional import scaled_dot_product_attention

from wherewhat.attribution.backward import half
from wherewhat.attribution.record import RelevanceRecord
from wherewhat.attribution.rules import FrozenRules, RelevanceRules, under_rules
from wherewhat.attribution.sources import ContentRecorder, SourceRecorder
from wherewhat.errors import UserError
from wherewhat.nets.attention import SelfAttention


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


class Node:
    """One operation under rules, with some relevance passed back through it."""

    def __init__(
        self, function: Callable[..., Tensor], *inputs: Tensor, rules: type[RelevanceRules] = RelevanceRules
    ) -> None:
        self.record, self.inputs = RelevanceRecord(attentions=1), [each.clone().requires_grad_() for each in inputs]
        with torch.no_grad():
            self.plain = function(*inputs)
        with under_rules(rules, nn.Module(), self.record):
            self.output = function(*self.inputs)
        self.ratio = numbers(*self.output.shape, seed=9)
        self.output.backward(self.ratio)

    @property
    def into(self) -> Tensor:
        """The relevance that reaches the node, of its output's shape."""
        return self.output.detach() * self.ratio

    def of(self, number: int) -> Tensor:
        leaf = self.inputs[number]
        return torch.zeros_like(leaf) if leaf.grad is None else leaf.detach() * leaf.grad

    def check(self, *, constant: float = 0.0) -> None:
        """All relevance comes out of the inputs, but for that of a constant; the value is the plain one."""
        assert_same(self.output.detach(), self.plain)
        together = sum(float(self.of(number).sum()) for number in range(len(self.inputs)))
        assert together + constant == pytest.approx(float(self.into.sum()), rel=1e-12, abs=1e-12)


X, Y = numbers(2, 3, 8), numbers(2, 3, 8, seed=1)
WEIGHT, BIAS, SCALE = numbers(5, 8, seed=2), numbers(5, seed=3), numbers(8, seed=4)
NODES: dict[str, tuple[Callable[..., Tensor], tuple[Tensor, ...]]] = {
    "linear": (lambda x: functional.linear(x, WEIGHT), (X,)),
    "linear with a bias": (lambda x, bias: functional.linear(x, WEIGHT, bias), (X, BIAS)),
    "sum": (lambda x, y: x + y, (X, Y)),
    "mean": (lambda x: x.mean(1), (X,)),
    "rms norm": (lambda x: functional.rms_norm(x, (8,), SCALE, 1e-6), (X,)),
    "rms norm written out": (lambda x: SCALE * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)), (X,)),
    "norm by division": (lambda x: x / x.pow(2).mean(-1, keepdim=True).sqrt(), (X,)),
    "division in place": (lambda x: (x * 1.0).div_(x.pow(2).sum(-1, keepdim=True)), (X,)),
    "layer norm": (lambda x: functional.layer_norm(x, (8,), SCALE, None), (X,)),
    "layer norm with a bias": (lambda x, bias: functional.layer_norm(x, (8,), SCALE, bias), (X, SCALE)),
    "normalised": (lambda x: functional.normalize(x, dim=-1), (X,)),
    "product": (lambda x, y: x * y, (X, Y)),
    "matrix product": (lambda x, y: x @ y.mT, (X, Y)),
    "batched product": (lambda x, y: torch.bmm(x, y.mT), (X, Y)),
    "product by an equation": (lambda x, y: torch.einsum("bid,bjd->bij", x, y), (X, Y)),
    "sum and product": (lambda z, x, y: torch.baddbmm(z, x, y.mT), (numbers(2, 3, 3, seed=5), X, Y)),
    "sum and element-wise product": (lambda z, x, y: torch.addcmul(z, x, y), (Y, X, Y)),
    "additive bias of scores": (lambda c, b: c + b, (numbers(2, 3, 3), numbers(3, 3, seed=6))),
    "convolution": (lambda x: functional.conv1d(x, numbers(3, 1, 3, seed=7), padding=1, groups=3), (X,)),
}
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "silu": functional.silu,
    "gelu": functional.gelu,
    "gelu by tanh": partial(functional.gelu, approximate="tanh"),
    "relu": functional.relu,
    "leaky relu": partial(functional.leaky_relu, negative_slope=0.1),
    "tanh": torch.tanh,
    "soft cap": lambda x: torch.tanh(x / 5) * 5,
    "clamp": lambda x: x.clamp(-1, 1),
    "elu": functional.elu,
}
SHIFTED = {
    "sigmoid": torch.sigmoid,
    "softplus": functional.softplus,
    "exp": torch.exp,
    "logsigmoid": functional.logsigmoid,
}


@pytest.mark.parametrize("name", NODES)
def test_relevance_is_kept_at_a_node(name: str):
    function, inputs = NODES[name]
    Node(function, *inputs).check()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_activation_passes_all_its_relevance_on_entry_by_entry(name: str):
    node = Node(FUNCTIONS[name], X)
    node.check()
    torch.testing.assert_close(node.of(0), node.into)


@pytest.mark.parametrize("name", SHIFTED)
def test_a_function_that_is_not_0_at_0_keeps_what_it_is_there_as_a_constant(name: str):
    function = SHIFTED[name]
    node = Node(function, X)
    at_zero = function(torch.zeros(1, dtype=torch.float64))
    node.check(constant=node.record.constants)
    assert node.record.constants == pytest.approx(float((at_zero * node.ratio).sum()))
    torch.testing.assert_close(node.of(0), node.into - at_zero * node.ratio)


@pytest.mark.parametrize("name", [*FUNCTIONS, *SHIFTED])
def test_near_0_a_function_passes_on_its_slope(name: str):
    function = (FUNCTIONS | SHIFTED)[name]
    near = torch.tensor([0.0, 1e-14, -1e-13], dtype=torch.float64)
    slope = torch.autograd.functional.jacobian(function, torch.zeros(1, dtype=torch.float64)).flatten()
    node = Node(function, near)
    torch.testing.assert_close(node.inputs[0].grad, slope * node.ratio)


@pytest.mark.parametrize("name", ["product", "matrix product", "batched product", "product by an equation"])
def test_both_factors_of_a_product_get_half(name: str):
    function, inputs = NODES[name]
    node = Node(function, *inputs)
    assert float(node.of(0).sum()) == pytest.approx(float(node.into.sum()) / 2)
    assert float(node.of(1).sum()) == pytest.approx(float(node.into.sum()) / 2)


def test_a_constant_factor_and_a_divisor_get_nothing():
    node = Node(lambda x, y: x / y, X, Y.abs() + 1)
    node.check()
    assert not node.of(1).any()
    torch.testing.assert_close(Node(lambda x: x * SCALE, X).of(0), Node(lambda x: x * SCALE, X).into)


def test_half_is_the_same_tensor_with_half_the_gradient():
    x = X.clone().requires_grad_()
    y = half(x)
    y.backward(Y)
    assert torch.equal(y, x) and torch.equal(x.grad, Y / 2)


def test_a_sigmoid_gate_is_half_of_its_product():
    wide = numbers(2, 3, 16)
    node = Node(partial(functional.glu, dim=-1), wide)
    node.check(constant=node.record.constants)
    assert float(node.of(0)[..., :8].sum()) == pytest.approx(float(node.into.sum()) / 2)
    frozen = Node(partial(functional.glu, dim=-1), wide, rules=FrozenRules)
    frozen.check()
    assert not frozen.of(0)[..., 8:].any()


def test_a_batch_norm_is_a_constant_scale_and_shift():
    mean, variance = numbers(3, seed=5), numbers(3, seed=6).abs() + 0.5
    bias, weight = numbers(3, seed=7), numbers(3, seed=8)
    node = Node(lambda x, bias: functional.batch_norm(x, mean, variance, weight, bias), X, bias)
    node.check(constant=node.record.constants)
    shift = -(mean * weight / (variance + 1e-5).sqrt())[:, None]
    assert node.record.constants == pytest.approx(float((shift * node.ratio).sum()))
    with pytest.raises(UserError, match="without running statistics"):
        Node(lambda x: functional.batch_norm(x, None, None, training=True), X)


def test_a_softmax_gets_values_times_its_ordinary_gradient_and_says_what_it_keeps():
    logits = X.clone()
    logits[..., 5:] = -torch.inf
    node = Node(lambda s: s.softmax(-1), logits)
    attention, of_attention = node.output.detach(), node.into
    expected = logits * (of_attention - attention * of_attention.sum(-1, keepdim=True))
    expected = torch.where(attention == 0, 0, expected)
    relevance = torch.where(node.inputs[0].grad == 0, 0, node.of(0))
    torch.testing.assert_close(relevance, expected)
    assert not node.inputs[0].grad[..., 5:].any()
    (leak,) = node.record.softmaxes
    assert leak.value == pytest.approx(float(of_attention.sum() - expected.sum()))


def test_a_rotation_is_split_in_half_for_every_slot_head_and_pair():
    q = numbers(1, 2, 3, 4)  # two heads, three slots, two pairs
    angle = torch.arange(3.0, dtype=torch.float64)[:, None] * torch.tensor([1.0, 0.1], dtype=torch.float64)
    cos, sin = angle.cos().repeat(1, 2).expand(2, 3, 4), angle.sin().repeat(1, 2).expand(2, 3, 4)

    def rotate(q: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        turned = torch.cat([-q[..., 2:], q[..., :2]], -1)
        return q * cos + turned * sin

    node = Node(rotate, q, cos, sin)
    pairs = [each.unflatten(-1, (2, 2)).sum(-2) for each in (node.into[0], node.of(0)[0], node.of(1) + node.of(2))]
    torch.testing.assert_close(pairs[1], pairs[0] / 2)
    torch.testing.assert_close(pairs[2], pairs[0] / 2)


def test_position_that_is_a_factor_of_a_product_gets_half_and_content_the_rest():
    q, keys, ratio = X.clone().requires_grad_(), numbers(2, 4, 8, seed=1), numbers(2, 3, 4, seed=9)
    recorder = SourceRecorder(RelevanceRecord(layer=2))
    product = q @ keys.mT
    recorder.on_product("distance keys", product).backward(ratio)
    (source,) = recorder.sources
    assert (source.name, source.layer) == ("distance keys", 2)
    torch.testing.assert_close(source.relevance()[0], product.detach() * ratio / 2)
    torch.testing.assert_close(q.grad, ratio @ keys / 2)
    content, whole = ContentRecorder(RelevanceRecord()), X.clone().requires_grad_()
    content.on_product("distance keys", whole @ keys.mT).backward(ratio)
    assert not content.sources
    torch.testing.assert_close(whole.grad, ratio @ keys)


def explicit_attention(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    return (q @ k.mT * q.shape[-1] ** -0.5 + bias).softmax(-1) @ v


@pytest.mark.parametrize("heads", [4, 2, 1], ids=["equal", "grouped", "one key head"])
@pytest.mark.parametrize("rows", [1 << 22, 40], ids=["at once", "some rows at a time"])
def test_fused_attention_follows_the_rules_of_its_parts(heads: int, rows: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("wherewhat.attribution.backward.ENTRIES", rows)
    q, k, v = numbers(1, 4, 5, 6), numbers(1, heads, 5, 6, seed=1), numbers(1, heads, 5, 6, seed=2)
    bias = numbers(1, 4, 5, 5, seed=3).masked_fill(torch.ones(5, 5, dtype=torch.bool).triu(1), -torch.inf)

    def fused(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
        return scaled_dot_product_attention(q, k, v, attn_mask=bias, enable_gqa=heads != 4)

    ours, theirs = Node(fused, q, k, v, bias), Node(explicit_attention, q, k, v, bias)
    for mine, other in zip(ours.inputs, theirs.inputs, strict=True):
        torch.testing.assert_close(mine.grad, other.grad)
    (leak,), (other_leak,) = ours.record.softmaxes, theirs.record.softmaxes
    assert (leak.of_attention, leak.of_logits) == pytest.approx((other_leak.of_attention, other_leak.of_logits))
    (product,) = ours.record.products
    assert float(product.queries_HC.sum()) == pytest.approx(float(theirs.of(0).sum()))
    assert float(product.keys_HC.sum()) == pytest.approx(float(theirs.of(1).sum()))
    of_bias = torch.where(ours.inputs[3].grad == 0, 0, ours.of(3))
    assert torch.isfinite(of_bias).all()  # also where keys are hidden


def test_a_causal_flag_and_a_mask_of_allowed_keys_are_the_same():
    q, k, v = (numbers(1, 2, 5, 6, seed=seed) for seed in range(3))
    allowed = torch.ones(5, 5, dtype=torch.bool).tril()
    flag = Node(lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=True), q, k, v)
    mask = Node(lambda q, k, v: scaled_dot_product_attention(q, k, v, attn_mask=allowed, scale=6**-0.5), q, k, v)
    for mine, other in zip(flag.inputs, mask.inputs, strict=True):
        torch.testing.assert_close(mine.grad, other.grad)


@pytest.mark.parametrize("fused", [True, False])
def test_frozen_attention_gives_all_to_values(fused: bool):
    q, k, v = (numbers(1, 2, 5, 6, seed=seed) for seed in range(3))
    function = partial(scaled_dot_product_attention) if fused else lambda *qkv: explicit_attention(*qkv, torch.zeros(1))
    node = Node(function, q, k, v, rules=FrozenRules)
    node.check()
    assert node.inputs[0].grad is None and node.inputs[1].grad is None and not node.record.softmaxes


def test_the_first_product_after_a_rotation_is_noted_by_head():
    q, k = numbers(1, 2, 5, 6), numbers(1, 2, 5, 6, seed=1)
    record = RelevanceRecord(layer=3, rotated=True, attentions=1)
    leaves = [each.clone().requires_grad_() for each in (q, k)]
    with under_rules(RelevanceRules, nn.Module(), record):
        logits = leaves[0] @ leaves[1].mT
        (logits.tanh() @ leaves[1]).sum().backward()
    (product,) = record.products
    assert product.layer == 3 and not record.rotated and product.queries_HC.shape == (2, 6)
    torch.testing.assert_close(product.queries_HC, (q * leaves[0].grad).sum((0, 2)))


class TwoStep(nn.Module):
    """An activation in place, then a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8, bias=False, dtype=torch.float64)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(self.relu(self.linear(x)))


def test_a_module_that_works_in_place_is_an_activation_too_and_is_restored():
    model, x, record = TwoStep(), X.clone().requires_grad_(), RelevanceRecord(attentions=1)
    plain = model(X)
    with under_rules(RelevanceRules, model, record):
        output = model(x)
    assert "forward" not in vars(model.relu)
    ratio = numbers(*output.shape, seed=9)
    output.backward(ratio)
    assert_same(output.detach(), plain.detach())
    assert float((x.detach() * x.grad).sum()) == pytest.approx(float((output.detach() * ratio).sum()))


@pytest.mark.parametrize(
    ("function", "inputs", "sentence"),
    [
        (lambda x, y: torch.einsum("bid,bjd,bkd->bijk", x, y, x), (X, Y), "a product of more than two tensors"),
        (lambda x: functional.layer_norm(x, (3, 8)), (X,), "a layer norm over 2 axes"),
    ],
)
def test_what_has_no_rule_is_refused(function: Any, inputs: tuple[Tensor, ...], sentence: str):
    with pytest.raises(UserError, match=f"{sentence}.* has no rule of relevance"):
        Node(function, *inputs)


def test_a_model_without_attention_is_refused():
    sentence = "no attention of TwoStep was seen that has a rule of relevance; use the method input-x-gradient"
    with pytest.raises(UserError, match=sentence), under_rules(RelevanceRules, TwoStep(), RelevanceRecord()):
        pass


def test_what_comes_of_constants_is_constant():
    attention = SelfAttention(8, 2, bias=True).double()
    with under_rules(RelevanceRules, attention, RelevanceRecord(attentions=1)):
        projected = attention.out(X)
        normed = functional.layer_norm(X, (8,), None, attention.out.bias)
    assert not projected.requires_grad and not normed.requires_grad
