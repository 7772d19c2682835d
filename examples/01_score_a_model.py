"""Profile the built-in model, look at its most local heads, and draw the report."""

import tempfile
from pathlib import Path

import polars as pl

import wherewhat as ww

# A name, a folder, a Hub id or a module; texts are strings or token ids. `tiny` generates its own.
profile = ww.profile("tiny", max_texts=50, seed=0)

# One row per head and score: the mean over texts, a 95 % interval, and the chance level.
local = profile.heads.filter(pl.col("score") == "locality").sort("value", descending=True)
print(local.select("layer", "head", "value", "low", "high", "chance").head(5))

# Where does the most local head look? Mean attention mass by offset; -1 is the previous token.
layer, head = local.select("layer", "head").row(0)
offsets = profile.offsets.filter((pl.col("layer") == layer) & (pl.col("head") == head))
print(f"L{layer}H{head} looks here:", offsets.sort("mass", descending=True).select("offset", "mass").head(3).rows())

# Everything in one folder: tables, manifest, and a page that opens in any browser, without a network.
folder = profile.save(Path(tempfile.mkdtemp()) / "run")
print("open", folder / "report.html")
