"""One score of a token and its position, by hand: what is added up before a size is taken, and what is not."""

import pytest
import torch
from torch import Tensor

from wherewhat.attribution.relevance import Relevance
from wherewhat.attribution.result import AGGREGATES, Attribution, ExplainedOutput
from wherewhat.attribution.sources import PositionSource

TOKEN = [1.0, -2.0, 0.5]
SOURCES = (  # name, layer, and relevance by slot; queries and keys have cosines and sines of their own
    ("cos", 0, [1.0, -1.0, 0.0]),
    ("sin", 0, [-3.0, 0.0, 0.5]),
    ("cos", 0, [-2.0, 0.5, 0.0]),
    ("sin", 0, [1.0, 0.0, 0.5]),
    ("cos", 1, [0.5, 0.25, -4.0]),
    ("sin", 1, [0.0, 0.25, 0.0]),
)


def source(name: str, layer: int, relevance_T: list[float]) -> PositionSource:
    """A leaf of ones whose gradient is its relevance."""
    leaf = torch.ones(len(relevance_T), 1, dtype=torch.float64, requires_grad=True)
    leaf.grad = torch.tensor(relevance_T, dtype=torch.float64)[:, None]
    return PositionSource(name, layer, leaf)


def scores(aggregate: str, method: str = "pa-lrp") -> Tensor:
    token_TD = torch.tensor(TOKEN, dtype=torch.float64)[:, None]
    relevance = Relevance(method, torch.zeros(2), 0, token_TD, tuple(source(*each) for each in SOURCES))
    output = ExplainedOutput("next", "a", 0, 2, 0.0, 0.5)
    return Attribution(("x", "y", "z"), (0, 1, 2), output, relevance, aggregate).scores_T


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        ("signed", [-1.5, -2.0, -2.5]),
        ("position", [-2.5, 0.0, -3.0]),
        ("positive", [1.5, -1.5, 1.5]),  # layer 0 has -3, -0.5, 1 and layer 1 has 0.5, 0.5, -4
        ("absolute", [4.5 / 5.5, -1.0 / 5.5, 1.0]),  # queries and keys together, cosines and sines apart
    ],
)
def test_a_score_is_made_of_a_token_and_its_position(aggregate: str, expected: list[float]):
    assert scores(aggregate).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_a_method_without_positions_scores_tokens_alone(aggregate: str):
    assert scores(aggregate, "attnlrp").tolist() == TOKEN
