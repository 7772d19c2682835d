"""Take logits apart by means over texts: what a slot always brings, and what this text brings to it.

A vector of one text in one slot is the mean over everything, plus what all texts have in this slot, plus the rest.
The split passes through linear maps unchanged, so it is made where queries and keys meet.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from wherewhat.logits.additive import Still
from wherewhat.logits.base import Logits
from wherewhat.logits.grouped import dot, repeat_groups
from wherewhat.logits.rotary import Turned
from wherewhat.scores.exact import ROUNDING

PARTS = ("const_pos", "const_con", "pos_pos", "pos_con", "con_pos", "con_con")  # query, then key

_QUERY = {
    "const": "what all queries have in common",
    "pos": "what the query's slot brings",
    "con": "what the text brings to the query",
}
_KEY = {"pos": "what the key's slot brings", "con": "what the text brings to the key"}
_COMMON = {
    "low": "no part in which keys a query prefers; below 0, it works against them",
    "high": "all of it",
    "paper": "after Song & Zhong, arXiv 2310.04861",
}


def _about(part: str) -> dict[str, str]:
    query, key = part.split("_")
    asks = f"How much of what tells keys apart is {_QUERY[query]}, meeting {_KEY[key]}? The six parts add up to 1."
    return {**_COMMON, "asks": asks, "chance": "not known"}


ABOUT = {f"mean.{part}": _about(part) for part in PARTS} | {
    "mean.position": {
        **_COMMON,
        "asks": "How much of what tells keys apart do they have from their slots, the same in all texts?",
        "chance": "keys that know nothing of slots: 1 / texts",
    }
}


@dataclass(frozen=True)
class Sides:
    """Queries and keys of the same slots, of one text or in the mean over texts; rotary ones before they turn."""

    query_HTC: Tensor  # rotary pairs: all real parts, then all imaginary parts
    key_GTC: Tensor
    scale: float
    turn_TF: Tensor | None = None
    query_turn_TF: Tensor | None = None  # what queries are turned by, where that is not what keys are

    def since(self, first: int) -> "Sides":
        """Only the slots from `first` on."""
        turns = (None if turn_TF is None else turn_TF[first:] for turn_TF in (self.turn_TF, self.query_turn_TF))
        return Sides(self.query_HTC[:, first:], self.key_GTC[:, first:], self.scale, *turns)

    def turned_query(self, query_HTC: Tensor) -> Tensor:
        """Queries as they are when they meet the keys."""
        return _turned(query_HTC, self.turn_TF if self.query_turn_TF is None else self.query_turn_TF)

    def turned_key(self, key_GTC: Tensor) -> Tensor:
        """Keys as they are when they meet the queries."""
        return _turned(key_GTC, self.turn_TF)


def sides_of(logits: Logits | None) -> Sides | None:
    """The queries and keys of all slots, if logits are their products and nothing else."""
    if isinstance(logits, Still) and logits.slot_HQK is None:
        return Sides(logits.query_HQC, logits.key_GKC, logits.scale)
    if isinstance(logits, Turned):
        turns = logits.turn_KF, logits.query_turn_KF
        return Sides(_real(logits.query_HQF), _real(logits.key_GKF), logits.scale, *turns)
    return None


def mean_parts(text: Sides, mean: Sides, allowed_TK: Tensor) -> tuple[Tensor, Tensor]:
    """How far each of the PARTS goes with the logits of a text, product_6H, and their sum of squares, total_H.

    The rows of `allowed_TK` say which keys a query is measured over, each row around its own mean; a row without keys
    is left out. The six products add up to the total: over several texts, sum both and divide. The mean key of a slot
    counts as position whole: its constant part is the same all along a row, unless it turns, and then by slot alone.
    """
    query_HTC, key_GTC = text.turned_query(text.query_HTC), text.turned_key(text.key_GTC)
    total_HTK = _centred(dot(query_HTC, key_GTC) * text.scale, allowed_TK)
    constant_HTC = text.turned_query(mean.query_HTC.mean(1, keepdim=True).expand_as(mean.query_HTC))
    slot_HTC, slot_GTC = text.turned_query(mean.query_HTC), text.turned_key(mean.key_GTC)
    queries = (constant_HTC, slot_HTC - constant_HTC, query_HTC - slot_HTC)
    # Σ_ij (q_i · k_j) total_ij = Σ_i q_i · (Σ_j total_ij k_j): no part has to be written out as a matrix.
    drawn = [total_HTK @ repeat_groups(x_GTC, len(query_HTC)) for x_GTC in (slot_GTC, key_GTC - slot_GTC)]
    products = [(query_HTC * drawn_HTC).sum((-1, -2)) * text.scale for query_HTC in queries for drawn_HTC in drawn]
    return torch.stack(products), total_HTK.square().sum((-1, -2))


def _centred(logits_HTK: Tensor, allowed_TK: Tensor) -> Tensor:
    """Logits around the mean of their row, 0 on keys left out and for heads that tell no keys apart."""
    counts_T1 = allowed_TK.sum(-1, keepdim=True).clamp_min(1)
    kept_HTK = logits_HTK.masked_fill(~allowed_TK, 0.0)
    centred_HTK = (kept_HTK - kept_HTK.sum(-1, keepdim=True) / counts_T1).masked_fill(~allowed_TK, 0.0)
    noise_H = ROUNDING * torch.finfo(logits_HTK.dtype).eps * kept_HTK.abs().amax((-1, -2))
    flat_H = centred_HTK.square().sum((-1, -2)) <= noise_H.square() * allowed_TK.sum()
    return centred_HTK.masked_fill(flat_H[:, None, None], 0.0)


def _real(x_HTF: Tensor) -> Tensor:
    return torch.cat((x_HTF.real, x_HTF.imag), -1)


def _turned(x_HTC: Tensor, turn_TF: Tensor | None) -> Tensor:
    """Every vector as it is when it meets the others: turned by the angle of its slot, if there is one."""
    if turn_TF is None:
        return x_HTC
    real_HTF, imaginary_HTF = x_HTC.chunk(2, -1)
    return _real(torch.complex(real_HTF, imaginary_HTF) * turn_TF)


@dataclass
class HiddenSums:
    """What has to be kept of the hidden vectors of many texts of one length to divide their variance."""

    sum_TD: Tensor | None = None
    square: float = 0.0  # sum over texts of the mean square length of their vectors
    context: float = 0.0  # sum over texts of the square length of their mean vector
    texts: int = 0

    def add(self, x_BTD: Tensor) -> None:
        """Some more texts."""
        x_BTD = x_BTD.double()
        self.sum_TD = x_BTD.sum(0) if self.sum_TD is None else self.sum_TD + x_BTD.sum(0)
        self.square += float(x_BTD.square().sum(-1).mean(1).sum())
        self.context += float(x_BTD.mean(1).square().sum())
        self.texts += len(x_BTD)

    def shares(self) -> dict[str, float]:
        """What slot, text and neither explain of the variance, and the slot's without the noise of few texts."""
        assert self.sum_TD is not None
        mean_TD = self.sum_TD / self.texts
        middle = float(mean_TD.mean(0).square().sum())
        total = self.square / self.texts - middle
        position = _ratio(float(mean_TD.square().sum(-1).mean()) - middle, total)
        context = _ratio(self.context / self.texts - middle, total)
        corrected = position - _ratio(1 - position, self.texts - 1)
        return {"pos": position, "ctx": context, "resid": 1 - position - context, "pos_corrected": corrected}


def _ratio(part: float, total: float) -> float:
    return part / total if total > 0 else float("nan")
