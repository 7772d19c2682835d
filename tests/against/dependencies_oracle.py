"""Where heads look, the plain way: text by text through transformers' own `output_attentions`, loops over words."""

from collections.abc import Sequence

import numpy as np
import torch
from transformers import PreTrainedModel

from wherewhat.probing.dependencies.treebanks import NONE, EncodedSentence

PUNCTUATION = ("PUNCT", "punct")


def attentions(model: PreTrainedModel, ids: Sequence[int]) -> np.ndarray:
    """attention[layer, head, query, key] of one text; of an encoder with a decoder the encoder's."""
    model.set_attn_implementation("eager")
    given = torch.tensor([list(ids)])
    more = {"decoder_input_ids": given} if model.config.is_encoder_decoder else {}
    with torch.no_grad():
        found = model(input_ids=given, output_attentions=True, **more)
    layers = found.encoder_attentions if model.config.is_encoder_decoder else found.attentions
    return np.stack([layer[0].numpy() for layer in layers])


def between_words(attention: np.ndarray, unit_of: Sequence[int], kept: Sequence[int]) -> np.ndarray:
    """Of one head: to a word the sum over its pieces, from a word the mean; the diagonal stays."""
    found = np.zeros((len(kept), len(kept)))
    for i, a in enumerate(kept):
        for j, b in enumerate(kept):
            rows = [slot for slot, unit in enumerate(unit_of) if unit == a]
            columns = [slot for slot, unit in enumerate(unit_of) if unit == b]
            found[i, j] = np.mean([sum(attention[row, column] for column in columns) for row in rows])
    return found


def words_of(model: PreTrainedModel, ids: Sequence[int], unit_of: Sequence[int], kept: Sequence[int]) -> np.ndarray:
    """words[layer, head, i, j] of one text."""
    found = attentions(model, ids)
    return np.array([[between_words(head, unit_of, kept) for head in layer] for layer in found])


def kept_of(one: EncodedSentence) -> list[int]:
    """The units that are not punctuation."""
    pairs = zip(one.units.upos, one.units.deprel, strict=True)
    return [unit for unit, (tag, how) in enumerate(pairs) if tag != "PUNCT" and how.split(":")[0] != "punct"]


def reordered(one: EncodedSentence, order: Sequence[int]) -> tuple[list[int], list[int]]:
    """Token ids and units with the words in another order; what belongs to no word stays in its slot."""
    unit_of, ids = one.aligned.unit_of_T.tolist(), one.aligned.ids_T.tolist()
    moved = [slot for unit in order for slot in range(len(ids)) if unit_of[slot] == unit]
    waiting = iter(moved)
    slots = [slot if unit_of[slot] == NONE else next(waiting) for slot in range(len(ids))]
    return [ids[slot] for slot in slots], [unit_of[slot] for slot in slots]


def argmax(row: np.ndarray, itself: int, among: Sequence[int]) -> int:
    """The word with the most attention, itself left out; the first of equals in the order of `among`."""
    best = among[0]
    for word in among:
        mine, other = (0.0 if word == itself else row[word]), (0.0 if best == itself else row[best])
        if mine > other:
            best = word
    return best


def looks(words: np.ndarray, among: Sequence[int] | None = None) -> np.ndarray:
    """look[word, layer * heads + head]."""
    flat = words.reshape(-1, *words.shape[2:])
    order = among if among is not None else range(words.shape[-1])
    return np.array([[argmax(head[word], word, list(order)) for head in flat] for word in range(words.shape[-1])])


def correlations(a: np.ndarray, b: np.ndarray, causal: bool) -> np.ndarray:
    """Pearson's r of every head over pairs of words."""
    n = a.shape[-1]
    pairs = [(i, j) for i in range(n) for j in range(n) if (j < i if causal else j != i)]
    found = []
    for x, y in zip(a.reshape(-1, n, n), b.reshape(-1, n, n), strict=True):
        x, y = (np.array([one[i, j] for i, j in pairs]) for one in (x, y))
        x, y = x - x.mean(), y - y.mean()
        with np.errstate(invalid="ignore"):  # of a single pair there is none
            found.append((x * y).sum() / np.sqrt((x**2).sum() * (y**2).sum()))
    return np.array(found)
