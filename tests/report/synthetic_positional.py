"""Runs with a positional part of attention: made-up matrices by head and source, and the scores that follow."""

import random
from dataclasses import dataclass
from typing import Any

import polars as pl
from synthetic import Run, Shape, run_of

KEYS = ["layer", "head", "source"]
CELL = [*KEYS, "query"]
MEASURES = ("locality", "excess", "off_diagonal_locality", "symmetry", "balance", "left_right_bias")
SCHEMA = {
    "model": pl.String,
    "layer": pl.Int32,
    "head": pl.Int32,
    "source": pl.String,
    "query": pl.Int32,
    "key": pl.Int32,
    "attention": pl.Float64,
}
Positional = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, dict[str, Any], pl.DataFrame]


@dataclass(frozen=True)
class World:
    """How the positional part of every head of a run looks."""

    near: float = 0.6  # how steeply attention falls with distance; 0 is uniform attention
    lean: float = 0.7  # how much more it falls on one side; heads take turns at sides unless `sided`
    sided: bool = False
    causal: bool = False
    n: int = 64
    short: int = 64  # slots of the means over texts
    contextual: bool = True
    sources: tuple[str, ...] = ("identical", "delta", "mean")


def positional_run(shape: Shape, world: World, seed: int = 0) -> Positional:
    """A run of `wherewhat heads --positional`, invented."""
    return add_positional(run_of(shape, random.Random(seed)), world, random.Random(seed))


def add_positional(run: Run, world: World, rng: random.Random) -> Positional:
    """The same run with matrices, their scores, and what the manifest says of them."""
    heads, offsets, frequencies, manifest = run
    drawn = matrices(heads, world, rng)
    scores = _scores(measures(drawn), heads, world)
    more = {"scores": manifest["scores"] | told(scores), "positional": about(drawn, scores, world)}
    return (
        pl.concat([heads, scores], how="diagonal_relaxed"),
        offsets,
        frequencies,
        manifest | more,
        drawn.select(list(SCHEMA)),
    )


def matrices(heads: pl.DataFrame, world: World, rng: random.Random) -> pl.DataFrame:
    """A matrix for every head and source: it falls with distance, faster on one side."""
    sources = [*world.sources, *(["unmasked"] if world.causal else [])]
    places = heads.select("model", "layer", "head").unique().sort("layer", "head").rows()
    rows = [
        (model, layer, head, source, world.near * rng.uniform(0.5, 1.5) / (1 + layer / 4), _side(head, world))
        for model, layer, head in places
        for source in sources
    ]
    kinds = pl.DataFrame(rows, schema=["model", *KEYS, "near", "side"], orient="row")
    slots = pl.DataFrame({"query": range(world.n)}).join(pl.DataFrame({"key": range(world.n)}), how="cross")
    inside = (pl.col("source") != "mean") | (pl.max_horizontal("query", "key") < world.short)
    left = pl.col("key") < pl.col("query")
    away = (pl.col("key") - pl.col("query")).abs()
    fall = pl.col("near") * (1 + pl.when(left).then(-pl.col("side")).otherwise("side") * world.lean)
    hidden = (pl.col("key") > pl.col("query")) & (pl.lit(world.causal) & (pl.col("source") == "identical"))
    raw = pl.when(hidden).then(0.0).otherwise((-away * fall).exp())
    made = kinds.join(slots, how="cross").filter(inside).with_columns(attention=raw)
    made = made.with_columns(normalised())
    return made.with_columns(pl.col("layer", "head", "query", "key").cast(pl.Int32))


def normalised() -> pl.Expr:
    """Attention whose rows sum to 1."""
    return pl.col("attention") / pl.col("attention").sum().over(CELL)


def _side(head: int, world: World) -> int:
    return 1 if world.sided or head % 2 else -1


def measures(drawn: pl.DataFrame) -> pl.DataFrame:
    """All measures of every matrix, by their definitions; one-sided ones have two."""
    away = pl.col("key") - pl.col("query")
    size = pl.col("query").max() + 1
    near = drawn.group_by(KEYS).agg(locality=(pl.col("attention") * 0.5 ** away.abs()).sum() / size, n=size)
    others = drawn.filter(away != 0).with_columns(weighed=pl.col("attention") * 2 * 0.5 ** away.abs())
    rows = others.group_by(CELL).agg(off_diagonal_locality=pl.col("weighed").sum() / pl.col("attention").sum())
    near = near.join(rows.group_by(KEYS).agg(pl.col("off_diagonal_locality").fill_nan(0).sum()), on=KEYS)
    near = near.with_columns(pl.col("off_diagonal_locality") / pl.col("n"))
    right = drawn.filter(away > 0).select(*CELL, k=away, right="attention")
    left = drawn.filter(away < 0).select(*CELL, k=-away, left="attention")
    pairs = left.join(right, on=[*CELL, "k"]).with_columns(d=(pl.col("left") - pl.col("right")).abs())
    low, high = pl.col("d").min().over(CELL), pl.col("d").max().over(CELL)
    stretched = pl.when(high - low < 1e-14).then(0.0).otherwise((pl.col("d") - low) / (high - low))
    both, seen = (pl.col("left") + pl.col("right")).sum(), pl.col("right").sum() > 0
    sided = (
        pairs.with_columns(stretched=stretched)
        .group_by(KEYS)
        .agg(
            symmetry=pl.when(seen).then(1 - pl.col("stretched").mean()),
            balance=pl.when(seen).then(1 - pl.col("d").sum() / both),
            left_right_bias=pl.when(seen).then((pl.col("left") - pl.col("right")).sum() / both),
            paired=both,
        )
    )
    found = near.join(sided, on=KEYS)
    levels = [even(n, causal=balance is None) for n, balance in found.select("n", "balance").iter_rows()]
    chance = pl.Series("even", levels)
    return found.with_columns(chance, excess=(pl.col("locality") - chance) / (1 - chance)).sort(KEYS)


