"""Remove position from a model's fast rotary frequencies, and measure the effect."""

import tempfile
from pathlib import Path

import polars as pl

import wherewhat as ww

# `tiny` steps back by numbers and follows matching letters. Can it still do so without position in its fastest quarter?
effect = ww.measure_edit("tiny", None, ww.Edit(unrotate=("high:0.25",)), max_texts=50, seed=0)
print(effect.edit.filter(pl.col("measure") == "loss").select("state", "value", "low", "high"))

# Which heads rely on position less than before?
changes = effect.edit.filter((pl.col("measure") == "head.position_share") & (pl.col("state") == "change"))
print(changes.sort("value").select("layer", "head", "value", "low", "high").head(5))

folder = effect.save(Path(tempfile.mkdtemp()) / "run")
print("open", folder / "report.html")
