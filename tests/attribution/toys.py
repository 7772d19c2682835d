"""The worked toy of one layer and one head, in plain operations and as a net, and its rules evaluated by hand."""

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from wherewhat.attribution.record import RelevanceRecord
from wherewhat.attribution.relevance import Watched
from wherewhat.attribution.rules import RelevanceRules, under_rules
from wherewhat.attribution.sources import SourceRecorder, watched_net
from wherewhat.encodings.alibi import Alibi
from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.learned import Learned
from wherewhat.encodings.none import NoPosition
from wherewhat.encodings.rotary import ByPosition
from wherewhat.nets.attention import SelfAttention

FILE = Path(__file__).parents[1] / "vectors" / "attribution.json"
VECTORS: dict[str, Any] = json.loads(FILE.read_text())
CASES = ("nope", "ape", "rope", "alibi")
WEIGHTS = {name: torch.tensor(values, dtype=torch.float64) for name, values in VECTORS["weights"].items()}
IDS = VECTORS["tokens"]
THETA, SLOPE, SCALE = VECTORS["rope_theta"], VECTORS["alibi_slope"], 1 / math.sqrt(2)
HIDDEN = torch.ones(4, 4, dtype=torch.bool).triu(1)  # keys after the query
LAGS = torch.arange(4)[:, None] - torch.arange(4)[None, :]


def known(values: Any) -> Tensor:
    """Worked numbers, which have twelve digits; null is minus infinity."""
    if isinstance(values, list):
        return torch.stack([known(value) for value in values])
    return torch.tensor(-torch.inf if values is None else values, dtype=torch.float64)


def assert_known(ours: Tensor, values: Any) -> None:
    torch.testing.assert_close(ours.detach().double(), known(values), rtol=0, atol=2e-12)


def turn(x: Tensor) -> Tensor:
    """A quarter turn of the one pair."""
    return torch.stack([-x[..., 1], x[..., 0]], -1)


def distance_bias() -> Tensor:
    return -SLOPE * LAGS.double()


def key_bias() -> Tensor:
    """The same for every softmax: each row differs by a constant."""
    return SLOPE * torch.arange(4.0, dtype=torch.float64).expand(4, 4)


class Trace(dict[str, Tensor]):
    """The tensors of one run, with their gradients afterwards."""

    def keep(self, name: str, tensor: Tensor) -> Tensor:
        if tensor.requires_grad and not tensor.is_leaf:
            tensor.retain_grad()
        self[name] = tensor
        return tensor

    def leaf(self, name: str, tensor: Tensor) -> Tensor:
        return self.keep(name, tensor.detach().clone().requires_grad_())

    def relevance(self, name: str) -> Tensor:
        tensor = self[name]
        gradient = torch.zeros_like(tensor) if tensor.grad is None else tensor.grad
        return torch.where(gradient == 0, 0, tensor.detach() * gradient)


def run_plain(
    case: str,
    *,
    rules: type[RelevanceRules] = RelevanceRules,
    first: int = 0,
    theta: float = THETA,
    bias: Callable[[], Tensor] = distance_bias,
    split: bool = True,
) -> tuple[Trace, RelevanceRecord]:
    """The toy in plain operations under rules, its largest logit passed back; every tensor is kept."""
    trace, record, w = Trace(), RelevanceRecord(), WEIGHTS
    x = e = trace.leaf("e", w["E"][IDS])
    with under_rules(rules, nn.Module(), record):
        if case == "ape":
            x = trace.keep("x", e + trace.leaf("p", w["P"]))
        q, k, v = (trace.keep(name, x @ w[f"W{name}"].T) for name in "qkv")
        qt, kt = q, k
        if case == "rope":
            angle = (torch.arange(4, dtype=torch.float64) + first)[:, None] * theta
            turned = {}
            for name, content in (("q", q), ("k", k)):
                cos, sin = angle.cos().expand(4, 2), angle.sin().expand(4, 2)
                if split:
                    cos, sin = trace.leaf(f"cos_{name}", cos), trace.leaf(f"sin_{name}", sin)
                turned[name] = content * cos + turn(content) * sin
            qt, kt = turned["q"], turned["k"]
        qt, kt = trace.keep("qt", qt), trace.keep("kt", kt)
        s = trace.keep("c", qt @ kt.T * SCALE)
        if case == "alibi":
            s = s + trace.leaf("b", bias())
        s = trace.keep("s", s.masked_fill(HIDDEN, -torch.inf))
        A = trace.keep("A", s.softmax(-1))
        at = trace.keep("at", trace.keep("o", A @ v) @ w["Wo"].T)
        h = trace.keep("h", x + at)
        logits = trace.keep("logits", h[-1] @ w["U"].T)
    logits.max().backward()
    return trace, record


class OneAngle(ByPosition):
    """One pair that turns by the toy's angle, from position `first` on."""

    name = "one_angle"

    def __init__(self, theta: float = THETA) -> None:
        super().__init__(2, base=10_000.0, layout="half")
        self.angle = theta

    def theta(self, ladder_F: Tensor, context: Context) -> Tensor:
        return torch.full_like(ladder_F, self.angle)