def even(n: int, *, causal: bool = False) -> float:
    """The locality of uniform attention over n slots."""
    if causal:
        return sum((2 - 2.0**-i) / (i + 1) for i in range(n)) / n
    return (3 * n - 4 + 2.0 ** (2 - n)) / n**2


def _scores(found: pl.DataFrame, heads: pl.DataFrame, world: World) -> pl.DataFrame:
    """The measures as rows of the table of heads; beside them those of the contextual part, nearer to chance."""
    parts = heads.select("model", "layer", "head", "part").unique()
    long = found.unpivot(list(MEASURES), index=[*KEYS, "even"], variable_name="measure").drop_nulls("value")
    named = pl.col("measure").replace_strict(levels(), return_dtype=pl.Float64)
    chance = pl.when(pl.col("measure") == "locality").then("even").otherwise(named)
    own = long.join(parts, on=["layer", "head"]).with_columns(
        chance=chance, score=pl.col("source") + "." + pl.col("measure")
    )
    beside = own.filter(pl.lit(world.contextual) & (pl.col("source") != "unmasked")).with_columns(
        score=pl.col("source") + ".contextual." + pl.col("measure"),
        value=pl.col("chance") + 0.3 * (pl.col("value") - pl.col("chance")),
        chance=pl.when(pl.col("measure") == "locality")
        .then(even(world.short, causal=world.causal))
        .otherwise("chance"),
    )
    bare = pl.col("score").str.contains("^delta\\.[a-z]+$")  # it follows from weights alone, and has no interval
    spread = {name: pl.when(~bare).then(pl.col("value") + by) for name, by in (("low", -0.01), ("high", 0.01))}
    rows = pl.concat([own, beside]).with_columns(**spread, texts=pl.lit(20, pl.Int64))
    return rows.select("model", "layer", "head", "score", "value", "low", "high", "chance", "texts", "part")


def levels() -> dict[str, float]:
    """What heads that know nothing get, but for locality, which depends on the number of slots."""
    near = {"locality": 0.0, "excess": 0.0, "off_diagonal_locality": 0.06}
    return {**near, "symmetry": 0.767, "balance": 0.483, "left_right_bias": 0.0}


def told(scores: pl.DataFrame) -> dict[str, Any]:
    """How to read each score."""
    return {
        name: {
            "kind": "Positional part",
            "asks": f"With position alone, what is its {name.rpartition('.')[2]}?",
            "low": "none",
            "high": "all",
            "range": [-1, 1] if name.endswith(("left_right_bias", "excess")) else [0, 1],
            "chance": "uniform",
            "paper": "Chen et al. 2023",
        }
        for name in sorted(scores["score"].unique().to_list())
    }


def about(drawn: pl.DataFrame, scores: pl.DataFrame, world: World) -> dict[str, Any]:
    """What the manifest says of the positional part."""
    together = drawn.group_by("layer", "source", "query", "key").agg(pl.col("attention").mean()).with_columns(head=0)
    means = {
        (layer, score): value
        for layer, score, value in scores.group_by("layer", "score").agg(pl.col("value").mean()).iter_rows()
    }
    layers = []
    cut = measures(drawn.filter(pl.max_horizontal("query", "key") < world.short).with_columns(normalised()))
    firsts = cut.group_by("layer", "source").agg(pl.col(MEASURES).mean())
    first = {(row.pop("layer"), row.pop("source")): row for row in firsts.iter_rows(named=True)}
    single = (
        measures(drawn).with_columns(pl.col("paired") / pl.col("n")).group_by("layer", "source", maintain_order=True)
    )
    paired = {(layer, source): its for layer, source, its in single.agg("paired").iter_rows()}
    for row in measures(together).sort("layer", "source").iter_rows(named=True):
        whole = {measure: row[measure] for measure in MEASURES if row[measure] is not None}
        own = {measure: means[row["layer"], f"{row['source']}.{measure}"] for measure in whole}
        mask = {"mask": "", "ahead": None} if "balance" in whole else {"mask": "causal", "ahead": 0}
        one = {"layer": row["layer"], "source": row["source"], "n": row["n"], "back": None, **mask}
        at = row["layer"], row["source"]
        one |= {"first": {"n": world.short, "heads": first[at]}} if world.short < row["n"] else {}
        layers.append({**one, "heads": own, "together": whole, "paired": paired[at]})
    causal = {"causal": baselines(world.n, causal=True)} if world.causal else {}
    known = {"n": world.n, **baselines(world.n), **causal}
    return {"n": world.n, "words": 100, "baselines": known, "layers": layers}


def baselines(n: int, *, causal: bool = False) -> dict[str, Any]:
    """Attention that knows nothing; under a mask only what one side tells."""
    level = {"locality": even(n, causal=causal), "excess": 0.0, "off_diagonal_locality": 0.06}
    uniform = level if causal else {**level, "symmetry": 1.0, "balance": 1.0, "left_right_bias": 0.0}
    some = level if causal else {**levels(), **level}
    faint = level if causal else {**some, "symmetry": 0.641, "balance": 0.989}
    return {"uniform": uniform, "random .02": {**faint, "sd": level}, "random 1": {**some, "sd": level}}
