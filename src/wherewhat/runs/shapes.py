"""What the manifest of every kind of run must look like: the fields that pages rely on, in the types they have.

How a shape is written: see `wherewhat.tables.reading`.
"""

from typing import Any

from wherewhat.tables.reading import ANY
from wherewhat.tables.schema import MOST

Shape = dict[str, Any]

COUNT = range(0, 10**15)
SIZE = range(0, MOST)  # of a model or a text: layers, heads, slots
TEXTS = [str]
NUMBERS = {ANY: float}  # by name
ANSWERS = {ANY: {"lead!": str, "rest!": str}}
MODEL: Shape = {
    "id": str,
    "family": str,
    "path": str,
    "revision": str,
    "weights_hash": str,
    "layers": SIZE,
    "heads": SIZE,
    "parameters": COUNT,
    "labels": TEXTS,
    "config": {ANY: object},
}
READ: Shape = {
    "source": str,
    "hash": str,
    "count": COUNT,
    "windows": COUNT,
    "tokens": COUNT,
    "example": [{"tokens": TEXTS}],
}
LAYERS = [{"layer!": SIZE, "part": str, "module": str, "logits": str, "reason": str}]
SCORES = {
    ANY: {"asks": str, "low": str, "high": str, "range": [float, float], "paper": str, "chance": str, "sides": bool}
}
CLAIMS = [{"claim!": str, "published": str, "ours": str, "verdict!": str, "why": str}]
MADE: Shape = {
    "kind": str,
    "files": TEXTS,
    "tool": str,
    "versions": {ANY: str},
    "platform": str,
    "git_commit": str,
    "command": str,
    "seed": int,
    "dtype": str,
    "device": str,
    "seconds": float,
    "peak_memory_bytes": COUNT,
    "notes": TEXTS,
    "settings": {ANY: object},
}
POSITIONAL: Shape = {
    "n": SIZE,
    "words": COUNT,
    "baselines": {ANY: (float, {ANY: (float, {ANY: (float, NUMBERS)})})},
    "layers": [
        {
            "layer!": SIZE,
            "source!": str,
            "n!": SIZE,
            "mask": str,
            "back": int,
            "ahead": int,
            "heads": NUMBERS,
            "together": NUMBERS,
            "paired": [float],
            "first": {"n!": SIZE, "heads!": NUMBERS, "together": NUMBERS},
        }
    ],
}
CORRESPONDENCE = [
    {"layer": SIZE, "x": str, "y": str, "points": COUNT, "rho": float, "low": float, "high": float},
]
PROFILE: Shape = MADE | {
    "model": MODEL,
    "texts": READ,
    "layers": LAYERS,
    "scores": SCORES,
    "swaps": {"tau": [(float, str)], "first": int, "swaps": str, "blocks": (str, {ANY: object})},
    "positional": POSITIONAL,
    "correspondence": CORRESPONDENCE,
    "untrained": {ANY: object},
    "random": {ANY: object},
}

NEARNESS = {"value!": float, "low": float, "high": float}
COMPARED: Shape = MADE | {
    "compared": [
        {"name!": str, "draws": COUNT, "step": int, "model": MODEL, "texts": READ, "command": str},
    ],
    "draws": TEXTS,
    "same_heads": bool,
    "intervals": TEXTS,
    "scores": SCORES,
    "chance": {ANY: NUMBERS},
    "over_heads": {ANY: object},
    "positional": POSITIONAL,
    "claims": CLAIMS,
    "texts": READ,
    "similar": [
        {
            "model!": str,
            "against!": str,
            "by!": str,
            "one to one!": NEARNESS,
            "shuffled": {"one to one!": NEARNESS},
            "scores": TEXTS,
            "any": float,
            "texts": SIZE,
            "rows": SIZE,
        },
    ],
}
EDITED: Shape = MADE | {
    "edit": {
        "told": str,
        "each": str,
        "heads": TEXTS,
        "layers": [SIZE],
        "frequencies": [
            {"operation!": str, "band!": str, "numbers": str, "of": SIZE, "wavelengths": [float], "layers": [SIZE]}
        ],
    },
    "model": MODEL,
    "texts": READ,
    "layers": LAYERS,
    "scores": SCORES,
    "predicts": str,
    "random": {"sequences": COUNT, "half": SIZE, "of": COUNT},
    "bands": [{"layer!": SIZE, "band!": str, "theta!": [float]}],
}