def encoding_of(case: str) -> Encoding:
    if case == "ape":
        encoding = Learned(2, length=4)
        encoding.table_SD.data = WEIGHTS["P"].clone()
        return encoding
    return {"nope": NoPosition, "rope": OneAngle, "alibi": lambda: Alibi(heads=1, slope=SLOPE)}[case]()


class ToyBlock(nn.Module):
    """Attention with its residual, and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = SelfAttention(2, 1)
        self.attention.qkv.weight.data = torch.cat([WEIGHTS[name] for name in ("Wq", "Wk", "Wv")])
        self.attention.out.weight.data = WEIGHTS["Wo"].clone()

    def forward(self, x_BTD: Tensor, encoding: Encoding, context: Context) -> Tensor:
        return x_BTD + self.attention(x_BTD, encoding, context)


class Toy(nn.Module):
    """The toy as a net with an encoding."""

    def __init__(self, case: str) -> None:
        super().__init__()
        self.tokens = nn.Embedding.from_pretrained(WEIGHTS["E"].clone())
        self.blocks = nn.ModuleList([ToyBlock()])
        self.encoding = encoding_of(case)

    def forward(self, ids_BT: Tensor) -> Tensor:
        context = Context.of(ids_BT.shape[1], causal=True)
        x_BTD = self.encoding.on_tokens(self.tokens(ids_BT), context.query_positions_BQ, 0)
        x_BTD = self.blocks[0](x_BTD, self.encoding, context)
        return x_BTD[0, -1] @ WEIGHTS["U"].T


def watched_toy(case: str) -> Watched:
    """The toy, ready to be explained."""
    toy: Any = Toy(case)

    @contextmanager
    def positions(recorder: SourceRecorder) -> Iterator[None]:
        with watched_net(toy, recorder):
            yield

    return Watched(toy, toy.tokens, lambda: toy(torch.tensor([IDS])), positions, length=4)


def largest(logits_C: Tensor) -> int:
    return int(logits_C.argmax())


def by_hand(case: str) -> dict[str, Tensor]:
    """The relevance of every tensor by the rules as they are written, without gradients.

    A rule turns the ratio of relevance and value of an output into that of its inputs; relevance is value times ratio.
    """
    w = WEIGHTS
    e = w["E"][IDS]
    x = e + w["P"] if case == "ape" else e
    q, k, v = x @ w["Wq"].T, x @ w["Wk"].T, x @ w["Wv"].T
    angle = torch.arange(4, dtype=torch.float64)[:, None] * THETA
    cos, sin = angle.cos().expand(4, 2), angle.sin().expand(4, 2)
    qt, kt = (q * cos + turn(q) * sin, k * cos + turn(k) * sin) if case == "rope" else (q, k)
    c = qt @ kt.T * SCALE
    s = c + distance_bias() if case == "alibi" else c
    A = s.masked_fill(HIDDEN, -torch.inf).softmax(-1)
    o = A @ v
    at = o @ w["Wo"].T
    h = x + at
    logits = h[-1] @ w["U"].T
    ratio = torch.zeros(4, 2, dtype=torch.float64)
    ratio[-1] = w["U"][logits.argmax()]  # a linear layer: the ratio of its output is 1
    relevance = {"h": h * ratio, "at": at * ratio}  # a sum: both parts keep the ratio of the whole
    ratio_o = ratio @ w["Wo"]
    ratio_A, ratio_v = ratio_o @ v.T / 2, A.T @ ratio_o / 2  # a product: half each
    ratio_s = A * (ratio_A - (A * ratio_A).sum(-1, keepdim=True))
    ratio_s = ratio_s.masked_fill(HIDDEN, 0)
    ratio_qt, ratio_kt = ratio_s @ kt * SCALE / 2, ratio_s.T @ qt * SCALE / 2
    relevance |= {"o": o * ratio_o, "A": A * ratio_A, "v": v * ratio_v, "s": s * ratio_s}
    relevance |= {"qt": qt * ratio_qt, "kt": kt * ratio_kt}
    ratio_q, ratio_k = ratio_qt, ratio_kt
    if case == "alibi":
        relevance |= {"b": distance_bias() * ratio_s, "c": c * ratio_s}
    if case == "rope":
        for name, content, of in (("q", q, ratio_qt), ("k", k, ratio_kt)):
            relevance |= {f"cos_{name}": content * cos * of / 2, f"sin_{name}": turn(content) * sin * of / 2}
        ratio_q, ratio_k = ((of * cos - turn(of * sin)) / 2 for of in (ratio_qt, ratio_kt))
    relevance |= {"q": q * ratio_q, "k": k * ratio_k}
    ratio_x = ratio + ratio_q @ w["Wq"] + ratio_k @ w["Wk"] + ratio_v @ w["Wv"]
    relevance |= {"e": e * ratio_x}
    return relevance | ({"p": w["P"] * ratio_x, "x": x * ratio_x} if case == "ape" else {})
