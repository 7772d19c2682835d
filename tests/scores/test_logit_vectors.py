"""Positional and symbolic heads worked out once, independently; every number again from queries and keys."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from score_rows import allowed, answer, with_logits
from torch import Tensor

from wherewhat.logits.additive import AdditiveLogits
from wherewhat.logits.base import Logits
from wherewhat.logits.disentangled import DisentangledLogits
from wherewhat.logits.rotary import RotaryLogits
from wherewhat.scores.base import Rows
from wherewhat.scores.frequencies import frequencies
from wherewhat.scores.registry import ROW_SCORES as SCORES
from wherewhat.scores.registry import published_scores

KNOWN = json.loads((Path(__file__).resolve().parents[1] / "vectors" / "positional_symbolic.json").read_text())
NEAR = {"rel": 1e-9, "abs": 1e-9}
TAUS = (1e-4, 1e-2, 0.1, 1.0, math.inf)


def real(numbers: Sequence) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def paired(vectors: Sequence, layout: str = "interleaved") -> Tensor:
    """Channels as complex pairs: neighbours, or the first half with the second."""
    x = real(vectors)
    first, second = (x[..., 0::2], x[..., 1::2]) if layout == "interleaved" else x.chunk(2, -1)
    return torch.complex(first, second)


def rotary(inputs: dict, layout: str = "interleaved", strength: float = 1.0) -> RotaryLogits:
    query = inputs.get("query_slot", len(inputs["keys"]))
    theta_F = real(inputs["theta"])
    keys = [*inputs["keys"], inputs.get("self_key", [0, 0])]
    return RotaryLogits(
        query_HQF=paired(inputs["q"], layout)[None, None] * strength,
        key_GKF=paired(keys, layout)[None],
        phase_KF=torch.polar(
            torch.ones(query + 1, len(theta_F), dtype=torch.float64), real(range(query + 1))[:, None] * theta_F
        ),
        theta_F=theta_F,
        queries_Q=torch.tensor([query]),
        scale=inputs["scale"],
    )


def additive(content: Sequence[float], slot: Sequence[float]) -> AdditiveLogits:
    return AdditiveLogits(
        torch.ones(1, 1, 1, dtype=torch.float64), real(content)[None, :, None], 1.0, real(slot)[None, None]
    )


def alibi(inputs: dict) -> AdditiveLogits:
    query = inputs["query_slot"]
    slots = [-inputs["slope"] * (query - slot) for slot in range(query + 1)]
    return additive([*inputs["content_logits"], inputs["self_logit"]], slots)


def xlnet(inputs: dict) -> AdditiveLogits:
    q, u, v = real(inputs["q"]), real(inputs["u"]), real(inputs["v"])
    slot_K = inputs["scale"] * real([*inputs["projected_relative_vector_by_slot"], [0, 0]]) @ (q + v)
    return AdditiveLogits(
        (q + u)[None, None], real([*inputs["keys"], [0, 0]])[None], inputs["scale"], slot_K[None, None]
    )


def deberta(inputs: dict) -> DisentangledLogits:
    q, scale = real(inputs["q"]), inputs["scale"]
    return DisentangledLogits(
        query_HQC=q[None, None],
        key_GKC=real([*inputs["keys"], [0, 0]])[None],
        scale=scale,
        slot_HQK=scale * (real([*inputs["rel_key_by_slot"], [0, 0]]) @ q)[None, None],
        position_query_HRC=scale * real([*inputs["rel_query_by_slot"], [0, 0]])[None],
        index_QK=torch.arange(4)[None],
    )


HEADS = {
    "A_one_frequency": rotary,
    "B_two_frequencies": rotary,
    "C_positional": rotary,
    "C_symbolic": rotary,
    "C_flat": rotary,
    "D_alibi": alibi,
    "D_t5_bias": lambda inputs: additive(
        [*inputs["content_logits"], inputs["self_logit"]], [*inputs["bias_by_slot"], 0]
    ),
    "E_xlnet": xlnet,
    "E_deberta": deberta,
    "F_blocks": rotary,
}


def last_row(logits: Logits, **others) -> Rows:
    """The one row there is, its query last; every slot before it can be swapped."""
    query = torch.tensor([logits.actual_HQK.shape[-1] - 1])
    return with_logits(logits, query, allowed("causal", query, int(query) + 1), first=0, taus=TAUS, **others)


def head(name: str) -> Rows:
    return last_row(HEADS[name](KNOWN[name]["inputs"]))


@pytest.mark.parametrize("name", HEADS)
def test_the_table_and_the_attention(name: str):
    rows, known = head(name), KNOWN[name]
    slots = torch.arange(rows.tokens_BK.shape[1] - 1)
    ours = rows.logits.table(0, slots, slots)[0].numpy()
    assert ours == pytest.approx(np.array(known["table_content_by_slot"]), **NEAR)
    if "weights" in known:
        assert rows.attention_HQK[0, 0].tolist() == pytest.approx(known["weights"], **NEAR)


@pytest.mark.parametrize("name", [name for name in HEADS if name != "F_blocks"])
def test_the_published_scores(name: str):
    rows = head(name)
    for tau, known in KNOWN[name]["scores"].items():
        ours = [answer(score, rows).item() for score in published_scores(float(tau))]
        assert ours == pytest.approx([known["s_pos"], known["s_sym"]], **NEAR)


@pytest.mark.parametrize("name", [name for name in HEADS if name != "F_blocks"])
def test_the_exclusion_terms(name: str):
    rows, known = head(name), KNOWN[name]["exclusion"]
    for score, field in {
        "exclusion_positional": "P",
        "exclusion_symbolic": "S",
        "logit_variance": "var",
        "exclusion_ratio": "balance",
    }.items():
        theirs = math.nan if known[field] is None else known[field]
        assert answer(SCORES[score], rows).item() == pytest.approx(theirs, **NEAR, nan_ok=True)


@pytest.mark.parametrize("name", [name for name in HEADS if name != "F_blocks"])
def test_the_shares(name: str):
    rows, known = head(name), KNOWN[name]["anova"]
    for kind in ("position", "symbol", "interaction"):
        variance_HQ = getattr(rows.exact.parts, f"{kind}_HQ")
        assert variance_HQ.item() == pytest.approx(known[f"var_{kind}"], **NEAR)
        theirs = math.nan if known["flat"] else known["shares"][kind]
        assert answer(SCORES[f"{kind}_share"], rows).item() == pytest.approx(theirs, **NEAR, nan_ok=True)
    assert rows.exact.flat_HQ.item() == known["flat"]


def test_both_layouts_of_pairs_are_the_same_head():
    known = KNOWN["B_two_frequencies"]
    split = last_row(rotary({**known["inputs"], **known["half_split_inputs"]}, "half"))
    torch.testing.assert_close(split.logits.actual_HQK, head("B_two_frequencies").logits.actual_HQK)
    assert answer(SCORES["position_share"], split).item() == pytest.approx(known["anova"]["shares"]["position"], **NEAR)


@pytest.mark.parametrize("strength", KNOWN["B_two_frequencies"]["temperature"])
def test_scaling_the_logits_changes_the_published_scores_and_no_share(strength: str):
    known = KNOWN["B_two_frequencies"]["temperature"][strength]
    rows = last_row(rotary(KNOWN["B_two_frequencies"]["inputs"], strength=float(strength)))
    for tau, field in ((1e-4, "s_tau_1e_4"), (math.inf, "s_tau_inf")):
        assert [answer(score, rows).item() for score in published_scores(tau)] == pytest.approx(known[field], **NEAR)
    shares = [answer(SCORES[f"{kind}_share"], rows).item() for kind in ("position", "symbol", "interaction")]
    assert shares == pytest.approx(known["shares"], **NEAR)


@pytest.mark.parametrize("plane", [0, 1])
def test_frequencies(plane: int):
    rows = head("B_two_frequencies")
    known = KNOWN["B_two_frequencies"]["per_frequency"][plane]
    ours = {measure: value_HF[0, plane].item() for measure, value_HF in frequencies(rows).values().items()}
    assert frequencies(rows).theta_F[plane].item() == known["theta"]
    fields = {"query_norm": "q_norm", "key_norm": "mean_key_norm", "logit": "mean_abs_logit", "peak": "max_logit"}
    for measure, field in fields.items():
        assert ours[measure] == pytest.approx(known[field], **NEAR)
    total = KNOWN["B_two_frequencies"]["anova"]["var_total"]
    for kind, part in known["contribution"].items():
        assert ours[f"{kind}_part"] == pytest.approx(part / total, **NEAR)
    for tau, scores in known["scores"].items():
        at = frequencies(replace(rows, taus=(float(tau),))).values()
        assert at["positional"][0, plane].item() == pytest.approx(scores["s_pos"], **NEAR)
        assert at["symbolic"][0, plane].item() == pytest.approx(scores["s_sym"], **NEAR)


def test_the_mean_frequency():
    peaks = [known["max_logit"] for known in KNOWN["B_two_frequencies"]["per_frequency"]]
    ours = answer(SCORES["mean_frequency"], head("B_two_frequencies")).item()
    assert ours == pytest.approx(peaks[1] / sum(peaks), **NEAR)


def test_blocks():
    known = KNOWN["F_blocks"]
    rows = last_row(rotary(known["inputs"]), blocks=[torch.tensor(known["inputs"]["intervals"])])
    for index, tau in enumerate(TAUS):
        theirs = known["scores"][str(tau)]
        assert rows.block_swaps.positional_THQ[index].item() == pytest.approx(theirs["s_pos"], **NEAR)
        assert rows.block_swaps.symbolic_THQ[index].item() == pytest.approx(theirs["s_sym"], **NEAR)
    assert answer(SCORES["block.positional"], rows).item() == pytest.approx(known["scores"]["0.0001"]["s_pos"], **NEAR)
    assert answer(SCORES["block.symbolic"], rows).item() == pytest.approx(known["scores"]["0.0001"]["s_sym"], **NEAR)


def stream() -> Rows:
    t, c = real(range(6))[:, None], real(range(4))
    theta_F = real([1, 0.01])
    phase_KF = torch.polar(torch.ones(6, 2, dtype=torch.float64), t * theta_F)
    query, key = torch.sin(0.7 * t + 1.3 * c + 0.2), torch.cos(1.1 * t - 0.4 * c)
    slots = torch.arange(6)
    logits = RotaryLogits(paired(query.tolist())[None], paired(key.tolist())[None], phase_KF, theta_F, slots, 0.5)
    return with_logits(logits, slots, allowed("causal", slots, 6), first=0)


def test_all_queries_of_a_text():
    rows, known = stream(), KNOWN["G_causal_stream"]
    for at in known["queries"]:
        ours = {
            field: getattr(rows.exact, f"{name}_HQ")[0, at["i"]].item()
            for field, name in (("P", "positional"), ("S", "symbolic"), ("var", "variance"))
        }
        ours |= {
            f"var_{k}": getattr(rows.exact.parts, f"{k}_HQ")[0, at["i"]].item()
            for k in ("position", "symbol", "interaction")
        }
        assert ours == pytest.approx({field: at[field] for field in ours}, **NEAR)
    shares = [answer(SCORES[f"{kind}_share"], rows).item() for kind in ("position", "symbol", "interaction")]
    assert shares == pytest.approx(known["pooled_shares"], **NEAR)
    assert SCORES["position_share"].rows(rows)[1][0].gt(0).tolist() == [False, False, True, True, True, True]


def test_what_stands_first_stays_put_and_takes_its_row_with_it():
    rows = replace(stream(), first=1)
    assert SCORES["position_share"].rows(rows)[1][0].gt(0).tolist() == [False, False, False, True, True, True]
