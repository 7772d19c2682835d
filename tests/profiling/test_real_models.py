"""Real trained models, where they lie beside the project: every head gets every score, and some heads stand out."""

from pathlib import Path

import polars as pl
import pytest

from wherewhat.cli.main import main
from wherewhat.scores.registry import ROW_SCORES as SCORES

REAL = [
    ("stories260K", "stories.txt", 5 * 8, "previous"),
    ("sapiens-vh", "antibodies.txt", 4 * 8, "next"),
    ("rxnmapper-albert", "reactions.txt", 12 * 8, "previous"),
]


@pytest.mark.shared
@pytest.mark.parametrize(("model", "texts", "heads", "score"), REAL, ids=[name for name, *_ in REAL])
def test_a_real_model_is_profiled(shared: Path, tmp_path: Path, model: str, texts: str, heads: int, score: str):
    line = ["heads", str(shared / "models" / model), "--text", str(shared / "data" / texts), "--max-texts", "12"]
    assert main([*line, "--out", str(tmp_path / "run"), "--quiet"]) == 0
    table = pl.read_parquet(tmp_path / "run" / "heads.parquet")
    assert set(table["model"]) == {model} and len(table) == heads * table["score"].n_unique()
    assert set(table["score"]) >= {name for name, score in SCORES.items() if not score.logits}
    strongest = table.filter(pl.col("score") == score).sort("value").row(-1, named=True)
    assert strongest["low"] > 5 * strongest["chance"], "a trained model has heads that look at a neighbour"


@pytest.mark.shared
def test_a_rotary_model_is_taken_apart_at_its_last_query(shared: Path, tmp_path: Path):
    model, texts = shared / "models" / "stories260K", shared / "data" / "stories.txt"
    line = ["heads", str(model), "--text", str(texts), "--queries", "last", "--max-texts", "12", "--max-tokens", "128"]
    assert main([*line, "--tau", "1e-4,inf", "--out", str(tmp_path / "run"), "--quiet"]) == 0
    table = pl.read_parquet(tmp_path / "run" / "heads.parquet")
    asked = {name for name in SCORES if not name.startswith("block.")} | {"positional@inf", "symbolic@inf"}
    assert set(table["score"]) == asked
    shares = table.filter(pl.col("score").is_in(["position_share", "symbol_share", "interaction_share"]))
    totals = shares.group_by("layer", "head").agg(pl.col("value").sum())["value"]
    assert (totals - 1).abs().max() < 1e-5
    by_layer = shares.filter(pl.col("score") == "position_share").group_by("layer").agg(pl.col("value").mean())
    assert by_layer.sort("layer")["value"][1] > 0.6, "an independent run of other texts has .67 in the second layer"
    frequencies = pl.read_parquet(tmp_path / "run" / "frequencies.parquet")
    assert frequencies.select("layer", "head").n_unique() == 40 and frequencies["frequency"].max() == 3
