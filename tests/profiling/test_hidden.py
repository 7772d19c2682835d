"""Moving tokens and averaging over texts: against plain loops over the family's own attention, and known answers."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from families import FAMILIES
from torch import Tensor, nn
from transformers import PreTrainedModel

from wherewhat.capture.capture import capture, watched_by
from wherewhat.capture.hooks.reader import AttentionRows, AttentionSite
from wherewhat.capture.loading.load import wrap_module
from wherewhat.capture.tokens.batch import Batch, generator_of
from wherewhat.capture.tokens.encode import EncodedTexts
from wherewhat.errors import UserError
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.profiling.hidden_states import moved_tokens, slot_means
from wherewhat.profiling.hidden_states.moved_tokens import PAIRS, move_tokens
from wherewhat.profiling.hidden_states.slot_means import common_length
from wherewhat.profiling.measurements import hidden
from wherewhat.profiling.measurements.base import MeasurementResult, ProfileContext
from wherewhat.profiling.settings import ProfileSettings
from wherewhat.progress import Phases
from wherewhat.scores.input_level import latin_square, shifts
from wherewhat.scores.mean_parts import PARTS

BY_NAME = {family.name: family for family in FAMILIES}
SHARES = ("input.position_share", "input.symbol_share", "input.other_share")
TAUS = (1e-4, float("inf"))


def some_texts(*lengths: int, seed: int = 0, low: int = 3, high: int = 90) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(low, high, (length,), generator=generator) for length in lengths]


def context_of(
    model: nn.Module, texts: list[Tensor], *, first: int = 1, seed: int = 0, batch_tokens: int = 200
) -> ProfileContext:
    settings = ProfileSettings(tau=TAUS, first=first, seed=seed, batch_tokens=batch_tokens)
    return ProfileContext(wrap_module(model), EncodedTexts.of(texts), settings)


def measure(model: nn.Module, texts: list[Tensor], **options: int) -> MeasurementResult:
    return hidden.measure(context_of(model, texts, **options))


def own_net(encoding: str, kind: str = "decoder", **more: object) -> nn.Module:
    config = NetConfig(
        vocabulary=90, width=16, layers=2, heads=2, kind=kind, encoding=encoding, length=40, encoding_options=more
    )
    return build(config, seed=1).double()


def values(found: MeasurementResult) -> dict[tuple[str, int, str], np.ndarray]:
    answers = found.summaries.items()
    return {(site.part, site.ordinal, name): one.value_H for site, all in answers for name, one in all.items()}


def assert_same(one: MeasurementResult, other: MeasurementResult, tolerance: float) -> None:
    ours, theirs = values(one), values(other)
    assert ours.keys() == theirs.keys()
    for key in ours:
        np.testing.assert_allclose(ours[key], theirs[key], atol=tolerance, rtol=0, err_msg=str(key))


def eager_row(model: PreTrainedModel, ids_T: Tensor) -> np.ndarray:
    """weight_LHK of the last query, alone and unpadded."""
    with torch.no_grad():
        layers = model(ids_T[None], output_attentions=True).attentions
    return torch.stack([layer[0, :, -1] for layer in layers]).numpy()


def brute_shares(model: PreTrainedModel, ids_T: Tensor, slots: list[int], order: np.ndarray) -> np.ndarray:
    """The three variances by layer and head, X L H, every permuted text run by itself."""
    m, table = len(slots), {}
    for run in order:
        moved_T = ids_T.clone()
        for j, k in enumerate(run):
            moved_T[slots[j]] = ids_T[slots[k]]
        log_LHS = np.log(eager_row(model, moved_T)[..., slots])
        for j, k in enumerate(run):
            table[k, j] = log_LHS[..., j] - log_LHS.mean(-1)
    a = np.array([[table[k, j] for j in range(m)] for k in range(m)])  # content, slot, layer, head
    r, c, g = a.mean(1), a.mean(0), a.mean((0, 1))
    rest = a - r[:, None] - c[None] + g
    return np.array([((c - g) ** 2).mean(0), ((r - g) ** 2).mean(0), (rest**2).mean((0, 1))])


def brute_swaps(model: PreTrainedModel, ids_T: Tensor, slots: list[int], tau: float) -> np.ndarray:
    """The two published scores by layer and head from the weights themselves, all swaps."""
    before, cosines, apart = eager_row(model, ids_T), [], []
    for s, t in itertools.combinations(slots, 2):
        moved_T = ids_T.clone()
        moved_T[[s, t]] = ids_T[[t, s]]
        v, w = before[..., [s, t]], eager_row(model, moved_T)[..., [s, t]]
        length = np.linalg.norm(v, axis=-1) * np.linalg.norm(w, axis=-1)
        cosines.append([(v * w).sum(-1) / length, (v[..., ::-1] * w).sum(-1) / length])
        apart.append(np.abs(v[..., 0] - v[..., 1]))
    alpha = np.exp((np.array(apart) - np.max(apart, 0)) / tau)
    return (np.array(cosines) * (alpha / alpha.sum(0))[:, None]).sum(0)


@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_moving_tokens_is_what_plain_permutations_give(name: str):
    """Three slots trade tokens: slot 0 stays, and so does the query at the end."""
    model, eager = (BY_NAME[name].build(**more).double() for more in ({}, {"attn_implementation": "eager"}))
    (ids_T,) = some_texts(5)
    found = values(measure(model, [ids_T], seed=3))
    squares = {"input.": latin_square(3, generator_of(ids_T, 3)), "input.shift.": shifts(3)}
    part = "decoder" if name == "gpt2" else "encoder"
    for square, order_NS in squares.items():
        parts_XLH = brute_shares(eager, ids_T, [1, 2, 3], order_NS.numpy())
        for layer in range(2):
            ours = np.array([found[part, layer, score.replace("input.", square)] for score in SHARES])
            np.testing.assert_allclose(ours, parts_XLH[:, layer] / parts_XLH[:, layer].sum(0), atol=1e-9)
    for tau, end in ((1e-4, ""), (float("inf"), "@inf")):
        theirs = brute_swaps(eager, ids_T, [1, 2, 3], tau)
        for row, score in enumerate(("input.positional", "input.symbolic")):
            ours = np.array([found[part, layer, score + end] for layer in range(2)])
            np.testing.assert_allclose(ours, theirs[row], atol=1e-9)


def last_row(model: nn.Module, ids_T: Tensor) -> dict[tuple[str, int], AttentionRows]:
    attention_rows: dict[tuple[str, int], AttentionRows] = {}
    batch = Batch((0,), ids_T[None], torch.ones(1, len(ids_T), dtype=torch.bool), (torch.tensor([len(ids_T) - 1]),))
    with capture(model, lambda one: attention_rows.update({(one.site.part, one.site.ordinal): one})) as captured:
        captured.read(batch)
    return attention_rows


def first_place(found: dict[AttentionSite, object]) -> AttentionSite:
    return next(site for site in found if site.ordinal == 0)


@pytest.mark.parametrize("first", [0, 1, 3])
def test_without_layers_below_moving_tokens_is_exchanging_keys(first: int):
    """Rotary, layer 0: the variances over slots and over contents are those of the logits' own table."""
    model = BY_NAME["llama"].build()
    (ids_T,) = some_texts(12)
    accounts = move_tokens(context_of(model, [ids_T], first=first)).layers
    logits = last_row(model, ids_T)["decoder", 0].logits
    assert logits is not None
    swappable_QK = (torch.arange(12) >= first) & (torch.arange(12) < 11)
    theirs = logits.moments(swappable_QK[None])
    account = accounts[first_place(accounts)]
    position_H, symbol_H = (account.values[name][0] * account.weights[name][0] for name in SHARES[:2])
    np.testing.assert_allclose(position_H, theirs.position_HQ[:, 0].double(), rtol=1e-4)
    np.testing.assert_allclose(symbol_H, theirs.symbol_HQ[:, 0].double(), rtol=1e-4)


