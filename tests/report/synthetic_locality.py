"""A made-up study of locality and symmetry in two opposite worlds: one where both help, one where both hurt."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from wherewhat.tables.schema import RESULT, frame

N = 16
HOSTILE = "<script>alert('\"x\"')</script> {x} `b`.tsv"
QUESTIONS = (
    ("number", "Is the main subject singular or plural?", 0.5),
    ("tense", "Is the main clause in the present or in the past?", 0.5),
    ("agent", "Which of the two nouns is the agent?", 0.5),
    ("names", "Which group of names does the agent belong to?", 0.5),
    (HOSTILE, "Which label of <b>four</b>?", 0.25),
)
SHARP = "names"  # left out where all questions count together
ROLES = ("agent", SHARP)
ITEMS = {name: (name,) for name, _, _ in QUESTIONS} | {
    "all": tuple(name for name, _, _ in QUESTIONS if name != SHARP),
    "others": tuple(name for name, _, _ in QUESTIONS if name not in ROLES),
}
CALLED = {"ours": "leaning", "control": "leaning, not learned"}
BAG = {"number": 0.71, "tense": 0.62, HOSTILE: 0.4}  # of a bag of words; at chance on roles
ASKED = ("locality", "symmetry", "decoder", "leaning", "stability")
BESIDE = ("forgetting", "spread", "word loss")
Row = tuple[object, ...]


@dataclass(frozen=True)
class World:
    """Which way things go: by how much accuracy grows from no locality to all of it, and so on."""

    locality: float = 0.3
    symmetry: float = 0.15
    leaning: float = 0.2  # by how much ours gains on questions of roles
    decoders: float = 0.3
    forgetting: float = -1.0  # of the loss, from no locality to all of it
    seeds: int = 3
    draw: int = 0  # of what differs from seed to seed


HELPS = World()
HURTS = World(locality=-0.3, symmetry=-0.15, leaning=-0.2, decoders=-0.3, forgetting=1.0)
NEITHER = World(locality=0.0, symmetry=0.0, leaning=0.0, decoders=0.0, forgetting=0.0, draw=2)


def subjects() -> list[dict[str, Any]]:
    """Every encoding that is tried, as the study names it."""
    made = [_subject("log", w, 1.0) for w in (0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)]
    made += [_subject("log", w, s) for w in (0.1, 0.5) for s in (0.0, 0.25, 0.5, 2.0)]
    made += [_subject("raw", w, 1.0) for w in (0.01, 0.1, 0.5)]
    made += [{**_subject("learned", 0.1, 1.0), "name": f"log, learned {it}", "s": None} for it in ("w and s", "table")]
    names = ("learned", "sinusoidal", "rope", "alibi", "t5_bias", "deberta", "none")
    made += [{"name": name, "family": "reference", "w": None, "s": None, "encoding": name} for name in names]
    made += [_subject("decoder", w, 1.0) for w in (0.01, 0.1, 0.5, 2.0)]
    made += [{"name": "decoder rope", "family": "decoder", "w": None, "s": None, "encoding": "rope"}]
    leaning = ({**_subject(family, w, 1.0), "encoding": "leaning", "s": None} for family in CALLED for w in (0.1, 0.5))
    return made + list(leaning)


def _subject(family: str, w: float, s: float) -> dict[str, Any]:
    side = "" if s == 1 else f" s {s:g}"
    name = f"{CALLED.get(family, family)} w {w:g}{side}"
    return {"name": name, "family": family, "w": w, "s": s, "encoding": "attenuated", "options": {"w": w}}


def locality_run(world: World = HELPS) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The table and the manifest of a study in a world."""
    noise = np.random.default_rng(world.draw)
    rows: list[Row] = []
    for one in subjects():
        rows += _encoding(one, world)
        rows += _accuracies(one, world, noise)
    rows += [*_links(rows), *_contrasts(rows), *_bag()]
    about = {
        "n": N,
        "seconds": 7260.0,
        "processes": 2,
        "answers": {name: {"lead": f"The lead on {name} <1>.", "rest": f"The rest on {name} <2>."} for name in ASKED},
        "subjects": subjects(),
        "uniform": 0.171,
        "families": {
            "log": "a curve, added as a logarithm",
            "raw": "the same as it stands",
            "ours": "with a side weight",
        },
        "questions": [
            {"name": name, "asks": asks, "chance": chance, "sharp": name == SHARP} for name, asks, chance in QUESTIONS
        ],
    }
    claims = [
        {"claim": "Locality goes with accuracy.", "published": "closely <i>", "ours": "ρ 0.9", "verdict": "agrees"},
        {"claim": "Symmetry goes with accuracy.", "published": "closely", "ours": "ρ 0.1", "verdict": "not seen"},
    ]
    manifest = {
        "reproduction": "locality",
        "command": "wherewhat reproduce locality --scale tiny",
        "about": about,
        "claims": claims,
        "settings": {"steps": 400, "seeds": world.seeds},
        "notes": ["The corpus is a grammar, and not Wikipedia."],
    }
    return frame(rows, RESULT), manifest


