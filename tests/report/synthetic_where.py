"""Measurements of where and what for made-up heads: shares, bounds, published scores, frequencies, hidden state."""

import math
import random
from typing import Any

Row = dict[str, Any]
TAUS = (1e-4, 1e-2, "inf")
LEANINGS = ((8, 1, 2), (1, 8, 2), (2, 2, 6), (4, 3, 4))  # towards place, content, both, nothing much
SLOTS = 63
MIXED = {(1, 2), (2, 5), (4, 1)}  # heads that look by the opposite of what decides their logits over all keys
FRESH = {  # what fresh weights would get
    f"{prefix}{name}": level
    for prefix in ("", "attended.", "input.")
    for name, level in (("position_share", 0.42), ("symbol_share", 0.33), ("interaction_share", 0.25))
} | {"input.other_share": 0.25}
TOLD: dict[str, tuple[str, list[float | None]]] = {
    "position_share": ("How much of a logit's variance is decided by the slot alone?", [0, 1]),
    "symbol_share": ("How much of a logit's variance is decided by the content alone?", [0, 1]),
    "interaction_share": ("How much is decided only by the two together?", [0, 1]),
    "attended.position_share": ("The same by slot, weighted by attention?", [0, 1]),
    "attended.symbol_share": ("The same by content, weighted by attention?", [0, 1]),
    "attended.interaction_share": ("The same by both together, weighted by attention?", [0, 1]),
    "exclusion_positional": ("How far do logits change when other content comes into a slot?", [0, None]),
    "exclusion_symbolic": ("How far do logits change when content goes to another slot?", [0, None]),
    "logit_variance": ("How much do the logits of a row vary?", [0, None]),
    "exclusion_ratio": ("Is the head nearer to positional or to symbolic?", [0, 1]),
    "mean_frequency": ("Which frequency carries the head on average?", [0, None]),
    "positional": ("Do weights stay with their slots when two keys trade places?", [0, 1]),
    "symbolic": ("Do weights travel with their keys?", [0, 1]),
    "block.positional": ("The same for whole blocks: do weights stay?", [0, 1]),
    "block.symbolic": ("The same for whole blocks: do weights travel?", [0, 1]),
}
MOVED: dict[str, tuple[str, list[float | None]]] = {
    "input.positional": ("Tokens moved at the input: do weights stay with their slots?", [0, 1]),
    "input.symbolic": ("Tokens moved at the input: do weights travel with their tokens?", [0, 1]),
    "input.position_share": ("Tokens moved at the input: how much goes by slot?", [0, 1]),
    "input.symbol_share": ("Tokens moved at the input: how much goes by token?", [0, 1]),
    "input.other_share": ("Tokens moved at the input: how much by neither alone?", [0, 1]),
    **{
        f"mean.{part}": ("How much of the logits is this part of query and key?", [None, None])
        for part in ("const_pos", "const_con", "pos_pos", "pos_con", "con_pos", "con_con", "position")
    },
}


def add_where(shape: Any, heads: list[Row], frequencies: list[Row], depth: float, rng: random.Random) -> None:
    """Give the head whose rows were added last its measurements of where and what."""
    names = {name: heads[-1][name] for name in ("model", "layer", "head")}
    entropy = next(row["value"] for row in reversed(heads) if row["score"] == "entropy")
    weights = rng.choices(LEANINGS, weights=[3 - 2 * depth, 1 + 2 * depth, 2, 1.5])[0]
    drawn = [rng.gammavariate(weight, 1) for weight in weights]
    where, what, both = (one / sum(drawn) for one in drawn)
    values = _moved(where, what, both, entropy, rng) if shape.learned else _swapped(where, what, both, entropy, rng)
    if (names["layer"], names["head"]) in MIXED and not shape.learned:
        one, other = "attended.position_share", "attended.symbol_share"
        values[one], values[other] = values[other], values[one]
    part = heads[-1]["part"]
    for score, (value, chance) in values.items():
        wide = 0.01 + 0.03 * rng.random()
        spread = {"value": value, "low": value - wide, "high": value + wide, "chance": chance}
        spread["untrained"] = FRESH.get(score)
        heads.append(names | {"score": score} | spread | _rests(score) | {"part": part})
    if shape.turns:
        frequencies.extend(names | row for row in _spectrum(shape.turns, (where, what, both), rng))


def _rests(score: str) -> Row:
    """What a score rests on: moving tokens takes few texts, one row of each."""
    texts, rows = (8, 8) if score.startswith("input.") else (11, 330) if score.startswith("mean.") else (64, 512)
    return {"texts": texts, "windows": texts, "rows": rows}


def _swapped(where: float, what: float, both: float, entropy: float, rng: random.Random) -> Row:
    size = rng.uniform(0.5, 6)
    positional, symbolic = _cosines(where, what, both, entropy)
    bare, rest = 1 / (SLOTS + 1), (SLOTS - 1) / (SLOTS + 1)
    p, s = 2 * size * (what + 0.8 * both), 2 * size * (where + 0.8 * both)
    found = {
        **dict(
            zip(
                ("position_share", "symbol_share", "interaction_share"),
                _with(where, what, both, bare, rest),
                strict=True,
            )
        ),
        **dict(
            zip(
                ("attended.position_share", "attended.symbol_share", "attended.interaction_share"),
                _with(where * 0.9 + 0.1 * both, what, both * 0.9 + 0.1 * where, bare, rest),
                strict=True,
            )
        ),
        "exclusion_positional": (p, None),
        "exclusion_symbolic": (s, None),
        "logit_variance": (size * rng.uniform(0.8, 1.2), None),
        "exclusion_ratio": (s / (p + s), 0.5),
        "mean_frequency": (15 * rng.random(), None),
        "positional": (positional, 1.0),
        "symbolic": (symbolic, 1.0),
        "block.positional": (positional**0.7, 1.0),
        "block.symbolic": (symbolic**0.7, 1.0),
    }
    for tau, softer in ((1e-2, 0.8), ("inf", 0.4)):
        found |= {f"positional@{tau}": (positional**softer, 1.0), f"symbolic@{tau}": (symbolic**softer, 1.0)}
    return found


