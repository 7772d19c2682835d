"""The door puts everything back, keeps models apart, and never comes back empty."""

import pytest
import torch
from families import FAMILIES, Family
from reading import ours, padded_batch, theirs
from torch import nn
from transformers import FunnelBaseModel, FunnelConfig, Gemma2Model, LlamaModel, MambaConfig, MambaModel

from wherewhat.capture.capture import as_user_errors, capture
from wherewhat.capture.hooks.interface import _IMPLEMENTATIONS, _WATCHED
from wherewhat.capture.hooks.reader import part_of
from wherewhat.capture.tokens.batch import ALL, Batch, batches, sample_rows
from wherewhat.encodings.base import Context
from wherewhat.encodings.registry import ENCODINGS
from wherewhat.errors import UserError
from wherewhat.nets.attention import SelfAttention, attend, attention_rows
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig

BY_NAME = {family.name: family for family in FAMILIES}
every_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


def state(model: nn.Module) -> dict[str, object]:
    """All that a capture could leave behind."""
    configs = [module.config for module in model.modules() if hasattr(module, "config")]
    return {
        "implementations": [config._attn_implementation for config in configs],
        "hooks": [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules()],
        "training": [module.training for module in model.modules()],
        "attributes": [sorted(vars(module)) for module in model.modules()],
        "watched": [dict(_WATCHED), dict(_IMPLEMENTATIONS.originals)],
    }


@every_family
def test_everything_is_put_back_on_leaving(family: Family):
    model = family.build().train()
    model.eval()
    next(model.children()).train()
    batch = padded_batch(model)
    with torch.no_grad():
        model(batch.ids_BT, **({"decoder_input_ids": batch.ids_BT} if model.config.is_encoder_decoder else {}))
    before = state(model)
    ours(model, batch)
    assert state(model) == before


@every_family
def test_everything_is_put_back_after_an_exception(family: Family):
    model = family.build()
    before = state(model)

    def stumble(seen):
        raise KeyError("in the middle of the forward pass")

    with pytest.raises(KeyError), capture(model, stumble) as captured:
        captured.read(padded_batch(model))
    assert state(model) == before
    assert torch.overrides._get_current_function_mode_stack() == []
    ours(model, padded_batch(model))  # and it can be captured again


@pytest.mark.parametrize("names", [("llama", "bloom"), ("bert", "gemma2"), ("xlnet", "gptj"), ("llama", "llama")])
def test_two_models_can_be_watched_at_once(names: tuple[str, str]):
    one, other = (BY_NAME[name].build(seed=seed) for seed, name in enumerate(names))
    alone = [ours(model, padded_batch(model)) for model in (one, other)]
    seen_of = {0: [], 1: []}
    with capture(one, seen_of[0].append) as first, capture(other, seen_of[1].append) as second:
        first.read(padded_batch(one))
        second.read(padded_batch(other))
        first.read(padded_batch(one))
    assert len(seen_of[0]) == 2 * len(alone[0]) and len(seen_of[1]) == len(alone[1])
    for number, expected in enumerate(alone):
        for seen in seen_of[number]:
            key = (seen.site.part, seen.site.ordinal, seen.text)
            torch.testing.assert_close(seen.attention_HQK, expected[key], atol=0, rtol=0)


def test_a_model_that_shares_the_config_but_is_not_watched_runs_as_ever():
    watched = BY_NAME["llama"].build()
    bystander = LlamaModel(watched.config).eval()
    batch = padded_batch(watched)
    with torch.no_grad():
        alone = bystander(batch.ids_BT, batch.real_BT.long()).last_hidden_state
        with capture(watched, lambda seen: None):
            meanwhile = bystander(batch.ids_BT, batch.real_BT.long()).last_hidden_state
    torch.testing.assert_close(meanwhile[batch.real_BT], alone[batch.real_BT], atol=0, rtol=0)


def test_capturing_twice_at_once_is_refused():
    model = BY_NAME["llama"].build()
    with capture(model, print), pytest.raises(UserError, match="already being captured"), capture(model, print):
        pass
    assert model.config._attn_implementation == "sdpa"


def test_a_model_without_attention_is_an_error_that_says_so():
    mamba = MambaModel(MambaConfig(vocab_size=99, hidden_size=16, num_hidden_layers=1, state_size=4)).eval()
    with (
        pytest.raises(UserError, match="no attention could be read from MambaModel"),
        capture(mamba, print) as captured,
    ):
        captured.read(padded_batch(mamba))


