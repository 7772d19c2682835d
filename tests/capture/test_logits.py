"""What capture says of a head's logits, against the family's own layer run again with two contents exchanged."""

from typing import Any

import pytest
import torch
from families import FAMILIES, Family
from precision import rounding
from reading import padded_batch
from swapping import worst_of_swaps

from wherewhat.capture.capture import capture
from wherewhat.capture.decompose.rotation import find_pairs, thetas
from wherewhat.capture.hooks.reader import AttentionRows
from wherewhat.capture.hooks.rotation_calls import RotationCall, _start
from wherewhat.capture.tokens.batch import Batch
from wherewhat.logits.rotary import RotaryLogits
from wherewhat.nets.attention import attention_rows
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig

# Whatever the model's type, these turn queries and keys in float32, or put them through norms that compute in it.
PRECISION = dict.fromkeys(("esm", "modernbert", "gemma3", "qwen3", "olmo2"), torch.float32)

LONGER = {"rope_theta": 100.0, "original_max_position_embeddings": 8}
SCALINGS: dict[str, dict[str, Any]] = {
    "linear": {"rope_type": "linear", "rope_theta": 100.0, "factor": 3.0},
    "dynamic": {"rope_type": "dynamic", "rope_theta": 100.0, "factor": 3.0},
    "yarn": {"rope_type": "yarn", "factor": 4.0, **LONGER},
    "longrope": {
        "rope_type": "longrope", "factor": 4.0, "short_factor": [1.0] * 4, "long_factor": [1.5, 2.0, 3.0, 4.0],
        **LONGER,
    },
    "llama3": {
        "rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, **LONGER,
    },
}  # fmt: skip
INTERFACE = [family for family in FAMILIES if family.route == "interface"]


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("family", INTERFACE, ids=lambda family: family.name)
def test_the_table_is_what_the_layer_does_when_contents_change_places(family: Family, side: str):
    model = eager(family.build())
    worst = worst_of_swaps(model, padded_batch(model, side=side))
    assert len(worst) == sum(family.parts.values())
    assert max(worst.values()) < rounding(PRECISION.get(family.name, torch.float64))


@pytest.mark.parametrize("scaling", SCALINGS)
def test_scaled_rotations_are_read_with_their_factors_and_their_angles(scaling: str):
    llama = next(family for family in FAMILIES if family.name == "llama")
    longest = 8 if scaling == "dynamic" else 16  # the texts have 12 tokens; what is dynamic sets in beyond the longest
    model = eager(llama.build(rope_parameters=SCALINGS[scaling], max_position_embeddings=longest))
    batch = padded_batch(model)
    assert max(worst_of_swaps(model, batch).values()) < rounding(torch.float64)
    plain = llama.build(rope_parameters={"rope_type": "default", "rope_theta": 100.0})
    ours, theirs = logits_of(model, batch), logits_of(plain.double(), batch)
    assert not torch.allclose(ours.phase_KF, theirs.phase_KF, atol=1e-2), "the scaling has to show"


def test_the_fused_way_and_the_eager_way_say_the_same():
    batch = padded_batch(FAMILIES[0].build())
    fused, plain = logits_of(FAMILIES[0].build().double(), batch), logits_of(eager(FAMILIES[0].build()), batch)
    torch.testing.assert_close(fused.actual_HQK, plain.actual_HQK)
    torch.testing.assert_close(fused.key_GKF, plain.key_GKF)


def test_angles_are_those_of_the_rotation():
    logits = logits_of(FAMILIES[0].build(), padded_batch(FAMILIES[0].build()))
    theirs = 10_000.0 ** (-torch.arange(0, 8, 2, dtype=torch.float64) / 8)
    torch.testing.assert_close(logits.theta_F, theirs, rtol=1e-4, atol=0)


def test_channels_that_do_not_turn_are_pairs_with_angle_0():
    phi = next(family for family in FAMILIES if family.name == "phi")
    logits = logits_of(phi.build(), padded_batch(phi.build()))
    assert (logits.theta_F == 0).tolist() == [False, False, True, True]


def test_layers_without_rotation_and_learned_positions_leave_slots_no_say():
    for name, sites in (("smollm3", [False, True]), ("gpt2", [True, True]), ("bert", [True, True])):
        model = next(family for family in FAMILIES if family.name == name).build()
        first = {rows.site: rows for rows in all_seen(model, padded_batch(model))}
        assert [rows.logits.position_free for rows in first.values()] == sites  # type: ignore[union-attr]


def test_half_precision_is_read_in_float32():
    model = FAMILIES[0].build().bfloat16()
    logits = logits_of(model, padded_batch(model))
    assert logits.key_GKF.dtype == torch.complex64


def test_logits_that_do_not_give_the_attention_are_not_handed_on(monkeypatch: pytest.MonkeyPatch):
    from transformers.models.llama import modeling_llama

    plain = modeling_llama.eager_attention_forward

    def hotter(module: Any, query: torch.Tensor, *rest: Any, **more: Any) -> Any:
        return plain(module, query * (2 if module.layer_idx else 1), *rest, **more)

    monkeypatch.setattr(modeling_llama, "eager_attention_forward", hotter)
    model = FAMILIES[0].build()
    pieces: list[AttentionRows] = []
    with capture(model, pieces.append) as captured:
        captured.read(padded_batch(model))
    assert {(rows.site.ordinal, rows.logits is None) for rows in pieces} == {(0, False), (1, True)}
    assert [(site.ordinal, why[:10]) for site, why in captured.undecomposed.items()] == [(1, "its logits")]