def _with(where: float, what: float, both: float, bare: float, rest: float) -> list[tuple[float, float]]:
    return [(where, bare), (what, bare), (both, rest)]


def _cosines(where: float, what: float, both: float, entropy: float) -> tuple[float, float]:
    sharp = (1 - min(entropy, 1)) ** 0.7
    return 1 - sharp * (what + both / 2), 1 - sharp * (where + both / 2)


def _moved(where: float, what: float, both: float, entropy: float, rng: random.Random) -> Row:
    positional, symbolic = _cosines(where, what, both, entropy)
    small = [rng.uniform(-0.08, 0.1) for _ in range(4)]
    left = 1 - sum(small)
    parts = {
        "const_pos": small[0],
        "const_con": small[1],
        "pos_con": small[2],
        "con_pos": small[3],
        "pos_pos": left * where / (where + what),
        "con_con": left * what / (where + what),
    }
    return {
        "input.positional": (positional, 1.0),
        "input.symbolic": (symbolic, 1.0),
        "input.position_share": (where, 1 / 33),
        "input.symbol_share": (what, 1 / 33),
        "input.other_share": (both, 31 / 33),
        **{f"mean.{name}": (value, None) for name, value in parts.items()},
        "mean.position": (parts["const_pos"] + parts["pos_pos"] + parts["con_pos"], None),
    }


def _spectrum(turns: int, shares: tuple[float, float, float], rng: random.Random) -> list[Row]:
    """Place is carried by fast planes, content by slow ones; the parts over all planes sum to the shares."""
    centres = [rng.gauss(0.25, 0.08) * turns, rng.gauss(0.75, 0.08) * turns, rng.gauss(0.5, 0.1) * turns]
    bumps = [
        [math.exp(-(((t - centre) / (0.12 * turns)) ** 2)) + rng.gauss(0, 0.04) for t in range(turns)]
        for centre in centres
    ]
    parts = [[share * b / sum(bump) for b in bump] for share, bump in zip(shares, bumps, strict=True)]
    rows = []
    for t in range(turns):
        place, content, both = (part[t] for part in parts)
        size = abs(place) + abs(content) + abs(both)
        sharp = min(1.0, size * turns / 4)
        measures = {
            "query_norm": 0.4 + 6 * size + 0.1 * rng.random(),
            "key_norm": 0.5 + 4 * size + 0.1 * rng.random(),
            "logit": 3 * size,
            "peak": 5 * size,
            "position_part": place,
            "symbol_part": content,
            "interaction_part": both,
            "variance_share": place + content + both,
            "positional": 1 - sharp * max(content, 0) / (size or 1),
            "symbolic": 1 - sharp * max(place, 0) / (size or 1),
        }
        theta = 10_000 ** (-t / turns)
        rows += [{"frequency": t, "theta": theta, "measure": name, "value": value} for name, value in measures.items()]
    return rows


def with_where(manifest: Row, shape: Any, rng: random.Random) -> Row:
    """What the manifest adds: what the scores ask, how swaps were made, how behaviour goes with frequency."""
    told = {
        name: {
            "kind": _kind(name, shape),
            "asks": asks,
            "low": "none of it",
            "high": "all of it",
            "range": ends,
            "paper": "",
            "chance": "",
        }
        for name, (asks, ends) in (MOVED if shape.learned else TOLD).items()
    }
    swaps = {"tau": list(TAUS), "first": 1, "queries": "last", "blocks": None}
    layers = [None, *(entry["layer"] for entry in manifest["layers"])]
    found = [
        _correlation(layer, y, rng.gauss(middle, 0.0 if layer is None else 0.25), shape)
        for y, middle in (("positional", 0.45), ("symbolic", -0.5), ("position_part", 0.3))
        for layer in layers
    ]
    found.append({**_correlation(None, "position_share", 0.6, shape), "x": "mean_speed"})
    more = {"scores": manifest["scores"] | told, "swaps": swaps}
    return manifest | more | ({"correspondence": found} if shape.turns else {})


def _kind(name: str, shape: Any) -> str:
    """As the registry of scores has it, which a page without torch cannot ask."""
    published = name.partition("@")[0].removeprefix("block.") in ("positional", "symbolic")
    return "Hidden state" if shape.learned else "Published scores" if published else "Where or what"


def _correlation(layer: int | None, y: str, drawn: float, shape: Any) -> Row:
    rho, wide = max(-0.95, min(0.95, drawn)), 0.04 if layer is None else 0.16
    ends = {"low": max(-1.0, rho - wide), "high": min(1.0, rho + wide)}
    return {"layer": layer, "x": "theta", "y": y, "rho": rho, **ends, "points": shape.turns * shape.heads}
