"""Relevance as `wherewhat attribute` writes it, without a model: every number is known."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from wherewhat.tables.schema import RELEVANCE, frame

TOKENS = ("<s>", "▁Once", "▁up", "on", "▁<script>alert(1)</script>", "▁her")
TOKEN = (0.5, -1.0, 0.25, 0.0, 3.0, 8.0)
ROTATION = ((0.0, 0.1, -0.2, 0.0, 0.3, 0.4), (0.0, 0.0, 0.1, 0.0, 0.0, 0.2))  # by layer
HEADS = ((0.1, 0.2), (0.3, -0.1))
FREQUENCIES = ((0.3, 0.1, 0.2), (0.0, 0.2, 0.1))
METHODS = {
    "pa-lrp": {"about": "AttnLRP with positions as inputs", "positions": True},
    "attnlrp": {"about": "relevance through attention", "positions": False},
}
Row = tuple[object, ...]


def by_slot(source: str, layer: int | None, values: Sequence[float], method: str, output: int, text: int) -> list[Row]:
    return [
        (text, token, slot, source, layer, method, value, output, "▁to", None, None)
        for slot, (token, value) in enumerate(zip(TOKENS, values, strict=True))
    ]


def summed(layers: Sequence[Sequence[float]], column: str, method: str, output: int, text: int) -> list[Row]:
    """By head or by frequency."""
    places = (lambda at: (at, None)) if column == "head" else (lambda at: (None, at))
    return [
        (text, None, None, "rotation", layer, method, value, output, "▁to", *places(at))
        for layer, values in enumerate(layers)
        for at, value in enumerate(values)
    ]


def rows_of(method: str, output: int = 0, text: int = 0, *, times: float = 1.0) -> list[Row]:
    """All rows of one explanation; only pa-lrp gives positions relevance."""
    token = [times * value for value in TOKEN]
    if method != "pa-lrp":
        return [row for source in ("token", "combined") for row in by_slot(source, None, token, method, output, text)]
    position = [sum(layer) for layer in zip(*ROTATION, strict=True)]
    combined = [a + b for a, b in zip(token, position, strict=True)]
    rows = by_slot("token", None, token, method, output, text)
    for layer, values in enumerate(ROTATION):
        rows += by_slot("rotation", layer, values, method, output, text)
    rows += by_slot("combined", None, combined, method, output, text)
    return [
        *rows,
        *summed(HEADS, "head", method, output, text),
        *summed(FREQUENCIES, "frequency", method, output, text),
    ]


def output(**more: Any) -> dict[str, Any]:
    plain = {"text": 0, "kind": "next", "name": "▁to", "index": 7, "slot": 5, "logit": 14.0, "probability": 0.683}
    return {**plain, **more}


def ledger(method: str, output: int = 0, **more: Any) -> dict[str, Any]:
    """78 % tokens (or more), some positions, the rest in softmaxes."""
    parts = {"tokens": 10.75, "positions": 0.9 if method == "pa-lrp" else 0.0}
    parts["softmax"] = 14.0 - sum(parts.values())
    plain = {"output": output, "method": method, "logit": 14.0, **parts, "rest": 1e-6, "flow": 30.0, "balances": True}
    return {**plain, **more}


def manifest(**more: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "model": {"id": "a <b>model</b>", "layers": 2, "heads": 4, "parameters": 260_032},
        "texts": {"count": 1, "tokens": 6, "source": "--text", "example": [{"tokens": list(TOKENS)}]},
        "outputs": [output()],
        "methods": METHODS,
        "aggregate": {"name": "signed", "about": "tokens plus positions"},
        "ledgers": [ledger("pa-lrp"), ledger("attnlrp")],
        "frequencies": [
            {"layer": layer, "frequency": f, "theta": 10.0**-f}
            for layer in range(2)
            for f in range(len(FREQUENCIES[0]))
        ],
        "causal": True,
    }
    return {**plain, **more}


def attribution_run(
    methods: Sequence[str] = ("pa-lrp", "attnlrp"), outputs: int = 1, **more: Any
) -> tuple[pl.DataFrame, Mapping[str, Any]]:
    """A table and its manifest; each further output is of another text."""
    rows = [row for n in range(outputs) for method in methods for row in rows_of(method, n, n, times=1.0 / (n + 1))]
    known = {
        "outputs": [output(text=n) for n in range(outputs)],
        "ledgers": [ledger(method, n) for n in range(outputs) for method in methods],
        "methods": {name: METHODS[name] for name in methods},
    }
    return frame(rows, RELEVANCE), manifest(**{**known, **more})
