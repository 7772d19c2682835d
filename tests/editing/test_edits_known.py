"""Edits whose outcome is known without a formula, and models that are as they were once an edit is over."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
import torch
from families import FAMILIES, Family
from precision import assert_same
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM
from turning_models import BY_NAME, TURNING, first_logits

from wherewhat.capture.editing.layer_edit import RUNNING, ActiveEdit, EditFrame, running
from wherewhat.capture.hooks.interface import configs_of
from wherewhat.editing.edit import edit
from wherewhat.encodings.registry import ENCODINGS
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk

IDS = torch.arange(5, 17)
EVERY_HEAD = [f"L0H{head}" for head in range(4)]
POSITIONED = ("llama", "gpt_neox", "gemma3", "qwen3", "phi3", "glm", "modernbert", "gptj", "codegen", "falcon")
NETS = ("rope", "p_rope", "band_rope", "untwist", "xpos")


def net(encoding: str = "rope", **sizes: Any) -> Trunk:
    config = NetConfig(vocabulary=20, width=32, layers=2, heads=4, encoding=encoding, length=64, **sizes)
    return build(config, seed=0).double().eval()


def hidden(model: nn.Module, **more: Any) -> Tensor:
    with torch.no_grad():
        return model.hidden(IDS[None]) if isinstance(model, Trunk) else model(IDS[None], **more).last_hidden_state


def turning_model(name: str) -> nn.Module:
    return net() if name == "a net of ours" else next(each for each in TURNING if each.family == name).build()


def precision_of(name: str) -> torch.dtype:
    """What the model computes in, in part at least."""
    return next((each.precision for each in TURNING if each.family == name), torch.float64)


every_route = pytest.mark.parametrize("name", ["llama", "gpt_neox", "gptj", "falcon", "roformer", "a net of ours"])


@pytest.mark.parametrize("name", POSITIONED)
def test_to_unrotate_everything_is_to_stand_all_tokens_in_slot_0(name: str):
    model = turning_model(name)
    with edit(model, unrotate="all"):
        ours = hidden(model)
    theirs = hidden(model, position_ids=torch.zeros_like(IDS)[None])
    assert_same(ours, theirs, computed_in=precision_of(name))
    assert not torch.allclose(ours, hidden(model), atol=1e-2)


def test_an_unrotated_pair_keeps_the_factor_that_a_scaling_puts_in():
    yarn = {"rope_type": "yarn", "factor": 4.0, "rope_theta": 100.0, "original_max_position_embeddings": 8}
    model = BY_NAME["llama"].build(rope_parameters=yarn, max_position_embeddings=32).double()
    with edit(model, unrotate="all"):
        ours = hidden(model)
    torch.testing.assert_close(ours, hidden(model, position_ids=torch.zeros_like(IDS)[None]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("encoding", ["rope", "p_rope", "band_rope", "xpos"])
def test_a_net_of_ours_that_is_unrotated_is_a_net_without_an_encoding(encoding: str):
    model, plain = net(encoding), net("none")
    plain.load_state_dict(model.state_dict())
    with edit(model, unrotate="all"):
        torch.testing.assert_close(hidden(model), hidden(plain), rtol=0, atol=1e-12)


def test_an_unrotated_untwist_keeps_what_each_of_its_pairs_is_multiplied_by():
    options = {"high": 0.25, "low": 1.4}
    model = net("untwist", encoding_options=options)
    with edit(model, unrotate="all"):
        ours = hidden(model)
    plain = net("none")
    plain.load_state_dict(model.state_dict())
    for block in plain.blocks:
        gain_C = model.encoding(0).gain(torch.float64).repeat(2)
        keys_DD = block.attention.qkv.weight.data[32:64].view(4, 8, 32)
        keys_DD *= gain_C[:, None]
    torch.testing.assert_close(ours, hidden(plain), rtol=0, atol=1e-12)


def test_scaling_a_net_is_untwist():
    model, theirs = net("rope"), net("untwist", encoding_options={"high": 0.25, "low": 1.4, "beta": 2.0})
    theirs.load_state_dict(model.state_dict())
    with edit(model, scale="all=0.25..1.4^2"):
        torch.testing.assert_close(hidden(model), hidden(theirs), rtol=0, atol=1e-12)


@every_route
def test_equal_edits_are_equal(name: str):
    model = turning_model(name)

    def edited(**wanted: Any) -> Tensor:
        with edit(model, **wanted):
            return hidden(model)

    every = [f"L{layer}H{head}" for layer in (0, 1) for head in range(4)]
    for ours, theirs in (
        (edited(scale="all=1"), hidden(model)),
        (edited(keep="high:0.5"), edited(drop="low:0.5")),
        (edited(scale="low:0.5=0"), edited(drop="low:0.5")),
        (edited(drop="index:0,1"), edited(drop=["index:0", "index:1"])),
        (edited(unrotate="high:0.5", heads=every), edited(unrotate="high:0.5")),
    ):
        assert_same(ours, theirs, computed_in=precision_of(name))
    assert not torch.allclose(edited(drop="high:0.5"), hidden(model))
    assert not torch.allclose(edited(drop="high:0.5"), edited(drop="high:0.5", layers=1))


def test_heads_whose_every_pair_is_dropped_attend_evenly():
    model = turning_model("llama")
    with edit(model, drop="all"):
        logits_HQK = first_logits(model, IDS)
    attention_HQK = logits_HQK.softmax(-1)
    evenly_QK = torch.ones(len(IDS), len(IDS), dtype=torch.float64).tril() / torch.arange(1, len(IDS) + 1)[:, None]
    torch.testing.assert_close(attention_HQK, evenly_QK.expand(4, -1, -1))


# Ablation -------------------------------------------------------------------------------------------------------------

OUT = {
    "llama": "layers.0.self_attn.o_proj", "gpt2": "h.0.attn.c_proj", "falcon": "h.0.self_attention.dense",
    "gptj": "h.0.attn.out_proj", "bloom": "h.0.self_attention.dense", "bert": "encoder.layer.0.attention.output.dense",
    "t5": "encoder.block.0.layer.0.SelfAttention.o", "deberta": "encoder.layer.0.attention.output.dense",
    "roformer": "encoder.layer.0.attention.output.dense", "modernbert": "layers.0.attn.Wo",
}  # fmt: skip


@pytest.mark.parametrize("name", OUT)
def test_ablated_heads_hand_zeros_to_the_output_projection_and_the_others_what_they_did(name: str):
    model = BY_NAME[name].build()
    inputs: list[Tensor] = []
    hook = model.get_submodule(OUT[name]).register_forward_pre_hook(lambda module, args: inputs.append(args[0]))

    def given() -> Tensor:
        hidden(model, **({"decoder_input_ids": IDS[None]} if name == "t5" else {}))
        return inputs[-1].unflatten(-1, (4, -1))

    plain = given()
    with edit(model, ablate=["L0H1", "L0H2"]):
        ablated = given()
    after = given()
    hook.remove()
    assert (ablated[..., [1, 2], :] == 0).all() and (plain[..., [1, 2], :] != 0).any()
    torch.testing.assert_close(ablated[..., [0, 3], :], plain[..., [0, 3], :])
    assert torch.equal(after, plain)


def test_a_net_of_ours_with_every_head_ablated_says_what_it_says_without_attention():
    model, deaf = net(), net()
    for block in deaf.blocks:
        block.attention.out.weight.data.zero_()
    with edit(model, ablate=[f"L{layer}H{head}" for layer in (0, 1) for head in range(4)]):
        torch.testing.assert_close(hidden(model), hidden(deaf))


def test_of_a_module_that_serves_all_layers_only_the_named_layer_is_ablated():
    model = BY_NAME["albert"].build()  # three layers, one module
    shown: list[Tensor] = []

    def show(module: nn.Module, args: Any) -> None:
        shown.append(args[0].unflatten(-1, (4, -1)))
        if len(shown) == stop_after:
            raise StopHereError

    dense = model.get_submodule("encoder.albert_layer_groups.0.albert_layers.0.attention.dense")
    hook = dense.register_forward_pre_hook(show)
    stop_after = 0
    with edit(model, ablate="L1H2"):
        for stop_after in (0, 2, 0):  # the second forward pass breaks off in its second layer
            shown.clear()
            with suppress(StopHereError):
                hidden(model)
            assert [bool((given[..., 2, :] == 0).all()) for given in shown] == [False, True, False][: stop_after or 3]
    hook.remove()


def test_what_is_wanted_of_one_module_is_not_done_by_another():
    one, other = nn.Linear(1, 1), nn.Linear(1, 1)
    RUNNING.frames.append(EditFrame(one, ActiveEdit(), through_interface=True))
    try:
        assert running(one) is RUNNING.frames[-1] and running(other) is None
    finally:
        RUNNING.frames.pop()


# Generation, gradients, neighbours ------------------------------------------------------------------------------------


def speaking(seed: int = 0) -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=50, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=None,
    )  # fmt: skip
    model = LlamaForCausalLM._from_config(config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.3, generator=generator)
    return model.eval().double()


@pytest.mark.parametrize("where", [{}, {"heads": "L0H1"}], ids=["all heads", "one head"])
@pytest.mark.parametrize("wanted", [{"drop": "high:0.5"}, {"unrotate": "high:0.5"}], ids=str)
def test_generating_with_a_cache_is_generating_without(wanted: dict[str, str], where: dict[str, str]):
    model, prompt_BT = speaking(), IDS[None]
    asked = {"max_new_tokens": 8, "do_sample": False, "attention_mask": torch.ones_like(prompt_BT)}
    with edit(model, **wanted, **where):  # type: ignore[arg-type]
        cached = model.generate(prompt_BT, **asked)
        again = model.generate(prompt_BT, use_cache=False, **asked)
    assert torch.equal(cached, again)
    assert cached.shape[1] == len(IDS) + 8


def test_gradients_reach_the_weights_of_an_edited_model():
    model = speaking()
    with edit(model, unrotate="high:0.5", heads="L0H1", drop="index:3"):
        model(IDS[None], labels=IDS[None]).loss.backward()
    query = model.model.layers[0].self_attn.q_proj.weight.grad
    assert query is not None and bool((query != 0).any())
    assert bool((query.view(4, 2, 4, 32)[1, :, 3] == 0).all()), "a dropped pair has no say"


def test_another_model_of_the_family_is_left_alone_even_if_it_shares_the_config():
    model, other = BY_NAME["llama"].build(), BY_NAME["llama"].build(seed=1)
    sharing = type(model)(model.config).eval()
    before = hidden(other), hidden(sharing)
    with edit(model, unrotate="all", ablate=EVERY_HEAD):
        hidden(model)
        assert torch.equal(hidden(other), before[0]) and torch.equal(hidden(sharing), before[1])
        with edit(other, drop="all"):
            assert not torch.equal(hidden(other), before[0])
        assert torch.equal(hidden(other), before[0])


# Everything is put back -----------------------------------------------------------------------------------------------


def traces(model: nn.Module) -> list[Any]:
    """All that an edit could leave behind."""
    modules = list(model.modules())
    files = sorted({type(module).__module__ for module in modules})
    functions = [
        (file, name, value)
        for file in files
        for name, value in vars(__import__(file, fromlist=["*"])).items()
        if name.startswith("apply_rot")
    ]
    hooks = [(len(module._forward_hooks), len(module._forward_pre_hooks)) for module in modules]
    attributes = [sorted(vars(module)) for module in modules]
    groups = [getattr(module, "num_key_value_groups", None) for module in modules]
    attends = [getattr(module, "attend", None) for module in modules]
    settings = [] if isinstance(model, Trunk) else [config._attn_implementation for config in configs_of(model)]
    state = [(name, value.clone()) for name, value in model.state_dict().items()]
    return [modules, functions, hooks, attributes, groups, attends, settings, state, [m.training for m in modules]]


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, Tensor):
        return torch.equal(ours, theirs)
    if isinstance(ours, (list, tuple)):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return bool(ours is theirs or ours == theirs)


class StopHereError(Exception):
    pass


@every_route
def test_after_an_edit_everything_is_as_it_was(name: str):
    model = turning_model(name)
    before, output = traces(model), hidden(model)
    with edit(model, unrotate="high:0.5", heads="L0H1", scale="index:1=2", ablate=["L1H0"]):
        assert not torch.allclose(hidden(model), output)
    assert same(traces(model), before) and torch.equal(hidden(model), output)


@every_route
def test_after_an_exception_everything_is_as_it_was(name: str):
    model = turning_model(name)
    before, output = traces(model), hidden(model)
    with pytest.raises(StopHereError), edit(model, unrotate="high:0.5", ablate=["L1H0"]):
        hidden(model)
        raise StopHereError
    assert same(traces(model), before) and torch.equal(hidden(model), output)


@every_route
def test_a_forward_pass_that_breaks_off_leaves_nothing_behind(name: str):
    model = turning_model(name)
    before, output = traces(model), hidden(model)
    inner = next(module for module in model.modules() if isinstance(module, nn.Linear))

    def stop(module: nn.Module, args: Any) -> None:
        raise StopHereError

    with edit(model, unrotate="high:0.5", ablate=["L1H0"]):
        edited = hidden(model)
        hook = inner.register_forward_pre_hook(stop)
        with pytest.raises(StopHereError):
            hidden(model)
        hook.remove()
        assert not RUNNING.frames, "no attention is running"
        assert torch.equal(hidden(model), edited)
    assert same(traces(model), before) and torch.equal(hidden(model), output)


@every_route
def test_entering_that_fails_half_way_leaves_nothing_behind(name: str, monkeypatch: pytest.MonkeyPatch):
    model = turning_model(name)
    before, output = traces(model), hidden(model)

    def stop(*args: Any, **kwargs: Any) -> None:
        raise StopHereError

    broken = "wherewhat.capture.hooks.own_nets.nn.ModuleList" if isinstance(model, Trunk) else ""
    if broken:
        monkeypatch.setattr(broken, stop)
    else:
        monkeypatch.setattr(type(model), "register_forward_pre_hook", stop)
    with pytest.raises(StopHereError), edit(model, unrotate="high:0.5", ablate=["L1H0"]):
        pass
    monkeypatch.undo()
    assert same(traces(model), before) and torch.equal(hidden(model), output)
    with edit(model, drop="high:0.5"):  # and it can be edited again
        pass


def test_a_net_is_edited_in_the_mode_it_is_in():
    model = net(kind="conformer").train()
    with edit(model, drop="high:0.5"):
        assert model.training and all(module.training for module in model.modules())
    assert model.training


@pytest.mark.parametrize("encoding", NETS)
def test_encodings_that_blocks_share_are_shared_again(encoding: str):
    model = net(encoding)
    encodings = model.encodings
    with edit(model, drop="high:0.5", layers=0):
        assert model.encoding(0) is not model.encoding(1)
    assert model.encodings is encodings and (model.encoding(0) is model.encoding(1)) == ENCODINGS[encoding].cls.shared


@pytest.mark.parametrize(
    "family", [each for each in FAMILIES if "rotary" not in each.position], ids=lambda each: each.name
)
def test_models_that_do_not_turn_can_be_ablated(family: Family):
    model = family.build()
    more = {"decoder_input_ids": IDS[None]} if "cross" in family.parts else {}
    before = hidden(model, **more)
    with edit(model, ablate=EVERY_HEAD):
        assert not torch.allclose(hidden(model, **more), before)
    assert torch.equal(hidden(model, **more), before)


def test_the_softmax_of_other_modules_is_not_silenced():
    model = BY_NAME["gptj"].build()
    with edit(model, ablate=EVERY_HEAD):
        even = torch.zeros(1, 4, 2, 2).softmax(-1)
        hidden(model)
        assert torch.equal(torch.zeros(1, 4, 2, 2).softmax(-1), even) and float(even[0, 0, 0, 0]) == 0.5


# What others do at the same time --------------------------------------------------------------------------------------


def test_two_threads_edit_two_models_and_each_gets_its_own():
    models = [BY_NAME["llama"].build(seed=seed) for seed in (0, 1)]
    wanted = [{"unrotate": "high:0.5"}, {"drop": "low:0.5"}]

    def edited(which: int) -> Tensor:
        with edit(models[which], **wanted[which]):
            return hidden(models[which])

    alone = [edited(0), edited(1)]
    with ThreadPoolExecutor(2) as pool:
        for _ in range(10):
            for ours, theirs in zip(pool.map(edited, (0, 1)), alone, strict=True):
                assert_same(ours, theirs)


def test_an_eager_model_still_tells_its_attention_while_it_is_edited():
    model = BY_NAME["llama"].build()
    model.set_attn_implementation("eager")
    plain_L = model(IDS[None], output_attentions=True).attentions
    with edit(model, drop="all"):
        edited_L = model(IDS[None], output_attentions=True).attentions
    assert [one.shape for one in edited_L] == [one.shape for one in plain_L]
    slots_T = torch.arange(1, len(IDS) + 1, dtype=plain_L[0].dtype)
    assert torch.allclose(edited_L[0].amax(-1), (1 / slots_T).expand(edited_L[0].shape[:3])), "nothing left to tell by"


def test_edits_of_models_that_share_a_config_may_end_in_any_order():
    first = BY_NAME["falcon"].build()
    second = type(first)(first.config).eval()
    own = first.config._attn_implementation
    with edit(second, ablate="L0H0"):
        alone = hidden(second)
    one, other = edit(first, ablate="L0H0"), edit(second, ablate="L0H0")
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert torch.equal(hidden(second), alone)
    other.__exit__(None, None, None)
    assert first.config._attn_implementation == own


def test_a_reading_that_was_interrupted_leaves_nothing_for_the_next_one_in_the_block():
    model = BY_NAME["gptj"].build()

    def interrupt(*args: Any) -> None:
        raise KeyboardInterrupt

    with edit(model, ablate="L0H0"):
        right = hidden(model)
        hook = model.get_submodule("h.0.attn.out_proj").register_forward_pre_hook(interrupt)
        with suppress(KeyboardInterrupt):
            hidden(model)
        hook.remove()
        assert torch.equal(hidden(model), right)
    assert RUNNING.frames == []