def test_a_module_that_is_no_transformer_is_refused():
    sentence = "Linear is neither a transformers model nor a wherewhat net"
    with pytest.raises(UserError, match=sentence), capture(nn.Linear(2, 2), print):
        pass


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_read_as_float32(dtype: torch.dtype):
    model = BY_NAME["llama"].build().to(dtype)
    for attention_HQK in ours(model, padded_batch(model)).values():
        assert attention_HQK.dtype == torch.float32
        torch.testing.assert_close(attention_HQK.sum(-1), torch.ones(attention_HQK.shape[:2]), atol=2e-2, rtol=0)


def test_falcon_with_linear_bias_is_read_too():
    model = BY_NAME["falcon"].build(alibi=True)
    found, expected = ours(model, padded_batch(model)), theirs(model, padded_batch(model))
    assert found.keys() == expected.keys()
    for key, attention in found.items():
        torch.testing.assert_close(attention, expected[key], atol=1e-5, rtol=0)


def kinds_of(encoding: str) -> tuple[str, ...]:
    """Which nets an encoding can serve."""
    config = NetConfig(vocabulary=99, width=32, layers=2, heads=4, encoding=encoding, length=12)
    return ("decoder",) if config.make_encoding().causal_only else ("decoder", "encoder")


@pytest.mark.parametrize(("encoding", "kind"), [(name, kind) for name in ENCODINGS for kind in kinds_of(name)])
@pytest.mark.parametrize("side", ["right", "left"])
def test_our_own_nets_go_through_the_same_door(encoding: str, kind: str, side: str):
    net = build(NetConfig(kind=kind, vocabulary=99, width=32, layers=2, heads=4, encoding=encoding, length=12), seed=3)
    net = net.double()
    batch = padded_batch(net, side=side)
    found = ours(net, batch)
    assert found.keys() == {(kind, layer, text) for layer in range(2) for text in range(2)}
    expected = _explicit(net, batch)
    for (_, layer, text), attention_HQK in found.items():
        first, stop = batch.span(text)
        whole_HQK = expected[layer][text, :, first:stop, first:stop]
        torch.testing.assert_close(attention_HQK.double(), whole_HQK, atol=1e-6, rtol=0)
    assert all(module.attend is attend for module in net.modules() if isinstance(module, SelfAttention))


def _explicit(net, batch: Batch) -> list[torch.Tensor]:
    """Attention of every layer, computed beside the net from the inputs of its attention modules."""
    found = []

    def note(module, args):
        x_BTD, encoding, context, *_ = args
        q_BHTC, k_BHTC, _ = module.qkv(x_BTD).unflatten(-1, (3, module.heads, -1)).permute(2, 0, 3, 1, 4)
        assert isinstance(context, Context)
        context = context.noted(encoding.observe(x_BTD, context.real_BQ))
        found.append(attention_rows(encoding, q_BHTC, k_BHTC, context, torch.arange(x_BTD.shape[1])))

    hooks = [module.register_forward_pre_hook(note) for module in net.modules() if isinstance(module, SelfAttention)]
    with torch.no_grad():
        net.hidden(batch.ids_BT, batch.real_BT)
    for hook in hooks:
        hook.remove()
    return found


def test_rows_are_drawn_from_every_stretch_of_a_text():
    generator = torch.Generator().manual_seed(0)
    for length in (65, 100, 1000, 1023):
        rows = sample_rows(length, 64, generator)
        assert len(rows.unique()) == 64
        edges = torch.arange(65) * length // 64
        assert ((rows >= edges[:-1]) & (rows < edges[1:])).all()
    assert torch.equal(sample_rows(7, ALL, generator), torch.arange(7))


def test_batches_hold_every_text_once_and_rows_do_not_depend_on_neighbours():
    generator = torch.Generator().manual_seed(0)
    texts = [torch.randint(0, 9, (int(n),)) for n in torch.randint(2, 200, (30,), generator=generator)]
    small = {n: rows for batch in batches(texts, queries=16, seed=1, tokens=200) for n, rows in _rows(batch)}
    large = {n: rows for batch in batches(texts, queries=16, seed=1, tokens=4000) for n, rows in _rows(batch)}
    other = {n: rows for batch in batches(texts, queries=16, seed=2, tokens=4000) for n, rows in _rows(batch)}
    assert sorted(small) == list(range(30))
    assert all(torch.equal(small[n], large[n]) for n in small)
    assert any(not torch.equal(other[n], large[n]) for n in other)
    for batch in batches(texts, queries=16, seed=1, tokens=400):
        assert batch.ids_BT.numel() <= 400
        for b, number in enumerate(batch.texts):
            first, stop = batch.span(b)
            assert torch.equal(batch.ids_BT[b, first:stop], texts[number])