def test_logits_are_checked_again_when_rows_see_more_keys(monkeypatch: pytest.MonkeyPatch):
    from transformers.models.llama import modeling_llama

    plain = modeling_llama.eager_attention_forward

    def far(module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any, **more: Any) -> Any:
        bias = torch.zeros(key.shape[2])
        bias[:2] = 3.0 * (key.shape[2] > 5)  # unseen in short texts
        return plain(module, query, key, value, mask + bias, **more)

    monkeypatch.setattr(modeling_llama, "eager_attention_forward", far)
    pieces: list[AttentionRows] = []
    model = FAMILIES[0].build()
    with capture(model, pieces.append) as captured:
        for length in (3, 12):
            ids_BT = torch.randint(3, 90, (1, length))
            captured.read(Batch((0,), ids_BT, ids_BT > 0, (torch.arange(length),)))
    assert len(captured.undecomposed) == 2
    assert all(rows.logits is None for rows in pieces if len(rows.tokens_K) == 12)


def test_a_norm_with_weights_after_the_rotation_is_not_taken_for_the_rotation():
    turned_BHTC = torch.randn(1, 2, 5, 8, generator=torch.Generator().manual_seed(0))
    weight_C = 1 + 0.01 * torch.randn(8, generator=torch.Generator().manual_seed(1))
    call = RotationCall(lambda x: x, (turned_BHTC,), {}, turned_BHTC)
    assert _start(call, turned_BHTC * 2, across=True) == 0, "a factor changes no direction"
    assert _start(call, turned_BHTC * weight_C, across=True) is None
    assert _start(call, torch.cat((turned_BHTC[..., :3], turned_BHTC), -1), across=True) == 3


def test_rotation_functions_are_put_back():
    from transformers.models.llama import modeling_llama

    before = modeling_llama.apply_rotary_pos_emb
    model = FAMILIES[0].build()
    with capture(model, lambda rows: None):
        assert modeling_llama.apply_rotary_pos_emb is not before
        with capture(FAMILIES[0].build(), lambda rows: None):
            pass
        assert modeling_llama.apply_rotary_pos_emb is not before
    assert modeling_llama.apply_rotary_pos_emb is before


def test_what_is_no_turn_is_told_from_one():
    stretch = torch.tensor([1.0, 2.0, 1.0, 1.0])
    like = torch.zeros(1)
    assert find_pairs(lambda x: x.flip(-1) * 0.5 + x, channels=4, slots=3, like=like) is None
    assert find_pairs(lambda x: x * stretch, channels=4, slots=3, like=like) is None
    assert find_pairs(lambda x: x.cumsum(-1), channels=4, slots=3, like=like) is None


def test_slow_angles_are_read_over_long_stretches():
    theta_F = torch.tensor([1.0, 1e-3, 1e-6, -0.2], dtype=torch.float64)
    phase_TF = torch.polar(torch.ones(1024, 4, dtype=torch.float64), torch.arange(1024)[:, None] * theta_F)
    torch.testing.assert_close(thetas(phase_TF.to(torch.complex64)), theta_F, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("encoding", ["none", "sinusoidal", "learned", "rope", "alibi"])
@pytest.mark.parametrize("causal", [True, False])
def test_the_table_of_our_own_nets_is_what_their_attention_does(encoding: str, causal: bool):
    net = own_net(encoding, causal=causal).double()
    kept: list[tuple[Any, ...]] = []
    inside = net.blocks[1].attention
    plain = inside.attend
    inside.attend = lambda *given: (kept.append(given), plain(*given))[1]
    ids_BT = torch.arange(10)[None] % 7
    batch = Batch((0,), ids_BT, torch.ones_like(ids_BT, dtype=torch.bool), (torch.arange(10),))
    rows = next(rows for rows in all_seen(net, batch) if rows.site.ordinal == 1)
    how, q_BHTC, k_BHTC, _, context = kept[0]
    order = torch.tensor([0, 5, 2, 3, 4, 1, 6, 7, 8, 9])
    after_HQK = attention_rows(how, q_BHTC, k_BHTC[:, :, order], context, torch.arange(10))[0].log()
    expected_HQK = rows.logits.actual_HQK.clone()  # type: ignore[union-attr]
    two = torch.tensor([1, 5])
    for query in range(6, 10):
        table_HKS = rows.logits.table(query, two, two)  # type: ignore[union-attr]
        expected_HQK[:, query, 1], expected_HQK[:, query, 5] = table_HKS[:, 1, 0], table_HKS[:, 0, 1]
        seen_K = rows.allowed_QK[query]
        ours, theirs = expected_HQK[:, query][:, seen_K].log_softmax(-1), after_HQK[:, query][:, seen_K]
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-9)
    assert rows.logits.position_free == (encoding in ("none", "sinusoidal", "learned"))  # type: ignore[union-attr]


def own_net(encoding: str, *, causal: bool) -> Any:
    kind = "decoder" if causal else "encoder"
    return build(NetConfig(vocabulary=7, length=16, width=16, layers=2, heads=2, encoding=encoding, kind=kind))


def eager(model: Any) -> Any:
    """In double precision and by the family's own attention, as its layers are run again."""
    model.set_attn_implementation("eager")
    return model.double()


def all_seen(model: Any, batch: Batch) -> list[AttentionRows]:
    pieces: list[AttentionRows] = []
    with capture(model, pieces.append) as captured:
        captured.read(batch)
    return pieces


def logits_of(model: Any, batch: Batch) -> RotaryLogits:
    """Those of the first text in the first layer."""
    logits = next(rows.logits for rows in all_seen(model, batch))
    assert isinstance(logits, RotaryLogits)
    return logits
