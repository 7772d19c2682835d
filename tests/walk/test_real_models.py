"""Real trained models, where they lie beside the project: every head gets every score, and some heads stand out."""

from pathlib import Path

import polars as pl
import pytest

from wherewhat.cli.main import main
from wherewhat.scores.registry import SCORES

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
    assert set(table["model"]) == {model} and len(table) == heads * len(SCORES)
    strongest = table.filter(pl.col("score") == score).sort("value").row(-1, named=True)
    assert strongest["low"] > 5 * strongest["chance"], "a trained model has heads that look at a neighbour"