SPANS = [[int, int]]
SENTENCE: Shape = {
    "words": TEXTS,
    "swapped": TEXTS,
    "control": TEXTS,
    "order": [int],
    "control_order": [int],
    "spans": SPANS,
    "control_spans": SPANS,
    "roles": {ANY: [int, int]},
    "swapped_roles": {ANY: [int, int]},
}
SAID = {"label": str, "probability": float, "nats": float, "distance": float}
EXAMPLES = [
    {
        "data": str,
        "item": str,
        "label": str,
        "new": str,
        "side": str,
        "chosen": str,
        "sentences": [SENTENCE],
        "words": TEXTS,
        "from": SIZE,
        "to": SIZE,
        "looked": {ANY: SIZE},
        "head": {ANY: str},
        "said": {ANY: SAID},
    }
]
PROBED: Shape = MADE | {
    "probe!": str,
    "model": MODEL,
    "way": str,
    "asked": str,
    "said": str,
    "judged": str,
    "split": str,
    "data": [
        {
            "name": str,
            "source": str,
            "sentences": COUNT,
            "words": COUNT,
            "labels": {ANY: COUNT},
            "items": {f"{ANY}!": {"sentences": COUNT, "controls": COUNT, "left out": {f"{ANY}!": COUNT}}},
            "skipped": {ANY: COUNT},
            "rows": {ANY: COUNT},
            "hidden": {ANY: COUNT},
            "left": float,
            "distance": float,
            "copied": TEXTS,
            "dropped": [{"item!": str, "side": str, "rows!": COUNT}],
        }
    ],
    "chosen": [
        {"data!": str, "item!": str, "side": str, "kind!": str, "distance": str, "heads": TEXTS, "offsets": [object]}
    ],
    "examples": EXAMPLES,
    "claims": CLAIMS,
    "settings": {"least": COUNT, "offsets": [object], "selection": str},
}

ABOUT: dict[str, Shape] = {  # of each experiment
    "canonical": {"bounds": NUMBERS},
    "dynamics": {
        "layers": range(0, 1000),
        "frequencies": SIZE,
        "published": {
            "frequencies": {"of": SIZE, "number": [[int]], "letter": [[int]]},
            "bounds": {ANY: [[float, float]]},
        },
        **dict.fromkeys(("steps", "batch", "seeds", "length"), COUNT),
    },
    "locality": {
        "n": SIZE,
        "uniform": float,
        "seconds": float,
        "processes": COUNT,
        "answers": ANSWERS,
        "subjects": [{"name!": str, "family!": str, "w": float, "s": float, "encoding": str, "options": {ANY: object}}],
        "families": {ANY: str},
        "questions": [{"name!": str, "asks": str, "chance": float, "of roles": bool, "sharp": bool, "counted": bool}],
    },
    "syntax": {
        "subjects": [{"name!": str, "groups": TEXTS}],
        "groups": {ANY: str},
        "relations": TEXTS,
        "distances": {ANY: str},
        "anchors": {ANY: {"name!": str, "head!": float, "offset!": float}},
        "answers": ANSWERS,
        "seconds": float,
        "processes": COUNT,
    },
    "word-swap": {
        "subjects": [{"name!": str, "s": float, "encoding": str}],
        "groups": [[float, TEXTS]],
        "learnt": {ANY: TEXTS},
        "bag": NUMBERS,
        "seeds": COUNT,
        "answers": {ANY: {"lead": str, "rest": str}},
        "examples": EXAMPLES,
        "seconds": float,
        "processes": COUNT,
    },
    "control": {
        "model": MODEL,
        "texts": READ,
        "chosen": {ANY: TEXTS},
        "rule": str,
        "copying": str,
    },
}
REPRODUCED: Shape = MADE | {
    "reproduction!": str,
    "paper": str,
    "scale": str,
    "settings": {"steps": COUNT, "seeds": COUNT, "near": float},
    "about": {ANY: object},
    "claims": CLAIMS,
}


def reproduced(experiment: object) -> Shape:
    """The shape of an experiment's manifest, with what it alone tells."""
    return REPRODUCED | {"about": ABOUT.get(experiment, {ANY: object}) if isinstance(experiment, str) else {}}
