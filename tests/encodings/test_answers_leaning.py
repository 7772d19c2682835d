"""Known answers of the encoding whose heads keep their reach and lean to a side."""

import pytest
import torch

from wherewhat.encodings.attenuated import Attenuated
from wherewhat.encodings.base import Context
from wherewhat.encodings.leaning import Leaning
from wherewhat.errors import UserError
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig

H, T, C = 3, 7, 4


def bias(encoding: torch.nn.Module, *, causal: bool = False) -> torch.Tensor:
    zeros_BHTC = torch.zeros(1, H, T, C, dtype=torch.float64)
    found: torch.Tensor = encoding.double().bias(zeros_BHTC, zeros_BHTC, Context.of(T, causal=causal))  # type: ignore[operator]
    return found


def test_it_is_the_formula_pair_by_pair() -> None:
    leaning = Leaning(H, w=0.3)
    leaning.side_H.data.copy_(torch.tensor([0.7, -0.2, 0.0]))
    ours = bias(leaning)[0]
    for head, side in enumerate((0.7, -0.2, 0.0)):
        for i in range(T):
            for j in range(T):
                sign = (i > j) - (i < j)
                assert ours[head, i, j].item() == pytest.approx(-0.3 * (i - j) ** 2 + side * sign, abs=1e-7)


def test_without_a_side_it_is_attenuated() -> None:
    theirs = bias(Attenuated(H, w=0.3, inject="log")).expand(1, H, T, T)
    torch.testing.assert_close(bias(Leaning(H, w=0.3, start=0.0)), theirs)


def test_heads_lean_in_turns_and_keep_their_reach() -> None:
    leaning = bias(Leaning(H, w=0.3, start=0.5))[0]
    assert Leaning(H, start=0.5).side_H.tolist() == [0.5, -0.5, 0.5]
    even = bias(Leaning(H, w=0.3, start=0.0))[0]
    odds_HTT = (leaning - even).exp().log()  # by how much a side is preferred: the same at every distance
    assert torch.allclose(
        odds_HTT.tril(-1), torch.tensor([0.5, -0.5, 0.5]).double()[:, None, None].expand(H, T, T).tril(-1)
    )


@pytest.mark.parametrize("start", [0.0, 0.5])
def test_only_without_a_side_a_sentence_and_its_mirror_are_alike(start: float) -> None:
    config = NetConfig(
        vocabulary=9, width=12, layers=2, heads=3, kind="encoder", encoding="leaning",
        encoding_options={"w": 0.3, "start": start},
    )  # fmt: skip
    net = build(config).double().eval()
    said, mirrored = torch.tensor([[3, 1, 4]]), torch.tensor([[4, 1, 3]])
    apart = (net.hidden(said).mean(1) - net.hidden(mirrored).mean(1)).abs().max().item()
    assert (apart < 1e-12) == (start == 0.0), apart


def test_every_block_learns_its_own_sides() -> None:
    net = build(NetConfig(vocabulary=9, width=12, layers=2, heads=3, kind="encoder", encoding="leaning"))
    assert len(net.encodings) == 2
    net(torch.tensor([[3, 1, 4, 1, 5]])).square().sum().backward()
    assert all(bool(each.grad.all()) for each in net.encodings.parameters())


@pytest.mark.parametrize("options", [{"heads": 0}, {"heads": 2, "w": -1.0}, {"heads": 2, "start": float("inf")}])
def test_what_cannot_be_says_what_it_needs(options: dict[str, float]) -> None:
    with pytest.raises(UserError, match="leaning needs at least one head, a w of at least 0 and a finite start; got"):
        Leaning(**options)  # type: ignore[arg-type]


def test_side_weights_can_stay_as_they_start() -> None:
    options = {"learn": "none"}
    net = build(NetConfig(vocabulary=9, width=12, layers=1, heads=3, encoding="leaning", encoding_options=options))
    assert list(net.encodings.parameters()) == [] and net.encodings[0].side_H.tolist() == [1.0, -1.0, 1.0]
    with pytest.raises(UserError, match="unknown way to learn 'sides'; did you mean 'side'"):
        Leaning(2, learn="sides")
