"""Moving tokens in a net whose circuits are written by hand, so that what every head goes by is known.

Layer 0 has a head that copies the token before into a room of its own; heads of layer 1 read that room. The heads
look at a slot, at a token, at the token before, or at several of these, by logits that are drawn once.
"""

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2Model

from wherewhat.capture.loading.load import wrap_module
from wherewhat.capture.tokens.encode import EncodedTexts
from wherewhat.profiling.hidden_states import moved_tokens
from wherewhat.profiling.hidden_states.moved_tokens import move_tokens
from wherewhat.profiling.measurements.base import ProfileContext
from wherewhat.profiling.settings import ProfileSettings
from wherewhat.scores.input_level import SCRAMBLED, SHIFTED

WORDS, SLOTS, HEADS, WIDTH = 26, 26, 4, 104  # a token, a slot and the token before are each one of so many
CHANNELS = WIDTH // HEADS
TOKEN, SLOT, BEFORE = slice(0, WORDS), slice(WORDS, WORDS + SLOTS), slice(WORDS + SLOTS, 2 * WORDS + SLOTS)
COPIES, SHARP = 0, 80.0  # the head of layer 0 that looks at the slot before, and nowhere else by 35 orders of magnitude
BY_SLOT, BY_TOKEN, BY_BOTH, BY_BEFORE = 1, 2, 3, 0  # heads; the last, in layer 1, is what an induction head does

rng = np.random.default_rng(0)
SLOT_LOGIT, TOKEN_LOGIT, BEFORE_LOGIT = rng.normal(size=SLOTS), rng.normal(size=WORDS), rng.normal(size=WORDS)
# In layer 0 the first head copies; else: how much each head goes by slot, by token and by the token before.
MIXES = {(0, 1): (1, 0, 0), (0, 2): (0, 1, 0), (0, 3): (1, 1, 0)}
MIXES |= {(1, 0): (0, 0, 1), (1, 1): (1, 0, 0), (1, 2): (0, 1, 0), (1, 3): (1, 1, 1)}


def circuit() -> GPT2Model:
    """The net. Everything it reads is a sum of as many ones in as many rooms, so its norms can be undone exactly."""
    config = GPT2Config(
        vocab_size=WORDS, n_positions=SLOTS, n_embd=WIDTH, n_layer=2, n_head=HEADS, resid_pdrop=0, embd_pdrop=0
    )
    model = GPT2Model(config).double().eval()
    for parameter in model.parameters():
        torch.nn.init.zeros_(parameter)
    with torch.no_grad():
        model.wte.weight[:, TOKEN] = torch.eye(WORDS)
        model.wpe.weight[:, SLOT] = torch.eye(SLOTS)
        for layer, (block, ones) in enumerate(zip(model.h, (2, 3), strict=True)):
            mean = ones / WIDTH
            block.ln_1.weight.fill_((mean - mean**2 + config.layer_norm_epsilon) ** 0.5)
            block.ln_1.bias.fill_(mean)
            for (at, head), weights in MIXES.items():
                if at == layer:
                    _look_at(block.attn.c_attn, head, weights)
        _copy(model.h[0].attn)
    return model


def _look_at(c_attn: torch.nn.Module, head: int, weights: tuple[int, int, int]) -> None:
    """One channel: the query is 1, the key what is to be the logit."""
    query, key = head * CHANNELS, WIDTH + head * CHANNELS
    c_attn.bias[query] = CHANNELS**0.5
    logits = (SLOT_LOGIT, TOKEN_LOGIT, BEFORE_LOGIT)
    for room, weight, logit in zip((SLOT, TOKEN, BEFORE), weights, logits, strict=True):
        c_attn.weight[room, key] = weight * torch.from_numpy(logit)


def _copy(attention: torch.nn.Module) -> None:
    """Slot i asks for slot i - 1, and what is copied from there is the token."""
    ahead = torch.cat((torch.eye(SLOTS)[:1], torch.eye(SLOTS)[:-1]))
    attention.c_attn.weight[SLOT, :SLOTS] = SHARP * CHANNELS**0.5 * ahead.double()
    attention.c_attn.weight[SLOT, WIDTH : WIDTH + SLOTS] = torch.eye(SLOTS).double()
    attention.c_attn.weight[TOKEN, 2 * WIDTH : 2 * WIDTH + WORDS] = torch.eye(WORDS).double()
    attention.c_proj.weight[:WORDS, BEFORE] = torch.eye(WORDS).double()


def text(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).permutation(WORDS)


def truth(ids: np.ndarray, order: np.ndarray, weights: tuple[int, int, int]) -> np.ndarray:
    """Position, symbol and the rest from the logits as they were drawn, by plain loops; slot 0 and the query stay."""
    m, table = len(order), {}
    for run in order:
        moved = [ids[0], *(ids[1 + k] for k in run)]
        by_slot, by_token, by_before = weights
        logit = [
            by_slot * SLOT_LOGIT[j] + by_token * TOKEN_LOGIT[moved[j]] + by_before * BEFORE_LOGIT[moved[j - 1]]
            for j in range(1, m + 1)
        ]
        for j, k in enumerate(run):
            table[int(k), j] = logit[j] - np.mean(logit)
    a = np.array([[table[k, j] for j in range(m)] for k in range(m)])
    r, c = a.mean(1), a.mean(0)
    rest = a - r[:, None] - c[None] + a.mean()
    parts = np.array([c.var(), r.var(), (rest**2).mean()])
    return parts / parts.sum()


