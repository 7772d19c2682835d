"""A conformer that hears: frames become tokens, padding changes nothing, chunks see nothing that is still to come."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from wherewhat.corpora.speech import features
from wherewhat.encodings.base import Context, Encoding
from wherewhat.errors import UserError
from wherewhat.nets.build import build
from wherewhat.nets.config import FRAMES, NetConfig
from wherewhat.nets.conformer import RealBatchNorm
from wherewhat.nets.trunk import Trunk

CONFIG = NetConfig(
    vocabulary=5, width=8, layers=2, heads=2, kind="conformer", mlp=2, kernel=5, length=64, features=4 * 6
)
ARMS = {
    "none": {},
    "rope": {},
    "alibi": {},
    "t5_bias": {},
    "sinusoidal": {},
    "transformer_xl": {"layout": "interleaved", "bias_init": "zeros"},
}
every_arm = pytest.mark.parametrize("arm", ARMS)


def net_of(arm: str, **changes: object) -> Trunk:
    config = replace(CONFIG, encoding=arm, encoding_options=ARMS[arm], **changes)  # type: ignore[arg-type]
    return build(config, seed=1).double().eval()


def frames(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, 24, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@torch.no_grad()
def test_four_frames_become_a_token_by_two_convolutions() -> None:
    net, heard_BTG = net_of("none"), frames(1, 3)
    assert net.hearing is not None
    grid_TF = heard_BTG.view(12, 6)
    weights = dict(net.hearing.named_parameters())

    def convolved(x_CTF: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        _, rows, columns = x_CTF.shape
        out = torch.zeros(len(weight), -(-rows // 2), -(-columns // 2), dtype=torch.float64)
        for c, t, f in torch.cartesian_prod(*(torch.arange(size) for size in out.shape)).tolist():
            total = bias[c]
            for i, j in torch.cartesian_prod(torch.arange(3), torch.arange(3)).tolist():
                row, column = 2 * t + i - 1, 2 * f + j - 1
                if 0 <= row < rows and 0 <= column < columns:
                    total = total + (weight[c, :, i, j] * x_CTF[:, row, column]).sum()
            out[c, t, f] = total.clamp(min=0)
        return out

    x_CTF = convolved(grid_TF[None], weights["first.weight"], weights["first.bias"])
    x_CTF = convolved(x_CTF, weights["second.weight"], weights["second.bias"])
    expected_TD = x_CTF.transpose(0, 1).flatten(1) @ weights["out.weight"].T + weights["out.bias"]
    assert (net.embedded(heard_BTG)[0] - expected_TD).abs().max() < 1e-12


@every_arm
@pytest.mark.parametrize("side", ["left", "right"])
@torch.no_grad()
def test_padding_changes_nothing(arm: str, side: str) -> None:
    net, heard, noise = net_of(arm), frames(2, 7), frames(2, 3, seed=5)
    together = torch.cat((noise, heard) if side == "left" else (heard, noise), 1)
    real_BT = (torch.arange(10) >= 3 if side == "left" else torch.arange(10) < 7).expand(2, 10)
    ours = net(together, real_BT)[:, 3:] if side == "left" else net(together, real_BT)[:, :7]
    assert (ours - net(heard)).abs().max() < 1e-11


@every_arm
def test_padding_changes_nothing_while_learning(arm: str) -> None:
    heard, noise = frames(2, 7), frames(2, 3, seed=5)
    real_BT = (torch.arange(10) < 7).expand(2, 10)
    alone, padded = net_of(arm).train(), net_of(arm).train()
    alone(heard).square().mean().backward()
    padded(torch.cat((heard, noise), 1), real_BT)[:, :7].square().mean().backward()
    for (name, ours), theirs in zip(padded.named_parameters(), alone.parameters(), strict=True):
        if theirs.grad is not None:
            assert ours.grad is not None and (ours.grad - theirs.grad).abs().max() < 1e-11, name
    for name, value in alone.named_buffers():
        assert (dict(padded.named_buffers())[name] - value).abs().max() < 1e-11, name


def test_batch_statistics_are_of_real_tokens() -> None:
    norm, x_BDT = RealBatchNorm(4).double(), torch.randn(3, 4, 9, generator=torch.Generator().manual_seed(0)).double()
    real_BT = torch.arange(9) < torch.tensor([[9], [4], [1]])
    normed_BTD = norm(x_BDT, real_BT).mT
    values_ND = x_BDT.mT[real_BT]
    expected_ND = (values_ND - values_ND.mean(0)) / (values_ND.var(0, unbiased=False) + norm.eps).sqrt()
    assert (normed_BTD[real_BT] - expected_ND).abs().max() < 1e-12 and not normed_BTD[~real_BT].any()
    assert (norm.running_mean - 0.1 * values_ND.mean(0)).abs().max() < 1e-12


@every_arm
@torch.no_grad()
def test_a_chunk_as_long_as_the_text_is_no_chunk(arm: str) -> None:
    heard = frames(2, 9)
    assert (net_of(arm, chunk=9)(heard) - net_of(arm)(heard)).abs().max() < 1e-12


@every_arm
@torch.no_grad()
def test_what_is_still_to_come_changes_no_finished_chunk(arm: str) -> None:
    net, heard, others = net_of(arm, chunk=3), frames(1, 11), frames(1, 5, seed=9)
    whole, changed = net(heard), net(torch.cat([heard[:, :6], others], 1))
    assert (whole[:, :6] - changed[:, :6]).abs().max() < 1e-12
    assert (whole[:, :6] - net(heard[:, :6])).abs().max() < 1e-12
    assert (whole[:, 6:] - changed[:, 6:]).abs().max() > 1e-3
    assert (net_of(arm)(heard)[:, :6] - net_of(arm)(heard[:, :6])).abs().max() > 1e-3  # without chunks it does


@every_arm
@torch.no_grad()
def test_padding_changes_nothing_in_chunks(arm: str) -> None:
    net, heard, noise = net_of(arm, chunk=3), frames(2, 7), frames(2, 3, seed=5)
    real_BT = (torch.arange(10) < 7).expand(2, 10)
    assert (net(torch.cat((heard, noise), 1), real_BT)[:, :7] - net(heard)).abs().max() < 1e-11
    with pytest.raises(UserError, match="a net that reads in chunks takes padding after the text, not before it"):
        net(torch.cat((noise, heard), 1), real_BT.flip(1))


def test_who_hears_and_what() -> None:
    with pytest.raises(UserError, match="this net hears frames \\[batch, tokens, 24\\], at least one token; got shape"):
        net_of("rope")(torch.zeros(2, 7, dtype=torch.long))
    with pytest.raises(UserError, match="features is for conformers, and the net is of kind decoder; leave it out"):
        replace(CONFIG, kind="decoder")
    with pytest.raises(UserError, match="a net's features must be a multiple of 4, the frames of a token; got 6"):
        replace(CONFIG, features=6)
    with pytest.raises(UserError, match="chunk is for conformers, and the net is of kind encoder; leave it out"):
        replace(CONFIG, kind="encoder", features=0, chunk=4)


def logits_of_equal_tokens(net: Trunk, tokens: int) -> Tensor:
    """logits_HQK of the first block's attention if the same vector stands in every slot."""
    module, kept = net.blocks[0].attention, list[Tensor]()

    def attend(encoding: Encoding, q_BHTC: Tensor, k_BHTC: Tensor, v_BHTC: Tensor, context: Context) -> Tensor:
        q_BHTC, k_BHTC = encoding.on_query_key(q_BHTC, k_BHTC, context)
        kept.append(q_BHTC[0] @ k_BHTC[0].mT)
        return v_BHTC

    module.attend = attend
    vector_D = torch.randn(8, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    module(vector_D.expand(1, tokens, 8), net.encoding(0), Context.of(tokens, causal=False))
    return kept[0]


@torch.no_grad()
def test_logits_depend_on_distance_alone_unless_the_rotation_comes_before_the_projection() -> None:
    after_HQK, before_HQK = (logits_of_equal_tokens(net_of("rope", pre_projection=early), 9) for early in (False, True))
    changes = [(logits[:, 1:, 1:] - logits[:, :-1, :-1]).abs().max() for logits in (after_HQK, before_HQK)]
    assert changes[0] < 1e-12 and changes[1] > 1e-2
    assert (after_HQK[:, 0, 0] - before_HQK[:, 0, 0]).abs().max() < 1e-12  # nothing is rotated in slot 0


@torch.no_grad()
def test_logits_of_the_early_rotation_are_products_of_projected_rotated_inputs() -> None:
    net, tokens = net_of("rope", pre_projection=True), 9
    module, vector_D = (
        net.blocks[0].attention,
        torch.randn(8, dtype=torch.float64, generator=torch.Generator().manual_seed(3)),
    )
    rotated_TD = torch.zeros(tokens, 8, dtype=torch.float64)
    for slot, head, pair in torch.cartesian_prod(torch.arange(tokens), torch.arange(2), torch.arange(2)).tolist():
        angle = torch.tensor(slot * 10_000.0 ** (-pair / 2), dtype=torch.float64)
        first, second = 4 * head + pair, 4 * head + pair + 2  # halves of a head make pairs
        cos, sin = angle.cos(), angle.sin()
        rotated_TD[slot, first] = cos * vector_D[first] - sin * vector_D[second]
        rotated_TD[slot, second] = sin * vector_D[first] + cos * vector_D[second]
    q_TD, k_TD, _ = module.qkv(rotated_TD).chunk(3, -1)
    expected_HQK = torch.stack([q_TD[:, part] @ k_TD[:, part].T for part in (slice(0, 4), slice(4, 8))])
    assert (logits_of_equal_tokens(net, tokens) - expected_HQK).abs().max() < 1e-5  # tables of angles are float32


@torch.no_grad()
def test_leading_silence_moves_nothing_but_with_the_rotation_before_the_projection() -> None:
    heard = frames(1, 6)
    for early in (False, True):
        net = net_of("rope", pre_projection=early)
        x_BTD = net.embedded(heard)
        moved = (net.hidden_of(x_BTD, first=20) - net.hidden_of(x_BTD)).abs().max()
        assert moved > 1e-3 if early else moved < 1e-11


def test_a_rotation_before_the_projection_is_for_conformers() -> None:
    with pytest.raises(UserError, match="pre_projection is for conformers, and the net is of kind encoder; leave it"):
        replace(CONFIG, kind="encoder", features=0, pre_projection=True)
    with pytest.raises(UserError, match="a net's pre_projection must be true or false, got 'yes'"):
        replace(CONFIG, pre_projection="yes")  # type: ignore[arg-type]
    assert FRAMES == features.FRAMES
