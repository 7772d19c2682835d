"""Positions from nothing, in our own nets with weights set by hand: exact in float64, against plain loops."""

import math

import pytest
import torch
from torch import Tensor

from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.studies.nope.theory import (
    BOS,
    CONSTANT,
    PLACE,
    WIDTH,
    WORD,
    causal_attention,
    distance_attention,
    place_net,
    placed_stream,
    written_places,
)

LONGEST = 64


def words(length: int, first: int, seed: int = 0) -> Tensor:
    """Random words after a first token."""
    drawn_T = torch.randint(WORD, 8, (length - 1,), generator=torch.Generator().manual_seed(seed))
    return torch.cat([torch.tensor([first]), drawn_T])


@pytest.mark.parametrize("seed", [0, 1, 2])  # of the queries, which may be anything, and of the words
def test_theorem_1_one_head_writes_exactly_1_over_t(seed: int) -> None:
    written_T = written_places(place_net(seed=seed), words(LONGEST, BOS, seed))
    for t, value in enumerate(written_T.tolist(), start=1):
        assert math.isclose(value, 1 / t, rel_tol=1e-15), t


def test_theorem_1_holds_at_every_length_alike() -> None:
    net, ids_T = place_net(), words(LONGEST, BOS)
    whole_T = written_places(net, ids_T)
    for length in (1, 2, 7, 33):
        torch.testing.assert_close(written_places(net, ids_T[:length]), whole_T[:length], rtol=1e-15, atol=0)


def test_without_a_first_token_of_its_own_there_is_nothing_to_count_from() -> None:
    assert written_places(place_net(), words(LONGEST, WORD)).abs().max() == 0


def test_a_first_token_in_the_middle_counts_from_there() -> None:
    """Tokens before it see nothing; a token at place t sees one `<bos>` among t."""
    ids_T = words(10, WORD)
    ids_T[4] = BOS
    expected = [0.0] * 4 + [1 / t for t in range(5, 11)]
    assert written_places(place_net(), ids_T).tolist() == pytest.approx(expected, rel=1e-15)


def test_the_layer_norm_of_the_net_is_at_work() -> None:
    """The construction is for the net as it is: without equal norms of all tokens it would not hold."""
    net = place_net()
    with torch.no_grad():
        net.tokens.weight[WORD:, 3] *= 2
    written_T = written_places(net, words(8, BOS))
    assert not math.isclose(float(written_T[3]), 1 / 4, rel_tol=1e-3)


@pytest.mark.parametrize("seed", [0, 1])
def test_theorem_2_logits_minus_content_are_minus_the_distance(seed: int) -> None:
    attention, x_TD = distance_attention(seed=seed), placed_stream(LONGEST, seed=seed)
    logits_TT, _ = causal_attention(attention, x_TD)
    without_TD = x_TD.clone()
    without_TD[:, [CONSTANT, PLACE]] = 0  # what is left is content
    content_TT, _ = causal_attention(attention, without_TD)
    assert content_TT.abs().max() > 10
    for t in range(LONGEST):
        for other in range(LONGEST):
            assert float(logits_TT[t, other] - content_TT[t, other]) == -(t - other)


def test_theorem_2_the_table_is_the_same_along_every_diagonal() -> None:
    logits_TT, _ = causal_attention(distance_attention(), placed_stream(LONGEST, content=False))
    for offset in range(-LONGEST + 1, LONGEST):
        diagonal = logits_TT.diagonal(offset)
        assert diagonal.min() == diagonal.max() == offset


def test_theorem_2_makes_the_attention_of_alibi_with_slope_1() -> None:
    _, attention_TT = causal_attention(distance_attention(), placed_stream(LONGEST, content=False))
    for t in range(LONGEST):
        weights = [math.exp(-(t - other)) for other in range(t + 1)]
        expected = [weight / sum(weights) for weight in weights] + [0.0] * (LONGEST - 1 - t)
        assert attention_TT[t].tolist() == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_a_single_layer_cannot_prefer_a_distance(seed: int) -> None:
    """Whatever its weights, a logit depends on the two tokens alone: the same two have the same one at any distance."""
    net = build(NetConfig(vocabulary=8, width=WIDTH, layers=1, heads=2, encoding="none"), seed=seed).double()
    with torch.no_grad():
        net.tokens.weight.mul_(50)  # so that logits differ clearly
    ids_T = words(40, BOS, seed)
    block = net.blocks[0]
    logits_TT, _ = causal_attention(block.attention, block.attention_norm(net.tokens(ids_T)).detach())
    by_tokens: dict[tuple[int, int], list[float]] = {}
    for t in range(40):
        for other in range(t + 1):
            by_tokens.setdefault((int(ids_T[t]), int(ids_T[other])), []).append(float(logits_TT[t, other]))
    assert logits_TT.std() > 0.1 and max(len(values) for values in by_tokens.values()) > 10
    for values in by_tokens.values():
        assert max(values) - min(values) <= 1e-13 * max(map(abs, values))