def bell(w: float, s: float) -> tuple[float, float]:
    """Locality and balance of the encoding by itself."""
    i, j = np.indices((N, N))
    fall = np.where(j < i, -w, -s * w) * (i - j) ** 2.0
    row = np.exp(fall) / np.exp(fall).sum(-1, keepdims=True)
    left = right = gap = 0.0
    for at in range(1, N - 1):
        k = np.arange(1, min(at, N - 1 - at) + 1)
        left, right = left + row[at, at - k].sum(), right + row[at, at + k].sum()
        gap += np.abs(row[at, at - k] - row[at, at + k]).sum()
    return float((row * 0.5 ** np.abs(i - j)).sum() / N), 1 - float(gap / (left + right))


def _measured(one: dict[str, Any]) -> dict[str, float]:
    """What attention in the trained net is like."""
    if one["name"] == "decoder rope":
        return {"locality": 0.41, "balance": 0.0}
    if one["family"] == "reference":
        place = ("none", "sinusoidal", "learned", "t5_bias", "deberta", "rope", "alibi").index(one["name"])
        return {"locality": 0.18 + 0.06 * place, "balance": 1 - 0.07 * place}
    near, even = bell(one["w"], one["s"] or 0.0 if one["family"] not in CALLED else 1.0)
    even *= {"ours": 0.4, "control": 0.6, "decoder": 0.0}.get(one["family"], 1.0)
    reach = 0.2 if one["family"] == "raw" else 0.9
    return {"locality": 0.17 + reach * (near - 0.17), "balance": 1 - reach * (1 - even)}


def _encoding(one: dict[str, Any], world: World) -> Iterable[Row]:
    name, found = one["name"], _measured(one)
    bias = 1 - found["balance"]
    for seed in range(world.seeds):
        told = {**found, "symmetry": 0.7, "left_right_bias": bias}
        for measure, value in told.items():
            moved = value + 0.004 * (seed - 1)
            yield ("encoding", name, "", None, seed, f"attention.{measure}", moved, None, None)
            yield ("encoding", name, "", None, seed, f"attention.{measure} all", 0.9 * moved, None, None)
    if one["s"] is not None:
        for measure, value in zip(("locality", "balance"), bell(one["w"], one["s"]), strict=True):
            yield ("encoding", name, "", None, None, f"bias.{measure}", value, None, None)


def _accuracies(one: dict[str, Any], world: World, noise: np.random.Generator) -> list[Row]:
    rows: list[Row] = []
    found, name = _measured(one), one["name"]
    gain = world.decoders if one["family"] == "decoder" else world.locality
    shift = gain * (found["locality"] - 0.4) + world.symmetry * (found["balance"] - 0.8)
    every: dict[str, list[list[float]]] = {"accuracy": [], "forgetting": []}
    for question, _, chance in QUESTIONS:
        roles = question in ROLES
        level = 0.5 + 0.5 * chance + shift + (world.leaning if roles and one["family"] == "ours" else 0)
        told = {
            "accuracy": np.clip(level + 0.01 * noise.standard_normal(world.seeds), 0, 1),
            "forgetting": 1.5 + world.forgetting * found["locality"] + 0.05 * noise.standard_normal(world.seeds),
        }
        told["frozen accuracy"] = 0.9 * told["accuracy"]
        for measure, values in told.items():
            rows += [
                ("run", name, question, None, seed, measure, float(v), None, None) for seed, v in enumerate(values)
            ]
            rows.append(("mean", name, question, None, None, measure, *mean_of(values)))
            if question != SHARP:
                every.setdefault(measure, []).append(list(values))
        rows.append(("mean", name, question, None, None, "spread", _sd(told["accuracy"]), None, None))
    for measure, lists in every.items():
        rows.append(("mean", name, "all", None, None, measure, *mean_of(np.mean(lists, axis=0))))
    spread = float(np.mean([_sd(values) for values in every["accuracy"]]))
    rows.append(("mean", name, "all", None, None, "spread", spread, None, None))
    loss = 2 - shift + 0.02 * noise.standard_normal(world.seeds)
    return [*rows, ("mean", name, "all", None, None, "word loss", *mean_of(loss))]