def _rows(batch: Batch) -> list[tuple[int, torch.Tensor]]:
    return list(zip(batch.texts, batch.rows, strict=True))


def test_models_that_share_a_config_can_be_watched_together_and_left_in_any_order():
    one = BY_NAME["gemma2"].build()  # eager by its own choice
    other = Gemma2Model(one.config).eval()
    alone = {id(model): ours(model, padded_batch(model)) for model in (one, other)}
    seen = []
    first, second = capture(one, lambda _: None), capture(other, seen.append)
    first.__enter__()
    captured = second.__enter__()
    captured.read(padded_batch(other))
    first.__exit__(None, None, None)
    captured.read(padded_batch(other))
    second.__exit__(None, None, None)
    assert one.config._attn_implementation == "eager"
    for found in seen:
        expected = alone[id(other)][(found.site.part, found.site.ordinal, found.text)]
        torch.testing.assert_close(found.attention_HQK, expected, atol=0, rtol=0)


def test_the_decoder_of_two_stacks_is_shown_with_the_tokens_it_reads():
    model = BY_NAME["t5"].build()
    batch = padded_batch(model)
    tokens = {}
    with capture(model, lambda seen: tokens.update({(seen.site.part, seen.text): seen.tokens_K})) as captured:
        captured.read(batch)
    first, stop = batch.span(1)
    assert torch.equal(tokens["encoder", 1], batch.ids_BT[1, first:stop])
    assert torch.equal(tokens["cross", 1], batch.ids_BT[1, first:stop])
    assert tokens["decoder", 1].tolist() == [model.config.decoder_start_token_id, *batch.ids_BT[1, first : stop - 1]]


def test_a_stack_is_told_by_its_outermost_name():
    assert part_of("decoder.bert.encoder.layer.0.attention.self", ahead=False, two_stacks=True) == "decoder"
    assert part_of("encoder.layers.0.self_attn", ahead=True, two_stacks=True) == "encoder"


def test_pooled_attention_is_refused_by_name():
    sizes = {"vocab_size": 99, "block_sizes": [1, 1], "d_model": 16, "n_head": 2, "d_head": 8, "d_inner": 16}
    funnel = FunnelBaseModel(FunnelConfig(**sizes)).eval()
    with (
        pytest.raises(UserError, match="so its rows do not correspond to the tokens"),
        capture(funnel, lambda _: None) as captured,
    ):
        captured.read(padded_batch(funnel))


def test_keys_chosen_outside_the_mask_are_refused():
    model = BY_NAME["llama"].build()
    with pytest.raises(UserError, match="attends to keys chosen outside its mask"), capture(model, print) as captured:
        captured._reader.begin(padded_batch(model))
        with torch.no_grad():
            model(padded_batch(model).ids_BT, indices=torch.zeros(1))


def test_a_model_that_fails_to_run_says_so_and_a_listener_that_fails_is_not_mistaken_for_it():
    model = BY_NAME["bert"].build()
    ids_BT = torch.full((1, 70), 5)  # beyond its table of 64 positions
    long = Batch((0,), ids_BT, ids_BT > 0, (torch.arange(70),))
    with pytest.raises(UserError, match="BertModel could not be run on these texts"), capture(model, print) as captured:
        captured.read(long)

    for kind in (RuntimeError, ValueError):

        def stumble(seen, kind=kind):
            raise kind("of the listener")

        with pytest.raises(kind, match="of the listener"), capture(model, stumble) as captured:
            captured.read(padded_batch(model))


def test_a_value_that_a_model_cannot_read_is_a_sentence():
    model = BY_NAME["bert"].build()
    with pytest.raises(UserError, match="BertModel could not be run on these texts: no"), as_user_errors(model):
        raise ValueError("no end")


def test_a_decoder_without_a_start_begins_with_token_0():
    model = BY_NAME["t5"].build(decoder_start_token_id=None, bos_token_id=None)
    for name in ("decoder_start_token_id", "bos_token_id"):
        model.config.__dict__.pop(name, None)
    batch, tokens = padded_batch(model), {}
    with capture(model, lambda seen: tokens.update({(seen.site.part, seen.text): seen.tokens_K})) as captured:
        captured.read(batch)
    first, stop = batch.span(1)
    assert tokens["decoder", 1].tolist() == [0, *batch.ids_BT[1, first : stop - 1]]
