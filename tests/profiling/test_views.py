"""Which view answers what decides where a head looks: held against attention put together from one part alone."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from torch import Tensor

from wherewhat.capture.capture import capture
from wherewhat.capture.hooks.reader import AttentionRows
from wherewhat.capture.loading.load import LoadedModel, LoadSettings, load_by_name
from wherewhat.capture.tokens.batch import batches
from wherewhat.capture.tokens.encode import EncodedTexts, encode, own_texts
from wherewhat.profiling.accumulate import SwapSettings
from wherewhat.scores.base import weighted_mean
from wherewhat.scores.registry import ROW_SCORES as SCORES
from wherewhat.tables.texts import read_texts

VIEWS = {
    "attended": ("attended.position_share", "attended.symbol_share"),
    "plain": ("position_share", "symbol_share"),
    "published": ("positional", "symbolic"),
}


class Views:
    """By layer, how far each view leans to place, and how much better attention is rebuilt from slots than contents."""

    def __init__(self) -> None:
        self.rows: dict[int, dict[str, list[tuple[Tensor, Tensor]]]] = defaultdict(lambda: defaultdict(list))

    def see(self, attention_rows: AttentionRows) -> None:
        rows = SwapSettings((1e-4,), first=1, rows=8, max_swaps=1 << 14).prepare([attention_rows])
        if rows.exact is None:
            return
        here = self.rows[attention_rows.site.ordinal]
        for name in (name for pair in VIEWS.values() for name in pair):
            here[name].append(SCORES[name].rows(rows))
        index_Q = rows.measured_Q.nonzero()[:, 0]
        logits, swappable_QK = rows.logits.rows(index_Q), rows.swappable_QK[index_Q]
        moments = logits.moments(swappable_QK)
        actual, by_slot, by_content, even = (
            x_HQK.double().masked_fill(~swappable_QK, -torch.inf).softmax(-1)
            for x_HQK in (logits.actual_HQK, moments.slot_HQK, moments.content_HQK, torch.zeros_like(logits.actual_HQK))
        )
        for name, other in (("slot", by_slot), ("content", by_content), ("even", even)):
            apart_HQ = (actual - other).abs().sum(-1) / 2
            here[name].append((apart_HQ, torch.ones_like(apart_HQ)))

    def by_head(self, name: str) -> np.ndarray:
        layers = (self.rows[layer][name] for layer in sorted(self.rows))
        pooled = []
        for rows in layers:
            value_HQ, weight_HQ = (torch.cat(parts, -1) for parts in zip(*rows, strict=True))
            one_text_Q = torch.zeros(value_HQ.shape[1], dtype=torch.int64)
            pooled.append(weighted_mean(value_HQ, weight_HQ, one_text_Q)[:, 0])
        return torch.cat([value_H.double() for value_H in pooled]).numpy()

    @property
    def rebuilt(self) -> np.ndarray:
        """Positive where slots alone rebuild the attention better than contents alone."""
        return (self.by_head("content") - self.by_head("slot")) / self.by_head("even")


def views(model: LoadedModel, encoded: EncodedTexts) -> Views:
    found = Views()
    with capture(model.module, found.see) as captured:
        for batch in batches(encoded.ids, queries=64, seed=0):
            captured.read(batch)
    return found


def agreement(found: Views, view: str) -> tuple[float, float]:
    """Spearman's correlation over heads, and the share of heads that lean to the same side."""
    site, content = (found.by_head(name) for name in VIEWS[view])
    leans = site - content
    return float(spearmanr(leans, found.rebuilt)[0]), float(np.mean(np.sign(leans) == np.sign(found.rebuilt)))


def test_attended_shares_lean_as_rebuilt_attention_does_in_the_built_in_model():
    tiny = load_by_name("tiny", LoadSettings())
    correlation, sides = agreement(views(tiny, own_texts(tiny, 30, 0, None)), "attended")
    assert correlation > 0.9 and sides > 0.8


@pytest.mark.shared
def test_attended_shares_follow_rebuilt_attention_more_closely_than_plain_ones(shared: Path):
    model = load_by_name(str(shared / "models" / "stories260K"), LoadSettings())
    encoded = encode(model, read_texts(shared / "data" / "stories.txt"), max_tokens=256, max_texts=15)
    found = views(model, encoded)
    attended, plain = agreement(found, "attended"), agreement(found, "plain")
    assert attended[0] > 0.85 and attended[1] > 0.9
    assert attended[0] > plain[0] + 0.1
