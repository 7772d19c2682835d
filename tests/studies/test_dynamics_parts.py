"""The parts of the experiment on their own: bounds, purity, means, the lead of the best key, scales."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from dynamics_worlds import summarised

from wherewhat.errors import UserError
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk
from wherewhat.studies.dynamics.margins import index_margin_bound, margins, retrieval_margin_bound, theta_of
from wherewhat.studies.dynamics.settings import SCALES, DynamicsScale
from wherewhat.studies.dynamics.summary import kind_of, purity_rows
from wherewhat.studies.engine.results import Row
from wherewhat.studies.engine.study import of_run
from wherewhat.tables.manifest.decode import decode, encode

THEORY = json.loads((Path(__file__).parents[1] / "vectors" / "discrepancy.json").read_text())["I_theory"]


def test_bounds_of_the_publication() -> None:
    for length, values in THEORY["discrepancy_bounds"].items():
        assert index_margin_bound(0.8, int(length)) == pytest.approx(values["index_theta_0p8"], abs=1e-9)
        retrieval = retrieval_margin_bound(0.0027, int(length), 8)
        assert retrieval == pytest.approx(values["retrieval_theta_0p0027_8_letters"], abs=1e-9)


def test_angles_of_the_publication() -> None:
    for number, theta in THEORY["frequency_of_id_base10000_d128"].items():  # the paper counts from 1
        assert theta_of(int(number) - 1, width=128, base=10_000) == pytest.approx(theta, abs=1e-12)


@pytest.mark.parametrize("length", [2, 3, 9, 17, 60, 200])
def test_no_index_head_leads_by_more_than_its_bound(length: int) -> None:
    generator = np.random.default_rng(length)
    for theta in generator.uniform(1e-3, math.pi, 200):
        lead = min(1 - math.cos(theta * away) for away in range(1, length))  # keys alike but for their slot
        assert lead <= index_margin_bound(theta, length) + 1e-12
    assert min(1 - math.cos(1e-3 * away) for away in range(1, length)) == pytest.approx(
        index_margin_bound(1e-3, length)
    )


@pytest.mark.parametrize("letters", [4, 8, 26])
def test_a_retrieval_head_can_lead_by_its_bound_and_no_more(letters: int) -> None:
    omega = 2 * math.pi / letters
    for theta, length in [(0.001, 9), (0.0027, 17), (0.004, 50), (0.03, 3)]:
        others = [(k, away) for k in range(1, letters) for away in range(length + 1)]
        lead = min(1 - math.cos(omega * k - theta * away) for k, away in others)
        assert lead == pytest.approx(retrieval_margin_bound(theta, length, letters), abs=1e-12)
    assert retrieval_margin_bound(omega / 10, 10, letters) == 0
    assert retrieval_margin_bound(omega / 10, 1000, letters) == 0  # not up again where the formula would go


@pytest.mark.parametrize(
    ("where", "what", "rule", "gamma", "kind"),
    [
        (0.95, 0.05, "scores", 0.1, "positional"),
        (0.95, 0.05, "scores", 0.04, None),
        (0.95, 0.2, "scores", 0.1, None),
        (0.05, 0.95, "scores", 0.1, "symbolic"),
        (0.2, 0.95, "scores", 0.1, None),
        (1.0, 1.0, "scores", 0.1, None),  # flat
        (0.9, 0.1, "scores", 0.1, "positional"),  # just
        (0.95, 0.2, "shares", 0.1, "positional"),
        (0.2, 0.93, "shares", 0.1, "symbolic"),
        (0.2, 0.93, "shares", 0.05, None),
    ],
)
def test_what_is_pure(where: float, what: float, rule: str, gamma: float, kind: str | None) -> None:
    scores = {"positional": where, "symbolic": what, "position_share": where, "symbol_share": what}
    assert kind_of(scores, rule, gamma) == kind


def test_a_head_without_an_answer_is_not_pure() -> None:
    assert kind_of({}, "scores", 0.1) is None
    assert kind_of({"position_share": None, "symbol_share": None}, "shares", 0.1) is None


def head(name: str, where: float, what: float, *, seed: int = 0, step: float = 5) -> list[Row]:
    scores = {"positional": where, "symbolic": what, "position_share": where, "symbol_share": what}
    return [("heads", "number", name, step, seed, score, value, None, None) for score, value in scores.items()]


def test_pure_heads_are_counted_in_all_and_by_layer() -> None:
    rows = [*head("L0H0", 1.0, 0.0), *head("L1H0", 0.92, 0.08), *head("L10H0", 0.0, 1.0), *head("L3H0", 0.5, 0.5)]
    counts = {(item, measure): value for _, _, item, _, _, measure, value, _, _ in purity_rows(rows, (0.1, 0.05))}
    assert counts["all", "positional by scores at 0.1"] == 2
    assert counts["all", "positional by scores at 0.05"] == 1
    assert counts["all", "symbolic by shares at 0.05"] == 1
    assert [counts[layer, "positional by scores at 0.1"] for layer in ("L0", "L1", "L10", "L3")] == [1, 1, 0, 0]
    assert len(counts) == 5 * 8


def test_means_over_seeds_and_the_only_seed_s_own_interval() -> None:
    one: Row = ("accuracy", "number", "1 hop", 5.0, 0, "accuracy", 0.5, 0.4, 0.6)
    alone = summarised([one]).rows
    assert alone.rows()[1] == ("accuracy", "number", "1 hop", 5.0, None, "accuracy", 0.5, 0.4, 0.6)
    both = summarised([one, (*one[:4], 1, "accuracy", 1.0, None, None)]).rows
    assert both.height == 3
    value, low, high = both.rows()[2][6:]
    assert (value, low, high) == (0.75, 0.0, 1.0)  # two seeds say little, and a share stays between 0 and 1


def test_means_of_the_lead_do_not_ask_which_head_leads() -> None:
    rows: list[Row] = [("gap", "letter", f"L{k}H0", 9.0, k, "gap", 0.1 + 0.2 * k, None, None) for k in range(2)]
    mean = summarised(rows).where(seed=None)
    assert mean["item"].to_list() == [""] and mean["value"].to_list() == pytest.approx([0.2])


def a_net() -> tuple[Trunk, list[torch.Tensor]]:
    net = build(NetConfig(vocabulary=30, width=8, layers=2, heads=1, length=12), seed=3)
    generator = torch.Generator().manual_seed(4)
    return net, [torch.randint(0, 30, (length,), generator=generator) for length in (5, 12, 9, 12)]


def lead_by_hand(net: Trunk, ids: torch.Tensor, layer: int) -> float:
    """Angles between the last query and the keys before it, in float64, written out."""
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []
    attention = net.blocks[layer].attention
    attend = attention.attend  # type: ignore[union-attr]

    def watch(encoding: object, q: torch.Tensor, k: torch.Tensor, *rest: torch.Tensor) -> torch.Tensor:
        seen.append((q[0, 0].double(), k[0, 0].double()))
        return attend(encoding, q, k, *rest)  # type: ignore[operator, no-any-return]

    attention.attend = watch  # type: ignore[union-attr, assignment]
    try:
        net.hidden(ids[None])
    finally:
        attention.attend = attend  # type: ignore[union-attr, assignment]
    q, k = seen[0]
    width, last = q.shape[-1], len(ids) - 1
    cosines = []
    for slot in range(last):
        total = 0.0
        for m in range(width // 2):
            angle = (last - slot) * 10_000 ** (-2 * m / width)
            a = complex(q[last, m], q[last, m + width // 2]) * complex(math.cos(angle), math.sin(angle))
            b = complex(k[slot, m], k[slot, m + width // 2])
            total += (a.conjugate() * b).real
        cosines.append(total / float(q[last].norm() * k[slot].norm()))
    first, second = sorted(cosines, reverse=True)[:2]
    return first - second


@pytest.mark.parametrize("layer", [0, 1])
@torch.no_grad()
def test_the_lead_is_the_difference_of_the_two_largest_cosines(layer: int) -> None:
    net, texts = a_net()
    by_hand = [lead_by_hand(net, ids, layer) for ids in texts]
    assert margins(net, texts, layer=layer) == pytest.approx(by_hand, abs=1e-5)
    assert all(lead > 0 for lead in by_hand)


@torch.no_grad()
def test_longer_queries_and_keys_do_not_change_the_lead() -> None:
    net, texts = a_net()
    before = margins(net, texts, layer=0)
    net.blocks[0].attention.qkv.weight[:16] *= 7  # type: ignore[union-attr, index]  # queries and keys of layer 0
    assert margins(net, texts, layer=0) == pytest.approx(before, abs=1e-5)


def test_a_net_that_does_not_turn_has_no_such_lead() -> None:
    net = build(NetConfig(vocabulary=30, width=8, layers=1, heads=1, encoding="none"))
    with pytest.raises(
        UserError, match="the theory of margins covers rotary heads only, and this net has none; train with encoding"
    ):
        margins(net, [torch.arange(5)], layer=0)


def test_every_scale_is_whole() -> None:
    for scale in SCALES.values():
        for each in (scale, of_run(scale)):  # of the study and of one run, as they come back from JSON
            assert decode(DynamicsScale, json.loads(json.dumps(encode(each)))) == each
        for name in ("number", "letter"):
            settings, lengths = scale.training(name, seed=2), scale.lengths_of(name)
            assert settings.net.heads == 1 and settings.net.layers == scale.layers and settings.seed == 2
            assert settings.net.encoding == "rope" and settings.net.encoding_options == {"base": 10_000.0}
            assert (settings.steps, settings.batch, settings.warmup) == (scale.steps, scale.batch, scale.warmup)
            assert (settings.learning_rate, settings.betas) == (scale.learning_rate, scale.betas)
            assert settings.weight_decay == scale.weight_decay
            assert (settings.evaluate_every, settings.evaluate_samples) == (scale.every, scale.answers)
            assert scale.steps % scale.every == 0
            assert list(lengths) == sorted(set(lengths))
            assert scale.task(name, lengths[-1]).length == lengths[-1]
            assert len(scale.sequences(name, lengths[1])[0]) == lengths[1]


def test_the_number_of_seeds_is_no_matter_of_a_run() -> None:
    tiny = SCALES["tiny"]
    assert of_run(replace(tiny, seeds=9, gamma=(0.2,))) == of_run(tiny) != of_run(replace(tiny, steps=9))


def test_the_paper_s_own_settings() -> None:
    paper = SCALES["paper"]
    assert paper.steps * paper.batch == 432_000
    assert (paper.layers, paper.width, paper.learning_rate, paper.warmup) == (12, 128, 1e-4, 750)
    assert (paper.betas, paper.weight_decay) == ((0.95, 0.999), 1e-4)
    assert paper.number.length == paper.letter.length == 17
    assert (paper.number.vocabulary, paper.letter.vocabulary) == (137, 129)
