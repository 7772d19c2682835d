"""Runs that look like real ones: heads of a few kinds, where they look, and the scores that follow from it."""

import math
import random
from dataclasses import dataclass
from typing import Any

import polars as pl
from synthetic_where import add_where, with_where

from wherewhat.tables.schema import FREQUENCIES

KINDS = ("previous", "next", "self", "sink", "broad", "local", "far", "induction", "duplicate")
SCORES = {
    "locality": (
        "Is attention near the query?",
        "all mass far away",
        "all mass on the query itself",
        "arXiv:2010.12566",
    ),
    "symmetry": ("Does it look left as much as right?", "one side only", "the same on both sides", "arXiv:2010.12566"),
    "balance": (
        "Is the mass left of the query as large as the mass right of it?",
        "one side only",
        "evenly split",
        "this project",
    ),
    "entropy": (
        "How widely is attention spread?",
        "all mass on one token",
        "spread evenly over every key",
        "arXiv:1906.04341",
    ),
    "sink": (
        "How much falls on the first token?",
        "none on the first token",
        "all mass on the first token",
        "arXiv:2309.17453",
    ),
    "self": ("How much does a token look at itself?", "never at itself", "only at itself", "arXiv:1906.04341"),
    "previous": (
        "How much falls on the token before?",
        "never on the token before",
        "all mass on the token before",
        "arXiv:1905.09418",
    ),
    "next": (
        "How much falls on the token after?",
        "never on the token after",
        "all mass on the token after",
        "arXiv:1905.09418",
    ),
    "offset_peak": (
        "Is the strongest key always at the same offset?",
        "at no offset more than others",
        "always at one offset",
        "arXiv:1905.09418",
    ),
    "duplicate": (
        "How much falls on earlier copies of the same token?",
        "none on copies",
        "all mass on copies",
        "Olsson et al. 2022",
    ),
    "induction": (
        "How much falls on what followed an earlier copy?",
        "none there",
        "all mass there",
        "Olsson et al. 2022",
    ),
}
TEXT = "the cat sat on the mat because it was warm and the cat was tired ."


@dataclass(frozen=True)
class Shape:
    """What a synthetic model looks like."""

    model: str
    parts: tuple[tuple[str, int], ...]  # (part, layers)
    heads: int
    length: int
    causal: tuple[str, ...] = ("decoder",)
    turns: int = 0  # rotary frequencies a head; with some, where and what were measured
    learned: bool = False  # position sits in the hidden state


ENCODER = Shape("bert-base-uncased", (("encoder", 12),), 12, 128)
DECODER = Shape("stories-small", (("decoder", 4),), 4, 96)
BOTH = Shape("google/t5-small", (("encoder", 6), ("decoder", 6), ("cross", 6)), 8, 64)
LARGE = Shape("llama-like-32x32", (("decoder", 32),), 32, 512)
ONE = Shape("one-head", (("decoder", 1),), 1, 24)
ROTARY = Shape("rotary-small", (("decoder", 6),), 6, 96, turns=16)
LEARNED = Shape("learned-small", (("decoder", 4),), 4, 96, learned=True)
WIDE = Shape("rotary-12x12", (("decoder", 12),), 12, 128, turns=64)

Run = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, dict[str, Any]]
Row = dict[str, Any]


def run_of(shape: Shape, rng: random.Random) -> Run:
    """Make the tables and the manifest of a run."""
    heads: list[Row] = []
    offsets: list[Row] = []
    frequencies: list[Row] = []
    layers: list[Row] = []
    for part, depth in shape.parts:
        for within in range(depth):
            layer = len(layers)
            layers.append({"layer": layer, "part": part, "module": f"{part}.layer.{within}.attention"})
            for head in range(shape.heads):
                _head(shape, part, (layer, head), within / max(depth - 1, 1), rng, heads, offsets)
                if shape.turns or shape.learned:
                    add_where(shape, heads, frequencies, within / max(depth - 1, 1), rng)
    manifest = manifest_of(shape, layers)
    schema = dict.fromkeys(("value", "low", "high", "chance", "untrained"), pl.Float64)
    return (
        pl.DataFrame(heads, schema_overrides=schema, infer_schema_length=None),
        pl.DataFrame(
            offsets,
            schema={"model": pl.String, "layer": pl.Int64, "head": pl.Int64, "offset": pl.Int64, "mass": pl.Float64},
        ),
        pl.DataFrame(frequencies, schema=FREQUENCIES),
        with_where(manifest, shape, rng) if shape.turns or shape.learned else manifest,
    )


def _head(
    shape: Shape,
    part: str,
    where: tuple[int, int],
    depth: float,
    rng: random.Random,
    heads: list[dict[str, Any]],
    offsets: list[dict[str, Any]],
) -> None:
    causal = part in shape.causal
    kind = rng.choices(KINDS, weights=[3 - 2 * depth, 2 - depth, 1, 1 + 4 * depth, 3, 3, 1, 1 + 2 * depth, 1])[0]
    kind = {"next": "previous"}.get(kind, kind) if causal else kind
    strength = rng.betavariate(2, 1.6)
    mass = _mass(kind, strength, causal, shape.length, rng)
    layer, head = where
    names = {"model": shape.model, "layer": layer, "head": head}
    if part != "cross":
        offsets.extend(names | {"offset": offset, "mass": one} for offset, one in mass.items())
    for score, (value, chance) in _scores(kind, strength, causal, mass, shape.length, rng).items():
        silent = (causal and score in {"next", "symmetry", "balance"}) or (
            part == "cross" and score not in {"entropy", "sink"}
        )
        wide = 0.004 + 0.03 * rng.random() * math.sqrt(max(value * (1 - value), 0.01))
        spread = {"value": value, "low": max(0.0, value - wide), "high": min(1.0, value + wide), "chance": chance}
        spread["untrained"] = 0.98 * chance
        row = dict.fromkeys(spread) if silent else spread
        heads.append(names | {"score": score} | row | {"texts": 64, "windows": 64, "rows": 4096, "part": part})


