"""A conformer gives the worked numbers, feels order through its convolution, and reads as it did when it learnt."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from conformer_weights import block_weights
from padding import padded
from precision import assert_same
from torch import Tensor, nn
from vectors import VECTORS, assert_known, tensor

from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.none import NoPosition
from wherewhat.encodings.rope import Rope
from wherewhat.encodings.transformer_xl import TransformerXL
from wherewhat.errors import UserError
from wherewhat.models.folder import load_model, save_model
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.conformer import Conformer, ConformerBlock
from wherewhat.nets.past import Past
from wherewhat.nets.trunk import Trunk
from wherewhat.recipes.registry import recipe
from wherewhat.training.loop import train
from wherewhat.training.settings import changed
from wherewhat.training.task_training import TaskSettings, evaluate

B, T, V, D, H = 2, 11, 13, 8, 2
CONFIG = NetConfig(vocabulary=V, width=D, layers=2, heads=H, kind="conformer", mlp=2, kernel=3, length=32)
ARMS: dict[str, dict[str, object]] = {
    "none": {},
    "rope": {},
    "transformer_xl": {"layout": "interleaved", "bias_init": "zeros"},
}
every_arm = pytest.mark.parametrize("arm", ARMS)


def net_of(arm: str, **changes: object) -> Trunk:
    config = replace(CONFIG, encoding=arm, encoding_options=ARMS[arm])
    return build(replace(config, **changes), seed=1).double().eval()


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def random_ids(*shape: int, seed: int = 0) -> Tensor:
    return torch.randint(V, shape, generator=torch.Generator().manual_seed(seed))


def same(left: Tensor, right: Tensor) -> bool:
    return torch.allclose(left, right, rtol=0, atol=1e-12)


# The worked numbers.


@pytest.fixture
def parameters() -> dict[str, Tensor]:
    known = VECTORS["conformer/transformer_xl"]["inputs"]["parameters"]
    return {name: tensor(values) for name, values in known.items()}


@pytest.fixture
def worked(parameters: dict[str, Tensor]) -> ConformerBlock:
    block = ConformerBlock(CONFIG).double().eval()
    block.load_state_dict(block_weights(parameters))
    return block


def as_in(parameters: dict[str, Tensor]) -> TransformerXL:
    encoding = TransformerXL(D, H, D // H, layout="interleaved").double()
    with torch.no_grad():
        encoding.project.weight.copy_(parameters["self_attn.linear_pos.weight"])
        encoding.u_HC.copy_(parameters["self_attn.pos_bias_u"])
        encoding.v_HC.copy_(parameters["self_attn.pos_bias_v"])
    return encoding


def test_the_block_with_transformer_xl_gives_the_worked_numbers(
    worked: ConformerBlock, parameters: dict[str, Tensor]
) -> None:
    vector = VECTORS["conformer/transformer_xl"]
    x_BTD = tensor(vector["inputs"]["x"])
    ours = worked(x_BTD, as_in(parameters), Context.of(x_BTD.shape[1], causal=False))
    assert_known(ours, vector["outputs"]["out"])


def test_the_block_with_rope_gives_the_worked_numbers(worked: ConformerBlock) -> None:
    vector = VECTORS["conformer/rope"]
    x_BTD = tensor(vector["inputs"]["x"])
    ours = worked(x_BTD, Rope(D // H), Context.of(x_BTD.shape[1], causal=False))
    assert_known(ours, vector["outputs"]["out"])


# What it knows of positions.


def shifted(context: Context, by: int) -> Context:
    return replace(context, key_positions_BK=context.key_positions_BK + by)


@every_arm
def test_moving_the_whole_text_changes_nothing(arm: str, worked: ConformerBlock) -> None:
    encoding, x_BTD, context = net_of(arm).encoding(0), random(B, T, D), Context.of(T, causal=False)
    assert same(worked(x_BTD, encoding, shifted(context, 13)), worked(x_BTD, encoding, context))


def test_arms_that_are_told_nothing_of_positions_are_one(worked: ConformerBlock) -> None:
    silent = TransformerXL(D, H, D // H).double()
    for parameter in silent.parameters():
        nn.init.zeros_(parameter)
    x_BTD, context = random(B, T, D), Context.of(T, causal=False)
    still = replace(context, key_positions_BK=torch.zeros(1, T, dtype=torch.int64))  # as with frequency 0
    without_BTD = worked(x_BTD, NoPosition(), context)
    assert same(worked(x_BTD, silent, context), without_BTD)
    assert same(worked(x_BTD, Rope(D // H), still), without_BTD)
    assert not same(worked(x_BTD, Rope(D // H), context), without_BTD)


def test_the_convolution_feels_order_without_any_encoding() -> None:
    ids_BT = random_ids(B, T)
    conformer, encoder = net_of("none"), net_of("none", kind="encoder")
    assert same(encoder(ids_BT.flip(1)).flip(1), encoder(ids_BT))
    assert not same(conformer(ids_BT.flip(1)).flip(1), conformer(ids_BT))


@pytest.mark.parametrize("kernel", [1, 3, 7])
def test_the_convolution_reaches_as_far_ahead_as_back(kernel: int) -> None:
    convolution = net_of("none", kernel=kernel).blocks[0].convolution
    x_BTD = random(1, T, D)
    changed_BTD = x_BTD.clone()
    changed_BTD[:, 5] += random(D, seed=1)
    moved_T = (convolution(changed_BTD) - convolution(x_BTD)).abs().amax(dim=(0, 2)) > 0
    assert moved_T.nonzero().flatten().tolist() == list(range(5 - kernel // 2, 6 + kernel // 2))


@every_arm
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("kernel", [3, 31])
def test_padding_changes_nothing_real(arm: str, side: str, kernel: int) -> None:
    net, ids_BT, padding_BT = net_of(arm, kernel=kernel), random_ids(B, T), random_ids(B, 3, seed=1)
    padded_BT, real_BT, real = padded(ids_BT, padding_BT, side)
    assert same(net(padded_BT, real_BT)[:, real], net(ids_BT))


# Its weights.


@every_arm
def test_the_same_seed_gives_the_same_weights_and_touches_nothing_global(arm: str) -> None:
    config = replace(CONFIG, encoding=arm, encoding_options=ARMS[arm])
    before = torch.random.get_rng_state()
    first, second, other = (build(config, seed=seed) for seed in (3, 3, 4))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert type(first) is Conformer
    for name, weight in first.state_dict().items():
        assert torch.equal(weight, second.state_dict()[name]) and weight.isfinite().all()
    assert not torch.equal(first.blocks[1].convolution.near.weight, other.blocks[1].convolution.near.weight)


def test_weights_start_as_pytorch_would_start_them() -> None:
    convolution = build(replace(CONFIG, width=512, kernel=31)).blocks[0].convolution
    for weight, inputs in ((convolution.near.weight, 31), (convolution.gate.weight, 512)):
        assert weight.abs().max().item() == pytest.approx(inputs**-0.5, rel=1e-3)
        assert weight.std().item() == pytest.approx((3 * inputs) ** -0.5, rel=0.02)
    norm = convolution.batch_norm
    assert (norm.weight == 1).all() and (norm.running_var == 1).all()
    assert not norm.bias.any() and not norm.running_mean.any() and norm.num_batches_tracked == 0


def test_the_number_of_weights_is_known() -> None:
    norm, feed_forward, attention = 2 * D, 2 * D * 2 * D + 3 * D, 4 * D * D + 4 * D
    convolution = norm + 2 * D * D + 3 * D + norm + D * D
    block = 2 * (norm + feed_forward) + norm + attention + convolution + norm
    around = V * D + norm + D * V + V
    assert sum(each.numel() for each in net_of("rope").parameters()) == around + 2 * block
    without = around + 2 * (block - 2 * (norm + feed_forward))
    assert sum(each.numel() for each in net_of("rope", mlp=0).parameters()) == without
    relative = sum(each.numel() for each in net_of("transformer_xl").parameters())
    assert relative == around + 2 * block + 2 * (D * D + 2 * D)


def test_a_conformer_without_feed_forward_reads() -> None:
    assert net_of("rope", mlp=0)(random_ids(B, T)).shape == (B, T, V)


# Learning and reading.


def test_only_while_learning_it_feels_the_rest_of_its_batch_and_remembers_it() -> None:
    net, ids_BT = net_of("rope"), random_ids(B, T)
    before = {name: value.clone() for name, value in net.named_buffers()}
    assert same(net(ids_BT)[:1], net(ids_BT[:1]))
    assert all(torch.equal(value, before[name]) for name, value in net.named_buffers())
    net.train()
    assert not same(net(ids_BT)[:1], net(ids_BT[:1]))
    assert before and not any(torch.equal(value, before[name]) for name, value in net.named_buffers())


@pytest.fixture
def settings() -> TaskSettings:
    sizes = ["width=8", "heads=2", "layers=1", "mlp=1", "kernel=3", "kind=conformer"]
    times = ["steps=7", "batch=6", "evaluate_every=2", "evaluate_samples=20", "checkpoint_every=3"]
    return changed(recipe("tiny"), [*sizes, *times])


@pytest.mark.parametrize("training", [True, False])
def test_evaluating_reads_as_a_finished_net_and_puts_the_mode_back(settings: TaskSettings, training: bool) -> None:
    net = build(settings.net).train(training)
    before, modes = {name: value.clone() for name, value in net.state_dict().items()}, []
    net.blocks[0].register_forward_pre_hook(lambda block, _: modes.append(block.training))
    evaluate(net, settings.task, seed=1, samples=10)
    assert modes == [False]
    assert [each.training for each in net.modules()] == [training] * len(list(net.modules()))
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


def test_a_failed_evaluation_puts_the_mode_back_too(settings: TaskSettings) -> None:
    net = build(replace(settings.net, vocabulary=1))
    with pytest.raises(UserError, match="token ids must lie in 0..0"):
        evaluate(net, settings.task, seed=1, samples=10)
    assert net.training


def test_an_interrupted_run_ends_as_an_unbroken_one(settings: TaskSettings, tmp_path: Path) -> None:
    def interrupt(step: int, measured: object) -> None:
        if step == 5:
            raise KeyboardInterrupt

    unbroken = train(settings)
    with pytest.raises(KeyboardInterrupt):
        train(settings, out=tmp_path, on_step=interrupt)
    resumed = train(settings, out=tmp_path, resume=True)
    saved = load_model(tmp_path / "model").net
    assert unbroken.net.blocks[0].convolution.batch_norm.num_batches_tracked == 7
    for name, value in unbroken.net.state_dict().items():
        assert torch.equal(value, resumed.net.state_dict()[name]) and torch.equal(value, saved.state_dict()[name])


@every_arm
def test_a_net_comes_back_from_its_folder(arm: str, tmp_path: Path) -> None:
    net = net_of(arm).float().train()
    net(random_ids(B, T))
    save_model(tmp_path, net)
    back = load_model(tmp_path).net
    assert type(back) is Conformer and not back.training
    assert all(torch.equal(weight, back.state_dict()[name]) for name, weight in net.state_dict().items())
    assert_same(back(random_ids(B, T)), net.eval()(random_ids(B, T)))


# What it refuses.


def test_refusals() -> None:
    class OnlyBack(Encoding):
        name = "only_back"
        causal_only = True

    with pytest.raises(UserError) as refused:
        replace(CONFIG, kernel=30)
    assert str(refused.value) == "a net's kernel must be odd, to reach as far ahead as back; got 30"
    with pytest.raises(UserError) as refused:
        replace(CONFIG, kernel=0)
    assert str(refused.value) == "a net's kernel must be a whole number of at least 1, got 0"
    with pytest.raises(UserError) as refused:
        net_of("rope")(random_ids(B, T), past=Past())
    assert str(refused.value) == "only a decoder reads in pieces and this net is of kind conformer; leave `past` out"
    with pytest.raises(UserError, match="only_back only looks back and got a net that looks both ways"):
        ConformerBlock(CONFIG).double()(random(B, T, D), OnlyBack(), Context.of(T, causal=False))