def _sd(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan


def mean_of(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    """A mean with its interval by Student's t, if there are several values."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None, None
    reach = float(stats.t.ppf(0.975, len(values) - 1)) * _sd(values) / math.sqrt(len(values))
    return mean, mean - reach, mean + reach


def _links(rows: Sequence[Row]) -> list[Row]:
    """Correlations over encodings, by Fisher's transformation."""
    table = frame(rows, RESULT)
    places = table.filter(part="encoding").group_by("subject", "measure").agg(pl.col("value").mean())
    wide = places.pivot("measure", index="subject", values="value")
    told = pl.DataFrame([{"subject": one["name"], "family": one["family"], "s": one["s"]} for one in subjects()])
    known = told.join(wide, on="subject")
    made: list[Row] = []
    asked = [name for name in ITEMS if name != "others"]
    for item, measure in [*((name, "accuracy") for name in asked), *((name, name) for name in BESIDE)]:
        values = table.filter(part="mean", item=item if measure == "accuracy" else "all", measure=measure)
        made += _axes(item, known.join(values.select("subject", y="value"), on="subject"))
    return made


def _axes(item: str, rows: pl.DataFrame) -> Iterable[Row]:
    log, encoders = rows.filter(family="log"), rows.filter(pl.col("family") != "decoder")
    near, even = "bias.locality", "bias.balance"
    yield from _link("locality", item, [log[name] for name in (near, "y", even)])
    yield from _link("symmetric locality", item, [log.filter(s=1)[name] for name in (near, "y")])
    yield from _link("symmetry", item, [log[name] for name in (even, "y", near)])
    near, even = "attention.locality", "attention.balance"
    yield from _link("attention locality", item, [encoders[name] for name in (near, "y", even)])
    yield from _link("attention symmetry", item, [encoders[name] for name in (even, "y", near)])
    causal = rows.filter(pl.col("family") == "decoder", pl.col("s").is_not_null())
    yield from _link("decoder locality", item, [causal[name] for name in ("bias.locality", "y")])


def _link(of: str, item: str, columns: Sequence[Any]) -> Iterable[Row]:
    """Of x with y, and at equal third; all as columns of numbers."""
    x, y, *others = (column.to_numpy() for column in columns)
    if np.isnan(y.astype(float)).any() or len(x) < 4:
        return
    found = {"pearson": stats.pearsonr(x, y).statistic, "spearman": stats.spearmanr(x, y).statistic}
    for third in others:
        rest = [one - np.polyval(np.polyfit(third, one, 1), third) for one in (x, y)]
        found["partial"] = stats.pearsonr(*rest).statistic
    for measure, r in found.items():
        reach = 1.96 / math.sqrt(max(len(x) - 3, 1))
        middle = math.atanh(max(-0.999, min(0.999, float(r))))
        yield ("link", of, item, None, None, measure, float(r), math.tanh(middle - reach), math.tanh(middle + reach))
    slope = stats.linregress(x, y)
    reach = 1.96 * slope.stderr
    if item not in BESIDE:
        yield ("link", of, item, None, None, "slope", slope.slope, slope.slope - reach, slope.slope + reach)


def _bag() -> Iterable[Row]:
    """What words give in whatever order."""
    for item, asked in ITEMS.items():
        share = float(np.mean([BAG.get(name, 0.5) for name in asked]))
        yield ("mean", "bag of words", item, None, None, "accuracy", share, None, None)


def _contrasts(rows: Sequence[Row]) -> Iterable[Row]:
    """One set of encodings against another, seed by seed."""
    right = frame(rows, RESULT).filter(part="run", measure="accuracy")
    log = [one["name"] for one in subjects() if one["family"] == "log" and one["s"] == 1]
    causal = [one["name"] for one in subjects() if one["family"] == "decoder" and one["s"] == 1]
    ours = [one["name"] for one in subjects() if one["family"] == "ours"]
    still = [one["name"] for one in subjects() if one["family"] == "control"]
    sided = [one["name"] for one in subjects() if one["family"] == "log" and one["s"] < 1]
    steeper = [one["name"] for one in subjects() if one["family"] == "log" and one["s"] > 1]
    twins = [f"log w {w}" for w in (0.1, 0.5)]
    sets = {
        "middle over flat": (log[1:-1], log[:1]),
        "middle over steep": (log[1:-1], log[-1:]),
        "symmetric over one-sided": (twins, sided),
        "symmetric over flatter ahead, same locality": (twins, sided),
        "symmetric over steeper ahead, same locality": (twins, steeper),
        "leaning over symmetric": (ours, twins),
        "not learned over symmetric": (still, twins),
        "leaning over not learned": (ours, still),
        "leaning over rope": (ours, ["rope"]),
        "leaning over one-sided": (ours, sided),
        "decoder, log over none": (causal[1:-1], ["decoder rope"]),
        "decoder, middle over flat": (causal[1:-1], causal[:1]),
        "decoder, middle over steep": (causal[1:-1], causal[-1:]),
    }
    for name, (ones, others) in sets.items():
        for item, asked in ITEMS.items():
            here = right.filter(pl.col("item").is_in(asked))
            sides = [
                here.filter(pl.col("subject").is_in(those)).group_by("seed").agg(pl.col("value").mean()).sort("seed")
                for those in (ones, others)
            ]
            gaps = (sides[0]["value"] - sides[1]["value"]).to_numpy()
            yield ("contrast", name, item, None, None, "accuracy", *mean_of(gaps))
