"""Guess words: those hidden in a sentence if a net looks both ways, the next one if it only looks back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from wherewhat.corpora.words import SPECIAL, Words
from wherewhat.errors import UserError
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk
from wherewhat.tasks.stream import Ints
from wherewhat.training.evaluate import reading
from wherewhat.training.texts import JUDGING, SHORTEST, Bools, Encoded, askable

SHARE = 0.15  # of a sentence's words that are to be guessed, at least one
HIDDEN, REPLACED = 0.8, 0.1  # of these: as [mask], as another word; the rest are left as they are
AT_ONCE = 256  # sentences read together where nothing is learnt


@dataclass(frozen=True)
class Guess:
    """What a net reads, and the words that it has to guess. G is a word to be guessed."""

    input_BT: Tensor
    real_BT: Tensor | None  # None: no padding
    slots_G: Tensor  # where the net has to know them, counted over the whole batch
    target_G: Tensor


def masked_words(ids_BT: Ints, real_BT: Bools, words: Words, rng: np.random.Generator) -> Guess:
    """Hide 15 % of the words of every sentence, at least one: most as [mask], some as another word, some not at all.

    A word that is not in the vocabulary is never asked for. How many are hidden is rounded at random, so that it is
    15 % on average whatever the length.
    """
    known_BT = real_BT & (ids_BT != words.unknown)
    known_B = known_BT.sum(1)
    count_B = np.minimum(known_B, np.maximum(1, np.floor(SHARE * known_B + rng.random(len(known_B)))))
    draw_BT = np.where(known_BT, rng.random(real_BT.shape), 2.0)
    chosen_BT = draw_BT.argsort(1).argsort(1) < count_B[:, None]
    how_BT = rng.random(real_BT.shape)
    other_BT = rng.integers(len(SPECIAL), len(words), real_BT.shape)
    input_BT = np.where(chosen_BT & (how_BT < HIDDEN), words.mask, ids_BT)
    input_BT = np.where(chosen_BT & (how_BT >= 1 - REPLACED), other_BT, input_BT)
    return _guess(input_BT, real_BT, chosen_BT, ids_BT)


def next_words(ids_BT: Ints, real_BT: Bools, words: Words, rng: np.random.Generator) -> Guess:
    """Every word of the vocabulary but the first is to be known from those before it."""
    known_BT = real_BT & (ids_BT != words.unknown)
    return _guess(ids_BT[:, :-1], real_BT[:, :-1], known_BT[:, 1:], ids_BT[:, 1:])


def _guess(input_BT: Ints, real_BT: Bools, asked_BT: Bools, target_BT: Ints) -> Guess:
    real = None if real_BT.all() else torch.from_numpy(real_BT)
    slots_G = torch.from_numpy(asked_BT.ravel().nonzero()[0])
    return Guess(torch.from_numpy(input_BT), real, slots_G, torch.from_numpy(target_BT[asked_BT]))


def guess_for(rows: tuple[Ints, Bools], words: Words, rng: np.random.Generator, *, causal: bool) -> Guess:
    """What a net that only looks back, or one that looks both ways, has to guess in some sentences."""
    ask = next_words if causal else masked_words
    return ask(*rows, words, rng)


def word_logits(net: Trunk, guess: Guess) -> Tensor:
    """logits_GV where a word is to be guessed; those of the other tokens are not computed."""
    hidden_BTD = net.hidden(guess.input_BT, guess.real_BT)
    logits_GV: Tensor = net.head(hidden_BTD.flatten(0, 1)[guess.slots_G])
    return logits_GV


def word_losses(net: Trunk, words: Words, sentences: Sequence[Sequence[str]], *, seed: int) -> list[float]:
    """By how many nats the words to be guessed in a sentence surprise on average; the same ones for the same seed.

    Sentences without a word to guess, because the vocabulary has none of theirs, are left out.
    """
    encoded = encode_words(net.config, words, sentences, shortest=SHORTEST)
    encoded = encoded.kept(askable(encoded, words))
    if not len(encoded):
        raise UserError("no sentence has a word that the net knows; give sentences of the kind it has read")
    loss_N = np.zeros(len(encoded))
    for rows_B, guess, logits_GV in answers(net, words, encoded, seed=seed):
        loss_G = cross_entropy(logits_GV, guess.target_G, reduction="none").double().numpy()
        row_G = (guess.slots_G // guess.input_BT.shape[1]).numpy()
        count_B = np.bincount(row_G, minlength=len(rows_B))
        loss_N[rows_B] = np.bincount(row_G, loss_G, minlength=len(rows_B)) / count_B
    return [float(loss) for loss in loss_N]


@torch.no_grad()
def answers(net: Trunk, words: Words, encoded: Encoded, *, seed: int) -> Iterator[tuple[Ints, Guess, Tensor]]:
    """Some sentences at a time, the short before the long: which ones, what was asked and logits_GV."""
    with reading(net):
        for number, rows_B in enumerate(in_pieces(encoded)):
            rng = np.random.default_rng([seed, JUDGING, number])
            guess = guess_for(encoded.rows(rows_B), words, rng, causal=net.config.causal)
            yield rows_B, guess, word_logits(net, guess)


def in_pieces(encoded: Encoded) -> list[Ints]:
    """All sentences, those alike in length together, a few at a time so that memory does not grow with them."""
    order_N = encoded.lengths_N.argsort(kind="stable")
    return [order_N[first : first + AT_ONCE] for first in range(0, len(order_N), AT_ONCE)]


def encode_words(net: NetConfig, words: Words, sentences: Sequence[Sequence[str]], *, shortest: int = 1) -> Encoded:
    """Sentences as such a net reads them, cut to what it was made for."""
    if len(words) != net.vocabulary:
        raise UserError(
            f"the net knows {net.vocabulary} token ids and the vocabulary has {len(words)}; "
            "use the words that the net has learnt"
        )
    encoded = Encoded.of(words.ids(sentence)[: net.length] for sentence in sentences)
    if not len(encoded):
        raise UserError("there is no sentence to read; give at least one")
    if encoded.lengths_N.min() < shortest:
        number = int(encoded.lengths_N.argmin())
        raise UserError(
            f"sentence {number} has {encoded.lengths_N[number]} word(s); give sentences of at least {shortest}"
        )
    return encoded
