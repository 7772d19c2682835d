"""Made-up profiles to compare: every value is known, and no model is behind them."""

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from wherewhat.runs.registry import Profile
from wherewhat.tables.manifest.decode import decode
from wherewhat.tables.manifest.scores import ProfileManifest
from wherewhat.tables.schema import FREQUENCIES, HEADS, OFFSETS, frame

LAYERS, HEADS_EACH = 2, 3
Values = Mapping[str, Callable[[int, int], float]]  # by score, the value of a layer's head


def at(base: float, *, by_layer: float = 0.1, by_head: float = 0.01) -> Callable[[int, int], float]:
    """A score that grows with layer and head."""
    return lambda layer, head: base + by_layer * layer + by_head * head


def profile(model: str, scores: Values, *, reach: float = 0.02, part: str = "encoder", **more: Any) -> Profile:
    """A profile in which every interval reaches as far to both sides; delta has none."""
    rows = []
    for layer in range(more.pop("layers", LAYERS)):
        for head in range(HEADS_EACH):
            for name, value_of in scores.items():
                value, exact = value_of(layer, head), name.startswith("delta")
                ends = (None, None) if exact else (value - reach, value + reach)
                count = 0 if exact else 20
                rows.append((model, layer, head, name, value, *ends, 0.05, None, count, count, 8 * count, part))
    return Profile(
        frame(rows, HEADS), pl.DataFrame(schema=OFFSETS), pl.DataFrame(schema=FREQUENCIES), manifest(model, **more)
    )


def manifest(model: str, **more: Any) -> ProfileManifest:
    """The manifest of such a profile; `about` changes what it says of the model."""
    about = {"id": model, "family": "bert", "path": None, "layers": LAYERS, "heads": LAYERS * HEADS_EACH}
    raw = {
        "model": {**about, **more.pop("about", {})},
        "texts": {"source": "book.txt", "hash": "abc", "count": 20, "tokens": 400},
        "settings": {"queries": 64, "first": 1, "tau": [1e-4], "max_tokens": None},
        "dtype": "float32",
        "scores": {
            "identical.locality": {"range": [0, 1], "asks": "How near?"},
            "locality": {"range": [0, 1], "asks": "How near does the head look?"},
            "symmetry": {"range": [0, 1], "sides": True},
        },
        **more,
    }
    return decode(ProfileManifest, raw)
