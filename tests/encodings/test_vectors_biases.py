"""The worked numbers of the encodings whose bias follows from positions alone, and of sinusoids on a grid."""

import pytest
import torch
from torch import Tensor
from vectors import VECTORS, assert_attention, assert_known, tensor

from wherewhat.encodings.attenuated import Attenuated
from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.bells import TableBell
from wherewhat.encodings.fire import Fire
from wherewhat.encodings.kerple import Kerple
from wherewhat.encodings.sinusoidal import Sinusoidal
from wherewhat.encodings.t5_bias import T5Bias, bucket
from wherewhat.encodings.toeplitz import Toeplitz
from wherewhat.nets.attention import attention_rows


def t5_bias(name: str) -> T5Bias:
    encoding = T5Bias(width=8, heads=2, buckets=8, max_distance=16).double()
    encoding.table_RH.data = tensor(VECTORS[name]["inputs"]["table"])
    return encoding


def kerple(name: str) -> Kerple:
    encoding = Kerple(heads=2, kind=VECTORS[name]["options"]["kind"]).double()
    encoding.start(*(tensor(VECTORS[name]["inputs"][each]) for each in "ap"))
    return encoding


def fire(name: str) -> Fire:
    inputs = VECTORS[name]["inputs"]
    encoding = Fire(heads=2, hidden=4, threshold=4.0).double()
    for layer, number in ((encoding.inner, 1), (encoding.outer, 2)):
        layer.weight.data, layer.bias.data = tensor(inputs[f"w{number}"]), tensor(inputs[f"b{number}"])
    encoding.c.data = tensor([VECTORS[name]["options"]["c"]])
    return encoding


def attenuated(name: str) -> Attenuated:
    options = VECTORS[name]["options"]
    return Attenuated(heads=2, w=options["w"], s=options["s"], inject=options["inject"])


ATTENTIONS: dict[str, Encoding] = {
    **{name: t5_bias(name) for name in ("t5_bias/causal", "t5_bias/bidirectional")},
    **{name: kerple(name) for name in ("kerple/log", "kerple/power")},
    "fire/causal": fire("fire/causal"),
    **{name: attenuated(name) for name in ("attenuated/raw_causal", "attenuated/raw_bidirectional")},
    **{name: attenuated(name) for name in ("attenuated/log_causal", "attenuated/log_bidirectional")},
}


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention(name: str) -> None:
    assert_attention(name, ATTENTIONS[name])


@pytest.mark.parametrize("name", ATTENTIONS)
def test_bias(name: str) -> None:
    known = tensor(VECTORS[name]["outputs"]["bias"])
    q_BHTC = tensor(VECTORS[name]["inputs"]["q"])
    context = Context.of(q_BHTC.shape[2], causal=VECTORS[name]["options"].get("causal", True))
    for some in (context, context.rows(torch.arange(context.length))):  # along diagonals, and looked up
        bias_BHQK = ATTENTIONS[name].bias(q_BHTC, q_BHTC, some)
        assert bias_BHQK is not None
        bias_BHQK = bias_BHQK.masked_fill(~context.allowed_BHQK, -torch.inf)
        assert_known(bias_BHQK.reshape(known.shape), VECTORS[name]["outputs"]["bias"])


def test_buckets() -> None:
    vector = VECTORS["t5_bias/buckets"]
    lags = -torch.tensor(vector["inputs"]["j_minus_i"])
    assert bucket(lags, causal=True, **vector["options"]).tolist() == vector["outputs"]["causal"]
    assert bucket(lags, causal=False, **vector["options"]).tolist() == vector["outputs"]["bidirectional"]


@pytest.mark.parametrize("name", ["urpe/t5_bias", "urpe/toeplitz"])
def test_what_another_encoding_finds_beneath(name: str) -> None:
    vector = VECTORS[name]
    free = Toeplitz(heads=2, length=5).double()
    free.table_OH.data = tensor(vector["inputs"]["table"])
    encoding = free if name == "urpe/toeplitz" else t5_bias(name)
    q, k = (tensor(vector["inputs"][each]) for each in "qk")
    ours = attention_rows(encoding, q, k, Context.of(5, causal=False), torch.arange(5))
    assert_known(ours, vector["outputs"]["attention_before"])


def test_shares_of_how_far_a_query_could_look() -> None:
    known = VECTORS["fire/causal"]["outputs"]["ratio"]
    slots = torch.arange(6)
    ours = fire("fire/causal").share(slots[:, None] - slots, slots[:, None], torch.float64)
    assert_known(ours.masked_fill(slots[:, None] < slots, -torch.inf), known)


def test_shares_up_to_and_beyond_a_threshold() -> None:
    vector = VECTORS["fire/ratio_512"]
    query, key = torch.tensor(vector["inputs"]["pairs"]).T
    encoding = Fire(heads=1).double()
    encoding.c.data = tensor([vector["options"]["c"]])
    assert_known(encoding.share(query - key, query, torch.float64), vector["outputs"]["ratio"])


def delta(length: int, *, w: float, s: float) -> Tensor:
    zeros = torch.zeros(1, 1, length, 4, dtype=torch.float64)
    return Attenuated(heads=1, w=w, s=s).bias(zeros, zeros, Context.of(length, causal=False))[0, 0]


def locality(delta_QK: Tensor) -> Tensor:
    slots = torch.arange(len(delta_QK))
    return (delta_QK * 0.5 ** (slots[:, None] - slots).abs()).sum(-1).mean()


@pytest.mark.parametrize(
    "name", ["attenuated/delta_w0.5_s1.0", "attenuated/delta_w0.1_s1.0", "attenuated/delta_w0.5_s0.25"]
)
def test_the_curve_alone(name: str) -> None:
    vector = VECTORS[name]
    delta_QK = delta(vector["inputs"]["n"], w=vector["options"]["w"], s=vector["options"]["s"])
    assert_known(delta_QK, vector["outputs"]["delta"])
    assert_known(locality(delta_QK), vector["outputs"]["locality"])


def test_how_local_the_curve_is() -> None:
    vector = VECTORS["attenuated/locality_n64"]
    for w, known in vector["outputs"]["locality"].items():
        assert_known(locality(delta(64, w=float(w), s=1.0)), known)


@pytest.mark.parametrize(
    ("known", "options"),
    [
        ("two_sided", {"inject": "raw"}),
        ("released", {"inject": "raw", "start": "released"}),
        ("log", {"inject": "log"}),
    ],
)
def test_what_a_table_starts_with(known: str, options: dict[str, str]) -> None:
    vector = VECTORS["attenuated/table_init"]
    encoding = Attenuated(heads=3, learn="table", w=0.5, length=512, **options).double()  # type: ignore[arg-type]
    encoding.reset_parameters(torch.Generator())  # once more, now that it is as exact as the known numbers
    assert isinstance(encoding.bell, TableBell)
    assert encoding.bell.table_HS.shape == (3, 512)
    for row in encoding.bell.table_HS:
        assert_known(row[vector["inputs"]["distance"]], vector["outputs"][known])


def test_sinusoids_on_a_grid() -> None:
    options, known = VECTORS["sinusoidal/grid"]["options"], VECTORS["sinusoidal/grid"]["outputs"]["table"]
    encoding = Sinusoidal(options["dim"], base=options["base"], grid=(options["rows"], options["cols"]))
    assert_known(encoding.table(torch.arange(16)[None], torch.float64)[0], known)