@pytest.mark.parametrize("name", ["gpt2", "bert", "opt"])
def test_position_shows_where_the_logits_say_nothing_of_it(name: str):
    model, texts = BY_NAME[name].build(), some_texts(12, 14, 9)
    logits = last_row(model, texts[0])[next(iter(BY_NAME[name].parts)), 0].logits
    assert logits is not None and logits.position_free
    found = measure(model, texts)
    share = found.summaries[first_place(found.summaries)]["input.position_share"]
    assert (share.value_H > 0.05).all() and (share.low_H > share.chance_H).all()


def test_a_net_without_position_has_none():
    found = values(measure(own_net("none", "encoder"), some_texts(12, 14, 9)))
    for layer in range(2):  # a bag of tokens stays one through all layers
        assert np.abs(found["encoder", layer, "input.position_share"]).max() < 1e-20
        np.testing.assert_allclose(found["encoder", layer, "input.symbol_share"], 1, atol=1e-12)
        np.testing.assert_allclose(found["encoder", layer, "input.symbolic"], 1, atol=1e-12)


def test_a_causal_mask_tells_position_above_the_first_layer():
    found = values(measure(own_net("none", "decoder"), some_texts(12, 14, 9)))
    assert np.abs(found["decoder", 0, "input.position_share"]).max() < 1e-20
    assert (found["decoder", 1, "input.position_share"] > 1e-6).all()


