"""The worked numbers of the encodings that are added to tokens, and of alibi."""

import pytest
import torch
from vectors import VECTORS, assert_attention, assert_known, tensor

from wherewhat.encodings.alibi import Alibi, slopes
from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.learned import Learned
from wherewhat.encodings.none import NoPosition
from wherewhat.encodings.sinusoidal import Sinusoidal

ATTENTIONS: dict[str, Encoding] = {
    "none/causal": NoPosition(),
    "none/bidirectional": NoPosition(),
    "alibi/causal": Alibi(heads=2),
    "alibi/symmetric": Alibi(heads=2),
}


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention(name: str) -> None:
    assert_attention(name, ATTENTIONS[name])


@pytest.mark.parametrize("name", [name for name in ATTENTIONS if name.startswith("alibi/")])
def test_bias(name: str) -> None:
    vector = VECTORS[name]
    q = tensor(vector["inputs"]["q"])
    context = Context.of(q.shape[2], causal=vector["options"]["causal"])
    known = tensor(vector["outputs"]["bias"])
    bias_BHQK = Alibi(heads=2).bias(q, q, context).masked_fill(known.isinf(), -torch.inf)
    assert_known(bias_BHQK.reshape(known.shape), vector["outputs"]["bias"])


def test_slopes() -> None:
    known = VECTORS["alibi/slopes"]["outputs"]["slopes"]
    for heads in VECTORS["alibi/slopes"]["inputs"]["heads"]:
        assert slopes(heads) == pytest.approx(known[str(heads)], abs=1e-9)


@pytest.mark.parametrize("layout", ["interleaved", "concat"])
def test_sinusoids(layout: str) -> None:
    vector = VECTORS[f"sinusoidal/{layout}"]
    positions_BT = torch.tensor([vector["inputs"]["positions"]])
    assert_known(Sinusoidal(8, layout=layout).table(positions_BT, torch.float64)[0], vector["outputs"]["table"])


def test_sinusoids_on_tokens() -> None:
    vector = VECTORS["sinusoidal/on_tokens"]
    encoding = Sinusoidal(8, token_scale=vector["options"]["token_scale"])
    x_BTD, positions_BT = tensor(vector["inputs"]["x"]), torch.tensor([vector["inputs"]["positions"]])
    assert_known(encoding.on_tokens(x_BTD, positions_BT, 0), vector["outputs"]["x"])


@pytest.mark.parametrize(("place", "known"), [("input", "input_only"), ("block", "every_block")])
def test_learned_once_and_in_every_block(place: str, known: str) -> None:
    vector = VECTORS["learned/once_and_block"]
    encodings = [Learned(3, length=4, place=place).double() for _ in range(2)]
    for block, encoding in enumerate(encodings):
        encoding.table_SD.data = tensor(vector["inputs"][f"table_block{block}"])
    x_BTD, positions_BT = tensor(vector["inputs"]["x"]), torch.tensor([vector["inputs"]["positions"]])
    for block in range(2):  # two blocks that do nothing themselves
        asked = encodings[0] if encodings[0].shared else encodings[block]
        x_BTD = asked.on_tokens(x_BTD, positions_BT, block)
    assert_known(x_BTD.detach(), vector["outputs"][known])
