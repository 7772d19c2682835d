"""Take the position out of a model's fast rotary frequencies, and see what becomes of it."""

import tempfile
from pathlib import Path

import polars as pl

import wherewhat as ww

# `tiny` steps back by numbers and goes from letter to letter. Without position in its fastest quarter, can it still?
edited = ww.edited("tiny", None, ww.Edit(unrotate=("high:0.25",)), max_texts=50, seed=0)
print(edited.edit.filter(pl.col("measure") == "loss").select("state", "value", "low", "high"))

# Which heads go by place less than before?
changed = edited.edit.filter((pl.col("measure") == "head.position_share") & (pl.col("state") == "change"))
print(changed.sort("value").select("layer", "head", "value", "low", "high").head(5))

folder = edited.save(Path(tempfile.mkdtemp()) / "run")
print("open", folder / "report.html")
