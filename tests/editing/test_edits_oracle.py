"""Edited logits against those of a layer worked out pair by pair, head by head, from explicit cosines and sines."""

from collections.abc import Callable

import pytest
import torch
from precision import rounding
from torch import Tensor
from turning_models import HEADS, SCALE, TURNING, Overheard, Turning, first_logits, overheard

from wherewhat.editing.edit import edit

IDS = torch.arange(5, 16)
Part = Callable[[complex, complex, complex, complex], float]  # of a query and a key, and of the turns of both


def turned(q: complex, k: complex, at_query: complex, at_key: complex) -> float:
    return ((q * at_query).conjugate() * k * at_key).real


def unturned(q: complex, k: complex, at_query: complex, at_key: complex) -> float:
    return (q.conjugate() * k).real


def expected(heard: Overheard, pairs: list[tuple[int, int]], new: dict[int, Part], heads: range) -> Tensor:
    """The plain logits, with what some pairs add to them exchanged for something else."""
    logits_HQK = heard.logits_HQK.clone()
    each = len(heard.q_HTC) // len(heard.k_GTC)
    for head in heads:
        q_TC, k_TC = heard.q_HTC[head].tolist(), heard.k_GTC[head // each].tolist()
        for pair, part in new.items():
            first, second = pairs[pair]
            turn_T = torch.complex(heard.cos_TF[:, pair].double(), heard.sin_TF[:, pair].double()).tolist()
            for i, q_C in enumerate(q_TC):
                for j, k_C in enumerate(k_TC):
                    given = complex(q_C[first], q_C[second]), complex(k_C[first], k_C[second]), turn_T[i], turn_T[j]
                    logits_HQK[head, i, j] += SCALE * (part(*given) - turned(*given))
    return logits_HQK


def apart(ours_HQK: Tensor, theirs_HQK: Tensor) -> float:
    """How far two tables of logits are apart where no mask is closed, in parts of the largest of them."""
    open_HQK = theirs_HQK > -1e4
    return float((ours_HQK - theirs_HQK)[open_HQK].abs().max() / theirs_HQK[open_HQK].abs().max())


@pytest.mark.parametrize("heads", [range(HEADS), range(1, 2)], ids=["all heads", "one head"])
@pytest.mark.parametrize("turning", TURNING, ids=str)
def test_dropped_unrotated_and_scaled_pairs_are_what_loops_over_them_give(turning: Turning, heads: range):
    model = turning.build()
    heard = overheard(model, turning, IDS)
    count = heard.cos_TF.shape[1]
    pairs, last = turning.pairs(count), count - 1
    where = {"heads": [f"L0H{head}" for head in heads]} if len(heads) < HEADS else {}
    assert heard.q_HTC.shape[0] == HEADS
    cases: list[tuple[dict[str, str], dict[int, Part]]] = [
        ({"drop": "index:0"}, {0: lambda *given: 0.0}),
        ({"scale": f"index:{last}=2.5"}, {last: lambda *given: 2.5 * turned(*given)}),
        ({"unrotate": "index:0", "scale": "all=3..0.5"}, _unrotated_and_scaled(count)),
        ({"unrotate": f"index:{last}"}, {last: unturned}),
    ]
    for wanted, new in cases:
        with edit(model, **wanted, **where):  # type: ignore[arg-type]
            ours = first_logits(model, IDS)
        assert apart(ours, expected(heard, pairs, new, heads)) < rounding(turning.precision), wanted
        assert apart(ours, heard.logits_HQK) > 1e-2 or wanted == {"unrotate": f"index:{last}"}, "it has to show"
    assert torch.equal(first_logits(model, IDS), heard.logits_HQK)


def _unrotated_and_scaled(count: int) -> dict[int, Part]:
    """From 3 for the fastest pair to 0.5 for the slowest, the fastest unrotated besides."""
    gains = [3 + (0.5 - 3) * rank / max(count - 1, 1) for rank in range(count)]

    def part(pair: int) -> Part:
        return lambda *given: gains[pair] * (unturned if pair == 0 else turned)(*given)

    return {pair: part(pair) for pair in range(count)}