@pytest.mark.parametrize("encoding", ["learned", "sinusoidal", "rope", "alibi"])
@pytest.mark.parametrize("kind", ["decoder", "encoder"])
def test_shares_add_up_for_every_encoding(encoding: str, kind: str):
    found = measure(own_net(encoding, kind), some_texts(12, 14, 9, 10))
    assert len(found.summaries) == 2
    for answers in found.summaries.values():
        np.testing.assert_allclose(sum(answers[name].value_H for name in SHARES), 1, atol=1e-12)
        assert (answers["input.position_share"].value_H > 1e-6).all()
        chances = [answers[name].chance_H for name in SHARES]
        np.testing.assert_allclose(sum(chances), 1)
        np.testing.assert_allclose(chances[0], np.mean([1 / m for m in (10, 12, 7, 8)]))
        if "mean.position" in answers:
            np.testing.assert_allclose(sum(answers[f"mean.{part}"].value_H for part in PARTS), 1, atol=1e-9)


def test_of_a_long_text_the_first_slots_all_move_and_the_widest_gaps_are_among_the_swaps():
    model, (ids_T,) = BY_NAME["gpt2"].build(max_position_embeddings=80), some_texts(80)
    ids_T = ids_T[: 1 + moved_tokens.SLOTS + 1]
    reader, runs = moved_tokens.QueryReader(), list[Tensor]()
    reader.slots_S = torch.arange(1, len(ids_T) - 1)
    hook = model.register_forward_pre_hook(lambda *call: runs.extend(call[2]["input_ids"]), with_kwargs=True)
    with watched_by(reader, model) as session:
        trades, rows = moved_tokens._run_permutations(session, reader, ids_T, context_of(model, [ids_T]))
    hook.remove()
    size = moved_tokens.SLOTS
    assert 2 * size + PAIRS < len(runs) <= 2 * size + 2 * PAIRS and torch.equal(runs[0], ids_T)
    assert all(torch.equal(moved.sort().values, ids_T.sort().values) for moved in runs)
    assert all(torch.equal(moved[[0, -1]], ids_T[[0, -1]]) for moved in runs)
    stayed = torch.stack(runs[1 : 2 * size])[:, 1:-1] == ids_T[1:-1]
    assert stayed.double().mean() < 0.1, "but for words that occur twice, no token stays in its slot more than once"
    weight_HS = last_row(model, ids_T)["decoder", 0].attention_HQK[:, 0, reader.slots_S]
    torch.testing.assert_close(rows[first_place(rows)].weight_NHS[0], weight_HS)
    swapped = {tuple(pair) for pair in trades.pairs_P2.tolist()}
    for weight_S in weight_HS:
        widest = sorted((int(weight_S.argmax()), int(weight_S.argmin())))
        assert tuple(widest) in swapped
    assert len(swapped) == len(trades.pairs_P2)


