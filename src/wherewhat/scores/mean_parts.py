"""Decompose logits by means over texts: what a slot contributes in every text, and what this text adds to it.

A vector of one text in one slot is the mean over everything, plus what all texts have in this slot, plus the rest.
The split passes through linear maps unchanged, so it is made where queries and keys meet.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from wherewhat.logits.additive import AdditiveLogits
from wherewhat.logits.base import Logits, dot, repeat_groups
from wherewhat.logits.rotary import RotaryLogits
from wherewhat.scores.base import HIDDEN_STATE, Score
from wherewhat.scores.exact import ROUNDING

PARTS = ("const_pos", "const_con", "pos_pos", "pos_con", "con_pos", "con_con")  # query, then key

_QUERY = {
    "const": "the component that all queries share",
    "pos": "the component of the query's slot",
    "con": "what this text adds to the query",
}
_KEY = {"pos": "the component of the key's slot", "con": "what this text adds to the key"}


def _score(name: str, asks: str, chance: str) -> Score:
    return Score(
        name=f"mean.{name}",
        kind=HIDDEN_STATE,
        asks=asks,
        low="no influence on which keys a query prefers; below 0, it counteracts the preference",
        high="all of it",
        paper="after Song & Zhong, arXiv 2310.04861",
        chance=chance,
        range=(-1.0, 1.0),
    )


_WHICH = "How much of the variance of logits over keys comes from {} times {}? The six parts sum to 1."
MEAN_SCORES = (
    *(
        _score(f"{query}_{key}", _WHICH.format(_QUERY[query], _KEY[key]), "not known")
        for query, key in (part.split("_") for part in PARTS)
    ),
    _score(
        "position",
        "How much of the variance of logits over keys comes from their slots, equally in all texts?",
        "keys that do not depend on their slots: 1 / texts",
    ),
)


@dataclass(frozen=True)
class Sides:
    """Queries and keys of the same slots, of one text or in the mean over texts; rotary ones before rotation."""

    query_HTC: Tensor  # rotary pairs: all real parts, then all imaginary parts
    key_GTC: Tensor
    scale: float
    phase_TF: Tensor | None = None
    query_phase_TF: Tensor | None = None  # the rotation of queries, where it differs from that of keys

    def since(self, first: int) -> "Sides":
        """Only the slots from `first` on."""
        phases = (None if phase_TF is None else phase_TF[first:] for phase_TF in (self.phase_TF, self.query_phase_TF))
        return Sides(self.query_HTC[:, first:], self.key_GTC[:, first:], self.scale, *phases)

    def rotate_queries(self, query_HTC: Tensor) -> Tensor:
        """Queries after rotation; unchanged if the logits are not rotary."""
        return _rotate(query_HTC, self.phase_TF if self.query_phase_TF is None else self.query_phase_TF)

    def rotate_keys(self, key_GTC: Tensor) -> Tensor:
        """Keys after rotation; unchanged if the logits are not rotary."""
        return _rotate(key_GTC, self.phase_TF)


def sides_of(logits: Logits | None) -> Sides | None:
    """The queries and keys of all slots, if logits are their products and nothing else."""
    if isinstance(logits, AdditiveLogits) and logits.slot_HQK is None:
        return Sides(logits.query_HQC, logits.key_GKC, logits.scale)
    if isinstance(logits, RotaryLogits):
        phases = logits.phase_KF, logits.query_phase_KF
        return Sides(_real(logits.query_HQF), _real(logits.key_GKF), logits.scale, *phases)
    return None


def mean_parts(text: Sides, mean: Sides, allowed_TK: Tensor) -> tuple[Tensor, Tensor]:
    """How far each of the PARTS goes with the logits of a text, product_6H, and their sum of squares, total_H.

    The rows of `allowed_TK` say which keys a query is measured over, each row around its own mean; a row without keys
    is left out. The six products add up to the total: over several texts, sum both and divide. The mean key of a slot
    counts as position whole: its constant part is the same all along a row, or, if rotated, differs by slot alone.
    """
    query_HTC, key_GTC = text.rotate_queries(text.query_HTC), text.rotate_keys(text.key_GTC)
    total_HTK = _centred(dot(query_HTC, key_GTC) * text.scale, allowed_TK)
    constant_HTC = text.rotate_queries(mean.query_HTC.mean(1, keepdim=True).expand_as(mean.query_HTC))
    slot_HTC, slot_GTC = text.rotate_queries(mean.query_HTC), text.rotate_keys(mean.key_GTC)
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


def _rotate(x_HTC: Tensor, phase_TF: Tensor | None) -> Tensor:
    """Every vector rotated by the angle of its slot; unchanged if there is no rotation."""
    if phase_TF is None:
        return x_HTC
    real_HTF, imaginary_HTF = x_HTC.chunk(2, -1)
    return _real(torch.complex(real_HTF, imaginary_HTF) * phase_TF)


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
