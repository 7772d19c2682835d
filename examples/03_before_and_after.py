"""Train a small BERT, and compare the positional part of its attention before and after training."""

import tempfile
from dataclasses import replace
from pathlib import Path

import polars as pl

import wherewhat as ww

# An encoder of 1.3 million parameters on sentences of a small grammar; 60 steps for a first look, the recipe has 2,000.
folder = Path(tempfile.mkdtemp())
short = replace(ww.recipe("bert_tiny"), steps=60, warmup=20, evaluate_every=60, evaluate_samples=200)
run = ww.train(short, out=folder)
print(run.curve.tail(3))

# Copies of one word: what does attention do when all contents are equal? Compared with two random initialisations.
comparison = ww.compare([str(folder)], untrained=2, max_texts=10, positional=True)
overall = comparison.compare.filter(pl.col("layer").is_null() & pl.col("score").str.starts_with("identical."))
print(overall.select("against", "score", "before", "after", "change", "low", "high"))

print("open", comparison.save(folder / "compared") / "report.html")