@pytest.fixture(scope="module")
def found() -> dict[tuple[int, int, str], np.ndarray]:
    """By layer, head and square, the three shares."""
    accounts = move_tokens(_context(torch.from_numpy(text()))).layers
    return {
        (site.ordinal, head, square): np.array(
            [account.values[f"{square}{part}_share"][0][head] for part in ("position", "symbol", "other")]
        )
        for site, account in accounts.items()
        for head in range(HEADS)
        for square in (SCRAMBLED, SHIFTED)
    }


def _context(*texts: torch.Tensor) -> ProfileContext:
    return ProfileContext(wrap_module(circuit()), EncodedTexts.of(texts), ProfileSettings(batch_tokens=4096))


def squares() -> dict[str, np.ndarray]:
    """The orders that were run, read off the ids that the model was given."""
    seen: list[torch.Tensor] = []
    context = _context(torch.from_numpy(text()))
    context.model.module.register_forward_pre_hook(lambda *call: seen.append(call[2]["input_ids"]), with_kwargs=True)
    move_tokens(context)
    ids_NT, m = torch.cat([ids_BT for ids_BT in seen if ids_BT.shape[1] == SLOTS]).numpy(), SLOTS - 2
    ids_NT = ids_NT[-(2 * m + _swaps(ids_NT, m)) :]
    site = {int(token): k for k, token in enumerate(text()[1:-1])}
    order = np.array([[site[int(token)] for token in ids_T[1:-1]] for ids_T in ids_NT])
    return {SHIFTED: order[:m], SCRAMBLED: order[m : 2 * m]}


def _swaps(ids_NT: np.ndarray, m: int) -> int:
    """How many runs at the end exchange two tokens and no more."""
    two = ((ids_NT != text()).sum(1) == 2)[::-1]
    return int(two.argmin()) if not two.all() else len(two)


@pytest.mark.parametrize("square", [SCRAMBLED, SHIFTED])
def test_shares_are_those_of_the_logits_written_into_the_net(
    found: dict[tuple[int, int, str], np.ndarray], square: str
):
    order = squares()[square]
    assert all(sorted(line) == list(range(SLOTS - 2)) for line in (*order, *order.T)), "every token once in every slot"
    for (layer, head), weights in MIXES.items():
        theirs = truth(text(), order, weights)
        np.testing.assert_allclose(found[layer, head, square], theirs, atol=1e-9, err_msg=f"L{layer}H{head}")


def test_a_head_that_reads_neighbours_goes_by_no_slot(found: dict[tuple[int, int, str], np.ndarray]):
    """Scrambled, neighbours are neither slot nor token; shifted, they come along with the token."""
    chance = 1 / (SLOTS - 2)
    alone, together = (found[1, BY_BEFORE, square] for square in (SCRAMBLED, SHIFTED))
    assert alone[0] < 2 * chance and alone[1] < 3 * chance and alone[2] > 0.8
    assert together[0] < 2 * chance and together[1] > 0.8


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("square", [SCRAMBLED, SHIFTED])
def test_heads_of_one_kind_are_pure_in_any_layer(
    found: dict[tuple[int, int, str], np.ndarray], layer: int, square: str
):
    np.testing.assert_allclose(found[layer, BY_SLOT, square], [1, 0, 0], atol=1e-9)
    np.testing.assert_allclose(found[layer, BY_TOKEN, square], [0, 1, 0], atol=1e-9)


def test_where_nothing_is_read_off_neighbours_both_squares_agree(found: dict[tuple[int, int, str], np.ndarray]):
    for head in (BY_SLOT, BY_TOKEN, BY_BOTH):
        np.testing.assert_allclose(found[0, head, SCRAMBLED], found[0, head, SHIFTED], atol=1e-9)
    by_slot, by_token = np.var(SLOT_LOGIT[1:-1]), np.var(TOKEN_LOGIT[text()[1:-1]])
    expected = [by_slot / (by_slot + by_token), by_token / (by_slot + by_token), 0]
    np.testing.assert_allclose(found[0, BY_BOTH, SCRAMBLED], expected, atol=1e-9)


def test_the_order_of_texts_changes_nothing():
    texts = [torch.from_numpy(text(seed)) for seed in range(11)]
    shares = []
    for some in (texts, texts[::-1]):
        moved = move_tokens(_context(*some))
        account = next(account for site, account in moved.layers.items() if site.ordinal == 1)
        assert len(account.values["input.position_share"]) == moved_tokens.MOVED_TEXTS
        shares.append(sum(value_H.sum() for value_H in account.values["input.other_share"].values()))
    assert shares[0] == pytest.approx(shares[1], rel=1e-12)