def _mass(kind: str, strength: float, causal: bool, length: int, rng: random.Random) -> dict[int, float]:
    places = range(-length + 1, 1 if causal else length)
    peak = {"previous": -1, "next": 1, "self": 0, "local": 0, "far": -rng.randint(3, 12)}.get(kind)
    decay = {"local": 3.0, "far": 2.0}.get(kind, 0.35)
    rough = {o: 1 / (1 + abs(o) / 6) * (0.6 + 0.8 * rng.random()) for o in places}
    total = sum(rough.values())
    soft = {o: math.exp(-abs(o - peak) / decay) if peak is not None else 0.0 for o in places}
    focus = sum(soft.values()) or 1.0
    share = strength if peak is not None else 0.0
    return {o: share * soft[o] / focus + (1 - share) * rough[o] / total for o in places}


def _scores(
    kind: str, strength: float, causal: bool, mass: dict[int, float], length: int, rng: random.Random
) -> dict[str, tuple[float, float]]:
    def one(name: str) -> float:
        return strength * (0.8 + 0.2 * rng.random()) if kind == name else abs(rng.gauss(0.012, 0.01))

    even = (math.log(length) if causal else 1.0) * 2 / length
    left = sum(m for o, m in mass.items() if o < 0)
    right = sum(m for o, m in mass.items() if o > 0)
    evenly = 2 * min(left, right) / max(left + right, 1e-9)
    spread = -sum(m * math.log(m) for m in mass.values() if m > 0) / math.log(len(mass))
    return {
        "locality": (sum(m * 0.5 ** abs(o) for o, m in mass.items()), 3 / length),
        "symmetry": (evenly * (0.75 + 0.1 * rng.random()), 0.62),
        "balance": (evenly, 0.94),
        "entropy": (min(spread * (0.8 if kind in {"sink", "induction"} else 0.97), 1.0), 1.0),
        "sink": (one("sink"), even),
        "self": (mass[0], even / 2),
        "previous": (mass.get(-1, 0.0), even / 2),
        "next": (mass.get(1, 0.0), even / 2),
        "offset_peak": (min(1.0, max(mass.values()) * 1.1 + 0.03), 0.08),
        "duplicate": (one("duplicate"), even),
        "induction": (one("induction"), even),
    }


def manifest_of(shape: Shape, layers: list[dict[str, Any]]) -> dict[str, Any]:
    """Everything a real manifest says, invented."""
    words = TEXT.split(" ")
    return {
        "tool": "wherewhat",
        "version": "0.1.0",
        "command": f"wherewhat heads {shape.model} --text stories.txt --max-texts 64 --out runs/a",
        "settings": {"queries": 64, "max_texts": 64, "max_tokens": shape.length, "layers": None, "bootstrap": 1000},
        "model": {
            "id": shape.model,
            "family": "bert",
            "revision": "86b5e0934494bd15c9632b12f734a8a67f723594",
            "weights_hash": "sha256:5f1d2c4e8a90b7f6e3d2c1b0a9f8e7d6c5b4a3928170f6e5d4c3b2a190807f6e",
            "layers": len(layers),
            "heads": shape.heads * len(layers),
            "total_heads": shape.heads * len(layers),
            "parameters": 109_482_240,
        },
        "texts": {
            "source": "stories.txt",
            "hash": "sha256:9b74c9897bac770ffc029102a200c5de",
            "count": 64,
            "windows": 64,
            "tokens": 64 * shape.length,
            "example": [
                {"tokens": ["[CLS]", *words, "[SEP]"]},
                {"tokens": ["[CLS]", *words[4:], *words[:6], "\n", "[SEP]"]},
            ],
        },
        "seed": 0,
        "dtype": "float32",
        "device": "cpu",
        "versions": {
            "python": "3.12.3",
            "torch": "2.13.0",
            "transformers": "5.22.2",
            "polars": "2.1.0",
            "altair": "6.3.0",
        },
        "git_commit": "3f2a9c1",
        "seconds": 83.4,
        "peak_memory_bytes": 1_432_000_000,
        "layers": layers,
        "scores": {
            name: {
                "kind": "Attention",
                "asks": asks,
                "low": low,
                "high": high,
                "range": [0, 1],
                "paper": paper,
                "chance": "random logits" if name == "offset_peak" else "uniform",
            }
            for name, (asks, low, high, paper) in SCORES.items()
        },
        "notes": [
            "64 query rows were looked at in each text, spread evenly over its length.",
            "Rows that look at no earlier copy are left out of induction and duplicate.",
        ],
    }