def test_what_is_the_same_text_again_is_run_once():
    model, runs = BY_NAME["gpt2"].build().double(), list[Tensor]()
    ids_T = torch.tensor([5, 7, 8, 7, 8, 7, 8, 9])  # shifted by two, tokens 1 to 6 are the same again
    hook = model.register_forward_pre_hook(lambda *call: runs.extend(call[2]["input_ids"]), with_kwargs=True)
    found = values(measure(model, [ids_T], seed=3))
    hook.remove()
    assert len(runs) <= 2 + 6 + 15, "two shifts, a square, and at most all pairs"
    eager = BY_NAME["gpt2"].build(attn_implementation="eager").double()
    parts_XLH = brute_shares(eager, ids_T, [1, 2, 3, 4, 5, 6], shifts(6).numpy())
    for layer in range(2):
        ours = np.array([found["decoder", layer, score.replace("input.", "input.shift.")] for score in SHARES])
        np.testing.assert_allclose(ours, parts_XLH[:, layer] / parts_XLH[:, layer].sum(0), atol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_weights_that_are_rounded_away_are_read_off_the_logits(dtype: torch.dtype):
    """In float32, weights beside logits hundreds apart are 0; in 16 bits, all are coarse. Logits are neither."""
    model, (ids_T,) = BY_NAME["gpt2"].build().to(dtype), some_texts(12)
    if dtype == torch.float32:
        with torch.no_grad():
            model.h[0].attn.c_attn.weight.mul_(60)
    reader = moved_tokens.QueryReader(dtype)
    reader.slots_S = torch.arange(1, 11)
    with watched_by(reader, model) as session:
        rows = moved_tokens._rerun(session, reader, ids_T, torch.arange(10)[None], 200)
    logits, ours = last_row(model, ids_T)["decoder", 0].logits, rows[first_place(rows)]
    assert logits is not None
    torch.testing.assert_close(ours.log_NHS[0], logits.actual_HQK[:, 0, 1:11])
    if dtype == torch.float32:
        assert (ours.weight_NHS == 0).any()


def test_the_same_seed_gives_the_same_numbers_and_batches_do_not_matter():
    model, texts = BY_NAME["gpt2"].build().double(), some_texts(20, 14, 17)
    one, again = measure(model, texts, seed=5), measure(model, texts, seed=5)
    assert_same(one, again, 0)
    assert_same(one, measure(model, texts, seed=5, batch_tokens=1), 1e-9)
    other = values(measure(model, texts, seed=6))
    assert any(not np.allclose(other[key], found, atol=1e-6) for key, found in values(one).items())


def test_a_window_leaves_only_the_slots_it_shows():
    found = measure(BY_NAME["mistral"].build(), some_texts(16, 14))
    for answers in found.summaries.values():  # the last query sees four slots beside its own
        np.testing.assert_allclose(answers["input.symbol_share"].chance_H, 1 / 4)
        np.testing.assert_allclose(answers["input.position_share"].chance_H, (1 / 14 + 1 / 12) / 2)
        np.testing.assert_allclose(sum(answers[name].value_H for name in SHARES), 1, atol=1e-9)


def test_of_two_stacks_only_the_encoder_can_be_asked_this_way():
    found = measure(BY_NAME["bart"].build(), some_texts(12, 14, 12))
    parts = {site.part: set(answers) for site, answers in found.summaries.items()}
    assert set(SHARES) <= parts["encoder"] and not set(SHARES) & parts["decoder"] and "cross" not in parts
    assert "mean.position" in parts["decoder"]
    assert any("encoder" in note for note in found.notes)
    assert [layer.layer for layer in found.section] == [0, 1, 2, 3]


def gpt2_sides(model: PreTrainedModel, ids_T: Tensor) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """By layer: the normed input x_TD, query_THC and key_THC, from the model's own weights."""
    with torch.no_grad():
        states = model(ids_T[None], output_hidden_states=True).hidden_states
        found = []
        for block, h_BTD in zip(model.h, states, strict=False):
            x_BTD = block.ln_1(h_BTD)
            q_TD, k_TD, _ = block.attn.c_attn(x_BTD)[0].chunk(3, -1)
            found.append((x_BTD[0].numpy(), *(y_TD.unflatten(-1, (4, 8)).numpy() for y_TD in (q_TD, k_TD))))
    return found


def brute_mean_parts(query_NTC: np.ndarray, key_NTC: np.ndarray, rows: range) -> np.ndarray:
    """The shares of six parts by plain loops over texts and queries, every part written out."""
    mean_q, mean_k = query_NTC.mean(0), key_NTC.mean(0)
    constant = np.broadcast_to(mean_q.mean(0), mean_q.shape)
    sums = np.zeros(7)
    for query, key in zip(query_NTC, key_NTC, strict=True):
        queries, keys = (constant, mean_q - constant, query - mean_q), (mean_k - mean_k.mean(0), key - mean_k)
        for i in rows:
            parts = [k[:i] @ q[i] for q, k in itertools.product(queries, keys)]
            parts = [part - part.mean() for part in parts]
            sums += [*(part @ sum(parts) for part in parts), sum(parts) @ sum(parts)]
    return sums[:6] / sums[6]


def test_means_over_texts_are_what_plain_loops_give():
    """Of five texts the longer three have 16 tokens in common; slot 0 and queries below 4 are left out."""
    model, texts = BY_NAME["gpt2"].build().double(), some_texts(9, 16, 20, 12, 18)
    found = measure(model, texts)
    by_layer = [gpt2_sides(model, text[:16]) for text in texts if len(text) >= 16]
    for layer in range(2):
        x_NTD, query_NTHC, key_NTHC = (np.stack([text[layer][n] for text in by_layer])[:, 1:] for n in range(3))
        for head in range(4):
            theirs = brute_mean_parts(query_NTHC[:, :, head], key_NTHC[:, :, head], range(3, 15))
            ours = [values(found)["decoder", layer, f"mean.{part}"][head] for part in PARTS]
            assert ours == pytest.approx(theirs.tolist(), abs=1e-9)
            position = values(found)["decoder", layer, "mean.position"][head]
            assert position == pytest.approx(theirs[::2].sum(), abs=1e-9)
        middle = x_NTD.mean((0, 1))
        pos, ctx = x_NTD.mean(0) - middle, x_NTD.mean(1) - middle
        total = ((x_NTD - middle) ** 2).sum(-1).mean()
        told = found.section[layer]
        assert (told.layer, told.texts, told.tokens) == (layer, 3, 15)
        assert told.pos == pytest.approx((pos**2).sum(-1).mean() / total, abs=1e-9)
        assert told.ctx == pytest.approx((ctx**2).sum(-1).mean() / total, abs=1e-9)
        assert told.pos + told.ctx + told.resid == pytest.approx(1, abs=1e-12)


def test_running_twice_gives_what_keeping_everything_gives(monkeypatch: pytest.MonkeyPatch):
    model, texts = BY_NAME["llama"].build().double(), some_texts(20, 14, 17)
    kept = measure(model, texts)
    monkeypatch.setattr(slot_means, "BUDGET", 5000)
    monkeypatch.setattr("wherewhat.capture.hooks.reader.CHUNK_ENTRIES", 500)  # queries of a text come in several pieces
    assert_same(kept, measure(model, texts), 1e-9)


def test_a_module_that_serves_several_layers_is_counted_each_time():
    found = measure(BY_NAME["albert"].build(), some_texts(12, 14, 12))
    assert [layer.layer for layer in found.section] == [0, 1, 2]
    assert len({layer.pos for layer in found.section}) == 3 and all(layer.texts == 3 for layer in found.section)


def test_every_number_has_its_interval_and_every_score_its_words():
    found = measure(BY_NAME["gpt2"].build(), some_texts(12, 14, 11, 13, 2))
    for answers in found.summaries.values():
        for name, one in answers.items():
            assert (one.low_H <= one.value_H).all() and (one.value_H <= one.high_H).all(), name
            assert (one.texts_H == (3 if name.startswith("mean.") else 4)).all()
            assert (np.isnan(one.chance_H) == (name.removeprefix("mean.") in PARTS)).all()
    assert set(found.scores) == {name for answers in found.summaries.values() for name in answers}
    assert all(about.asks and about.low and about.high and about.chance for about in found.scores.values())
    assert "4 of 5 windows" in found.notes[0] and "all 9 to 12 tokens" in found.notes[0]
    assert "use the first 12 tokens of 3 of 5 texts" in found.notes[2] and "1/3" in found.notes[3]


@pytest.mark.parametrize(
    ("name", "words"), [("gemma2", "2 of 2 layers logits"), ("xlnet", "2 of 2 layers the vectors")]
)
def test_what_could_not_be_measured_is_said(name: str, words: str):
    found = measure(BY_NAME[name].build(), some_texts(12, 14, 12))
    assert any(words in note for note in found.notes)
    assert set(SHARES) <= set.intersection(*map(set, found.summaries.values()))


def test_one_text_has_no_interval_and_no_means():
    found = measure(BY_NAME["gpt2"].build(), some_texts(12))
    for answers in found.summaries.values():
        assert not any(name.startswith("mean.") for name in answers)
        assert all(np.isnan(one.low_H).all() for one in answers.values())
    assert not found.section and any("at least 2 texts" in note for note in found.notes)


def test_texts_too_short_are_refused_in_a_sentence():
    with pytest.raises(UserError, match="the longest has 3 tokens.*give texts of at least 4 tokens"):
        measure(BY_NAME["gpt2"].build(), some_texts(3, 2))


def test_the_model_is_left_as_it_was_and_progress_is_told():
    model, told = BY_NAME["gpt2"].build(), []
    texts = some_texts(12, 3, 12)
    before = {name: len(module._forward_pre_hooks) for name, module in model.named_modules()}
    phases = Phases(lambda done, of, note: told.append((done, of, note)))
    phases.plan({"moving tokens": 4})
    hidden.measure(replace(context_of(model, texts, batch_tokens=50), phases=phases))
    assert told == [(done, 4, "moving tokens") for done in (0, 2, 4)], "a text of three tokens has nothing to move"
    assert before == {name: len(module._forward_pre_hooks) for name, module in model.named_modules()}


@pytest.mark.parametrize(("lengths", "common"), [([7], 7), ([7, 5], 5), ([9, 5, 7], 7), ([999, 999, 3], 256)])
def test_half_of_the_texts_reach_the_common_length(lengths: list[int], common: int):
    assert common_length(lengths) == common
